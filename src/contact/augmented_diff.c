// SPDX-License-Identifier: MIT
//
// Derivatives of the laws made of nets. They keep the class and the active set; the classifier's
// weights have none.
//
//   static    y = A^-1 g_adj:  c'_adj = -y,  A_adj = -y g'
//   dynamic   those of the complementarity problem (solvers/lcp.h) and of the net
//   c'_i = (1 + e) c_i of a closing end:  c_i_adj = (1 + e) c'_i_adj,  e_adj += c_i c'_i_adj

#include "contact/augmented_parts.h"

#include "base/base.h"
#include "math/cholesky.h"

#include <string.h>

enum { MOST = CRI_AUGMENTED_MOST, MOST_END = CRI_AUGMENTED_ENDS };

/// Adjoints on the way from the impulses to A and c.
typedef struct pass {
    const cri_contact_problem *p;
    const cri_augmented_cache *c;
    double g[MOST];       // of impulses
    double rest[MOST];    // of c'
    double out[MOST + 1]; // of the regressor's outputs
    double scale;
    double A[MOST * MOST], own[MOST]; // of A and c
    double *weights;                  // NULL: not wanted
} pass;

// g_i = scale out_i of the first n rows
static void impulses_vjp(pass *s, int n) {
    for (int i = 0; i < n; i++) {
        s->scale += s->g[i] * s->c->out[i];
        s->out[i] += s->g[i] * s->c->scale;
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
}

// g_e = lcp(M = A_ee, q = c'_e + A_e0 g_0)
static void normals_vjp(pass *s, cr_arena *scratch) {
    const cri_augmented_cache *c = s->c;
    int k = c->ground.n_row;
    double q_adj[MOST_END];
    cri_lcp_vjp(&c->lcp, s->g + 1, q_adj, scratch);
    for (int i = 1; i < k; i++) {
        for (int j = 1; j < k; j++) {
            s->A[i * k + j] += q_adj[i - 1] * c->g[j];
        }
        s->rest[i] += q_adj[i - 1];
        s->A[i] += q_adj[i - 1] * c->g[0];
        s->g[0] += q_adj[i - 1] * c->ground.A[i];
    }
}

// A g = -c'
static void static_vjp(pass *s) {
    int k = s->c->ground.n_row;
    cri_cholesky_solve(k, s->c->factor, s->g);
    for (int i = 0; i < k; i++) {
        s->rest[i] = -s->g[i];
        for (int j = 0; j < k; j++) {
            s->A[i * k + j] = -s->g[i] * s->c->g[j];
        }
    }
}

// c' = c, but for closing ends
static void rest_vjp(pass *s) {
    const cri_augmented_cache *c = s->c;
    s->own[0] += s->rest[0];
    for (int i = 1; i < c->ground.n_row; i++) {
        bool is_closing = c->ground.c[i] < 0.0;
        s->own[i] += is_closing ? (1.0 + c->e) * s->rest[i] : s->rest[i];
        s->out[c->ground.n_row] += is_closing && c->has_e ? c->ground.c[i] * s->rest[i] : 0.0;
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
        impulses_vjp(&s, 1);
        has_net = true;
        break;
    case CRI_AUGMENTED_FRICTIONLESS:
        normals_vjp(&s, scratch);
        break;
    case CRI_AUGMENTED_REGRESSED:
        impulses_vjp(&s, c->ground.n_row);
        has_net = true;
        break;
    }
    rest_vjp(&s);
    if (has_net) {
        regress_vjp(&s, scratch);
    }
    *adj = (cri_contact_adj){.weights = s.weights,
                             .mu = CR_PUSH(scratch, double, p->n),
                             .e = CR_PUSH(scratch, double, p->n)};
    cri_ground_reduce_vjp(p, &c->ground, s.A, s.own, adj, scratch);
}

/// Tangents on the way from A and c to the impulses.
typedef struct push {
    double A[MOST * MOST], own[MOST];
    double out[MOST + 1];
    double scale;
    double rest[MOST];
    double g[MOST];
} push;

// those of all outputs, each from one vjp; weights_tan may be NULL
static void regress_jvp(const cri_contact_problem *p, const cri_augmented_cache *c,
                        const double *weights_tan, push *t, cr_arena *scratch) {
    int net = 2 * (int)c->ground.kind + 1, first = p->nets->first[net];
    const cri_mlp *mlp = &p->nets->net[net];
    int n_weight = cri_mlp_n_weight(mlp);
    double input_tan[CRI_GROUND_INPUTS];
    t->scale = cri_ground_input_jvp(&c->ground, t->A, t->own, input_tan);
    for (int i = 0; i < mlp->width[mlp->n_layer]; i++) {
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        double *row = weights_tan ? CR_PUSH(scratch, double, n_weight) : NULL;
        double input_adj[CRI_GROUND_INPUTS] = {0}, seed[MOST + 1] = {0};
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
}

static void rest_jvp(const cri_augmented_cache *c, push *t) {
    t->rest[0] = t->own[0];
    for (int i = 1; i < c->ground.n_row; i++) {
        double e_tan = c->has_e ? t->out[c->ground.n_row] : 0.0;
        bool is_closing = c->ground.c[i] < 0.0;
        t->rest[i] = is_closing ? (1.0 + c->e) * t->own[i] + e_tan * c->ground.c[i] : t->own[i];
    }
}

static void normals_jvp(const cri_augmented_cache *c, push *t, cr_arena *scratch) {
    int k = c->ground.n_row;
    double rhs[MOST_END];
    for (int i = 1; i < k; i++) {
        rhs[i - 1] = t->rest[i] + t->A[i] * c->g[0] + c->ground.A[i] * t->g[0];
        for (int j = 1; j < k; j++) {
            rhs[i - 1] += t->A[i * k + j] * c->g[j];
        }
    }
    cri_lcp_jvp(&c->lcp, rhs, t->g + 1, scratch);
}

static void static_jvp(const cri_augmented_cache *c, push *t) {
    int k = c->ground.n_row;
    for (int i = 0; i < k; i++) {
        t->g[i] = -t->rest[i];
        for (int j = 0; j < k; j++) {
            t->g[i] -= t->A[i * k + j] * c->g[j];
        }
    }
    cri_cholesky_solve(k, c->factor, t->g);
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
        regress_jvp(p, c, tan->weights, &t, scratch);
    }
    rest_jvp(c, &t);
    switch (c->mode) {
    case CRI_AUGMENTED_NONE:
        break;
    case CRI_AUGMENTED_STATIC:
        static_jvp(c, &t);
        break;
    case CRI_AUGMENTED_DYNAMIC:
        impulses_jvp(c, 1, &t);
        normals_jvp(c, &t, scratch);
        break;
    case CRI_AUGMENTED_FRICTIONLESS:
        normals_jvp(c, &t, scratch);
        break;
    case CRI_AUGMENTED_REGRESSED:
        impulses_jvp(c, c->ground.n_row, &t);
        break;
    }
    cri_ground_spread(&c->ground, t.g, f_tan);
}
