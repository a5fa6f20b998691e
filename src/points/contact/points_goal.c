// SPDX-License-Identifier: MIT
//
// The target velocity that repairs a penetration (DCS, paper 000, App. G, S.22 to S.24):
//
//   v_d = depth/(share dt) on normal rows,   y = J'z, (J J' + delta 1) z = v_d       y = J^+ v_d
//   v* = J (1 - J_E'(J_E J_E')^-1 J_E) y                   the lemma with Minv = 1, force y
//
// so that ties have been taken out of it; without ties v* = v_d. delta, 1e-13 of the trace, keeps
// the factor alive where rows repeat each other; y is then the least-squares one.
//
// Adjoints, k = K^-1 J y_adj:  J_adj = v*_adj a' + z (y_adj - J'k)' - k y',  v_d_adj = k.

#include "points/contact/points_contact.h"

#include "base/base.h"
#include "base/math/dense_factor.h"

#include <string.h>

// K (3n, 3n) = J J' + delta, rows that are not there alone with 1
static void make_gram(const cri_jump_world *w, const cri_points_jump *j, double *K,
                      cr_arena *scratch) {
    int m = 3 * j->n, d = w->s->d;
    double trace = 0.0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *y = CR_PUSH_RAW(scratch, double, w->s->n_dof);
    double *unit = CR_PUSH(scratch, double, m);
    for (int c = 0; c < m; c++) {
        memset(y, 0, sizeof *y * (size_t)w->s->n_dof);
        unit[c] = 1.0;
        cri_rows_add(j, d, NULL, unit, y);
        cri_rows_times(j, d, NULL, y, K + (size_t)c * (size_t)m);
        unit[c] = 0.0;
        trace += K[(size_t)c * (size_t)m + c];
    }
    for (int c = 0; c < m; c++) {
        bool is_there = c % 3 < j->row[c / 3].n_row;
        K[(size_t)c * (size_t)m + c] += is_there ? 1e-13 * trace : 1.0;
    }
    cri_arena_rewind(scratch, mark);
}

static bool push_goal(const cri_points *s, cri_points_jump *j, cr_arena *keep) {
    int m = 3 * j->n, D = s->n_dof, E = s->n_tie;
    cri_jump_goal *g = &j->goal;
    g->value = CR_PUSH(keep, double, m);
    if (E == 0) {
        return g->value != NULL;
    }
    g->K = CR_PUSH(keep, double, (size_t)m *(size_t)m);
    g->z = CR_PUSH(keep, double, m + 3 * D + E);
    double *room = CR_PUSH_RAW(keep, double, cri_ties_factor_size(s));
    if (!g->value || !g->K || !g->z || !room) {
        return false;
    }
    g->y = g->z + m;
    g->lemma.H = g->y + D;
    g->lemma.a = g->lemma.H + D;
    g->lemma.lam = g->lemma.a + D;
    g->factor = cri_ties_factor_at(s, s->unit, room);
    return true;
}

bool cri_points_goal(const cri_jump_world *w, cri_points_jump *j, cr_arena *keep,
                     cr_arena *scratch) {
    const cri_points *s = w->s;
    cri_jump_goal *g = &j->goal;
    if (!push_goal(s, j, keep)) {
        return false;
    }
    double rate = 1.0 / (w->law->share * w->law->dt);
    for (int i = 0; i < j->n; i++) {
        g->value[3 * i] = -j->row[i].gap * rate;
    }
    if (s->n_tie == 0) {
        return true;
    }
    int m = 3 * j->n;
    make_gram(w, j, g->K, scratch);
    cri_ties_rows(s, j->x, g->factor.J);
    if (!cri_cholesky_factor(m, g->K) || !cri_ties_factorise(s, &g->factor, scratch)) {
        j->outcome = CR_ITERATION_LIMIT;
        return true;
    }
    memcpy(g->z, g->value, sizeof *g->z * (size_t)m);
    cri_cholesky_solve(m, g->K, g->z);
    cri_rows_add(j, s->d, NULL, g->z, g->y);
    cri_lemma_solve(s, &g->factor, g->y, NULL, &g->lemma, scratch);
    cri_rows_times(j, s->d, NULL, g->lemma.a, g->value);
    return true;
}

void cri_points_goal_vjp(const cri_jump_world *w, const cri_points_jump *j, const double *goal_adj,
                         cri_row_blocks *J_adj, double *gap_adj, double *x_adj, cr_arena *scratch) {
    const cri_points *s = w->s;
    const cri_jump_goal *g = &j->goal;
    int m = 3 * j->n, D = s->n_dof;
    double rate = 1.0 / (w->law->share * w->law->dt);
    const double *rate_adj = goal_adj;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    if (s->n_tie > 0) {
        // v* = J a,  a = lemma(force y)
        double *a_adj = CR_PUSH(scratch, double, D);
        cri_rows_add_outer(j, s->d, goal_adj, g->lemma.a, J_adj);
        cri_rows_add(j, s->d, NULL, goal_adj, a_adj);
        cri_lemma left = cri_force_lemma(s, &g->factor, a_adj, scratch);
        cri_lemma_pull_pair(s, &left, &g->lemma, x_adj, NULL);

        // y = J'z,  K z = v_d
        double *k = CR_PUSH_RAW(scratch, double, 2 * m), *minus_k = k + m;
        cri_rows_times(j, s->d, NULL, left.a, k);
        cri_cholesky_solve(m, g->K, k);
        for (int i = 0; i < m; i++) {
            minus_k[i] = -k[i];
        }
        double *rest = left.a;
        cri_rows_add(j, s->d, NULL, minus_k, rest);
        cri_rows_add_outer(j, s->d, g->z, rest, J_adj);
        cri_rows_add_outer(j, s->d, minus_k, g->y, J_adj);
        rate_adj = k;
    }
    for (int i = 0; i < j->n; i++) {
        gap_adj[i] -= rate * rate_adj[3 * i];
    }
    cri_arena_rewind(scratch, mark);
}

void cri_points_goal_jvp(const cri_jump_world *w, const cri_points_jump *j,
                         const cri_row_blocks *J_tan, const double *gap_tan, const double *x_tan,
                         double *goal_tan, cr_arena *scratch) {
    const cri_points *s = w->s;
    const cri_jump_goal *g = &j->goal;
    int m = 3 * j->n, D = s->n_dof, d = s->d;
    double rate = 1.0 / (w->law->share * w->law->dt);
    memset(goal_tan, 0, sizeof *goal_tan * (size_t)m);
    for (int i = 0; i < j->n; i++) {
        goal_tan[3 * i] = -rate * gap_tan[i];
    }
    if (s->n_tie == 0) {
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *y_tan = CR_PUSH(scratch, double, 2 * D), *a_tan = y_tan + D;
    double *z_tan = CR_PUSH_RAW(scratch, double, 3 * m), *one = z_tan + m, *two = one + m;
    double *ties = CR_PUSH_RAW(scratch, double, s->n_slot *d + s->n_tie);

    // K z_tan = v_d_tan - J_tan y - J J_tan'z
    cri_rows_add(j, d, J_tan, g->z, y_tan);
    cri_rows_times(j, d, J_tan, g->y, one);
    cri_rows_times(j, d, NULL, y_tan, two);
    for (int i = 0; i < m; i++) {
        z_tan[i] = goal_tan[i] - one[i] - two[i];
    }
    cri_cholesky_solve(m, g->K, z_tan);
    cri_rows_add(j, d, NULL, z_tan, y_tan);

    // v* = J a,  a = lemma(force y)
    cri_ties_curve(s, x_tan, ties);
    const cri_lemma_tan tan = {.J = ties, .force = y_tan};
    cri_lemma_jvp(s, &g->factor, &g->lemma, &tan, ties + s->n_slot * d, a_tan, scratch);
    cri_rows_times(j, d, J_tan, g->lemma.a, one);
    cri_rows_times(j, d, NULL, a_tan, goal_tan);
    for (int i = 0; i < m; i++) {
        goal_tan[i] += one[i];
    }
    cri_arena_rewind(scratch, mark);
}
