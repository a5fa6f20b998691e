// SPDX-License-Identifier: MIT
//
// Differences of a loss, extrapolated over a sweep of steps (Ridders 1982).
//
//   central     D(h) = (f(z + h) - f(z - h))/(2 h)             errors h^2, h^4, ...
//   one-sided   D(h) = (f(z + h) - f(z))/h                     errors h, h^2, ...
//
// Neville's table over h, h/2, h/4, ...; the entry with the least uncertainty is the answer, or of
// several that are good to 1e-8 the one with the smallest steps: how
// far its neighbours disagree, plus what rounding of the loss does to the smallest step in it. The
// gradient that is to be checked takes no part in the choice.

#include "base/base.h"

#include <float.h>
#include <math.h>

enum { N_STEP = 18 };

// a loss is a long sum: its rounding is some ulps
static const double rounding = 8.0 * DBL_EPSILON;

// one difference and its rounding noise; false when the loss has no value
static bool difference(cr_loss *loss, void *context, double *z, int i, double h, int side,
                       double *out, double *noise) {
    double at = z[i], up, down;
    z[i] = side < 0 ? at : at + h;
    double z_up = z[i];
    bool is_good = loss(context, z, &up);
    z[i] = side > 0 ? at : at - h;
    double z_down = z[i];
    is_good = is_good && loss(context, z, &down);
    z[i] = at;
    if (is_good) {
        *out = (up - down) / (z_up - z_down);
        *noise = rounding * fmax(fabs(up), fabs(down)) / (z_up - z_down);
    }
    return is_good && isfinite(*out);
}

bool cr_gradient_check(cr_loss *loss, void *context, double *z, int i, double first_step, int side,
                       double *out, double *uncertainty) {
    CR_ASSERT(i >= 0 && first_step > 0.0);
    double previous[N_STEP], row[N_STEP], h = first_step, noise;
    int n_row = 0;
    *uncertainty = INFINITY;
    for (int k = 0; k < N_STEP; k++, h *= 0.5) {
        if (!difference(loss, context, z, i, h, side, &row[0], &noise)) {
            n_row = 0; // too far out: start the table anew with a smaller step
            continue;
        }
        double power = side == 0 ? 4.0 : 2.0, factor = power;
        for (int j = 1; j <= n_row; j++, factor *= power) {
            row[j] = row[j - 1] + (row[j - 1] - previous[j - 1]) / (factor - 1.0);
            double error = fmax(fabs(row[j] - row[j - 1]), fabs(row[j] - previous[j - 1])) + noise;
            // a derivative is a limit: smaller steps win as long as they are good enough
            if (error < fmax(*uncertainty, 1e-8 * fabs(row[j]))) {
                *uncertainty = error;
                *out = row[j];
            }
        }
        n_row++;
        for (int j = 0; j < n_row; j++) {
            previous[j] = row[j];
        }
    }
    return isfinite(*uncertainty);
}
