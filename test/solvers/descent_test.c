// SPDX-License-Identifier: MIT
//
// A few steps of descent in place of a solve.

#include "cr_test.h"

#include "base/math/dense_factor.h"
#include "solvers/descent.h"

#include <math.h>
#include <string.h>

enum { N = 3 };

static const double H[N * N] = {4.0, 1.0, -0.5, 1.0, 3.0, 0.25, -0.5, 0.25, 2.0};

static void unroll(int n_step, const double b[N], double out[N]) {
    static const int first[3] = {0, 1, N};
    const cri_groups groups = {2, first};
    cri_block_factor factor;
    cr_arena *scratch = cri_arena_create(1 << 12);
    memcpy(out, b, N * sizeof *out);
    assert_true(scratch && cri_block_factor_push(&groups, scratch, &factor));
    CHECK_INT(cri_block_factor_make(&factor, H, scratch), N);
    assert_true(cri_descent_unroll(&factor, n_step, out, scratch));
    cri_arena_destroy(scratch);
}

TEST(one_step_is_scaled_by_sums_of_rows) {
    const double b[N] = {1.0, -2.0, 0.5}, sum[N] = {5.5, 4.25, 2.75};
    double z[N];
    unroll(1, b, z);
    for (int i = 0; i < N; i++) {
        CHECK_CLOSE(z[i], b[i] / sum[i], 1e-14, 1e-14);
    }
}

TEST(two_steps_are_written_out) {
    const double b[N] = {1.0, -2.0, 0.5}, sum[N] = {5.5, 4.25, 2.75};
    double z[N], first[N];
    unroll(1, b, first);
    unroll(2, b, z);
    for (int i = 0; i < N; i++) {
        double left = b[i];
        for (int j = 0; j < N; j++) {
            left -= H[N * i + j] * first[j];
        }
        CHECK_CLOSE(z[i], first[i] + left / sum[i], 1e-14, 1e-14);
    }
}

TEST(many_steps_solve) {
    const double b[N] = {1.0, -2.0, 0.5};
    double z[N], factor[N * N], x[N];
    memcpy(factor, H, sizeof factor);
    memcpy(x, b, sizeof x);
    assert_true(cri_cholesky_factor(N, factor));
    cri_cholesky_solve(N, factor, x);
    unroll(200, b, z);
    for (int i = 0; i < N; i++) {
        CHECK_CLOSE(z[i], x[i], 1e-13, 1e-13);
    }
}

TEST(a_few_steps_are_symmetric) {
    double z[N][N];
    for (int i = 0; i < N; i++) {
        double b[N] = {0};
        b[i] = 1.0;
        unroll(5, b, z[i]);
    }
    for (int i = 0; i < N * N; i++) {
        CHECK_CLOSE(z[i / N][i % N], z[i % N][i / N], 1e-15, 1e-14);
    }
}

CR_TEST_MAIN(one_step_is_scaled_by_sums_of_rows, two_steps_are_written_out, many_steps_solve,
             a_few_steps_are_symmetric)
