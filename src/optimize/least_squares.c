// SPDX-License-Identifier: MIT
//
// Bounded nonlinear least squares by Levenberg and Marquardt.
//
//   J'r slope, D diagonal of the largest column norms of J met so far
//   step      (J'J + lambda D^2) delta = -J'r
//   gain      (|r|^2 - |r(z + delta)|^2) / (|r|^2 - |r + J delta|^2), accepted above 1e-4
//   lambda    after Nielsen: times max(1/3, 1 - (2 gain - 1)^3) when accepted, else times 2, 4, 8
//
// The system is solved block by block. Bounds act by projection: an unknown on a bound whose slope
// points outwards is frozen for the iteration; one that a step would carry past a bound, or by more
// than its own size, is pinned there and the others are solved for again. A point where r has no
// value counts as a step to be refused.

#include "optimize/least_squares.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/math/dense.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// columns this near to orthogonal are left alone: a few roundings of a dot product
#define ORTHOGONAL 1e-15

// ten sweeps are normal; the limit guards against rounding that never settles
#define SWEEP_LIMIT 60

// stop tests: cosine between r and a column; step relative to the unknown
#define GRADIENT_COSINE 1e-10
#define STEP_RELATIVE 1e-12

// damping at the start, its least value, which keeps directions without effect at rest, and where a
// search gives up
#define DAMPING_START 1e-3
#define DAMPING_LEAST 1e-12
#define DAMPING_LIMIT 1e14

// least gain of an accepted step, Marquardt's usual small number
#define GAIN_ACCEPTED 1e-4

// a column below this part of the largest is rounding: exact zeros come out of a run as about 1e-16
#define NULL_RELATIVE 1e-9

// size of an unknown that is zero, for judging columns
#define SIZE_LEAST 1e-3

typedef struct search {
    const cri_lsq *q;
    cri_lsq_state *state; // NULL: a search of its own
    double *z;
    double *r;
    double *J;
    double *z_trial; // (n)
    double *r_trial; // (m)
    double *J_trial; // (n_J)
    double *slope;   // (n) J'r
    double *norm;    // (n) of the columns
    double *scale;   // (n) D
    double *delta;   // (n)
    bool *is_null;   // (n)
    bool *is_free;   // (n) else it stays, or moves to a limit
    cri_arrow_model model;
    double loss;
    double damping;
    double growth; // of the damping at the next refusal
} search;

// singular values of unit columns below this are zero: Jacobians are good to about 1e-9
#define NULL_SINGULAR 1e-7

// part of a null direction that counts
#define NULL_PART 1e-3

typedef struct judge {
    const cri_arrow *arrow;
    const double *J;
    double *norm;   // (n)
    bool *is_null;  // (n)
    double *work;   // block (n_row, n_own + n_shared), own columns first
    double *U;      // (n_own, n_own) of the largest block, then of the shared unknowns
    double *V;      // likewise
    double *s;      // likewise
    double *row;    // (n_shared)
    double *shared; // (n_shared, n_tall) what is known about the shared unknowns
    int n_tall;     // 2 n_shared and the largest n_own
    cri_lsq_verdict *out;
} judge;

// ---- small dense matrices -----------------------------------------------------------------------

// Small dense matrices of least-squares problems: triangular and singular value decompositions.
//
// Triangular: Householder, column by column: x -> x - beta (v . x) v with v = a_j + sign(a_jj)
// |a_j| e_j.
//
// Singular values: Hestenes' one-sided Jacobi method. Two columns p, q are rotated until
// orthogonal:
//   zeta = (|q|^2 - |p|^2) / (2 p.q),  t = sign(zeta) / (|zeta| + sqrt(1 + zeta^2))
//   p -> c (p - t q),  q -> c (q + t p),  c = 1/sqrt(1 + t^2)
// and V is rotated along. Sweeps over all pairs converge quadratically.

/// x -> x - beta (v . x) v
static void reflect(int n, const double *v, double beta, double *x) {
    double s = beta * cri_dot(n, v, x);
    for (int i = 0; i < n; i++) {
        x[i] -= s * v[i];
    }
}

void cri_triangularise(int m, int n, double *a, double *b) {
    for (int j = 0; j < n; j++) {
        double *v = a + (size_t)j * (size_t)m + j;
        int rest = m - j;
        double norm = sqrt(cri_dot(rest, v, v));
        if (norm == 0.0) {
            continue;
        }
        double diagonal = v[0] > 0.0 ? -norm : norm;
        v[0] -= diagonal;
        double beta = 2.0 / cri_dot(rest, v, v);
        for (int k = j + 1; k < n; k++) {
            reflect(rest, v, beta, a + (size_t)k * (size_t)m + j);
        }
        if (b) {
            reflect(rest, v, beta, b + j);
        }
        v[0] = diagonal;
        for (int i = 1; i < rest; i++) {
            v[i] = 0.0;
        }
    }
}

static void rotate(int n, double c, double t, double *p, double *q) {
    for (int i = 0; i < n; i++) {
        double old = p[i];
        p[i] = c * (old - t * q[i]);
        q[i] = c * (q[i] + t * old);
    }
}

/// Makes columns p and q orthogonal. False when they were.
static bool rotate_pair(int m, int n, double *a, double *v, int p, int q) {
    double *ap = a + (size_t)p * (size_t)m;
    double *aq = a + (size_t)q * (size_t)m;
    double pp = cri_dot(m, ap, ap);
    double qq = cri_dot(m, aq, aq);
    double pq = cri_dot(m, ap, aq);
    if (fabs(pq) <= ORTHOGONAL * sqrt(pp) * sqrt(qq)) {
        return false;
    }
    double zeta = (qq - pp) / (2.0 * pq);
    double t = copysign(1.0, zeta) / (fabs(zeta) + hypot(1.0, zeta));
    double c = 1.0 / sqrt(1.0 + t * t);
    rotate(m, c, t, ap, aq);
    rotate(n, c, t, v + (size_t)p * (size_t)n, v + (size_t)q * (size_t)n);
    return t != 0.0;
}

void cri_singular(int m, int n, double *a, double *v, double *s) {
    for (int i = 0; i < n * n; i++) {
        v[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
    }
    bool is_done = false;
    for (int sweep = 0; sweep < SWEEP_LIMIT && !is_done; sweep++) {
        is_done = true;
        for (int p = 0; p < n; p++) {
            for (int q = p + 1; q < n; q++) {
                is_done = !rotate_pair(m, n, a, v, p, q) && is_done;
            }
        }
    }
    for (int j = 0; j < n; j++) {
        s[j] = sqrt(cri_dot(m, a + (size_t)j * (size_t)m, a + (size_t)j * (size_t)m));
    }
}

// ---- block-arrow form ---------------------------------------------------------------------------

// Least squares in block-arrow form.
//
//   block k       r_k + A_k a_k + B_k s         a_k its own unknowns, s the shared ones
//   once          Q_k' (A_k B_k r_k)            triangular, one row an unknown
//   per damping   ( R_k  S_k | c_k )            after rows sqrt(lambda) for a_k were added
//                 (  0   T_k | d_k )            T_k, d_k: what the block says about s alone
//   shared        rows T_k, d_k of all blocks and sqrt(lambda) for s, triangular: gives s
//   own           R_k a_k = -c_k - S_k s
//
// All by orthogonal transformations, never through J'J. The work grows with the number of blocks,
// not with its cube, and blocks are summed in their order.

void cri_arrow_place(cri_arrow *arrow) {
    arrow->n = arrow->n_shared;
    arrow->m = 0;
    arrow->n_J = 0;
    for (int k = 0; k < arrow->n_block; k++) {
        cri_arrow_block *block = &arrow->block[k];
        block->z = arrow->n;
        block->r = arrow->m;
        block->J = arrow->n_J;
        arrow->n += block->n;
        arrow->m += block->m;
        arrow->n_J += (size_t)(arrow->n_shared + block->n) * (size_t)block->m;
    }
}

void cri_arrow_slope(const cri_arrow *arrow, const double *J, const double *r, double *slope) {
    memset(slope, 0, (size_t)arrow->n * sizeof *slope);
    for (int k = 0; k < arrow->n_block; k++) {
        const cri_arrow_block *block = &arrow->block[k];
        for (int c = 0; c < arrow->n_shared + block->n; c++) {
            const double *column = J + block->J + (size_t)c * (size_t)block->m;
            slope[cri_arrow_unknown(arrow, k, c)] += cri_dot(block->m, column, r + block->r);
        }
    }
}

void cri_arrow_norms(const cri_arrow *arrow, const double *J, double *norm) {
    memset(norm, 0, (size_t)arrow->n * sizeof *norm);
    for (int k = 0; k < arrow->n_block; k++) {
        const cri_arrow_block *block = &arrow->block[k];
        for (int c = 0; c < arrow->n_shared + block->n; c++) {
            const double *column = J + block->J + (size_t)c * (size_t)block->m;
            norm[cri_arrow_unknown(arrow, k, c)] += cri_dot(block->m, column, column);
        }
    }
    for (int j = 0; j < arrow->n; j++) {
        norm[j] = sqrt(norm[j]);
    }
}

// ---- linear model ------------------------------------------------------------------------------

bool cri_arrow_model_push(const cri_arrow *arrow, cr_arena *arena, cri_arrow_model *out) {
    cri_arrow_model model = {.arrow = arrow};
    size_t n_block = (size_t)arrow->n_block;
    size_t *at = CR_PUSH(arena, size_t, 4 * n_block);
    if (!at) {
        return false;
    }
    model.at_factor = at;
    model.at_rhs = at + n_block;
    model.at_damped = at + 2 * n_block;
    model.at_damped_b = at + 3 * n_block;
    size_t total[4] = {0}, tallest = 0, largest = 0;
    for (int k = 0; k < arrow->n_block; k++) {
        size_t own = (size_t)arrow->block[k].n, n = own + (size_t)arrow->n_shared;
        size_t m = (size_t)arrow->block[k].m;
        size_t n_row = m > n ? m : n;
        const size_t take[4] = {n * n, n, (n + own) * n, n + own};
        for (int i = 0; i < 4; i++) {
            at[(size_t)i * n_block + (size_t)k] = total[i];
            total[i] += take[i];
        }
        tallest = n_row > tallest ? n_row : tallest;
        largest = n_row * n > largest ? n_row * n : largest;
    }
    size_t n_shared = (size_t)arrow->n_shared;
    model.factor = CR_PUSH(arena, double, total[0]);
    model.rhs = CR_PUSH(arena, double, total[1]);
    model.damped = CR_PUSH(arena, double, total[2]);
    model.damped_b = CR_PUSH(arena, double, total[3]);
    model.shared = CR_PUSH(arena, double, 2 * n_shared * n_shared);
    model.shared_b = CR_PUSH(arena, double, 2 * n_shared);
    model.work = CR_PUSH(arena, double, largest);
    model.work_b = CR_PUSH(arena, double, tallest);
    *out = model;
    return !cri_arena_has_failed(arena);
}

/// Column of a block with its own unknowns first, as column of J with the shared ones first.
static int own_first(const cri_arrow *arrow, int block, int j) {
    int n = arrow->block[block].n;
    return j < n ? arrow->n_shared + j : j - n;
}

static void factor_block(cri_arrow_model *model, int k, const double *J, const double *r,
                         const double *scale, const bool *is_null) {
    const cri_arrow *arrow = model->arrow;
    const cri_arrow_block *block = &arrow->block[k];
    int n = block->n + arrow->n_shared;
    int n_row = block->m > n ? block->m : n;
    memset(model->work, 0, (size_t)n_row * (size_t)n * sizeof *model->work);
    memset(model->work_b, 0, (size_t)n_row * sizeof *model->work_b);
    memcpy(model->work_b, r + block->r, (size_t)block->m * sizeof *r);
    for (int j = 0; j < n; j++) {
        int c = own_first(arrow, k, j);
        int unknown = cri_arrow_unknown(arrow, k, c);
        const double *column = J + block->J + (size_t)c * (size_t)block->m;
        double *scaled = model->work + (size_t)j * (size_t)n_row;
        for (int i = 0; i < block->m && !is_null[unknown]; i++) {
            scaled[i] = column[i] / scale[unknown];
        }
    }
    cri_triangularise(n_row, n, model->work, model->work_b);
    double *factor = model->factor + model->at_factor[k];
    for (int j = 0; j < n; j++) {
        memcpy(factor + (size_t)j * (size_t)n, model->work + (size_t)j * (size_t)n_row,
               (size_t)n * sizeof *factor);
    }
    memcpy(model->rhs + model->at_rhs[k], model->work_b, (size_t)n * sizeof *model->rhs);
}

void cri_arrow_linearise(cri_arrow_model *model, const double *J, const double *r,
                         const double *scale, const bool *is_null) {
    for (int k = 0; k < model->arrow->n_block; k++) {
        factor_block(model, k, J, r, scale, is_null);
    }
}

/// Adds the damping to a block and makes it triangular again.
static void damp_block(cri_arrow_model *model, int k, const double *scale, const bool *is_free,
                       double root, const double *delta) {
    const cri_arrow *arrow = model->arrow;
    int own = arrow->block[k].n, n = own + arrow->n_shared, n_row = n + own;
    const double *factor = model->factor + model->at_factor[k];
    double *damped = model->damped + model->at_damped[k];
    double *b = model->damped_b + model->at_damped_b[k];
    memset(damped, 0, (size_t)n_row * (size_t)n * sizeof *damped);
    memset(b, 0, (size_t)n_row * sizeof *b);
    memcpy(b, model->rhs + model->at_rhs[k], (size_t)n * sizeof *b);
    for (int j = 0; j < n; j++) {
        int unknown = cri_arrow_unknown(arrow, k, own_first(arrow, k, j));
        const double *column = factor + (size_t)j * (size_t)n;
        if (is_free[unknown]) {
            memcpy(damped + (size_t)j * (size_t)n_row, column, (size_t)n * sizeof *column);
        } else if (delta[unknown] != 0.0) {
            cri_add_scaled(n, scale[unknown] * delta[unknown], column, b);
        }
        if (j < own) {
            damped[(size_t)j * (size_t)n_row + (size_t)(n + j)] = root;
        }
    }
    cri_triangularise(n_row, n, damped, b);
}

/// Puts what a block says about the shared unknowns below what is known of them already.
static void add_shared(cri_arrow_model *model, int k) {
    int n_shared = model->arrow->n_shared, own = model->arrow->block[k].n;
    int n_row = 2 * own + n_shared;
    const double *damped = model->damped + model->at_damped[k];
    for (int j = 0; j < n_shared; j++) {
        const double *from = damped + (size_t)(own + j) * (size_t)n_row + own;
        double *to = model->shared + (size_t)j * (size_t)(2 * n_shared) + n_shared;
        memcpy(to, from, (size_t)n_shared * sizeof *to);
    }
    memcpy(model->shared_b + n_shared, model->damped_b + model->at_damped_b[k] + own,
           (size_t)n_shared * sizeof *model->shared_b);
    cri_triangularise(2 * n_shared, n_shared, model->shared, model->shared_b);
}

/// Row i of R y = -b from the end on, for y (n_known of which are there already, the last ones).
static void back_substitute(int n, int n_known, int n_row, const double *R, const double *b,
                            double *y) {
    for (int i = n - n_known - 1; i >= 0; i--) {
        double sum = -b[i];
        for (int j = i + 1; j < n; j++) {
            sum -= R[(size_t)j * (size_t)n_row + (size_t)i] * y[j];
        }
        y[i] = sum / R[(size_t)i * (size_t)n_row + (size_t)i];
    }
}

void cri_arrow_solve(cri_arrow_model *model, const double *scale, const bool *is_free,
                     double damping, double *delta) {
    const cri_arrow *arrow = model->arrow;
    int n_shared = arrow->n_shared;
    double root = sqrt(damping);
    memset(model->shared, 0, 2 * (size_t)n_shared * (size_t)n_shared * sizeof *model->shared);
    memset(model->shared_b, 0, 2 * (size_t)n_shared * sizeof *model->shared_b);
    for (int j = 0; j < n_shared; j++) {
        model->shared[(size_t)j * (size_t)(2 * n_shared) + (size_t)j] = root;
    }
    for (int k = 0; k < arrow->n_block; k++) {
        damp_block(model, k, scale, is_free, root, delta);
        add_shared(model, k);
    }
    back_substitute(n_shared, 0, 2 * n_shared, model->shared, model->shared_b, model->work_b);
    for (int j = 0; j < n_shared; j++) {
        delta[j] = is_free[j] ? model->work_b[j] / scale[j] : delta[j];
    }
    for (int k = 0; k < arrow->n_block; k++) {
        const cri_arrow_block *block = &arrow->block[k];
        double *y = model->work_b;
        for (int j = 0; j < n_shared; j++) {
            y[block->n + j] = is_free[j] ? delta[j] * scale[j] : 0.0;
        }
        back_substitute(block->n + n_shared, n_shared, 2 * block->n + n_shared,
                        model->damped + model->at_damped[k],
                        model->damped_b + model->at_damped_b[k], y);
        for (int j = 0; j < block->n; j++) {
            int unknown = block->z + j;
            delta[unknown] = is_free[unknown] ? y[j] / scale[unknown] : delta[unknown];
        }
    }
}

double cri_arrow_fall(const cri_arrow_model *model, const double *scale, const double *delta) {
    const cri_arrow *arrow = model->arrow;
    double fall = 0.0;
    for (int k = 0; k < arrow->n_block; k++) {
        int n = arrow->block[k].n + arrow->n_shared;
        const double *factor = model->factor + model->at_factor[k];
        const double *rhs = model->rhs + model->at_rhs[k];
        for (int i = 0; i < n; i++) {
            double sum = 0.0;
            for (int j = 0; j < n; j++) {
                int unknown = cri_arrow_unknown(arrow, k, own_first(arrow, k, j));
                sum += factor[(size_t)j * (size_t)n + (size_t)i] * scale[unknown] * delta[unknown];
            }
            fall -= sum * (2.0 * rhs[i] + sum);
        }
    }
    return fall;
}

// ---- the minimum --------------------------------------------------------------------------------

static bool push_work(search *w, cr_arena *arena) {
    size_t n = (size_t)w->q->arrow->n;
    w->z_trial = CR_PUSH(arena, double, n);
    w->r_trial = CR_PUSH(arena, double, w->q->arrow->m);
    w->J_trial = CR_PUSH(arena, double, w->q->arrow->n_J);
    w->slope = CR_PUSH(arena, double, n);
    w->norm = CR_PUSH(arena, double, n);
    w->scale = w->state ? w->state->scale : CR_PUSH(arena, double, n);
    w->delta = CR_PUSH(arena, double, n);
    w->is_null = CR_PUSH(arena, bool, n);
    w->is_free = CR_PUSH(arena, bool, n);
    return !cri_arena_has_failed(arena) && cri_arrow_model_push(w->q->arrow, arena, &w->model);
}

void cri_lsq_find_null(const cri_arrow *arrow, const double *z, const double *J, double *norm,
                       bool *is_null) {
    cri_arrow_norms(arrow, J, norm);
    // one unknown alone has no other to be compared with: residuals count from a thousandth of
    // their unit
    double largest = 1e-3 * sqrt((double)arrow->m);
    for (int j = 0; j < arrow->n; j++) {
        largest = fmax(largest, norm[j] * fmax(fabs(z[j]), SIZE_LEAST));
    }
    for (int j = 0; j < arrow->n; j++) {
        is_null[j] = norm[j] * fmax(fabs(z[j]), SIZE_LEAST) <= NULL_RELATIVE * largest;
    }
}

// ---- a new point ------------------------------------------------------------------------------

/// Slope, scales, triangular factor and who may move, at a new point.
static void linearise(search *w) {
    const cri_arrow *arrow = w->q->arrow;
    cri_lsq_find_null(arrow, w->z, w->J, w->norm, w->is_null);
    cri_arrow_slope(arrow, w->J, w->r, w->slope);
    for (int j = 0; j < arrow->n; j++) {
        w->scale[j] = fmax(w->scale[j], w->norm[j]);
    }
    cri_arrow_linearise(&w->model, w->J, w->r, w->scale, w->is_null);
}

/// Largest cosine between the residuals and a direction that may be taken.
static double slope_cosine(const search *w) {
    double largest = 0.0;
    double length = sqrt(cri_dot(w->q->arrow->m, w->r, w->r));
    for (int j = 0; j < w->q->arrow->n; j++) {
        double norm = w->norm[j] * length;
        bool is_blocked = cri_domain_blocks(&w->q->domain[j], w->z[j], w->slope[j]);
        if (!w->is_null[j] && !is_blocked && norm > 0.0) {
            largest = fmax(largest, fabs(w->slope[j]) / norm);
        }
    }
    return largest;
}

/// Pins the free unknowns whose delta goes past a limit. False when there are none.
static bool pin(search *w) {
    bool is_changed = false;
    for (int j = 0; j < w->q->arrow->n; j++) {
        if (!w->is_free[j]) {
            continue;
        }
        double reach = fmax(fabs(w->z[j]), w->state ? w->state->reach : CRI_LSQ_REACH);
        double delta = fmin(fmax(w->delta[j], -reach), reach);
        double to = cri_domain_clamp(&w->q->domain[j], w->z[j], w->z[j] + delta);
        if (delta != w->delta[j] || to != w->z[j] + delta) {
            w->delta[j] = to - w->z[j];
            w->is_free[j] = false;
            is_changed = true;
        }
    }
    return is_changed;
}

static void solve_step(search *w) {
    for (int j = 0; j < w->q->arrow->n; j++) {
        bool is_blocked = cri_domain_blocks(&w->q->domain[j], w->z[j], w->slope[j]);
        w->is_free[j] = !w->is_null[j] && !is_blocked;
        w->delta[j] = 0.0;
    }
    do {
        cri_arrow_solve(&w->model, w->scale, w->is_free, w->damping, w->delta);
    } while (pin(w));
}

// ---- search ------------------------------------------------------------------------------------

static bool is_step_small(const search *w) {
    for (int j = 0; j < w->q->arrow->n; j++) {
        if (fabs(w->delta[j]) > STEP_RELATIVE * fmax(fabs(w->z[j]), SIZE_LEAST)) {
            return false;
        }
    }
    return true;
}

/// Residuals at the trial point, and their Jacobian when the loss falls enough. *gain is negative
/// when the point is to be refused.
static cr_status try_point(search *w, double *loss, double *gain, cr_error *err) {
    const cri_lsq *q = w->q;
    *gain = -1.0;
    cr_status status = q->residuals(q->context, w->z_trial, w->r_trial, NULL, loss, err);
    if (status == CR_ERR_MEMORY) {
        return status;
    }
    double predicted = cri_arrow_fall(&w->model, w->scale, w->delta);
    if (status != CR_OK || !isfinite(*loss) || !(predicted > 0.0)) {
        return CR_OK;
    }
    double ratio = (w->loss - *loss) / predicted;
    if (ratio < GAIN_ACCEPTED) {
        return CR_OK;
    }
    status = q->residuals(q->context, w->z_trial, w->r_trial, w->J_trial, loss, err);
    *gain = status == CR_OK ? ratio : -1.0;
    return status == CR_ERR_MEMORY ? status : CR_OK;
}

static void accept(search *w, double loss, double gain) {
    const cri_arrow *arrow = w->q->arrow;
    memcpy(w->z, w->z_trial, (size_t)arrow->n * sizeof *w->z);
    memcpy(w->r, w->r_trial, (size_t)arrow->m * sizeof *w->r);
    memcpy(w->J, w->J_trial, arrow->n_J * sizeof *w->J);
    w->loss = loss;
    w->damping *= fmax(1.0 / 3.0, 1.0 - pow(2.0 * gain - 1.0, 3.0));
    w->damping = fmax(w->damping, DAMPING_LEAST);
    w->growth = 2.0;
}

/// Damps harder until a step is accepted. True when the search is over.
static cr_status iterate(search *w, cri_lsq_result *out, bool *is_over, cr_error *err) {
    for (;;) {
        solve_step(w);
        *is_over = is_step_small(w) || w->damping > DAMPING_LIMIT;
        out->stop = CRI_LSQ_STEP;
        if (*is_over) {
            return CR_OK;
        }
        for (int j = 0; j < w->q->arrow->n; j++) {
            w->z_trial[j] = cri_domain_clamp(&w->q->domain[j], w->z[j], w->z[j] + w->delta[j]);
        }
        double loss = 0.0;
        double gain = 0.0;
        CR_TRY(try_point(w, &loss, &gain, err));
        out->n_trial++;
        if (gain >= 0.0) {
            // half of what was predicted makes a flat loss believable
            out->stop = CRI_LSQ_FLAT;
            *is_over = w->loss - loss <= w->q->flat * w->loss && gain > 0.5;
            accept(w, loss, gain);
            out->n_iteration++;
            return CR_OK;
        }
        w->damping *= w->growth;
        w->growth *= 2.0;
    }
}

static void fill_state(const search *w) {
    if (w->state) {
        w->state->damping = w->damping;
        w->state->growth = w->growth;
        w->state->loss = w->loss;
    }
}

/// Tells where the search stands. False: stop.
static bool tell(const search *w, const cri_lsq_result *result) {
    fill_state(w);
    cri_progress_state state = {
        .what = "iteration", .done = w->q->n_before + result->n_iteration, .loss = w->loss};
    return cri_progress_tell(w->q->progress, &state);
}

static cr_status run(search *w, cri_lsq_result *out, cr_error *err) {
    const cri_lsq *q = w->q;
    if (w->state && w->state->has_values) {
        w->loss = w->state->loss;
    } else {
        CR_TRY(q->residuals(q->context, w->z, w->r, w->J, &w->loss, err));
    }
    bool is_over = false;
    *out = (cri_lsq_result){.stop = CRI_LSQ_ITERATION, .n_trial = 1};
    while (!is_over && out->n_iteration < q->iteration_limit) {
        linearise(w);
        if (slope_cosine(w) <= GRADIENT_COSINE) {
            out->stop = CRI_LSQ_GRADIENT;
            is_over = true;
        } else if (!tell(w, out)) {
            out->stop = CRI_LSQ_STOPPED;
            is_over = true;
        } else {
            CR_TRY(iterate(w, out, &is_over, err));
        }
    }
    out->stop = is_over ? out->stop : CRI_LSQ_ITERATION;
    out->loss = w->loss;
    return CR_OK;
}

cr_status cri_lsq_minimise(const cri_lsq *problem, double *z, double *r, double *J,
                           cri_lsq_result *out, cr_error *err) {
    return cri_lsq_advance(problem, NULL, z, r, J, out, err);
}

cr_status cri_lsq_advance(const cri_lsq *problem, cri_lsq_state *state, double *z, double *r,
                          double *J, cri_lsq_result *out, cr_error *err) {
    CR_ASSERT(problem->arrow->n >= 0 && problem->arrow->m > 0);
    search w = {.q = problem, .state = state, .z = z, .r = r, .J = J};
    bool is_begun = state && state->damping > 0.0;
    w.damping = is_begun ? state->damping : DAMPING_START;
    w.growth = is_begun ? state->growth : 2.0;
    cr_arena *arena = cri_arena_create(1 << 16);
    bool has_memory = arena && push_work(&w, arena);
    cr_status status =
        has_memory ? run(&w, out, err)
                   : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d residuals of %d unknowns",
                              problem->arrow->m, problem->arrow->n);
    fill_state(&w);
    if (state) {
        state->has_values = status == CR_OK;
    }
    cri_arena_destroy(arena);
    return status;
}

const char *cri_lsq_stop_text(cri_lsq_stop stop) {
    switch (stop) {
    case CRI_LSQ_GRADIENT:
        return "the gradient vanished";
    case CRI_LSQ_STEP:
        return "the steps became too small to matter";
    case CRI_LSQ_FLAT:
        return "the loss no longer falls";
    case CRI_LSQ_ITERATION:
        return "the iteration limit was reached";
    case CRI_LSQ_STOPPED:
        return "stopped on request";
    }
    return "unknown";
}

// ---- what is determined -------------------------------------------------------------------------

// What a least-squares fit has determined, and how well.
//
// With columns of unit length, block k is Q'(A B) = (R S; 0 T). The singular values of R, R V = U
// s, above 1e-7 say what the block knows of its own unknowns; its null directions leave rows of S
// over:
//
//   G = V s^-1 U'S                       own = -G shared, the best own values for given shared ones
//   rows for the shared unknowns         T and S - U U'S, of all blocks, triangular
//   C = sum v v'/s^2                     their covariance, over singular values above 1e-7
//   own covariance                       V s^-2 V' + G C G',  with the shared ones -G C
//
// The rest spans the null space. An unknown that has a part in it is not identifiable; its partner
// is the other unknown with the largest part in the same direction.

static bool push_judge(judge *w, cr_arena *arena) {
    const cri_arrow *arrow = w->arrow;
    size_t n_shared = (size_t)arrow->n_shared, most = n_shared, largest = 0;
    for (int k = 0; k < arrow->n_block; k++) {
        size_t own = (size_t)arrow->block[k].n, n = own + n_shared;
        size_t m = (size_t)arrow->block[k].m, n_row = m > n ? m : n;
        most = own > most ? own : most;
        largest = n_row * n > largest ? n_row * n : largest;
    }
    w->n_tall = (int)(2 * n_shared + most);
    w->norm = CR_PUSH(arena, double, arrow->n);
    w->is_null = CR_PUSH(arena, bool, arrow->n);
    w->work = CR_PUSH(arena, double, largest);
    w->U = CR_PUSH(arena, double, most *most);
    w->V = CR_PUSH(arena, double, most *most);
    w->s = CR_PUSH(arena, double, most);
    w->row = CR_PUSH(arena, double, n_shared);
    w->shared = CR_PUSH(arena, double, n_shared *(size_t)w->n_tall);
    return !cri_arena_has_failed(arena);
}

static bool push_verdict(const cri_arrow *arrow, cr_arena *arena, cri_lsq_verdict *out) {
    size_t n_shared = (size_t)arrow->n_shared, n_own = 0, n_cross = 0;
    cri_lsq_verdict verdict = {.identity = CR_PUSH(arena, cri_identity, arrow->n),
                               .shared = CR_PUSH(arena, double, n_shared *n_shared),
                               .at_own = CR_PUSH(arena, size_t, arrow->n_block),
                               .at_cross = CR_PUSH(arena, size_t, arrow->n_block)};
    if (!verdict.at_own || !verdict.at_cross) {
        return false;
    }
    for (int k = 0; k < arrow->n_block; k++) {
        size_t own = (size_t)arrow->block[k].n;
        verdict.at_own[k] = n_own;
        verdict.at_cross[k] = n_cross;
        n_own += own * own;
        n_cross += own * n_shared;
    }
    verdict.own = CR_PUSH(arena, double, n_own);
    verdict.cross = CR_PUSH(arena, double, n_cross);
    *out = verdict;
    return !cri_arena_has_failed(arena);
}

// ---- null directions ---------------------------------------------------------------------------

/// The unknown among first, first + 1, ... with the largest part of v (n), except one. -1: none
/// that counts.
static int find_largest(const judge *w, int n, const double *v, int first, int except) {
    int found = -1;
    double largest = NULL_PART;
    for (int i = 0; i < n; i++) {
        if (first + i != except && !w->is_null[first + i] && fabs(v[i]) > largest) {
            largest = fabs(v[i]);
            found = first + i;
        }
    }
    return found;
}

static void mark(judge *w, int unknown, int partner) {
    cri_identity *identity = &w->out->identity[unknown];
    if (!w->is_null[unknown]) {
        identity->is_identifiable = false;
        identity->partner = partner;
    }
}

/// Marks the own unknowns of a block with a part in a null direction v (n_own) of its own.
static void mark_own(judge *w, int k, const double *v) {
    const cri_arrow_block *block = &w->arrow->block[k];
    for (int i = 0; i < block->n; i++) {
        if (fabs(v[i]) > NULL_PART) {
            mark(w, block->z + i, find_largest(w, block->n, v, block->z, block->z + i));
        }
    }
}

/// Marks the unknowns with a part in a null direction v (n_shared), which moves own ones by -G v.
static void mark_shared(judge *w, const double *v) {
    const cri_arrow *arrow = w->arrow;
    int n_shared = arrow->n_shared;
    int most = find_largest(w, n_shared, v, 0, -1);
    int own_partner = -1;
    double largest = NULL_PART;
    for (int k = 0; k < arrow->n_block; k++) {
        const cri_arrow_block *block = &arrow->block[k];
        for (int i = 0; i < block->n; i++) {
            const double *G = w->out->cross + w->out->at_cross[k] + (size_t)i * (size_t)n_shared;
            double part = fabs(cri_dot(n_shared, G, v));
            if (part > NULL_PART) {
                mark(w, block->z + i, most);
            }
            if (part > largest && !w->is_null[block->z + i]) {
                largest = part;
                own_partner = block->z + i;
            }
        }
    }
    for (int a = 0; a < n_shared; a++) {
        if (fabs(v[a]) > NULL_PART) {
            int other = find_largest(w, n_shared, v, 0, a);
            mark(w, a, other >= 0 ? other : own_partner);
        }
    }
}

// ---- blocks ------------------------------------------------------------------------------------

/// Unit columns of a block, triangular. Returns the number of rows.
static int triangularise_block(judge *w, int k) {
    const cri_arrow *arrow = w->arrow;
    const cri_arrow_block *block = &arrow->block[k];
    int n = block->n + arrow->n_shared;
    int n_row = block->m > n ? block->m : n;
    memset(w->work, 0, (size_t)n_row * (size_t)n * sizeof *w->work);
    for (int j = 0; j < n; j++) {
        int c = j < block->n ? arrow->n_shared + j : j - block->n;
        int unknown = cri_arrow_unknown(arrow, k, c);
        const double *column = w->J + block->J + (size_t)c * (size_t)block->m;
        for (int i = 0; i < block->m && !w->is_null[unknown]; i++) {
            w->work[(size_t)j * (size_t)n_row + (size_t)i] = column[i] / w->norm[unknown];
        }
    }
    cri_triangularise(n_row, n, w->work, NULL);
    return n_row;
}

/// One direction of a block's own unknowns: its share of the covariance and of G, its part of S
/// taken out.
static void take_direction(judge *w, int k, int a, int n_row) {
    int n_own = w->arrow->block[k].n, n_shared = w->arrow->n_shared;
    double *S = w->work + (size_t)n_own * (size_t)n_row;
    double *own = w->out->own + w->out->at_own[k];
    double *G = w->out->cross + w->out->at_cross[k];
    const double *u = w->U + (size_t)a * (size_t)n_own;
    const double *v = w->V + (size_t)a * (size_t)n_own;
    double square = w->s[a] * w->s[a];
    for (int c = 0; c < n_shared; c++) {
        double *column = S + (size_t)c * (size_t)n_row;
        // u has the length s
        w->row[c] = cri_dot(n_own, u, column) / square;
        cri_add_scaled(n_own, -w->row[c], u, column);
    }
    for (int i = 0; i < n_own; i++) {
        for (int j = 0; j < n_own; j++) {
            own[i * n_own + j] += v[i] * v[j] / square;
        }
        cri_add_scaled(n_shared, v[i], w->row, G + (size_t)i * (size_t)n_shared);
    }
}

/// Puts rows of the block below what is known about the shared unknowns.
static void stack_block(judge *w, int k, int n_row) {
    int n_own = w->arrow->block[k].n, n_shared = w->arrow->n_shared;
    const double *S = w->work + (size_t)n_own * (size_t)n_row;
    for (int c = 0; c < n_shared; c++) {
        double *to = w->shared + (size_t)c * (size_t)w->n_tall;
        memset(to + n_shared, 0, (size_t)(w->n_tall - n_shared) * sizeof *to);
        memcpy(to + n_shared, S + (size_t)c * (size_t)n_row,
               (size_t)(n_own + n_shared) * sizeof *to);
    }
    cri_triangularise(w->n_tall, n_shared, w->shared, NULL);
}

static void judge_block(judge *w, int k) {
    const cri_arrow_block *block = &w->arrow->block[k];
    int n_own = block->n;
    int n_row = triangularise_block(w, k);
    for (int j = 0; j < n_own; j++) {
        memcpy(w->U + (size_t)j * (size_t)n_own, w->work + (size_t)j * (size_t)n_row,
               (size_t)n_own * sizeof *w->U);
    }
    cri_singular(n_own, n_own, w->U, w->V, w->s);
    for (int a = 0; a < n_own; a++) {
        if (w->s[a] > NULL_SINGULAR) {
            take_direction(w, k, a, n_row);
            w->out->rank++;
        } else {
            mark_own(w, k, w->V + (size_t)a * (size_t)n_own);
        }
    }
    stack_block(w, k, n_row);
}

// ---- all ---------------------------------------------------------------------------------------

/// Covariance of the shared unknowns, for unit columns.
static void judge_shared(judge *w) {
    int n = w->arrow->n_shared;
    for (int c = 0; c < n; c++) {
        memcpy(w->U + (size_t)c * (size_t)n, w->shared + (size_t)c * (size_t)w->n_tall,
               (size_t)n * sizeof *w->U);
    }
    cri_singular(n, n, w->U, w->V, w->s);
    for (int a = 0; a < n; a++) {
        const double *v = w->V + (size_t)a * (size_t)n;
        if (w->s[a] <= NULL_SINGULAR) {
            mark_shared(w, v);
            continue;
        }
        w->out->rank++;
        for (int i = 0; i < n; i++) {
            cri_add_scaled(n, v[i] / (w->s[a] * w->s[a]), v, w->out->shared + i * n);
        }
    }
}

/// own += G C G', and G becomes -G C.
static void spread_shared(judge *w, int k) {
    int n_own = w->arrow->block[k].n, n_shared = w->arrow->n_shared;
    double *own = w->out->own + w->out->at_own[k];
    double *G = w->out->cross + w->out->at_cross[k];
    // row i of G is needed until all rows before it are done, and then only as -G C
    for (int i = 0; i < n_own; i++) {
        for (int c = 0; c < n_shared; c++) {
            w->row[c] = cri_dot(n_shared, G + i * n_shared, w->out->shared + c * n_shared);
        }
        for (int j = i; j < n_own; j++) {
            double sum = cri_dot(n_shared, w->row, G + j * n_shared);
            own[i * n_own + j] += sum;
            own[j * n_own + i] = own[i * n_own + j];
        }
        for (int c = 0; c < n_shared; c++) {
            G[i * n_shared + c] = -w->row[c];
        }
    }
}

static double inverse_norm(const judge *w, int unknown) {
    return w->is_null[unknown] ? 0.0 : 1.0 / w->norm[unknown];
}

/// From unit columns back to the unknowns' own units.
static void unscale(judge *w) {
    const cri_arrow *arrow = w->arrow;
    int n_shared = arrow->n_shared;
    for (int i = 0; i < n_shared; i++) {
        for (int j = 0; j < n_shared; j++) {
            w->out->shared[i * n_shared + j] *= inverse_norm(w, i) * inverse_norm(w, j);
        }
    }
    for (int k = 0; k < arrow->n_block; k++) {
        const cri_arrow_block *block = &arrow->block[k];
        double *own = w->out->own + w->out->at_own[k];
        double *cross = w->out->cross + w->out->at_cross[k];
        for (int i = 0; i < block->n; i++) {
            double unit = inverse_norm(w, block->z + i);
            for (int j = 0; j < block->n; j++) {
                own[i * block->n + j] *= unit * inverse_norm(w, block->z + j);
            }
            for (int c = 0; c < n_shared; c++) {
                cross[i * n_shared + c] *= unit * inverse_norm(w, c);
            }
        }
    }
}

cr_status cri_identify(const cri_arrow *arrow, const double *z, const double *J, cr_arena *arena,
                       cri_lsq_verdict *out, cr_error *err) {
    CR_ASSERT(arrow->n > 0 && arrow->m > 0);
    judge w = {.arrow = arrow, .J = J, .out = out};
    cr_arena *scratch = cri_arena_create(1 << 16);
    bool has_memory = push_verdict(arrow, arena, out) && scratch && push_judge(&w, scratch);
    if (has_memory) {
        cri_lsq_find_null(arrow, z, J, w.norm, w.is_null);
        for (int j = 0; j < arrow->n; j++) {
            out->identity[j] = (cri_identity){!w.is_null[j], w.is_null[j], -1};
        }
        for (int k = 0; k < arrow->n_block; k++) {
            judge_block(&w, k);
        }
        judge_shared(&w);
        for (int k = 0; k < arrow->n_block; k++) {
            spread_shared(&w, k);
        }
        unscale(&w);
    }
    cri_arena_destroy(scratch);
    return has_memory ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for standard errors");
}
