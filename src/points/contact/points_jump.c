// SPDX-License-Identifier: MIT
//
// The jump of velocity of points in contact, at the end of a step:
//
//   Minv_hat = Minv - Minv J_E'(J_E Minv J_E')^-1 J_E Minv          the lemma with force f, c = 0
//   A = J Minv_hat J',   b = J v,   f = law(A, b, mu, e, v*),   v' = v + Minv_hat J'f
//
// The problem is that of every law (law.h): three rows a contact. Rows that a planar contact or a
// limit does not have are decoupled from all others, with the inverse mass of its last row and no
// velocity: their impulse is zero, and the problem no more singular than it is. Contacts are split
// into islands that no block of mass and no tie connects.
//
// v* enters Poisson's laws on normal and tangents, Newton's on normals. A sliding contact of the
// law cone is lifted; a separating overlap may be pushed. A touch acts when its gap is below zero.
// Source: DCS (paper 000), Eq. 5 to 7 and App. G.

#include "points/contact/points_contact.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/dense_factor.h"
#include "contact/impulse.h"

#include <math.h>
#include <string.h>

/// Arrays of all contacts, of which islands take their parts.
typedef struct problem_arrays {
    double *b, *mu, *e, *target;
    bool *is_plain;
} problem_arrays;

/// Adjoints of all islands together.
typedef struct all_adj {
    int n_outer;
    double *left[CRI_MAX_OUTER], *right[CRI_MAX_OUTER]; // (3 n) each
    double *b;                                          // (3 n)
    double *goal;                                       // (3 n)
} all_adj;

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

// ---- products ----------------------------------------------------------------------------------

static const double *block_of(const cri_points_jump *j, const cri_row_blocks *J, int i, int r,
                              int k) {
    return J ? J[i][r][k] : j->row[i].J[r][k];
}

/// out (D) += J' k
static void rows_add(const cri_points_jump *j, int d, const cri_row_blocks *J, const double *k,
                     double *out) {
    for (int i = 0; i < j->n; i++) {
        const cri_points_row *row = &j->row[i];
        for (int r = 0; r < row->n_row; r++) {
            for (int s = 0; s < row->n_slot; s++) {
                const double *a = block_of(j, J, i, r, s);
                for (int c = 0; c < d; c++) {
                    out[row->point[s] * d + c] += k[3 * i + r] * a[c];
                }
            }
        }
    }
}

/// out (3 n) = J y, zero where a contact has no such row. J (n) in place of the rows' own, or NULL.
static void rows_times(const cri_points_jump *j, int d, const cri_row_blocks *J, const double *y,
                       double *out) {
    memset(out, 0, sizeof *out * 3 * (size_t)j->n);
    for (int i = 0; i < j->n; i++) {
        const cri_points_row *row = &j->row[i];
        for (int r = 0; r < row->n_row; r++) {
            double sum = 0.0;
            for (int k = 0; k < row->n_slot; k++) {
                const double *a = block_of(j, J, i, r, k), *at = y + row->point[k] * d;
                sum += a[0] * at[0] + a[1] * at[1] + (d > 2 ? a[2] * at[2] : 0.0);
            }
            out[3 * i + r] = sum;
        }
    }
}

// ---- target velocities --------------------------------------------------------------------------

// The target velocity that repairs a penetration (DCS, paper 000, App. G, S.22 to S.24):
//
//   v_d = depth/(share dt) on normal rows,   y = J'z, (J J' + delta 1) z = v_d       y = J^+ v_d
//   v* = J (1 - J_E'(J_E J_E')^-1 J_E) y                   the lemma with Minv = 1, force y
//
// so that ties have been taken out of it; without ties v* = v_d. delta, 1e-13 of the trace, keeps
// the factor alive where rows repeat each other; y is then the least-squares one.
//
// Adjoints, k = K^-1 J y_adj:  J_adj = v*_adj a' + z (y_adj - J'k)' - k y',  v_d_adj = k.

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
        rows_add(j, d, NULL, unit, y);
        rows_times(j, d, NULL, y, K + (size_t)c * (size_t)m);
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

/// Fills jump->goal. False when there is no memory, or ties are singular.
static bool points_goal(const cri_jump_world *w, cri_points_jump *j, cr_arena *keep,
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
    rows_add(j, s->d, NULL, g->z, g->y);
    cri_lemma_solve(s, &g->factor, g->y, NULL, &g->lemma, scratch);
    rows_times(j, s->d, NULL, g->lemma.a, g->value);
    return true;
}

/// J_adj += left right', with left (3 n) on rows, right (D) on coordinates
static void rows_add_outer(const cri_points_jump *j, int d, const double *left, const double *right,
                           cri_row_blocks *J_adj) {
    for (int i = 0; i < j->n; i++) {
        const cri_points_row *row = &j->row[i];
        for (int r = 0; r < row->n_row; r++) {
            for (int s = 0; s < row->n_slot; s++) {
                for (int c = 0; c < d; c++) {
                    J_adj[i][r][s][c] += left[3 * i + r] * right[row->point[s] * d + c];
                }
            }
        }
    }
}

/// The same for a force (D).
static cri_lemma force_lemma(const cri_points *s, const cri_ties_factor *f, const double *force,
                             cr_arena *scratch) {
    int D = s->n_dof, E = s->n_tie;
    double *room = CR_PUSH_RAW(scratch, double, E + 2 * D);
    cri_lemma l = {.lam = room, .H = room + E, .a = room + E + D};
    cri_lemma_solve(s, f, force, NULL, &l, scratch);
    return l;
}

/// Adds the adjoint of the form left.force' Minv_hat right.force for x and the inverse mass.
static void lemma_pull_pair(const cri_points *s, const cri_lemma *left, const cri_lemma *right,
                            double *x_adj, double *minv_adj) {
    // the adjoint of a lemma with force left is the lemma of left, with w = -lam
    cri_ties_add_curve(s, 1.0, right->lam, left->a, x_adj);
    cri_ties_add_curve(s, 1.0, left->lam, right->a, x_adj);
    if (minv_adj) {
        cri_minv_add_outer(s, left->H, right->H, minv_adj);
    }
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
        rows_add_outer(j, s->d, goal_adj, g->lemma.a, J_adj);
        rows_add(j, s->d, NULL, goal_adj, a_adj);
        cri_lemma left = force_lemma(s, &g->factor, a_adj, scratch);
        lemma_pull_pair(s, &left, &g->lemma, x_adj, NULL);

        // y = J'z,  K z = v_d
        double *k = CR_PUSH_RAW(scratch, double, 2 * m), *minus_k = k + m;
        rows_times(j, s->d, NULL, left.a, k);
        cri_cholesky_solve(m, g->K, k);
        for (int i = 0; i < m; i++) {
            minus_k[i] = -k[i];
        }
        double *rest = left.a;
        rows_add(j, s->d, NULL, minus_k, rest);
        rows_add_outer(j, s->d, g->z, rest, J_adj);
        rows_add_outer(j, s->d, minus_k, g->y, J_adj);
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
    rows_add(j, d, J_tan, g->z, y_tan);
    rows_times(j, d, J_tan, g->y, one);
    rows_times(j, d, NULL, y_tan, two);
    for (int i = 0; i < m; i++) {
        z_tan[i] = goal_tan[i] - one[i] - two[i];
    }
    cri_cholesky_solve(m, g->K, z_tan);
    rows_add(j, d, NULL, z_tan, y_tan);

    // v* = J a,  a = lemma(force y)
    cri_ties_curve(s, x_tan, ties);
    const cri_lemma_tan tan = {.J = ties, .force = y_tan};
    cri_lemma_jvp(s, &g->factor, &g->lemma, &tan, ties + s->n_slot * d, a_tan, scratch);
    rows_times(j, d, J_tan, g->lemma.a, one);
    rows_times(j, d, NULL, a_tan, goal_tan);
    for (int i = 0; i < m; i++) {
        goal_tan[i] += one[i];
    }
    cri_arena_rewind(scratch, mark);
}

// ---- islands and problems -----------------------------------------------------------------------

/// Lemma without c, of the impulse k (3 n) on the rows J: force J'k. Pushed on scratch.
static cri_lemma rows_lemma(const cri_points *s, const cri_ties_factor *f, const cri_points_jump *j,
                            const double *k, cr_arena *scratch) {
    double *force = CR_PUSH(scratch, double, s->n_dof);
    rows_add(j, s->d, NULL, k, force);
    return force_lemma(s, f, force, scratch);
}

// ---- detection and islands ---------------------------------------------------------------------

static int root_of(const int *parent, int i) {
    while (parent[i] != i) {
        i = parent[i];
    }
    return i;
}

// groups of the points of a touch that it may move
static int touch_groups(const cri_points *s, const cri_points_touch *t, int group[3]) {
    int n = 0;
    bool has_b = t->kind == CRI_TOUCH_POINTS || t->kind == CRI_TOUCH_DISKS ||
                 t->kind == CRI_TOUCH_STRETCH || t->kind == CRI_TOUCH_BEND;
    if (t->a >= 0) {
        group[n++] = s->group_of[t->a];
    }
    if (has_b) {
        group[n++] = s->group_of[t->b];
    }
    if (t->kind == CRI_TOUCH_BEND) {
        group[n++] = s->group_of[t->c];
    }
    return n;
}

// joins what the hits connect; parent (n_point)
static void join_groups(const cri_jump_world *w, int n, const int *hit, int *parent) {
    int group[3] = {0};
    for (int i = 0; i < w->s->n_point; i++) {
        parent[i] = i;
    }
    for (int i = 0; i < n; i++) {
        int n_group = touch_groups(w->s, &w->touch[hit[i]], group);
        for (int k = 1; k < n_group; k++) {
            int a = root_of(parent, group[0]), b = root_of(parent, group[k]);
            parent[a > b ? a : b] = a > b ? b : a;
        }
    }
}

// Rows island after island, islands by their least point, contacts of one in the order of touches.
static void make_rows(const cri_jump_world *w, const int *hit, cri_points_jump *j,
                      cr_arena *scratch) {
    int n = j->n, group[3] = {0};
    int *parent = CR_PUSH_RAW(scratch, int, w->s->n_point);
    int *count = CR_PUSH(scratch, int, w->s->n_point + 1);
    int *root = CR_PUSH_RAW(scratch, int, n);
    join_groups(w, n, hit, parent);
    for (int i = 0; i < n; i++) {
        touch_groups(w->s, &w->touch[hit[i]], group);
        root[i] = root_of(parent, group[0]);
        count[root[i] + 1]++;
    }
    j->n_island = 0;
    for (int g = 0; g < w->s->n_point; g++) {
        if (count[g + 1] > 0) {
            j->island[j->n_island++] =
                (cri_jump_island){.first = count[g], .problem = {.n = count[g + 1]}};
        }
        count[g + 1] += count[g];
    }
    for (int i = 0; i < n; i++) {
        cri_points_row *row = &j->row[count[root[i]]++];
        cri_points_row_at(w->s, &w->touch[hit[i]], j->x, row);
        row->touch = hit[i];
    }
}

// ---- problems ----------------------------------------------------------------------------------

// p (D) = Minv_hat J_ir'; without ties only the blocks of the row are written
static void move_by_row(const cri_jump_world *w, const cri_points_jump *j, int i, int r, double *p,
                        cr_arena *scratch) {
    const cri_points *s = w->s;
    const cri_points_row *row = &j->row[i];
    int d = s->d;
    if (s->n_tie > 0) {
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        double *force = CR_PUSH(scratch, double, s->n_dof);
        for (int k = 0; k < row->n_slot; k++) {
            memcpy(force + row->point[k] * d, row->J[r][k], sizeof *force * (size_t)d);
        }
        cri_lemma l = force_lemma(s, &j->factor, force, scratch);
        memcpy(p, l.a, sizeof *p * (size_t)s->n_dof);
        cri_arena_rewind(scratch, mark);
        return;
    }
    for (int k = 0; k < row->n_slot; k++) {
        const cri_mass_block *b = &s->block[s->block_of[row->point[k]]];
        CR_ASSERT(b->n == 1);
        for (int c = 0; c < d; c++) {
            p[row->point[k] * d + c] = w->minv[b->entry] * row->J[r][k][c];
        }
    }
}

static void clear_row(const cri_points *s, const cri_points_row *row, double *p) {
    for (int k = 0; k < row->n_slot; k++) {
        memset(p + row->point[k] * s->d, 0, sizeof *p * (size_t)s->d);
    }
}

// A (3m, 3m) of an island of m contacts
static void make_matrix(const cri_jump_world *w, const cri_points_jump *j,
                        const cri_jump_island *is, double *A, cr_arena *scratch) {
    const cri_points *s = w->s;
    int m = 3 * is->problem.n, d = s->d;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *p = CR_PUSH(scratch, double, s->n_dof);
    for (int col = 0; col < m; col++) {
        const cri_points_row *row = &j->row[is->first + col / 3];
        if (col % 3 >= row->n_row) {
            // a row that is not there
            A[(size_t)col * (size_t)m + col] = A[(size_t)(col - 1) * (size_t)m + col - 1];
            continue;
        }
        move_by_row(w, j, is->first + col / 3, col % 3, p, scratch);
        for (int i = col / 3; i < is->problem.n; i++) {
            const cri_points_row *other = &j->row[is->first + i];
            for (int r = 0; r < other->n_row; r++) {
                double sum = 0.0;
                for (int k = 0; k < other->n_slot; k++) {
                    const double *a = other->J[r][k], *at = p + other->point[k] * d;
                    sum += a[0] * at[0] + a[1] * at[1] + (d > 2 ? a[2] * at[2] : 0.0);
                }
                A[(size_t)(3 * i + r) * (size_t)m + col] = sum;
                A[(size_t)col * (size_t)m + 3 * i + r] = sum;
            }
        }
        clear_row(s, row, p);
    }
    cri_arena_rewind(scratch, mark);
}

static problem_arrays make_arrays(const cri_jump_world *w, const cri_points_jump *j,
                                  cr_arena *keep) {
    int n = j->n;
    const cri_points_law *law = w->law;
    problem_arrays a = {.b = CR_PUSH(keep, double, 6 * n), .is_plain = CR_PUSH(keep, bool, n)};
    if (!a.b || !a.is_plain) {
        return (problem_arrays){0};
    }
    a.mu = a.b + 3 * n;
    a.e = a.mu + n;
    a.target = a.e + n;
    rows_times(j, w->s->d, NULL, j->v, a.b);
    for (int i = 0; i < n; i++) {
        int k = w->touch[j->row[i].touch].coefficient;
        // a limit has no tangents: inside some cone its class is never in doubt
        a.mu[i] = j->row[i].n_row > 1 ? w->p[law->i_mu + k] : 1.0;
        a.e[i] = w->p[law->i_e + k];
        a.target[i] = j->goal.value[3 * i];
        CR_ASSERT(a.mu[i] >= 0.0 && a.e[i] >= 0.0 && a.e[i] <= 1.0);
    }
    return a;
}

// solves one island into j->f
static bool solve_island(const cri_jump_world *w, cri_points_jump *j, cri_jump_island *is,
                         const problem_arrays *all, cr_arena *keep, cr_arena *scratch) {
    const cri_law *law = w->law->law;
    int n = is->problem.n, at = is->first;
    size_t m = 3 * (size_t)n;
    double *A = CR_PUSH(keep, double, m *m);
    if (!A || !cri_arena_reserve(keep, law->n_byte(n)) ||
        !cri_arena_reserve(scratch, law->n_byte(n) + sizeof(double) * m)) {
        return false;
    }
    make_matrix(w, j, is, A, scratch);
    is->problem = (cri_contact_problem){.n = n,
                                        .A = A,
                                        .b = all->b + 3 * at,
                                        .mu = all->mu + at,
                                        .e = all->e + at,
                                        .target = all->target + at,
                                        .drift = law->is_poisson ? j->goal.value + 3 * at : NULL,
                                        .is_plain = all->is_plain + at};
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_law_report report = {.outcome = CR_SOLVED, .is_sliding = CR_PUSH(scratch, bool, n)};
    if (law->is_regularised) {
        const cri_impulse_form form = {
            .kind = CRI_CONVEX, .is_poisson = true, .epsilon = w->p[w->law->i_epsilon]};
        is->cache =
            cri_impulse_solve(&form, &is->problem, j->f + 3 * at, true, &report, keep, scratch);
    } else {
        is->cache = law->solve(&is->problem, j->f + 3 * at, true, &report, keep, scratch);
    }
    j->outcome = report.outcome > j->outcome ? report.outcome : j->outcome;
    j->is_one_sided = j->is_one_sided || report.is_one_sided;
    cri_arena_rewind(scratch, mark);
    return !cri_arena_has_failed(keep) && !cri_arena_has_failed(scratch);
}

size_t cri_points_jump_bytes(const cri_points *s, const cri_points_law *law,
                             const cri_points_jump *j) {
    int most = 0;
    for (int k = 0; k < j->n_island; k++) {
        most = j->island[k].problem.n > most ? j->island[k].problem.n : most;
    }
    // vectors of the adjoint and of the tangent, which is the longer one, and 400 numbers a
    // contact: its blocks, and pairs of A_adj
    size_t room = 40 * (size_t)(s->n_dof + s->n_tie) + 4 * (size_t)(s->n_slot * s->d);
    room += 400 * (size_t)j->n;
    return sizeof(double) * room + (most > 0 ? law->law->n_byte(most) : 0) + 8192;
}

// room in scratch that a solve needs but for the law
static size_t solve_bytes(const cri_jump_world *w) {
    const cri_points *s = w->s;
    size_t vectors = 40 * (size_t)(s->n_dof + s->n_tie) + 4 * (size_t)(s->n_slot * s->d);
    size_t entries = s->n_tie > 0 ? (size_t)s->pattern.first[s->n_tie] : 0;
    return sizeof(double) * (vectors + entries + 8 * (size_t)(w->n_touch + s->n_point)) + 8192;
}

// ---- the jump ----------------------------------------------------------------------------------

static bool push_jump(const cri_points *s, const double *x, const double *v, cri_points_jump *j,
                      cr_arena *keep) {
    size_t D = (size_t)s->n_dof;
    j->row = CR_PUSH_RAW(keep, cri_points_row, j->n);
    j->island = CR_PUSH(keep, cri_jump_island, j->n);
    j->x = CR_PUSH_RAW(keep, double, 3 * D);
    j->f = CR_PUSH(keep, double, 3 * j->n);
    double *room = CR_PUSH_RAW(keep, double, cri_ties_factor_size(s) + 1);
    if (!j->row || !j->island || !j->x || !j->f || !room) {
        return false;
    }
    j->v = j->x + D;
    j->dv = j->v + D;
    j->factor.J = room;
    memcpy(j->x, x, sizeof *x * D);
    memcpy(j->v, v, sizeof *v * D);
    memset(j->dv, 0, sizeof *v * D);
    return true;
}

bool cri_points_jump_is_solved(const cri_points_jump *j) {
    return j->outcome == CR_SOLVED || j->outcome == CR_SOLVED_LOOSELY;
}

static bool solve_all(const cri_jump_world *w, cri_points_jump *j, cr_arena *keep,
                      cr_arena *scratch) {
    const cri_points *s = w->s;
    j->factor = cri_ties_factor_at(s, w->minv, j->factor.J);
    cri_ties_rows(s, j->x, j->factor.J);
    if (!cri_ties_factorise(s, &j->factor, scratch)) {
        j->outcome = CR_ITERATION_LIMIT;
        return true;
    }
    if (!points_goal(w, j, keep, scratch)) {
        return false;
    }
    const problem_arrays all = make_arrays(w, j, keep);
    bool has_room = all.b != NULL;
    for (int k = 0; has_room && k < j->n_island; k++) {
        has_room = solve_island(w, j, &j->island[k], &all, keep, scratch);
    }
    if (has_room && cri_points_jump_is_solved(j)) {
        cri_lemma l = rows_lemma(s, &j->factor, j, j->f, scratch);
        memcpy(j->dv, l.a, sizeof(double) * (size_t)s->n_dof);
        if (!cri_all_finite(s->n_dof, j->dv)) {
            memset(j->dv, 0, sizeof(double) * (size_t)s->n_dof);
            j->outcome = CR_ITERATION_LIMIT;
        }
    }
    return has_room;
}

bool cri_points_jump_solve(const cri_jump_world *w, const double *x, const double *v,
                           double *v_next, cri_points_jump *out, cr_arena *keep,
                           cr_arena *scratch) {
    const cri_points *s = w->s;
    cri_points_jump j = {.outcome = CR_SOLVED};
    if (!cri_arena_reserve(scratch, solve_bytes(w))) {
        return false;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int *hit = CR_PUSH_RAW(scratch, int, w->n_touch + 1);
    for (int i = 0; i < w->n_touch; i++) {
        if (cri_points_gap(s, &w->touch[i], x) < 0.0) {
            hit[j.n++] = i;
        }
    }
    memmove(v_next, v, sizeof *v * (size_t)s->n_dof);
    bool has_room = true;
    if (j.n > 0) {
        has_room = push_jump(s, x, v, &j, keep);
        if (has_room) {
            make_rows(w, hit, &j, scratch);
            has_room = solve_all(w, &j, keep, scratch);
        }
        for (int i = 0; has_room && i < s->n_dof; i++) {
            v_next[i] += j.dv[i];
        }
    }
    cri_arena_rewind(scratch, mark);
    *out = j;
    return has_room;
}

// ---- derivatives --------------------------------------------------------------------------------

// Derivatives of the jump of points. The law gives A_adj = sum of left right', and b_adj, mu_adj,
// e_adj, v*_adj. With L = lemma(J'left), R = lemma(J'right) for every such pair, and
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
        const cri_lemma left = rows_lemma(s, &j->factor, j, all->left[k], scratch);
        const cri_lemma right = rows_lemma(s, &j->factor, j, all->right[k], scratch);
        rows_add_outer(j, s->d, all->left[k], right.a, J_adj);
        rows_add_outer(j, s->d, all->right[k], left.a, J_adj);
        lemma_pull_pair(s, &left, &right, x_adj, minv_adj);
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
    const cri_lemma left = force_lemma(s, &j->factor, v_next_adj, scratch);
    const cri_lemma right = rows_lemma(s, &j->factor, j, j->f, scratch);
    rows_times(j, s->d, NULL, left.a, f_adj);
    rows_add_outer(j, s->d, j->f, left.a, J_adj);
    lemma_pull_pair(s, &left, &right, x_adj, adj->minv);

    // f = law(A, b, mu, e, v*),  A = J Minv_hat J',  b = J v
    const all_adj all = laws_vjp(w, j, f_adj, adj->p, scratch);
    matrix_pairs(w, j, &all, J_adj, x_adj, adj->minv, scratch);
    rows_add_outer(j, s->d, all.b, j->v, J_adj);
    rows_add(j, s->d, NULL, all.b, v_adj);
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

// a_tan (D) of Minv_hat J'k, k (3 n); and its a
static cri_lemma moved_lemma(const matrix_tan *t, const double *k, double *a_tan) {
    const cri_points *s = t->w->s;
    const cri_points_jump *j = t->jump;
    double *force_tan = CR_PUSH(t->scratch, double, s->n_dof);
    double *lam_tan = CR_PUSH_RAW(t->scratch, double, s->n_tie + 1);
    const cri_lemma at = rows_lemma(s, &j->factor, j, k, t->scratch);
    rows_add(j, s->d, t->J_tan, k, force_tan);
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
    rows_times(t->jump, s->d, t->J_tan, at.a, one);
    rows_times(t->jump, s->d, NULL, a_tan, two);
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
    rows_times(j, s->d, t.J_tan, j->v, b_tan);
    rows_times(j, s->d, NULL, v_tan, J_v);
    for (int i = 0; i < m; i++) {
        b_tan[i] += J_v[i];
    }
    if (w->law->through_target) {
        cri_points_goal_jvp(w, j, t.J_tan, gap_tan, state_tan, goal_tan, scratch);
    }
    laws_jvp(&t, tan, b_tan, goal_tan, f_tan);

    // v' = v + Minv_hat J'f
    moved_lemma(&t, j->f, a_tan);
    const cri_lemma more = rows_lemma(s, &j->factor, j, f_tan, scratch);
    for (int i = 0; i < D; i++) {
        v_next_tan[i] += a_tan[i] + more.a[i];
    }
    cri_arena_rewind(scratch, mark);
}
