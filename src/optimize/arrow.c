// SPDX-License-Identifier: MIT
//
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

#include "optimize/arrow.h"

#include "base/math/dense.h"
#include "optimize/singular.h"

#include <math.h>
#include <string.h>

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
