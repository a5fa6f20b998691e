// SPDX-License-Identifier: MIT
//
// A run that should bring bodies to targets: its schedule, its loss and the gradient.
//
// The loss is the sum over the targets, each at its own time.
//
// Where a body or a site should be at some time, and the loss for being elsewhere.
//
//     loss = max(0, |body origin or site - point|^2 - radius^2), m^2; no factor 1/2
//
// at one time, or summed over the ends of all steps.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/math/vec3.h"
#include "base/progress.h"
#include "optimize/schedule.h"
#include "optimize/select.h"

typedef struct cri_target {
    const cr_model *model; // borrowed
    cri_vec3 at;           // what should be there, in the body's frame, m
    double point[3];       // world, m
    double time;           // s after the start
    double radius;         // m, within it there is no loss
    int body;              // -1: a site of the world
    int order;             // the caller's number for it; targets are sorted by time
    bool has_time;         // else at the end of the run
    bool is_throughout;    // counts after every step, and is judged at the end
} cri_target;

/// Reads BODY:X,Y,Z, BODY:X,Y,Z@T or BODY:X,Y,Z@all; where no body has the name, that of a site.
/// err names the part that is wrong.
CR_MUST_CHECK cr_status cri_target_parse(const cr_model *model, const char *text, cri_target *out,
                                         cr_error *err);

/// Where the body or site is in state x (n_x), m.
cri_vec3 cri_target_place(const cri_target *target, const double *x);

/// How far it is from where it should be in state x (n_x), m; the radius does not count.
double cri_target_distance(const cri_target *target, const double *x);

/// Loss in state x (n_x).
double cri_target_loss(const cri_target *target, const double *x);

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

/// What a comparison needs. The sim has gradients off, so that the loss comes from another path of
/// the code than the gradient did.
typedef struct cri_check {
    const cr_model *model;
    cr_sim *sim;
    const cri_selection *selection;
    cri_aim *aim;
    cri_point *point;  // of the gradient; its selected places change during a call and are put back
    double scale;      // of the loss, m^2
    bool is_one_sided; // the gradient is one-sided somewhere, so one side may confirm it
    bool is_difference; // the gradient is made of differences of steps, with their rounding
    const cri_progress *progress; // told before every run, NULL: nobody
    cri_progress_state where;     // what it is told
} cri_check;

typedef struct cri_check_result {
    double difference;
    double uncertainty; // of the difference
    double error;       // |value - difference| / max(|value|, |difference|, floor)
    int side;           // 0: central, +1 or -1: one-sided, at a bound of the domain or a kink
    bool is_decided;    // the difference is sharp, or further from the value than it is unsure, and
                        // its steps are small enough for a slope like the value
    bool is_good;       // the error is below 1e-5, the uncertainty of the difference allowed for
} cri_check_result;

/// Compares value, the gradient for variable i, with differences. z (n_variable) is changed and put
/// back. Told to stop, it knows nothing: no difference, not decided.
cri_check_result cri_check_entry(const cri_check *check, int i, double value, double *z);

// for tests

/// Adjoint of cri_target_loss. Adds to x_adj (n_x).
void cri_target_loss_vjp(const cri_target *target, const double *x, double loss_adj, double *x_adj);
