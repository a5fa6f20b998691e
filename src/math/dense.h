// SPDX-License-Identifier: MIT
//
// Sums over short arrays. Four partial sums run side by side, always in the same order.

#pragma once

/// a . b
static inline double cri_dot(int n, const double *a, const double *b) {
    if (n == 3) {
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }
    double part[4] = {0.0, 0.0, 0.0, 0.0}, sum = 0.0;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int k = 0; k < 4; k++) {
            part[k] += a[i + k] * b[i + k];
        }
    }
    if (i > 0) {
        sum = (part[0] + part[2]) + (part[1] + part[3]);
    }
    for (; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/// y += k x. The arrays do not overlap.
static inline void cri_add_scaled(int n, double k, const double *restrict x, double *restrict y) {
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int j = 0; j < 4; j++) {
            y[i + j] += k * x[i + j];
        }
    }
    for (; i < n; i++) {
        y[i] += k * x[i];
    }
}
