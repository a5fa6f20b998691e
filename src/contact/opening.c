// SPDX-License-Identifier: MIT
//
// Of all velocities v that bodies can have, v in range(A), the one next to what is asked for,
// t = (target, 0, 0) at each contact, where normal velocities count k = 1e6 times as much as slip:
//
//   v = argmin (v - t)' D (v - t)  with  N' v = 0,     D = k on normals, 1 on tangents
//
//   v = t + D^-1 s,   s = N x,   K x = -N' t,   K = N' D^-1 N
//
// N = [-A11^-1 A12; 1] spans the null space of the rows of A that count as independent: those whose
// pivots keep 1e-6 of their diagonal. What is left of others, such as a squeeze along links in
// line, could be opened by huge impulses only. K is positive definite. Where t can be had x = 0 and
// v = t. Since v is in range(A), the contact problem with c = b - v stays consistent: what can
// stick, does.
//
// With A^- = [A11^-1 0; 0 0], y = A^- v, and the same rows: N_tan = -A^- A_tan N and
//
//   v_tan = t_tan + D^-1 (N x_tan - A^- A_tan s)
//   K x_tan = N' (A_tan y - t_tan + D^-1 A^- A_tan s)
//
// so that with h = N K^-1 N' D^-1 v_adj: t_adj = v_adj - h and
// A_adj = h y' + (A^- D^-1 (h - v_adj)) s'.

#include "contact/opening.h"

#include "base/base.h"
#include "base/math/dense.h"

#include <math.h>
#include <string.h>

// 1/k: a thousandth of the slip that a target takes is worth a thousandth of the target
static const double normal_slack = 1e-6;
// pivots of A below this, relative, are rounding; as in the reduced system, which shares them
static const double rank_tolerance = 1e-11;
// and below this no part of what opens
static const double weak_pivot = 1e-6;
// what is asked for can be had, to rounding
static const double consistent = 1e-14;

size_t cri_opening_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return cri_psd_bytes((int)m) + sizeof(double) * (2 * m * m + 8 * m) + 1024;
}

// entry i of D^-1
static double slack_of(int i) {
    return i % 3 == 0 ? normal_slack : 1.0;
}

// is there more than one contact, and something to open?
static bool is_needed(int n, const double *target) {
    bool has_target = false;
    for (int a = 0; a < n; a++) {
        has_target = has_target || target[a] != 0.0;
    }
    return has_target && n > 1;
}

// rows that count as independent
static int rank_of(const cri_psd *psd, const double *A) {
    int rank = 0;
    for (size_t m = (size_t)psd->n; rank < psd->rank; rank++) {
        double pivot = psd->U[(size_t)rank * (m + 1)];
        if (pivot * pivot < weak_pivot * A[(size_t)psd->order[rank] * (m + 1)]) {
            break;
        }
    }
    return rank;
}

// is N' t zero? t2 = U12' U11^-T t1 in the order of the pivots
static bool can_be_had(const cri_opening *o, const double *t, cr_arena *scratch) {
    const cri_psd *psd = &o->psd;
    int m = psd->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *rest = CR_PUSH_RAW(scratch, double, m), most = 0.0, miss = 0.0;
    for (int i = 0; i < m; i++) {
        rest[i] = t[psd->order[i]];
        most = fmax(most, fabs(rest[i]));
    }
    for (int i = 0; i < o->rank; i++) {
        const double *row = psd->U + i * m + i;
        cri_add_scaled(m - i - 1, -rest[i] / row[0], row + 1, rest + i + 1);
    }
    for (int i = o->rank; i < m; i++) {
        miss = fmax(miss, fabs(rest[i]));
    }
    cri_arena_rewind(scratch, mark);
    return miss <= consistent * most;
}

// what the derivatives and targets that contradict each other need; false for numbers beyond all
// scales
static bool prepare(cri_opening *o, cr_arena *keep, cr_arena *scratch) {
    int m = 3 * o->n;
    o->X = CR_PUSH_RAW(keep, double, o->n_null *m);
    o->K = o->X + o->n_null * o->rank;
    cri_psd_null_basis(&o->psd, o->rank, o->X);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *slack = CR_PUSH_RAW(scratch, double, m + o->n_null * o->rank);
    for (int i = 0; i < m; i++) {
        slack[i] = slack_of(i);
    }
    bool is_good = cri_psd_null_factor(&o->psd, o->rank, o->X, slack, o->K, slack + m);
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// out (3n) = N K^-1 N' a
static void null_part(const cri_opening *o, const double *a, double *out, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *work = CR_PUSH_RAW(scratch, double, 6 * o->n);
    cri_psd_null_apply(&o->psd, o->rank, o->X, o->K, a, out, work);
    cri_arena_rewind(scratch, mark);
}

void cri_opening_find(int n, const double *A, const double *target, bool has_derivative,
                      cri_opening *out, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(n > 0 && A && target && out && keep != scratch);
    *out = (cri_opening){0};
    if (!is_needed(n, target)) {
        return;
    }
    int m = 3 * n;
    cri_opening o = {.n = n, .psd = cri_psd_pivot(m, A, rank_tolerance, keep)};
    out->psd = o.psd;
    o.rank = rank_of(&o.psd, A);
    o.n_null = m - o.rank;
    if (o.n_null == 0) {
        return;
    }
    o.drift = CR_PUSH_RAW(keep, double, 3 * m);
    o.s = o.drift + m;
    o.y = o.s + m;
    memset(o.s, 0, sizeof *o.s * 2 * (size_t)m);
    for (int a = 0; a < n; a++) {
        o.y[3 * a] = target[a];
    }
    bool is_easy = can_be_had(&o, o.y, scratch);
    if ((!is_easy || has_derivative) && !prepare(&o, keep, scratch)) {
        return;
    }
    if (!is_easy) {
        null_part(&o, o.y, o.s, scratch);
    }
    for (int i = 0; i < m; i++) {
        o.s[i] = is_easy ? 0.0 : -o.s[i];
        o.drift[i] = o.y[i] + slack_of(i) * o.s[i];
    }
    if (has_derivative) {
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        double *work = CR_PUSH_RAW(scratch, double, m);
        cri_psd_solve_first(&o.psd, o.rank, o.drift, o.y, work);
        cri_arena_rewind(scratch, mark);
    }
    *out = o;
}

void cri_opening_find_vjp(const cri_opening *o, const double *drift_adj, double *target_adj,
                          cri_contact_adj *adj, cr_arena *scratch) {
    CR_ASSERT(o->n > 0 && drift_adj && target_adj && adj->n_outer + 2 <= CRI_MAX_OUTER);
    int m = 3 * o->n;
    double *h = CR_PUSH_RAW(scratch, double, 2 * m), *left = h + m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *work = CR_PUSH_RAW(scratch, double, 3 * m), *part = work + 2 * m;

    // K x_tan = N' (A_tan y - t_tan + ..),  v_tan = t_tan + D^-1 (N x_tan - ..)
    for (int i = 0; i < m; i++) {
        part[i] = slack_of(i) * drift_adj[i];
    }
    null_part(o, part, h, scratch);
    for (int a = 0; a < o->n; a++) {
        target_adj[a] = drift_adj[3 * a] - h[3 * a];
    }

    // N_tan = -A^- A_tan N
    for (int i = 0; i < m; i++) {
        part[i] = slack_of(i) * (h[i] - drift_adj[i]);
    }
    cri_psd_solve_first(&o->psd, o->rank, part, left, work);
    cri_arena_rewind(scratch, mark);
    adj->left[adj->n_outer] = h;
    adj->right[adj->n_outer++] = o->y;
    adj->left[adj->n_outer] = left;
    adj->right[adj->n_outer++] = o->s;
}

void cri_opening_find_jvp(const cri_opening *o, const double *target_tan, const double *A_tan_y,
                          const double *A_tan_s, double *drift_tan, cr_arena *scratch) {
    CR_ASSERT(o->n > 0 && target_tan && A_tan_y && drift_tan);
    int m = 3 * o->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *moved = CR_PUSH(scratch, double, 4 * m), *rhs = moved + m, *own = rhs + m;
    double *work = own + m;
    if (A_tan_s) {
        cri_psd_solve_first(&o->psd, o->rank, A_tan_s, moved, work);
    }
    for (int i = 0; i < m; i++) {
        double target = i % 3 == 0 ? target_tan[i / 3] : 0.0;
        rhs[i] = A_tan_y[i] - target + slack_of(i) * moved[i];
        drift_tan[i] = target - slack_of(i) * moved[i];
    }
    null_part(o, rhs, own, scratch);
    for (int i = 0; i < m; i++) {
        drift_tan[i] += slack_of(i) * own[i];
    }
    cri_arena_rewind(scratch, mark);
}
