// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: Coulomb's problem and the contact laws.
//
// Solutions are planted: impulse f and velocity u of every contact are chosen, one class each, and
// the problem c = u - A f is built around them. A is symmetric and generic; its entries are moved
// one by one.

#include "gradient_table.h"

#include "contact/law.h"
#include "solvers/friction_reduced.h"

#include <math.h>
#include <string.h>

enum { N_MOST = 3 };

/// A planted contact: for a sliding one f_t follows from u_t.
typedef struct plant {
    cri_friction_class class;
    double f[3], u[3];
    double mu, l;
} plant;

/// Layout of x = (A, c or b, mu, l or e, target), all of a problem with n contacts.
typedef struct layout {
    int n, A, c, mu, l, target, end;
} layout;

static layout layout_of(int n) {
    layout at = {.n = n, .c = 9 * n * n};
    at.mu = at.c + 3 * n;
    at.l = at.mu + n;
    at.target = at.l + n;
    at.end = at.target + n;
    return at;
}

// a symmetric positive definite matrix (m, m) without any pattern
static void fill_matrix(int m, uint64_t seed, double *A) {
    double G[9 * N_MOST * N_MOST];
    cr_test_rng rng = cr_test_rng_of(seed);
    for (int i = 0; i < m * m; i++) {
        G[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            A[i * m + j] = i == j ? 1.5 : 0.0;
            for (int k = 0; k < m; k++) {
                A[i * m + j] += 0.3 * G[i * m + k] * G[j * m + k];
            }
        }
    }
}

// f (3n) of the plants, and c with A f + c = u
static void plant_problem(int n, const plant *p, const double *A, double *f, double *c) {
    for (int i = 0; i < n; i++) {
        double slip = hypot(p[i].u[1], p[i].u[2]);
        memcpy(f + 3 * i, p[i].f, 3 * sizeof *f);
        for (int r = 1; slip > 0.0 && p[i].class != CRI_OPEN && r < 3; r++) {
            f[3 * i + r] = -p[i].mu * p[i].f[0] * p[i].u[r] / slip;
        }
    }
    for (int i = 0; i < 3 * n; i++) {
        c[i] = p[i / 3].u[i % 3];
        for (int j = 0; j < 3 * n; j++) {
            c[i] -= A[i * 3 * n + j] * f[j];
        }
    }
}

// ---- Coulomb's problem -------------------------------------------------------------------------

/// The problem of the row and its last solution.
static struct {
    int n;
    cr_arena *keep, *scratch;
    cri_friction_cache cache;
    double x[TABLE_LIMIT]; // what the law's cache points to
    double f[3 * N_MOST];
    const cri_law *law;
    bool is_plain[N_MOST];
    const void *law_cache;
} solved;

static void open_arenas(void) {
    solved.keep = cri_arena_create(1 << 16);
    solved.scratch = cri_arena_create(1 << 16);
    assert_true(solved.keep && solved.scratch);
}

static void close_arenas(void) {
    cri_arena_destroy(solved.keep);
    cri_arena_destroy(solved.scratch);
}

static cri_friction problem_at(const double *x) {
    layout at = layout_of(solved.n);
    return (cri_friction){
        .n = solved.n, .A = x + at.A, .c = x + at.c, .b = x + at.c, .mu = x + at.mu, .l = x + at.l};
}

static void coulomb_forward(const double *x, double *y) {
    cri_friction problem = problem_at(x);
    cri_arena_reset(solved.keep);
    cri_arena_reset(solved.scratch);
    memset(solved.f, 0, sizeof solved.f);
    cri_solve_report report = cri_friction_solve(&problem, solved.f, solved.scratch);
    CHECK_INT(report.outcome, CR_SOLVED);
    cri_friction_reduce(&problem, solved.f, NULL, true, &solved.cache, solved.keep, solved.scratch);
    memcpy(y, solved.f, sizeof(double) * 3 * (size_t)solved.n);
}

static void coulomb_vjp(const double *x, const double *y_adj, double *x_adj) {
    double p[3 * N_MOST], z[3 * N_MOST];
    cri_friction problem = problem_at(x);
    layout at = layout_of(solved.n);
    int m = 3 * solved.n;
    cri_friction_reduced_vjp(&problem, &solved.cache, y_adj, p, z, x_adj + at.mu, x_adj + at.l,
                             solved.scratch);
    CHECK_INT(solved.cache.n_null, 0);
    for (int i = 0; i < m; i++) {
        x_adj[at.c + i] -= p[i];
        for (int j = 0; j < m; j++) {
            x_adj[at.A + i * m + j] -= p[i] * solved.f[j];
        }
    }
}

// out (m) = A z + c
static void multiply(int m, const double *A, const double *z, const double *c, double *out) {
    for (int i = 0; i < m; i++) {
        out[i] = c ? c[i] : 0.0;
        for (int j = 0; j < m; j++) {
            out[i] += A[i * m + j] * z[j];
        }
    }
}

static void coulomb_jvp(const double *x, const double *x_tan, double *y_tan) {
    double rhs[3 * N_MOST];
    cri_friction problem = problem_at(x), tan = problem_at(x_tan);
    multiply(3 * solved.n, tan.A, solved.f, tan.c, rhs);
    cri_friction_tan data = {.rhs = rhs, .mu = tan.mu, .l = tan.l};
    cri_friction_reduced_jvp(&problem, &solved.cache, &data, y_tan, solved.scratch);
}

static void check_coulomb(int n, const plant *p, uint64_t seed) {
    double x[TABLE_LIMIT] = {0}, f[3 * N_MOST], y[3 * N_MOST];
    table_move move[TABLE_LIMIT] = {0};
    layout at = layout_of(n);
    fill_matrix(3 * n, seed, x + at.A);
    plant_problem(n, p, x + at.A, f, x + at.c);
    for (int i = 0; i < n; i++) {
        x[at.mu + i] = p[i].mu;
        x[at.l + i] = p[i].l;
        // an open contact with a bound is another class
        move[at.l + i] = p[i].l == 0.0 ? TABLE_HELD : TABLE_FREE;
        move[at.mu + i] = p[i].mu == 0.0 ? TABLE_UP : TABLE_FREE;
    }
    solved.n = n;
    open_arenas();
    coulomb_forward(x, y);
    for (int i = 0; i < 3 * n; i++) {
        CHECK_CLOSE(y[i], f[i], 1e-12, 1e-12); // the solver's tolerance
        CHECK_INT(solved.cache.contact[i / 3], p[i / 3].class);
    }
    table_check(&(table_row){.name = "coulomb_reduced",
                             .vjp_name = "cri_friction_reduced_vjp",
                             .jvp_name = "cri_friction_reduced_jvp",
                             .n_in = at.target,
                             .n_out = 3 * n,
                             .forward = coulomb_forward,
                             .vjp = coulomb_vjp,
                             .jvp = coulomb_jvp,
                             .x = x,
                             .move = move});
    close_arenas();
}

// of the sliding ones, the first has mu f_n < rho |u_t|, the second the opposite
static const plant plants[] = {
    {CRI_OPEN, .u = {0.7, 0.3, -0.5}, .mu = 0.4},
    {CRI_STICK, .f = {1.5, 0.2, -0.3}, .mu = 0.5, .l = 0.6},
    {CRI_SLIDE, .f = {1.2}, .u = {0.0, 1.9, -1.4}, .mu = 0.4, .l = 0.3},
    {CRI_SLIDE, .f = {2.2}, .u = {0.0, 0.2, -0.3}, .mu = 0.5, .l = 0.3},
    {CRI_BOUND_STICK, .f = {0.8, 0.1, -0.2}, .u = {0.9, 0.0, 0.0}, .mu = 0.5, .l = 0.8},
    {CRI_BOUND_SLIDE, .f = {0.8}, .u = {0.9, 1.8, -1.1}, .mu = 0.4, .l = 0.8},
    {CRI_BOUND_SLIDE, .f = {1.8}, .u = {0.9, 0.2, -0.3}, .mu = 0.5, .l = 1.8},
};

TEST(the_impulse_of_one_contact_has_its_gradient_in_every_class) {
    for (int i = 0; i < 7; i++) {
        check_coulomb(1, &plants[i], 11 + (uint64_t)i);
    }
}

TEST(impulses_of_coupled_contacts_have_their_gradients) {
    check_coulomb(3, (const plant[]){plants[0], plants[1], plants[2]}, 31);
    check_coulomb(3, (const plant[]){plants[3], plants[4], plants[5]}, 32);
    check_coulomb(3, (const plant[]){plants[2], plants[6], plants[1]}, 33);
}

TEST(friction_from_none_has_its_one_sided_gradient) {
    static const plant slide = {CRI_SLIDE, .f = {1.2}, .u = {0.0, 0.9, -0.4}, .l = 0.3};
    static const plant bound = {CRI_BOUND_SLIDE, .f = {0.8}, .u = {0.9, 0.8, -0.7}, .l = 0.8};
    check_coulomb(1, &slide, 41);
    check_coulomb(1, &bound, 42);
    check_coulomb(3, (const plant[]){slide, plants[1], bound}, 43);
}

// ---- laws --------------------------------------------------------------------------------------

static cri_contact_problem contact_problem_at(const double *x) {
    layout at = layout_of(solved.n);
    return (cri_contact_problem){.n = solved.n,
                                 .A = x + at.A,
                                 .b = x + at.c,
                                 .mu = x + at.mu,
                                 .e = x + at.l,
                                 .target = x + at.target,
                                 .is_plain = solved.is_plain};
}

static void law_forward(const double *x, double *y) {
    bool is_sliding[N_MOST];
    memcpy(solved.x, x, sizeof *x * (size_t)layout_of(solved.n).end);
    cri_contact_problem problem = contact_problem_at(solved.x);
    cri_law_report report = {.margin = 1.0, .is_sliding = is_sliding};
    cri_arena_reset(solved.keep);
    cri_arena_reset(solved.scratch);
    memset(solved.f, 0, sizeof solved.f);
    solved.law_cache =
        solved.law->solve(&problem, solved.f, true, &report, solved.keep, solved.scratch);
    CHECK_INT(report.outcome, CR_SOLVED);
    memcpy(y, solved.f, sizeof(double) * 3 * (size_t)solved.n);
}

static void law_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    cri_contact_problem problem = contact_problem_at(solved.x);
    layout at = layout_of(solved.n);
    int m = 3 * solved.n;
    cri_contact_adj adj;
    cri_arena_mark mark = cri_arena_get_mark(solved.scratch);
    solved.law->vjp(&problem, solved.law_cache, solved.f, y_adj, &adj, solved.scratch);
    for (int k = 0; k < adj.n_outer; k++) {
        for (int i = 0; i < m * m; i++) {
            x_adj[at.A + i] += adj.left[k][i / m] * adj.right[k][i % m];
        }
    }
    for (int i = 0; i < m; i++) {
        x_adj[at.c + i] += adj.b[i];
    }
    for (int i = 0; i < solved.n; i++) {
        x_adj[at.mu + i] += adj.mu[i];
        x_adj[at.l + i] += adj.e[i];
        x_adj[at.target + i] += adj.target[i];
    }
    cri_arena_rewind(solved.scratch, mark);
}

static void apply_A_tan(const void *context, const double *z, double *out) {
    multiply(3 * solved.n, context, z, NULL, out);
}

static void law_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    cri_contact_problem problem = contact_problem_at(solved.x), moved = contact_problem_at(x_tan);
    cri_contact_tan tan = {.apply_A = apply_A_tan,
                           .context = moved.A,
                           .b = moved.b,
                           .mu = moved.mu,
                           .e = moved.e,
                           .target = moved.target};
    solved.law->jvp(&problem, solved.law_cache, solved.f, &tan, y_tan, solved.scratch);
}

/// A planted contact of a law: plant is that of its first solve.
typedef struct law_plant {
    plant plant;
    double e, target;
    bool is_plain;
} law_plant;

static void check_law(const char *law, int n, const law_plant *p, uint64_t seed, const double *A) {
    bool is_kink = false;
    double x[TABLE_LIMIT] = {0}, f[3 * N_MOST];
    table_move move[TABLE_LIMIT] = {0};
    plant plants_of[N_MOST];
    layout at = layout_of(n);
    bool is_newton = strcmp(law, "ncp") == 0;
    fill_matrix(3 * n, seed, x + at.A);
    if (A) {
        memcpy(x + at.A, A, sizeof *A * (size_t)(9 * n * n));
    }
    for (int i = 0; i < n; i++) {
        plants_of[i] = p[i].plant;
        solved.is_plain[i] = p[i].is_plain;
        x[at.mu + i] = p[i].plant.mu;
        x[at.l + i] = p[i].e;
        x[at.target + i] = p[i].target;
        // whether a plain contact at e = 0 may bounce is the caller's decision
        move[at.l + i] = p[i].is_plain ? TABLE_HELD : p[i].e == 0.0 ? TABLE_UP : TABLE_FREE;
        is_kink = is_kink || (!p[i].is_plain && p[i].e == 0.0);
    }
    plant_problem(n, plants_of, x + at.A, f, x + at.c);
    for (int i = 0; is_newton && i < n; i++) {
        // c_n = b_n - max(e max(0, -b_n), target)
        double *b = &x[at.c + 3 * i], bounced = *b < 0.0 ? *b / (1.0 + p[i].e) : *b;
        bool takes_target = p[i].is_plain || bounced - *b < p[i].target;
        *b = takes_target ? *b + p[i].target : bounced;
    }
    solved.n = n;
    solved.law = cri_law_find(law);
    open_arenas();
    table_check(&(table_row){.name = law,
                             .vjp_name = "ncp_vjp",
                             .jvp_name = "ncp_jvp",
                             .n_in = at.end,
                             .n_out = 3 * n,
                             .forward = law_forward,
                             .vjp = law_vjp,
                             .jvp = law_jvp,
                             .x = x,
                             .move = move,
                             // at e = 0 the second solve is read off one with a bound of 1e-6
                             .tolerance = is_kink ? 1e-5 : 0.0});
    close_arenas();
}

static const plant open_plant = {CRI_OPEN, .u = {0.7, 0.3, -0.5}, .mu = 0.4};
static const plant stick = {CRI_STICK, .f = {1.5, 0.2, -0.3}, .mu = 0.5};
static const plant slide = {CRI_SLIDE, .f = {1.2}, .u = {0.0, 1.9, -1.4}, .mu = 0.4};
static const plant creep = {CRI_SLIDE, .f = {2.2}, .u = {0.0, 0.2, -0.3}, .mu = 0.5};

TEST(newton_restitution_has_its_gradient) {
    // restitution, a target above it, a target alone
    check_law("ncp", 1, &(law_plant){stick, .e = 0.6, .target = 0.1}, 51, NULL);
    check_law("ncp", 1, &(law_plant){slide, .e = 0.6, .target = 0.1}, 52, NULL);
    check_law("ncp", 1, &(law_plant){stick, .e = 0.1, .target = 2.5}, 53, NULL);
    check_law("ncp", 1, &(law_plant){slide, .e = 0.6, .target = 0.4, .is_plain = true}, 54, NULL);
    check_law("ncp", 1, &(law_plant){open_plant, .e = 0.6, .target = 0.1}, 55, NULL);
    const law_plant three[] = {{stick, .e = 0.6, .target = 0.1},
                               {slide, .e = 0.4, .target = 0.3, .is_plain = true},
                               {creep, .e = 0.2, .target = 3.0}};
    check_law("ncp", 3, three, 56, NULL);
}

TEST(a_contact_pressed_by_another_while_it_opens_has_its_gradient) {
    // normals pull at each other, so that the first has b_n > 0 and closes
    static const double A[36] = {1.0,  0.1,  -0.2, -0.7, 0.0,  0.1, 0.1,  1.1, 0.05, 0.1, 0.2, 0.0,
                                 -0.2, 0.05, 1.2,  0.0,  -0.1, 0.1, -0.7, 0.1, 0.0,  0.9, 0.1, 0.1,
                                 0.0,  0.2,  -0.1, 0.1,  1.3,  0.0, 0.1,  0.0, 0.1,  0.1, 0.0, 1.0};
    plant hit = stick;
    hit.f[0] = 3.0;
    const law_plant two[] = {{stick, .e = 0.6, .target = -0.2}, {hit, .e = 0.5, .target = -0.1}};
    check_law("ncp", 2, two, 0, A);
    check_law("ncp-poisson", 2, two, 0, A);
}

TEST(poisson_restitution_has_its_gradient) {
    const char *law = "ncp-poisson";
    // classes of the second solve: bound stick, bound slide, bound stick, stick, slide, open
    check_law(law, 1, &(law_plant){stick, .e = 0.6, .target = 0.1}, 61, NULL);
    check_law(law, 1, &(law_plant){slide, .e = 0.6, .target = 0.1}, 62, NULL);
    check_law(law, 1, &(law_plant){creep, .e = 0.6, .target = 0.1}, 63, NULL);
    check_law(law, 1, &(law_plant){stick, .e = 0.2, .target = 2.5}, 64, NULL);
    check_law(law, 1, &(law_plant){slide, .e = 0.2, .target = 2.5}, 65, NULL);
    check_law(law, 1, &(law_plant){open_plant, .e = 0.6, .target = 0.1}, 66, NULL);
    check_law(law, 1, &(law_plant){slide, .e = 0.6, .target = 0.4, .is_plain = true}, 67, NULL);
    const law_plant three[] = {{stick, .e = 0.6, .target = 0.1},
                               {slide, .e = 0.4, .target = 0.9, .is_plain = true},
                               {creep, .e = 0.3, .target = 0.2}};
    check_law(law, 3, three, 68, NULL);
}

TEST(poisson_restitution_from_none_has_its_one_sided_gradient) {
    check_law("ncp-poisson", 1, &(law_plant){stick, .e = 0.0, .target = -0.1}, 71, NULL);
    check_law("ncp-poisson", 1, &(law_plant){slide, .e = 0.0, .target = -0.1}, 72, NULL);
}

TABLE_PART(gradient_table_solver, the_impulse_of_one_contact_has_its_gradient_in_every_class,
           impulses_of_coupled_contacts_have_their_gradients,
           friction_from_none_has_its_one_sided_gradient, newton_restitution_has_its_gradient,
           a_contact_pressed_by_another_while_it_opens_has_its_gradient,
           poisson_restitution_has_its_gradient,
           poisson_restitution_from_none_has_its_one_sided_gradient)
