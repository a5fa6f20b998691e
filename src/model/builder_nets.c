// SPDX-License-Identifier: MIT
//
// Nets of a scene: a copy in the model, and a slot for each of their weights, NET/w1[i], NET/b1[i],
// NET/w2[i], ... (w of a layer by rows, b its biases).

#include "model/builder_parts.h"
#include "model/ground_body.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int cri_build_n_weight(const cri_builder *b) {
    return b->def->nets ? b->def->nets->n_weight : 0;
}

static void add_weights(cri_builder *b, const char *net, const char *what, int n,
                        const double *value) {
    CR_ASSERT(b->n_p + n <= b->p_space);
    for (int i = 0; i < n; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s/%s[%d]", net, what, i);
        b->model->slot[b->n_p++] = (cri_slot){.name = cri_arena_push_text(b->arena, name),
                                              .value = value[i],
                                              .lower = -INFINITY,
                                              .upper = INFINITY};
    }
}

cr_status cri_build_nets(cri_builder *b) {
    const cri_ground_nets *from = b->def->nets;
    if (!from) {
        return CR_OK;
    }
    cri_ground_nets *nets = CR_PUSH(b->arena, cri_ground_nets, 1);
    double *weights = CR_PUSH(b->arena, double, from->n_weight);
    if (!nets || !weights) {
        return cri_build_fail_memory(b);
    }
    memcpy(weights, from->weights, sizeof *weights * (size_t)from->n_weight);
    *nets = *from;
    nets->weights = weights;
    b->model->nets = nets;
    b->model->slot_nets = b->n_p;
    for (int i = 0; i < CRI_GROUND_NETS; i++) {
        // those of other kinds have no layers
        const cri_mlp *net = &nets->net[i];
        const double *w = weights + nets->first[i];
        for (int l = 1; l <= net->n_layer; l++) {
            char what[8];
            snprintf(what, sizeof what, "w%d", l);
            add_weights(b, cri_ground_net_name(i), what, net->width[l] * net->width[l - 1],
                        w + cri_mlp_place(net, l, false));
            what[0] = 'b';
            add_weights(b, cri_ground_net_name(i), what, net->width[l],
                        w + cri_mlp_place(net, l, true));
        }
    }
    return cri_arena_has_failed(b->arena) ? cri_build_fail_memory(b) : CR_OK;
}

cr_status cri_build_check_nets(const cri_builder *b) {
    const cr_model *m = b->model;
    if (!m->nets) {
        return CR_OK;
    }
    cr_arena *work = cri_arena_create(4096);
    double *p = work ? CR_PUSH(work, double, m->sizes.n_p) : NULL;
    cri_derived d = p ? cri_derived_push(m, work) : (cri_derived){0};
    cr_status status = CR_OK;
    if (!d.block) {
        status = cri_build_fail_memory(b);
    } else {
        for (int i = 0; i < m->sizes.n_p; i++) {
            p[i] = m->slot[i].value;
        }
        cri_derive(m, p, &d);
        status = cri_ground_check_nets(m, &d, m->nets, b->err);
    }
    cri_arena_destroy(work);
    return status;
}
