// SPDX-License-Identifier: MIT
//
// Derivatives of what all impulse laws share (impulse_law.c), phase by phase:
//
//   Newton    c_n = b_n - v*  or  b_n + e min(0, b_n),   c_t = b_t - v*_t
//   Poisson   f_c = solve(c = b),   f_r = solve(c = A f_c + b - v*, l = e f_c,n),   f = f_c + f_r
//
// A phase is differentiated on its reduced system (solvers/friction_diff.c), or on its central
// path where smoothing was asked for. Adjoints of A are outer products, tangents of A are applied.

#include "contact/impulse_parts.h"

#include "base/base.h"

#include <string.h>

// adds the outer products -p f' + z q' of a phase, with p and z of its reduced system or its path
static double *phase_vjp(const cri_phase *ph, const double *f_adj, cri_contact_adj *adj,
                         double *l_adj, cr_arena *scratch) {
    int m = 3 * ph->problem.n;
    double *minus_p = CR_PUSH_RAW(scratch, double, m);
    double *z = CR_PUSH_RAW(scratch, double, m);
    if (ph->is_smooth) {
        cri_cone_smooth_vjp(&ph->smooth, f_adj, minus_p, adj->mu, l_adj, scratch);
    } else {
        cri_friction_reduced_vjp(&ph->problem, &ph->reduced, f_adj, minus_p, z, adj->mu, l_adj,
                                 scratch);
    }
    for (int i = 0; i < m; i++) {
        minus_p[i] = -minus_p[i];
    }
    adj->left[adj->n_outer] = minus_p;
    adj->right[adj->n_outer++] = ph->f;
    if (!ph->is_smooth && ph->reduced.n_null > 0) {
        adj->left[adj->n_outer] = z;
        adj->right[adj->n_outer++] = ph->reduced.q;
    }
    return minus_p; // c_adj
}

static void adj_begin(int n, bool has_drift, cri_contact_adj *adj, cr_arena *scratch) {
    *adj = (cri_contact_adj){0};
    adj->b = CR_PUSH(scratch, double, 3 * n);
    adj->mu = CR_PUSH(scratch, double, n);
    adj->e = CR_PUSH(scratch, double, n);
    adj->target = CR_PUSH(scratch, double, n);
    adj->drift = has_drift ? CR_PUSH(scratch, double, 3 * n) : NULL;
}

// does e move contact i? For a plain one this is the derivative for e -> 0+, which the caller may
// drop
static bool bounces(const cri_contact_problem *p, const cri_impulse_cache *c, int i) {
    bool is_edge = p->is_plain[i] && p->target[i] == 0.0;
    return p->b[3 * i] < 0.0 && (!c->takes_target[i] || is_edge);
}

static void newton_vjp(const cri_contact_problem *p, const cri_impulse_cache *c,
                       const double *f_adj, cri_contact_adj *adj, cr_arena *scratch) {
    double *l_adj = CR_PUSH(scratch, double, p->n);
    const double *c_adj = phase_vjp(&c->phase[0], f_adj, adj, l_adj, scratch);

    // c_n = b_n - target,  or  b_n + e min(0, b_n)
    for (int i = 0; i < p->n; i++) {
        const double *ci = c_adj + 3 * i;
        for (int r = 0; r < 3; r++) {
            adj->b[3 * i + r] += ci[r];
        }
        if (c->takes_target[i]) {
            adj->target[i] -= ci[0];
        } else if (p->b[3 * i] < 0.0) {
            adj->b[3 * i] += p->e[i] * ci[0];
        }
        adj->e[i] += bounces(p, c, i) ? p->b[3 * i] * ci[0] : 0.0;
        cri_take_drift(adj->drift ? c_adj : NULL, i, adj->drift);
    }
}

// adjoint of an idle second solve: f_r = 0 whatever the data are, but for e
static void idle_vjp(const cri_contact_problem *p, const cri_impulse_cache *c, const double *f_adj,
                     cri_contact_adj *adj, cr_arena *scratch) {
    const cri_phase *ph = &c->phase[1];
    double *unused = CR_PUSH(scratch, double, 7 * p->n), *z = unused + 3 * p->n;
    double *l_adj = CR_PUSH(scratch, double, p->n);
    cri_friction_reduced_vjp(&ph->problem, &ph->reduced, f_adj, unused, z, z + 3 * p->n, l_adj,
                             scratch);
    for (int i = 0; i < p->n; i++) {
        adj->e[i] += cri_restores(p, i) ? l_adj[i] * c->phase[0].f[3 * i] : 0.0;
    }
}

// adjoint of the second solve: overwrites first_adj (3n) of f_c
static void second_vjp(const cri_contact_problem *p, const cri_impulse_cache *c,
                       const double *f_adj, double *first_adj, cri_contact_adj *adj,
                       cr_arena *scratch) {
    const cri_phase *first = &c->phase[0];
    double *l_adj = CR_PUSH(scratch, double, p->n);
    double *c_adj = phase_vjp(&c->phase[1], f_adj, adj, l_adj, scratch);
    cri_affine(&first->problem, c_adj, f_adj, first_adj);
    for (int i = 0; i < p->n; i++) {
        adj->target[i] -= c_adj[3 * i];
        cri_take_drift(adj->drift ? c_adj : NULL, i, adj->drift);
        if (cri_restores(p, i)) {
            adj->e[i] += l_adj[i] * first->f[3 * i];
            first_adj[3 * i] += p->e[i] * l_adj[i];
        }
    }
    adj->left[adj->n_outer] = c_adj;
    adj->right[adj->n_outer++] = first->f;
    for (int i = 0; i < 3 * p->n; i++) {
        adj->b[i] += c_adj[i];
    }
}

void cri_impulse_vjp(const cri_contact_problem *p, const void *cached, const double *f,
                     const double *f_adj, cri_contact_adj *adj, cr_arena *scratch) {
    (void)f;
    const cri_impulse_cache *c = cached;
    int m = 3 * p->n;
    adj_begin(p->n, p->drift != NULL, adj, scratch);
    if (c->n_phase == 1) {
        newton_vjp(p, c, f_adj, adj, scratch);
        return;
    }
    // f = f_c + f_r,  f_r = solve(c = A f_c + b - v* e_n, l = e f_c,n)
    double *unused = CR_PUSH(scratch, double, p->n);
    double *first_adj = CR_PUSH_RAW(scratch, double, m);
    if (c->phase[1].is_idle) {
        memcpy(first_adj, f_adj, sizeof *f_adj * (size_t)m);
        idle_vjp(p, c, f_adj, adj, scratch);
    } else {
        second_vjp(p, c, f_adj, first_adj, adj, scratch);
    }

    // f_c = solve(c = b)
    const double *c_adj = phase_vjp(&c->phase[0], first_adj, adj, unused, scratch);
    for (int i = 0; i < m; i++) {
        adj->b[i] += c_adj[i];
    }
}

static void phase_jvp(const cri_phase *ph, const cri_contact_tan *tan, const double *c_tan,
                      const double *l_tan, double *f_tan, cr_arena *scratch) {
    int m = 3 * ph->problem.n;
    double *rhs = CR_PUSH_RAW(scratch, double, m);
    double *A_q = CR_PUSH_RAW(scratch, double, m);
    tan->apply_A(tan->context, ph->f, rhs);
    for (int i = 0; i < m; i++) {
        rhs[i] += c_tan[i];
    }
    if (ph->is_smooth && !tan->is_exact) {
        cri_cone_smooth_jvp(&ph->smooth, rhs, tan->mu, l_tan, f_tan, scratch);
        return;
    }
    if (ph->reduced.n_null > 0) {
        tan->apply_A(tan->context, ph->reduced.q, A_q);
    }
    cri_friction_tan data = {.rhs = rhs, .A_q = A_q, .mu = tan->mu, .l = l_tan};
    cri_friction_reduced_jvp(&ph->problem, &ph->reduced, &data, f_tan, scratch);
}

static void newton_jvp(const cri_contact_problem *p, const cri_impulse_cache *c,
                       const cri_contact_tan *tan, double *f_tan, cr_arena *scratch) {
    double *c_tan = CR_PUSH_RAW(scratch, double, 3 * p->n);
    double *l_tan = CR_PUSH(scratch, double, p->n);
    memcpy(c_tan, tan->b, sizeof(double) * 3 * (size_t)p->n);
    for (int i = 0; i < p->n; i++) {
        double b = p->b[3 * i];
        if (c->takes_target[i]) {
            c_tan[3 * i] -= tan->target[i];
        } else if (b < 0.0) {
            c_tan[3 * i] += p->e[i] * tan->b[3 * i];
        }
        c_tan[3 * i] += bounces(p, c, i) ? b * tan->e[i] : 0.0;
        cri_take_drift(tan->drift, i, c_tan);
    }
    phase_jvp(&c->phase[0], tan, c_tan, l_tan, f_tan, scratch);
}

void cri_impulse_jvp(const cri_contact_problem *p, const void *cached, const double *f,
                     const cri_contact_tan *tan, double *f_tan, cr_arena *scratch) {
    (void)f;
    const cri_impulse_cache *c = cached;
    int m = 3 * p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    if (c->n_phase == 1) {
        newton_jvp(p, c, tan, f_tan, scratch);
        cri_arena_rewind(scratch, mark);
        return;
    }
    const cri_phase *first = &c->phase[0], *second = &c->phase[1];
    double *first_tan = CR_PUSH_RAW(scratch, double, m);
    double *c_tan = CR_PUSH_RAW(scratch, double, m);
    double *A_f = CR_PUSH_RAW(scratch, double, m);
    double *l_tan = CR_PUSH(scratch, double, p->n);

    // f_c = solve(c = b)
    phase_jvp(first, tan, tan->b, l_tan, first_tan, scratch);

    // f_r = solve(c = A f_c + b - v* e_n, l = e f_c,n); an idle one moves with e alone
    cri_contact_tan second_tan = *tan;
    for (int i = 0; i < p->n; i++) {
        l_tan[i] =
            cri_restores(p, i) ? tan->e[i] * first->f[3 * i] + p->e[i] * first_tan[3 * i] : 0.0;
    }
    if (second->is_idle) {
        c_tan = CR_PUSH(scratch, double, m);
        second_tan.mu = CR_PUSH(scratch, double, p->n);
    } else {
        tan->apply_A(tan->context, first->f, A_f);
        cri_affine(&first->problem, first_tan, tan->b, c_tan);
        for (int i = 0; i < m; i++) {
            c_tan[i] += A_f[i] - (i % 3 == 0 ? tan->target[i / 3] : 0.0);
        }
        for (int i = 0; i < p->n; i++) {
            cri_take_drift(tan->drift, i, c_tan);
        }
    }
    phase_jvp(second, &second_tan, c_tan, l_tan, f_tan, scratch);
    for (int i = 0; i < m; i++) {
        f_tan[i] += first_tan[i];
    }
    cri_arena_rewind(scratch, mark);
}

bool cri_impulse_split(const cri_contact_problem *p, const void *cached, cri_contact_split *split) {
    const cri_impulse_cache *c = cached;
    const cri_phase *ph = &c->phase[0];
    for (int i = 0; i < p->n; i++) {
        bool takes_b = !c->takes_target[i] && p->b[3 * i] < 0.0;
        split->of_b[i] = takes_b ? 1.0 + p->e[i] : 1.0;
        split->of_target[i] = c->takes_target[i];
    }
    split->q = cri_friction_takes_q(&ph->problem, &ph->reduced) ? ph->reduced.q : NULL;
    return c->n_phase == 1 && !ph->is_smooth;
}

void cri_impulse_jvp_many(const void *cached, int n_column, double *F, const double *A_q,
                          cr_arena *scratch) {
    const cri_impulse_cache *c = cached;
    const cri_phase *ph = &c->phase[0];
    CR_ASSERT(c->n_phase == 1);
    cri_friction_reduced_many(&ph->problem, &ph->reduced, n_column, F, A_q, scratch);
}
