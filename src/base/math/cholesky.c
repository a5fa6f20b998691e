// SPDX-License-Identifier: MIT
//
// A = U' D U with unit upper U, the form of Cholesky's factorisation without square roots. Row k of
// the factor holds the row k of D U behind the diagonal, and 1/d_k on it.
//
// Rows are eliminated from those below them, so that inner loops run along rows and their terms
// are independent.

#include "base/math/cholesky.h"

#include "base/base.h"
#include "base/math/dense.h"

#include <math.h>

bool cri_cholesky_factor(int n, double *a) {
    return cri_cholesky_rows(n, a) == n;
}

int cri_cholesky_rows(int n, double *a) {
    CR_ASSERT(n > 0 && a);
    for (int k = 0; k < n; k++) {
        double *row = a + (size_t)k * (size_t)n;
        double pivot = row[k], inverse = 1.0 / pivot;
        // a pivot so small that its inverse overflows is none
        if (!(pivot > 0.0) || !isfinite(pivot) || !isfinite(inverse)) {
            return k;
        }
        row[k] = inverse;
        for (int i = k + 1; i < n; i++) {
            double *below = a + (size_t)i * (size_t)n;
            cri_add_scaled(n - i, -row[i] * inverse, row + i, below + i);
        }
    }
    return n;
}

void cri_cholesky_solve(int n, const double *factor, double *b) {
    // U' y = b
    for (int k = 0; k < n; k++) {
        const double *row = factor + (size_t)k * (size_t)n;
        cri_add_scaled(n - k - 1, -b[k] * row[k], row + k + 1, b + k + 1);
    }
    // D U x = y
    for (int k = n - 1; k >= 0; k--) {
        const double *row = factor + (size_t)k * (size_t)n;
        double sum = b[k];
        for (int j = k + 1; j < n; j++) {
            sum -= row[j] * b[j];
        }
        b[k] = sum * row[k];
    }
}
