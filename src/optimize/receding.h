// SPDX-License-Identifier: MIT
//
// Receding horizon: plan the next steps, carry out the first of them, plan again from where that
// led.
//
// A window of horizon steps is planned from the state of the plant; execute of them are carried out
// with cr_sim_step, warm data and all, so that the motion is the one that carom simulate makes of
// the same controls. A target beyond the window counts at the window's end, unless its body has
// another one before; a target that lies behind no longer counts. The next window starts from the
// rest of the plan, its last step held.
//
// Pulls towards many targets may cancel where nothing is reached. With a focus only so many
// of those out of place count, the farthest, each until it is there or four windows have brought it
// no nearer; the others only must not be moved out of place, or farther than they are. Where the
// tolerance is more than a target's radius, the tolerance says what is in place, and what was out
// of place is brought on to the radius.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/plan.h"

typedef struct cri_receding_def {
    const cr_model *model;
    const cr_sim_options *sim_options;
    const char *controls;     // as cri_controls_create takes them, u:NAME[*] only
    const char *const *bound; // (n_bound) as cri_controls_bound takes them
    int n_bound;
    int n_knot;      // of a window, 0: a value every step
    const double *p; // (n_p)
    const double *x; // (n_x) the first state
    int n_target;
    const cri_target *target; // all have their times, on steps
    int n_step;               // of the whole run
    double dt;                // s
    int horizon;              // steps of a window
    int execute;              // steps carried out of each
    int n_focus;              // targets out of place that count at once, 0: all
    double cost;
} cri_receding_def;

typedef struct cri_receding {
    cri_plan_stop stop;
    int n_window;
    int n_iteration;  // of all windows
    int n_done;       // steps carried out
    int n_idle;       // windows in which no control moves a target, or without a gradient
    double *history;  // (n_window) loss of each window's plan
    double *distance; // (n_target) m, by cri_target.order; NaN: not come to
} cri_receding;

/// Runs. u (n_step, n_u) holds the controls to start from and gets those carried out. The options'
/// checkpoint is used here, between windows. CRI_PLAN_UNSAVED fills err.
CR_MUST_CHECK cr_status cri_receding_run(const cri_receding_def *def,
                                         const cri_plan_options *options, double *u,
                                         cr_arena *arena, cri_receding *out, cr_error *err);
