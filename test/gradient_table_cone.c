// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: the cone programme on its central path.
//
// As in gradient_table_solver.c solutions are planted, one class each. The path at kappa passes
// near them, and its smoothed derivative is exact for the point on the path. A is symmetric, so the
// rows move its symmetric part.

#include "gradient_row.h"

#include "solvers/cone_qp.h"

#include <math.h>
#include <string.h>

enum { N_MOST = 3 };

/// A planted contact: for a sliding one f_t follows from u_t and u_n = mu |u_t|.
typedef struct plant {
    bool is_sliding;
    double f[3], u[3];
    double mu, l;
} plant;

/// The path of the row, and its last point. x = (A, c, mu, l).
static struct {
    int n;
    double kappa;
    cr_arena *keep, *scratch;
    double A[9 * N_MOST * N_MOST];
    double x[TABLE_LIMIT];
    cri_cone_path path;
} on;

static int at_c(void) {
    return 9 * on.n * on.n;
}

static int at_mu(void) {
    return at_c() + 3 * on.n;
}

static int at_l(void) {
    return at_mu() + on.n;
}

static void symmetric_part(int m, const double *A, double *out) {
    for (int i = 0; i < m * m; i++) {
        out[i] = 0.5 * (A[i] + A[i % m * m + i / m]);
    }
}

static cri_friction problem_on(void) {
    return (cri_friction){.kind = CRI_CONVEX,
                          .n = on.n,
                          .A = on.A,
                          .c = on.x + at_c(),
                          .b = on.x + at_c(),
                          .mu = on.x + at_mu(),
                          .l = on.x + at_l()};
}

static void path_forward(const double *x, double *y) {
    int m = 3 * on.n;
    memcpy(on.x, x, sizeof *x * (size_t)(at_l() + on.n));
    symmetric_part(m, x, on.A);
    cri_friction problem = problem_on();
    cri_arena_reset(on.keep);
    cri_arena_reset(on.scratch);
    CHECK(cri_cone_path_at(&problem, on.kappa, NULL, &on.path, on.keep, on.scratch));
    memcpy(y, on.path.f, sizeof *y * (size_t)m);
}

static void path_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    int m = 3 * on.n;
    double p[3 * N_MOST];
    const double *f = on.path.f;
    cri_friction problem = problem_on();
    cri_cone_path_vjp(&problem, &on.path, y_adj, p, x_adj + at_mu(), x_adj + at_l(), on.scratch);
    for (int i = 0; i < m; i++) {
        x_adj[at_c() + i] -= p[i];
        for (int j = 0; j < m; j++) {
            x_adj[i * m + j] -= 0.5 * (p[i] * f[j] + p[j] * f[i]);
        }
    }
}

static void path_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    int m = 3 * on.n;
    double A_tan[9 * N_MOST * N_MOST], rhs[3 * N_MOST];
    cri_friction problem = problem_on();
    symmetric_part(m, x_tan, A_tan);
    for (int i = 0; i < m; i++) {
        rhs[i] = x_tan[at_c() + i];
        for (int j = 0; j < m; j++) {
            rhs[i] += A_tan[i * m + j] * on.path.f[j];
        }
    }
    cri_cone_path_jvp(&problem, &on.path, rhs, x_tan + at_mu(), x_tan + at_l(), y_tan, on.scratch);
}

// a symmetric matrix (m, m) without any pattern, diagonal blocks of a trace near 3
static void fill_matrix(int m, uint64_t seed, double *A) {
    double G[9 * N_MOST * N_MOST];
    cr_test_rng rng = cr_test_rng_of(seed);
    for (int i = 0; i < m * m; i++) {
        G[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            A[i * m + j] = i == j ? 0.6 : 0.0;
            for (int k = 0; k < m; k++) {
                A[i * m + j] += G[i * m + k] * G[j * m + k] / m;
            }
        }
    }
}

// A = (A1 A1; A1 A1): the same point twice
static void double_matrix(double *A) {
    double one[9];
    fill_matrix(3, 90, one);
    for (int i = 0; i < 36; i++) {
        A[i] = one[i / 6 % 3 * 3 + i % 3];
    }
}

// x and the impulse f (3n) of plants; seed 0 doubles the first
static void plant_data(int n, const plant *p, uint64_t seed, double *x, double *f) {
    int m = 3 * n;
    if (seed == 0) {
        double_matrix(x);
    } else {
        fill_matrix(m, seed, x);
    }
    for (int i = 0; i < m; i++) {
        const plant *q = &p[i / 3];
        double slip = hypot(q->u[1], q->u[2]);
        f[i] = q->is_sliding && i % 3 > 0 ? -q->mu * q->f[0] * q->u[i % 3] / slip : q->f[i % 3];
    }
    for (int i = 0; i < m; i++) {
        const plant *q = &p[i / 3];
        bool is_lifted = q->is_sliding && i % 3 == 0 && q->l < q->f[0];
        x[at_c() + i] = is_lifted ? q->mu * hypot(q->u[1], q->u[2]) : q->u[i % 3];
        for (int j = 0; j < m; j++) {
            x[at_c() + i] -= x[i * m + j] * f[j];
        }
    }
    for (int i = 0; i < n; i++) {
        x[at_mu() + i] = p[i].mu;
        x[at_l() + i] = p[i].l;
    }
}

static void check_path(int n, const plant *p, double kappa, uint64_t seed) {
    double x[TABLE_LIMIT] = {0}, f[3 * N_MOST], y[3 * N_MOST];
    table_move move[TABLE_LIMIT] = {0};
    bool is_singular = seed == 0;
    int m = 3 * n;
    on.n = n;
    on.kappa = kappa;
    plant_data(n, p, seed, x, f);
    for (int i = 0; i < n; i++) {
        // a bound that comes is a jump
        move[at_l() + i] = p[i].l == 0.0 ? TABLE_HELD : TABLE_FREE;
        move[at_mu() + i] = p[i].mu == 0.0 ? TABLE_UP : TABLE_FREE;
    }
    on.keep = cri_arena_create(1 << 16);
    on.scratch = cri_arena_create(1 << 16);
    assert_true(on.keep && on.scratch);
    path_forward(x, y);
    for (int i = 0; i < m && !is_singular; i++) {
        // the path leaves its end with a slope of the size of 1/margin, at least 0.1 here
        CHECK_CLOSE(y[i], f[i], 10.0 * kappa, 0.0);
    }
    table_check(&(table_row){.name = "cone_path",
                             .vjp_name = "cri_cone_path_vjp",
                             .jvp_name = "cri_cone_path_jvp",
                             .n_in = at_l() + n,
                             .n_out = m,
                             .forward = path_forward,
                             .vjp = path_vjp,
                             .jvp = path_jvp,
                             .x = x,
                             .move = move,
                             // derivatives of order k grow as kappa^(1-k) near the boundary
                             .step = 0.1 * kappa});
    cri_arena_destroy(on.keep);
    cri_arena_destroy(on.scratch);
}

// ---- in units of the problem -------------------------------------------------------------------

/// The smoothed derivative of the row, the solution that it is of, and the point of its path.
static struct {
    cri_cone_smooth smooth;
    double f[3 * N_MOST], point[3 * N_MOST], A[9 * N_MOST * N_MOST];
    double k, k_least;
} at;

// The path in joules: kappa k^2 stays. dA is to meet the solution's f, not the point's, so c moves
// with A.
static void smooth_forward(const double *x, double *y) {
    int m = 3 * on.n;
    memcpy(on.x, x, sizeof *x * (size_t)(at_l() + on.n));
    symmetric_part(m, x, on.A);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            on.x[at_c() + i] += (on.A[i * m + j] - at.A[i * m + j]) * (at.f[j] - at.point[j]);
        }
    }
    cri_friction problem = problem_on();
    double kappa = on.kappa;
    for (int pass = 0; pass < 2; pass++) {
        cri_arena_reset(on.keep);
        cri_arena_reset(on.scratch);
        CHECK(
            cri_cone_smooth_at(&problem, kappa, at.k_least, at.f, &at.smooth, on.keep, on.scratch));
        kappa = on.kappa * at.k * at.k / (at.smooth.k * at.smooth.k);
    }
    for (int i = 0; i < m; i++) {
        y[i] = at.smooth.k * at.smooth.r[i / 3] * at.smooth.path.f[i];
    }
}

static void smooth_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    int m = 3 * on.n;
    double p[3 * N_MOST];
    cri_cone_smooth_vjp(&at.smooth, y_adj, p, x_adj + at_mu(), x_adj + at_l(), on.scratch);
    for (int i = 0; i < m; i++) {
        x_adj[at_c() + i] -= p[i];
        for (int j = 0; j < m; j++) {
            x_adj[i * m + j] -= 0.5 * (p[i] * at.f[j] + p[j] * at.f[i]);
        }
    }
}

static void smooth_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    int m = 3 * on.n;
    double A_tan[9 * N_MOST * N_MOST], rhs[3 * N_MOST];
    symmetric_part(m, x_tan, A_tan);
    for (int i = 0; i < m; i++) {
        rhs[i] = x_tan[at_c() + i];
        for (int j = 0; j < m; j++) {
            rhs[i] += A_tan[i * m + j] * at.f[j];
        }
    }
    cri_cone_smooth_jvp(&at.smooth, rhs, x_tan + at_mu(), x_tan + at_l(), y_tan, on.scratch);
}

// plants of n contacts with bodies of other masses each, and at another speed
static void check_smooth(int n, const plant *p, double k_least, uint64_t seed) {
    static const double unit[N_MOST] = {0.7, 1.6, 1.1}, speed = 1.5;
    double x[TABLE_LIMIT] = {0}, y[3 * N_MOST];
    table_move move[TABLE_LIMIT] = {0};
    int m = 3 * n;
    on.n = n;
    on.kappa = 0.02;
    at.k_least = k_least;
    plant_data(n, p, seed, x, at.f);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            x[i * m + j] *= unit[i / 3] * unit[j / 3];
        }
        x[at_c() + i] *= unit[i / 3] * speed;
        at.f[i] *= speed / unit[i / 3];
    }
    for (int i = 0; i < n; i++) {
        x[at_l() + i] *= speed / unit[i];
        move[at_l() + i] = p[i].l == 0.0 ? TABLE_HELD : TABLE_FREE;
    }
    on.keep = cri_arena_create(1 << 16);
    on.scratch = cri_arena_create(1 << 16);
    assert_true(on.keep && on.scratch);
    symmetric_part(m, x, at.A);
    at.k = 1.0;
    smooth_forward(x, y);
    at.k = at.smooth.k; // the same whatever kappa is
    smooth_forward(x, y);
    memcpy(at.point, y, sizeof y);
    table_check(&(table_row){.name = "cone_smooth",
                             .vjp_name = "cri_cone_smooth_vjp",
                             .jvp_name = "cri_cone_smooth_jvp",
                             .n_in = at_l() + n,
                             .n_out = m,
                             .forward = smooth_forward,
                             .vjp = smooth_vjp,
                             .jvp = smooth_jvp,
                             .x = x,
                             .move = move,
                             // as above
                             .step = 0.1 * on.kappa});
    cri_arena_destroy(on.keep);
    cri_arena_destroy(on.scratch);
}

static const plant stick = {.f = {1.5, 0.2, -0.3}, .mu = 0.5};
static const plant slide = {true, .f = {1.2}, .u = {0.0, 0.9, -0.7}, .mu = 0.4};
static const plant open_plant = {.u = {0.7, 0.3, -0.5}, .mu = 0.4};
static const plant stick_above = {.f = {1.5, 0.2, -0.3}, .mu = 0.5, .l = 0.6};
static const plant slide_above = {true, .f = {1.2}, .u = {0.0, 0.9, -0.7}, .mu = 0.4, .l = 0.3};
static const plant bound_stick = {.f = {0.8, 0.1, -0.2}, .u = {0.9}, .mu = 0.5, .l = 0.8};
static const plant bound_slide = {true, .f = {0.8}, .u = {1.3, 0.8, -0.6}, .mu = 0.4, .l = 0.8};
static const plant smooth = {.f = {1.2}, .u = {0.0, 0.9, -0.4}};
static const plant smooth_bound = {.f = {0.8}, .u = {0.9, 0.8, -0.7}, .l = 0.8};

TEST(a_path_near_one_contact_has_its_gradient_in_every_class) {
    check_path(1, &stick, 0.02, 81);
    check_path(1, &slide, 0.02, 82);
    check_path(1, &open_plant, 0.02, 83);
    check_path(1, &slide, 1e-4, 84);
}

TEST(a_path_with_a_bound_has_its_gradient) {
    check_path(1, &stick_above, 0.02, 85);
    check_path(1, &slide_above, 0.02, 86);
    check_path(1, &bound_stick, 0.02, 87);
    check_path(1, &bound_slide, 0.02, 88);
}

TEST(a_path_without_friction_has_its_gradient) {
    check_path(1, &smooth, 0.02, 91);
    check_path(1, &smooth_bound, 0.02, 92);
}

TEST(a_path_of_coupled_contacts_has_its_gradient) {
    check_path(3, (const plant[]){stick, slide, open_plant}, 0.02, 93);
    check_path(3, (const plant[]){bound_slide, smooth, slide_above}, 0.01, 94);
}

TEST(a_path_of_the_same_contact_twice_has_its_gradient) {
    check_path(2, (const plant[]){stick, stick}, 0.02, 0);
    check_path(2, (const plant[]){slide, slide}, 0.02, 0);
}

TEST(a_smoothed_solution_has_the_gradient_of_its_path) {
    check_smooth(1, &stick, 0.0, 95);
    check_smooth(1, &bound_slide, 0.0, 96);
    check_smooth(3, (const plant[]){stick, slide, open_plant}, 0.0, 97);
    check_smooth(3, (const plant[]){bound_stick, stick_above, slide}, 5.0, 98);
}

TABLE_PART(gradient_table_cone, a_path_near_one_contact_has_its_gradient_in_every_class,
           a_path_with_a_bound_has_its_gradient, a_path_without_friction_has_its_gradient,
           a_path_of_coupled_contacts_has_its_gradient,
           a_path_of_the_same_contact_twice_has_its_gradient,
           a_smoothed_solution_has_the_gradient_of_its_path)
