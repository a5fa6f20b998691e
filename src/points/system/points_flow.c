// SPDX-License-Identifier: MIT
//
// Explicit Runge-Kutta steps of points, and the projection onto their ties.
//
//   k_i = F(s + h sum_{j<i} a_ij k_j),   s' = s + h sum b_i k_i
//   k_adj_i = h (b_i s'_adj + sum_{j>i} a_ji Y_j),  Y_i = F_vjp(k_adj_i),  s_adj = s'_adj + sum Y_i
//
//   projection   x' = x + lemma(0, c = Phi(x)),   v' = v + lemma at x' (0, c = J v)
//
// Kutta's 3/8 rule is the one of the data of DCS (paper 000), Euler's that of its billiards. A row
// that fails on the way stays where it was; derivatives leave it out.

#include "points/system/points_parts.h"

#include "base/base.h"

#include <string.h>

const cri_tableau cri_rk_euler = {.n_stage = 1, .b = {1.0}};

const cri_tableau cri_rk_classic = {.n_stage = 4,
                                    .a = {{0.0}, {0.5}, {0.0, 0.5}, {0.0, 0.0, 1.0}},
                                    .b = {1.0 / 6.0, 2.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0}};

const cri_tableau cri_rk_38 = {
    .n_stage = 4,
    .a = {{0.0}, {1.0 / 3.0}, {-1.0 / 3.0, 1.0}, {1.0, -1.0, 1.0}},
    .b = {0.125, 0.375, 0.375, 0.125},
};

static size_t n_state(const cri_points_call *call) {
    return 2 * (size_t)call->B * (size_t)call->s->n_dof;
}

// Puts rows that are not finite, or have failed, back to their start, or to zero: what the
// potential keeps of them must be finite.
static void mend_rows(const cri_points_call *call, const double *state, double *y) {
    int n = 2 * call->s->n_dof;
    for (int b = 0; b < call->B; b++) {
        double *row = y + (size_t)b * (size_t)n;
        const double *start = state + (size_t)b * (size_t)n;
        call->has_failed[b] = call->has_failed[b] || !cri_all_finite(n, row);
        if (call->has_failed[b] && cri_all_finite(n, start)) {
            memcpy(row, start, sizeof *row * (size_t)n);
        } else if (call->has_failed[b]) {
            memset(row, 0, sizeof *row * (size_t)n);
        }
    }
}

// y = x + h sum w_j k_j
static void combine(size_t n, int n_stage, const double *x, double h, const double *w, double *k,
                    double *y) {
    memcpy(y, x, sizeof *y * n);
    for (int j = 0; j < n_stage; j++) {
        double factor = h * w[j];
        const double *kj = k + (size_t)j * n;
        for (size_t i = 0; factor != 0.0 && i < n; i++) {
            y[i] += factor * kj[i];
        }
    }
}

bool cri_points_flow(const cri_points_call *call, double h, const double *state, double *next,
                     cri_points_flow_cache *cache) {
    const cri_tableau *t = call->tableau;
    size_t n = n_state(call);
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *k = CR_PUSH_RAW(call->scratch, double, 4 * n);
    double *y = CR_PUSH_RAW(call->scratch, double, n);
    bool has_room = k && y;
    *cache = (cri_points_flow_cache){.h = h};
    for (int i = 0; has_room && i < t->n_stage; i++) {
        combine(n, i, state, h, t->a[i], k, y);
        mend_rows(call, state, y);
        cache->stage[i] = cri_points_field(call, y, k + (size_t)i * n);
        has_room = cache->stage[i] != NULL;
    }
    if (has_room) {
        combine(n, t->n_stage, state, h, t->b, k, y);
        mend_rows(call, state, y);
        memcpy(next, y, sizeof *y * n);
    }
    cri_arena_rewind(call->scratch, mark);
    return has_room;
}

void cri_points_flow_vjp(const cri_points_call *call, const cri_points_flow_cache *cache,
                         const double *next_adj, double *state_adj, const cri_points_adj *adj) {
    const cri_tableau *t = call->tableau;
    size_t n = n_state(call), row = n / (size_t)call->B;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *Y = CR_PUSH(call->scratch, double, (size_t)t->n_stage *n);
    double *k_adj = CR_PUSH_RAW(call->scratch, double, n);
    for (int i = t->n_stage - 1; i >= 0; i--) {
        for (size_t j = 0; j < n; j++) {
            k_adj[j] = cache->h * t->b[i] * next_adj[j];
        }
        for (int m = i + 1; m < t->n_stage; m++) {
            double factor = cache->h * t->a[m][i];
            for (size_t j = 0; factor != 0.0 && j < n; j++) {
                k_adj[j] += factor * Y[(size_t)m * n + j];
            }
        }
        cri_points_field_vjp(call, cache->stage[i], k_adj, Y + (size_t)i * n, adj);
    }
    for (size_t j = 0; j < n; j++) {
        double sum = next_adj[j];
        for (int i = 0; i < t->n_stage; i++) {
            sum += Y[(size_t)i * n + j];
        }
        state_adj[j] += call->has_failed[j / row] ? 0.0 : sum;
    }
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_flow_jvp(const cri_points_call *call, const cri_points_flow_cache *cache,
                         const double *state_tan, const cri_points_tan *tan, double *next_tan) {
    const cri_tableau *t = call->tableau;
    size_t n = n_state(call), row = n / (size_t)call->B;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *k = CR_PUSH_RAW(call->scratch, double, 4 * n);
    double *y = CR_PUSH_RAW(call->scratch, double, n);
    for (int i = 0; i < t->n_stage; i++) {
        combine(n, i, state_tan, cache->h, t->a[i], k, y);
        cri_points_field_jvp(call, cache->stage[i], y, tan, k + (size_t)i * n);
    }
    combine(n, t->n_stage, state_tan, cache->h, t->b, k, y);
    for (size_t j = 0; j < n; j++) {
        next_tan[j] = call->has_failed[j / row] ? 0.0 : y[j];
    }
    cri_arena_rewind(call->scratch, mark);
}

// ---- projection --------------------------------------------------------------------------------

struct cri_project_cache {
    int size;     // doubles a row
    double *rows; // (B, size)
};

/// What one row keeps: of the position, of the velocity, and the velocity before.
typedef struct project_slice {
    cri_ties_factor fx, fv;
    cri_lemma x, v;
    double *before; // (D)
} project_slice;

static int project_size(const cri_points *s) {
    return 2 * (cri_ties_factor_size(s) + s->n_tie + 2 * s->n_dof) + s->n_dof;
}

static project_slice project_at(const cri_points_call *call, const cri_project_cache *c, int b) {
    const cri_points *s = call->s;
    int n_factor = cri_ties_factor_size(s), D = s->n_dof, E = s->n_tie;
    double *room = c->rows + (size_t)b * (size_t)c->size;
    double *lx = room + 2 * n_factor, *lv = lx + E + 2 * D;
    return (project_slice){.fx = cri_ties_factor_at(s, call->minv, room),
                           .fv = cri_ties_factor_at(s, call->minv, room + n_factor),
                           .x = {.lam = lx, .H = lx + E, .a = lx + E + D},
                           .v = {.lam = lv, .H = lv + E, .a = lv + E + D},
                           .before = lv + E + 2 * D};
}

static bool project_row(const cri_points_call *call, const project_slice *r, double *state) {
    const cri_points *s = call->s;
    int D = s->n_dof;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *c = CR_PUSH_RAW(call->scratch, double, s->n_tie + 1);
    double *next = CR_PUSH_RAW(call->scratch, double, 2 * D);
    memcpy(r->before, state + D, sizeof *state * (size_t)D);
    cri_ties_rows(s, state, r->fx.J);
    cri_ties_value(s, state, c);
    bool is_regular = cri_ties_factorise(s, &r->fx, call->scratch);
    if (is_regular) {
        cri_lemma_solve(s, &r->fx, NULL, c, &r->x, call->scratch);
        for (int i = 0; i < D; i++) {
            next[i] = state[i] + r->x.a[i];
        }
        cri_ties_rows(s, next, r->fv.J);
        cri_ties_times(s, r->fv.J, r->before, c);
        is_regular = cri_ties_factorise(s, &r->fv, call->scratch);
    }
    if (is_regular) {
        cri_lemma_solve(s, &r->fv, NULL, c, &r->v, call->scratch);
        for (int i = 0; i < D; i++) {
            next[D + i] = r->before[i] + r->v.a[i];
        }
        is_regular = cri_all_finite(2 * D, next);
    }
    if (is_regular) {
        memcpy(state, next, sizeof *state * 2 * (size_t)D);
    }
    cri_arena_rewind(call->scratch, mark);
    return is_regular;
}

const cri_project_cache *cri_points_project(const cri_points_call *call, double *state) {
    int size = project_size(call->s), n = 2 * call->s->n_dof;
    cri_project_cache *c = CR_PUSH(call->keep, cri_project_cache, 1);
    double *rows = CR_PUSH_RAW(call->keep, double, (size_t)call->B *(size_t)size);
    if (!c || !rows) {
        return NULL;
    }
    *c = (cri_project_cache){.size = size, .rows = rows};
    for (int b = 0; b < call->B; b++) {
        const project_slice r = project_at(call, c, b);
        call->has_failed[b] =
            call->has_failed[b] || !project_row(call, &r, state + (size_t)b * (size_t)n);
    }
    return c;
}

static void project_row_vjp(const cri_points_call *call, const project_slice *r, double *state_adj,
                            double *minv_adj) {
    const cri_points *s = call->s;
    int D = s->n_dof, E = s->n_tie;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *room = CR_PUSH_RAW(call->scratch, double, E + 2 * D);
    const cri_lemma_adj adj = {.w = room, .P = room + E, .p = room + E + D};
    double *x_adj = state_adj, *v_adj = state_adj + D;

    // v' = v + lemma(c = J v) at x'
    cri_lemma_vjp(s, &r->fv, v_adj, NULL, &adj, call->scratch);
    cri_lemma_pull(s, &r->v, &adj, x_adj, minv_adj);
    cri_ties_add_curve(s, -1.0, adj.w, r->before, x_adj);
    for (int e = 0; e < E; e++) {
        adj.w[e] = -adj.w[e];
    }
    cri_ties_add(s, r->fv.J, adj.w, v_adj);

    // x' = x + lemma(c = Phi(x))
    cri_lemma_vjp(s, &r->fx, x_adj, NULL, &adj, call->scratch);
    cri_lemma_pull(s, &r->x, &adj, x_adj, minv_adj);
    for (int e = 0; e < E; e++) {
        adj.w[e] = -adj.w[e];
    }
    cri_ties_add(s, r->fx.J, adj.w, x_adj);
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_project_vjp(const cri_points_call *call, const cri_project_cache *cache,
                            double *state_adj, const cri_points_adj *adj) {
    for (int b = 0; b < call->B; b++) {
        if (!call->has_failed[b]) {
            const project_slice r = project_at(call, cache, b);
            project_row_vjp(call, &r, state_adj + 2 * (size_t)b * (size_t)call->s->n_dof,
                            adj->minv);
        }
    }
}

static void project_row_jvp(const cri_points_call *call, const project_slice *r,
                            const double *minv_tan, double *state_tan) {
    const cri_points *s = call->s;
    int D = s->n_dof, E = s->n_tie;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *J_tan = CR_PUSH_RAW(call->scratch, double, s->n_slot * s->d + 1);
    double *c_tan = CR_PUSH_RAW(call->scratch, double, 3 * E + 1), *J_v = c_tan + E;
    double *a_tan = CR_PUSH_RAW(call->scratch, double, D);
    double *v_tan = state_tan + D;
    cri_lemma_tan tan = {.minv = minv_tan, .J = J_tan, .c = c_tan};

    // x' = x + lemma(c = Phi(x))
    cri_ties_curve(s, state_tan, J_tan);
    cri_ties_times(s, r->fx.J, state_tan, c_tan);
    cri_lemma_jvp(s, &r->fx, &r->x, &tan, J_v, a_tan, call->scratch);
    for (int i = 0; i < D; i++) {
        state_tan[i] += a_tan[i];
    }

    // v' = v + lemma(c = J v) at x'
    cri_ties_curve(s, state_tan, J_tan);
    cri_ties_times(s, J_tan, r->before, c_tan);
    cri_ties_times(s, r->fv.J, v_tan, J_v);
    for (int e = 0; e < E; e++) {
        c_tan[e] += J_v[e];
    }
    cri_lemma_jvp(s, &r->fv, &r->v, &tan, J_v, a_tan, call->scratch);
    for (int i = 0; i < D; i++) {
        v_tan[i] += a_tan[i];
    }
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_project_jvp(const cri_points_call *call, const cri_project_cache *cache,
                            const cri_points_tan *tan, double *state_tan) {
    for (int b = 0; b < call->B; b++) {
        if (!call->has_failed[b]) {
            const project_slice r = project_at(call, cache, b);
            project_row_jvp(call, &r, tan->minv,
                            state_tan + 2 * (size_t)b * (size_t)call->s->n_dof);
        }
    }
}
