// SPDX-License-Identifier: MIT
//
// Least squares over a growing part of the recordings, which keeps out of wrong minima.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/ensemble.h"
#include "optimize/history.h"
#include "optimize/journal.h"
#include "optimize/least_squares.h"

typedef struct cri_horizon {
    cri_ensemble *ensemble;
    int n;                        // unknowns
    const cri_domain *domain;     // (n)
    const double *start;          // (n) values that the user gave
    bool *is_drawn;               // (n) takes part in a restart
    double *z;                    // (n) the best so far
    double *r;                    // (m of all samples)
    double *J;                    // (n_J of all samples)
    double *norm;                 // (n) scratch
    double *sorted;               // (m) scratch
    const cri_progress *progress; // may be NULL
    cri_fit_history *history;     // may be NULL
    cri_journal *journal;         // what is known already
    const cri_lsq_result *rival;  // what a restart has to beat, NULL: there is none
    bool use_restart;             // may look for other starts
    bool is_stopped;              // progress asked for it
    int n_stage;                  // fits made, all stages and restarts
    int n_iteration;              // of all of them
    int n_restart;                // searches for another start
} cri_horizon;

/// Fits z to the whole recordings, stage by stage. r, J and *out are those of the last one.
CR_MUST_CHECK cr_status cri_horizon_fit(cri_horizon *horizon, cr_arena *arena, cri_lsq_result *out,
                                        cr_error *err);

/// Fits z to the first n_sample samples of the longest recording and the same part of the others,
/// from where it stands. Counts as a stage.
CR_MUST_CHECK cr_status cri_horizon_stage(cri_horizon *horizon, int n_sample, int iteration_limit,
                                          double flat, cri_lsq_result *out, cr_error *err);

/// Looks for a better start of the stage with n_sample samples, whose result is *best: many random
/// values of the parameters with a bounded domain, the most promising of which are fitted. z, r and
/// *best become those of the best point found.
CR_MUST_CHECK cr_status cri_horizon_restart(cri_horizon *horizon, int n_sample, cr_arena *arena,
                                            cri_lsq_result *best, cr_error *err);
