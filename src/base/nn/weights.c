// SPDX-License-Identifier: MIT
//
// Weights of nets by name.

#include "base/nn/weights.h"

#include <stdio.h>
#include <string.h>

#include "base/io/file.h"

// of "PREFIX/12/w"
enum { NAME_MOST = 200 };

static const char *const act_name[] = {"softplus", "tanh", "relu"};

const char *cri_activation_name(cri_activation act) {
    return act_name[act];
}

bool cri_activation_find(const char *name, cri_activation *act) {
    for (int k = CRI_ACT_SOFTPLUS; k <= CRI_ACT_RELU; k++) {
        if (strcmp(act_name[k], name) == 0) {
            *act = (cri_activation)k;
            return true;
        }
    }
    return false;
}

static bool has_bias(const cri_mlp *net, int layer) {
    return layer < net->n_layer || !net->has_no_last_bias;
}

void cri_mlp_name(const cri_mlp *net, const char *prefix, int i, size_t n_byte, char *out) {
    CR_ASSERT(i >= 0 && i < cri_mlp_n_weight(net));
    int layer = 1;
    while (i >= cri_mlp_place(net, layer + 1, false)) {
        layer++;
    }
    int at = i - cri_mlp_place(net, layer, false), n_in = net->width[layer - 1];
    if (at < n_in * net->width[layer]) {
        snprintf(out, n_byte, "%s/%d/w[%d,%d]", prefix, layer, at / n_in, at % n_in);
    } else {
        snprintf(out, n_byte, "%s/%d/b[%d]", prefix, layer, at - n_in * net->width[layer]);
    }
}

static void array_name(const char *prefix, int layer, bool is_bias, char *out) {
    snprintf(out, NAME_MOST, "%.180s/%d/%s", prefix, layer, is_bias ? "b" : "w");
}

int cri_mlp_to_arrays(const cri_mlp *net, const char *prefix, double *w, cri_array *out,
                      cr_arena *arena) {
    int n = 0;
    for (int k = 0; k < 2 * net->n_layer; k++) {
        int layer = 1 + k / 2;
        bool is_bias = k % 2;
        if (is_bias && !has_bias(net, layer)) {
            continue;
        }
        char name[NAME_MOST];
        array_name(prefix, layer, is_bias, name);
        out[n] = (cri_array){.name = cri_arena_push_text(arena, name),
                             .rank = is_bias ? 1 : 2,
                             .extent = {net->width[layer], is_bias ? 0 : net->width[layer - 1]},
                             .value = w + cri_mlp_place(net, layer, is_bias)};
        if (!out[n++].name) {
            return -1;
        }
    }
    return n;
}

static const cri_array *find(const cri_array_file *content, const char *prefix, int layer,
                             bool is_bias) {
    char name[NAME_MOST];
    array_name(prefix, layer, is_bias, name);
    return cri_arrays_find(content, name);
}

cr_status cri_mlp_shape(const cri_array_file *content, const char *file, const char *prefix,
                        cri_mlp *net, cr_error *err) {
    *net = (cri_mlp){0};
    for (int l = 1; l <= CRI_MLP_LAYER_MOST; l++) {
        const cri_array *w = find(content, prefix, l, false), *b = find(content, prefix, l, true);
        if (!w) {
            break;
        }
        // the last one alone has no bias
        bool is_good = w->rank == 2 && w->extent[0] > 0 && w->extent[1] > 0 &&
                       (l == 1 || w->extent[1] == net->width[l - 1]) && !net->has_no_last_bias &&
                       (!b || (b->rank == 1 && b->extent[0] == w->extent[0]));
        if (!is_good) {
            return cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                                 "layer %d of the net '%.40s' does not fit the one before", l,
                                 prefix);
        }
        net->width[l - 1] = w->extent[1];
        net->width[l] = w->extent[0];
        net->has_no_last_bias = !b;
        net->n_layer = l;
    }
    return net->n_layer > 0 ? CR_OK
                            : cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                                            "has no net '%.40s': the array %.40s/1/w is missing",
                                            prefix, prefix);
}

void cri_mlp_from_arrays(const cri_array_file *content, const char *prefix, const cri_mlp *net,
                         double *w) {
    for (int k = 0; k < 2 * net->n_layer; k++) {
        int layer = 1 + k / 2;
        bool is_bias = k % 2;
        if (is_bias && !has_bias(net, layer)) {
            continue;
        }
        const cri_array *a = find(content, prefix, layer, is_bias);
        size_t n = (size_t)net->width[layer] * (is_bias ? 1 : (size_t)net->width[layer - 1]);
        CR_ASSERT(a && a->extent[0] == net->width[layer]);
        memcpy(w + cri_mlp_place(net, layer, is_bias), a->value, sizeof *w * n);
    }
}
