// SPDX-License-Identifier: MIT
//
// Decompositions, the bounded search, and what it says about its result.

#include "optimize/least_squares.h"

#include "cr_test.h"

#include <math.h>
#include <string.h>

// ---- decompositions ----------------------------------------------------------------------------

TEST(singular_values_of_a_planted_matrix_are_found) {
    enum { M = 7, N = 4 };
    cr_test_rng rng = cr_test_rng_of(3);
    double a[N * M];
    double copy[N * M];
    for (int i = 0; i < N * M; i++) {
        a[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    // the last column depends on the first two
    for (int i = 0; i < M; i++) {
        a[3 * M + i] = 2.0 * a[i] - a[M + i];
    }
    memcpy(copy, a, sizeof a);
    double b[M] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0};
    cri_triangularise(M, N, a, b);
    double norm = 0.0;
    for (int i = 0; i < M; i++) {
        norm += b[i] * b[i];
    }
    CHECK_CLOSE(norm, 140.0, 0.0, 1e-14);

    double V[N * N];
    double s[N];
    cri_singular(M, N, a, V, s);
    double least = fmin(fmin(s[0], s[1]), fmin(s[2], s[3]));
    CHECK(least < 1e-14);
    for (int p = 0; p < N; p++) {
        for (int q = 0; q < N; q++) {
            // V is orthogonal, and A V has orthogonal columns of length s
            double vv = 0.0;
            double ww = 0.0;
            for (int i = 0; i < N; i++) {
                vv += V[p * N + i] * V[q * N + i];
            }
            for (int i = 0; i < M; i++) {
                double wp = 0.0;
                double wq = 0.0;
                for (int j = 0; j < N; j++) {
                    wp += copy[j * M + i] * V[p * N + j];
                    wq += copy[j * M + i] * V[q * N + j];
                }
                ww += wp * wq;
            }
            CHECK_CLOSE(vv, p == q ? 1.0 : 0.0, 1e-14, 0.0);
            CHECK_CLOSE(ww, p == q ? s[p] * s[p] : 0.0, 1e-14, 1e-13);
        }
    }
}

// ---- search ------------------------------------------------------------------------------------

static const cri_domain free_domain[4] = {{-INFINITY, INFINITY, false},
                                          {-INFINITY, INFINITY, false},
                                          {-INFINITY, INFINITY, false},
                                          {-INFINITY, INFINITY, false}};

/// A dense problem: one block without unknowns of its own.
static cri_arrow dense(cri_arrow_block *block, int n, int m) {
    *block = (cri_arrow_block){.m = m};
    cri_arrow arrow = {.n_shared = n, .n_block = 1, .block = block};
    cri_arrow_place(&arrow);
    return arrow;
}

/// Rosenbrock's valley, minimum 0 at (1, 1).
static cr_status rosenbrock(void *context, const double *z, double *r, double *J, double *loss,
                            cr_error *err) {
    (void)context;
    (void)err;
    r[0] = 10.0 * (z[1] - z[0] * z[0]);
    r[1] = 1.0 - z[0];
    *loss = r[0] * r[0] + r[1] * r[1];
    if (J) {
        J[0] = -20.0 * z[0];
        J[1] = -1.0;
        J[2] = 10.0;
        J[3] = 0.0;
    }
    return CR_OK;
}

TEST(a_curved_valley_leads_to_its_minimum) {
    cri_arrow_block block;
    cri_arrow arrow = dense(&block, 2, 2);
    cri_lsq problem = {&arrow, rosenbrock, NULL, free_domain, 200, 1e-14, NULL, 0};
    double z[2] = {-1.2, 1.0};
    double r[2];
    double J[4];
    cri_lsq_result result = {0};
    CHECK_INT(cri_lsq_minimise(&problem, z, r, J, &result, NULL), CR_OK);
    CHECK_CLOSE(z[0], 1.0, 1e-9, 0.0);
    CHECK_CLOSE(z[1], 1.0, 1e-9, 0.0);
    CHECK(result.loss < 1e-18);
}

TEST(bounds_hold_and_the_other_unknowns_still_move) {
    // with z0 <= 0.5 the best is z1 = z0^2 = 0.25
    const cri_domain domain[2] = {{-2.0, 0.5, false}, {-INFINITY, INFINITY, false}};
    cri_arrow_block block;
    cri_arrow arrow = dense(&block, 2, 2);
    cri_lsq problem = {&arrow, rosenbrock, NULL, domain, 200, 1e-14, NULL, 0};
    double z[2] = {-1.2, 1.0};
    double r[2];
    double J[4];
    cri_lsq_result result = {0};
    CHECK_INT(cri_lsq_minimise(&problem, z, r, J, &result, NULL), CR_OK);
    CHECK(z[0] == 0.5);
    CHECK_CLOSE(z[1], 0.25, 1e-9, 0.0);
    CHECK_CLOSE(result.loss, 0.25, 0.0, 1e-12);
}

/// r = log z - 3, without a value unless z is positive; and a second unknown without effect.
static cr_status logarithm(void *context, const double *z, double *r, double *J, double *loss,
                           cr_error *err) {
    int *n_call = context;
    ++*n_call;
    if (!(z[0] > 0.0)) {
        return cri_fail(err, CR_ERR_NUMERIC, 0, "no value");
    }
    r[0] = log(z[0]) - 3.0;
    *loss = r[0] * r[0];
    if (J) {
        J[0] = 1.0 / z[0];
        J[1] = 0.0;
    }
    return CR_OK;
}

TEST(points_without_a_value_are_refused_and_null_unknowns_stay) {
    int n_call = 0;
    cri_arrow_block block;
    cri_arrow arrow = dense(&block, 2, 1);
    cri_lsq problem = {&arrow, logarithm, &n_call, free_domain, 200, 1e-14, NULL, 0};
    double z[2] = {60.0, 5.0};
    double r[1];
    double J[2];
    cri_lsq_result result = {0};
    CHECK_INT(cri_lsq_minimise(&problem, z, r, J, &result, NULL), CR_OK);
    CHECK_CLOSE(z[0], exp(3.0), 0.0, 1e-9);
    CHECK(z[1] == 5.0);
    z[0] = -1.0;
    CHECK_INT(cri_lsq_minimise(&problem, z, r, J, &result, NULL), CR_ERR_NUMERIC);
}

TEST(an_open_bound_is_never_reached) {
    const cri_domain domain[2] = {{0.0, INFINITY, true}, {-INFINITY, INFINITY, false}};
    CHECK_CLOSE(cri_domain_clamp(&domain[0], 2.0, -5.0), 0.2, 0.0, 1e-15);
    CHECK(!cri_domain_blocks(&domain[0], 1e-9, 1.0));
    int n_call = 0;
    cri_arrow_block block;
    cri_arrow arrow = dense(&block, 2, 1);
    cri_lsq problem = {&arrow, logarithm, &n_call, domain, 200, 1e-14, NULL, 0};
    double z[2] = {1e4, 0.0};
    double r[1];
    double J[2];
    cri_lsq_result result = {0};
    CHECK_INT(cri_lsq_minimise(&problem, z, r, J, &result, NULL), CR_OK);
    CHECK_CLOSE(z[0], exp(3.0), 0.0, 1e-9);
}

static bool stop_at_third(void *context, const cri_progress_state *state) {
    int *n_told = context;
    CHECK_INT(state->done, *n_told);
    return ++*n_told < 3;
}

TEST(a_search_stops_when_told_and_keeps_its_best) {
    cri_arrow_block block;
    cri_arrow arrow = dense(&block, 2, 2);
    int n_told = 0;
    cri_progress progress = {stop_at_third, &n_told};
    cri_lsq problem = {&arrow, rosenbrock, NULL, free_domain, 200, 1e-14, &progress, 0};
    double z[2] = {-1.2, 1.0};
    double r[2];
    double J[4];
    cri_lsq_result result = {0};
    CHECK_INT(cri_lsq_minimise(&problem, z, r, J, &result, NULL), CR_OK);
    CHECK_INT(result.stop, CRI_LSQ_STOPPED);
    CHECK_INT(result.n_iteration, 2);
    CHECK(result.loss < 24.2 && result.loss > 1e-6);
    CHECK_CLOSE(result.loss, r[0] * r[0] + r[1] * r[1], 0.0, 1e-15);
}

// ---- blocks ------------------------------------------------------------------------------------

enum { N_BLOCK = 3, N_SHARED = 2, N_OWN = 2, M_BLOCK = 6 };
enum { N_ALL = N_SHARED + N_BLOCK * N_OWN, M_ALL = N_BLOCK * M_BLOCK };

/// Column j of block k, made up; the dense problem has zeros where a block does not know an
/// unknown.
typedef struct linear {
    double J[N_BLOCK][N_SHARED + N_OWN][M_BLOCK];
    double r[M_ALL];
} linear;

static linear random_linear(uint64_t seed) {
    linear out;
    cr_test_rng rng = cr_test_rng_of(seed);
    for (int k = 0; k < N_BLOCK; k++) {
        for (int c = 0; c < N_SHARED + N_OWN; c++) {
            for (int i = 0; i < M_BLOCK; i++) {
                out.J[k][c][i] = cr_test_uniform(&rng, -1.0, 1.0);
            }
        }
    }
    for (int i = 0; i < M_ALL; i++) {
        out.r[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    return out;
}

static cri_arrow arrow_of(cri_arrow_block *block) {
    for (int k = 0; k < N_BLOCK; k++) {
        block[k] = (cri_arrow_block){.n = N_OWN, .m = M_BLOCK};
    }
    cri_arrow arrow = {.n_shared = N_SHARED, .n_block = N_BLOCK, .block = block};
    cri_arrow_place(&arrow);
    return arrow;
}

/// The same as one dense matrix (N_ALL, M_ALL).
static void spread(const linear *from, double *J) {
    memset(J, 0, N_ALL * M_ALL * sizeof *J);
    for (int k = 0; k < N_BLOCK; k++) {
        for (int c = 0; c < N_SHARED + N_OWN; c++) {
            int unknown = c < N_SHARED ? c : N_SHARED + k * N_OWN + c - N_SHARED;
            memcpy(J + unknown * M_ALL + k * M_BLOCK, from->J[k][c], sizeof from->J[k][c]);
        }
    }
}

TEST(blocks_and_one_dense_matrix_give_the_same_step) {
    linear from = random_linear(17);
    double J[N_ALL * M_ALL];
    spread(&from, J);
    cri_arrow_block block[N_BLOCK + 1];
    cri_arrow parts = arrow_of(block);
    cri_arrow whole = dense(&block[N_BLOCK], N_ALL, M_ALL);
    CHECK_INT(parts.n, N_ALL);
    CHECK_INT(parts.m, M_ALL);
    double scale[N_ALL], delta[2][N_ALL] = {{0.0}};
    bool is_null[N_ALL] = {false}, is_free[N_ALL];
    for (int j = 0; j < N_ALL; j++) {
        scale[j] = 0.5 + 0.1 * j;
        // one shared and one own unknown are pinned
        is_free[j] = j != 1 && j != 4;
        delta[0][j] = delta[1][j] = is_free[j] ? 0.0 : 0.3;
    }
    cr_arena *arena = cri_arena_create(1 << 14);
    cri_arrow_model model[2];
    CHECK(cri_arrow_model_push(&parts, arena, &model[0]));
    CHECK(cri_arrow_model_push(&whole, arena, &model[1]));
    cri_arrow_linearise(&model[0], &from.J[0][0][0], from.r, scale, is_null);
    cri_arrow_linearise(&model[1], J, from.r, scale, is_null);
    for (int i = 0; i < 2; i++) {
        cri_arrow_solve(&model[i], scale, is_free, 0.01, delta[i]);
    }
    for (int j = 0; j < N_ALL; j++) {
        CHECK_CLOSE(delta[0][j], delta[1][j], 1e-13, 1e-12);
    }
    // the normal equations of the free unknowns, from raw data
    for (int j = 0; j < N_ALL; j++) {
        double slope = 0.01 * scale[j] * scale[j] * delta[0][j];
        for (int i = 0; i < M_ALL; i++) {
            double r = from.r[i];
            for (int a = 0; a < N_ALL; a++) {
                r += J[a * M_ALL + i] * delta[0][a];
            }
            slope += J[j * M_ALL + i] * r;
        }
        CHECK(!is_free[j] || fabs(slope) < 1e-12);
    }
    CHECK_CLOSE(cri_arrow_fall(&model[0], scale, delta[0]),
                cri_arrow_fall(&model[1], scale, delta[0]), 1e-13, 1e-12);
    cri_arena_destroy(arena);
}

TEST(blocks_and_one_dense_matrix_give_the_same_covariance) {
    linear from = random_linear(18);
    double J[N_ALL * M_ALL];
    spread(&from, J);
    cri_arrow_block block[N_BLOCK + 1];
    cri_arrow parts = arrow_of(block);
    cri_arrow whole = dense(&block[N_BLOCK], N_ALL, M_ALL);
    const double z[N_ALL] = {1, 1, 1, 1, 1, 1, 1, 1};
    cr_arena *arena = cri_arena_create(1 << 14);
    cri_lsq_verdict a, b;
    CHECK_INT(cri_identify(&parts, z, &from.J[0][0][0], arena, &a, NULL), CR_OK);
    CHECK_INT(cri_identify(&whole, z, J, arena, &b, NULL), CR_OK);
    CHECK_INT(a.rank, N_ALL);
    CHECK_INT(b.rank, N_ALL);
    for (int i = 0; i < N_SHARED; i++) {
        for (int j = 0; j < N_SHARED; j++) {
            CHECK_CLOSE(a.shared[i * N_SHARED + j], b.shared[i * N_ALL + j], 1e-13, 1e-11);
        }
    }
    for (int k = 0; k < N_BLOCK; k++) {
        for (int i = 0; i < N_OWN; i++) {
            const double *row = b.shared + (N_SHARED + k * N_OWN + i) * N_ALL;
            for (int j = 0; j < N_OWN; j++) {
                CHECK_CLOSE(a.own[a.at_own[k] + (size_t)(i * N_OWN + j)],
                            row[N_SHARED + k * N_OWN + j], 1e-13, 1e-11);
            }
            for (int j = 0; j < N_SHARED; j++) {
                CHECK_CLOSE(a.cross[a.at_cross[k] + (size_t)(i * N_SHARED + j)], row[j], 1e-13,
                            1e-11);
            }
        }
    }
    cri_arena_destroy(arena);
}

TEST(a_shared_unknown_that_own_ones_absorb_is_named_with_them) {
    linear from = random_linear(19);
    for (int k = 0; k < N_BLOCK; k++) {
        for (int i = 0; i < M_BLOCK; i++) {
            // shared 1 acts as the first own unknown of each block; own 1 of block 2 does nothing
            from.J[k][1][i] = 2.0 * from.J[k][N_SHARED][i];
            from.J[k][N_SHARED + 1][i] *= k == 2 ? 0.0 : 1.0;
        }
    }
    cri_arrow_block block[N_BLOCK];
    cri_arrow parts = arrow_of(block);
    const double z[N_ALL] = {1, 1, 1, 1, 1, 1, 1, 1};
    cr_arena *arena = cri_arena_create(1 << 14);
    cri_lsq_verdict v;
    CHECK_INT(cri_identify(&parts, z, &from.J[0][0][0], arena, &v, NULL), CR_OK);
    CHECK_INT(v.rank, N_ALL - 2);
    CHECK(v.identity[0].is_identifiable && v.shared[0] > 0.0);
    CHECK(!v.identity[1].is_identifiable && !v.identity[1].is_null);
    CHECK(v.identity[1].partner >= N_SHARED);
    for (int k = 0; k < N_BLOCK; k++) {
        CHECK(!v.identity[N_SHARED + k * N_OWN].is_identifiable);
        CHECK_INT(v.identity[N_SHARED + k * N_OWN].partner, 1);
        CHECK(v.identity[N_SHARED + k * N_OWN + 1].is_null == (k == 2));
        CHECK(v.identity[N_SHARED + k * N_OWN + 1].is_identifiable == (k != 2));
    }
    cri_arena_destroy(arena);
}

// ---- standard errors ---------------------------------------------------------------------------

TEST(standard_errors_of_a_line_are_those_of_the_textbook) {
    // y = a + b t at t = 0 .. 9
    enum { M = 10 };
    double J[2 * M];
    for (int i = 0; i < M; i++) {
        J[i] = 1.0;
        J[M + i] = i;
    }
    const double z[2] = {1.0, 1.0};
    cri_arrow_block block;
    cri_arrow arrow = dense(&block, 2, M);
    cr_arena *arena = cri_arena_create(1 << 12);
    cri_lsq_verdict v;
    CHECK_INT(cri_identify(&arrow, z, J, arena, &v, NULL), CR_OK);
    // sum (t - mean)^2 = 82.5, mean 4.5
    CHECK_CLOSE(v.shared[3], 1.0 / 82.5, 0.0, 1e-12);
    CHECK_CLOSE(v.shared[0], 0.1 + 20.25 / 82.5, 0.0, 1e-12);
    CHECK_CLOSE(v.shared[1], -4.5 / 82.5, 0.0, 1e-12);
    CHECK(v.identity[0].is_identifiable && v.identity[1].is_identifiable);
    CHECK_INT(v.rank, 2);
    cri_arena_destroy(arena);
}

TEST(unknowns_without_effect_or_in_a_combination_are_named) {
    // columns: t, 0, c, 2c, t^2; the third and fourth act as one
    enum { M = 12, N = 5 };
    double J[N * M];
    for (int i = 0; i < M; i++) {
        double t = 0.1 * i;
        J[i] = t;
        J[M + i] = 1e-16 * t;
        J[2 * M + i] = cos(t);
        J[3 * M + i] = 2.0 * cos(t);
        J[4 * M + i] = t * t;
    }
    const double z[N] = {1.0, 1.0, 1.0, 1.0, 1.0};
    cri_arrow_block block;
    cri_arrow arrow = dense(&block, N, M);
    cr_arena *arena = cri_arena_create(1 << 12);
    cri_lsq_verdict v;
    CHECK_INT(cri_identify(&arrow, z, J, arena, &v, NULL), CR_OK);
    const cri_identity *out = v.identity;
    CHECK(out[0].is_identifiable && out[4].is_identifiable);
    CHECK(v.shared[0] > 0.0 && v.shared[4 * N + 4] > 0.0);
    CHECK(!out[1].is_identifiable && out[1].is_null);
    CHECK(!out[2].is_identifiable && !out[2].is_null && out[2].partner == 3);
    CHECK(!out[3].is_identifiable && out[3].partner == 2);
    CHECK_INT(v.rank, 3);
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(singular_values_of_a_planted_matrix_are_found, a_curved_valley_leads_to_its_minimum,
             bounds_hold_and_the_other_unknowns_still_move,
             points_without_a_value_are_refused_and_null_unknowns_stay,
             an_open_bound_is_never_reached, a_search_stops_when_told_and_keeps_its_best,
             blocks_and_one_dense_matrix_give_the_same_step,
             blocks_and_one_dense_matrix_give_the_same_covariance,
             a_shared_unknown_that_own_ones_absorb_is_named_with_them,
             standard_errors_of_a_line_are_those_of_the_textbook,
             unknowns_without_effect_or_in_a_combination_are_named)
