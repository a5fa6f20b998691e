// SPDX-License-Identifier: MIT
//
// Sums over short arrays, in the order of their entries.

#pragma once

/// a . b
static inline double cri_dot(int n, const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}
