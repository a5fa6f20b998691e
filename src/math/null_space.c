// SPDX-License-Identifier: MIT
//
// P'S P = [L11; L21] [L11' L21'] + (rest below the tolerance). Null vectors are
//
//   P [-L11^-T L21' e_k; e_k]

#include "math/null_space.h"

#include "base/arena.h"
#include "base/base.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

int cri_orthonormalise(double *Z, int k, int n) {
    CR_ASSERT(Z && k >= 0);
    double *z = Z + (size_t)k * (size_t)n;
    double before = cri_dot(n, z, z);
    // the second pass removes what rounding left of the first
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < k; r++) {
            const double *y = Z + (size_t)r * (size_t)n;
            double along = cri_dot(n, y, z);
            for (int i = 0; i < n; i++) {
                z[i] -= along * y[i];
            }
        }
    }
    double norm = cri_dot(n, z, z);
    // 1e-16: the rest is rounding of what was subtracted
    if (!(norm > 1e-16 * before)) {
        return 0;
    }
    double inverse = 1.0 / sqrt(norm);
    for (int i = 0; i < n; i++) {
        z[i] *= inverse;
    }
    return 1;
}

static void swap(double *a, double *b) {
    double t = *a;
    *a = *b;
    *b = t;
}

// exchanges rows and columns i < k of the lower triangle
static void exchange(int n, double *S, int i, int k) {
    for (int j = 0; j < i; j++) {
        swap(&S[i * n + j], &S[k * n + j]);
    }
    swap(&S[i * n + i], &S[k * n + k]);
    for (int j = i + 1; j < k; j++) {
        swap(&S[j * n + i], &S[k * n + j]);
    }
    for (int j = k + 1; j < n; j++) {
        swap(&S[j * n + i], &S[j * n + k]);
    }
}

// L in the lower triangle of S, order of the rows; returns the rank
static int factor(int n, double *S, double tolerance, int *order) {
    double first = 0.0;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            best = S[i * n + i] > S[best * n + best] ? i : best;
        }
        double pivot = S[best * n + best];
        first = k == 0 ? pivot : first;
        if (!(pivot > tolerance * first) || !(pivot > 0.0)) {
            return k;
        }
        if (best != k) {
            exchange(n, S, k, best);
            int t = order[k];
            order[k] = order[best];
            order[best] = t;
        }
        double root = sqrt(pivot), inverse = 1.0 / root;
        S[k * n + k] = root;
        for (int i = k + 1; i < n; i++) {
            S[i * n + k] *= inverse;
        }
        for (int i = k + 1; i < n; i++) {
            double x = S[i * n + k];
            for (int j = k + 1; x != 0.0 && j <= i; j++) {
                S[i * n + j] -= x * S[j * n + k];
            }
        }
    }
    return n;
}

int cri_psd_null_space(int n, double *S, double tolerance, double *Z, struct cr_arena *scratch) {
    CR_ASSERT(n > 0 && S && Z && scratch);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int *order = CR_PUSH_RAW(scratch, int, n);
    double *y = CR_PUSH_RAW(scratch, double, n);
    for (int i = 0; i < n; i++) {
        order[i] = i;
    }
    int rank = factor(n, S, tolerance, order), n_null = 0;
    for (int k = rank; k < n; k++) {
        double *z = Z + (size_t)n_null * (size_t)n;
        memset(z, 0, sizeof *z * (size_t)n);
        for (int i = 0; i < rank; i++) {
            y[i] = -S[k * n + i];
        }
        // L11' x = y, row by row from the last
        for (int i = rank - 1; i >= 0; i--) {
            y[i] /= S[i * n + i];
            for (int j = 0; j < i; j++) {
                y[j] -= S[i * n + j] * y[i];
            }
            z[order[i]] = y[i];
        }
        z[order[k]] = 1.0;
        n_null += cri_orthonormalise(Z, n_null, n);
    }
    cri_arena_rewind(scratch, mark);
    return n_null;
}
