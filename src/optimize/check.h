// SPDX-License-Identifier: MIT
//
// A gradient compared with differences of the loss, one variable at a time.

#pragma once

#include "base/base.h"
#include "base/progress.h"
#include "optimize/aim.h"
#include "optimize/select.h"

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
