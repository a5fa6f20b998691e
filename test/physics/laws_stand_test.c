// SPDX-License-Identifier: MIT
//
// Things that stand must stand for ten seconds: ten boxes on each other, and twenty planks that
// reach out as far as a harmonic stack can, nearly. Every solve must succeed.
//
// The planks: with half length L, plank m from the top may reach L/m over the one below it; here
// 0.98 of that, so 2 per cent of L keep it from tipping.
//
// Nothing moves under `located`. Under `end` everything hangs 4 g h^2 in the floor (see
// laws_friction_test.c), and no more: the others rest within eps_gap on each other.

#include "laws_scene.h"

#include <stdio.h>

static const double g = 9.81;

enum { MAX_BODY = 20 };

// bodies of 1 kg from the bottom up, at offset (n) along x
static cr_run open_stack(const char *stepper, int n, const double *offset, const double *half,
                         double dt) {
    char scene[8192];
    int at = snprintf(scene, sizeof scene,
                      "<mujoco><default><geom friction='0.5'/></default><worldbody>"
                      "<geom type='plane' size='9 9 1'/>");
    for (int i = 0; i < n; i++) {
        at += snprintf(scene + at, sizeof scene - (size_t)at,
                       "<body pos='%.17g 0 %.17g'><freejoint/><geom type='box' size='%g %g %g' "
                       "mass='1'/></body>",
                       offset[i], half[2] * (2 * i + 1), half[0], half[1], half[2]);
    }
    snprintf(scene + at, sizeof scene - (size_t)at, "</worldbody></mujoco>");
    return laws_open(scene, "ncp", stepper, dt);
}

// farthest that a body moved sideways or turned; *sunk gets how far one sank
static double unrest(const cr_run *r, const double *x, double *sunk) {
    double moved = 0.0;
    *sunk = 0.0;
    for (int b = 0; b < r->n.n_body; b++) {
        for (int i = 0; i < 7; i++) {
            double change = fabs(x[7 * b + i] - r->x[7 * b + i]);
            if (i == 2) {
                *sunk = fmax(*sunk, change);
            } else {
                moved = fmax(moved, change);
            }
        }
    }
    return moved;
}

static void stand(const char *stepper, int n, const double *offset, const double *half, double dt) {
    cr_run r = open_stack(stepper, n, offset, half, dt);
    double *x = calloc((size_t)r.n.n_x, sizeof *x), sunk;
    assert_non_null(x);
    memcpy(x, r.x, sizeof *x * (size_t)r.n.n_x);
    int n_step = (int)round(10.0 / dt);
    for (int i = 0; i < n_step; i++) {
        laws_step(&r, x);
    }
    bool is_end = strcmp(stepper, "end") == 0;
    laws_near(&r, "unrest", unrest(&r, x, &sunk), 0.0, 1e-9);
    laws_near(&r, "sinking", sunk, is_end ? 4.0 * g * dt * dt : 0.0, 1e-9);
    free(x);
    cr_run_close(&r);
}

TEST(ten_boxes_stand) {
    static const double offset[MAX_BODY] = {0}, half[3] = {0.1, 0.1, 0.1};
    stand("located", 10, offset, half, 0.02);
    stand("end", 10, offset, half, 0.02);
}

// harmonic stack of n, the top plank at x = 0. Thick planks, so that in a step of 0.05 s none is
// within reach of the next but one, which would cost a solve of the whole stack for each
static void overhang(const char *stepper, int n, double dt) {
    static const double half[3] = {0.5, 0.25, 0.16};
    double offset[MAX_BODY] = {0};
    for (int i = n - 2; i >= 0; i--) {
        offset[i] = offset[i + 1] - 0.98 * half[0] / (n - 1 - i);
    }
    // the top one is beyond the whole bottom one
    CHECK(n < MAX_BODY || offset[n - 1] - offset[0] > 3.0 * half[0]);
    stand(stepper, n, offset, half, dt);
}

TEST(twenty_planks_reach_out_and_stand) {
    overhang("located", 20, 0.05);
}

TEST(planks_stand_with_jumps_at_the_end_of_steps) {
    overhang("end", 20, 0.05);
}

TEST(a_plank_too_far_falls) {
    // the same two planks, 2 per cent too far
    static const double half[3] = {0.5, 0.25, 0.1}, offset[2] = {-0.51, 0.0};
    for (int s = 0; s < N_STEPPER; s++) {
        cr_run r = open_stack(stepper_names[s], 2, offset, half, 0.01);
        double x[26];
        memcpy(x, r.x, sizeof x);
        for (int i = 0; i < 200; i++) {
            laws_step(&r, x);
        }
        // turned by more than 0.2 rad, about y
        CHECK(fabs(x[12]) > 0.1);
        cr_run_close(&r);
    }
}

CR_TEST_MAIN(ten_boxes_stand, twenty_planks_reach_out_and_stand,
             planks_stand_with_jumps_at_the_end_of_steps, a_plank_too_far_falls)
