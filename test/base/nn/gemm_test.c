// SPDX-License-Identifier: MIT
//
// Products of every kind of shape against three loops.

#include "base/nn/gemm.h"

#include "cr_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void multiply(int m, int n, int k, const double *A, const double *B, double *C,
                      bool is_adding);

static const struct {
    multiply *call;
    bool is_a_turned, is_b_turned;
} kind[] = {{cri_gemm_nt, false, true}, {cri_gemm_nn, false, false}, {cri_gemm_tn, true, false}};

static double *random_numbers(int n, uint64_t seed) {
    cr_test_rng rng = cr_test_rng_of(seed);
    double *out = malloc(sizeof *out * (size_t)(n + 1));
    assert_non_null(out);
    for (int i = 0; i < n; i++) {
        out[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    return out;
}

// the largest error of a product of one kind and shape, whose C stands between two guards
static double error_of(int v, int m, int n, int k, bool is_adding) {
    double *A = random_numbers(m * k, 1), *B = random_numbers(k * n, 2);
    double *C = random_numbers(m * n + 2, 3), *before = random_numbers(m * n + 2, 3);
    kind[v].call(m, n, k, A, B, C + 1, is_adding);
    double worst = C[0] == before[0] && C[m * n + 1] == before[m * n + 1] ? 0.0 : (double)INFINITY;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = is_adding ? before[1 + i * n + j] : 0.0;
            for (int p = 0; p < k; p++) {
                sum += A[kind[v].is_a_turned ? p * m + i : i * k + p] *
                       B[kind[v].is_b_turned ? j * k + p : p * n + j];
            }
            worst = fmax(worst, fabs(C[1 + i * n + j] - sum));
        }
    }
    free(A);
    free(B);
    free(C);
    free(before);
    return worst;
}

TEST(products_of_all_small_shapes_are_right) {
    static const int size[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 17, 41};
    const int n_size = (int)(sizeof size / sizeof *size);
    for (int c = 0; c < n_size * n_size * n_size; c++) {
        int m = size[c % n_size], n = size[c / n_size % n_size], k = size[c / n_size / n_size];
        for (int v = 0; v < 3; v++) {
            CHECK_CLOSE(error_of(v, m, n, k, false), 0.0, 4e-14, 0.0); // 41 products below 1
            CHECK_CLOSE(error_of(v, m, n, k, true), 0.0, 1e-14, 0.0);
        }
    }
}

TEST(products_of_large_shapes_are_right) {
    // the last two are for BLAS, where it is
    static const int shape[][3] = {{32, 100, 100}, {33, 1, 700},    {40, 3, 300},
                                   {50, 90, 600},  {200, 130, 257}, {130, 170, 190}};
    for (int i = 0; i < 6; i++) {
        for (int v = 0; v < 6; v++) {
            CHECK_CLOSE(error_of(v % 3, shape[i][0], shape[i][1], shape[i][2], v / 3), 0.0, 1e-12,
                        0.0); // 700 products below 1
        }
    }
    if (!cri_gemm_has_blas()) {
        SKIP("large products by BLAS: there is none, or none for this processor");
    }
}

// sums over k in order, whatever the tiles, but for products of one column, which have eight parts:
// below the size that is left to BLAS, no bit differs
TEST(every_number_is_one_sum_in_order) {
    static const int shape[][3] = {{1, 45, 70},   {2, 45, 70},    {3, 45, 70},  {25, 100, 80},
                                   {100, 90, 50}, {100, 64, 300}, {53, 41, 33}, {8, 400, 256}};
    for (int i = 0; i < 8; i++) {
        for (int v = 0; v < 6; v++) {
            CHECK(error_of(v % 3, shape[i][0], shape[i][1], shape[i][2], v / 3) == 0.0);
        }
    }
}

TEST(a_row_does_not_depend_on_the_others) {
    enum { M = 23, N = 19, K = 300 };
    double *A = random_numbers(M * K, 4), *B = random_numbers(N * K, 5);
    for (int n = 1; n <= N; n += 6) {
        double all[M * N], one[N];
        cri_gemm_nt(M, n, K, A, B, all, false);
        for (int i = 0; i < M; i++) {
            cri_gemm_nt(1, n, K, A + i * K, B, one, false);
            CHECK(memcmp(one, all + i * n, sizeof *one * (size_t)n) == 0);
        }
    }
    free(A);
    free(B);
}

TEST(sums_of_rows_add) {
    static const double A[6] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
    double sum[3] = {0.5, 0.0, -1.0};
    cri_sum_rows(2, 3, A, sum);
    CHECK(sum[0] == 5.5 && sum[1] == 7.0 && sum[2] == 8.0);
}

CR_TEST_MAIN(products_of_all_small_shapes_are_right, products_of_large_shapes_are_right,
             every_number_is_one_sum_in_order, a_row_does_not_depend_on_the_others,
             sums_of_rows_add)
