// SPDX-License-Identifier: MIT
//
// Decompositions, the bounded search, and what it says about its result.

#include "optimize/least_squares.h"

#include "cr_test.h"

#include "optimize/identify.h"
#include "optimize/singular.h"

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

/// Rosenbrock's valley, minimum 0 at (1, 1).
static cr_status rosenbrock(void *context, const double *z, double *r, double *J, cr_error *err) {
    (void)context;
    (void)err;
    r[0] = 10.0 * (z[1] - z[0] * z[0]);
    r[1] = 1.0 - z[0];
    if (J) {
        J[0] = -20.0 * z[0];
        J[1] = -1.0;
        J[2] = 10.0;
        J[3] = 0.0;
    }
    return CR_OK;
}

TEST(a_curved_valley_leads_to_its_minimum) {
    cri_lsq problem = {2, 2, rosenbrock, NULL, free_domain, 200, 1e-14};
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
    cri_lsq problem = {2, 2, rosenbrock, NULL, domain, 200, 1e-14};
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
static cr_status logarithm(void *context, const double *z, double *r, double *J, cr_error *err) {
    int *n_call = context;
    ++*n_call;
    if (!(z[0] > 0.0)) {
        return cri_fail(err, CR_ERR_NUMERIC, 0, "no value");
    }
    r[0] = log(z[0]) - 3.0;
    if (J) {
        J[0] = 1.0 / z[0];
        J[1] = 0.0;
    }
    return CR_OK;
}

TEST(points_without_a_value_are_refused_and_null_unknowns_stay) {
    int n_call = 0;
    cri_lsq problem = {2, 1, logarithm, &n_call, free_domain, 200, 1e-14};
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
    cri_lsq problem = {2, 1, logarithm, &n_call, domain, 200, 1e-14};
    double z[2] = {1e4, 0.0};
    double r[1];
    double J[2];
    cri_lsq_result result = {0};
    CHECK_INT(cri_lsq_minimise(&problem, z, r, J, &result, NULL), CR_OK);
    CHECK_CLOSE(z[0], exp(3.0), 0.0, 1e-9);
}

// ---- standard errors ---------------------------------------------------------------------------

TEST(standard_errors_of_a_line_are_those_of_the_textbook) {
    // y = a + b t at t = 0 .. 9, with residuals of sum of squares 0.08: sigma^2 = 0.01
    enum { M = 10 };
    double J[2 * M];
    for (int i = 0; i < M; i++) {
        J[i] = 1.0;
        J[M + i] = i;
    }
    const double z[2] = {1.0, 1.0};
    cri_identity out[2];
    CHECK_INT(cri_identify(2, M, z, J, 0.08, out, NULL), CR_OK);
    // sum (t - mean)^2 = 82.5, mean^2 = 20.25
    CHECK_CLOSE(out[1].deviation, 0.1 / sqrt(82.5), 0.0, 1e-12);
    CHECK_CLOSE(out[0].deviation, 0.1 * sqrt(0.1 + 20.25 / 82.5), 0.0, 1e-12);
    CHECK(out[0].is_identifiable && out[1].is_identifiable);
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
    cri_identity out[N];
    CHECK_INT(cri_identify(N, M, z, J, 1.0, out, NULL), CR_OK);
    CHECK(out[0].is_identifiable && out[4].is_identifiable);
    CHECK(isfinite(out[0].deviation) && isfinite(out[4].deviation));
    CHECK(!out[1].is_identifiable && out[1].is_null);
    CHECK(!out[2].is_identifiable && !out[2].is_null && out[2].partner == 3);
    CHECK(!out[3].is_identifiable && out[3].partner == 2);
    CHECK(isnan(out[1].deviation) && isnan(out[2].deviation));
}

CR_TEST_MAIN(singular_values_of_a_planted_matrix_are_found, a_curved_valley_leads_to_its_minimum,
             bounds_hold_and_the_other_unknowns_still_move,
             points_without_a_value_are_refused_and_null_unknowns_stay,
             an_open_bound_is_never_reached, standard_errors_of_a_line_are_those_of_the_textbook,
             unknowns_without_effect_or_in_a_combination_are_named)
