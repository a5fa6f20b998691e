// SPDX-License-Identifier: MIT
//
// Powell's hybrid method for few nonlinear equations, by cminpack (MINPACK's hybrd): dogleg steps
// on a Jacobian that is differences at first and Broyden's updates afterwards.

#pragma once

#include <stdbool.h>

enum { CRI_POWELL_MOST = 6 };

/// out (n) at x (n). Returns false to stop.
typedef bool cri_powell_value(void *context, const double *x, double *out);

typedef struct cri_powell_report {
    bool is_solved; // two iterates agree to the tolerance, or out is zero
    int n_evaluation;
} cri_powell_report;

/// Is there such a method in this build? The minimal one has none.
bool cri_powell_exists(void);

/// From x (n), at most CRI_POWELL_MOST of them, to the last iterate, in place; tolerance is
/// relative on x, most evaluations are made. Requires cri_powell_exists.
cri_powell_report cri_powell_solve(int n, cri_powell_value *value, void *context, double tolerance,
                                   int most, double *x);
