// SPDX-License-Identifier: MIT
//
// Bounded nonlinear least squares: minimise a sum of functions of the residuals r(z), their squares
// unless the caller weights them down, over lower <= z <= upper; and what that has determined.
//
// The form is a block arrow: residuals come in blocks, and a block depends on the shared unknowns
// and on unknowns of its own, which no other block knows.
//
// All unknowns stand in one array z: the shared ones, then those of block 0, 1, 2, ... All
// residuals stand in one array r, block after block. The Jacobian holds for each block its columns,
// those of the shared unknowns first: column c of a block has m numbers in a row. One block without
// unknowns of its own is an ordinary dense problem with J (n_shared, m).
//
// The covariance of the unknowns is sigma^2 (J'J)^-1, for residuals that do not depend on each
// other and all have the variance sigma^2. Directions in which the residuals do not change belong
// to no unknown's error; the unknowns in them are not identifiable.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/progress.h"
#include "optimize/domain.h"

typedef struct cri_arrow_block {
    int n; // unknowns of its own
    int m; // residuals

    // filled by cri_arrow_place
    int z;    // the first of its own unknowns
    int r;    // its first residual
    size_t J; // the first number of its Jacobian
} cri_arrow_block;

typedef struct cri_arrow {
    int n_shared;
    int n_block;
    cri_arrow_block *block; // (n_block)

    // filled by cri_arrow_place
    int n;      // all unknowns
    int m;      // all residuals
    size_t n_J; // all numbers of the Jacobian
} cri_arrow;

/// Fills the places from n_shared, n_block and the n and m of the blocks.
void cri_arrow_place(cri_arrow *arrow);

/// The unknown behind column c of a block.
static inline int cri_arrow_unknown(const cri_arrow *arrow, int block, int c) {
    return c < arrow->n_shared ? c : arrow->block[block].z + c - arrow->n_shared;
}

/// slope (n) = J'r, and the norms (n) of all columns.
void cri_arrow_slope(const cri_arrow *arrow, const double *J, const double *r, double *slope);
void cri_arrow_norms(const cri_arrow *arrow, const double *J, double *norm);

/// The linear model r + J delta, factored. Lives in the arena of cri_arrow_model_push.
typedef struct cri_arrow_model {
    const cri_arrow *arrow;
    double *factor;    // of each block, triangular: (n_column, n_column), own columns first
    double *rhs;       // of each block: (n_column)
    double *damped;    // as factor with rows for the damping, of the last solve
    double *damped_b;  // as rhs, likewise
    size_t *at_factor; // (n_block)
    size_t *at_rhs;
    size_t *at_damped;
    size_t *at_damped_b;
    double *shared;   // (n_shared, 2 n_shared) what the blocks leave for the shared unknowns
    double *shared_b; // (2 n_shared)
    double *work;     // for the tallest block
    double *work_b;
} cri_arrow_model;

/// Residuals r (m) at z, and when J is not NULL their Jacobian, in block-arrow form. *loss is
/// |r|^2, or what the caller makes least instead: then r and J are weighted so that J'r is half its
/// slope. CR_ERR_MEMORY ends the search; any other failure means that r has no value at z.
typedef cr_status cri_residuals(void *context, const double *z, double *r, double *J, double *loss,
                                cr_error *err);

/// Longest step of an unknown that is smaller, in a search without state.
#define CRI_LSQ_REACH 0.1

/// What a search carries from one iteration to the next, for a caller that makes them one by one or
/// saves it: whenever progress is told, all of it is that of z.
typedef struct cri_lsq_state {
    double *scale;   // (n) largest norms of the columns of J met so far, zero at first
    double damping;  // 0 at first
    double growth;   // of the damping at the next refusal
    bool has_values; // r, J and loss are those of z already
    double loss;     // then
    double reach;    // longest step of an unknown that is smaller
} cri_lsq_state;

typedef struct cri_lsq {
    const cri_arrow *arrow;
    cri_residuals *residuals;
    void *context;
    const cri_domain *domain; // (n)
    int iteration_limit;
    double flat; // ends the search: a good step makes the loss fall by less than this part of it
    const cri_progress *progress; // may be NULL
    int n_before;                 // iterations of earlier searches, for progress
} cri_lsq;

typedef enum cri_lsq_stop {
    CRI_LSQ_GRADIENT,  // the residuals are orthogonal to every direction that is left
    CRI_LSQ_STEP,      // steps are below rounding
    CRI_LSQ_FLAT,      // the loss no longer falls
    CRI_LSQ_ITERATION, // iteration_limit was reached
    CRI_LSQ_STOPPED,   // progress asked for it
} cri_lsq_stop;

typedef struct cri_lsq_result {
    cri_lsq_stop stop;
    int n_iteration; // accepted steps
    int n_trial;     // residuals evaluated
    double loss;
} cri_lsq_result;

/// Starts from z (n), which becomes the best point found; r (m) and J (n_J) are those of that
/// point. Fails when there is no memory or when r has no value at the start.
CR_MUST_CHECK cr_status cri_lsq_minimise(const cri_lsq *problem, double *z, double *r, double *J,
                                         cri_lsq_result *out, cr_error *err);

/// As cri_lsq_minimise, going on from state, which is then that of the result.
CR_MUST_CHECK cr_status cri_lsq_advance(const cri_lsq *problem, cri_lsq_state *state, double *z,
                                        double *r, double *J, cri_lsq_result *out, cr_error *err);

/// One clause for a stop, for messages.
const char *cri_lsq_stop_text(cri_lsq_stop stop);

/// Marks the unknowns whose columns of J are rounding alone: a change of z_j by its own size would
/// change the residuals by less than 1e-9 of what the most effective unknown does. norm (n) is
/// scratch and ends up with the norms of the columns.
void cri_lsq_find_null(const cri_arrow *arrow, const double *z, const double *J, double *norm,
                       bool *is_null);

typedef struct cri_identity {
    bool is_identifiable; // else the recordings leave it open
    bool is_null;         // the residuals do not depend on it at all
    int partner;          // else the unknown that it is open together with, -1: none, or many
} cri_identity;

/// The verdict. Covariances are for sigma = 1, and leave directions without effect out.
typedef struct cri_lsq_verdict {
    int rank;               // directions with an effect
    cri_identity *identity; // (n)
    double *shared;         // (n_shared, n_shared) covariance
    double *own;            // of each block (n_own, n_own), block after block
    double *cross;          // of each block (n_own, n_shared)
    size_t *at_own;         // (n_block)
    size_t *at_cross;
} cri_lsq_verdict;

/// Judges the unknowns z from the Jacobian at the result. The arrays live in arena.
CR_MUST_CHECK cr_status cri_identify(const cri_arrow *arrow, const double *z, const double *J,
                                     cr_arena *arena, cri_lsq_verdict *out, cr_error *err);

// for tests

/// Q'(A | b) for the orthogonal Q that makes A (m, n), m >= n, upper triangular; overwrites a and b
/// (m). Column norms of A and the norm of b stay. b may be NULL.
void cri_triangularise(int m, int n, double *a, double *b);

/// A V = W with orthogonal V (n, n) and orthogonal columns of W, whose norms are the singular
/// values s (n), in no order. Overwrites a (m, n) by W. Small singular values are as accurate,
/// relative to their column, as large ones.
void cri_singular(int m, int n, double *a, double *v, double *s);

/// False when there is no memory.
bool cri_arrow_model_push(const cri_arrow *arrow, cr_arena *arena, cri_arrow_model *out);

/// Takes J and r over, each column divided by its scale (n). Columns with is_null count as zero.
void cri_arrow_linearise(cri_arrow_model *model, const double *J, const double *r,
                         const double *scale, const bool *is_null);

/// The delta (n) of all unknowns with is_free that makes |r + J delta|^2 + damping |scale delta|^2
/// least, given the delta of the others. damping is above 0.
void cri_arrow_solve(cri_arrow_model *model, const double *scale, const bool *is_free,
                     double damping, double *delta);

/// |r|^2 - |r + J delta|^2
double cri_arrow_fall(const cri_arrow_model *model, const double *scale, const double *delta);
