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
#include "contact/impulse.h"

#include <math.h>
#include <string.h>

// ---- products ----------------------------------------------------------------------------------

static const double *block_of(const cri_points_jump *j, const cri_row_blocks *J, int i, int r,
                              int k) {
    return J ? J[i][r][k] : j->row[i].J[r][k];
}

void cri_rows_times(const cri_points_jump *j, int d, const cri_row_blocks *J, const double *y,
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

void cri_rows_add(const cri_points_jump *j, int d, const cri_row_blocks *J, const double *k,
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

void cri_rows_add_outer(const cri_points_jump *j, int d, const double *left, const double *right,
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

cri_lemma cri_force_lemma(const cri_points *s, const cri_ties_factor *f, const double *force,
                          cr_arena *scratch) {
    int D = s->n_dof, E = s->n_tie;
    double *room = CR_PUSH_RAW(scratch, double, E + 2 * D);
    cri_lemma l = {.lam = room, .H = room + E, .a = room + E + D};
    cri_lemma_solve(s, f, force, NULL, &l, scratch);
    return l;
}

cri_lemma cri_rows_lemma(const cri_points *s, const cri_ties_factor *f, const cri_points_jump *j,
                         const double *k, cr_arena *scratch) {
    double *force = CR_PUSH(scratch, double, s->n_dof);
    cri_rows_add(j, s->d, NULL, k, force);
    return cri_force_lemma(s, f, force, scratch);
}

void cri_lemma_pull_pair(const cri_points *s, const cri_lemma *left, const cri_lemma *right,
                         double *x_adj, double *minv_adj) {
    // the adjoint of a lemma with force left is the lemma of left, with w = -lam
    cri_ties_add_curve(s, 1.0, right->lam, left->a, x_adj);
    cri_ties_add_curve(s, 1.0, left->lam, right->a, x_adj);
    if (minv_adj) {
        cri_minv_add_outer(s, left->H, right->H, minv_adj);
    }
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
        cri_lemma l = cri_force_lemma(s, &j->factor, force, scratch);
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

/// Arrays of all contacts, of which islands take their parts.
typedef struct problem_arrays {
    double *b, *mu, *e, *target;
    bool *is_plain;
} problem_arrays;

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
    cri_rows_times(j, w->s->d, NULL, j->v, a.b);
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
    if (!cri_points_goal(w, j, keep, scratch)) {
        return false;
    }
    const problem_arrays all = make_arrays(w, j, keep);
    bool has_room = all.b != NULL;
    for (int k = 0; has_room && k < j->n_island; k++) {
        has_room = solve_island(w, j, &j->island[k], &all, keep, scratch);
    }
    if (has_room && cri_points_jump_is_solved(j)) {
        cri_lemma l = cri_rows_lemma(s, &j->factor, j, j->f, scratch);
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
