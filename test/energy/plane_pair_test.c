// SPDX-License-Identifier: MIT
//
// The plane between two triangles and the potential made of it: reference vectors, closed forms,
// certificates, bounds, and the four properties of a single pair from touching to far apart.

#include "cr_test.h"

#include "energy/plane_potential.h"
#include "geometry/mesh/triangle_pair.h"
#include "longrange_fixture.h"

#include <float.h>
#include <string.h>

static void store(const cri_vec3 x[6], double out[18]) {
    for (int k = 0; k < 6; k++) {
        cri_v3_store(x[k], out + 3 * k);
    }
}

static double hessian_entry(const cri_plane_force *f, int i, int j) {
    double v[18] = {0}, out[18] = {0}, value;
    v[j] = 1.0;
    cri_plane_potential_jvp(f, v, &value, out);
    return out[i];
}

static double hessian_trace(const cri_plane_force *f) {
    double sum = 0.0;
    for (int i = 0; i < 18; i++) {
        sum += hessian_entry(f, i, i);
    }
    return sum;
}

// printed to 15 digits; made by an independent program
TEST(the_reference_pair_is_met_to_fifteen_digits) {
    double value, g[18];
    cri_plane_force f;
    CHECK(cri_plane_potential(fixture_reference_pair, 1.0, NULL, &value, g, &f));
    CHECK_CLOSE(value, 62.5455109352239, 0, 1e-14);
    CHECK_CLOSE(f.plane.W, 19.7533169210146, 0, 1e-14);
    static const double n[3] = {0.182447696910829, 0.263523971334731, 0.94724228918683};
    static const double s[6] = {0.192819758016179, 0.525648641209389, 0.427413600044617,
                                0.250948608980495, 0.308076432001159, 0.323181823133524};
    static const double first[3] = {-8.73199292269268, -12.6123239241512, -45.3352555570882};
    static const double last[3] = {3.1082975700734, 4.48956568717979, 16.1378354213439};
    static const double row[6] = {-7.6610083012518, 9.58211376463937,  42.4985758156452,
                                  -1.665161955046,  0.373177599426265, 2.42532887508264};
    double normal[3];
    cri_v3_store(f.plane.n, normal);
    CHECK_CLOSE(-cri_v3_dot(f.plane.n, f.plane.c), -0.343643323092875, 0, 1e-13);
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(normal[i], n[i], 0, 1e-13);
        CHECK_CLOSE(g[i], first[i], 0, 1e-13);
        CHECK_CLOSE(g[15 + i], last[i], 0, 1e-13);
    }
    for (int i = 0; i < 6; i++) {
        CHECK_CLOSE(f.plane.s[i], s[i], 0, 1e-13);
        CHECK_CLOSE(hessian_entry(&f, 0, i), row[i], 0, 1e-12);
    }
    CHECK_CLOSE(hessian_entry(&f, 17, 17), 43.0462114792941, 0, 1e-12);
    CHECK_CLOSE(hessian_entry(&f, 2, 11), -86.2079787073141, 0, 1e-12);
    CHECK_CLOSE(hessian_trace(&f), 424.46946836429, 0, 1e-12);
}

TEST(other_lengths_and_a_closer_pair_meet_the_reference) {
    double value, g[18], x[18];
    cri_plane_force f;
    CHECK(cri_plane_potential(fixture_reference_pair, 0.1, NULL, &value, g, &f));
    static const double first[3] = {-1.70022191029798, -2.45576807785647, -8.82730843800895};
    CHECK_CLOSE(value, 23.7126784159719, 0, 1e-14);
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(g[i], first[i], 0, 1e-13);
    }
    CHECK_CLOSE(hessian_trace(&f), 79.7212645838911, 0, 1e-12);

    memcpy(x, fixture_reference_pair, sizeof x);
    for (int k = 0; k < 3; k++) {
        x[3 * k + 2] -= 0.2499;
    }
    CHECK(cri_plane_potential(x, 1.0, NULL, &value, g, &f));
    CHECK_CLOSE(value, 89.4530601665055, 0, 1e-14);
    CHECK_CLOSE(12.0 / f.plane.W, 0.334016473081865, 0, 1e-14);
    CHECK_CLOSE(hessian_trace(&f), 2317.38213339635, 0, 1e-12);
    cri_vec3 v[6];
    for (int k = 0; k < 6; k++) {
        v[k] = cri_v3_load(x + 3 * k);
    }
    CHECK_CLOSE(cri_triangle_closest(v, v + 3).distance, 0.241201774783278, 0, 1e-14);
}

TEST(half_space_centred_and_blend_meet_the_reference) {
    cri_half_force f;
    static const double h[3] = {0.5, 0.8, 0.6};
    static const double g[3] = {-39.2449800543456, -6.74002972308846, -18.1365459428023};
    CHECK(cri_half_potential(h, 1.0, &f));
    CHECK_CLOSE(f.value, 63.5010079361949, 0, 1e-14);
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(f.g[i], g[i], 0, 1e-13);
    }
    CHECK_CLOSE(f.H[0], 217.690437816097, 0, 1e-13);
    CHECK_CLOSE(f.H[1], -11.7564209729357, 0, 1e-13);

    double c[3], phi[3];
    cri_centred_potential(0.7, 1.0, c);
    CHECK_CLOSE(12.0 + c[0], 57.8283437668826, 0, 1e-14);
    CHECK_CLOSE(c[1], -44.9794292212427, 0, 1e-14);
    CHECK_CLOSE(c[2], 113.87720255864, 0, 1e-14);
    // 1.03 - 1 is not 0.03 in binary: some 1e-15 over the width of 0.1
    cri_blend_weight(1.03, 1.0, 1.1, phi);
    CHECK_CLOSE(phi[0], 0.16308, 0, 1e-13);
    CHECK_CLOSE(phi[1], 13.23, 0, 1e-13);
    CHECK_CLOSE(phi[2], 504.0, 0, 1e-13);
}

TEST(parallel_triangles_have_the_centred_potential) {
    for (double L = 1e-6; L < 2e6; L *= 10.0) {
        double x[18] = {0, 0, L, 1, 0, L, 0, 1, L, 0, 0, 0, 1, 0, 0, 0, 1, 0};
        for (double ell = 1.0; ell > 0.001; ell *= 0.1) {
            double value, g[18], c[3];
            cri_plane_force f;
            CHECK(cri_plane_potential(x, ell, NULL, &value, g, &f));
            cri_centred_potential(L, ell, c);
            CHECK_CLOSE(f.excess, c[0], 0, 1e-12);
            CHECK_CLOSE(3.0 * g[2], c[1], 0, 1e-11);
        }
    }
}

static const double gaps[] = {1e3, 1.0, 1e-2, 1e-4, 1e-6, 1e-8};

TEST(every_solve_carries_a_certificate) {
    cr_test_rng rng = cr_test_rng_of(1);
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        int n_most = 0;
        double worst = 0.0;
        for (int k = 0; k < 500; k++) {
            cri_vec3 x[6];
            cri_plane_pair p;
            fixture_triangles(&rng, gaps[i], x);
            if (!CHECK(cri_plane_solve(x, NULL, &p))) {
                continue;
            }
            // rounding of coordinates alone moves W by some ulp kappa
            worst = fmax(worst, fabs(p.gap) / fmax(1e-12, 4.0 * DBL_EPSILON * p.kappa));
            n_most = p.n_step > n_most ? p.n_step : n_most;
        }
        CHECK(worst <= 1.0);
        CHECK(n_most <= 40);
    }
}

// four at once: from touching to far apart, with and without hints
TEST(a_lane_has_the_bits_that_its_pair_has_alone) {
    cr_test_rng rng = cr_test_rng_of(7);
    for (int k = 0; k < 200; k++) {
        cri_vec3 x[CRI_LANES][6];
        cri_lane3 all[6];
        cri_plane_lanes lanes;
        cri_plane_hints hints = {.is_known = {-1, 0, -1, 0}};
        cri_plane_hint hint = {cri_v3(0, 0.6, 0.8), cr_test_uniform(&rng, -1, 1)};
        hints.n = cri_l3_of(hint.n);
        hints.offset = cri_lane_of(hint.offset);
        for (int i = 0; i < CRI_LANES; i++) {
            fixture_triangles(&rng, gaps[(k + i) % 6], x[i]);
            if (i == 3 && k % 3 == 0) {
                x[i][3] = x[i][0]; // this one touches
            }
            for (int j = 0; j < 6; j++) {
                cri_l3_set(&all[j], i, x[i][j]);
            }
        }
        cri_mask is_found = cri_plane_solve_lanes(all, &hints, &lanes);
        for (int i = 0; i < CRI_LANES; i++) {
            cri_plane_pair one, alone;
            bool is_alone = cri_plane_solve(x[i], i % 2 == 0 ? &hint : NULL, &alone);
            CHECK_INT(is_found[i] != 0, is_alone);
            CHECK_INT(is_alone, !(i == 3 && k % 3 == 0));
            cri_plane_of_lane(&lanes, i, &one);
            CHECK(!is_alone || (one.W == alone.W && one.c.x == alone.c.x && one.d == alone.d &&
                                one.gap == alone.gap && one.n_step == alone.n_step &&
                                memcmp(&one.n, &alone.n, sizeof one.n) == 0 &&
                                memcmp(one.s, alone.s, sizeof one.s) == 0));
        }
    }
}

/// Shrinks a triangle about a point of it to a speck, or across an edge to a needle.
static void squash(cri_vec3 t[3], cri_vec3 about, bool is_needle, double part) {
    cri_vec3 e = cri_v3_sub(t[1], t[0]);
    e = cri_v3_scale(1.0 / cri_v3_norm(e), e);
    for (int k = 0; k < 3; k++) {
        cri_vec3 r = cri_v3_sub(t[k], about);
        cri_vec3 kept = is_needle ? cri_v3_scale(cri_v3_dot(r, e), e) : cri_v3(0, 0, 0);
        t[k] = cri_v3_add(cri_v3_add(about, kept), cri_v3_scale(part, cri_v3_sub(r, kept)));
    }
}

// from a millimetre to a kilometre, gaps over ten decades, down to a part in 10^7 wide
TEST(specks_and_needles_of_any_size_are_certified) {
    cr_test_rng rng = cr_test_rng_of(7);
    int n_apart = 0;
    for (int i = 0; i < 4000; i++) {
        cri_vec3 x[6];
        cri_plane_pair p;
        fixture_triangles(&rng, pow(10.0, cr_test_uniform(&rng, -8, 2)), x);
        cri_triangle_gap near = cri_triangle_closest(x, x + 3);
        double part = pow(10.0, cr_test_uniform(&rng, -7, 0));
        squash(x, near.a, i & 1, part);
        squash(x + 3, near.b, i & 2, i & 4 ? 1.0 : part);
        double scale = pow(10.0, cr_test_uniform(&rng, -3, 3));
        for (int k = 0; k < 6; k++) {
            x[k] = cri_v3_scale(scale, x[k]);
        }
        // needles may have been pushed through each other
        if (cri_triangles_meet(x, x + 3)) {
            CHECK(!cri_plane_solve(x, NULL, &p));
            continue;
        }
        n_apart++;
        if (CHECK(cri_plane_solve(x, NULL, &p))) {
            CHECK(fabs(p.gap) <= fmax(1e-12, 4.0 * DBL_EPSILON * p.kappa));
        }
    }
    CHECK(n_apart > 3500);
}

// dist <= D <= min(3 dist, distance of the centres), D = 12 / W
TEST(the_barrier_lies_between_its_bounds) {
    cr_test_rng rng = cr_test_rng_of(2);
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        for (int k = 0; k < 200; k++) {
            cri_vec3 x[6], c = {0, 0, 0};
            cri_plane_pair p;
            fixture_triangles(&rng, gaps[i], x);
            if (!CHECK(cri_plane_solve(x, NULL, &p))) {
                continue;
            }
            for (int j = 0; j < 6; j++) {
                c = cri_v3_mad(c, j < 3 ? 1.0 / 3.0 : -1.0 / 3.0, x[j]);
            }
            double D = 12.0 / p.W, slack = 1.0 + 1e-12 + 8.0 * DBL_EPSILON * p.kappa;
            CHECK(gaps[i] <= D * slack && D <= 3.0 * gaps[i] * slack);
            CHECK(D <= cri_v3_norm(c) * slack);
        }
    }
}

// How far the two triangles are apart in the plane, seen along its normal; not positive: they
// overlap.
static double shadow_distance(const cri_plane_pair *p) {
    double most = -INFINITY;
    for (int k = 0; k < 6; k++) {
        int next = k < 3 ? (k + 1) % 3 : 3 + (k + 1) % 3;
        double normal[2] = {p->tau[1][next] - p->tau[1][k], p->tau[0][k] - p->tau[0][next]};
        double length = hypot(normal[0], normal[1]), low[2], high[2];
        for (int side = 0; side < 2; side++) {
            low[side] = INFINITY;
            high[side] = -INFINITY;
            for (int i = 3 * side; i < 3 * side + 3; i++) {
                double at = (normal[0] * p->tau[0][i] + normal[1] * p->tau[1][i]) / length;
                low[side] = fmin(low[side], at);
                high[side] = fmax(high[side], at);
            }
        }
        most = fmax(most, fmax(low[0] - high[1], low[1] - high[0]));
    }
    return most;
}

// The force on every corner is along n, and n is along a - b for points a, b of the triangles:
// their shadows along n overlap. No force is zero.
TEST(forces_push_along_a_line_that_joins_the_triangles) {
    cr_test_rng rng = cr_test_rng_of(3);
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        for (int k = 0; k < 200; k++) {
            cri_vec3 x[6];
            double flat[18], value, g[18], sum[2] = {0};
            cri_plane_force f;
            fixture_triangles(&rng, gaps[i], x);
            store(x, flat);
            if (!CHECK(cri_plane_potential(flat, 1.0, NULL, &value, g, &f))) {
                continue;
            }
            for (int j = 0; j < 6; j++) {
                CHECK(f.q[j] > 0.0);
                CHECK(cri_v3_dot(cri_v3_load(g + 3 * j), f.plane.n) * (j < 3 ? -1.0 : 1.0) > 0.0);
                sum[j / 3] += f.q[j];
            }
            // action is reaction; distances are known to some ulp kappa
            CHECK_CLOSE(sum[0], sum[1], 0, 1e-11 + 1e2 * DBL_EPSILON * f.plane.kappa);
            CHECK(shadow_distance(&f.plane) <= 1e-13 * fmax(1.0, gaps[i]));
        }
    }
}

TEST(forces_do_not_vanish_at_a_million_sizes) {
    double x[18], value, g[18];
    cri_plane_force f;
    for (double L = 1e3; L < 2e6; L *= 10.0) {
        memcpy(x, fixture_reference_pair, sizeof x);
        for (int k = 0; k < 3; k++) {
            x[3 * k] += L;
        }
        CHECK(cri_plane_potential(x, 1.0, NULL, &value, g, &f));
        double c[3];
        cri_centred_potential(L, 1.0, c);
        CHECK_CLOSE(g[0] + g[3] + g[6], c[1], 0, 3.0 / L);
        CHECK_CLOSE(-g[0] / g[9], 1.0, 0, 10.0 / L);
    }
}

TEST(the_origin_may_be_kilometres_away) {
    cr_test_rng rng = cr_test_rng_of(4);
    for (int k = 0; k < 100; k++) {
        cri_vec3 x[6], y[6];
        cri_plane_pair p, q;
        fixture_triangles(&rng, 0.1, x);
        for (int j = 0; j < 6; j++) {
            y[j] = cri_v3_add(x[j], cri_v3(4096.0, -8192.0, 1024.0));
        }
        CHECK(cri_plane_solve(x, NULL, &p) && cri_plane_solve(y, NULL, &q));
        CHECK_CLOSE(p.W, q.W, 0, 1e-10); // ulp of 8 km over 0.1 m
    }
}

TEST(needles_and_points_are_triangles) {
    static const double x[][18] = {
        {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},        // two points
        {0, 0, 1, 1, 0, 1, 0.5, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0.5, 0},    // two needles
        {0, 0, 1, 0, 0, 1, 0, 0, 1, -1, -1, 0, 1, -1, 0, 0, 1, 0},     // a point over a face
        {0, 0, 1e-6, 0, 0, 1, 0, 1, 1, -1, -1, 0, 1, -1, 0, 0, 1, 0},  // a corner over a face
        {0, 0, 1, 1, 0, 1, 2, 0, 1, 0, 0, 0, 1, 0, 0, 2, 0, 0},        // parallel needles
        {0, 1e-3, 0, 1, 1, 0, -1, 1, 0, 0, 0, 0, 1, -1, 0, -1, -1, 0}, // in one plane
    };
    for (size_t k = 0; k < sizeof x / sizeof *x; k++) {
        double value, g[18];
        cri_plane_force f;
        CHECK(cri_plane_potential(x[k], 1.0, NULL, &value, g, &f));
        CHECK(fabs(f.plane.gap) <= 1e-12 + 4.0 * DBL_EPSILON * f.plane.kappa);
        for (int i = 0; i < 18; i++) {
            for (int j = 0; j < 18; j++) {
                CHECK(isfinite(hessian_entry(&f, i, j)));
            }
        }
    }
    double value, g[18];
    cri_plane_force f;
    cri_plane_potential(x[0], 1.0, NULL, &value, g, &f);
    CHECK_CLOSE(value, 48.0, 0, 1e-14); // 12 (1 + 1)^2
}

TEST(touching_triangles_have_no_plane) {
    static const double x[][18] = {
        {0, 0, -1, 0, 0, 1, 1, 0, 1, -1, -1, 0, 1, -1, 0, 0, 1, 0},    // pierced
        {0, 0, 0, 0, 0, 1, 1, 0, 1, -1, -1, 0, 1, -1, 0, 0, 1, 0},     // corner on the face
        {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0},        // the same
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},        // one point
        {0, 0, 0, 1, 1, 0, -1, 1, 0, 0, 0, 0, 1, -1, 0, -1, -1, 0},    // corner on corner
        {0.1, 0.1, 0, 2, 2, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0},    // overlap in one plane
        {0, 0, 1e-12, 1, 0, 1, 0, 1, 1, -1, -1, 0, 1, -1, 0, 0, 1, 0}, // lost in rounding
    };
    for (size_t k = 0; k < sizeof x / sizeof *x; k++) {
        double value, g[18];
        cri_plane_force f;
        CHECK(!cri_plane_potential(x[k], 1.0, NULL, &value, g, &f));
        CHECK(isinf(value) && value > 0.0);
        for (int i = 0; i < 18; i++) {
            CHECK(g[i] == 0.0);
        }
    }
}

// from the last plane after a move of a part of the gap; any nonsense is a hint as well
TEST(a_hint_saves_steps_and_never_changes_the_answer) {
    cr_test_rng rng = cr_test_rng_of(5);
    int n_cold = 0, n_warm = 0;
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        for (int k = 0; k < 100; k++) {
            cri_vec3 x[6];
            cri_plane_pair p, cold, warm;
            fixture_triangles(&rng, gaps[i], x);
            CHECK(cri_plane_solve(x, NULL, &p));
            cri_plane_hint hint = {p.n, -cri_v3_dot(p.n, p.c)};
            for (int j = 0; j < 6; j++) {
                double *a[3] = {&x[j].x, &x[j].y, &x[j].z};
                for (int c = 0; c < 3; c++) {
                    *a[c] += cr_test_uniform(&rng, -0.01, 0.01) * gaps[i];
                }
            }
            CHECK(cri_plane_solve(x, NULL, &cold) && cri_plane_solve(x, &hint, &warm));
            double slack = 1e-12 + 16.0 * DBL_EPSILON * warm.kappa;
            CHECK_CLOSE(cold.W, warm.W, 0, slack);
            n_cold += cold.n_step;
            n_warm += warm.n_step;
            hint = (cri_plane_hint){cri_v3(0, 0.6, 0.8), cr_test_uniform(&rng, -1, 1)};
            CHECK(cri_plane_solve(x, &hint, &warm));
            CHECK_CLOSE(cold.W, warm.W, 0, slack);
        }
    }
    CHECK(2 * n_warm < n_cold + n_cold / 2);
}

// lower corners far out in the face of the half-space: error of order radius^-2
TEST(the_half_space_is_the_limit_of_a_large_triangle) {
    cr_test_rng rng = cr_test_rng_of(6);
    double worst[2] = {0, 0};
    for (int k = 0; k < 50; k++) {
        double x[18], h[3];
        for (int i = 0; i < 3; i++) {
            x[3 * i] = cr_test_uniform(&rng, -1, 1);
            x[3 * i + 1] = cr_test_uniform(&rng, -1, 1);
            x[3 * i + 2] = h[i] = cr_test_uniform(&rng, 0.05, 2.0);
        }
        cri_half_force half;
        CHECK(cri_half_potential(h, 1.0, &half));
        for (int j = 0; j < 2; j++) {
            double R = j ? 1e3 : 1e2, value, g[18], side = R * sqrt(0.75);
            double low[9] = {R, 0, 0, -0.5 * R, side, 0, -0.5 * R, -side, 0};
            memcpy(x + 9, low, sizeof low);
            cri_plane_force f;
            CHECK(cri_plane_potential(x, 1.0, NULL, &value, g, &f));
            worst[j] = fmax(worst[j], fabs(value / half.value - 1.0));
        }
    }
    CHECK(worst[1] < 1e-5);
    CHECK_CLOSE(worst[0] / worst[1], 100.0, 0, 0.2);
}

TEST(a_half_space_pushes_at_any_height_and_none_below) {
    cri_half_force f;
    for (double height = 1e-9; height < 2e6; height *= 10.0) {
        double h[3] = {height, 2.0 * height, 1e6};
        CHECK(cri_half_potential(h, 1.0, &f));
        for (int i = 0; i < 3; i++) {
            CHECK(f.g[i] < 0.0 && isfinite(f.H[4 * i]));
        }
        CHECK(f.value >= 12.0 * (1.0 + 1.0 / sqrt(3.0 * height)));
    }
    CHECK(!cri_half_potential((double[]){0.0, 1.0, 1.0}, 1.0, &f));
    CHECK(isinf(f.value) && f.g[0] == 0.0);
    CHECK(!cri_half_potential((double[]){1.0, 1.0, -1e-3}, 1.0, &f));
}

// The closest points change from corner-face over edge-edge to corner-corner along this path; the
// second derivatives do not notice: their change falls with the step.
TEST(second_derivatives_are_continuous_where_the_closest_points_jump) {
    static const double lower[9] = {-1, -1, 0, 1, -1, 0, 0, 1, 0};
    static const double upper[9] = {0, 0, 0.2, 0.3, 1.5, 0.9, -0.4, 1.2, 0.8};
    double previous = INFINITY;
    for (int n = 1000; n <= 100000; n *= 10) {
        double most = 0.0, last[18] = {0};
        for (int i = 0; i <= 1000; i++) {
            // the part of the path around x = 1/2 where the corner leaves the face over an edge
            double at = 0.5 + (double)(i - 500) / n, x[18], value, g[18];
            memcpy(x, upper, sizeof upper);
            memcpy(x + 9, lower, sizeof lower);
            for (int k = 0; k < 3; k++) {
                x[3 * k] += at;
            }
            cri_plane_force f;
            CHECK(cri_plane_potential(x, 1.0, NULL, &value, g, &f));
            for (int j = 0; j < 18; j++) {
                double entry = hessian_entry(&f, j, j);
                most = fmax(most, i ? fabs(entry - last[j]) / f.value : 0.0);
                last[j] = entry;
            }
        }
        CHECK(most < 0.2 * previous);
        previous = most;
    }
}

// closest points are the truth; half of the pairs that are far are told at once
TEST(triangles_are_called_far_only_when_they_are) {
    cr_test_rng rng = cr_test_rng_of(11);
    int n_far = 0, n_told = 0;
    for (int i = 0; i < 20000; i++) {
        cri_vec3 x[6];
        fixture_triangles(&rng, pow(10.0, cr_test_uniform(&rng, -4, 1)), x);
        double d = cri_triangle_closest(x, x + 3).distance;
        double reach = d * cr_test_uniform(&rng, 0.0, 2.0);
        bool is_told = cri_triangle_far(x, x + 3, reach);
        n_far += d > reach;
        n_told += is_told;
        CHECK(!is_told || d > reach * (1.0 - 1e-12));
        CHECK(is_told == cri_triangle_far(x + 3, x, reach));
    }
    CHECK(n_told > n_far / 2);
}

CR_TEST_MAIN(the_reference_pair_is_met_to_fifteen_digits,
             other_lengths_and_a_closer_pair_meet_the_reference,
             half_space_centred_and_blend_meet_the_reference,
             parallel_triangles_have_the_centred_potential, every_solve_carries_a_certificate,
             a_lane_has_the_bits_that_its_pair_has_alone,
             triangles_are_called_far_only_when_they_are,
             specks_and_needles_of_any_size_are_certified, the_barrier_lies_between_its_bounds,
             forces_push_along_a_line_that_joins_the_triangles,
             forces_do_not_vanish_at_a_million_sizes, the_origin_may_be_kilometres_away,
             needles_and_points_are_triangles, touching_triangles_have_no_plane,
             a_hint_saves_steps_and_never_changes_the_answer,
             the_half_space_is_the_limit_of_a_large_triangle,
             a_half_space_pushes_at_any_height_and_none_below,
             second_derivatives_are_continuous_where_the_closest_points_jump)
