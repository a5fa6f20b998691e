// SPDX-License-Identifier: MIT
//
// Names and slots that systems of points and nets share.

#include "points/learn/names.h"

#include "base/base.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

char *cri_name_push(cr_arena *arena, const char *format, ...) {
    char text[160];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return cri_arena_push_text(arena, text);
}

bool cri_balls_copy(const cri_balls *from, cri_balls *to, cr_arena *arena) {
    *to = *from;
    const char **name = CR_PUSH(arena, const char *, from->n_body);
    for (int i = 0; name && i < from->n_body; i++) {
        name[i] = cri_arena_push_text(arena, from->name[i]);
    }
    to->name = name;
    return !cri_arena_has_failed(arena);
}

// what number k of a body of n_dim numbers does
static cri_system_coordinate coordinate_of(const cri_balls *points, int body, int k) {
    static const cri_vec3 axis[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    static const int which[3][3] = {{2}, {0, 2}, {0, 1, 2}};
    if (points->is_angle) {
        return (cri_system_coordinate){.body = body,
                                       .kind = CRI_JOINT_HINGE,
                                       .axis = {0.0, -1.0, 0.0},
                                       .anchor = {0.0, 0.0, points->length}};
    }
    return (cri_system_coordinate){
        .body = body, .kind = CRI_JOINT_SLIDE, .axis = axis[which[points->n_dim - 1][k]]};
}

bool cri_balls_lay_out(const cri_balls *points, cri_balls_layout *out, cr_arena *arena) {
    CR_ASSERT(points->n_dim >= 1 && points->n_dim <= 3);
    int n_q = points->n_body * points->n_dim;
    out->body = CR_PUSH(arena, cri_system_body, points->n_body);
    out->coordinate = CR_PUSH(arena, cri_system_coordinate, n_q);
    out->u_name = CR_PUSH(arena, const char *, n_q);
    if (!out->body || !out->coordinate || !out->u_name) {
        return false;
    }
    for (int i = 0; i < points->n_body; i++) {
        out->body[i] = (cri_system_body){.name = points->name[i],
                                         .pos = {points->spacing * i, 0.0, 0.0},
                                         .radius = points->radius};
    }
    for (int k = 0; k < n_q; k++) {
        int body = k / points->n_dim;
        int part = k % points->n_dim;
        out->coordinate[k] = coordinate_of(points, body, part);
        out->u_name[k] = cri_name_push(arena, "%s/force[%d]", points->name[body], part);
    }
    return !cri_arena_has_failed(arena);
}

bool cri_slot_set(cri_system_slot *slot, char *name, double value) {
    *slot = (cri_system_slot){.name = name, .value = value, .lower = -INFINITY, .upper = INFINITY};
    return name != NULL;
}

const char cri_held_by_threshold[] =
    "moves a threshold: no effect between its jumps, and their place is not followed";

bool cri_slot_set_net(cri_system_slot *slot, const cri_mlp *net, const char *name, const double *w,
                      cr_arena *arena) {
    int n_weight = cri_mlp_n_weight(net);
    for (int layer = 1; layer <= net->n_layer; layer++) {
        int at_w = cri_mlp_place(net, layer, false);
        int at_b = at_w + net->width[layer] * net->width[layer - 1];
        int end = layer < net->n_layer ? cri_mlp_place(net, layer + 1, false) : n_weight;
        for (int k = at_w; k < end; k++) {
            bool is_bias = k >= at_b;
            char *text = cri_name_push(arena, "%s/%d/%s[%d]", name, layer, is_bias ? "b" : "w",
                                       k - (is_bias ? at_b : at_w));
            if (!cri_slot_set(&slot[k], text, w[k])) {
                return false;
            }
        }
    }
    return true;
}
