// SPDX-License-Identifier: MIT
//
// Many bodies: balls dropped into a corner of three planes, until they lie in a pile. Energy is
// lost, nothing overlaps, and every contact solve of a small pile succeeds. In a larger one some
// miss their tolerance; then the step still ends, and its gradient is refused.

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double radius = 0.1;

static cr_run open_pile(int n_ball, double dt) {
    char scene[4096];
    int n = snprintf(scene, sizeof scene,
                     "<mujoco><option gravity='-2 -2 -9'/><default><geom friction='0.4'/></default>"
                     "<custom><numeric name='carom:restitution:floor' data='0.3'/>"
                     "</custom><worldbody>"
                     "<geom name='floor' type='plane' size='9 9 1'/>"
                     "<geom name='left' type='plane' size='9 9 1' zaxis='1 0 0'/>"
                     "<geom name='back' type='plane' size='9 9 1' zaxis='0 1 0'/>");
    for (int i = 0; i < n_ball; i++) {
        n += snprintf(scene + n, sizeof scene - (size_t)n,
                      "<body pos='%g %g %g'><freejoint/><geom size='%g'/></body>",
                      0.15 + 0.23 * (i % 2) + 0.01 * i, 0.15 + 0.24 * (i / 2 % 2), 0.2 + 0.13 * i,
                      radius);
    }
    snprintf(scene + n, sizeof scene - (size_t)n, "</worldbody></mujoco>");
    return cr_run_open(scene, NULL, 1, dt);
}

// deepest overlap of balls and planes
static double depth_of(int n_ball, const double *x) {
    double depth = 0.0;
    for (int i = 0; i < n_ball; i++) {
        const double *a = x + 7 * i;
        depth = fmax(depth, radius - fmin(a[0], fmin(a[1], a[2])));
        for (int j = 0; j < i; j++) {
            const double *b = x + 7 * j;
            double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
            double distance = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            depth = fmax(depth, 2.0 * radius - distance);
        }
    }
    return depth;
}

/// What a fall came to.
typedef struct fall {
    int n_step, n_event, n_unsolved;
    double deepest;
} fall;

static fall drop_balls(int n_ball, double dt, double seconds) {
    cr_run r = open_pile(n_ball, dt);
    fall out = {.n_step = (int)round(seconds / dt)};
    double *x = calloc((size_t)r.n.n_x, sizeof *x);
    assert_non_null(x);
    memcpy(x, r.x, sizeof *x * (size_t)r.n.n_x);
    double start = cr_sim_energy(r.sim, x);
    for (int i = 0; i < out.n_step; i++) {
        cr_error err = {0};
        if (cr_sim_step(r.sim, dt, x, NULL, x, &err) != CR_OK) {
            fail_msg("%s", err.text);
        }
        const cr_step_report *report = cr_sim_report(r.sim);
        bool is_unsolved = report->outcome != CR_SOLVED;
        CHECK(is_unsolved == ((report->grad & CR_GRAD_REFUSED) != 0));
        out.n_unsolved += is_unsolved;
        out.n_event += report->n_event;
        out.deepest = fmax(out.deepest, depth_of(n_ball, x));
    }
    for (int k = 0; k < r.n.n_x; k++) {
        CHECK(isfinite(x[k]));
    }
    CHECK(out.n_event >= n_ball);
    CHECK(cr_sim_energy(r.sim, x) < start);
    free(x);
    cr_run_close(&r);
    return out;
}

TEST(a_pile_of_four_balls_is_solved_in_every_step) {
    static const double length[] = {0.01, 0.002};
    for (int k = 0; k < 2; k++) {
        fall f = drop_balls(4, length[k], 2.0);
        CHECK_INT(f.n_unsolved, 0);
        CHECK(f.deepest <= 1e-6);
    }
}

TEST(larger_piles_neither_tunnel_nor_hide_what_they_miss) {
    static const int n_ball[] = {6, 10};
    for (int k = 0; k < 2; k++) {
        fall f = drop_balls(n_ball[k], 0.01, 1.0);
        // a bound, not a hope: the exact law is not convex, and Newton's method misses some
        CHECK(f.n_unsolved <= f.n_step / 10);
        CHECK(f.deepest <= 1e-4);
    }
}

CR_TEST_MAIN(a_pile_of_four_balls_is_solved_in_every_step,
             larger_piles_neither_tunnel_nor_hide_what_they_miss)
