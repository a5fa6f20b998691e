// SPDX-License-Identifier: MIT
//
// Step lengths that hit given times.

#pragma once

#include "base/arena.h"
#include "base/base.h"

typedef struct cri_schedule {
    int n_step;
    int n_dt;         // n_step, or 1 when all steps are equal
    const double *dt; // (n_dt) s
    const int *step;  // (n_time) the number of steps after which each time is reached
} cri_schedule;

/// Splits the way from 0 over n_time times, ascending and not negative, in steps of at most dt:
/// each interval in the least number of equal ones. An interval that is a multiple of dt gets steps
/// of dt to the last bit. The arrays live in arena.
CR_MUST_CHECK cr_status cri_schedule_push(int n_time, const double *time, double dt,
                                          cr_arena *arena, cri_schedule *out, cr_error *err);
