// SPDX-License-Identifier: MIT
//
// Planning: values of the variables that bring bodies to their targets.
//
// One or several searches from different starts go side by side, an iteration each before the next
// one, on threads; bits do not depend on their number. The best plan met is kept whatever ends the
// search.
//
// Gradient bundles: a loss smoothed by random changes of its variables.
//
//     F(z) = E f(z + sigma w),  w normal
//
// estimated with N fixed draws of w, the same at every z, so that F is one function and a run can
// be repeated. It shows a slope where f is flat, such as before the first touch, and none of f's
// jumps. (Suh, Pang and Tedrake 2022: bundled gradients.)
//
// A run towards targets as an objective of its variables, for one thread.
//
//     loss = sum of squared distances from the targets, m^2
//          + cost * sum over steps and chosen controls of u^2 dt
//
// Residuals, whose squares sum up to that: three a target, then sqrt(cost seconds) z for each
// variable when cost is not 0. There are none where a target has a radius or counts after every
// step, nor of waves.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/progress.h"
#include "optimize/aim.h"
#include "optimize/controls.h"
#include "optimize/minimise.h"
#include "optimize/select.h"

#include <stdint.h>

typedef struct cri_bundle_options {
    int n;          // draws, 0: no bundle
    double sigma;   // in the unit of each variable
    bool is_zeroth; // from losses alone, else from gradients
    uint64_t seed;
} cri_bundle_options;

typedef struct cri_bundle {
    cri_bundle_options options;
    const cri_objective *inner; // borrowed; its gradient may fail at single draws
    double *noise;              // (n, inner->n)
    double *z;                  // (inner->n) work
    double *gradient;           // (inner->n) work
    cri_objective objective;    // F; without residuals
} cri_bundle;

/// Reads N:SIGMA, N:SIGMA:first or N:SIGMA:zeroth; false when it is none of them.
bool cri_bundle_parse(const char *text, cri_bundle_options *out);

/// What is shot at, shared by all threads. Everything is borrowed.
typedef struct cri_shot_def {
    const cr_model *model;
    const cr_sim_options *sim_options;
    const cri_selection *selection;
    const cri_waves *waves;   // the variables are those of these, NULL: those of the selection
    const cri_domain *domain; // (cri_shot_size)
    const cri_point *start; // all values that no variable changes; its rows of u fit the selection
    bool has_control;       // else the controls are zero
    int n_target;
    const cri_target *target;
    cri_aim_options aim;
    double cost; // of the chosen controls, m^2 per unit^2 and s
} cri_shot_def;

typedef struct cri_shot {
    const cri_shot_def *def;
    cr_sim *sim; // owned
    cri_aim aim;
    cri_point point;   // of the last run
    cri_point adjoint; // work
    double *seconds;   // (n_variable of the selection) for which each is a control
    double *row;       // (n_variable) work
    double *value;     // (n_variable) of the selection's variables in the last run
    const double *z;   // of the last run, borrowed
    double *last;      // (n) likewise, a copy
    double last_loss;  // of it, without the cost
    bool has_last;     // false: there was none, or it failed
    int grad;          // cr_grad bits of the last run
    cri_objective objective;
} cri_shot;

/// Is the loss a sum of squares, as Gauss-Newton needs it?
bool cri_shot_has_residuals(const cri_shot_def *def);

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

// for tests

CR_MUST_CHECK cr_status cri_bundle_init(const cri_objective *inner,
                                        const cri_bundle_options *options, cr_arena *arena,
                                        cri_bundle *out, cr_error *err);

/// Makes a shot, arrays from arena; release it with cri_shot_clear. target is copied, so that the
/// caller's stay in their order.
CR_MUST_CHECK cr_status cri_shot_init(const cri_shot_def *def, cr_arena *arena, cri_shot *out,
                                      cr_error *err);

/// Releases what a shot owns; one that is zero is allowed.
void cri_shot_clear(cri_shot *shot);

/// Runs at z (cri_shot_size) and gives the loss without the cost. The state at every target is then
/// in shot->aim. Where the last run was at z too, it is not run again.
CR_MUST_CHECK cr_status cri_shot_run(cri_shot *shot, const double *z, double *loss, cr_error *err);

/// Adds the gradient of the last run's loss, without the cost, to z_adj (cri_shot_size).
CR_MUST_CHECK cr_status cri_shot_pull(cri_shot *shot, double *z_adj, cr_error *err);

/// The cost at z.
double cri_shot_cost(const cri_shot *shot, const double *z);
