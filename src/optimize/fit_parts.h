// SPDX-License-Identifier: MIT
//
// What the files of a fit share.

#pragma once

#include "optimize/fit.h"
#include "optimize/horizon.h"
#include "optimize/identify.h"

/// A fit at work.
typedef struct cri_fit_work {
    const cri_fit_problem *problem;
    cr_arena *arena;
    cri_unknowns unknowns;
    cri_ensemble ensemble;
    cri_horizon horizon;
    cri_journal *journal;
    cr_sim **sim; // (n_thread)
} cri_fit_work;

/// Values, standard errors and correlations at the result, for residuals of that variance.
CR_MUST_CHECK cr_status cri_fit_fill(const cri_fit_work *work, const cri_verdict *verdict,
                                     double variance, cri_fit *fit, cr_error *err);

/// Sentences for what the recordings leave open.
CR_MUST_CHECK cr_status cri_fit_explain(const cri_fit_work *work, const cri_verdict *verdict,
                                        cri_fit *fit, cr_error *err);

/// Finds shared values at the edge of a plateau, which are no more than bounds. loss is that of the
/// residuals as they are, with that variance; the ensemble's loss is plain squares. Overwrites
/// residuals and Jacobian of the horizon. Told to stop, it leaves the rest as it is.
CR_MUST_CHECK cr_status cri_fit_probe(cri_fit_work *work, double loss, double variance,
                                      cri_fit *fit, cr_error *err);
