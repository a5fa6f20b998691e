// SPDX-License-Identifier: MIT
//
// Cholesky's factorisation on matrices made of a known factor, and on those that have none.

#include "base/math/dense_factor.h"

#include "cr_test.h"

#include <math.h>
#include <string.h>

enum { N_MOST = 20 };

// upper triangle of A = G G' + shift 1, G with n_column random columns; the lower one is NaN
static void fill(int n, int n_column, double shift, double *A, double *full) {
    double G[N_MOST * N_MOST];
    cr_test_rng rng = cr_test_rng_of(100 * (uint64_t)n + (uint64_t)n_column);
    for (int i = 0; i < n * n_column; i++) {
        G[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double sum = i == j ? shift : 0.0;
            for (int k = 0; k < n_column; k++) {
                sum += G[i * n_column + k] * G[j * n_column + k];
            }
            full[i * n + j] = sum;
            A[i * n + j] = i <= j ? sum : NAN;
        }
    }
}

TEST(a_planted_solution_is_found) {
    for (int n = 1; n <= N_MOST; n++) {
        double A[N_MOST * N_MOST], full[N_MOST * N_MOST], x[N_MOST], b[N_MOST];
        fill(n, n, 0.1, A, full);
        for (int i = 0; i < n; i++) {
            x[i] = sin(1.0 + i);
        }
        for (int i = 0; i < n; i++) {
            b[i] = 0.0;
            for (int j = 0; j < n; j++) {
                b[i] += full[i * n + j] * x[j];
            }
        }
        CHECK(cri_cholesky_factor(n, A));
        cri_cholesky_solve(n, A, b);
        for (int i = 0; i < n; i++) {
            CHECK_CLOSE(b[i], x[i], 1e-12, 0.0); // eps times the condition, 20 * 20/3 over 0.1
        }
        for (int i = 0; i < n * n; i++) {
            CHECK((i / n > i % n) == (isnan(A[i]) != 0));
        }
    }
}

TEST(a_matrix_that_is_not_positive_has_no_factor) {
    double A[9], full[9];
    static const double indefinite[4] = {1.0, 2.0, 2.0, 1.0}, zero[1] = {0.0}, tiny[1] = {1e-310};
    double two[4], one[1];
    memcpy(two, indefinite, sizeof two);
    CHECK(!cri_cholesky_factor(2, two));
    memcpy(one, zero, sizeof one);
    CHECK(!cri_cholesky_factor(1, one));
    memcpy(one, tiny, sizeof one); // its inverse overflows
    CHECK(!cri_cholesky_factor(1, one));
    one[0] = NAN;
    CHECK(!cri_cholesky_factor(1, one));
    one[0] = INFINITY;
    CHECK(!cri_cholesky_factor(1, one));
    // negative in the last pivot alone
    fill(3, 3, 0.1, A, full);
    A[8] -= 10.0;
    CHECK(!cri_cholesky_factor(3, A));
}

CR_TEST_MAIN(a_planted_solution_is_found, a_matrix_that_is_not_positive_has_no_factor)
