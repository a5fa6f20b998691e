// SPDX-License-Identifier: MIT
//
// The pseudoinverse against the equations that define it, on matrices of known rank.

#include "base/math/dense_factor.h"

#include "base/arena.h"
#include "base/math/dense.h"
#include "cr_test.h"

#include <math.h>

enum { N_MOST = 24 };

/// S of known rank, its factor, and a vector.
typedef struct fixture {
    int n;
    double S[N_MOST * N_MOST], b[N_MOST], work[2 * N_MOST];
    cri_psd psd;
    cr_arena *arena;
} fixture;

// S = G G', G with rank random columns; every third row and column is spread times as large
static void open_fixture(fixture *f, int n, int rank, double spread) {
    double G[N_MOST * N_MOST];
    cr_test_rng rng = cr_test_rng_of(100 * (uint64_t)n + (uint64_t)rank);
    f->n = n;
    for (int i = 0; i < n * rank; i++) {
        G[i] = cr_test_uniform(&rng, -1.0, 1.0) * ((i / rank) % 3 == 0 ? spread : 1.0);
    }
    for (int i = 0; i < n; i++) {
        f->b[i] = cr_test_uniform(&rng, -1.0, 1.0);
        for (int j = 0; j < n; j++) {
            f->S[i * n + j] = cri_dot(rank, G + i * rank, G + j * rank);
        }
    }
    f->arena = cri_arena_create(cri_psd_bytes(n));
    assert_non_null(f->arena);
    f->psd = cri_psd_factor(n, f->S, 1e-11, f->arena);
}

static void close_fixture(fixture *f) {
    cri_arena_destroy(f->arena);
}

static double size_of(int n, const double *x) {
    return sqrt(cri_dot(n, x, x));
}

// S S^+ b = b - z with z the null part: S z = 0, S^+ z = 0, and S^+ b has no null part
static void check_equations(fixture *f) {
    int n = f->n;
    double x[N_MOST], z[N_MOST], other[N_MOST];
    cri_psd_solve(&f->psd, f->b, x, f->work);
    cri_psd_null_part(&f->psd, f->b, z, f->work);
    // eps times the largest condition met, that of the square matrices
    double size = size_of(n, x), tolerance = 1e-11 * (1.0 + size);
    for (int i = 0; i < n; i++) {
        const double *row = f->S + i * n;
        double scale = size_of(n, row);
        CHECK_CLOSE(cri_dot(n, row, x), f->b[i] - z[i], tolerance * scale, 0.0);
        CHECK_CLOSE(cri_dot(n, row, z), 0.0, 1e-13 * scale, 0.0);
    }
    cri_psd_null_part(&f->psd, x, other, f->work);
    CHECK(size_of(n, other) <= 1e-12 * size);
    cri_psd_solve(&f->psd, z, other, f->work);
    CHECK(size_of(n, other) <= tolerance);
    cri_psd_null_part(&f->psd, z, other, f->work);
    for (int i = 0; i < n; i++) {
        CHECK_CLOSE(other[i], z[i], 1e-13, 0.0);
    }
}

TEST(the_pseudoinverse_keeps_its_equations) {
    fixture f;
    for (int n = 1; n <= N_MOST; n++) {
        for (int rank = (n + 3) / 4; rank <= n; rank += (n + 3) / 4) {
            open_fixture(&f, n, rank, 1.0);
            CHECK_INT(f.psd.rank, rank);
            check_equations(&f);
            close_fixture(&f);
        }
    }
}

TEST(rows_of_unlike_size_keep_them_too) {
    fixture f;
    for (int n = 6; n <= N_MOST; n += 3) {
        open_fixture(&f, n, n / 2, 1e3);
        CHECK_INT(f.psd.rank, n / 2);
        check_equations(&f);
        close_fixture(&f);
    }
}

TEST(of_a_matrix_of_zeros_all_is_null) {
    fixture f;
    double x[3], z[3];
    open_fixture(&f, 3, 1, 0.0);
    for (int i = 0; i < 9; i++) {
        f.S[i] = 0.0;
    }
    cri_arena_reset(f.arena);
    f.psd = cri_psd_factor(3, f.S, 1e-11, f.arena);
    CHECK_INT(f.psd.rank, 0);
    cri_psd_solve(&f.psd, f.b, x, f.work);
    cri_psd_null_part(&f.psd, f.b, z, f.work);
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(x[i], 0.0, 0.0, 0.0);
        CHECK_CLOSE(z[i], f.b[i], 0.0, 0.0);
    }
    close_fixture(&f);
}

// X'X is beyond all numbers: 2^1992
TEST(rows_beyond_all_scales_give_numbers) {
    static const double S[4] = {0x1p-996, 1.0, 1.0, 0x1p996}, b[2] = {0x1p-996, 1.0};
    double x[2], work[4];
    cr_arena *arena = cri_arena_create(cri_psd_bytes(2));
    assert_non_null(arena);
    const cri_psd psd = cri_psd_factor(2, S, 1e-11, arena);
    CHECK_INT(psd.rank, 1);
    cri_psd_solve(&psd, b, x, work);
    CHECK_CLOSE(x[0], 1.0, 1e-12, 0.0);
    CHECK_CLOSE(x[1], 0.0, 0.0, 0.0);
    cri_psd_null_part(&psd, b, x, work);
    CHECK(isfinite(x[0]) && isfinite(x[1]));
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(the_pseudoinverse_keeps_its_equations, rows_of_unlike_size_keep_them_too,
             of_a_matrix_of_zeros_all_is_null, rows_beyond_all_scales_give_numbers)
