// SPDX-License-Identifier: MIT
//
// Sums over short arrays. Four partial sums run side by side, always in the same order. What is
// left of four is written out: compilers would make a loop over up to three numbers a long one.

#pragma once

#include <string.h>

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
    if (n & 2) {
        sum += a[i] * b[i];
        sum += a[i + 1] * b[i + 1];
        i += 2;
    }
    if (n & 1) {
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
    if (n & 2) {
        y[i] += k * x[i];
        y[i + 1] += k * x[i + 1];
        i += 2;
    }
    if (n & 1) {
        y[i] += k * x[i];
    }
}

/// X (n_row, n) = 0, row by row: short pieces are cleared without the start-up of a long one.
static inline void cri_clear_rows(int n_row, int n, double *X) {
    for (int r = 0; r < n_row; r++) {
        memset(X + (long)r * n, 0, sizeof *X * (size_t)n);
    }
}

/// Arrays that callers of cri_add_combination gather at once.
enum { CRI_MAX_ROWS = 16 };

/// y += k[0] x[0] + ... over n_row arrays of n numbers, four at a time.
static inline void cri_add_combination(int n, int n_row, const double *k, const double *const *x,
                                       double *restrict y) {
    int r = 0;
    for (; r + 4 <= n_row; r += 4) {
        const double *a = x[r], *b = x[r + 1], *c = x[r + 2], *d = x[r + 3];
        double ka = k[r], kb = k[r + 1], kc = k[r + 2], kd = k[r + 3];
        int i = 0;
        for (; i + 2 <= n; i += 2) {
            double y0 = y[i] + ka * a[i], y1 = y[i + 1] + ka * a[i + 1];
            y0 += kb * b[i], y1 += kb * b[i + 1];
            y0 += kc * c[i], y1 += kc * c[i + 1];
            y[i] = y0 + kd * d[i], y[i + 1] = y1 + kd * d[i + 1];
        }
        if (i < n) {
            y[i] = y[i] + ka * a[i] + kb * b[i] + kc * c[i] + kd * d[i];
        }
    }
    for (; r < n_row; r++) {
        cri_add_scaled(n, k[r], x[r], y);
    }
}

/// y += scale (k[0] x_0 + k[step] x_1 + ...) over n_row rows of X, n numbers each and stride
/// apart, four at a time.
static inline void cri_add_rows(int n, int n_row, double scale, const double *k, int step,
                                const double *X, int stride, double *restrict y) {
    int r = 0;
    for (; r + 4 <= n_row; r += 4, k += 4 * (long)step, X += 4 * (long)stride) {
        const double *a = X, *b = a + stride, *c = b + stride, *d = c + stride;
        double ka = scale * k[0], kb = scale * k[step];
        double kc = scale * k[2 * (long)step], kd = scale * k[3 * (long)step];
        int i = 0;
        for (; i + 4 <= n; i += 4) {
            for (int j = i; j < i + 4; j++) {
                y[j] = y[j] + ka * a[j] + kb * b[j] + kc * c[j] + kd * d[j];
            }
        }
        if (n & 2) {
            for (int j = i; j < i + 2; j++) {
                y[j] = y[j] + ka * a[j] + kb * b[j] + kc * c[j] + kd * d[j];
            }
            i += 2;
        }
        if (n & 1) {
            y[i] = y[i] + ka * a[i] + kb * b[i] + kc * c[i] + kd * d[i];
        }
    }
    for (; r < n_row; r++, k += step, X += stride) {
        cri_add_scaled(n, scale * k[0], X, y);
    }
}
