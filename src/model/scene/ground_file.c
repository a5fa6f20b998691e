// SPDX-License-Identifier: MIT
//
// The file of the nets of contact patches:
//
//   {"format": "carom contact patch nets 4", "model": "augmented" or "regressed", "body", "shape",
//    "surface", "mass", "inertia", "law", "restitution": false, "hidden": [32, 32, 16],
//    "nets": {"point/class": [..], "point/friction": [..], "line/class": [..], ..},
//    "ranges": {"point": [lower.., upper..], "line": ..}}
//
// "applied": true says that forces are inputs, "place": true that the place along the surface is
// one, "other": [mass, inertia] that "surface" is another
// body, which moves and has "other shape". A body in space has "space": true, surfaces beside
// points and lines, and six numbers for its inertia.
//
// Weights are flat, W_1, b_1, W_2, ... by rows (base/nn/mlp.h).

#include "model/scene/ground_file.h"

#include "base/io/file.h"
#include "base/io/json_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// of law, and of nets
static const char *const words[2] = {"augmented", "regressed"};

static const char *const format = "carom contact patch nets 4";

// ---- reading -----------------------------------------------------------------------------------

static cr_status fail_member(const char *path, const char *member, const char *expected,
                             cr_error *err) {
    return cri_file_fail(err, CR_ERR_SYNTAX, path, 0, "\"%s\" is missing or wrong: expected %s",
                         member, expected);
}

// n finite numbers
static bool take_numbers(const json_t *array, int n, double *out) {
    bool is_good = json_is_array(array) && json_array_size(array) == (size_t)n;
    for (int i = 0; i < n && is_good; i++) {
        const json_t *value = json_array_get(array, (size_t)i);
        out[i] = json_number_value(value);
        is_good = json_is_number(value) && isfinite(out[i]);
    }
    return is_good;
}

static bool take_text(const json_t *root, const char *member, size_t n_byte, char *out) {
    const char *text = json_string_value(json_object_get(root, member));
    bool is_good = text && strlen(text) < n_byte;
    if (is_good) {
        memcpy(out, text, strlen(text) + 1);
    }
    return is_good;
}

static bool take_shape(const json_t *root, cri_ground_nets *nets) {
    const json_t *hidden = json_object_get(root, "hidden");
    size_t n = json_array_size(hidden);
    int width[CRI_GROUND_HIDDEN];
    bool is_good = n >= 1 && n <= CRI_GROUND_HIDDEN;
    for (size_t i = 0; i < n && is_good; i++) {
        json_int_t value = json_integer_value(json_array_get(hidden, i));
        is_good = value >= 1 && value <= CRI_GROUND_WIDTH;
        width[i] = (int)value;
    }
    if (is_good) {
        cri_ground_nets_shape((int)n, width, nets);
    }
    return is_good;
}

static cr_status take_ranges(const char *path, const json_t *root, cri_ground_nets *nets,
                             cr_error *err) {
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        if (!cri_ground_has(nets->is_spatial, k)) {
            continue;
        }
        int n = cri_ground_all_inputs((cri_ground_kind)k, nets->has_applied, nets->has_place);
        double both[2 * CRI_GROUND_INPUTS];
        const json_t *ranges =
            json_object_get(json_object_get(root, "ranges"), cri_ground_kind_name(k));
        if (!take_numbers(ranges, 2 * n, both)) {
            return fail_member(path, "ranges", "lower and upper ends of the inputs of each kind",
                               err);
        }
        memcpy(nets->lower[k], both, sizeof *both * (size_t)n);
        memcpy(nets->upper[k], both + n, sizeof *both * (size_t)n);
    }
    return CR_OK;
}

static bool take_body(const json_t *root, cri_ground_nets *nets) {
    const json_t *inertia = json_object_get(root, "inertia");
    nets->is_spatial = json_is_true(json_object_get(root, "space"));
    nets->mass = json_number_value(json_object_get(root, "mass"));
    nets->inertia[0] = json_number_value(inertia);
    const json_t *other = json_object_get(root, "other");
    double both[2] = {0.0, 0.0};
    nets->has_other = other != NULL;
    nets->has_applied = json_is_true(json_object_get(root, "applied"));
    nets->has_place = json_is_true(json_object_get(root, "place"));
    if ((nets->has_applied || nets->has_place) && nets->is_spatial) {
        return false;
    }
    if (other && (!take_numbers(other, 2, both) || both[0] <= 0.0 || both[1] <= 0.0)) {
        return false;
    }
    nets->other_mass = both[0];
    nets->other_inertia = both[1];
    bool is_good = !nets->is_spatial || take_numbers(inertia, 6, nets->inertia);
    return is_good && nets->mass > 0.0 && nets->inertia[0] > 0.0;
}

static cr_status take_all(const char *path, const json_t *root, cri_ground_nets *nets,
                          cr_arena *arena, cr_error *err) {
    char found[40];
    if (!take_text(root, "format", sizeof found, found)) {
        return fail_member(path, "format", format, err);
    }
    if (strcmp(found, format) != 0) {
        return cri_fail(err, CR_ERR_SYNTAX, 0,
                        "%.80s: its format is \"%s\", this version reads \"%s\"; train the nets "
                        "again with carom learn augmented",
                        path, found, format);
    }
    if (!take_text(root, "body", sizeof nets->body, nets->body) ||
        !take_text(root, "surface", sizeof nets->surface, nets->surface)) {
        return fail_member(path, "body", "names of body and surface", err);
    }
    if (!take_text(root, "shape", sizeof nets->shape, nets->shape) ||
        (json_object_get(root, "other") &&
         !take_text(root, "other shape", sizeof nets->other_shape, nets->other_shape))) {
        return fail_member(path, "shape", "the shape of each body that moves", err);
    }
    char model[16];
    if (!take_text(root, "model", sizeof model, model) ||
        (strcmp(model, words[0]) != 0 && strcmp(model, words[1]) != 0)) {
        return fail_member(path, "model", "augmented or regressed", err);
    }
    nets->is_regressed = strcmp(model, words[1]) == 0;
    if (!take_body(root, nets)) {
        return fail_member(path, "mass", "mass and inertia, positive numbers", err);
    }
    const json_t *restitution = json_object_get(root, "restitution");
    if (restitution && !json_is_boolean(restitution)) {
        return fail_member(path, "restitution", "true or false", err);
    }
    nets->has_restitution = json_is_true(restitution);
    if (json_object_get(root, "law") && !take_text(root, "law", sizeof nets->law, nets->law)) {
        return fail_member(path, "law", "the name of a contact law", err);
    }
    if (!take_shape(root, nets)) {
        return fail_member(path, "hidden", "1 to 4 widths of 1 to 128", err);
    }
    CR_TRY(take_ranges(path, root, nets, err));
    double *weights = CR_PUSH(arena, double, nets->n_weight);
    if (!weights) {
        return cri_file_fail_memory(err, path);
    }
    const json_t *all = json_object_get(root, "nets");
    for (int i = 0; i < CRI_GROUND_NETS; i++) {
        if (!cri_ground_has_net(nets, i)) {
            continue;
        }
        const json_t *one = json_object_get(all, cri_ground_net_name(i));
        if (!take_numbers(one, cri_mlp_n_weight(&nets->net[i]), weights + nets->first[i])) {
            return fail_member(path, cri_ground_net_name(i), "as many weights as its shape has",
                               err);
        }
    }
    nets->weights = weights;
    return CR_OK;
}

cr_status cri_ground_file_read(const char *path, cri_ground_nets *nets, cr_arena *arena,
                               cr_error *err) {
    CR_ASSERT(path && nets && arena);
    *nets = (cri_ground_nets){0};
    char *text;
    size_t n_byte;
    CR_TRY(cri_file_read(path, &text, &n_byte, err));
    json_error_t where;
    json_t *root = json_loadb(text, n_byte, JSON_REJECT_DUPLICATES, &where);
    free(text);
    if (!root) {
        return cri_file_fail(err, CR_ERR_SYNTAX, path, where.line, "is no JSON: %.100s",
                             where.text);
    }
    cr_status status = take_all(path, root, nets, arena, err);
    json_decref(root);
    return status;
}

// ---- writing -----------------------------------------------------------------------------------

static json_t *numbers(int n, const double *value) {
    json_t *array = json_array();
    for (int i = 0; i < n; i++) {
        if (json_array_append_new(array, json_real(value[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *nets_of(const cri_ground_nets *nets) {
    json_t *all = json_object();
    for (int i = 0; i < CRI_GROUND_NETS; i++) {
        if (!cri_ground_has_net(nets, i)) {
            continue;
        }
        json_t *one = numbers(cri_mlp_n_weight(&nets->net[i]), nets->weights + nets->first[i]);
        if (json_object_set_new(all, cri_ground_net_name(i), one) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static json_t *ranges_of(const cri_ground_nets *nets) {
    json_t *all = json_object();
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        if (!cri_ground_has(nets->is_spatial, k)) {
            continue;
        }
        int n = cri_ground_all_inputs((cri_ground_kind)k, nets->has_applied, nets->has_place);
        double both[2 * CRI_GROUND_INPUTS];
        memcpy(both, nets->lower[k], sizeof *both * (size_t)n);
        memcpy(both + n, nets->upper[k], sizeof *both * (size_t)n);
        if (json_object_set_new(all, cri_ground_kind_name(k), numbers(2 * n, both)) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static json_t *hidden_of(const cri_ground_nets *nets) {
    json_t *array = json_array();
    const cri_mlp *net = &nets->net[nets->is_spatial ? 2 * CRI_GROUND_SPACE_POINT : 0];
    for (int l = 1; l < net->n_layer; l++) {
        json_array_append_new(array, json_integer(net->width[l]));
    }
    return array;
}

cr_status cri_ground_file_write(const char *path, const cri_ground_nets *nets, cr_error *err) {
    CR_ASSERT(path && nets && nets->weights);
    json_t *inertia = nets->is_spatial ? numbers(6, nets->inertia) : json_real(nets->inertia[0]);
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:f, s:o, s:s, s:b, s:o, s:o, s:o}",
                             "format", format, "model", words[nets->is_regressed], "body",
                             nets->body, "shape", nets->shape, "surface", nets->surface, "space",
                             nets->is_spatial, "mass", nets->mass, "inertia", inertia, "law",
                             nets->law, "restitution", nets->has_restitution, "hidden",
                             hidden_of(nets), "nets", nets_of(nets), "ranges", ranges_of(nets));
    if (nets->has_applied) {
        json_object_set_new(root, "applied", json_true());
    }
    if (nets->has_place) {
        json_object_set_new(root, "place", json_true());
    }
    if (nets->has_other) {
        double both[2] = {nets->other_mass, nets->other_inertia};
        json_object_set_new(root, "other", numbers(2, both));
        json_object_set_new(root, "other shape", json_string(nets->other_shape));
    }
    return cri_json_write(path, root, true, JSON_COMPACT, err);
}
