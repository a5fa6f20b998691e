// SPDX-License-Identifier: MIT
//
// Bounded nonlinear least squares in block-arrow form (arrow.h): minimise a sum of functions of the
// residuals r(z), their squares unless the caller weights them down, over lower <= z <= upper.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/progress.h"
#include "optimize/arrow.h"
#include "optimize/domain.h"

/// Residuals r (m) at z, and when J is not NULL their Jacobian, as arrow.h has them. *loss is
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
