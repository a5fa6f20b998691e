// SPDX-License-Identifier: MIT
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
#include "optimize/aim.h"
#include "optimize/minimise.h"
#include "optimize/select.h"
#include "optimize/waves.h"

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

/// Number of variables.
static inline int cri_shot_size(const cri_shot_def *def) {
    return def->waves ? def->waves->n : def->selection->n_variable;
}

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

/// True when every target was within its radius, or the tolerance, m, in the last run.
bool cri_shot_is_reached(const cri_shot *shot, double tolerance);

/// Distance of target i, counted by time, in the last run, m.
double cri_shot_distance(const cri_shot *shot, int i);
