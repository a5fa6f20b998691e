// SPDX-License-Identifier: MIT
//
// Many bodies: balls dropped into a corner of three planes, until they lie in a pile. Every contact
// solve succeeds, nothing overlaps, energy is lost.

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void drop_balls(int n_ball, double dt) {
    cr_run r = open_pile(n_ball, dt);
    double *x = calloc((size_t)r.n.n_x, sizeof *x), deepest = 0.0;
    assert_non_null(x);
    memcpy(x, r.x, sizeof *x * (size_t)r.n.n_x);
    double start = cr_sim_energy(r.sim, x);
    int n_step = (int)round(2.0 / dt), n_event = 0, n_unsolved = 0, i = 0;
    clock_t begin = clock();
    // a shower of tiny impacts would take hours
    for (; i < n_step && clock() - begin < 8 * CLOCKS_PER_SEC; i++) {
        cr_error err = {0};
        if (cr_sim_step(r.sim, dt, x, NULL, x, &err) != CR_OK) {
            fail_msg("%s", err.text);
        }
        n_unsolved += cr_sim_report(r.sim)->outcome != CR_SOLVED;
        n_event += cr_sim_report(r.sim)->n_event;
        deepest = fmax(deepest, depth_of(n_ball, x));
    }
    if (i < n_step || n_unsolved > 0 || !(deepest <= 1e-6)) {
        cr_test_fail("%d balls, dt %g: %d of %d steps in 8 s, %d unsolved, overlap %g", n_ball, dt,
                     i, n_step, n_unsolved, deepest);
    }
    for (int k = 0; k < r.n.n_x; k++) {
        CHECK(isfinite(x[k]));
    }
    CHECK(n_event >= n_ball);
    CHECK(cr_sim_energy(r.sim, x) < start);
    free(x);
    cr_run_close(&r);
}

TEST(four_balls_fall_into_a_corner) {
    drop_balls(4, 0.01);
    drop_balls(4, 0.002);
}

TEST(ten_balls_fall_into_a_corner) {
    drop_balls(10, 0.01);
    drop_balls(10, 0.002);
}

CR_TEST_MAIN(four_balls_fall_into_a_corner, ten_balls_fall_into_a_corner)
