// SPDX-License-Identifier: MIT
//
// The factor over groups against the dense one: the same solutions whatever is coupled, the same
// bits where everything is, and as little work as the couplings leave.

#include "base/math/sparse_ldlt.h"

#include "base/math/dense_factor.h"
#include "cr_test.h"
#include "support/alloc_wrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_GROUP = 12, N_MOST = 6 * N_GROUP };

/// A matrix over groups of one to six unknowns.
typedef struct sample {
    int n, n_group;
    int first[N_GROUP + 1];
    double H[N_MOST * N_MOST];
} sample;

// positive definite; each two groups are coupled with the chance
static void fill_random(sample *s, int n_group, double chance, cr_test_rng *rng) {
    *s = (sample){.n_group = n_group};
    for (int i = 0; i < n_group; i++) {
        s->first[i + 1] = s->first[i] + 1 + (int)cr_test_uniform(rng, 0.0, 6.0);
    }
    int n = s->n = s->first[n_group];
    for (int a = 0; a < n_group; a++) {
        for (int b = a; b < n_group; b++) {
            if (a != b && cr_test_uniform(rng, 0.0, 1.0) >= chance) {
                continue;
            }
            for (int i = s->first[a]; i < s->first[a + 1]; i++) {
                for (int j = s->first[b]; j < s->first[b + 1]; j++) {
                    s->H[i * n + j] = s->H[j * n + i] = cr_test_uniform(rng, -1.0, 1.0);
                }
            }
        }
    }
    for (int i = 0; i < n; i++) {
        double sum = 0.1;
        for (int j = 0; j < n; j++) {
            sum += i == j ? 0.0 : fabs(s->H[i * n + j]);
        }
        s->H[i * n + i] = sum;
    }
}

static cri_groups groups_of(const sample *s) {
    return (cri_groups){s->n_group, s->first};
}

static void check_solves(const sample *s, const cri_block_factor *f, double tolerance) {
    int n = s->n;
    static double dense[N_MOST * N_MOST];
    double x[N_MOST], y[N_MOST], b[N_MOST], back[N_MOST];
    memcpy(dense, s->H, sizeof(double) * (size_t)(n * n));
    assert_true(cri_cholesky_factor(n, dense));
    for (int i = 0; i < n; i++) {
        b[i] = x[i] = y[i] = sin(1.0 + i);
    }
    cri_block_factor_solve(f, x);
    cri_cholesky_solve(n, dense, y);
    cri_block_factor_multiply(f, x, back);
    for (int i = 0; i < n; i++) {
        CHECK_CLOSE(x[i], y[i], tolerance, tolerance);
        CHECK_CLOSE(back[i], b[i], 1e-12, 1e-12); // eps times a condition of about 100
    }
}

TEST(solutions_are_those_of_the_dense_factor) {
    cr_test_rng rng = cr_test_rng_of(5);
    cr_arena *arena = cri_arena_create(1 << 20), *scratch = cri_arena_create(1 << 20);
    static sample s;
    for (int k = 0; k < 60; k++) {
        cri_block_factor f, kept;
        cri_arena_reset(arena);
        fill_random(&s, 1 + k % N_GROUP, k % 4 * 0.25, &rng);
        cri_groups groups = groups_of(&s);
        assert_true(cri_block_factor_push(&groups, arena, &f));
        long n_call = cr_alloc_count();
        CHECK_INT(cri_block_factor_make(&f, s.H, scratch), s.n);
        CHECK_INT(cr_alloc_count(), n_call);
        check_solves(&s, &f, 1e-12);
        assert_true(cri_block_factor_keep(&f, arena, &kept));
        memset(f.value, 0, sizeof *f.value * (size_t)(s.n * s.n));
        check_solves(&s, &kept, 1e-12);
    }
    cri_arena_destroy(arena);
    cri_arena_destroy(scratch);
}

TEST(couplings_may_come_and_go) {
    cr_test_rng rng = cr_test_rng_of(6);
    cr_arena *arena = cri_arena_create(1 << 20), *scratch = cri_arena_create(1 << 20);
    static sample s, other;
    cri_block_factor f;
    fill_random(&s, N_GROUP, 0.2, &rng);
    cri_groups groups = groups_of(&s);
    assert_true(cri_block_factor_push(&groups, arena, &f));
    for (int k = 0; k < 20; k++) {
        // another matrix over the same groups: a part of the couplings, and others
        int n = s.n, a = k % N_GROUP, b = (5 * k + 3) % N_GROUP;
        other = s;
        for (int i = s.first[a]; a != b && i < s.first[a + 1]; i++) {
            for (int j = s.first[b]; j < s.first[b + 1]; j++) {
                double value = s.H[i * n + j] == 0.0 ? 0.01 : 0.0;
                other.H[i * n + j] = other.H[j * n + i] = value;
            }
        }
        CHECK_INT(cri_block_factor_make(&f, other.H, scratch), n);
        check_solves(&other, &f, 1e-12);
    }
    cri_arena_destroy(arena);
    cri_arena_destroy(scratch);
}

TEST(where_all_are_coupled_bits_are_the_dense_ones) {
    cr_test_rng rng = cr_test_rng_of(7);
    cr_arena *arena = cri_arena_create(1 << 20), *scratch = cri_arena_create(1 << 20);
    static sample s;
    cri_block_factor f;
    fill_random(&s, N_GROUP, 1.0, &rng);
    cri_groups groups = groups_of(&s);
    assert_true(cri_block_factor_push(&groups, arena, &f));
    CHECK_INT(cri_block_factor_make(&f, s.H, scratch), s.n);
    check_solves(&s, &f, 0.0);
    CHECK(f.n_times == s.n * (s.n * s.n - 1.0) / 6.0);
    cri_arena_destroy(arena);
    cri_arena_destroy(scratch);
}

// n groups of six, each coupled with the next one: the factor has the blocks of the matrix
TEST(a_row_costs_as_much_as_it_is_long) {
    cr_arena *arena = cri_arena_create(1 << 20), *scratch = cri_arena_create(1 << 20);
    double times[2];
    for (int k = 0; k < 2; k++) {
        static sample s;
        cri_block_factor f;
        int n_group = s.n_group = (k + 1) * N_GROUP / 2, n = s.n = 6 * n_group;
        memset(s.H, 0, sizeof s.H);
        for (int i = 0; i < n; i++) {
            s.first[i / 6 + 1] = i + 1 - i % 6 + 5;
            for (int j = 0; j < n; j++) {
                int apart = abs(i / 6 - j / 6);
                s.H[i * n + j] = i == j ? 20.0 : apart > 1 ? 0.0 : cos(i + j);
            }
        }
        cri_groups groups = groups_of(&s);
        assert_true(cri_block_factor_push(&groups, arena, &f));
        CHECK_INT(cri_block_factor_make(&f, s.H, scratch), n);
        check_solves(&s, &f, 1e-12);
        CHECK_INT(f.n_value, 36 * (2 * n_group - 1));
        times[k] = f.n_times;
    }
    // twice as long, and a little for the ends
    CHECK(times[1] < 2.3 * times[0]);
    CHECK(times[1] < 0.15 * N_MOST * (N_MOST * N_MOST - 1.0) / 6.0);
    cri_arena_destroy(arena);
    cri_arena_destroy(scratch);
}

#ifdef CAROM_HAS_AMD
// everything is coupled with the first group alone, which must come last
TEST(an_arrow_is_turned_round) {
    cr_arena *arena = cri_arena_create(1 << 20), *scratch = cri_arena_create(1 << 20);
    static sample s;
    cri_block_factor f;
    s = (sample){.n = 2 * N_GROUP, .n_group = N_GROUP};
    for (int i = 0; i < s.n; i++) {
        s.first[i / 2 + 1] = i + 2 - i % 2;
        for (int j = 0; j < s.n; j++) {
            bool is_coupled = i / 2 == j / 2 || i / 2 == 0 || j / 2 == 0;
            s.H[i * s.n + j] = i == j ? 40.0 : is_coupled ? sin(i + j) : 0.0;
        }
    }
    cri_groups groups = groups_of(&s);
    assert_true(cri_block_factor_push(&groups, arena, &f));
    CHECK_INT(cri_block_factor_make(&f, s.H, scratch), s.n);
    check_solves(&s, &f, 1e-12);
    CHECK_INT(f.n_value, 4 * (2 * N_GROUP - 1));
    cri_arena_destroy(arena);
    cri_arena_destroy(scratch);
}
#else
TEST(an_arrow_is_turned_round) {
}
#endif

TEST(a_bad_pivot_is_that_of_the_unknown) {
    cr_test_rng rng = cr_test_rng_of(8);
    cr_arena *arena = cri_arena_create(1 << 20), *scratch = cri_arena_create(1 << 20);
    static sample s;
    for (int k = 0; k < N_GROUP; k++) {
        cri_block_factor f;
        fill_random(&s, N_GROUP, 0.2, &rng);
        cri_groups groups = groups_of(&s);
        assert_true(cri_block_factor_push(&groups, arena, &f));
        int bad = s.first[k];
        s.H[bad * s.n + bad] = k % 2 ? -1.0 : NAN;
        int row = cri_block_factor_make(&f, s.H, scratch);
        // nan spreads from its row alone, and a negative diagonal is found in its own or before
        CHECK_INT(row, bad);
        s.H[bad * s.n + bad] = 100.0;
        CHECK_INT(cri_block_factor_make(&f, s.H, scratch), s.n);
        check_solves(&s, &f, 1e-12);
    }
    cri_arena_destroy(arena);
    cri_arena_destroy(scratch);
}

CR_TEST_MAIN(solutions_are_those_of_the_dense_factor, couplings_may_come_and_go,
             where_all_are_coupled_bits_are_the_dense_ones, a_row_costs_as_much_as_it_is_long,
             an_arrow_is_turned_round, a_bad_pivot_is_that_of_the_unknown)
