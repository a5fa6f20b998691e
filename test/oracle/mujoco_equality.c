// SPDX-License-Identifier: MIT
//
// Equalities against MuJoCo: residuals and Jacobians, row by row, and accelerations.
//
// Points, joints and tendons have the same rows in both. For the orientation of a weld MuJoCo
// takes, with e = q1* q0 q_rel and the factor t = torquescale,
//
//   residual vec(e)        rows  t/2 (e_0 - [vec e]x) R1^T (w0 - w1)
//
// and Carom residual 2 vec(q0 q_rel q1*) = 2 R1 vec(e), turned to e_0 >= 0, and rows w0 - w1. The
// inverse of the matrix is e_0 + [vec e]x + vec e vec e^T / e_0.
//
// Equalities are soft springs there and hard here. So MuJoCo's M, accelerations a0 without
// equalities, rows E and residuals r make the hard ones
//
//   a = a0 - M^-1 E^T f,   E M^-1 E^T f = E a0 + E' v + 2/T E v + r/T^2
//
// where E' v, which MuJoCo does not have, is a difference quotient of E v along the motion, of
// order 4 (error 1e-12 or so, rounding 1e-13).

#include <math.h>
#include <stdlib.h>

#include "dynamics/tree.h"
#include "mujoco_both.h"
#include "support/cr_test.h"

// step of the difference quotient, s
#define STEP 1e-3

// a pivot below that part of the first is rounding: the row repeats others
#define RANK 1e-9

// ---- MuJoCo's rows -----------------------------------------------------------------------------

// rows with their residuals in front, (n, 1 + n_v), in Carom's form
typedef struct ties {
    int n;
    double *row;
} ties;

static int n_row_of(const both *s, int eq) {
    int type = s->m->eq_type[eq];
    return type == mjEQ_WELD ? 6 : type == mjEQ_CONNECT ? 3 : 1;
}

// e of a weld, and the rotation of its second body
static void weld_error(const both *s, int eq, double e[4], double turn[4]) {
    const double *data = s->m->eq_data + (size_t)mjNEQDATA * (size_t)eq;
    double back[4], wanted[4];
    mju_copy4(turn, s->d->xquat + 4 * s->m->eq_obj2id[eq]);
    mju_negQuat(back, turn);
    mju_mulQuat(wanted, s->d->xquat + 4 * s->m->eq_obj1id[eq], data + 6);
    mju_mulQuat(e, back, wanted);
}

// the three last rows of a weld, in place
static void turn_rows(const both *s, int eq, double *row) {
    int width = 1 + s->m->nv;
    double scale = s->m->eq_data[(size_t)mjNEQDATA * (size_t)eq + 10];
    double e[4], turn[4];
    weld_error(s, eq, e, turn);
    for (int k = 0; k < width; k++) {
        double x[3], y[3], cross[3];
        for (int c = 0; c < 3; c++) {
            x[c] = row[(3 + c) * width + k];
        }
        mju_cross(cross, e + 1, x);
        double along = mju_dot3(e + 1, x) / e[0];
        for (int c = 0; c < 3; c++) {
            double inverse = (e[0] * x[c] + cross[c] + along * e[1 + c]) / scale;
            y[c] = 2.0 * (k > 0 ? inverse : e[0] < 0.0 ? -x[c] : x[c]);
        }
        mju_rotVecQuat(x, y, turn);
        for (int c = 0; c < 3; c++) {
            row[(3 + c) * width + k] = x[c];
        }
    }
}

// at the state of d
static ties ties_of(const both *s) {
    const mjData *d = s->d;
    int n_v = s->m->nv;
    ties t = {.n = d->ne, .row = numbers(d->ne * (1 + n_v))};
    for (int i = 0; i < d->ne; i++) {
        double *row = t.row + (size_t)i * (size_t)(1 + n_v);
        row[0] = d->efc_pos[i];
        mju_copy(row + 1, d->efc_J + (size_t)i * (size_t)n_v, n_v);
    }
    for (int i = 0; i < d->ne; i += n_row_of(s, d->efc_id[i])) {
        if (s->m->eq_type[d->efc_id[i]] == mjEQ_WELD) {
            turn_rows(s, d->efc_id[i], t.row + (size_t)i * (size_t)(1 + n_v));
        }
    }
    return t;
}

// E v at the place where v leads in a time
static void rates_at(const both *s, double time, double *rate) {
    mju_copy(s->d->qpos, s->q, s->m->nq);
    mj_integratePos(s->m, s->d->qpos, s->v, time);
    mj_forward(s->m, s->d);
    ties t = ties_of(s);
    for (int i = 0; i < t.n; i++) {
        rate[i] = mju_dot(t.row + (size_t)i * (size_t)(1 + s->m->nv) + 1, s->v, s->m->nv);
    }
    free(t.row);
}

// with equalities on; at the end MuJoCo is where it was
static void switch_equalities(const both *s, bool is_on) {
    mju_copy(s->d->qpos, s->q, s->m->nq);
    s->m->opt.disableflags &= ~mjDSBL_EQUALITY;
    s->m->opt.disableflags |= is_on ? 0 : mjDSBL_EQUALITY;
    s->m->opt.jacobian = mjJAC_DENSE;
    mj_forward(s->m, s->d);
}

// ---- rows --------------------------------------------------------------------------------------

// unit of a row
static int unit_of_row(const both *s, const double *row) {
    for (int i = 0; i < s->mech->n_unit; i++) {
        const cri_unit *unit = &s->mech->unit[i];
        if (mju_norm(row + 1 + unit->first_v, unit->n_v) > 0.0) {
            return i;
        }
    }
    return -1;
}

// Carom's residuals and rows (n, 1 + n_v) of equality i of a unit
static void rows_of(const both *s, const cri_tree *tree, int i, int n, double *out) {
    const cri_tree_tie *tie = tree->tie + i;
    double r[6] = {tie->apart.x, tie->apart.y, tie->apart.z, tie->turn.x, tie->turn.y, tie->turn.z};
    for (int k = 0; k < n; k++) {
        double *row = out + (size_t)k * (size_t)(1 + s->m->nv);
        row[0] = n == 1 ? tie->value : r[k];
        mju_copy(row + 1 + tree->unit->first_v,
                 tree->E + (size_t)(tie->row + k) * (size_t)tree->unit->n_v, tree->unit->n_v);
    }
}

void compare_equalities(const both *s, worst *w) {
    switch_equalities(s, true);
    ties t = ties_of(s);
    int width = 1 + s->m->nv;
    int *next = calloc((size_t)s->mech->n_unit + 1, sizeof *next);
    int n_seen = 0;
    int n = 0;
    for (int i = 0; i < t.n; i += n) {
        const double *row = t.row + (size_t)i * (size_t)width;
        int unit = unit_of_row(s, row);
        n = n_row_of(s, s->d->efc_id[i]);
        if (!CHECK(unit >= 0 && next[unit] < s->mech->unit[unit].n_equality)) {
            break;
        }
        double *carom = numbers(n * width);
        rows_of(s, s->tree[unit], next[unit]++, n, carom);
        compare("residual or row of an equality", s, n * width, carom, row, TOLERANCE, &w->rows);
        free(carom);
        n_seen++;
    }
    CHECK_INT(n_seen, s->mech->n_equality);
    free(next);
    free(t.row);
    switch_equalities(s, false);
}

// ---- accelerations -----------------------------------------------------------------------------

// x of A x = x, A (n, n) symmetric and not negative, of any rank: elimination with the largest
// pivots; x is zero where rows repeat others
static void solve(int n, double *A, double *x) {
    bool *is_done = calloc((size_t)n + 1, sizeof *is_done);
    double first = 0.0;
    for (int k = 0; k < n; k++) {
        int p = -1;
        for (int i = 0; i < n; i++) {
            p = !is_done[i] && (p < 0 || A[i * (n + 1)] > A[p * (n + 1)]) ? i : p;
        }
        first = k == 0 ? A[p * (n + 1)] : first;
        is_done[p] = true;
        bool is_repeated = A[p * (n + 1)] <= RANK * first;
        double scale = is_repeated ? 0.0 : 1.0 / A[p * (n + 1)];
        mju_scl(A + p * n, A + p * n, scale, n);
        x[p] *= scale;
        for (int i = 0; i < n; i++) {
            double factor = i == p ? 0.0 : A[i * n + p];
            mju_addToScl(A + i * n, A + p * n, -factor, n);
            x[i] -= factor * x[p];
        }
    }
    free(is_done);
}

void tie_accel(const both *s, double *a) {
    int n_v = s->m->nv;
    switch_equalities(s, true);
    ties t = ties_of(s);
    double *rate[4];
    static const double time[4] = {-2.0 * STEP, -STEP, STEP, 2.0 * STEP};
    for (int k = 0; k < 4; k++) {
        rate[k] = numbers(t.n);
        rates_at(s, time[k], rate[k]);
    }
    switch_equalities(s, false);

    double *solved = numbers(t.n * n_v);
    double *A = numbers(t.n * t.n);
    double *f = numbers(t.n);
    for (int i = 0; i < t.n; i++) {
        const double *row = t.row + (size_t)i * (size_t)(1 + n_v);
        mj_solveM(s->m, s->d, solved + (size_t)i * (size_t)n_v, row + 1, 1);
        double bend =
            (rate[0][i] - 8.0 * rate[1][i] + 8.0 * rate[2][i] - rate[3][i]) / (12.0 * STEP);
        f[i] = mju_dot(row + 1, a, n_v) + bend + 2.0 / CRI_TIE_TIME * mju_dot(row + 1, s->v, n_v) +
               row[0] / (CRI_TIE_TIME * CRI_TIE_TIME);
    }
    for (int i = 0; i < t.n; i++) {
        for (int j = 0; j < t.n; j++) {
            A[i * t.n + j] = mju_dot(t.row + (size_t)i * (size_t)(1 + n_v) + 1,
                                     solved + (size_t)j * (size_t)n_v, n_v);
        }
    }
    solve(t.n, A, f);
    for (int i = 0; i < t.n; i++) {
        mju_addToScl(a, solved + (size_t)i * (size_t)n_v, -f[i], n_v);
    }
    for (int k = 0; k < 4; k++) {
        free(rate[k]);
    }
    free(solved);
    free(A);
    free(f);
    free(t.row);
}
