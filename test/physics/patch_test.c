// SPDX-License-Identifier: MIT
//
// A patch of many points counts by its outline. A prism with rings of vertices in its base, as a
// field of its mesh:
//
//   translation  slows down by mu g, as under any pressure
//   tipping      begins where gravity points beyond the side of the base
//   spin         ends by the torque mu m g R of the rim; even pressure would have
//                mu m g R 2/3, so that the outline brakes 3/2 times as hard

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDES = 8, RINGS = 3, BASE = 1 + SIDES * RINGS, TEXT = 16384 };

static const double radius = 0.1, friction = 0.4, g = 9.81, dt = 0.01;

static const double pi = 3.14159265358979323846;

// a prism with half height h about its centre, a side of its base across x
static void mesh_of(double h, char text[TEXT]) {
    int at = snprintf(text, TEXT, "<asset><mesh name='m' vertex='");
    for (int v = 0; v < 2 * BASE; v++) {
        int k = v % BASE;
        double r = k ? radius * (1 + (k - 1) / SIDES) / RINGS : 0.0;
        double angle = 2.0 * pi * ((k - 1) % SIDES + 0.5) / SIDES;
        at += snprintf(text + at, (size_t)(TEXT - at), "%.15f %.15f %.15f ", r * cos(angle),
                       r * sin(angle), v < BASE ? -h : h);
    }
    at += snprintf(text + at, (size_t)(TEXT - at), "' face='");
    for (int s = 0; s < SIDES; s++) {
        int a = 1 + s, b = 1 + (s + 1) % SIDES, last = (RINGS - 1) * SIDES;
        at += snprintf(text + at, (size_t)(TEXT - at), "0 %d %d %d %d %d ", b, a, BASE, BASE + a,
                       BASE + b);
        for (int ring = 0; ring < RINGS - 1; ring++, a += SIDES, b += SIDES) {
            at += snprintf(text + at, (size_t)(TEXT - at), "%d %d %d %d %d %d %d %d %d %d %d %d ",
                           a, b, b + SIDES, a, b + SIDES, a + SIDES, BASE + b, BASE + a,
                           BASE + b + SIDES, BASE + b + SIDES, BASE + a, BASE + a + SIDES);
        }
        assert_true(a == 1 + s + last);
        at += snprintf(text + at, (size_t)(TEXT - at), "%d %d %d %d %d %d ", a, b, BASE + b, a,
                       BASE + b, BASE + a);
    }
    at += snprintf(text + at, (size_t)(TEXT - at), "'/></asset>");
    assert_true(at < TEXT);
}

// the prism on the floor, after n steps; pull: gravity along x, of its part downwards
static void move(double h, double mu, double pull, const char *velocity, int n, double x[13]) {
    static char mesh[TEXT], scene[TEXT + 2048];
    mesh_of(h, mesh);
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='%.15g 0 %.15g'/><custom>"
             "<text name='carom:shape:b' data='mesh; samples 32'/></custom>%s<worldbody>"
             "<geom type='plane' size='9 9 1' friction='%g'/><body name='b'><freejoint/>"
             "<geom name='b' type='mesh' mesh='m' density='100' friction='%g'/></body></worldbody>"
             "<keyframe><key qpos='0 0 %.15g 1 0 0 0' qvel='%s'/></keyframe></mujoco>",
             pull * g, -g, mesh, mu, mu, h, velocity);
    cr_run r = cr_run_open(scene, NULL, 1, dt);
    cr_error err = {0};
    memcpy(x, r.x, 13 * sizeof *x);
    for (int k = 0; k < n; k++) {
        if (cr_sim_step(r.sim, dt, x, r.u, x, &err) != CR_OK) {
            fail_msg("%s", err.text);
        }
    }
    cr_run_close(&r);
}

TEST(an_outline_slides_like_the_whole_patch) {
    double x[13], time = 10 * dt;
    move(0.02, friction, 0.0, "1 0 0 0 0 0", 10, x);
    CHECK_CLOSE(x[7], 1.0 - friction * g * time, 1e-9, 0.0);
    CHECK_CLOSE(x[2], 0.02, 1e-6, 0.0);
    for (int i = 8; i < 13; i++) {
        CHECK_CLOSE(x[i], 0.0, 1e-6, 0.0);
    }
}

TEST(an_outline_tips_over_the_side_of_the_patch) {
    double x[13], h = 0.3, beyond = radius * cos(pi / SIDES) / h;
    move(h, 2.0, 0.98 * beyond, "0 0 0 0 0 0", 10, x);
    CHECK_CLOSE(x[11], 0.0, 1e-6, 0.0);
    move(h, 2.0, 1.02 * beyond, "0 0 0 0 0 0", 2, x);
    // about the side: (pull h - apothem) g m over the inertia of a prism there
    double a = radius * cos(pi / SIDES), sine = sin(pi / SIDES);
    double own = radius * radius * (1.0 - 2.0 / 3.0 * sine * sine) / 4.0 + h * h / 3.0;
    double speed = 0.02 * a * g / (own + a * a + h * h) * 2 * dt;
    CHECK_CLOSE(x[11], speed, 0.0, 2e-3); // it is no longer upright at the end
}

TEST(an_outline_brakes_a_spin_by_its_rim) {
    double x[13], time = 10 * dt, sine = sin(pi / SIDES);
    move(0.02, friction, 0.0, "0 0 0 0 0 30", 10, x);
    double inertia = radius * radius * (1.0 - 2.0 / 3.0 * sine * sine) / 2.0;
    double even = 2.0 / 3.0 * friction * g * radius / inertia, found = (30.0 - x[12]) / time;
    CHECK_CLOSE(found / even, 1.5, 0.0, 1e-3);
    CHECK_CLOSE(x[0], 0.0, 1e-3, 0.0);
}

CR_TEST_MAIN(an_outline_slides_like_the_whole_patch, an_outline_tips_over_the_side_of_the_patch,
             an_outline_brakes_a_spin_by_its_rim)
