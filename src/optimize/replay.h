// SPDX-License-Identifier: MIT
//
// A recording simulated again: residuals and their derivatives.
//
//     r = (simulated - recorded) / sigma, for every sample and column, sigma the column's noise
//
// The initial state is the one at the first sample. A quaternion and its negative are the same
// rotation: where all four numbers are recorded, they are taken with the sign that is nearer.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/recording.h"
#include "optimize/schedule.h"
#include "optimize/unknowns.h"

typedef struct cri_replay {
    const cr_model *model;
    cr_sizes sizes;
    const cri_unknowns *unknowns;
    const cri_recording *recording;
    cri_schedule schedule;
    cri_point point;  // start values; the places of the unknowns hold the last ones
    double *base;     // (n_turn, 4) quaternions that turns start from; the caller fills it
    bool has_control; // true when a control is selected; the caller may set it for others
    int n_sample;     // how many samples are compared, from the first
    int n_quat;       // quaternions whose four numbers are all recorded
    int (*quat)[4];   // (n_quat) their columns
    double *sign;     // (n_column) of the sample at hand
    double *x;        // (n_x)
    double *x_tan;    // (n_unknown, n_tangent)
    double *x_adj;    // (n_x) scratch
    double *u_tan;    // (n_unknown, n_u)
    double *p_tan;    // (n_unknown, n_p)
} cri_replay;

/// Prepares a replay. dt is the longest step. Everything passed must outlive it. Its point is zero
/// and for the caller to fill.
CR_MUST_CHECK cr_status cri_replay_init(const cr_model *model, const cri_unknowns *unknowns,
                                        const cri_recording *recording, double dt, cr_arena *arena,
                                        cri_replay *out, cr_error *err);

/// Values of the unknowns: shared (n_shared) and the recording's own (n_own).
typedef struct cri_values {
    const double *shared;
    const double *own;
} cri_values;

/// Told after each step of a replay, for statistics. x is the state after it.
typedef void cri_replay_watch(void *context, cr_sim *sim);

/// Residuals r (n_sample * n_column) on a sim with gradients, and when J is not NULL their
/// derivatives (n_shared + n_own, n_sample * n_column).
CR_MUST_CHECK cr_status cri_replay_residuals(cri_replay *replay, cr_sim *sim,
                                             const cri_values *values, double *r, double *J,
                                             cr_error *err);

/// Simulates the samples and lets watch see each step.
CR_MUST_CHECK cr_status cri_replay_look(cri_replay *replay, cr_sim *sim, const cri_values *values,
                                        cri_replay_watch *watch, void *context, cr_error *err);
