// SPDX-License-Identifier: MIT
//
// Solves for many columns against those for one, and sums over rows against plain ones.

#include "base/math/dense.h"
#include "base/math/dense_factor.h"

#include "base/arena.h"
#include "cr_test.h"

#include <math.h>

enum { N_MOST = 21, N_COLUMN = 7 };

// S = G G', G with rank random columns
static void fill_psd(int n, int rank, cr_test_rng *rng, double *S) {
    double G[N_MOST * N_MOST];
    for (int i = 0; i < n * rank; i++) {
        G[i] = cr_test_uniform(rng, -1.0, 1.0);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            S[i * n + j] = cri_dot(rank, G + i * rank, G + j * rank);
        }
    }
}

static double scale_of(int n, const double *x) {
    double scale = 1.0;
    for (int i = 0; i < n; i++) {
        scale = fmax(scale, fabs(x[i]));
    }
    return scale;
}

static void check_psd(int n, int rank) {
    double S[N_MOST * N_MOST], X[N_MOST * N_COLUMN], B[N_MOST * N_COLUMN];
    double work[2 * N_MOST * N_COLUMN], b[N_MOST], x[N_MOST];
    cr_test_rng rng = cr_test_rng_of(100 * (uint64_t)n + (uint64_t)rank);
    cr_arena *arena = cri_arena_create(cri_psd_bytes(n));
    assert_non_null(arena);
    fill_psd(n, rank, &rng, S);
    cri_psd psd = cri_psd_factor(n, S, 1e-9, arena);
    CHECK_INT(psd.rank, rank);
    for (int i = 0; i < n * N_COLUMN; i++) {
        X[i] = B[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    cri_psd_solve_many(&psd, N_COLUMN, X, work);
    for (int c = 0; c < N_COLUMN; c++) {
        for (int i = 0; i < n; i++) {
            b[i] = B[i * N_COLUMN + c];
        }
        cri_psd_solve(&psd, b, x, work);
        // another order of the same sums, whose terms are larger than x by the condition, 1e4
        double tolerance = 1e-11 * scale_of(n, x), gap[N_MOST];
        for (int i = 0; i < n; i++) {
            gap[i] = X[i * N_COLUMN + c] - x[i];
        }
        // the same but for what is in the null space
        for (int i = 0; i < n; i++) {
            CHECK_CLOSE(cri_dot(n, S + i * n, gap), 0.0, tolerance, 0.0);
        }
    }
    cri_arena_destroy(arena);
}

TEST(many_columns_of_a_pseudoinverse_are_those_of_one_by_one) {
    for (int n = 1; n <= N_MOST; n++) {
        check_psd(n, n);
        check_psd(n, (n + 1) / 2);
    }
}

TEST(many_columns_of_an_lu_solve_are_those_of_one_by_one) {
    cr_test_rng rng = cr_test_rng_of(7);
    for (int n = 1; n <= N_MOST; n++) {
        double A[N_MOST * N_MOST], B[N_MOST * N_COLUMN], X[N_MOST * N_COLUMN], b[N_MOST];
        int pivot[N_MOST];
        for (int i = 0; i < n * n; i++) {
            A[i] = cr_test_uniform(&rng, -1.0, 1.0);
        }
        for (int i = 0; i < n * N_COLUMN; i++) {
            X[i] = B[i] = cr_test_uniform(&rng, -1.0, 1.0);
        }
        CHECK(cri_lu_factor(n, A, pivot));
        cri_lu_solve_many(n, A, pivot, N_COLUMN, X);
        for (int c = 0; c < N_COLUMN; c++) {
            for (int i = 0; i < n; i++) {
                b[i] = B[i * N_COLUMN + c];
            }
            cri_lu_solve(n, A, pivot, b);
            double tolerance = 1e-12 * scale_of(n, b);
            for (int i = 0; i < n; i++) {
                CHECK_CLOSE(X[i * N_COLUMN + c], b[i], tolerance, 0.0);
            }
        }
    }
}

TEST(sums_over_rows_are_plain_sums) {
    cr_test_rng rng = cr_test_rng_of(8);
    double X[N_MOST * N_MOST], k[N_MOST];
    for (int i = 0; i < N_MOST * N_MOST; i++) {
        X[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    for (int i = 0; i < N_MOST; i++) {
        k[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    for (int n = 0; n <= N_MOST; n++) {
        // more rows than are gathered at once
        for (int n_row = 0; n_row <= N_MOST; n_row++) {
            double y[N_MOST + 1];
            for (int i = 0; i <= n; i++) {
                y[i] = 3.0;
            }
            cri_add_rows(n, n_row, -1.0, k, 1, X, n, y);
            for (int i = 0; i < n; i++) {
                double sum = 3.0;
                for (int r = 0; r < n_row; r++) {
                    sum -= k[r] * X[r * n + i];
                }
                CHECK_CLOSE(y[i], sum, 1e-14, 0.0);
            }
            CHECK_CLOSE(y[n], 3.0, 0.0, 0.0);
        }
    }
}

CR_TEST_MAIN(many_columns_of_a_pseudoinverse_are_those_of_one_by_one,
             many_columns_of_an_lu_solve_are_those_of_one_by_one, sums_over_rows_are_plain_sums)
