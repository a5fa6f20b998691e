// SPDX-License-Identifier: MIT
//
// The way to cminpack. Its step bound and scales are MINPACK's defaults (100, own scales); the
// Jacobian is dense.

#include "solvers/powell.h"

#include "base/base.h"

#ifdef CAROM_HAS_CMINPACK
#include <cminpack.h>

typedef struct bridge {
    cri_powell_value *value;
    void *context;
} bridge;

static int call(void *p, int n, const double *x, double *out, int flag) {
    (void)n;
    (void)flag;
    const bridge *b = p;
    return b->value(b->context, x, out) ? 0 : -1;
}

bool cri_powell_exists(void) {
    return true;
}

cri_powell_report cri_powell_solve(int n, cri_powell_value *value, void *context, double tolerance,
                                   int most, double *x) {
    CR_ASSERT(n > 0 && n <= CRI_POWELL_MOST && value && tolerance > 0.0 && most > 0 && x);
    enum { N = CRI_POWELL_MOST };
    bridge b = {value, context};
    double out[N], diag[N], jac[N * N], r[N * (N + 1) / 2], qtf[N], work[4][N];
    cri_powell_report report = {0};
    // 100 bounds the first step, MINPACK's advice; 1: scales are its own
    int info = hybrd(call, &b, n, x, out, tolerance, most, n - 1, n - 1, 0.0, diag, 1, 100.0, 0,
                     &report.n_evaluation, jac, n, r, n * (n + 1) / 2, qtf, work[0], work[1],
                     work[2], work[3]);
    report.is_solved = info == 1;
    return report;
}

#else

bool cri_powell_exists(void) {
    return false;
}

cri_powell_report cri_powell_solve(int n, cri_powell_value *value, void *context, double tolerance,
                                   int most, double *x) {
    (void)n, (void)value, (void)context, (void)tolerance, (void)most, (void)x;
    CR_ASSERT(cri_powell_exists());
    return (cri_powell_report){0};
}

#endif
