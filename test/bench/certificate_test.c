// SPDX-License-Identifier: MIT
//
// The certificate: its projections by their variational inequality, its judgement on solutions by
// hand and on the same ones a little wrong.

#include "bench/certificate.h"
#include "cr_test.h"

#include <math.h>
#include <string.h>

// ---- projections -------------------------------------------------------------------------------

// long double rounds to 1e-19; a dozen operations on numbers up to 10
static const double rounding = 1e-16;

// (z - p).(q - p) <= 0 for every q of the set, and p in it: p is the nearest point
static void check_nearest(const long double z[3], const long double p[3], const long double q[3]) {
    long double sum = 0.0L;
    for (int i = 0; i < 3; i++) {
        sum += (z[i] - p[i]) * (q[i] - p[i]);
    }
    CHECK(sum <= rounding * 100.0);
}

static void draw(cr_test_rng *rng, long double z[3], double *mu, double *l) {
    for (int i = 0; i < 3; i++) {
        z[i] = cr_test_uniform(rng, -2.0, 2.0);
    }
    *mu = cr_test_uniform(rng, 0.0, 1.0) < 0.1 ? 0.0 : cr_test_uniform(rng, 0.0, 1.5);
    *l = cr_test_uniform(rng, 0.0, 1.0) < 0.5 ? 0.0 : cr_test_uniform(rng, 0.0, 1.0);
}

TEST(the_projection_of_cone_is_the_nearest_point) {
    cr_test_rng rng = cr_test_rng_of(1);
    for (int k = 0; k < 2000; k++) {
        long double z[3], p[3];
        double mu, l;
        draw(&rng, z, &mu, &l);
        cri_certificate_project("cone", z, mu, l, p);
        CHECK(p[0] >= l && hypotl(p[1], p[2]) <= mu * p[0] + rounding);
        for (int i = 0; i < 40; i++) {
            double angle = cr_test_uniform(&rng, 0.0, 6.3), height = l + i / 10.0;
            double radius = i % 2 ? mu * height : mu * height * cr_test_uniform(&rng, 0.0, 1.0);
            const long double q[3] = {height, radius * cos(angle), radius * sin(angle)};
            check_nearest(z, p, q);
        }
    }
}

TEST(the_projections_of_ncp_and_lcp_clip_then_cut) {
    cr_test_rng rng = cr_test_rng_of(2);
    for (int k = 0; k < 4000; k++) {
        bool is_octagon = k % 2;
        long double z[3], p[3];
        double mu, l;
        draw(&rng, z, &mu, &l);
        cri_certificate_project(is_octagon ? "lcp" : "ncp", z, mu, l, p);
        CHECK(p[0] == fmaxl(l, z[0]));
        // the tangential part is nearest among the corners, hence in all of their hull
        int n = is_octagon ? 8 : 64;
        const long double pi = acosl(-1.0L), flat[3] = {p[0], z[1], z[2]};
        for (int i = 0; i < n; i++) {
            long double angle = 2.0L * pi * i / n, r = mu * p[0];
            const long double q[3] = {p[0], r * cosl(angle), r * sinl(angle)};
            check_nearest(flat, p, q);
            // inside: below the side between two corners
            long double middle = angle + pi / n;
            long double reach = is_octagon ? r * cosl(pi / n) : r;
            CHECK(p[1] * cosl(middle) + p[2] * sinl(middle) <= reach + rounding);
        }
    }
}

// ---- judgement ---------------------------------------------------------------------------------

/// One contact with A = 1.
typedef struct one {
    double A[9], b[3], mu, e, target;
    bool is_plain;
} one;

static double judge(const char *law, const one *o, const double f[3], const double *compression,
                    const double *shift) {
    cri_contact_problem p = {.n = 1,
                             .A = o->A,
                             .b = o->b,
                             .mu = &o->mu,
                             .e = &o->e,
                             .target = &o->target,
                             .is_plain = &o->is_plain};
    return cri_certificate_of(law, &p, f, compression, shift).residual;
}

// A = 1 makes every phase a projection: f = P(-c). Sliding at mu = 1/2 with e = 1/2:
//   cone: f_c = P(1, -2, 0) = 1.6 (1, -1/2, 0), v_c = (0.6, 1.2, 0), l = 0.8;
//         f_r = P(-0.6, -1.2, 0): along the cone (-0.6 + 0.6)/1.25 < l, so (0.8, -0.4, 0)
//   ncp:  c = (-1.5, 2, 0), f = (1.5, -0.75, 0)
//   ncp-poisson: f_c = (1, -1/2, 0), v_c = (0, 1.5, 0), l = 1/2; f_r = (1/2, -1/4, 0)
static const one slide = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {-1.0, 2.0, 0.0}, 0.5, 0.5, 0.0, false};

// what is enough to pass: the tolerance is 1e-10 of about 3 to 5 in these problems, so a miss of
// 1e-9 fails and one of 1e-11 passes
static void check_sharp(const char *law, const one *o, const double f[3], const double *compression,
                        const double *shift) {
    CHECK(judge(law, o, f, compression, shift) < 1e-4);
    for (int r = 0; r < 3; r++) {
        double g[3] = {f[0], f[1], f[2]};
        g[r] += 1e-9;
        CHECK(judge(law, o, g, compression, shift) > 1.0);
        g[r] = f[r] + 1e-11;
        CHECK(judge(law, o, g, compression, shift) < 1.0);
    }
}

TEST(solutions_by_hand_pass_and_wrong_ones_do_not) {
    const double ncp[3] = {1.5, -0.75, 0.0}, cone[3] = {2.4, -1.2, 0.0};
    const double ncp_first[3] = {1.0, -0.5, 0.0}, cone_first[3] = {1.6, -0.8, 0.0};
    check_sharp("ncp", &slide, ncp, NULL, NULL);
    check_sharp("lcp", &slide, ncp, NULL, NULL); // along a corner of the octagon
    check_sharp("ncp-poisson", &slide, ncp, ncp_first, NULL);
    check_sharp("cone", &slide, cone, cone_first, NULL);
    // each refuses the other's
    CHECK(judge("cone", &slide, ncp, ncp_first, NULL) > 1e4);
    CHECK(judge("ncp-poisson", &slide, cone, cone_first, NULL) > 1e4);
    CHECK(judge("ncp", &slide, cone, NULL, NULL) > 1e4);
    // a wrong compression is found too
    CHECK(judge("cone", &slide, cone, ncp_first, NULL) > 1e4);
}

// between corners u_t locks to the bisector: with b_t at 22.5 degrees f_t stays on the side; at
// mu = 1 and b_n = -1 the side's middle is cos(22.5 degrees)
TEST(the_octagon_has_sides) {
    double k = cos(acos(-1.0) / 8.0), s = sin(acos(-1.0) / 8.0);
    one o = slide;
    o.e = 0.0;
    o.mu = 1.0;
    o.b[1] = 3.0 * k;
    o.b[2] = 3.0 * s;
    const double f[3] = {1.0, -k * k, -k * s}, round[3] = {1.0, -k, -s};
    CHECK(judge("lcp", &o, f, NULL, NULL) < 1e-4);
    CHECK(judge("lcp", &o, round, NULL, NULL) > 1e4);
    CHECK(judge("ncp", &o, round, NULL, NULL) < 1e-4);
    CHECK(judge("ncp", &o, f, NULL, NULL) > 1e4);
}

TEST(targets_plain_contacts_and_shifts_count) {
    // plain: e does not count, the target does, f_n = 1 + 0.25
    one o = slide;
    o.is_plain = true;
    o.target = 0.25;
    const double f[3] = {1.25, -0.625, 0.0};
    CHECK(judge("ncp", &o, f, NULL, NULL) < 1e-4);
    o.is_plain = false; // now the bounce of 0.5 is more
    CHECK(judge("ncp", &o, f, NULL, NULL) > 1e4);
    // a target above the bounce, also in the second phase: c_n = 0 - 0.75, f_r = (0.75, -0.375, 0)
    o.target = 0.75;
    const double more[3] = {1.75, -0.875, 0.0}, first[3] = {1.0, -0.5, 0.0};
    CHECK(judge("ncp", &o, more, NULL, NULL) < 1e-4);
    CHECK(judge("ncp-poisson", &o, more, first, NULL) < 1e-4);
    // a shifted diagonal: A = 1 + 1/3 divides the impulse
    const double shift = 1.0 / 3.0, shifted[3] = {1.5 * 0.75, -0.75 * 0.75, 0.0};
    CHECK(judge("ncp", &slide, shifted, NULL, &shift) < 1e-4);
    CHECK(judge("ncp", &slide, shifted, NULL, NULL) > 1e4);
}

// A plain contact that opens at (0.2, 0.05, 0) m/s: friction brings it there, c = b - drift
TEST(friction_brings_tangents_to_the_drift) {
    const one o = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {-1.0, 0.1, 0.0}, 0.5, 0.0, 0.2, true};
    const double drift[3] = {0.2, 0.05, 0.0}, none[3] = {0.0}, still[3] = {1.2, -0.1, 0.0};
    cri_contact_problem p = {.n = 1,
                             .A = o.A,
                             .b = o.b,
                             .mu = &o.mu,
                             .e = &o.e,
                             .target = &o.target,
                             .drift = drift,
                             .is_plain = &o.is_plain};
    static const char *const laws[] = {"ncp", "ncp-poisson", "cone", "cone-reg", "lcp"};
    cr_arena *keep = cri_arena_create(1 << 16), *scratch = cri_arena_create(1 << 16);
    assert_true(keep && scratch);
    for (int k = 0; k < 5; k++) {
        cri_trial trial;
        assert_true(cri_trial_run(cri_law_find(laws[k]), &p, &trial, keep, scratch));
        CHECK_INT(trial.verdict, CRI_SOLVED);
        CHECK_CLOSE(trial.f[0], 1.2, 1e-12, 0.0);
        CHECK_CLOSE(trial.f[1], -0.05, 1e-12, 0.0);
        // the impulse that stops it, and that of another drift
        CHECK(cri_certificate_of(laws[k], &p, still, NULL, NULL).residual > 1e4);
        p.drift = none;
        CHECK(cri_certificate_of(laws[k], &p, trial.f, NULL, NULL).residual > 1e4);
        p.drift = drift;
    }
    cri_arena_destroy(keep);
    cri_arena_destroy(scratch);
}

TEST(what_is_not_finite_is_unsolved) {
    const double f[3] = {1.5, NAN, 0.0}, good[3] = {1.5, -0.75, 0.0};
    const double first[3] = {INFINITY, 0.0, 0.0};
    CHECK(judge("ncp", &slide, f, NULL, NULL) == INFINITY);
    CHECK(judge("ncp-poisson", &slide, good, first, NULL) == INFINITY);
    CHECK_INT(cri_certificate_verdict(&(cri_certificate){.residual = INFINITY}), CRI_UNSOLVED);
    CHECK_INT(cri_certificate_verdict(&(cri_certificate){.residual = NAN}), CRI_UNSOLVED);
    CHECK_INT(cri_certificate_verdict(&(cri_certificate){.residual = 9e3}), CRI_LOOSELY);
    CHECK_INT(cri_certificate_verdict(&(cri_certificate){.residual = 0.9}), CRI_SOLVED);
    CHECK(!cri_certificate_knows("magic"));
}

// A body between two walls that flies at one of them with e = 1: it must go back, and the other
// wall forbids it. Impulses that grow together never get there, however large they are.
TEST(an_impulse_that_runs_away_is_no_solution) {
    double A[36] = {0}, b[6] = {-1.0, 0.0, 0.0, 1.0, 0.0, 0.0};
    for (int i = 0; i < 6; i++) {
        A[7 * i] = 1.0;
    }
    A[3] = A[18] = -1.0;
    const double mu[2] = {0}, e[2] = {1.0, 1.0}, target[2] = {0};
    const bool is_plain[2] = {false};
    cri_contact_problem p = {
        .n = 2, .A = A, .b = b, .mu = mu, .e = e, .target = target, .is_plain = is_plain};
    // up to 1e12; beyond, the rounding of the impulse is a speed of its own
    for (double size = 1.0; size < 2e12; size *= 10.0) {
        const double f[6] = {size + 1.5, 0.0, 0.0, size, 0.0, 0.0};
        cri_certificate c = cri_certificate_of("ncp", &p, f, NULL, NULL);
        CHECK(c.residual > 10.0);
    }
}

CR_TEST_MAIN(an_impulse_that_runs_away_is_no_solution, the_projection_of_cone_is_the_nearest_point,
             the_projections_of_ncp_and_lcp_clip_then_cut,
             solutions_by_hand_pass_and_wrong_ones_do_not, the_octagon_has_sides,
             targets_plain_contacts_and_shifts_count, friction_brings_tangents_to_the_drift,
             what_is_not_finite_is_unsolved)
