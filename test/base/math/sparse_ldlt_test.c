// SPDX-License-Identifier: MIT
//
// Sparse L D L' against dense LU with pivoting, on random patterns; what the order is worth; and
// matrices that have no factor.

#include "base/math/sparse_ldlt.h"

#include "base/math/dense_factor.h"
#include "cr_test.h"
#include "support/alloc_wrap.h"

#include <math.h>
#include <string.h>

enum { N_MOST = 60, N_RHS = 3 };

/// A symmetric matrix, dense and by its pattern.
typedef struct sample {
    int n;
    int first[N_MOST + 1], index[N_MOST * N_MOST];
    double value[N_MOST * N_MOST];
    double dense[N_MOST * N_MOST];
} sample;

static cri_pattern pattern_of(const sample *s) {
    return (cri_pattern){.n = s->n, .first = s->first, .index = s->index};
}

// the pattern and its values from the dense matrix; the diagonal is always there
static void read_off(sample *s) {
    int at = 0;
    for (int i = 0; i < s->n; i++) {
        s->first[i] = at;
        for (int j = 0; j < s->n; j++) {
            double a = s->dense[i * s->n + j];
            if (a != 0.0 || i == j) {
                s->index[at] = j;
                s->value[at++] = a;
            }
        }
    }
    s->first[s->n] = at;
}

// Diagonally dominant, with three other entries a row or so; rows from n_plus on have a negative
// diagonal, which makes it quasi-definite: the blocks on the diagonal are definite.
static void fill_random(sample *s, int n, int n_plus, uint64_t seed) {
    cr_test_rng rng = cr_test_rng_of(seed);
    *s = (sample){.n = n};
    for (int k = 0; k < 2 * n; k++) {
        int i = (int)cr_test_uniform(&rng, 0.0, n), j = (int)cr_test_uniform(&rng, 0.0, n);
        s->dense[i * n + j] = s->dense[j * n + i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    for (int i = 0; i < n; i++) {
        double sum = 0.1;
        for (int j = 0; j < n; j++) {
            sum += i == j ? 0.0 : fabs(s->dense[i * n + j]);
        }
        s->dense[i * n + i] = i < n_plus ? sum : -sum;
    }
    read_off(s);
}

static void check_solves(const sample *s, cri_ldlt *ldlt) {
    int n = s->n, pivot[N_MOST];
    double lu[N_MOST * N_MOST], x[N_RHS * N_MOST], y[N_RHS * N_MOST];
    memcpy(lu, s->dense, sizeof(double) * (size_t)(n * n));
    assert_true(cri_lu_factor(n, lu, pivot));
    CHECK_INT(cri_ldlt_factor(ldlt, s->value), -1);
    for (int i = 0; i < N_RHS * n; i++) {
        x[i] = y[i] = sin(1.0 + i);
    }
    cri_ldlt_solve(ldlt, N_RHS, x);
    for (int k = 0; k < N_RHS; k++) {
        cri_lu_solve(n, lu, pivot, y + k * n);
    }
    for (int i = 0; i < N_RHS * n; i++) {
        CHECK_CLOSE(x[i], y[i], 1e-12, 1e-12); // eps times a condition of about 100
    }
}

TEST(solutions_are_those_of_dense_pivoting) {
    cr_arena *arena = cri_arena_create(1 << 20);
    assert_non_null(arena);
    static sample s;
    for (int n = 1; n <= N_MOST; n++) {
        int n_plus = n % 2 ? n : n / 2;
        fill_random(&s, n, n_plus, (uint64_t)n);
        cri_pattern pattern = pattern_of(&s);
        cri_fill fill;
        cri_arena_reset(arena);
        assert_true(cri_arena_reserve(arena, cri_fill_bytes(n, s.first[n], n * n) +
                                                 cri_ldlt_bytes(n, n * n)));
        long n_call = cr_alloc_count();
        assert_true(cri_fill_find(&pattern, NULL, n * n, &fill, arena));
        cri_ldlt ldlt = cri_ldlt_push(&pattern, &fill, arena);
        check_solves(&s, &ldlt);
        CHECK_INT(cr_alloc_count(), n_call);
        CHECK_INT(ldlt.n_negative, n - n_plus); // Sylvester's law
        // other numbers, the same pattern
        for (int e = 0; e < s.first[n]; e++) {
            s.value[e] *= 2.0;
        }
        for (int i = 0; i < n * n; i++) {
            s.dense[i] *= 2.0;
        }
        check_solves(&s, &ldlt);
    }
    cri_arena_destroy(arena);
}

// Everything coupled with row 0 alone: eliminated first it fills the whole triangle, last it fills
// nothing.
TEST(the_order_keeps_an_arrow_sparse) {
    enum { N = 30 };
    cr_arena *arena = cri_arena_create(1 << 16);
    assert_non_null(arena);
    static sample s;
    s = (sample){.n = N};
    int natural[N];
    for (int i = 0; i < N; i++) {
        natural[i] = i;
        s.dense[i] = s.dense[i * N] = 1.0;
        s.dense[i * N + i] = N;
    }
    read_off(&s);
    cri_pattern pattern = pattern_of(&s);
    cri_fill fill;
    CHECK(!cri_fill_find(&pattern, natural, N * (N - 1) / 2 - 1, &fill, arena));
    CHECK(cri_fill_find(&pattern, natural, N * (N - 1) / 2, &fill, arena));
    CHECK_INT(fill.below_first[N], N * (N - 1) / 2);
#ifdef CAROM_HAS_AMD
    CHECK(cri_fill_find(&pattern, NULL, N - 1, &fill, arena));
    CHECK_INT(fill.below_first[N], N - 1);
    CHECK_INT(fill.order[fill.place[0]], 0);
#endif
    for (int k = 0; k < N; k++) {
        CHECK_INT(fill.place[fill.order[k]], k);
    }
    cri_arena_destroy(arena);
}

TEST(a_vanishing_pivot_names_its_row) {
    cr_arena *arena = cri_arena_create(1 << 16);
    assert_non_null(arena);
    static const int natural[3] = {0, 1, 2};
    // the third matrix has rank two, and its numbers are exact
    static const struct {
        double a[9];
        int row;
    } cases[] = {
        {{0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0}, 0},
        {{1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0}, 1},
        {{1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0}, 2},
        {{1.0, 0.0, 1.0, 0.0, NAN, 1.0, 1.0, 1.0, 2.0}, 1},
        {{1.0, 0.0, 1.0, 0.0, 1e-310, 1.0, 1.0, 1.0, 2.0}, 1},
    };
    for (int k = 0; k < (int)(sizeof cases / sizeof cases[0]); k++) {
        static sample s;
        s = (sample){.n = 3};
        memcpy(s.dense, cases[k].a, sizeof cases[k].a);
        read_off(&s);
        cri_pattern pattern = pattern_of(&s);
        cri_fill fill;
        assert_true(cri_fill_find(&pattern, natural, 3, &fill, arena));
        cri_ldlt ldlt = cri_ldlt_push(&pattern, &fill, arena);
        CHECK_INT(cri_ldlt_factor(&ldlt, s.value), cases[k].row);
    }
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(solutions_are_those_of_dense_pivoting, the_order_keeps_an_arrow_sparse,
             a_vanishing_pivot_names_its_row)
