// SPDX-License-Identifier: MIT
//
// The law that makes data of paper 000's Tables S.4 and S.5: its own conditions, and the law cone
// in a plane.

#include "cr_test.h"

#include "base/math/dense.h"
#include "base/random.h"
#include "contact/law.h"

#include <math.h>
#include <string.h>

extern const cri_law cri_dcs_generators;

/// One contact.
typedef struct single {
    double A[9], b[3], mu, e, target;
    bool is_plain;
} single;

static single draw(cri_random *r, bool is_planar) {
    single s = {.mu = cri_random_uniform(r, 0.05, 1.0),
                .e = cri_random_uniform(r, 0.0, 1.0),
                .target = cri_random_uniform(r, 0.0, 0.3)};
    double L[9];
    for (int i = 0; i < 9; i++) {
        L[i] = cri_random_normal(r);
    }
    for (int i = 0; i < 9; i++) {
        s.A[i] = cri_dot(3, L + i / 3 * 3, L + i % 3 * 3);
    }
    for (int i = 0; i < 3; i++) {
        s.b[i] = cri_random_normal(r);
        s.A[3 * i + 2] = is_planar ? (i == 2 ? 1.0 : 0.0) : s.A[3 * i + 2];
        s.A[6 + i] = is_planar ? (i == 2 ? 1.0 : 0.0) : s.A[6 + i];
    }
    s.b[2] = is_planar ? 0.0 : s.b[2];
    return s;
}

static void solve(const cri_law *law, const single *s, double f[3]) {
    const cri_contact_problem problem = {.n = 1,
                                         .A = s->A,
                                         .b = s->b,
                                         .mu = &s->mu,
                                         .e = &s->e,
                                         .target = &s->target,
                                         .is_plain = &s->is_plain};
    cr_arena *keep = cri_arena_create(1 << 16), *scratch = cri_arena_create(1 << 16);
    bool is_sliding = false;
    cri_law_report report = {.is_sliding = &is_sliding};
    assert_true(cri_arena_reserve(keep, law->n_byte(1)));
    assert_true(cri_arena_reserve(scratch, law->n_byte(1)));
    memset(f, 0, 3 * sizeof *f);
    law->solve(&problem, f, true, &report, keep, scratch);
    assert_int_equal(report.outcome, CR_SOLVED);
    cri_arena_destroy(keep);
    cri_arena_destroy(scratch);
}

TEST(impulses_lie_in_a_pyramid_and_velocities_in_its_dual) {
    cri_random r = cri_random_of(1, 0);
    int n_slide = 0;
    for (int k = 0; k < 200; k++) {
        single s = draw(&r, false);
        double f[3], u[3];
        solve(&cri_dcs_generators, &s, f);
        for (int i = 0; i < 3; i++) {
            u[i] = cri_dot(3, s.A + 3 * i, f) + s.b[i];
        }
        u[0] -= fmax(s.e * fmax(0.0, -s.b[0]), s.target);
        assert_true(fabs(f[1]) + fabs(f[2]) <= s.mu * f[0] + 1e-9);
        assert_true(s.mu * fmax(fabs(u[1]), fabs(u[2])) <= u[0] + 1e-9);
        assert_true(fabs(cri_dot(3, f, u)) <= 1e-9);
        n_slide += f[0] > 1e-6 && u[0] > 1e-6;
    }
    assert_true(n_slide > 20);
}

TEST(in_a_plane_it_is_the_law_cone) {
    cri_random r = cri_random_of(2, 0);
    for (int k = 0; k < 200; k++) {
        single s = draw(&r, true);
        s.e = s.target = 0.0;
        double f[3], other[3];
        solve(&cri_dcs_generators, &s, f);
        solve(cri_law_find("cone"), &s, other);
        for (int i = 0; i < 3; i++) {
            CHECK_CLOSE(f[i], other[i], 1e-8, 1e-7);
        }
    }
}

CR_TEST_MAIN(impulses_lie_in_a_pyramid_and_velocities_in_its_dual, in_a_plane_it_is_the_law_cone)
