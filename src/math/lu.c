// SPDX-License-Identifier: MIT
//
// P A = L U, L with unit diagonal, row by row (Gaussian elimination with partial pivoting).

#include "math/lu.h"

#include "base/base.h"

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
            for (int j = k + 1; factor != 0.0 && j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
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
        for (int j = 0; j < i; j++) {
            b[i] -= lu[i * n + j] * b[j];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) {
            b[i] -= lu[i * n + j] * b[j];
        }
        b[i] /= lu[i * n + i];
    }
}

void cri_lu_solve_transposed(int n, const double *lu, const int *pivot, double *b) {
    // U' y = b, L' x = y, exchanges backwards
    for (int i = 0; i < n; i++) {
        b[i] /= lu[i * n + i];
        for (int j = i + 1; j < n; j++) {
            b[j] -= lu[i * n + j] * b[i];
        }
    }
    for (int i = n - 1; i > 0; i--) {
        for (int j = 0; j < i; j++) {
            b[j] -= lu[i * n + j] * b[i];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        double t = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = t;
    }
}
