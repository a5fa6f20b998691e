// SPDX-License-Identifier: MIT
//
// Planning: values of the variables that bring bodies to their targets.
//
// One or several searches from different starts go side by side, an iteration each before the next
// one, on threads; bits do not depend on their number. The best plan met is kept whatever ends the
// search.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/progress.h"
#include "optimize/bundle.h"
#include "optimize/minimise.h"
#include "optimize/shot.h"

#include <stdint.h>

typedef struct cri_plan_options {
    cri_minimise_options minimise;
    cri_bundle_options bundle;
    int iteration_limit;
    double tolerance; // m, a target is reached within
    int n_start;      // at least 1; the first is the given one
    double spread;    // of the other starts, where a variable has no bounds, in its unit
    int n_sample;     // draws of which each search begins at the best, 0: none
    uint64_t seed;    // of the other starts
    int n_thread;     // 0: as many as the machine has
    const cri_progress *progress;

    const char *checkpoint; // file, NULL: none. Goes on from it when it is there
    int save_every;         // iterations
    uint64_t problem;       // what the caller's input hashes to
} cri_plan_options;

typedef enum cri_plan_stop {
    CRI_PLAN_REACHED,     // every target is within the tolerance
    CRI_PLAN_CONVERGED,   // the gradient vanished
    CRI_PLAN_STALLED,     // no step makes the loss fall any more
    CRI_PLAN_ITERATION,   // the limit was reached
    CRI_PLAN_NO_EFFECT,   // no variable moves any target
    CRI_PLAN_MISSED,      // a receding horizon has run to its end elsewhere
    CRI_PLAN_INTERRUPTED, // progress said so
    CRI_PLAN_UNSAVED,     // the checkpoint could not be written; err says why
} cri_plan_stop;

enum { CRI_N_PLAN_STOP = CRI_PLAN_UNSAVED + 1 };

/// A plan and how it was found. Arrays live in the arena that was passed.
typedef struct cri_plan {
    cri_plan_stop stop;
    double loss;      // without the cost, m^2
    double cost;      // m^2
    double *z;        // (n_variable)
    double *start;    // (n_variable) where its search began
    double *distance; // (n_target) m, by cri_target.order
    double *history;  // (n_history) best loss with the cost before each iteration, and at the end
    int n_history;
    int n_iteration;
    int n_evaluation; // of all starts
    int n_start;      // with a value
    int best_start;
    int grad; // cr_grad bits of the plan's own run
} cri_plan;

cri_plan_options cri_plan_options_default(cri_method method);

/// One word, and one clause, for a stop.
const char *cri_plan_stop_word(cri_plan_stop stop);
const char *cri_plan_stop_text(cri_plan_stop stop);

/// Plans from z (n_variable). Fails when there is no value at the first start, no memory, or a
/// checkpoint that cannot be gone on from. CRI_PLAN_UNSAVED is no failure, but fills err.
CR_MUST_CHECK cr_status cri_plan_solve(const cri_shot_def *def, const cri_plan_options *options,
                                       const double *z, cr_arena *arena, cri_plan *out,
                                       cr_error *err);
