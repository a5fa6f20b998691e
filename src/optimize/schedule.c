// SPDX-License-Identifier: MIT
//
// Step lengths that hit given times: n = ceil(interval/dt - 1e-9) steps of interval/n each.

#include "optimize/schedule.h"

#include <limits.h>
#include <math.h>

// an interval is a multiple of dt when it is within these of one, relative and in steps: times come
// from decimal text, a few roundings away from the multiple
#define SNAP_RELATIVE 1e-12
#define SNAP_STEPS 1e-9

/// Number and length of the steps over one interval.
static double split(double interval, double dt, double *length) {
    double n = ceil(interval / dt * (1.0 - SNAP_RELATIVE) - SNAP_STEPS);
    n = interval > 0.0 ? fmax(n, 1.0) : 0.0;
    *length = n > 0.0 ? interval / n : dt;
    if (fabs(*length - dt) <= SNAP_RELATIVE * dt) {
        *length = dt;
    }
    return n;
}

/// Counts the steps up to each time; says whether they all have one length.
static double count(int n_time, const double *time, double dt, int *step, bool *is_uniform) {
    double total = 0.0;
    double first = 0.0;
    *is_uniform = true;
    for (int i = 0; i < n_time; i++) {
        double length = 0.0;
        double n = split(time[i] - (i > 0 ? time[i - 1] : 0.0), dt, &length);
        first = total > 0.0 ? first : length;
        *is_uniform = *is_uniform && (n == 0.0 || length == first);
        total += n;
        step[i] = total <= INT_MAX ? (int)total : 0;
    }
    return total;
}

cr_status cri_schedule_push(int n_time, const double *time, double dt, cr_arena *arena,
                            cri_schedule *out, cr_error *err) {
    CR_ASSERT(n_time > 0 && time[0] >= 0.0);
    CR_ASSERT(isfinite(dt) && dt > 0.0);
    int *step = CR_PUSH(arena, int, n_time);
    if (!step) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d times", n_time);
    }
    bool is_uniform = true;
    double total = count(n_time, time, dt, step, &is_uniform);
    if (!(total < INT_MAX)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%g s in steps of %g s are too many steps",
                        time[n_time - 1], dt);
    }
    int n_dt = is_uniform ? 1 : (int)total;
    double *lengths = CR_PUSH(arena, double, n_dt);
    if (!lengths) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d step lengths", n_dt);
    }
    lengths[0] = dt;
    int k = 0;
    for (int i = 0; i < n_time && k < n_dt; i++) {
        double length = 0.0;
        double n = split(time[i] - (i > 0 ? time[i - 1] : 0.0), dt, &length);
        for (double j = 0.0; j < n && k < n_dt; j++) {
            lengths[k++] = length;
        }
    }
    *out = (cri_schedule){(int)total, n_dt, lengths, step};
    return CR_OK;
}
