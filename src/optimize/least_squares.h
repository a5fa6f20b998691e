// SPDX-License-Identifier: MIT
//
// Bounded nonlinear least squares: minimise |r(z)|^2 over lower <= z <= upper.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/domain.h"

/// Residuals r (m) at z, and when J is not NULL their Jacobian by columns (n, m): row j of J is
/// dr/dz_j. CR_ERR_MEMORY ends the search; any other failure means that r has no value at z.
typedef cr_status cri_residuals(void *context, const double *z, double *r, double *J,
                                cr_error *err);

/// What a search carries from one iteration to the next, for a caller that makes them one by one.
typedef struct cri_lsq_state {
    double *scale;   // (n) largest norms of the columns of J met so far, zero at first
    double damping;  // 0 at first
    double growth;   // of the damping at the next refusal
    bool has_values; // r and J are those of z already
    double reach;    // longest step of an unknown that is smaller; 0.1 in a search without state
} cri_lsq_state;

typedef struct cri_lsq {
    int n; // unknowns
    int m; // residuals
    cri_residuals *residuals;
    void *context;
    const cri_domain *domain; // (n)
    int iteration_limit;
    double
        flat; // the search ends when a good step makes the loss fall by less than this part of it
} cri_lsq;

typedef enum cri_lsq_stop {
    CRI_LSQ_GRADIENT,  // the residuals are orthogonal to every direction that is left
    CRI_LSQ_STEP,      // steps are below rounding
    CRI_LSQ_FLAT,      // the loss no longer falls
    CRI_LSQ_ITERATION, // iteration_limit was reached
} cri_lsq_stop;

typedef struct cri_lsq_result {
    cri_lsq_stop stop;
    int n_iteration; // accepted steps
    int n_trial;     // residuals evaluated
    double loss;     // |r|^2
} cri_lsq_result;

/// Starts from z (n), which becomes the best point found; r (m) and J (n, m) are those of that
/// point. Fails when there is no memory or when r has no value at the start.
CR_MUST_CHECK cr_status cri_lsq_minimise(const cri_lsq *problem, double *z, double *r, double *J,
                                         cri_lsq_result *out, cr_error *err);

/// As cri_lsq_minimise, going on from state, which is then that of the result.
CR_MUST_CHECK cr_status cri_lsq_advance(const cri_lsq *problem, cri_lsq_state *state, double *z,
                                        double *r, double *J, cri_lsq_result *out, cr_error *err);

/// One clause for a stop, for messages.
const char *cri_lsq_stop_text(cri_lsq_stop stop);

/// Marks the columns of J (n, m) that are rounding alone: a change of z_j by its own size would
/// change the residuals by less than 1e-9 of what the most effective unknown does.
void cri_lsq_find_null(int n, int m, const double *z, const double *J, bool *is_null);
