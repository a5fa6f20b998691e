// SPDX-License-Identifier: MIT
//
// A run that should bring bodies to targets: its schedule, its loss and the gradient.
//
// The loss is the sum over the targets, each at its own time.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/schedule.h"
#include "optimize/select.h"
#include "optimize/target.h"

typedef struct cri_aim {
    cr_sizes sizes;
    int n_target;
    cri_target *target; // (n_target), in the order of their times
    cri_schedule schedule;
    bool has_throughout; // some target counts after every step
    double *x_path;      // (n_step + 1, n_x), NULL when all targets are at the end
    double *x_end;       // (n_x)
    cr_seed *seed;       // (n_target), or (n_step + 1) with has_throughout
    double *x_adj;       // what the seeds point to, (n_x) each
    bool has_control;    // for the caller to set; else the controls are zero
    bool has_no_params;  // for the caller to set: no gradient for parameters is asked for
} cri_aim;

/// How long a run is. Zero: not given.
typedef struct cri_aim_options {
    int n_step; // of dt each
    double dt;  // s, of the scene when not given
} cri_aim_options;

/// Prepares a run. target is sorted and kept, arrays come from arena; both must outlive the aim.
/// Without n_step the run ends at the last time of a target, and lasts 1 s when no target has one.
CR_MUST_CHECK cr_status cri_aim_init(const cr_model *model, const cri_aim_options *options,
                                     int n_target, cri_target *target, cr_arena *arena,
                                     cri_aim *out, cr_error *err);

/// Sets the parameters of sim and runs from point.
CR_MUST_CHECK cr_status cri_aim_run(cri_aim *aim, cr_sim *sim, const cri_point *point, double *loss,
                                    cr_error *err);

/// Gradient of the loss of the last cri_aim_run, of the same sim. Adds to gradient.
CR_MUST_CHECK cr_status cri_aim_gradient(cri_aim *aim, cr_sim *sim, cri_point *gradient,
                                         cr_error *err);

/// The state (n_x) in which target i was judged in the last run.
const double *cri_aim_state(const cri_aim *aim, int i);

/// Squared lengths that the loss of the last run is a difference of, m^2.
double cri_aim_scale(const cri_aim *aim);
