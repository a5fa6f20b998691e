// SPDX-License-Identifier: MIT
//
// A gradient compared with differences of the loss, one variable at a time.
//
// The loss is simulated from scratch at each point. On a bound of a variable's domain, such as
// friction 0 or restitution 1, the difference is one-sided, towards the inside.

#include "optimize/check.h"

#include <math.h>

// largest relative error of a good entry
#define ERROR_LIMIT 1e-5

// a difference that is less sure than this, relative, confirms nothing
#define SHARP 1e-3

// last step of cr_gradient_check's sweep, relative to the first
#define LAST_STEP 0x1p-17

// derivatives below this part of the loss's own scale, per unit of the variable, are rounding
#define FLOOR 1e-9

// the same where the gradient is itself made of differences, of each step: with ERROR_LIMIT an
// absolute 1e-8 of the scale, rounding over their step of 1e-6 times some hundred steps
#define FLOOR_DIFFERENCES 1e-3

// first step of the differences relative to the variable, and the size of a variable that is zero
#define FIRST_STEP 1e-3
#define SIZE_LEAST 0.1

// first step of a second attempt at a kink, relative to that of the first one
#define SMALL_STEP 1e-3

static bool loss_at(void *context, const double *z, double *value) {
    const cri_check *check = context;
    if (!cri_progress_tell(check->progress, &check->where)) {
        return false;
    }
    cri_selection_write(check->selection, z, check->point);
    return cri_aim_run(check->aim, check->sim, check->point, value, NULL) == CR_OK;
}

/// Side and first step of the differences of variable i at z.
static int choose_side(const cri_check *check, int i, double z, double *first_step) {
    cri_domain domain = cri_selection_domain(check->selection, check->model, i);
    *first_step = FIRST_STEP * fmax(fabs(z), SIZE_LEAST);
    if (z <= domain.lower) {
        return 1;
    }
    if (z >= domain.upper) {
        return -1;
    }
    // both sides stay inside
    *first_step = fmin(*first_step, 0.5 * fmin(z - domain.lower, domain.upper - z));
    return 0;
}

static cri_check_result compare(const cri_check *check, int i, double value, double *z, int side,
                                double first_step) {
    cri_check_result out = {.difference = NAN, .uncertainty = NAN, .error = NAN, .side = side};
    bool is_known = cr_gradient_check(loss_at, (void *)check, z, i, first_step, side,
                                      &out.difference, &out.uncertainty);
    if (!is_known) {
        return out;
    }
    double floor = (check->is_difference ? FLOOR_DIFFERENCES : FLOOR) * check->scale;
    double size = fmax(fmax(fabs(value), fabs(out.difference)), floor);
    double gap = fabs(value - out.difference);
    out.error = size > 0.0 ? gap / size : 0.0;
    bool is_sharp = out.uncertainty <= fmax(SHARP * size, floor);
    // where the value would change the loss by more than all of it within the last step, every
    // difference is too coarse: a chaotic run
    bool is_coarse = fabs(value) * LAST_STEP * first_step > check->scale;
    out.is_decided = !is_coarse && (is_sharp || gap > out.uncertainty);
    out.is_good = is_sharp && !is_coarse && gap - out.uncertainty <= ERROR_LIMIT * size;
    return out;
}

cri_check_result cri_check_entry(const cri_check *check, int i, double value, double *z) {
    CR_ASSERT(i >= 0 && i < check->selection->n_variable);
    double first_step = 0.0;
    int side = choose_side(check, i, z[i], &first_step);
    cri_check_result out = compare(check, i, value, z, side, first_step);
    bool is_open = side == 0 && check->is_one_sided;
    for (int k = 0; k < 6 && is_open && !out.is_good; k++) {
        // up, down and central, then once more in small
        double step = k < 3 ? first_step : SMALL_STEP * first_step;
        cri_check_result other =
            compare(check, i, value, z, k % 3 == 2 ? 0 : 1 - 2 * (k % 3), step);
        out = other.is_good ? other : out;
    }
    cri_selection_write(check->selection, z, check->point);
    return out;
}
