// SPDX-License-Identifier: MIT
//
// Contact laws against Siconos 4.4: Coulomb's law against its fc3d solvers, the convex problem
// against its problem on second-order cones. Never across: where a contact slides, the two laws
// differ.
//
// Both answers are first judged by a certificate that neither program uses as it stands here,
//
//   |f - P_K(f - rho (u + s e_n))|,   s = mu |u_t| (Coulomb) or 0 (convex),  u = A f + c,
//
// P_K the nearest point of |f_t| <= mu f_n. Velocities u are compared, for impulses are not unique
// where A is singular. Under Coulomb's law u need not be unique either: where both pass and differ,
// that is counted and not called an error, but then our own certificate must pass Siconos's answer.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "siconos_problem.h"

// of velocities, relative to those before: both solvers stop at 1e-11 to 1e-12, and an error of
// impulses grows with A by some hundred
#define TOLERANCE 1e-9

// of the certificate, relative to rho |c|: ours has 1e-10 relative to |f| + rho |c|
#define CERTIFICATE 1e-9

// of 100 problems with singular A those where Coulomb's law may have several solutions, as when a
// box slides on four corners; it was 2
enum { MAX_OTHER = 5 };

typedef struct tally {
    int n, n_other, n_silent; // problems, with another solution, without an answer of Siconos
    double error, certificate;
} tally;

static void velocity(const oracle_problem *p, const double *f, double *u) {
    int m = 3 * p->n;
    for (int i = 0; i < m; i++) {
        u[i] = p->c[i];
        for (int j = 0; j < m; j++) {
            u[i] += p->A[i * m + j] * f[j];
        }
    }
}

// nearest point of the cone |t| <= mu n
static void nearest(const double *x, double mu, double *y) {
    double r = hypot(x[1], x[2]);
    memset(y, 0, 3 * sizeof *y);
    if (x[0] > 0.0 && r <= mu * x[0]) {
        memcpy(y, x, 3 * sizeof *y);
    } else if (mu * r > -x[0]) {
        y[0] = (x[0] + mu * r) / (1.0 + mu * mu);
        y[1] = mu * y[0] * x[1] / r;
        y[2] = mu * y[0] * x[2] / r;
    }
}

static double largest(const double *a, int n) {
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i]));
    }
    return most;
}

// largest miss of all contacts, relative to the velocities before, and not to impulses: those of an
// iteration that runs away would excuse anything
static double certificate(cri_friction_kind kind, const oracle_problem *p, const double *f) {
    int m = 3 * p->n;
    double u[N_ROW], worst = 0.0;
    velocity(p, f, u);
    for (int i = 0; i < p->n; i++) {
        const double *d = p->A + 3 * i * (m + 1);
        double rho = 3.0 / (d[0] + d[m + 1] + d[2 * m + 2]);
        double shift = kind == CRI_COULOMB ? p->mu[i] * hypot(u[3 * i + 1], u[3 * i + 2]) : 0.0;
        double x[3], y[3];
        for (int r = 0; r < 3; r++) {
            x[r] = f[3 * i + r] - rho * (u[3 * i + r] + (r == 0 ? shift : 0.0));
        }
        nearest(x, p->mu[i], y);
        double miss = 0.0;
        for (int r = 0; r < 3; r++) {
            miss = fmax(miss, fabs(f[3 * i + r] - y[r]));
        }
        worst = fmax(worst, miss / (rho * largest(p->c, m)));
    }
    return worst;
}

static cri_friction as_friction(cri_friction_kind kind, const oracle_problem *p) {
    static const double zero[N_CONTACT];
    return (cri_friction){
        .kind = kind, .n = p->n, .A = p->A, .c = p->c, .b = p->c, .mu = p->mu, .l = zero};
}

static bool carom_solve(cri_friction_kind kind, const oracle_problem *p, double *f) {
    cri_friction problem = as_friction(kind, p);
    cr_arena *scratch = cri_arena_create(cri_friction_bytes(p->n));
    cri_solve_report report = cri_friction_solve(&problem, f, scratch);
    cri_arena_destroy(scratch);
    return report.outcome == CR_SOLVED;
}

// largest difference of the velocities of two impulses, relative to the velocities before
static double difference(const oracle_problem *p, const double *f, const double *g) {
    int m = 3 * p->n;
    double u[N_ROW], w[N_ROW], most = 0.0;
    velocity(p, f, u);
    velocity(p, g, w);
    for (int i = 0; i < m; i++) {
        most = fmax(most, fabs(u[i] - w[i]));
    }
    return most / largest(p->c, m);
}

// both pass and differ: our own certificate must accept Siconos's answer too
static void check_other(cri_friction_kind kind, const oracle_problem *p, const double *theirs) {
    cri_friction problem = as_friction(kind, p);
    CHECK_CLOSE(cri_friction_certificate(&problem, theirs), 0.0, 1.0, 0.0);
}

static void compare(cri_friction_kind kind, const oracle_problem *p, tally *t) {
    double ours[N_ROW] = {0}, theirs[N_ROW] = {0};
    t->n++;
    CHECK(carom_solve(kind, p, ours));
    double miss = certificate(kind, p, ours);
    t->certificate = fmax(t->certificate, miss);
    if (!CHECK_CLOSE(miss, 0.0, CERTIFICATE, 0.0)) {
        cr_test_fail("%s %d of %d contacts: our certificate", p->name, t->n, p->n);
    }
    if (!siconos_solve(kind, p, theirs) || !(certificate(kind, p, theirs) <= CERTIFICATE)) {
        t->n_silent++;
        return;
    }
    double error = difference(p, ours, theirs);
    if (error <= TOLERANCE) {
        t->error = fmax(t->error, error);
    } else if (kind == CRI_CONVEX) {
        cr_test_fail("%s %d of %d contacts: velocities differ by %.3g", p->name, t->n, p->n, error);
    } else {
        t->n_other++;
        check_other(kind, p, theirs);
    }
}

static void print_tally(const char *what, const tally *t) {
    print_message("%-34s %3d problems: velocity %.0e, certificate %.0e, other solutions %d, "
                  "Siconos gave up %d\n",
                  what, t->n, t->error, t->certificate, t->n_other, t->n_silent);
}

// so that hardly a problem goes without a comparison
static void check_counts(const tally *t, int max_other) {
    CHECK(t->n_other <= max_other);
    CHECK(t->n_silent <= t->n / 33);
}

// ---- tests -------------------------------------------------------------------------------------

// published impulses, to as many digits as there are
static void check_published(const oracle_problem *p, const double *published, const double *f) {
    for (int i = 0; i < 3 * p->n; i++) {
        // three digits of the spheres, else those of both solvers
        double tolerance = p->n == 3 && isnan(published[0]) ? 5e-4 : 1e-9;
        if (!isnan(published[i]) && !CHECK_CLOSE(f[i], published[i], tolerance, 0.0)) {
            cr_test_fail("%s: impulse %d", p->name, i);
        }
    }
}

TEST(siconos_finds_the_published_impulses) {
    for (int i = 0; i < N_FIXED; i++) {
        oracle_problem p = fixed_problem(i);
        double coulomb[N_ROW], convex[N_ROW];
        CHECK(siconos_solve(CRI_COULOMB, &p, coulomb));
        CHECK(siconos_solve(CRI_CONVEX, &p, convex));
        check_published(&p, p.coulomb, coulomb);
        check_published(&p, p.convex, convex);
        CHECK_CLOSE(certificate(CRI_CONVEX, &p, convex), 0.0, CERTIFICATE, 0.0);
    }
}

TEST(fixed_problems_have_siconos_velocities) {
    tally t = {0};
    for (int i = 0; i < N_FIXED; i++) {
        oracle_problem p = fixed_problem(i);
        double f[N_ROW] = {0};
        compare(CRI_COULOMB, &p, &t);
        CHECK(carom_solve(CRI_COULOMB, &p, f));
        check_published(&p, p.coulomb, f);
    }
    print_tally("Coulomb, fixed", &t);
    check_counts(&t, 0);
}

static tally compare_random(cri_friction_kind kind, bool is_singular) {
    tally t = {0};
    cr_test_rng rng = cr_test_rng_of(is_singular ? 2 : 1);
    for (int i = 0; i < 100; i++) {
        oracle_problem p = random_problem(&rng, is_singular);
        compare(kind, &p, &t);
    }
    return t;
}

TEST(random_problems_have_siconos_velocities) {
    tally definite = compare_random(CRI_COULOMB, false);
    tally singular = compare_random(CRI_COULOMB, true);
    print_tally("Coulomb, random, definite", &definite);
    print_tally("Coulomb, random, semidefinite", &singular);
    check_counts(&definite, 0);
    check_counts(&singular, MAX_OTHER);
}

TEST(convex_problems_have_siconos_velocities) {
    tally fixed = {0};
    for (int i = 0; i < N_FIXED; i++) {
        oracle_problem p = fixed_problem(i);
        double f[N_ROW] = {0};
        compare(CRI_CONVEX, &p, &fixed);
        CHECK(carom_solve(CRI_CONVEX, &p, f));
        check_published(&p, p.convex, f);
    }
    tally definite = compare_random(CRI_CONVEX, false);
    tally singular = compare_random(CRI_CONVEX, true);
    print_tally("convex, fixed", &fixed);
    print_tally("convex, random, definite", &definite);
    print_tally("convex, random, semidefinite", &singular);
    check_counts(&fixed, 0);
    check_counts(&definite, 0);
    check_counts(&singular, 0);
}

CR_TEST_MAIN(siconos_finds_the_published_impulses, fixed_problems_have_siconos_velocities,
             random_problems_have_siconos_velocities, convex_problems_have_siconos_velocities)
