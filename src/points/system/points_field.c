// SPDX-License-Identifier: MIT
//
// The vector field of constrained points, (x, v) -> (xdot, vdot), N_e = H_e v, with the lemma of
// points_ties.c:
//
//   Lagrange   xdot = v,   vdot = lemma(force -grad V, c = N v)
//   Hamilton   xdot = v + lemma(force 0, c = J v), multipliers lam_1
//              vdot = lemma(force -grad V - N'lam_1, c = N xdot)
//
// Hamilton's form is block elimination in the field of S.4: it keeps Phi also where J v != 0,
// Lagrange's lets it grow. They agree where J v = 0; their derivatives do only along directions
// that keep it so. Without ties both are the same function.
//
// Adjoints, Lagrange: v_adj += xdot_adj - 2 sum w_e H_e v. Hamilton, with p_2, w_2 of the second
// part and p_1, w_1 of the first:
//
//   lam_1_adj = -N p_2,   N_adj = -lam_1 p_2' - w_2 xdot',   xdot_adj -= N'w_2
//   v_adj += xdot_adj - J'w_1 + sum H_e N_adj_e,   J_adj of both parts, less w_1 v'
//
// Source: DCS (paper 000), S.2 and S.4 to S.7.

#include "points/system/points_parts.h"

#include "base/base.h"

#include <string.h>

struct cri_field_cache {
    const void *potential;
    int size;     // doubles a row
    double *rows; // (B, size)
};

/// What one row of the batch keeps.
typedef struct slice {
    cri_ties_factor f;
    double *N;           // (n_slot, d)
    double *v;           // (D)
    double *xdot;        // (D) Hamilton
    cri_lemma one, last; // Hamilton has both
} slice;

static bool is_hamilton(const cri_points_call *call) {
    return call->form == CRI_HAMILTON && call->s->n_tie > 0;
}

static int slice_size(const cri_points_call *call) {
    const cri_points *s = call->s;
    int lemma = s->n_tie + 2 * s->n_dof;
    int size = cri_ties_factor_size(s) + s->n_slot * s->d + s->n_dof + lemma;
    return size + (is_hamilton(call) ? lemma + s->n_dof : 0);
}

static double *take(double **room, int n) {
    double *at = *room;
    *room += n;
    return at;
}

static cri_lemma take_lemma(const cri_points *s, double **room) {
    cri_lemma l;
    l.lam = take(room, s->n_tie);
    l.H = take(room, s->n_dof);
    l.a = take(room, s->n_dof);
    return l;
}

static slice slice_at(const cri_points_call *call, const cri_field_cache *c, int b) {
    const cri_points *s = call->s;
    double *room = c->rows + (size_t)b * (size_t)c->size;
    slice r = {.f = cri_ties_factor_at(s, call->minv, room)};
    room += cri_ties_factor_size(s);
    r.N = take(&room, s->n_slot * s->d);
    r.v = take(&room, s->n_dof);
    r.last = take_lemma(s, &room);
    if (is_hamilton(call)) {
        r.one = take_lemma(s, &room);
        r.xdot = take(&room, s->n_dof);
    }
    return r;
}

// one row: state (2 D), g (D) -> rate (2 D)
static bool row_field(const cri_points_call *call, const slice *r, const double *state,
                      const double *g, double *rate) {
    const cri_points *s = call->s;
    int D = s->n_dof;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *force = CR_PUSH_RAW(call->scratch, double, D);
    double *c = CR_PUSH_RAW(call->scratch, double, s->n_tie + 1), *lam = NULL;
    const double *v = state + D, *xdot = v;
    memcpy(r->v, v, sizeof *v * (size_t)D);
    cri_ties_rows(s, state, r->f.J);
    cri_ties_curve(s, v, r->N);
    bool is_regular = cri_ties_factorise(s, &r->f, call->scratch);
    if (is_regular && is_hamilton(call)) {
        cri_ties_times(s, r->f.J, v, c);
        cri_lemma_solve(s, &r->f, NULL, c, &r->one, call->scratch);
        for (int i = 0; i < D; i++) {
            r->xdot[i] = v[i] + r->one.a[i];
        }
        xdot = r->xdot;
        lam = r->one.lam;
    }
    if (is_regular) {
        memset(force, 0, sizeof *force * (size_t)D);
        if (lam) {
            cri_ties_add(s, r->N, lam, force);
        }
        for (int i = 0; i < D; i++) {
            force[i] = -g[i] - force[i];
        }
        cri_ties_times(s, r->N, xdot, c);
        cri_lemma_solve(s, &r->f, force, c, &r->last, call->scratch);
        memcpy(rate, xdot, sizeof *rate * (size_t)D);
        memcpy(rate + D, r->last.a, sizeof *rate * (size_t)D);
    }
    cri_arena_rewind(call->scratch, mark);
    return is_regular && cri_all_finite(2 * D, rate);
}

const cri_field_cache *cri_points_field(const cri_points_call *call, const double *state,
                                        double *rate) {
    const cri_points *s = call->s;
    int D = s->n_dof, B = call->B, size = slice_size(call);
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    cri_field_cache *c = CR_PUSH(call->keep, cri_field_cache, 1);
    double *rows = CR_PUSH_RAW(call->keep, double, (size_t)B *(size_t)size);
    double *x = CR_PUSH_RAW(call->scratch, double, (size_t)B *(size_t)D);
    double *g = CR_PUSH(call->scratch, double, (size_t)B *(size_t)D);
    bool has_room = c && rows && x && g;
    if (has_room) {
        *c = (cri_field_cache){.size = size, .rows = rows};
        for (int b = 0; b < B; b++) {
            memcpy(x + (size_t)b * D, state + 2 * (size_t)b * D, sizeof *x * (size_t)D);
        }
        const cri_points_potential *V = call->potential;
        has_room = !V->grad || V->grad(V, call->p, B, x, g, &c->potential, call->keep);
    }
    for (int b = 0; has_room && b < B; b++) {
        const slice r = slice_at(call, c, b);
        double *out = rate + 2 * (size_t)b * D;
        memset(out, 0, sizeof *out * 2 * (size_t)D);
        if (!call->has_failed[b] &&
            !row_field(call, &r, state + 2 * (size_t)b * D, g + (size_t)b * D, out)) {
            call->has_failed[b] = true;
            memset(out, 0, sizeof *out * 2 * (size_t)D);
        }
    }
    cri_arena_rewind(call->scratch, mark);
    return has_room ? c : NULL;
}

// ---- adjoint -----------------------------------------------------------------------------------

static cri_lemma_adj push_adj(const cri_points *s, cr_arena *scratch) {
    double *room = CR_PUSH_RAW(scratch, double, s->n_tie + 2 * s->n_dof);
    return (cri_lemma_adj){.w = room, .P = room + s->n_tie, .p = room + s->n_tie + s->n_dof};
}

// what Hamilton's first part adds, given the adjoint of the second
static void first_part_vjp(const cri_points_call *call, const slice *r, const cri_lemma_adj *two,
                           const double *xdot_adj, double *state_adj, double *minv_adj) {
    const cri_points *s = call->s;
    int D = s->n_dof;
    cri_lemma_adj one = push_adj(s, call->scratch);
    double *lam_adj = CR_PUSH_RAW(call->scratch, double, 2 * s->n_tie);
    double *minus_w = lam_adj + s->n_tie;
    double *a_adj = CR_PUSH(call->scratch, double, D);
    double *x_adj = state_adj, *v_adj = state_adj + D;

    // c_2 = N xdot,  f_2 = -grad V - N'lam_1
    cri_ties_times(s, r->N, two->p, lam_adj);
    cri_ties_add(s, r->N, two->w, a_adj);
    for (int e = 0; e < s->n_tie; e++) {
        lam_adj[e] = -lam_adj[e];
    }
    for (int i = 0; i < D; i++) {
        a_adj[i] = xdot_adj[i] - a_adj[i];
        v_adj[i] += a_adj[i];
    }
    cri_ties_add_curve(s, -1.0, r->one.lam, two->p, v_adj);
    cri_ties_add_curve(s, -1.0, two->w, r->xdot, v_adj);

    // a_1 = lemma(0, c_1 = J v),  xdot = v + a_1
    cri_lemma_vjp(s, &r->f, a_adj, lam_adj, &one, call->scratch);
    cri_lemma_pull(s, &r->one, &one, x_adj, minv_adj);
    cri_ties_add_curve(s, -1.0, one.w, r->v, x_adj);
    for (int e = 0; e < s->n_tie; e++) {
        minus_w[e] = -one.w[e];
    }
    cri_ties_add(s, r->f.J, minus_w, v_adj);
}

// rate_adj (2 D) -> state_adj (2 D), u (D): adjoint of the potential's gradient
static void row_vjp(const cri_points_call *call, const slice *r, const double *rate_adj,
                    double *state_adj, double *u, double *minv_adj) {
    const cri_points *s = call->s;
    int D = s->n_dof;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    cri_lemma_adj two = push_adj(s, call->scratch);
    cri_lemma_vjp(s, &r->f, rate_adj + D, NULL, &two, call->scratch);
    cri_lemma_pull(s, &r->last, &two, state_adj, minv_adj);
    for (int i = 0; i < D; i++) {
        u[i] = -two.p[i];
    }
    if (is_hamilton(call)) {
        first_part_vjp(call, r, &two, rate_adj, state_adj, minv_adj);
    } else {
        // xdot = v,  c = v'H v
        for (int i = 0; i < D; i++) {
            state_adj[D + i] += rate_adj[i];
        }
        cri_ties_add_curve(s, -2.0, two.w, r->v, state_adj + D);
    }
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_field_vjp(const cri_points_call *call, const cri_field_cache *c,
                          const double *rate_adj, double *state_adj, const cri_points_adj *adj) {
    const cri_points *s = call->s;
    size_t D = (size_t)s->n_dof, B = (size_t)call->B;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *u = CR_PUSH(call->scratch, double, B *D);
    double *x_adj = CR_PUSH(call->scratch, double, B *D);
    for (size_t b = 0; b < B; b++) {
        if (!call->has_failed[b]) {
            const slice r = slice_at(call, c, (int)b);
            row_vjp(call, &r, rate_adj + 2 * b * D, state_adj + 2 * b * D, u + b * D, adj->minv);
        }
    }
    const cri_points_potential *V = call->potential;
    if (V->grad_vjp) {
        V->grad_vjp(V, call->p, call->B, c->potential, u, x_adj, adj->p, call->scratch);
    }
    for (size_t b = 0; b < B; b++) {
        for (size_t i = 0; i < D; i++) {
            state_adj[2 * b * D + i] += x_adj[b * D + i];
        }
    }
    cri_arena_rewind(call->scratch, mark);
}

// ---- tangent -----------------------------------------------------------------------------------

// Hamilton's first part: xdot_tan (D), lam_tan (n_tie)
static void first_part_jvp(const cri_points_call *call, const slice *r, const double *J_tan,
                           const double *v_tan, const double *minv_tan, double *xdot_tan,
                           double *lam_tan) {
    const cri_points *s = call->s;
    double *c_tan = CR_PUSH_RAW(call->scratch, double, 2 * s->n_tie), *J_v = c_tan + s->n_tie;
    cri_ties_times(s, J_tan, r->v, c_tan);
    cri_ties_times(s, r->f.J, v_tan, J_v);
    for (int e = 0; e < s->n_tie; e++) {
        c_tan[e] += J_v[e];
    }
    const cri_lemma_tan tan = {.minv = minv_tan, .J = J_tan, .c = c_tan};
    cri_lemma_jvp(s, &r->f, &r->one, &tan, lam_tan, xdot_tan, call->scratch);
    for (int i = 0; i < s->n_dof; i++) {
        xdot_tan[i] += v_tan[i];
    }
}

static void row_jvp(const cri_points_call *call, const slice *r, const double *state_tan,
                    const double *g_tan, const double *minv_tan, double *rate_tan) {
    const cri_points *s = call->s;
    int D = s->n_dof, E = s->n_tie;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *J_tan = CR_PUSH_RAW(call->scratch, double, 2 * s->n_slot * s->d + 1);
    double *N_tan = J_tan + s->n_slot * s->d;
    double *lam_tan = CR_PUSH(call->scratch, double, 4 * E + 1), *two_tan = lam_tan + E;
    double *c_tan = two_tan + E, *N_x = c_tan + E;
    double *force = CR_PUSH(call->scratch, double, D);
    const double *v_tan = state_tan + D;
    cri_ties_curve(s, state_tan, J_tan);
    cri_ties_curve(s, v_tan, N_tan);
    memcpy(rate_tan, v_tan, sizeof *v_tan * (size_t)D);
    if (is_hamilton(call)) {
        first_part_jvp(call, r, J_tan, v_tan, minv_tan, rate_tan, lam_tan);
        cri_ties_add(s, N_tan, r->one.lam, force);
        cri_ties_add(s, r->N, lam_tan, force);
        cri_ties_times(s, N_tan, r->xdot, c_tan);
        cri_ties_times(s, r->N, rate_tan, N_x);
    } else {
        cri_ties_times(s, r->N, v_tan, c_tan);
        memcpy(N_x, c_tan, sizeof *c_tan * (size_t)E);
    }
    for (int e = 0; e < E; e++) {
        c_tan[e] += N_x[e];
    }
    for (int i = 0; i < D; i++) {
        force[i] = -g_tan[i] - force[i];
    }
    const cri_lemma_tan tan = {.minv = minv_tan, .J = J_tan, .force = force, .c = c_tan};
    cri_lemma_jvp(s, &r->f, &r->last, &tan, two_tan, rate_tan + D, call->scratch);
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_field_jvp(const cri_points_call *call, const cri_field_cache *c,
                          const double *state_tan, const cri_points_tan *tan, double *rate_tan) {
    const cri_points *s = call->s;
    size_t D = (size_t)s->n_dof, B = (size_t)call->B;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *x_tan = CR_PUSH_RAW(call->scratch, double, B *D);
    double *g_tan = CR_PUSH(call->scratch, double, B *D);
    for (size_t b = 0; b < B; b++) {
        memcpy(x_tan + b * D, state_tan + 2 * b * D, sizeof *x_tan * D);
    }
    const cri_points_potential *V = call->potential;
    if (V->grad_jvp) {
        V->grad_jvp(V, call->p, call->B, c->potential, x_tan, tan->p, g_tan, call->scratch);
    }
    for (size_t b = 0; b < B; b++) {
        double *out = rate_tan + 2 * b * D;
        memset(out, 0, sizeof *out * 2 * D);
        if (!call->has_failed[b]) {
            const slice r = slice_at(call, c, (int)b);
            row_jvp(call, &r, state_tan + 2 * b * D, g_tan + b * D, tan->minv, out);
        }
    }
    cri_arena_rewind(call->scratch, mark);
}
