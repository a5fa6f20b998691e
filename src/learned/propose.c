// SPDX-License-Identifier: MIT
//
// Touches proposed from velocity jumps.
//
//   a_n = v_n - v_{n-1};   jump where |a_n - median| > 10 s,   s = 1.48 median |a - median|
//
// s is the standard deviation when a is a bell; smooth forces vary a by a few s at most, impacts by
// far more. At least 2 % of the largest deviation is asked for, so that a recording without noise
// gives no jumps of rounding. Of neighbouring jumps the largest one counts: an impact within a step
// may be seen in two.

#include "learned/propose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(int n, double *a) {
    qsort(a, (size_t)n, sizeof *a, ascending);
    return a[n / 2];
}

bool cri_touch_jumps(int n_row, int n_q, const double *x, signed char *jump, cr_arena *work) {
    cri_arena_mark mark = cri_arena_get_mark(work);
    double *change = CR_PUSH(work, double, n_row + 1);
    double *sorted = CR_PUSH(work, double, n_row + 1);
    if (!change || !sorted) {
        return false;
    }
    memset(jump, 0, (size_t)n_row * (size_t)n_q);
    for (int k = 0; k < n_q && n_row > 2; k++) {
        for (int n = 1; n < n_row; n++) {
            change[n] = x[n * 2 * n_q + n_q + k] - x[(n - 1) * 2 * n_q + n_q + k];
        }
        memcpy(sorted, change + 1, (size_t)(n_row - 1) * sizeof *sorted);
        double middle = median(n_row - 1, sorted);
        double most = 0.0;
        for (int n = 1; n < n_row; n++) {
            change[n] -= middle;
            sorted[n - 1] = fabs(change[n]);
            most = fmax(most, sorted[n - 1]);
        }
        double limit = fmax(10.0 * 1.4826 * median(n_row - 1, sorted), 0.02 * most);
        for (int n = 1; n < n_row; n++) {
            double size = fabs(change[n]);
            bool is_largest = (n == 1 || size > fabs(change[n - 1])) &&
                              (n + 1 == n_row || size >= fabs(change[n + 1]));
            if (size > limit && is_largest) {
                jump[n * n_q + k] = change[n] > 0.0 ? 1 : -1;
            }
        }
    }
    cri_arena_rewind(work, mark);
    return true;
}
