// SPDX-License-Identifier: MIT
//
// Fans: polygons in place of Coulomb's discs, each turn judged without multipliers by the corners
// that it used, O = conv{d_0 .. d_7} of each contact:
//
//   f_n >= l,  u_n >= 0,  (f_n - l) u_n = 0,   f_t in mu f_n O,   f_t.u_t = -mu f_n max_k(-d_k.u_t)

#include "solvers/friction.h"

#include "cr_test.h"
#include "solvers/lcp_scenes.h"
#include "support/alloc_wrap.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_CORNER = 8 };

static const double widest = 0.39269908169872414; // radians, half the angle between octagon corners
static const double pi = 3.14159265358979323846;

static cr_arena *arena;

static void open_arena(int n) {
    arena = cri_arena_create(cri_fans_bytes(n));
    assert_true(arena && cri_arena_reserve(arena, cri_fans_bytes(n)));
}

// ---- the judge ---------------------------------------------------------------------------------

static int by_angle(const void *a, const void *b) {
    const double *x = a, *y = b;
    double first = atan2(x[1], x[0]), second = atan2(y[1], y[0]);
    return (first > second) - (first < second);
}

// how far t is outside the polygon of radius r
static double outside(const double *corner, double r, const double t[2]) {
    double d[2 * N_CORNER], most = -INFINITY;
    memcpy(d, corner, sizeof d);
    qsort(d, N_CORNER, 2 * sizeof *d, by_angle);
    for (int k = 0; k < N_CORNER; k++) {
        const double *a = d + 2 * k, *b = d + 2 * ((k + 1) % N_CORNER);
        double normal[2] = {b[1] - a[1], a[0] - b[0]}, size = hypot(normal[0], normal[1]);
        double reach = r * (normal[0] * a[0] + normal[1] * a[1]);
        most = fmax(most, (normal[0] * t[0] + normal[1] * t[1] - reach) / size);
    }
    return most;
}

// largest violation of the law at the top, with the corners of the last turn
static double violation(const cri_friction *p, const cri_fans *fans, const double *f) {
    double worst = 0.0;
    int m = 3 * p->n;
    for (int i = 0; i < p->n; i++) {
        const double *fi = f + 3 * i, *corner = fans->corner + 2 * N_CORNER * i;
        double u[3], pull = -INFINITY, radius = p->mu[i] * fi[0];
        for (int r = 0; r < 3; r++) {
            u[r] = p->c[3 * i + r];
            for (int j = 0; j < m; j++) {
                u[r] += p->A[(3 * i + r) * m + j] * f[j];
            }
        }
        for (int k = 0; k < N_CORNER; k++) {
            pull = fmax(pull, -corner[2 * k] * u[1] - corner[2 * k + 1] * u[2]);
        }
        worst = fmax(worst, fmax(p->l[i] - fi[0], -u[0]));
        worst = fmax(worst, fabs(fmin(fi[0] - p->l[i], u[0])));
        worst = fmax(worst, outside(corner, radius, fi + 1));
        worst = fmax(worst, fabs(fi[1] * u[1] + fi[2] * u[2] + radius * pull));
    }
    return worst;
}

// ---- corners -----------------------------------------------------------------------------------

TEST(fans_open_along_friction_as_wide_as_they_get) {
    const double f[9] = {2.0, 0.3, 0.4, 1.0, 0.0, -0.5, 1.0, 0.0, 0.0};
    open_arena(3);
    const cri_fans fans = cri_fans_open(3, f, arena);
    CHECK_INT(fans.n, 3);
    CHECK_INT(fans.n_turn, 0);
    const double axis[3] = {atan2(0.4, 0.3), -0.5 * pi, 0.0};
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(fans.axis[i], axis[i], 1e-15, 0.0);
        CHECK_CLOSE(fans.width[i], widest, 1e-15, 0.0);
    }
    cri_arena_destroy(arena);
}

// one contact on a body of 1 kg that slides; A = 1
static cri_friction sliding_point(double *A, double *c, double *mu, double *l) {
    memset(A, 0, 9 * sizeof *A);
    A[0] = A[4] = A[8] = 1.0;
    return (cri_friction){.kind = CRI_COULOMB, .n = 1, .A = A, .c = c, .b = c, .mu = mu, .l = l};
}

TEST(corners_are_unit_vectors_around_the_centre_and_the_first_is_the_axis) {
    double A[9], c[3] = {-1.0, 3.0, 1.0}, mu[1] = {0.5}, l[1] = {0.0}, f[3] = {1.0, -0.1, 0.2};
    const cri_friction p = sliding_point(A, c, mu, l);
    open_arena(1);
    cri_fans fans = cri_fans_open(1, f, arena);
    for (int turn = 0; turn < 12; turn++) {
        double axis = fans.axis[0], width = fans.width[0];
        cri_fans_turn(&fans, &p, f, arena);
        CHECK_INT(fans.n_turn, turn + 1);
        CHECK_CLOSE(fans.corner[0], cos(axis), 1e-15, 0.0);
        CHECK_CLOSE(fans.corner[1], sin(axis), 1e-15, 0.0);
        CHECK_CLOSE(fans.corner[2], cos(axis + width), 1e-15, 0.0);
        for (int k = 0; k < N_CORNER; k++) {
            CHECK_CLOSE(hypot(fans.corner[2 * k], fans.corner[2 * k + 1]), 1.0, 1e-15, 0.0);
        }
        // the centre is inside, by more than the least of all sides, that behind the axis
        CHECK(outside(fans.corner, 1.0, (double[2]){0.0, 0.0}) < -0.5);
    }
    cri_arena_destroy(arena);
}

TEST(a_fan_with_its_friction_inside_narrows_and_another_widens) {
    double A[9], c[3] = {-1.0, 3.0, 1.0}, mu[1] = {0.5}, l[1] = {0.0};
    const cri_friction p = sliding_point(A, c, mu, l);
    // friction will point against the slip; the fan looks along it, and the other way
    const double start[2][3] = {{1.0, -0.3, -0.1}, {1.0, 0.3, 0.1}};
    for (int way = 0; way < 2; way++) {
        double f[3];
        memcpy(f, start[way], sizeof f);
        open_arena(1);
        cri_fans fans = cri_fans_open(1, f, arena);
        fans.width[0] = 0.1;
        cri_fans_turn(&fans, &p, f, arena);
        CHECK_CLOSE(fans.width[0], way == 0 ? 0.04 : 0.25, 1e-15, 0.0);
        CHECK_CLOSE(f[0], 1.0, 1e-12, 0.0);
        // a corner lies behind the fan too
        CHECK_CLOSE(atan2(f[2], f[1]), atan2(-1.0, -3.0), 1e-12, 0.0);
        // never narrower than a thousandth nor wider than an octagon
        for (int k = 0; k < 20; k++) {
            cri_fans_turn(&fans, &p, f, arena);
            CHECK(fans.width[0] >= 1e-3 && fans.width[0] <= widest);
        }
        CHECK_CLOSE(fans.width[0], 1e-3, 0.0, 1e-15);
        cri_arena_destroy(arena);
    }
}

TEST(axes_go_all_the_way_in_four_turns_and_then_half_of_it) {
    double A[9], c[3] = {-1.0, 3.0, 1.0}, mu[1] = {0.5}, l[1] = {0.0}, f[3] = {1.0, -0.3, 0.05};
    const cri_friction p = sliding_point(A, c, mu, l);
    open_arena(1);
    cri_fans fans = cri_fans_open(1, f, arena);
    for (int turn = 0; turn < 8; turn++) {
        fans.axis[0] += 0.3; // turned away: there is always something to go
        double before = fans.axis[0];
        cri_fans_turn(&fans, &p, f, arena);
        double off = remainder(atan2(f[2], f[1]) - before, 2.0 * pi);
        CHECK(fabs(off) > 1e-3);
        CHECK_CLOSE(fans.axis[0] - before, (turn < 4 ? 1.0 : 0.5) * off, 1e-14, 0.0);
    }
    cri_arena_destroy(arena);
}

// ---- turns -------------------------------------------------------------------------------------

TEST(every_turn_solves_its_polygons) {
    open_arena(N_MOST);
    int n_all = 0;
    for (int seed = 0; seed < 240; seed++) {
        cr_test_rng rng = cr_test_rng_of((uint64_t)seed);
        // redundant: more than four points of a face, and points twice
        int n = 1 + seed % 9;
        scene s = draw_scene((family)(seed % N_FAMILY), n, seed % 3, false, &rng);
        cri_friction p = friction_of(&s);
        double f[3 * N_MOST] = {0};
        p.kind = CRI_COULOMB;
        cri_arena_reset(arena);
        cri_fans fans = cri_fans_open(n, f, arena);
        for (int turn = 0; turn < 6; turn++, n_all++) {
            cri_fans_turn(&fans, &p, f, arena);
            double miss = violation(&p, &fans, f);
            if (!CHECK(miss <= 1e-8)) {
                cr_test_fail("seed %d, %d contacts, turn %d: violation %g", seed, n, turn, miss);
            }
        }
    }
    printf("%d turns\n", n_all);
    cri_arena_destroy(arena);
}

TEST(bounds_hold_in_every_turn) {
    open_arena(N_MOST);
    for (int seed = 0; seed < 60; seed++) {
        cr_test_rng rng = cr_test_rng_of(1000 + (uint64_t)seed);
        int n = 1 + seed % 4;
        scene s = draw_scene(seed % 2 ? PATCH : FREE, n, 0.0, false, &rng);
        cri_friction p = friction_of(&s);
        double f[3 * N_MOST] = {0};
        p.kind = CRI_COULOMB;
        for (int i = 0; i < n; i++) {
            s.l[i] = i % 2 ? 0.0 : cr_test_uniform(&rng, 0.0, 2.0);
        }
        cri_arena_reset(arena);
        cri_fans fans = cri_fans_open(n, f, arena);
        for (int turn = 0; turn < 4; turn++) {
            cri_fans_turn(&fans, &p, f, arena);
            CHECK(violation(&p, &fans, f) <= 1e-8);
        }
    }
    cri_arena_destroy(arena);
}

TEST(a_friction_of_zero_leaves_normal_impulses_alone) {
    open_arena(N_MOST);
    int n_pushed = 0;
    for (int seed = 0; seed < 40; seed++) {
        cr_test_rng rng = cr_test_rng_of(2000 + (uint64_t)seed);
        int n = 1 + seed % 8;
        scene s = draw_scene((family)(seed % N_FAMILY), n, 1.0, false, &rng);
        memset(s.mu, 0, sizeof s.mu);
        const cri_friction p = friction_of(&s);
        double f[3 * N_MOST] = {0};
        cri_arena_reset(arena);
        cri_fans fans = cri_fans_open(n, f, arena);
        for (int turn = 0; turn < 3; turn++) {
            cri_fans_turn(&fans, &p, f, arena);
        }
        CHECK(violation(&p, &fans, f) <= 1e-8);
        for (int i = 0; i < n; i++) {
            n_pushed += f[3 * i] > 1e-3;
            CHECK(hypot(f[3 * i + 1], f[3 * i + 2]) <= 1e-12); // rounding of pivots
        }
    }
    CHECK(n_pushed > 40);
    cri_arena_destroy(arena);
}

TEST(turns_lead_to_the_planted_impulse_of_coulombs_law) {
    open_arena(4);
    for (int seed = 0; seed < 60; seed++) {
        cr_test_rng rng = cr_test_rng_of(3000 + (uint64_t)seed);
        enum { N = 4, M = 3 * N };
        double B[M * M], A[M * M], c[M], mu[N], l[N] = {0}, planted[M], f[M] = {0};
        for (int i = 0; i < M * M; i++) {
            B[i] = cr_test_uniform(&rng, -0.15, 0.15);
        }
        for (int i = 0; i < M; i++) {
            for (int j = 0; j < M; j++) {
                A[M * i + j] = i == j;
                for (int k = 0; k < M; k++) {
                    A[M * i + j] += B[M * i + k] * B[M * j + k];
                }
            }
        }
        // slide, stick, open, slide: A is nearly diagonal, so that there is one solution
        for (int i = 0; i < N; i++) {
            double angle = cr_test_uniform(&rng, -pi, pi), fn = i == 2 ? 0.0 : 1.0 + chance(&rng);
            mu[i] = 0.2 + 0.3 * chance(&rng);
            double pull = mu[i] * fn * (i == 1 ? 0.5 : 1.0), slip = i == 0 || i == 3 ? 2.0 : 0.0;
            double *fi = planted + 3 * i;
            fi[0] = fn;
            fi[1] = pull * cos(angle);
            fi[2] = pull * sin(angle);
            c[3 * i] = i == 2 ? 1.0 : 0.0;
            c[3 * i + 1] = -slip * cos(angle);
            c[3 * i + 2] = -slip * sin(angle);
        }
        for (int i = 0; i < M; i++) {
            for (int j = 0; j < M; j++) {
                c[i] -= A[M * i + j] * planted[j];
            }
        }
        const cri_friction p = {
            .kind = CRI_COULOMB, .n = N, .A = A, .c = c, .b = c, .mu = mu, .l = l};
        cri_arena_reset(arena);
        cri_fans fans = cri_fans_open(N, f, arena);
        for (int turn = 0; turn < 24; turn++) {
            cri_fans_turn(&fans, &p, f, arena);
        }
        for (int i = 0; i < M; i++) {
            // a corner off by the least width of 1e-3 at most
            CHECK_CLOSE(f[i], planted[i], 2e-3, 0.0);
        }
    }
    cri_arena_destroy(arena);
}

TEST(turns_need_no_memory_but_what_was_promised) {
    for (int n = 1; n <= N_MOST; n++) {
        cr_test_rng rng = cr_test_rng_of(4000 + (uint64_t)n);
        scene s = draw_scene(n % 4 ? TWICE : STACK, n, 1.0, false, &rng);
        const cri_friction p = friction_of(&s);
        double f[3 * N_MOST] = {0};
        open_arena(n);
        long before = cr_alloc_count();
        cri_fans fans = cri_fans_open(n, f, arena);
        for (int turn = 0; turn < 3; turn++) {
            cri_fans_turn(&fans, &p, f, arena);
        }
        CHECK_INT(cr_alloc_count() - before, 0);
        CHECK(!cri_arena_has_failed(arena));
        cri_arena_destroy(arena);
    }
}

CR_TEST_MAIN(fans_open_along_friction_as_wide_as_they_get,
             corners_are_unit_vectors_around_the_centre_and_the_first_is_the_axis,
             a_fan_with_its_friction_inside_narrows_and_another_widens,
             axes_go_all_the_way_in_four_turns_and_then_half_of_it, every_turn_solves_its_polygons,
             bounds_hold_in_every_turn, a_friction_of_zero_leaves_normal_impulses_alone,
             turns_lead_to_the_planted_impulse_of_coulombs_law,
             turns_need_no_memory_but_what_was_promised)
