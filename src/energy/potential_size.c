// SPDX-License-Identifier: MIT
//
// Derivatives of the sum of potentials for sizes of shapes, vertices of meshes that are parameters,
// and offsets of planes: those for the vertices (longrange_shape.c, and here for half-spaces), then
// for what the vertices follow.
// Spheres of the trees follow as well.
//
// The gradient along a motion l is psi = l . grad P. Tangents have no walk of their own: psi is
// linear in l, and twelve motions of a pair give its gradient in the sizes.

#include "base/math/dense.h"
#include "energy/slip.h"

#include <string.h>

/// Adjoints of one pair's surfaces.
typedef struct pair_adj {
    cri_slip_shape shape;
    double offset; // of the plane
} pair_adj;

/// What they come to.
typedef struct pulled {
    double size[2][3]; // of both geoms
    double *vertex[2]; // (n_vertex, 3) in the frames of the geoms; NULL: not wanted
    double offset;     // of a plane
} pulled;

static const cri_mantle *mantle_of(const cri_potential *p, const cri_mantle_pair *pair, int i) {
    return pair->mantle[i] >= 0 ? &p->mantle[pair->mantle[i]] : NULL;
}

static bool pair_adj_push(const cri_potential *p, const cri_mantle_pair *pair, cr_arena *scratch,
                          pair_adj *out) {
    memset(out, 0, sizeof *out);
    out->shape.offset = &out->offset;
    size_t n_most = 0;
    for (int i = 0; i < 2 && mantle_of(p, pair, i); i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        size_t n_node = (size_t)t->tree.n_node;
        out->shape.vertex[i] = CR_PUSH(scratch, double, 3 * (size_t)t->shape.n_vertex);
        out->shape.centre[i] = CR_PUSH(scratch, double, 3 * n_node);
        out->shape.radius[i] = CR_PUSH(scratch, double, n_node);
        n_most = n_node > n_most ? n_node : n_most;
    }
    return !cri_arena_has_failed(scratch) &&
           cri_arena_reserve(scratch, 4 * n_most * sizeof(double) + 64);
}

// the potential's own part, times mu
static bool pull_potential(const cri_size_step *s, const cri_longrange_body *body,
                           cri_mantle_pair *pair, const double l[12], pair_adj *adj,
                           cr_arena *scratch) {
    const cri_potential *p = s->potential;
    double scaled[12];
    for (int i = 0; i < 12; i++) {
        scaled[i] = s->slips->mu * l[i];
    }
    if (pair->plane >= 0) {
        cri_half_space half = cri_potential_half(p, pair);
        return cri_longrange_half_shape_vjp(&pair->options, &body[pair->mantle[0]], &half, scaled,
                                            adj->shape.vertex[0], &adj->offset, scratch);
    }
    const cri_longrange_body two[2] = {body[pair->mantle[0]], body[pair->mantle[1]]};
    const cri_longrange_shape_adj shape = {{adj->shape.vertex[0], adj->shape.vertex[1]}, true};
    return cri_longrange_shape_vjp(&pair->options, two, &pair->warm, 0.0, scaled, &shape, scratch);
}

// the adjoint of vertices in the body's frame, in that of the geom
static void pull_vertices(const cri_mantle *t, const double *from, double *vertex_adj) {
    for (size_t i = 0; vertex_adj && i < (size_t)t->shape.n_vertex; i++) {
        cri_v3_accumulate(cri_m3_tmul(&t->frame.R, cri_v3_load(from + 3 * i)), vertex_adj + 3 * i);
    }
}

// derivatives of l . gradient of pair k: adds to those of its two geoms, and of a plane
static bool pull(const cri_size_step *s, const cri_longrange_body *body, int k,
                 const double *motion, pulled *out, cr_arena *scratch) {
    cri_potential *p = s->potential;
    cri_mantle_pair *pair = &p->pair[k];
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    pair_adj adj;
    double l[12] = {0};
    for (int i = 0; i < 2; i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        if (t && t->is_moving) {
            memcpy(l + 6 * i, motion + 6 * t->body, 6 * sizeof *l);
        }
    }
    bool is_good =
        pair_adj_push(p, pair, scratch, &adj) && pull_potential(s, body, pair, l, &adj, scratch);
    if (is_good) {
        cri_slip_pull_shape(p, s->slips, k, s->next, s->now, motion, &adj.shape);
    }
    for (int i = 0; is_good && i < 2 && mantle_of(p, pair, i); i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        cri_sphere_tree_fit_vjp(&t->tree, t->vertex, adj.shape.centre[i], adj.shape.radius[i],
                                adj.shape.vertex[i], scratch);
        cri_tessellation_place_vjp(&t->shape, &t->frame, adj.shape.vertex[i], out->size[i]);
        pull_vertices(t, adj.shape.vertex[i], out->vertex[i]);
    }
    out->offset += adj.offset;
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// vertices of a mesh among those of all, NULL when they are no parameters
static double *vertices_of(const cri_potential *p, const cri_mantle *t, const cri_derived *d) {
    int at =
        t && p->model->geom[t->geom].slot_vertex >= 0 ? p->model->geom[t->geom].first_vertex : -1;
    return at >= 0 ? d->vertex + at : NULL;
}

bool cri_size_step_vjp(const cri_size_step *s, const double *motion, const cri_derived *d_adj,
                       cr_arena *scratch) {
    cri_potential *p = s->potential;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_longrange_body *body = cri_potential_place(p, s->next->pose, scratch);
    bool is_good = body != NULL;
    for (int k = 0; is_good && k < p->n_pair + p->n_half; k++) {
        const cri_mantle_pair *pair = &p->pair[k];
        pulled own = {.offset = 0.0};
        for (int i = 0; i < 2; i++) {
            own.vertex[i] = vertices_of(p, mantle_of(p, pair, i), d_adj);
        }
        is_good = pull(s, body, k, motion, &own, scratch);
        for (int i = 0; i < 6; i++) {
            const cri_mantle *t = mantle_of(p, pair, i / 3);
            if (t && i % 3 < t->shape.n_size) {
                d_adj->geom[t->geom].size[i % 3] += own.size[i / 3][i % 3];
            }
        }
        if (pair->plane >= 0) {
            d_adj->geom[pair->plane].size[0] += own.offset;
        }
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// do tangents of the sizes move the pair's surfaces?
static bool is_moved(const cri_potential *p, const cri_mantle_pair *pair, const cri_derived *tan) {
    bool is_any = pair->plane >= 0 && tan->geom[pair->plane].size[0] != 0.0;
    for (int i = 0; i < 2; i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        for (int k = 0; t && k < t->shape.n_size; k++) {
            is_any = is_any || tan->geom[t->geom].size[k] != 0.0;
        }
        const double *vertex = vertices_of(p, t, tan);
        for (int k = 0; vertex && k < 3 * t->shape.n_vertex; k++) {
            is_any = is_any || vertex[k] != 0.0;
        }
    }
    return is_any;
}

// one number of the gradient: a unit motion of one body gives it
static bool push_entry(const cri_size_step *s, const cri_longrange_body *body, int k, int entry,
                       const cri_derived *tan, double *motion, double *force, cr_arena *scratch) {
    const cri_potential *p = s->potential;
    const cri_mantle_pair *pair = &p->pair[k];
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    pulled own = {.offset = 0.0};
    for (int i = 0; i < 2; i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        if (vertices_of(p, t, tan)) {
            own.vertex[i] = CR_PUSH(scratch, double, 3 * (size_t)t->shape.n_vertex);
        }
    }
    motion[entry] = 1.0;
    bool is_good = !cri_arena_has_failed(scratch) && pull(s, body, k, motion, &own, scratch);
    motion[entry] = 0.0;
    double sum = pair->plane >= 0 ? own.offset * tan->geom[pair->plane].size[0] : 0.0;
    for (int i = 0; i < 6; i++) {
        const cri_mantle *t = mantle_of(p, pair, i / 3);
        if (t && i % 3 < t->shape.n_size) {
            sum += own.size[i / 3][i % 3] * tan->geom[t->geom].size[i % 3];
        }
    }
    for (int i = 0; is_good && i < 2; i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        if (own.vertex[i]) {
            sum += cri_dot(3 * t->shape.n_vertex, own.vertex[i], vertices_of(p, t, tan));
        }
    }
    force[entry] += sum;
    cri_arena_rewind(scratch, mark);
    return is_good;
}

bool cri_size_step_jvp(const cri_size_step *s, const cri_derived *d_tan, double *force,
                       cr_arena *scratch) {
    cri_potential *p = s->potential;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_longrange_body *body = cri_potential_place(p, s->next->pose, scratch);
    double *motion = CR_PUSH(scratch, double, 6 * (size_t)p->model->sizes.n_body);
    bool is_good = body && motion;
    for (int k = 0; is_good && k < p->n_pair + p->n_half; k++) {
        const cri_mantle_pair *pair = &p->pair[k];
        for (int i = 0; is_good && is_moved(p, pair, d_tan) && i < 12; i++) {
            const cri_mantle *t = mantle_of(p, pair, i / 6);
            if (t && t->is_moving) {
                is_good =
                    push_entry(s, body, k, 6 * t->body + i % 6, d_tan, motion, force, scratch);
            }
        }
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}
