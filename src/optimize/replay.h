// SPDX-License-Identifier: MIT
//
// A recording simulated again: residuals and their derivatives.
//
//     r = simulated - recorded, for every sample and column, in the column's own unit
//
// The initial state is the one at the first sample.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/recording.h"
#include "optimize/schedule.h"
#include "optimize/select.h"

typedef struct cri_replay {
    const cr_model *model;
    cr_sizes sizes;
    cr_sim *sim; // with gradients
    const cri_selection *selection;
    const cri_recording *recording;
    cri_schedule schedule;
    cri_point point;  // start values; the places of the selection hold the last z
    bool has_control; // true when a control is selected; the caller may set it for others
    int n_sample;     // how many samples are compared, from the first
    double *x;        // (n_x)
    double *x_tan;    // (n_variable, n_tangent)
    double *u_tan;    // (n_variable, n_u)
    double *p_tan;    // (n_variable, n_p)
} cri_replay;

/// Prepares a replay. dt is the longest step. Everything passed must outlive it. Its point is zero
/// and for the caller to fill.
CR_MUST_CHECK cr_status cri_replay_init(const cr_model *model, cr_sim *sim,
                                        const cri_selection *selection,
                                        const cri_recording *recording, double dt, cr_arena *arena,
                                        cri_replay *out, cr_error *err);

/// Residuals r (n_sample * n_column) for the variables z, and when J is not NULL their derivatives
/// (n_variable, n_sample * n_column). A cri_residuals with a cri_replay as context.
CR_MUST_CHECK cr_status cri_replay_residuals(void *replay, const double *z, double *r, double *J,
                                             cr_error *err);
