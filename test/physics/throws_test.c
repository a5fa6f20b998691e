// SPDX-License-Identifier: MIT
//
// Nothing passes through anything: bullets of every shape thrown at a plate of 4 mm, in steps that
// carry them metres, with spins of hundreds of rad/s; and two bullets at each other.
//
// 10,000 throws in all. A bullet is through when its origin is behind the plate's middle plane,
// well within the plate's edge. The plate stands still, or flies freely.

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { N_THROW = 850, N_STEP = 40 };

static const char *const shapes[] = {
    "type='sphere' size='0.02'",
    "type='capsule' size='0.01 0.03'",
    "type='box' size='0.01 0.02 0.03'",
    "type='cylinder' size='0.01 0.03'",
    "type='ellipsoid' size='0.01 0.02 0.03'",
    "type='mesh' mesh='tetra'",
};

enum { N_SHAPE = sizeof shapes / sizeof shapes[0] };

// numbers in [-1, 1), the same on every machine
static uint64_t seed;

static double random_number(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) * 0x1p-52 - 1.0;
}

static cr_run open_scene(const char *plate_joint, const char *shape) {
    static char text[1200];
    snprintf(text, sizeof text,
             "<mujoco><asset><mesh name='tetra' vertex='.02 0 -.01 -.01 .018 -.01 -.01 -.018 -.01"
             " 0 0 .02'/></asset><worldbody><body name='plate'>%s"
             "<geom name='plate' type='box' size='.5 .5 .002' density='8000'/></body>"
             "<body name='bullet' pos='0 0 1'><freejoint/><geom name='bullet' %s/></body>"
             "</worldbody><custom><numeric name='carom:restitution:plate' data='0.4'/></custom>"
             "</mujoco>",
             plate_joint, shape);
    cr_run r = cr_run_open(text, NULL, 1, 0.01);
    return r;
}

// a bullet that will hit the plate near its middle; v in m/s
static void throw_bullet(cr_run *r, double *x, double *dt) {
    int q = cr_run_x(r, "bullet/qpos[0]"), v = cr_run_x(r, "bullet/qvel[0]");
    double from[3] = {random_number(), random_number(), 0.8 + 0.5 * random_number()};
    double to[3] = {0.3 * random_number(), 0.3 * random_number(), 0.0};
    double speed = 300.0 + 250.0 * random_number(), length = 0.0, norm = 0.0;
    *dt = 0.007 + 0.005 * random_number();
    cr_model_defaults(r->model, -1, NULL, x, NULL);
    for (int i = 0; i < 3; i++) {
        length += (to[i] - from[i]) * (to[i] - from[i]);
    }
    for (int i = 0; i < 3; i++) {
        x[q + i] = from[i];
        x[v + i] = speed * (to[i] - from[i]) / sqrt(length);
        x[v + 3 + i] = 200.0 * random_number();
    }
    for (int i = 0; i < 4; i++) {
        x[q + 3 + i] = random_number();
        norm += x[q + 3 + i] * x[q + 3 + i];
    }
    for (int i = 0; i < 4; i++) {
        x[q + 3 + i] /= sqrt(norm);
    }
}

// height of the bullet over the plate's middle plane; in the plane its distance from the middle
static double height_of(const cr_run *r, const double *x, bool is_free, double *across) {
    static const double still[7] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0};
    const double *plate = is_free ? x : still, *q = plate + 3;
    const double *bullet = x + cr_run_x(r, "bullet/qpos[0]");
    double n[3] = {2.0 * (q[1] * q[3] + q[0] * q[2]), 2.0 * (q[2] * q[3] - q[0] * q[1]),
                   1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])};
    double height = 0.0, square = 0.0;
    for (int i = 0; i < 3; i++) {
        height += n[i] * (bullet[i] - plate[i]);
        square += (bullet[i] - plate[i]) * (bullet[i] - plate[i]);
    }
    *across = sqrt(fmax(square - height * height, 0.0));
    return height;
}

// throws until the first hit; counts what went through and what never hit
static void throw_all(const char *plate_joint, const char *shape, bool is_free) {
    cr_run r = open_scene(plate_joint, shape);
    int n_through = 0, n_missed = 0;
    double deepest = 0.0;
    seed = 1;
    for (int k = 0; k < N_THROW; k++) {
        double x[32], dt, across;
        bool has_hit = false;
        throw_bullet(&r, x, &dt);
        for (int i = 0; i < N_STEP && !has_hit; i++) {
            cr_error err = {0};
            if (cr_sim_step(r.sim, dt, x, NULL, x, &err) != CR_OK) {
                fail_msg("%s, throw %d: %s", shape, k, err.text);
            }
            const cr_step_report *report = cr_sim_report(r.sim);
            has_hit = report->n_event > 0;
            deepest = fmax(deepest, report->penetration);
            double height = height_of(&r, x, is_free, &across);
            n_through += height < 0.0 && across < 0.4;
        }
        n_missed += !has_hit;
    }
    CHECK_INT(n_through, 0);
    CHECK_INT(n_missed, 0);
    // a bullet that spins on its tip meets the plate again within microseconds
    CHECK(deepest <= 1e-3);
    cr_run_close(&r);
}

TEST(no_bullet_passes_a_thin_plate) {
    for (int s = 0; s < N_SHAPE; s++) {
        throw_all("", shapes[s], false);
    }
}

TEST(no_bullet_passes_a_thin_plate_that_flies) {
    for (int s = 0; s < N_SHAPE; s++) {
        throw_all("<freejoint/>", shapes[s], true);
    }
}

TEST(two_bullets_meet_at_full_speed) {
    for (int k = 0; k < N_SHAPE * N_SHAPE; k++) {
        char text[1200];
        snprintf(text, sizeof text,
                 "<mujoco><option gravity='0 0 0'/><asset><mesh name='tetra' vertex='.02 0 -.01"
                 " -.01 .018 -.01 -.01 -.018 -.01 0 0 .02'/></asset><worldbody>"
                 "<body name='a' pos='-1 0 0'><freejoint/><geom %s/></body>"
                 "<body name='b' pos='1 .003 .002'><freejoint/><geom %s/></body></worldbody>"
                 "</mujoco>",
                 shapes[k / N_SHAPE], shapes[k % N_SHAPE]);
        cr_run r = cr_run_open(text, NULL, 1, 0.01);
        r.x[cr_run_x(&r, "a/qvel[0]")] = 400.0;
        r.x[cr_run_x(&r, "b/qvel[0]")] = -400.0;
        cr_error err = {0};
        CHECK_INT(cr_sim_step(r.sim, 0.01, r.x, NULL, r.x, &err), CR_OK);
        CHECK(cr_sim_report(r.sim)->n_event >= 1);
        cr_run_close(&r);
    }
}

CR_TEST_MAIN(no_bullet_passes_a_thin_plate, no_bullet_passes_a_thin_plate_that_flies,
             two_bullets_meet_at_full_speed)
