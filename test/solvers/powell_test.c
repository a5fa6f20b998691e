// SPDX-License-Identifier: MIT
//
// Powell's hybrid method: planted roots, a limit on evaluations, a jump that it cannot cross.

#include "cr_test.h"

#include "solvers/powell.h"

#include <math.h>

static bool curve(void *context, const double *x, double *out) {
    int *n = context;
    (*n)++;
    out[0] = x[0] * x[0] + x[1] * x[1] - 5.0;
    out[1] = x[0] * x[1] - 2.0;
    return true;
}

static bool step(void *context, const double *x, double *out) {
    (void)context;
    out[0] = x[0] > 0.3 ? 1.0 : -1.0;
    return true;
}

static bool refuse(void *context, const double *x, double *out) {
    (void)context;
    out[0] = x[0] + 1.0;
    return false;
}

TEST(planted_root_is_found) {
    if (!cri_powell_exists()) {
        SKIP("this build has no cminpack");
    }
    double x[2] = {3.0, 0.5};
    int n = 0;
    cri_powell_report r = cri_powell_solve(2, curve, &n, 1e-10, 100, x);
    CHECK(r.is_solved);
    CHECK_INT(r.n_evaluation, n);
    CHECK_CLOSE(x[0], 2.0, 1e-8, 0.0);
    CHECK_CLOSE(x[1], 1.0, 1e-8, 0.0);
}

TEST(what_has_no_root_ends) {
    if (!cri_powell_exists()) {
        SKIP("this build has no cminpack");
    }
    double x = 0.0;
    cri_powell_report r = cri_powell_solve(1, step, NULL, 1e-6, 40, &x);
    CHECK(r.n_evaluation <= 41 && isfinite(x));
    r = cri_powell_solve(1, refuse, NULL, 1e-6, 40, &x);
    CHECK(!r.is_solved);
}

CR_TEST_MAIN(planted_root_is_found, what_has_no_root_ends)
