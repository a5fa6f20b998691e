// SPDX-License-Identifier: MIT
//
// The Coulomb laws through their interface: fixed vectors of an independent program
// (friction_vectors*.h), and random problems around a planted solution.
//
// A problem is planted so that it is one of bodies: velocities v+ after the impact are drawn first,
// then each contact's normal n to fit its class, w being the relative velocity at its point:
//
//   w = 0   stick:  any n, f inside the cone           w != 0   slide: n.w = 0, f_t = -mu f_n w/|w|
//                                                               open:  n.w > 0, f = 0
//
// and v- = v+ - W J' f. With few bodies A = J W J' is singular. The certificate here is De Saxce's,
// f = P_K(f - rho (u + mu |u_t| e_n)) with the nearest point of the cone K, which the solver does
// not use.

#include "contact/law.h"
#include "cr_test.h"
#include "solvers/friction_vectors_other.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- a solve by the law's interface -------------------------------------------------------------

/// Arenas of one call, and what came out.
typedef struct call {
    cr_arena *keep, *scratch;
    cri_contact_problem problem;
    cri_law_report report;
    const void *cache;
    bool is_plain[8], is_sliding[8];
} call;

static call call_law(const char *name, cri_contact_problem problem, bool has_cache, double *f) {
    call c = {.problem = problem};
    const cri_law *law = cri_law_find(name);
    assert_non_null(law);
    c.keep = cri_arena_create(law->n_byte(problem.n));
    c.scratch = cri_arena_create(law->n_byte(problem.n));
    assert_non_null(c.keep);
    assert_non_null(c.scratch);
    c.problem.is_plain = c.is_plain;
    c.report = (cri_law_report){.margin = 1.0, .is_sliding = c.is_sliding};
    c.cache = law->solve(&c.problem, f, has_cache, &c.report, c.keep, c.scratch);
    c.problem.is_plain = NULL;
    c.report.is_sliding = NULL;
    return c;
}

static call call_solve(const char *name, cri_contact_problem problem, double *f) {
    return call_law(name, problem, true, f);
}

static void call_close(call *c) {
    cri_arena_destroy(c->keep);
    cri_arena_destroy(c->scratch);
}

// u = A f + c
static void velocity(int m, const double *A, const double *f, const double *c, double *u) {
    for (int i = 0; i < m; i++) {
        u[i] = c[i];
        for (int j = 0; j < m; j++) {
            u[i] += A[i * m + j] * f[j];
        }
    }
}

// ---- fixed vectors ------------------------------------------------------------------------------

// 1e-10 of the largest entry: solves are accepted at 1e-11
static void check_row(const friction_vector *t, const char *what, int n, const double *a,
                      const double *b) {
    double scale = 1e-3;
    for (int i = 0; i < n; i++) {
        scale = fmax(scale, fabs(b[i]));
    }
    for (int i = 0; i < n; i++) {
        if (!CHECK_CLOSE(a[i], b[i], 1e-10 * scale, 0.0)) {
            cr_test_fail("%s, %s: %s[%d]", t->name, t->law, what, i);
        }
    }
}

static bool is_redundant(const friction_vector *t) {
    return strncmp(t->name, "V5", 2) == 0 || strncmp(t->name, "V6", 2) == 0 ||
           strncmp(t->name, "V10", 3) == 0;
}

static void check_vector(const friction_vector *t) {
    int m = 3 * t->n;
    double f[MAX_ROW] = {0}, v[MAX_ROW] = {0}, f_adj[MAX_ROW], zero[MAX_ROW] = {0}, sum = 0.0;
    double b_adj[MAX_ROW], diagonal[MAX_ROW];
    call c = call_solve(
        t->law,
        (cri_contact_problem){
            .n = t->n, .A = t->A, .b = t->b, .mu = t->mu, .e = t->e, .target = t->target},
        f);
    CHECK_INT(c.report.outcome, CR_SOLVED);
    velocity(m, t->A, f, t->b, v);
    check_row(t, "f", m, f, t->f);
    check_row(t, "v", m, v, t->v);

    // v = A f + b: f_adj = A weight, b_adj = weight, A_adj = weight f'
    cri_contact_adj adj;
    c.problem.is_plain = c.is_plain;
    velocity(m, t->A, t->weight, zero, f_adj);
    cri_law_find(t->law)->vjp(&c.problem, c.cache, f, f_adj, &adj, c.scratch);
    for (int i = 0; i < m; i++) {
        b_adj[i] = adj.b[i] + t->weight[i];
        diagonal[i] = t->weight[i] * f[i];
        for (int k = 0; k < adj.n_outer; k++) {
            diagonal[i] += adj.left[k][i] * adj.right[k][i];
        }
        for (int j = 0; j < m; j++) {
            sum += t->weight[i] * f[j];
            for (int k = 0; k < adj.n_outer; k++) {
                sum += adj.left[k][i] * adj.right[k][j];
            }
        }
    }
    check_row(t, "mu_adj", t->n, adj.mu, t->mu_adj);
    check_row(t, "e_adj", t->n, adj.e, t->e_adj);
    check_row(t, "target_adj", t->n, adj.target, t->target_adj);
    if (is_redundant(t)) {
        // b = J v stays in the range of A = J W J', and A only moves with J and W: what single
        // entries of b and A would do is a matter of convention, J'b_adj is not
        double seen[MAX_ROW], expected[MAX_ROW];
        velocity(m, t->A, b_adj, zero, seen);
        velocity(m, t->A, t->b_adj, zero, expected);
        check_row(t, "A b_adj", m, seen, expected);
    } else {
        check_row(t, "b_adj", m, b_adj, t->b_adj);
        check_row(t, "A_adj diagonal", m, diagonal, t->A_adj_diagonal);
    }
    check_row(t, "sum of A_adj", 1, &sum, &t->A_adj_sum);
    call_close(&c);
}

enum {
    N_COULOMB = sizeof coulomb_vectors / sizeof coulomb_vectors[0],
    N_VECTOR = N_COULOMB + sizeof other_vectors / sizeof other_vectors[0],
};

static const friction_vector *vector_at(int i) {
    return i < N_COULOMB ? &coulomb_vectors[i] : &other_vectors[i - N_COULOMB];
}

TEST(fixed_vectors_match_the_independent_program) {
    for (int i = 0; i < N_VECTOR; i++) {
        check_vector(vector_at(i));
    }
}

// ---- planted problems ---------------------------------------------------------------------------

enum { N_MAX = 8, M_MAX = 3 * N_MAX, DOF_MAX = 6 * N_MAX };

typedef struct planted {
    int n, n_body;
    double J[M_MAX * DOF_MAX]; // (3n, 6 n_body)
    double W[DOF_MAX];
    double v[DOF_MAX]; // after
    double A[M_MAX * M_MAX];
    double c[M_MAX], b[M_MAX], f[M_MAX];
    double mu[N_MAX], e[N_MAX], target[N_MAX];
} planted;

static double chance(cr_test_rng *rng) {
    return cr_test_uniform(rng, 0.0, 1.0);
}

static void cross(const double *a, const double *b, double *out) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot3(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void draw3(cr_test_rng *rng, double *a) {
    for (int i = 0; i < 3; i++) {
        a[i] = cr_test_uniform(rng, -1.0, 1.0);
    }
}

static void normalise(double *a) {
    double r = sqrt(dot3(a, a));
    for (int i = 0; i < 3; i++) {
        a[i] /= r;
    }
}

// frame (3, 3) with the normal n in front
static void frame_of(const double *n, double *frame) {
    double other[3] = {0.0, 0.0, 0.0};
    other[fabs(n[0]) < 0.5 ? 0 : 1] = 1.0;
    memcpy(frame, n, 3 * sizeof *n);
    cross(n, other, frame + 3);
    normalise(frame + 3);
    cross(n, frame + 3, frame + 6);
}

// masses over ratio, bodies at rest or not
static void draw_bodies(planted *p, cr_test_rng *rng, double decades) {
    for (int k = 0; k < p->n_body; k++) {
        double mass = pow(10.0, cr_test_uniform(rng, -0.5 * decades, 0.5 * decades));
        bool moves = chance(rng) < 0.6;
        for (int i = 0; i < 6; i++) {
            p->W[6 * k + i] = 1.0 / (i < 3 ? mass : mass * cr_test_uniform(rng, 0.05, 0.3));
            p->v[6 * k + i] = moves ? cr_test_uniform(rng, -1.0, 1.0) : 0.0;
        }
    }
}

/// Where a contact sits: bodies (-1: world) and arms.
typedef struct place {
    int body[2];
    double arm[2][3];
} place;

// relative velocity of the two points
static void slip_at(const planted *p, const place *at, double *w) {
    memset(w, 0, 3 * sizeof *w);
    for (int s = 0; s < 2; s++) {
        if (at->body[s] >= 0) {
            const double *v = p->v + 6 * at->body[s];
            double turn[3], sign = s == 0 ? -1.0 : 1.0;
            cross(v + 3, at->arm[s], turn);
            for (int i = 0; i < 3; i++) {
                w[i] += sign * (v[i] + turn[i]);
            }
        }
    }
}

static void fill_rows(planted *p, int k, const place *at, const double *frame) {
    int n_dof = 6 * p->n_body;
    for (int r = 0; r < 3; r++) {
        double *row = p->J + (3 * k + r) * n_dof;
        for (int s = 0; s < 2; s++) {
            if (at->body[s] >= 0) {
                double turn[3], sign = s == 0 ? -1.0 : 1.0;
                cross(at->arm[s], frame + 3 * r, turn);
                for (int i = 0; i < 3; i++) {
                    row[6 * at->body[s] + i] = sign * frame[3 * r + i];
                    row[6 * at->body[s] + 3 + i] = sign * turn[i];
                }
            }
        }
    }
}

// the planted impulse of contact k, and the normal that its class needs
static void draw_contact(planted *p, int k, cr_test_rng *rng) {
    place at = {.body = {-1, (int)(chance(rng) * p->n_body)}};
    double w[3], n[3], frame[9], *f = p->f + 3 * k;
    int other = (int)(chance(rng) * (p->n_body + 1)) - 1;
    at.body[0] = other == at.body[1] ? -1 : other;
    draw3(rng, at.arm[0]);
    draw3(rng, at.arm[1]);
    slip_at(p, &at, w);
    draw3(rng, n);
    double size = sqrt(dot3(w, w)), along = size > 0.0 ? dot3(n, w) / dot3(w, w) : 0.0;
    bool is_open = size > 0.0 && chance(rng) < 0.3;
    for (int i = 0; i < 3; i++) {
        n[i] = is_open ? (along < 0.0 ? -n[i] : n[i]) : n[i] - along * w[i];
    }
    normalise(n);
    frame_of(n, frame);
    fill_rows(p, k, &at, frame);

    // impulses of the size that its lighter body feels
    double inverse = p->W[6 * at.body[1]];
    inverse = at.body[0] >= 0 ? fmax(inverse, p->W[6 * at.body[0]]) : inverse;
    f[0] = is_open ? 0.0 : cr_test_uniform(rng, 0.2, 2.0) / inverse;
    double angle = cr_test_uniform(rng, 0.0, 6.28), share = cr_test_uniform(rng, 0.0, 0.95);
    bool is_sliding = size > 0.0;
    f[1] = p->mu[k] * f[0] * (is_sliding ? -dot3(w, frame + 3) / size : share * cos(angle));
    f[2] = p->mu[k] * f[0] * (is_sliding ? -dot3(w, frame + 6) / size : share * sin(angle));
}

static double draw_restitution(cr_test_rng *rng) {
    double kind = chance(rng);
    return kind < 0.25 ? 0.0 : kind < 0.5 ? 1.0 : cr_test_uniform(rng, 0.0, 1.0);
}

static planted draw_problem(int n, int n_body, double decades, double mu_max, cr_test_rng *rng) {
    planted p = {.n = n, .n_body = n_body};
    int m = 3 * n, n_dof = 6 * n_body;
    draw_bodies(&p, rng, decades);
    for (int k = 0; k < n; k++) {
        p.mu[k] = chance(rng) < 0.1 ? 0.0 : cr_test_uniform(rng, 0.04 * mu_max, mu_max);
        p.e[k] = draw_restitution(rng);
        draw_contact(&p, k, rng);
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            for (int k = 0; k < n_dof; k++) {
                p.A[i * m + j] += p.J[i * n_dof + k] * p.W[k] * p.J[j * n_dof + k];
            }
        }
    }
    // c = J v+ - A f;  the velocity before that gives this c with Newton restitution
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < n_dof; k++) {
            p.c[i] += p.J[i * n_dof + k] * p.v[k];
        }
        for (int j = 0; j < m; j++) {
            p.c[i] -= p.A[i * m + j] * p.f[j];
        }
        p.b[i] = i % 3 == 0 && p.c[i] < 0.0 ? p.c[i] / (1.0 + p.e[i / 3]) : p.c[i];
    }
    return p;
}

// ---- the certificate, from the raw data ---------------------------------------------------------

// nearest point of the cone |t| <= mu n
static void nearest_of_cone(const double *x, double mu, double *y) {
    double r = hypot(x[1], x[2]);
    memset(y, 0, 3 * sizeof *y);
    if (r <= mu * x[0]) {
        memcpy(y, x, 3 * sizeof *y);
    } else if (mu * r > -x[0]) {
        y[0] = (x[0] + mu * r) / (1.0 + mu * mu);
        y[1] = mu * y[0] * x[1] / r;
        y[2] = mu * y[0] * x[2] / r;
    }
}

// largest |f - P_K(f - rho (u + mu |u_t| e_n))| over contacts, relative to the tolerance of the
// solver
static double certificate(const planted *p, const double *f) {
    int m = 3 * p->n;
    double worst = 0.0, u[M_MAX];
    velocity(m, p->A, f, p->c, u);
    for (int k = 0; k < p->n; k++) {
        double trace = 0.0, rounding = 0.0, x[3], y[3], miss = 0.0, size = 0.0, speed = 0.0;
        for (int i = 3 * k; i < 3 * k + 3; i++) {
            double sum = 0.0;
            for (int j = 0; j < m; j++) {
                sum += fabs(p->A[i * m + j] * f[j]);
            }
            rounding = fmax(rounding, sum);
            trace += p->A[i * m + i];
            size += f[i] * f[i];
            speed += fmax(p->b[i] * p->b[i], p->c[i] * p->c[i]);
        }
        double rho = 3.0 / trace, lift = p->mu[k] * hypot(u[3 * k + 1], u[3 * k + 2]);
        for (int r = 0; r < 3; r++) {
            x[r] = f[3 * k + r] - rho * (u[3 * k + r] + (r == 0 ? lift : 0.0));
        }
        nearest_of_cone(x, p->mu[k], y);
        for (int r = 0; r < 3; r++) {
            miss += (f[3 * k + r] - y[r]) * (f[3 * k + r] - y[r]);
        }
        double allowed =
            1e-10 * (sqrt(size) + rho * sqrt(speed)) + 64.0 * DBL_EPSILON * rho * rounding;
        worst = fmax(worst, sqrt(miss) / allowed);
    }
    return worst;
}

// ---- rates --------------------------------------------------------------------------------------

typedef struct tally {
    int n, n_solved;
} tally;

// one problem; what the law calls solved must be so
static void try_problem(const planted *p, const char *law, bool has_certificate, tally *t) {
    double f[M_MAX] = {0};
    call c = call_solve(
        law,
        (cri_contact_problem){
            .n = p->n, .A = p->A, .b = p->b, .mu = p->mu, .e = p->e, .target = p->target},
        f);
    for (int i = 0; i < 3 * p->n; i++) {
        CHECK(isfinite(f[i]));
    }
    bool is_solved = c.report.outcome == CR_SOLVED;
    t->n++;
    t->n_solved += is_solved;
    // 16: the two maps are not the same function of f, only their zeros agree
    if (is_solved && has_certificate && !(certificate(p, f) <= 16.0)) {
        cr_test_fail("%s, %d contacts on %d bodies: solved to %.2g, the certificate is %.2g", law,
                     p->n, p->n_body, c.report.residual, certificate(p, f));
    }
    call_close(&c);
}

static planted without_restitution(planted p) {
    memset(p.e, 0, sizeof p.e);
    memcpy(p.b, p.c, sizeof p.b);
    return p;
}

static void check_rates(double decades, double least_small, double least_large) {
    for (int n = 1; n <= N_MAX; n++) {
        tally newton = {0}, poisson = {0};
        for (int seed = 0; seed < cr_test_share(300); seed++) {
            cr_test_rng rng = cr_test_rng_of((uint64_t)(1000 * n + seed));
            int n_body = 1 + (int)(chance(&rng) * n);
            planted p = draw_problem(n, n_body, decades, 1.2, &rng);
            CHECK(certificate(&p, p.f) <= 1.0);
            try_problem(&p, "ncp", true, &newton);
            try_problem(&p, "ncp-poisson", false, &poisson);
            p = without_restitution(p);
            try_problem(&p, "ncp", true, &newton);
            try_problem(&p, "ncp-poisson", true, &poisson);
        }
        double least = n <= 4 ? least_small : least_large;
        double rate[2] = {(double)newton.n_solved / newton.n, (double)poisson.n_solved / poisson.n};
        printf("%d contacts, masses over %g decades: ncp %.2f %%, ncp-poisson %.2f %%\n", n,
               decades, 100.0 * rate[0], 100.0 * rate[1]);
        if (rate[0] < least || rate[1] < least) {
            cr_test_fail("%d contacts: solved %.4f and %.4f, asked for %.4f", n, rate[0], rate[1],
                         least);
        }
    }
}

TEST(planted_problems_with_like_masses_are_solved) {
    check_rates(1.0, 0.99, 0.99);
}

TEST(planted_problems_with_mass_ratios_of_a_million_are_solved) {
    check_rates(6.0, 0.99, 0.98);
}

// gradients on or off must not change the motion
static void check_cache(const char *where, const cri_contact_problem *problem) {
    for (int law = 0; cri_law_at(law); law++) {
        double f[2][M_MAX] = {{0}};
        for (int k = 0; k < 2; k++) {
            call c = call_law(cri_law_at(law)->name, *problem, k == 1, f[k]);
            call_close(&c);
        }
        if (memcmp(f[0], f[1], sizeof f[0]) != 0) {
            cr_test_fail("%s, %s, %d contacts: the impulse depends on the cache", where,
                         cri_law_at(law)->name, problem->n);
        }
    }
}

TEST(the_cache_of_the_derivatives_does_not_change_the_impulse) {
    // as given, and without restitution where an overlap opens
    static const double none[N_MAX] = {0}, aim[N_MAX] = {.1, .1, .1, .1, .1, .1, .1, .1};
    for (int i = 0; i < N_VECTOR; i += 2) {
        const friction_vector *t = vector_at(i);
        cri_contact_problem problem = {
            .n = t->n, .A = t->A, .b = t->b, .mu = t->mu, .e = t->e, .target = t->target};
        check_cache(t->name, &problem);
        problem.e = none;
        check_cache(t->name, &problem);
        problem.target = aim;
        check_cache(t->name, &problem);
    }
    for (int seed = 0; seed < cr_test_share(400); seed++) {
        cr_test_rng rng = cr_test_rng_of((uint64_t)seed);
        int n = 1 + seed % N_MAX, n_body = 1 + (int)(chance(&rng) * n);
        planted p = draw_problem(n, n_body, 2.0, 1.2, &rng);
        p = seed % 16 < 8 ? p : without_restitution(p);
        cri_contact_problem problem = {.n = n,
                                       .A = p.A,
                                       .b = p.b,
                                       .mu = p.mu,
                                       .e = p.e,
                                       .target = seed % 32 < 16 ? none : aim};
        check_cache("planted", &problem);
    }
}

// a quadratic program, whose velocity is unique also where the impulse is not
TEST(without_friction_the_planted_velocity_is_recovered) {
    for (int seed = 0; seed < cr_test_share(400); seed++) {
        cr_test_rng rng = cr_test_rng_of((uint64_t)seed);
        int n = 1 + seed % N_MAX, n_body = 1 + (int)(chance(&rng) * n), m = 3 * n;
        planted p = draw_problem(n, n_body, 3.0, 0.0, &rng);
        double f[M_MAX] = {0}, u[M_MAX], u_planted[M_MAX], scale = 0.0;
        call c =
            call_solve("ncp",
                       (cri_contact_problem){
                           .n = n, .A = p.A, .b = p.b, .mu = p.mu, .e = p.e, .target = p.target},
                       f);
        velocity(m, p.A, f, p.c, u);
        velocity(m, p.A, p.f, p.c, u_planted);
        for (int i = 0; i < m; i++) {
            scale = fmax(scale, fabs(p.c[i]));
        }
        // the certificate's 1e-10, and the square root that a flat objective costs
        for (int i = 0; i < m; i++) {
            CHECK_CLOSE(u[i], u_planted[i], 1e-8 * scale, 0.0);
        }
        call_close(&c);
    }
}

// ---- one contact --------------------------------------------------------------------------------

TEST(without_friction_there_is_no_tangential_impulse) {
    cr_test_rng rng = cr_test_rng_of(5);
    for (int k = 0; k < 100; k++) {
        planted p = draw_problem(1, 1, 2.0, 0.0, &rng);
        double f[3] = {0}, u[3], e[3] = {0.0, 0.4, 1.0};
        p.e[0] = e[k % 3];
        p.b[0] = -fabs(p.b[0]) - 0.1;
        for (int law = 0; law < 2; law++) {
            memset(f, 0, sizeof f);
            call c = call_solve(
                cri_law_at(law)->name,
                (cri_contact_problem){
                    .n = 1, .A = p.A, .b = p.b, .mu = p.mu, .e = p.e, .target = p.target},
                f);
            CHECK_INT(c.report.outcome, CR_SOLVED);
            CHECK(f[1] == 0.0 && f[2] == 0.0);
            velocity(3, p.A, f, p.b, u);
            CHECK_CLOSE(u[0], -p.e[0] * p.b[0], 1e-12 * fabs(p.b[0]), 1e-12);
            call_close(&c);
        }
    }
}

TEST(velocities_below_the_tolerance_ask_for_no_impulse) {
    // a box on four corners that stands still but for rounding; a start from the last step
    static const char *const law[] = {"ncp", "cone", "lcp"};
    static const double at[4][2] = {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
    double A[144] = {0}, mu[4] = {0.5, 0.5, 0.5, 0.5}, none[4] = {0};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            // rows z, x, y of a body with 1 kg and inertia 1 that turns about x and y alone
            A[36 * i + 3 * j] = 1.0 + at[i][0] * at[j][0] + at[i][1] * at[j][1];
            A[36 * i + 3 * j + 13] = A[36 * i + 3 * j + 26] = 1.0;
        }
    }
    for (int k = 0; k < 6; k++) {
        double size = k < 3 ? 9e-13 : 1e-9, b[12], f[12];
        for (int i = 0; i < 12; i++) {
            b[i] = i % 3 ? 0.0 : (i == 3 ? -size : -0.5 * size);
            f[i] = i % 3 ? 0.0 : 0.25;
        }
        cri_contact_problem problem = {.n = 4, .A = A, .b = b, .mu = mu, .e = none, .target = none};
        call c = call_law(law[k % 3], problem, false, f);
        CHECK_INT(c.report.outcome, CR_SOLVED);
        double sum = f[0] + f[3] + f[6] + f[9];
        if (k < 3) {
            CHECK(sum == 0.0 && c.report.residual <= 1.0 && c.report.n_iteration == 0);
        } else {
            CHECK(sum > 0.4 * size && sum < 2.0 * size);
        }
        call_close(&c);
    }
}

CR_TEST_MAIN(fixed_vectors_match_the_independent_program,
             planted_problems_with_like_masses_are_solved,
             planted_problems_with_mass_ratios_of_a_million_are_solved,
             the_cache_of_the_derivatives_does_not_change_the_impulse,
             without_friction_the_planted_velocity_is_recovered,
             without_friction_there_is_no_tangential_impulse,
             velocities_below_the_tolerance_ask_for_no_impulse)
