// SPDX-License-Identifier: MIT
//
// Identification: the values of a selection for which a simulation repeats a recording best.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/least_squares.h"
#include "optimize/replay.h"

typedef struct cri_fit_entry {
    const char *name; // the selection's
    double start;
    double value;
    double deviation;     // standard error; NaN when there is none
    bool is_identifiable; // else why has a sentence
    bool is_at_bound;     // of its domain
    char why[240];
} cri_fit_entry;

typedef struct cri_fit {
    int n_entry;
    cri_fit_entry *entry;
    double loss;  // sum of squared residuals
    double rms;   // of the residuals
    double noise; // of the recording, rms, estimated from it alone; at least 1e-4 of its spread
    int n_residual;
    int n_iteration; // of all stages
    int n_stage;
    int n_restart;     // searches for another start
    cri_lsq_stop stop; // of the last stage
} cri_fit;

/// Fits, starting from the values in replay->point, which ends up holding the result. The entries
/// live in arena.
CR_MUST_CHECK cr_status cri_fit_run(const cr_model *model, cri_replay *replay, cr_arena *arena,
                                    cri_fit *out, cr_error *err);
