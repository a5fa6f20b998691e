// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: linear complementarity problems, x = (M, q), y = z.
//
// Solutions are planted: z and w are chosen, one of each pair is zero, and q = w - M z. Entries of
// M are moved one by one.

#include "cr_test.h"
#include "solvers/lcp.h"

#include <math.h>
#include <string.h>

enum { N_LARGEST = 10, X_LARGEST = N_LARGEST * (N_LARGEST + 1) };

// 1/sqrt(2)
#define DIAGONAL 0.70710678118654752440

/// The problem of the row and its last solution.
static struct {
    int n, n_free;
    cr_arena *keep, *scratch;
    double z[N_LARGEST];
    cri_lcp_cache cache;
} solved;

static cri_lcp problem_at(const double *x) {
    return (cri_lcp){.n = solved.n, .n_free = solved.n_free, .M = x, .q = x + solved.n * solved.n};
}

static void forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_lcp problem = problem_at(x);
    cri_arena_reset(solved.keep);
    CHECK_INT(cri_lcp_solve(&problem, solved.z, solved.scratch).outcome, CR_SOLVED);
    CHECK(cri_lcp_reduce(&problem, solved.z, &solved.cache, solved.keep));
    memcpy(y, solved.z, sizeof *y * (size_t)solved.n);
}

static void vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    (void)cache;
    double q_adj[N_LARGEST];
    int n = solved.n;
    cri_lcp_vjp(&solved.cache, y_adj, q_adj, solved.scratch);
    for (int i = 0; i < n; i++) {
        x_adj[n * n + i] += q_adj[i];
        for (int j = 0; j < n; j++) {
            x_adj[i * n + j] += q_adj[i] * solved.z[j];
        }
    }
}

static void jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    (void)cache;
    double rhs[N_LARGEST];
    int n = solved.n;
    for (int i = 0; i < n; i++) {
        rhs[i] = x_tan[n * n + i];
        for (int j = 0; j < n; j++) {
            rhs[i] += x_tan[i * n + j] * solved.z[j];
        }
    }
    cri_lcp_jvp(&solved.cache, rhs, y_tan, solved.scratch);
}

// at the data x with the solution z, of which n_active rows have w = 0
static void check(const double *x, int n, int n_free, const double *z, int n_active) {
    double y[N_LARGEST];
    solved.n = n;
    solved.n_free = n_free;
    solved.keep = cri_arena_create(cri_lcp_bytes(n));
    solved.scratch = cri_arena_create(cri_lcp_bytes(n));
    assert_true(solved.keep && solved.scratch);
    forward(x, y, NULL);
    CHECK_INT(solved.cache.n_active, n_active);
    CHECK(solved.cache.margin > 1e-2); // no kink within the steps
    for (int i = 0; i < n; i++) {
        CHECK_CLOSE(y[i], z[i], 1e-12, 1e-12); // a solve of some rows
    }
    cr_test_vjp(&(cr_vjp_case){.name = "lcp",
                               .vjp_name = "cri_lcp_vjp",
                               .jvp_name = "cri_lcp_jvp",
                               .n_in = n * (n + 1),
                               .n_out = n,
                               .forward = forward,
                               .vjp = vjp,
                               .jvp = jvp,
                               .points = x,
                               .n_points = 1});
    cri_arena_destroy(solved.keep);
    cri_arena_destroy(solved.scratch);
}

// M = 1 + 0.3 B B' + skew: nonsymmetric, and every solution is the only one
static void check_planted(int n, int n_free, const double *z, const double *w, uint64_t seed) {
    double x[X_LARGEST], B[N_LARGEST * N_LARGEST];
    int n_active = 0;
    cr_test_rng rng = cr_test_rng_of(seed);
    for (int i = 0; i < n * n; i++) {
        B[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    for (int i = 0; i < n; i++) {
        n_active += w[i] == 0.0;
        x[n * n + i] = w[i];
        for (int j = 0; j < n; j++) {
            double sum = i == j ? 1.0 : 0.7 * (B[i * n + j] - B[j * n + i]);
            for (int k = 0; k < n; k++) {
                sum += 0.3 * B[i * n + k] * B[j * n + k];
            }
            x[i * n + j] = sum;
            x[n * n + i] -= sum * z[j];
        }
    }
    check(x, n, n_free, z, n_active);
}

TEST(rows_with_and_without_force_have_their_gradient) {
    static const double z[5] = {0.8, 0.0, 1.3, 0.0, 0.5}, w[5] = {0.0, 0.7, 0.0, 1.1, 0.0};
    check_planted(5, 0, z, w, 1);
}

TEST(free_rows_have_their_gradient) {
    static const double z[6] = {-0.8, 0.4, 0.0, 1.3, 0.0, 0.9}, w[6] = {0, 0, 0.6, 0, 0.9, 0};
    check_planted(6, 2, z, w, 2);
    static const double z_all[4] = {-0.8, 0.4, 0.7, -1.3}, w_none[4];
    check_planted(4, 4, z_all, w_none, 3);
}

TEST(without_any_force_there_is_no_gradient) {
    static const double z[3], w[3] = {0.4, 0.9, 0.6};
    check_planted(3, 0, z, w, 4);
}

TEST(sliding_friction_has_its_gradient_at_a_corner_and_on_a_side) {
    // f_t at d_5 while u_t points to d_1; f_t between d_4 and d_5 while u_t points between them
    static const struct {
        double f[3], u[3], z[10];
        int n_active;
    } slide[2] = {{.f = {1.5, -0.6 * DIAGONAL, -0.6 * DIAGONAL},
                   .u = {0.0, 0.9, 0.8},
                   .z = {[0] = 1.5, [6] = 0.6, [9] = 1.7 * DIAGONAL},
                   .n_active = 3},
                  {.f = {1.5, -0.4 - 0.2 * DIAGONAL, -0.2 * DIAGONAL},
                   .u = {0.0, (2.0 * DIAGONAL + 1.0), 1.0},
                   .z = {[0] = 1.5, [5] = 0.4, [6] = 0.2, [9] = (2.0 * DIAGONAL + 1.0)},
                   .n_active = 4}};
    static const double A[9] = {2.0, 0.3, -0.2, 0.3, 3.0, 0.4, -0.2, 0.4, 2.5};
    static const double mu = 0.4, none;
    for (int k = 0; k < 2; k++) {
        double c[3];
        for (int i = 0; i < 3; i++) {
            c[i] = slide[k].u[i];
            for (int j = 0; j < 3; j++) {
                c[i] -= A[3 * i + j] * slide[k].f[j];
            }
        }
        cr_arena *keep = cri_arena_create(cri_lcp_bytes(10));
        assert_non_null(keep);
        cri_lcp p = cri_octagon_lcp(
            &(cri_friction){
                .kind = CRI_OCTAGON, .n = 1, .A = A, .c = c, .b = c, .mu = &mu, .l = &none},
            keep);
        double x[X_LARGEST];
        memcpy(x, p.M, 100 * sizeof *x);
        memcpy(x + 100, p.q, 10 * sizeof *x);
        check(x, 10, 0, slide[k].z, slide[k].n_active);
        cri_arena_destroy(keep);
    }
}

CR_TEST_MAIN(rows_with_and_without_force_have_their_gradient, free_rows_have_their_gradient,
             without_any_force_there_is_no_gradient,
             sliding_friction_has_its_gradient_at_a_corner_and_on_a_side)
