// SPDX-License-Identifier: MIT
//
// P A = L U, L with unit diagonal, row by row (Gaussian elimination with partial pivoting).

#include "base/math/lu.h"

#include "base/base.h"
#include "base/math/dense.h"

#include <math.h>

static void swap_rows(int n, double *a, int i, int k) {
    for (int j = 0; j < n; j++) {
        double t = a[i * n + j];
        a[i * n + j] = a[k * n + j];
        a[k * n + j] = t;
    }
}

bool cri_lu_factor(int n, double *a, int *pivot) {
    CR_ASSERT(n > 0 && a && pivot);
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) {
                best = i;
            }
        }
        pivot[k] = best;
        if (best != k) {
            swap_rows(n, a, best, k);
        }
        double inverse = 1.0 / a[k * n + k];
        if (!isfinite(inverse)) {
            return false;
        }
        for (int i = k + 1; i < n; i++) {
            double factor = a[i * n + k] *= inverse;
            if (factor != 0.0) {
                cri_add_scaled(n - k - 1, -factor, a + k * n + k + 1, a + i * n + k + 1);
            }
        }
    }
    return true;
}

void cri_lu_solve(int n, const double *lu, const int *pivot, double *b) {
    for (int k = 0; k < n; k++) {
        double t = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = t;
    }
    for (int i = 1; i < n; i++) {
        b[i] -= cri_dot(i, lu + i * n, b);
    }
    for (int i = n - 1; i >= 0; i--) {
        b[i] = (b[i] - cri_dot(n - i - 1, lu + i * n + i + 1, b + i + 1)) / lu[i * n + i];
    }
}

void cri_lu_solve_many(int n, const double *lu, const int *pivot, int n_column, double *B) {
    CR_ASSERT(n > 0 && lu && pivot && n_column > 0 && B);
    size_t width = (size_t)n_column;
    for (int k = 0; k < n; k++) {
        double *a = B + (size_t)k * width, *b = B + (size_t)pivot[k] * width;
        for (int c = 0; a != b && c < n_column; c++) {
            double t = a[c];
            a[c] = b[c];
            b[c] = t;
        }
    }
    for (int i = 1; i < n; i++) {
        cri_add_rows(n_column, i, -1.0, lu + i * n, 1, B, n_column, B + (size_t)i * width);
    }
    for (int i = n - 1; i >= 0; i--) {
        double *b = B + (size_t)i * width, inverse = 1.0 / lu[i * n + i];
        cri_add_rows(n_column, n - i - 1, -1.0, lu + i * n + i + 1, 1, b + width, n_column, b);
        for (int c = 0; c < n_column; c++) {
            b[c] *= inverse;
        }
    }
}

void cri_lu_solve_transposed(int n, const double *lu, const int *pivot, double *b) {
    for (int i = 0; i < n; i++) {
        b[i] /= lu[i * n + i];
        cri_add_scaled(n - i - 1, -b[i], lu + i * n + i + 1, b + i + 1);
    }
    for (int i = n - 1; i > 0; i--) {
        cri_add_scaled(i, -b[i], lu + i * n, b);
    }
    for (int k = n - 1; k >= 0; k--) {
        double t = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = t;
    }
}

double cri_lu_pivot_ratio(int n, const double *lu) {
    double least = INFINITY, largest = 0.0;
    for (int i = 0; i < n; i++) {
        least = fmin(least, fabs(lu[i * n + i]));
        largest = fmax(largest, fabs(lu[i * n + i]));
    }
    return largest > 0.0 ? least / largest : 0.0;
}
