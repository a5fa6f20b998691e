// SPDX-License-Identifier: MIT
//
// Derivatives of the jump of points (points_jump.c). The law gives A_adj = sum of left right', and
// b_adj, mu_adj, e_adj, v*_adj. With L = lemma(J'left), R = lemma(J'right) for every such pair, and
// for the pair (v'_adj, f) of v' = v + Minv_hat J'f:
//
//   J_adj    = sum left R.a' + right L.a' + f L_0.a' + b_adj v'
//   J_E_adj  = sum R.lam L.a' + L.lam R.a',     Minv_adj = sum L.H R.H'
//   v_adj    = v'_adj + J'b_adj
//
// No adjoint matrix of A is formed, and the factor of S serves all of it. Pairs of different
// islands share their vectors: what one moves the other does not see.
//
// v* is a constant unless the law says through_target: DCS drops its derivative.

#include "points/contact/points_contact.h"

#include "base/base.h"
#include "base/math/dense.h"

#include <string.h>

/// Adjoints of all islands together.
typedef struct all_adj {
    int n_outer;
    double *left[CRI_MAX_OUTER], *right[CRI_MAX_OUTER]; // (3 n) each
    double *b;                                          // (3 n)
    double *goal;                                       // (3 n)
} all_adj;

// takes over what the law gives for one island
static void merge_island(const cri_jump_world *w, const cri_points_jump *j,
                         const cri_jump_island *is, const cri_contact_adj *a, all_adj *all,
                         double *p_adj) {
    int n = is->problem.n, at = is->first;
    size_t bytes = sizeof(double) * 3 * (size_t)n;
    const cri_points_law *law = w->law;
    for (int k = 0; k < a->n_outer; k++) {
        memcpy(all->left[k] + 3 * at, a->left[k], bytes);
        memcpy(all->right[k] + 3 * at, a->right[k], bytes);
        if (law->law->is_regularised) {
            p_adj[law->i_epsilon] += cri_dot(3 * n, a->left[k], a->right[k]);
        }
    }
    all->n_outer = a->n_outer > all->n_outer ? a->n_outer : all->n_outer;
    memcpy(all->b + 3 * at, a->b, bytes);
    for (int i = 0; i < n; i++) {
        int k = w->touch[j->row[at + i].touch].coefficient;
        double *goal = all->goal + 3 * (at + i);
        if (j->row[at + i].n_row > 1) {
            p_adj[law->i_mu + k] += a->mu[i];
        }
        p_adj[law->i_e + k] += a->e[i];
        goal[0] = a->target[i];
        for (int r = 1; a->drift && r < j->row[at + i].n_row; r++) {
            goal[r] = a->drift[3 * i + r];
        }
    }
}

static all_adj laws_vjp(const cri_jump_world *w, const cri_points_jump *j, const double *f_adj,
                        double *p_adj, cr_arena *scratch) {
    int m = 3 * j->n;
    all_adj all = {.b = CR_PUSH(scratch, double, 2 * m)};
    all.goal = all.b + m;
    double *room = CR_PUSH(scratch, double, 2 * CRI_MAX_OUTER * m);
    for (int k = 0; k < CRI_MAX_OUTER; k++) {
        all.left[k] = room + 2 * k * m;
        all.right[k] = all.left[k] + m;
    }
    for (int k = 0; k < j->n_island; k++) {
        const cri_jump_island *is = &j->island[k];
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        cri_contact_adj a;
        w->law->law->vjp(&is->problem, is->cache, j->f + 3 * is->first, f_adj + 3 * is->first, &a,
                         scratch);
        merge_island(w, j, is, &a, &all, p_adj);
        cri_arena_rewind(scratch, mark);
    }
    return all;
}

// adjoint of A = J Minv_hat J' of all pairs
static void matrix_pairs(const cri_jump_world *w, const cri_points_jump *j, const all_adj *all,
                         cri_row_blocks *J_adj, double *x_adj, double *minv_adj,
                         cr_arena *scratch) {
    const cri_points *s = w->s;
    for (int k = 0; k < all->n_outer; k++) {
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        const cri_lemma left = cri_rows_lemma(s, &j->factor, j, all->left[k], scratch);
        const cri_lemma right = cri_rows_lemma(s, &j->factor, j, all->right[k], scratch);
        cri_rows_add_outer(j, s->d, all->left[k], right.a, J_adj);
        cri_rows_add_outer(j, s->d, all->right[k], left.a, J_adj);
        cri_lemma_pull_pair(s, &left, &right, x_adj, minv_adj);
        cri_arena_rewind(scratch, mark);
    }
}

void cri_points_jump_vjp(const cri_jump_world *w, const cri_points_jump *j,
                         const double *v_next_adj, double *state_adj, const cri_points_adj *adj,
                         cr_arena *scratch) {
    const cri_points *s = w->s;
    int D = s->n_dof, n = j->n;
    double *x_adj = state_adj, *v_adj = state_adj + D;
    for (int i = 0; i < D; i++) {
        v_adj[i] += v_next_adj[i];
    }
    if (n == 0) {
        return;
    }
    CR_ASSERT(cri_points_jump_is_solved(j));
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_row_blocks *J_adj = CR_PUSH(scratch, cri_row_blocks, n);
    double *gap_adj = CR_PUSH(scratch, double, n);
    double *f_adj = CR_PUSH_RAW(scratch, double, 3 * n);

    // v' = v + Minv_hat J'f
    const cri_lemma left = cri_force_lemma(s, &j->factor, v_next_adj, scratch);
    const cri_lemma right = cri_rows_lemma(s, &j->factor, j, j->f, scratch);
    cri_rows_times(j, s->d, NULL, left.a, f_adj);
    cri_rows_add_outer(j, s->d, j->f, left.a, J_adj);
    cri_lemma_pull_pair(s, &left, &right, x_adj, adj->minv);

    // f = law(A, b, mu, e, v*),  A = J Minv_hat J',  b = J v
    const all_adj all = laws_vjp(w, j, f_adj, adj->p, scratch);
    matrix_pairs(w, j, &all, J_adj, x_adj, adj->minv, scratch);
    cri_rows_add_outer(j, s->d, all.b, j->v, J_adj);
    cri_rows_add(j, s->d, NULL, all.b, v_adj);
    if (w->law->through_target) {
        cri_points_goal_vjp(w, j, all.goal, J_adj, gap_adj, x_adj, scratch);
    }
    for (int i = 0; i < n; i++) {
        cri_points_row_vjp(s, &w->touch[j->row[i].touch], j->x, &j->row[i], J_adj[i], gap_adj[i],
                           x_adj);
    }
    cri_arena_rewind(scratch, mark);
}

// ---- tangent -----------------------------------------------------------------------------------

/// Tangents of rows and masses, and the island that a law asks about.
typedef struct matrix_tan {
    const cri_jump_world *w;
    const cri_points_jump *jump;
    const cri_jump_island *island;
    const cri_row_blocks *J_tan;
    const double *ties_tan; // (n_slot, d)
    const double *minv_tan;
    double epsilon_tan;
    cr_arena *scratch;
} matrix_tan;

// a_tan (D) of Minv_hat J'k, k (3 n); and its a
static cri_lemma moved_lemma(const matrix_tan *t, const double *k, double *a_tan) {
    const cri_points *s = t->w->s;
    const cri_points_jump *j = t->jump;
    double *force_tan = CR_PUSH(t->scratch, double, s->n_dof);
    double *lam_tan = CR_PUSH_RAW(t->scratch, double, s->n_tie + 1);
    const cri_lemma at = cri_rows_lemma(s, &j->factor, j, k, t->scratch);
    cri_rows_add(j, s->d, t->J_tan, k, force_tan);
    const cri_lemma_tan tan = {
        .minv = t->minv_tan, .J = s->n_tie > 0 ? t->ties_tan : NULL, .force = force_tan};
    cri_lemma_jvp(s, &j->factor, &at, &tan, lam_tan, a_tan, t->scratch);
    return at;
}

// A_tan z of one island
static void apply_matrix(const void *context, const double *z, double *out) {
    const matrix_tan *t = context;
    const cri_points *s = t->w->s;
    int m = 3 * t->jump->n, first = 3 * t->island->first, size = 3 * t->island->problem.n;
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    double *k = CR_PUSH(t->scratch, double, 3 * m), *one = k + m, *two = one + m;
    double *a_tan = CR_PUSH_RAW(t->scratch, double, s->n_dof);
    memcpy(k + first, z, sizeof *z * (size_t)size);
    const cri_lemma at = moved_lemma(t, k, a_tan);
    cri_rows_times(t->jump, s->d, t->J_tan, at.a, one);
    cri_rows_times(t->jump, s->d, NULL, a_tan, two);
    for (int i = 0; i < size; i++) {
        out[i] = one[first + i] + two[first + i] + t->epsilon_tan * z[i];
    }
    cri_arena_rewind(t->scratch, mark);
}

// f_tan (3 n) of all islands
static void laws_jvp(matrix_tan *t, const cri_points_tan *tan, const double *b_tan,
                     const double *goal_tan, double *f_tan) {
    const cri_points_jump *j = t->jump;
    const cri_points_law *law = t->w->law;
    for (int k = 0; k < j->n_island; k++) {
        const cri_jump_island *is = &j->island[k];
        int n = is->problem.n, at = is->first;
        cri_arena_mark mark = cri_arena_get_mark(t->scratch);
        double *mu_tan = CR_PUSH(t->scratch, double, 3 * n), *e_tan = mu_tan + n;
        double *target_tan = e_tan + n;
        for (int i = 0; i < n; i++) {
            int c = t->w->touch[j->row[at + i].touch].coefficient;
            mu_tan[i] = j->row[at + i].n_row > 1 ? tan->p[law->i_mu + c] : 0.0;
            e_tan[i] = tan->p[law->i_e + c];
            target_tan[i] = goal_tan[3 * (at + i)];
        }
        t->island = is;
        const cri_contact_tan data = {.apply_A = apply_matrix,
                                      .context = t,
                                      .b = b_tan + 3 * at,
                                      .mu = mu_tan,
                                      .e = e_tan,
                                      .target = target_tan,
                                      .drift = is->problem.drift ? goal_tan + 3 * at : NULL};
        law->law->jvp(&is->problem, is->cache, j->f + 3 * at, &data, f_tan + 3 * at, t->scratch);
        cri_arena_rewind(t->scratch, mark);
    }
}

void cri_points_jump_jvp(const cri_jump_world *w, const cri_points_jump *j, const double *state_tan,
                         const cri_points_tan *tan, double *v_next_tan, cr_arena *scratch) {
    const cri_points *s = w->s;
    int D = s->n_dof, n = j->n, m = 3 * n;
    const double *v_tan = state_tan + D;
    memcpy(v_next_tan, v_tan, sizeof *v_tan * (size_t)D);
    if (n == 0) {
        return;
    }
    CR_ASSERT(cri_points_jump_is_solved(j));
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_row_blocks *J_tan = CR_PUSH(scratch, cri_row_blocks, n);
    double *gap_tan = CR_PUSH_RAW(scratch, double, n);
    double *ties_tan = CR_PUSH_RAW(scratch, double, s->n_slot * s->d + 1);
    double *b_tan = CR_PUSH(scratch, double, 4 * m), *J_v = b_tan + m;
    double *goal_tan = J_v + m, *f_tan = goal_tan + m;
    double *a_tan = CR_PUSH_RAW(scratch, double, D);
    for (int i = 0; i < n; i++) {
        gap_tan[i] = cri_points_row_jvp(s, &w->touch[j->row[i].touch], j->x, &j->row[i], state_tan,
                                        J_tan[i]);
    }
    cri_ties_curve(s, state_tan, ties_tan);
    matrix_tan t = {.w = w, .jump = j, .ties_tan = ties_tan, .minv_tan = tan->minv};
    t.J_tan = (const cri_row_blocks *)J_tan;
    t.scratch = scratch;
    t.epsilon_tan = w->law->law->is_regularised ? tan->p[w->law->i_epsilon] : 0.0;

    // b = J v,  v*,  f = law(A, b, mu, e, v*)
    cri_rows_times(j, s->d, t.J_tan, j->v, b_tan);
    cri_rows_times(j, s->d, NULL, v_tan, J_v);
    for (int i = 0; i < m; i++) {
        b_tan[i] += J_v[i];
    }
    if (w->law->through_target) {
        cri_points_goal_jvp(w, j, t.J_tan, gap_tan, state_tan, goal_tan, scratch);
    }
    laws_jvp(&t, tan, b_tan, goal_tan, f_tan);

    // v' = v + Minv_hat J'f
    moved_lemma(&t, j->f, a_tan);
    const cri_lemma more = cri_rows_lemma(s, &j->factor, j, f_tan, scratch);
    for (int i = 0; i < D; i++) {
        v_next_tan[i] += a_tan[i] + more.a[i];
    }
    cri_arena_rewind(scratch, mark);
}
