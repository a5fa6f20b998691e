// SPDX-License-Identifier: MIT
//
// The staggered central-difference step of points with contacts.
//
//   q1 = q + h v                                  (then gates, normals, and the projection)
//   delta = h Minv (-dV/dq(q1) - damping v + u)
//   run = v, changed by the impulses of contacts  (central_touch.c)
//   v1 = run + delta
//
// Where the system itself finds its contacts, by gaps or by a net, an impulse that would pull is
// left out (the paper does so with gaps alone).
// Source: paper 001, (5)-(7) with q += h v and F = -dV/dq. Without contacts it is symplectic Euler,
// position first. A gap is a branch: the vjp keeps the contacts that acted, so the gradient is the
// one of the discrete map between changes of the contact set.

#include "central_parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

static const char *const laws[] = {"restitution", NULL};

static bool push_cache(const cri_central *c, int n_row, cri_central_cache *cache, cr_arena *arena) {
    size_t n_q = (size_t)n_row * (size_t)c->n_q;
    size_t n_touch = (size_t)n_row * (size_t)c->n_contact;
    size_t n_visit = (size_t)n_row * (size_t)c->n_visit_most;
    *cache = (cri_central_cache){
        .q1 = CR_PUSH_RAW(arena, double, n_q),
        .q2 = CR_PUSH_RAW(arena, double, n_q),
        .normal = CR_PUSH_RAW(arena, double, n_touch *(size_t)c->n_dim),
        .reach = CR_PUSH_RAW(arena, double, n_touch),
        .gate = CR_PUSH_RAW(arena, double, n_touch),
        .is_moved = CR_PUSH(arena, bool, n_touch),
        .move_normal = CR_PUSH_RAW(arena, double, n_touch *(size_t)c->n_dim),
        .move_reach = CR_PUSH_RAW(arena, double, n_touch),
        .move_gap = CR_PUSH_RAW(arena, double, n_touch),
        .delta = CR_PUSH_RAW(arena, double, n_q),
        .n_visit = CR_PUSH(arena, int, n_row),
        .seen = CR_PUSH_RAW(arena, cri_central_visit, n_visit),
        .relative = CR_PUSH_RAW(arena, double, n_visit * 2 * (size_t)c->n_dim),
        .is_failed = CR_PUSH(arena, bool, n_row),
    };
    return cache->q1 && cache->q2 && cache->delta && !cri_arena_has_failed(arena);
}

// logit > 0 of the contact net at (q1, v)
static bool net_gates(const cri_central *c, const cri_system_batch *b, cri_central_cache *cache,
                      cr_arena *arena) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    size_t n_q = (size_t)c->n_q;
    double *in = CR_PUSH_RAW(arena, double, 2 * n_q * (size_t)b->n_row);
    double *logit = CR_PUSH_RAW(arena, double, (size_t)b->n_row *(size_t)c->n_contact);
    if (!in || !logit) {
        return false;
    }
    for (size_t row = 0; row < (size_t)b->n_row; row++) {
        memcpy(in + 2 * n_q * row, cache->q1 + n_q * row, n_q * sizeof *in);
        memcpy(in + 2 * n_q * row + n_q, b->x + 2 * n_q * row + n_q, n_q * sizeof *in);
    }
    bool is_done =
        cri_mlp_value(&c->contact_net, b->p + c->at_contact_net, b->n_row, in, logit, NULL, arena);
    for (int k = 0; is_done && k < b->n_row * c->n_contact; k++) {
        cache->gate[k] = logit[k] > 0.0 ? 1.0 : 0.0;
    }
    cri_arena_rewind(arena, mark);
    return is_done;
}

// normals of all contacts at q1, and the gates that gaps give
static void look(const cri_central *c, const cri_system_batch *b, bool has_gates,
                 const cri_central_cache *cache) {
    for (int at = 0; at < b->n_row * c->n_contact; at++) {
        int row = at / c->n_contact;
        double gap =
            cri_central_gap(c, b->p, at % c->n_contact, cache->q1 + (size_t)row * (size_t)c->n_q,
                            cache->normal + (size_t)at * (size_t)c->n_dim, &cache->reach[at]);
        if (!has_gates) {
            cache->gate[at] = gap <= 0.0 ? 1.0 : 0.0;
        }
    }
}

// where the projection acts: as told, else where the gate is 1
static void move(const cri_central *c, const cri_system_batch *b, const cri_central_gates *gates,
                 const cri_central_cache *cache, bool *moves) {
    memcpy(cache->q2, cache->q1, (size_t)b->n_row * (size_t)c->n_q * sizeof *cache->q2);
    for (int row = 0; row < b->n_row; row++) {
        for (int k = 0; k < c->n_contact; k++) {
            int at = row * c->n_contact + k;
            moves[k] = gates && gates->moves ? gates->moves[at] : cache->gate[at] == 1.0;
        }
        cri_central_project(c, b->p, moves, cache->q2 + (size_t)row * (size_t)c->n_q, cache, row);
    }
}

// delta = h Minv (-g - damping v + u)
static void increment(const cri_central *c, const cri_system_batch *b, double *delta) {
    double damping = b->p[c->at_damping];
    for (int k = 0; k < b->n_row * c->n_q; k++) {
        int row = k / c->n_q;
        int i = k % c->n_q;
        double v = b->x[(size_t)(row * 2 * c->n_q + c->n_q + i)];
        double force = -delta[k] - damping * v + (b->u ? b->u[k] : 0.0);
        delta[k] = b->h * force / b->p[i / c->n_dim];
    }
}

// x_next of one row; what is not finite stays where it was
static void finish(const cri_central *c, const cri_system_batch *b, bool has_guard, int row,
                   double *x_next, const cri_central_cache *cache) {
    size_t n_q = (size_t)c->n_q;
    const double *x = b->x + 2 * n_q * (size_t)row;
    double *next = x_next + 2 * n_q * (size_t)row;
    memcpy(next + n_q, x + n_q, n_q * sizeof *next);
    cri_central_impulse(c, b->p, has_guard, next + n_q, cache, row);
    memcpy(next, cache->q2 + n_q * (size_t)row, n_q * sizeof *next);
    for (size_t k = 0; k < n_q; k++) {
        next[n_q + k] += cache->delta[n_q * (size_t)row + k];
    }
    cache->is_failed[row] = !cri_all_finite(2 * c->n_q, next);
    if (cache->is_failed[row]) {
        cache->n_visit[row] = 0;
        memcpy(next, x, 2 * n_q * sizeof *next);
    }
}

bool cri_central_step(const cri_central *c, const cri_system_batch *batch,
                      const cri_central_gates *gates, double *x_next, cri_central_cache *cache,
                      cr_arena *arena) {
    cri_central_cache own;
    cri_central_cache *k = cache ? cache : &own;
    bool has_gates = gates && gates->gate;
    bool is_net = c->source == CRI_SIGNAL_NET;
    if (!push_cache(c, batch->n_row, k, arena)) {
        return false;
    }
    bool *moves = CR_PUSH(arena, bool, c->n_contact + 1);
    if (!moves) {
        return false;
    }
    // q1 = q + h v
    for (int i = 0; i < batch->n_row * c->n_q; i++) {
        const double *x = batch->x + (size_t)(i / c->n_q * 2 * c->n_q);
        k->q1[i] = x[i % c->n_q] + batch->h * x[c->n_q + i % c->n_q];
    }
    if (has_gates) {
        memcpy(k->gate, gates->gate, (size_t)batch->n_row * (size_t)c->n_contact * sizeof *k->gate);
    } else if (is_net && c->n_contact > 0 && !net_gates(c, batch, k, arena)) {
        return false;
    }
    look(c, batch, has_gates || is_net, k);
    move(c, batch, gates, k, moves);
    if (!cri_central_force(c, batch->p, batch->n_row, k->q2, k->delta, cache ? &k->net : NULL,
                           arena)) {
        return false;
    }
    increment(c, batch, k->delta);
    for (int row = 0; row < batch->n_row; row++) {
        finish(c, batch, !has_gates, row, x_next, k);
    }
    return true;
}

/// Adjoints on their way back through a step.
typedef struct back {
    double *run;   // (n_row, n_q)
    double *delta; // (n_row, n_q)
    double *q1;    // (n_row, n_q) of the normals
    double *q2;    // (n_row, n_q)
} back;

// v1 = run + delta; q_next = q2; and the impulses
static void finish_vjp(const cri_central *c, const cri_system_batch *b,
                       const cri_central_cache *cache, const double *x_next_adj,
                       const cri_central_adj *adj, const back *a) {
    size_t n_q = (size_t)c->n_q;
    for (int row = 0; row < b->n_row; row++) {
        if (cache->is_failed[row]) {
            continue;
        }
        size_t at = n_q * (size_t)row;
        memcpy(a->run + at, x_next_adj + 2 * at + n_q, n_q * sizeof *a->run);
        memcpy(a->delta + at, x_next_adj + 2 * at + n_q, n_q * sizeof *a->run);
        memcpy(a->q2 + at, x_next_adj + 2 * at, n_q * sizeof *a->run);
        double *gate_adj = adj->gate ? adj->gate + (size_t)(row * c->n_contact) : NULL;
        cri_central_impulse_vjp(
            c, b->p, cache, row,
            &(cri_central_impulse_adj){a->run + at, a->delta + at, a->q1 + at, gate_adj, adj->p});
    }
}

// delta = h Minv (-g - damping v + u): a->delta becomes the adjoint of g
static void increment_vjp(const cri_central *c, const cri_system_batch *b,
                          const cri_central_cache *cache, const cri_central_adj *adj,
                          const back *a) {
    double damping = b->p[c->at_damping];
    for (int k = 0; k < b->n_row * c->n_q; k++) {
        int row = k / c->n_q;
        int i = k % c->n_q;
        int body = i / c->n_dim;
        double v = b->x[(size_t)(row * 2 * c->n_q + c->n_q + i)];
        double force_adj = b->h * a->delta[k] / b->p[body];
        if (adj->p) {
            adj->p[body] -= a->delta[k] * cache->delta[k] / b->p[body];
            adj->p[c->at_damping] -= force_adj * v;
        }
        if (adj->u) {
            adj->u[k] += force_adj;
        }
        a->run[k] -= damping * force_adj;
        a->delta[k] = -force_adj;
    }
}

bool cri_central_step_vjp(const cri_central *c, const cri_system_batch *batch,
                          const cri_central_cache *cache, const double *x_next_adj,
                          const cri_central_adj *adj, cr_arena *work) {
    cri_arena_mark mark = cri_arena_get_mark(work);
    int n = batch->n_row * c->n_q;
    back a = {CR_PUSH(work, double, n), CR_PUSH(work, double, n), CR_PUSH(work, double, n),
              CR_PUSH(work, double, n)};
    if (!a.run || !a.delta || !a.q1 || !a.q2) {
        return false;
    }
    finish_vjp(c, batch, cache, x_next_adj, adj, &a);
    increment_vjp(c, batch, cache, adj, &a);
    if (!cri_central_force_vjp(c, batch->p, batch->n_row, cache, a.delta, a.q2, adj->p, work)) {
        return false;
    }
    for (int row = 0; row < batch->n_row; row++) {
        cri_central_project_vjp(c, batch->p, cache, row, a.q2 + (size_t)(row * c->n_q), adj->p);
    }
    // q1 = q + h v
    for (int k = 0; adj->x && k < n; k++) {
        double *x_adj = adj->x + (size_t)(k / c->n_q * 2 * c->n_q);
        double q1_adj = a.q1[k] + a.q2[k];
        x_adj[k % c->n_q] += q1_adj;
        x_adj[c->n_q + k % c->n_q] += a.run[k] + batch->h * q1_adj;
    }
    cri_arena_rewind(work, mark);
    return true;
}

// ---- as a system -------------------------------------------------------------------------------

static bool kind_step(const void *self, const cri_system_batch *batch, double *x_next,
                      cri_system_row *row, const void **cache, cr_arena *arena) {
    const cri_central *c = self;
    cri_central_cache *kept = CR_PUSH(arena, cri_central_cache, 1);
    if (!kept || !cri_central_step(c, batch, NULL, x_next, kept, arena)) {
        return false;
    }
    for (int k = 0; row && k < batch->n_row; k++) {
        row[k] = (cri_system_row){kept->is_failed[k], kept->n_visit[k]};
    }
    if (cache) {
        *cache = kept;
    }
    return true;
}

static bool kind_vjp(const void *self, const cri_system_batch *batch, const void *cache,
                     const double *x_next_adj, double *x_adj, double *u_adj, double *p_adj,
                     cr_arena *work) {
    return cri_central_step_vjp(self, batch, cache, x_next_adj,
                                &(cri_central_adj){x_adj, u_adj, p_adj, NULL}, work);
}

static double kind_energy(const void *self, const double *p, const double *x, cr_arena *work) {
    return cri_central_energy(self, p, x, work);
}

const cri_system_kind cri_central_kind = {.name = "central-difference",
                                          .law = laws,
                                          .step = kind_step,
                                          .vjp = kind_vjp,
                                          .energy = kind_energy};
