// SPDX-License-Identifier: MIT
//
// Velocity Verlet with a learned potential (variational integrator network):
//
//   q1 = q + h v - h^2/2 Minv g(q),   v1 = v - h/2 Minv (g(q) + g(q1)),   g = dV/dq
//
// Source: paper 001, appendix. It has no contacts. Smooth.

#include "points/learn/baseline.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

static const char *const laws[] = {"none", NULL};

// q1 and v1 of one entry have the same mass
static double mass_of(const cri_baseline *b, const double *p, int k) {
    return p[k % b->n_q / b->n_dim];
}

static bool push_cache(const cri_baseline *b, int n_row, cri_verlet_cache *cache, cr_arena *arena) {
    int n = n_row * b->n_q;
    *cache = (cri_verlet_cache){
        .q = CR_PUSH_RAW(arena, double, n),
        .q1 = CR_PUSH_RAW(arena, double, n),
        .g = {CR_PUSH_RAW(arena, double, n), CR_PUSH_RAW(arena, double, n)},
        .is_failed = CR_PUSH(arena, bool, n_row),
    };
    return !cri_arena_has_failed(arena);
}

bool cri_verlet_step(const cri_baseline *b, const cri_system_batch *batch, double *x_next,
                     cri_verlet_cache *cache, cr_arena *arena) {
    cri_verlet_cache own;
    cri_verlet_cache *c = cache ? cache : &own;
    if (!push_cache(b, batch->n_row, c, arena)) {
        return false;
    }
    const double *w = batch->p + b->at_net;
    size_t n_q = (size_t)b->n_q;
    double h = batch->h;
    for (size_t row = 0; row < (size_t)batch->n_row; row++) {
        memcpy(c->q + n_q * row, batch->x + 2 * n_q * row, n_q * sizeof *c->q);
    }
    if (!cri_mlp_gradient(&b->net, w, batch->n_row, c->q, NULL, c->g[0], cache ? &c->net[0] : NULL,
                          arena)) {
        return false;
    }
    for (int k = 0; k < batch->n_row * b->n_q; k++) {
        double v = batch->x[(size_t)(k / b->n_q) * 2 * n_q + n_q + (size_t)(k % b->n_q)];
        c->q1[k] = c->q[k] + h * v - 0.5 * h * h * c->g[0][k] / mass_of(b, batch->p, k);
    }
    if (!cri_mlp_gradient(&b->net, w, batch->n_row, c->q1, NULL, c->g[1], cache ? &c->net[1] : NULL,
                          arena)) {
        return false;
    }
    for (int k = 0; k < batch->n_row * b->n_q; k++) {
        size_t at = (size_t)(k / b->n_q) * 2 * n_q + (size_t)(k % b->n_q);
        double kick = 0.5 * h * (c->g[0][k] + c->g[1][k]) / mass_of(b, batch->p, k);
        x_next[at] = c->q1[k];
        x_next[at + n_q] = batch->x[at + n_q] - kick;
    }
    for (size_t row = 0; row < (size_t)batch->n_row; row++) {
        double *next = x_next + 2 * n_q * row;
        c->is_failed[row] = !cri_all_finite(2 * b->n_q, next);
        if (c->is_failed[row]) {
            memcpy(next, batch->x + 2 * n_q * row, 2 * n_q * sizeof *next);
        }
    }
    return true;
}

/// Adjoints on their way back through a step, (n_row, n_q) each.
typedef struct back {
    double *g;  // of g(q1), then of g(q)
    double *q1; //
    double *q;  //
} back;

// v1 = v - h/2 Minv (g + g1): the part of both gradients; the masses
static void kick_vjp(const cri_baseline *b, const cri_system_batch *batch,
                     const cri_verlet_cache *c, const double *x_next_adj, double *p_adj,
                     const back *a) {
    for (int k = 0; k < batch->n_row * b->n_q; k++) {
        int row = k / b->n_q;
        size_t at = (size_t)row * 2 * (size_t)b->n_q + (size_t)(k % b->n_q);
        double mass = mass_of(b, batch->p, k);
        double v1_adj = c->is_failed[row] ? 0.0 : x_next_adj[at + (size_t)b->n_q];
        a->q1[k] = c->is_failed[row] ? 0.0 : x_next_adj[at];
        a->g[k] = -0.5 * batch->h * v1_adj / mass;
        if (p_adj) {
            p_adj[k % b->n_q / b->n_dim] +=
                0.5 * batch->h * (c->g[0][k] + c->g[1][k]) * v1_adj / (mass * mass);
        }
    }
}

// q1 = q + h v - h^2/2 Minv g
static void drift_vjp(const cri_baseline *b, const cri_system_batch *batch,
                      const cri_verlet_cache *c, double *p_adj, const back *a) {
    double half = 0.5 * batch->h * batch->h;
    for (int k = 0; k < batch->n_row * b->n_q; k++) {
        double mass = mass_of(b, batch->p, k);
        a->g[k] -= half * a->q1[k] / mass;
        a->q[k] += a->q1[k];
        if (p_adj) {
            p_adj[k % b->n_q / b->n_dim] += half * c->g[0][k] * a->q1[k] / (mass * mass);
        }
    }
}

bool cri_verlet_step_vjp(const cri_baseline *b, const cri_system_batch *batch,
                         const cri_verlet_cache *cache, const double *x_next_adj, double *x_adj,
                         double *p_adj, cr_arena *work) {
    cri_arena_mark mark = cri_arena_get_mark(work);
    int n = batch->n_row * b->n_q;
    back a = {CR_PUSH(work, double, n), CR_PUSH(work, double, n), CR_PUSH(work, double, n)};
    if (!a.g || !a.q1 || !a.q) {
        return false;
    }
    const double *w = batch->p + b->at_net;
    double *w_adj = p_adj ? p_adj + b->at_net : NULL;
    kick_vjp(b, batch, cache, x_next_adj, p_adj, &a);
    if (!cri_mlp_gradient_vjp(&b->net, w, &cache->net[1], NULL, a.g, a.q1, w_adj, work)) {
        return false;
    }
    drift_vjp(b, batch, cache, p_adj, &a);
    if (!cri_mlp_gradient_vjp(&b->net, w, &cache->net[0], NULL, a.g, a.q, w_adj, work)) {
        return false;
    }
    for (int k = 0; x_adj && k < n; k++) {
        int row = k / b->n_q;
        size_t at = (size_t)row * 2 * (size_t)b->n_q + (size_t)(k % b->n_q);
        double v1_adj = cache->is_failed[row] ? 0.0 : x_next_adj[at + (size_t)b->n_q];
        x_adj[at] += a.q[k];
        x_adj[at + (size_t)b->n_q] += v1_adj + batch->h * a.q1[k];
    }
    cri_arena_rewind(work, mark);
    return true;
}

// ---- as a system -------------------------------------------------------------------------------

static bool kind_step(const void *self, const cri_system_batch *batch, double *x_next,
                      cri_system_row *row, const void **cache, cr_arena *arena) {
    cri_verlet_cache *kept = CR_PUSH(arena, cri_verlet_cache, 1);
    if (!kept || !cri_verlet_step(self, batch, x_next, kept, arena)) {
        return false;
    }
    for (int k = 0; row && k < batch->n_row; k++) {
        row[k] = (cri_system_row){kept->is_failed[k], 0};
    }
    if (cache) {
        *cache = kept;
    }
    return true;
}

static bool kind_vjp(const void *self, const cri_system_batch *batch, const void *cache,
                     const double *x_next_adj, double *x_adj, double *u_adj, double *p_adj,
                     cr_arena *work) {
    (void)u_adj;
    return cri_verlet_step_vjp(self, batch, cache, x_next_adj, x_adj, p_adj, work);
}

static double kind_energy(const void *self, const double *p, const double *x, cr_arena *work) {
    const cri_baseline *b = self;
    cri_arena_mark mark = cri_arena_get_mark(work);
    double energy = 0.0;
    if (!cri_mlp_value(&b->net, p + b->at_net, 1, x, &energy, NULL, work)) {
        energy = NAN;
    }
    cri_arena_rewind(work, mark);
    for (int k = 0; k < b->n_q; k++) {
        energy += 0.5 * p[k / b->n_dim] * x[b->n_q + k] * x[b->n_q + k];
    }
    return energy;
}

const cri_system_kind cri_vin_kind = {
    .name = "vin", .law = laws, .step = kind_step, .vjp = kind_vjp, .energy = kind_energy};
