// SPDX-License-Identifier: MIT
//
// Derivatives of the laws made of nets. They keep the class and the active set; the classifier's
// weights have none.
//
//   static    y = A^-1 g_adj on held rows:  c'_adj = -y,  A_adj = -y g'
//   dynamic   those of the complementarity problem (solvers/lcp.h) and of the net
//   c'_i = (1 + e) c_i of a closing end:  c_i_adj = (1 + e) c'_i_adj,  e_adj += c_i c'_i_adj

#include "contact/augmented_parts.h"

#include "base/base.h"
#include "base/math/cholesky.h"

#include <string.h>

enum { MOST = CRI_AUGMENTED_MOST, MOST_END = CRI_AUGMENTED_ENDS, MOST_OUT = CRI_AUGMENTED_OUT };

/// Adjoints on the way from the impulses to A and c.
typedef struct pass {
    const cri_contact_problem *p;
    const cri_augmented_cache *c;
    double g[MOST];       // of impulses
    double rest[MOST];    // of c'
    double out[MOST_OUT]; // of the regressor's outputs
    double scale;
    double A[MOST * MOST], own[MOST]; // of A and c
    double where;                     // of the place, for nets that see it
    double *weights;                  // NULL: not wanted
} pass;

// g = T' h,  h_i = scale out_i of the first n rows
static void impulses_vjp(pass *s, int n) {
    const cri_augmented_cache *c = s->c;
    cri_ground_turn turn = cri_ground_turn_of(&c->ground);
    const double *out = c->out;
    if (c->ground.n_tangent > 1) {
        double along = s->g[0], across = s->g[1];
        double h[2] = {c->scale * out[0], turn.side * c->scale * out[1]};
        cri_ground_turn adj = {along * h[0] + across * h[1], across * h[0] - along * h[1], 0.0,
                               turn.side};
        s->g[0] = turn.cosine * along + turn.sine * across;
        s->g[1] = turn.side * (turn.cosine * across - turn.sine * along);
        if (c->ground.n_tangent > 2) {
            adj.twist = s->g[2] * c->scale * out[2];
            s->g[2] *= turn.twist;
        }
        cri_ground_turn_of_vjp(&c->ground, &adj, s->A, s->own);
    }
    for (int i = 0; i < n; i++) {
        s->scale += s->g[i] * out[i];
        s->out[i] += s->g[i] * c->scale;
    }
}

// out and scale of the net's inputs
static void regress_vjp(pass *s, cr_arena *scratch) {
    const cri_ground_nets *nets = s->p->nets;
    int net = 2 * (int)s->c->ground.kind + 1, first = nets->first[net];
    double input_adj[CRI_GROUND_INPUTS] = {0};
    bool has_room = cri_mlp_value_vjp(&nets->net[net], s->p->weights + first, &s->c->net, s->out,
                                      input_adj, s->weights ? s->weights + first : NULL, scratch);
    CR_ASSERT(has_room);
    cri_ground_input_vjp(&s->c->ground, input_adj, s->scale, s->A, s->own);
    s->where = nets->has_place ? input_adj[nets->net[net].width[0] - 1] : 0.0;
}

// g_e = lcp(M = A_ee, q = c'_e + A_et g_t), of the ends that move
static void normals_vjp(pass *s, cr_arena *scratch) {
    const cri_augmented_cache *c = s->c;
    int k = c->ground.n_row, n_t = c->ground.n_tangent;
    double z_adj[MOST_END], q_adj[MOST_END];
    for (int i = 0; i < c->n_part; i++) {
        z_adj[i] = s->g[n_t + c->part[i]];
    }
    if (c->n_part > 0) {
        cri_lcp_vjp(&c->lcp, z_adj, q_adj, scratch);
    }
    for (int i = 0; i < c->n_part; i++) {
        int row = n_t + c->part[i];
        for (int j = n_t; j < k; j++) {
            s->A[row * k + j] += q_adj[i] * c->g[j];
        }
        s->rest[row] += q_adj[i];
        for (int j = 0; j < n_t; j++) {
            s->A[j * k + row] += q_adj[i] * c->g[j];
            s->g[j] += q_adj[i] * c->ground.A[j * k + row];
        }
    }
}

// A g = -c' on the held rows
static void static_vjp(pass *s) {
    const cri_augmented_cache *c = s->c;
    int k = c->ground.n_row;
    double y[MOST];
    for (int i = 0; i < c->n_held; i++) {
        y[i] = s->g[c->held[i]];
    }
    cri_cholesky_solve(c->n_held, c->factor, y);
    for (int i = 0; i < c->n_held; i++) {
        s->rest[c->held[i]] = -y[i];
        for (int j = 0; j < k; j++) {
            s->A[c->held[i] * k + j] = -y[i] * c->g[j];
        }
    }
}

// c' = c, but for closing ends
static void rest_vjp(pass *s) {
    const cri_augmented_cache *c = s->c;
    double *e = s->out + cri_ground_rows(c->ground.kind);
    for (int i = 0; i < c->ground.n_row; i++) {
        bool is_closing = i >= c->ground.n_tangent && c->ground.c[i] < 0.0;
        s->own[i] += is_closing ? (1.0 + c->e) * s->rest[i] : s->rest[i];
        *e += is_closing && c->has_e ? c->ground.c[i] * s->rest[i] : 0.0;
    }
}

void cri_augmented_vjp(const cri_contact_problem *p, const void *cached, const double *f,
                       const double *f_adj, cri_contact_adj *adj, cr_arena *scratch) {
    const cri_augmented_cache *c = cached;
    if (c->inner) {
        c->inner->vjp(p, c->inner_cache, f, f_adj, adj, scratch);
        return;
    }
    pass s = {.p = p, .c = c, .weights = adj->weights};
    // f = R' g
    cri_ground_take(&c->ground, f_adj, s.g);
    bool has_net = c->has_e;
    switch (c->mode) {
    case CRI_AUGMENTED_NONE:
        break;
    case CRI_AUGMENTED_STATIC:
        static_vjp(&s);
        break;
    case CRI_AUGMENTED_DYNAMIC:
        normals_vjp(&s, scratch);
        impulses_vjp(&s, c->ground.n_tangent);
        has_net = true;
        break;
    case CRI_AUGMENTED_FRICTIONLESS:
        normals_vjp(&s, scratch);
        break;
    case CRI_AUGMENTED_REGRESSED:
        impulses_vjp(&s, cri_ground_rows(c->ground.kind));
        has_net = true;
        break;
    }
    rest_vjp(&s);
    if (has_net) {
        regress_vjp(&s, scratch);
    }
    *adj = (cri_contact_adj){.weights = s.weights,
                             .where = s.where,
                             .mu = CR_PUSH(scratch, double, p->n),
                             .e = CR_PUSH(scratch, double, p->n)};
    cri_ground_reduce_vjp(p, &c->ground, s.A, s.own, adj, scratch);
}

/// Tangents on the way from A and c to the impulses.
typedef struct push {
    double A[MOST * MOST], own[MOST];
    double out[MOST_OUT];
    double scale;
    double rest[MOST];
    double g[MOST];
} push;

// those of all outputs, each from one vjp
static void regress_jvp(const cri_contact_problem *p, const cri_augmented_cache *c,
                        const cri_contact_tan *tan, push *t, cr_arena *scratch) {
    const double *weights_tan = tan->weights;
    int net = 2 * (int)c->ground.kind + 1, first = p->nets->first[net];
    const cri_mlp *mlp = &p->nets->net[net];
    int n_weight = cri_mlp_n_weight(mlp);
    double input_tan[CRI_GROUND_INPUTS] = {0};
    t->scale = cri_ground_input_jvp(&c->ground, t->A, t->own, input_tan);
    if (p->nets->has_place) {
        input_tan[mlp->width[0] - 1] = tan->where;
    }
    for (int i = 0; i < mlp->width[mlp->n_layer]; i++) {
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        double *row = weights_tan ? CR_PUSH(scratch, double, n_weight) : NULL;
        double input_adj[CRI_GROUND_INPUTS] = {0}, seed[MOST_OUT] = {0};
        seed[i] = 1.0;
        bool has_room =
            cri_mlp_value_vjp(mlp, p->weights + first, &c->net, seed, input_adj, row, scratch);
        CR_ASSERT(has_room);
        t->out[i] = 0.0;
        for (int j = 0; j < mlp->width[0]; j++) {
            t->out[i] += input_adj[j] * input_tan[j];
        }
        for (int j = 0; row && j < n_weight; j++) {
            t->out[i] += row[j] * weights_tan[first + j];
        }
        cri_arena_rewind(scratch, mark);
    }
}

static void impulses_jvp(const cri_augmented_cache *c, int n, push *t) {
    for (int i = 0; i < n; i++) {
        t->g[i] = t->scale * c->out[i] + c->scale * t->out[i];
    }
    cri_ground_turn turn = cri_ground_turn_of(&c->ground);
    cri_ground_turn tan = cri_ground_turn_of_jvp(&c->ground, t->A, t->own);
    cri_ground_turn_back(&c->ground, &turn, t->g);
    if (c->ground.n_tangent > 1) {
        double along = c->scale * c->out[0], across = turn.side * c->scale * c->out[1];
        t->g[0] += tan.cosine * along - tan.sine * across;
        t->g[1] += tan.sine * along + tan.cosine * across;
    }
    if (c->ground.n_tangent > 2) {
        t->g[2] += tan.twist * c->scale * c->out[2];
    }
}

static void rest_jvp(const cri_augmented_cache *c, push *t) {
    double e_tan = c->has_e ? t->out[cri_ground_rows(c->ground.kind)] : 0.0;
    for (int i = 0; i < c->ground.n_row; i++) {
        bool is_closing = i >= c->ground.n_tangent && c->ground.c[i] < 0.0;
        t->rest[i] = is_closing ? (1.0 + c->e) * t->own[i] + e_tan * c->ground.c[i] : t->own[i];
    }
}

static void normals_jvp(const cri_augmented_cache *c, push *t, cr_arena *scratch) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent;
    double rhs[MOST_END], z_tan[MOST_END];
    for (int i = 0; i < c->n_part; i++) {
        int row = n_t + c->part[i];
        rhs[i] = t->rest[row];
        for (int j = 0; j < n_t; j++) {
            rhs[i] += t->A[j * k + row] * c->g[j] + c->ground.A[j * k + row] * t->g[j];
        }
        for (int j = n_t; j < k; j++) {
            rhs[i] += t->A[row * k + j] * c->g[j];
        }
    }
    if (c->n_part > 0) {
        cri_lcp_jvp(&c->lcp, rhs, z_tan, scratch);
    }
    for (int i = 0; i < c->n_part; i++) {
        t->g[n_t + c->part[i]] = z_tan[i];
    }
}

static void static_jvp(const cri_augmented_cache *c, push *t) {
    int k = c->ground.n_row;
    double y[MOST];
    for (int i = 0; i < c->n_held; i++) {
        int row = c->held[i];
        y[i] = -t->rest[row];
        for (int j = 0; j < k; j++) {
            y[i] -= t->A[row * k + j] * c->g[j];
        }
    }
    cri_cholesky_solve(c->n_held, c->factor, y);
    for (int i = 0; i < c->n_held; i++) {
        t->g[c->held[i]] = y[i];
    }
}

void cri_augmented_jvp(const cri_contact_problem *p, const void *cached, const double *f,
                       const cri_contact_tan *tan, double *f_tan, cr_arena *scratch) {
    const cri_augmented_cache *c = cached;
    if (c->inner) {
        c->inner->jvp(p, c->inner_cache, f, tan, f_tan, scratch);
        return;
    }
    push t = {.scale = 0.0};
    cri_ground_reduce_jvp(&c->ground, tan, t.A, t.own, scratch);
    bool has_friction = c->mode == CRI_AUGMENTED_DYNAMIC || c->mode == CRI_AUGMENTED_REGRESSED;
    if (c->has_e || has_friction) {
        regress_jvp(p, c, tan, &t, scratch);
    }
    rest_jvp(c, &t);
    switch (c->mode) {
    case CRI_AUGMENTED_NONE:
        break;
    case CRI_AUGMENTED_STATIC:
        static_jvp(c, &t);
        break;
    case CRI_AUGMENTED_DYNAMIC:
        impulses_jvp(c, c->ground.n_tangent, &t);
        normals_jvp(c, &t, scratch);
        break;
    case CRI_AUGMENTED_FRICTIONLESS:
        normals_jvp(c, &t, scratch);
        break;
    case CRI_AUGMENTED_REGRESSED:
        impulses_jvp(c, cri_ground_rows(c->ground.kind), &t);
        break;
    }
    cri_ground_spread(&c->ground, t.g, f_tan);
}
