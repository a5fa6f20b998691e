// SPDX-License-Identifier: MIT
//
// Bodies whose shapes are distance fields move as what they are.

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void steps(cr_run *r, double *x, int n) {
    cr_error err = {0};
    for (int i = 0; i < n; i++) {
        if (cr_sim_step(r->sim, r->dt, x, r->u, x, &err) != CR_OK) {
            fail_msg("%s", err.text);
        }
    }
}

// shape NULL: the geom as it stands
static cr_run open_body(const char *geom, const char *shape, const char *pose,
                        const char *velocity) {
    char scene[2048], text[512] = "";
    if (shape) {
        snprintf(text, sizeof text, "<text name='carom:shape:b' data='%s'/>", shape);
    }
    snprintf(scene, sizeof scene,
             "<mujoco><custom>%s<text name='carom:inertia:b' data='shape'/>"
             "<numeric name='carom:restitution:b' data='0.5'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1' friction='0.3'/>"
             "<geom name='wall' type='box' size='0.5 5 5' pos='2.5 0 5' friction='0.2'/>"
             "<body name='b'><freejoint/><geom name='b' %s friction='0.1'/></body></worldbody>"
             "<keyframe><key qpos='%s' qvel='%s'/></keyframe></mujoco>",
             text, geom, pose, velocity);
    return cr_run_open(scene, NULL, 1, 0.01);
}

static void check_alike(const char *geom, const char *shape, int n) {
    static const char *const pose = "0 0 1 0.9 0.3 0.2 0.1", *const velocity = "3 0.2 0 0.3 0.2 1";
    cr_run a = open_body(geom, NULL, pose, velocity), b = open_body(geom, shape, pose, velocity);
    double x[13], y[13];
    memcpy(x, a.x, sizeof x);
    memcpy(y, b.x, sizeof y);
    steps(&a, x, n);
    steps(&b, y, n);
    for (int i = 0; i < 13; i++) {
        CHECK_CLOSE(y[i], x[i], 1e-8, 1e-8); // bounces multiply rounding
    }
    cr_run_close(&a);
    cr_run_close(&b);
}

TEST(fields_of_primitives_bounce_like_the_primitives) {
    check_alike("type='sphere' size='0.3'", "sphere 0.3", 80);
    check_alike("type='box' size='0.3 0.2 0.25'", "box 0.3 0.2 0.25", 60);
}

// what its bottom is below the floor, over 0.6 s after a fall of 2 cm
static void check_rest(const char *shape, double bottom, double tolerance) {
    char pose[64];
    snprintf(pose, sizeof pose, "0 0 %g 1 0 0 0", bottom + 0.02);
    cr_run r = open_body("type='sphere' size='0.2'", shape, pose, "0 0 0 0 0 0");
    double x[13], least = INFINITY;
    memcpy(x, r.x, sizeof x);
    for (int k = 0; k < 60; k++) {
        steps(&r, x, 1);
        least = fmin(least, x[2]);
    }
    CHECK(least >= bottom - tolerance);
    CHECK_CLOSE(x[2], bottom, tolerance, 0.0);
    cr_run_close(&r);
}

TEST(shapes_with_hollows_stand) {
    // a cup upright; its rim is cut by the cells, its bottom is not
    check_rest("difference (cylinder 0.2 0.2, cylinder 0.15 0.2 at 0 0 0.05); cells 16", 0.2, 2e-3);
}

#define CANS CAROM_SOURCE_DIR "/data/shapes/cans.h5"

static void check_refused(const char *shape, const char *part) {
    char scene[1024];
    cr_model *model = NULL;
    cr_error err = {0};
    snprintf(scene, sizeof scene,
             "<mujoco><custom><text name='carom:shape:b' data='%s'/></custom><worldbody>"
             "<body><freejoint/><geom name='b' size='1'/></body></worldbody></mujoco>",
             shape);
    CHECK(cr_model_parse(scene, strlen(scene), "scene.xml", &model, &err) != CR_OK);
    if (!strstr(err.text, part)) {
        fail_msg("'%s' does not say '%s'", err.text, part);
    }
    CHECK(!model);
}

TEST(wrong_shapes_are_refused_with_a_line) {
    check_refused("spher 1", "unknown shape at 'spher 1'");
    check_refused("", "unknown shape");
    check_refused("box 1 2", "3 half lengths");
    check_refused("sphere 0", "scene.xml:1");
    check_refused("sphere -1", "scene.xml:1");
    check_refused("sphere 1e999", "the radius");
    check_refused("rounded-box 1 1 1 2", "scene.xml:1");
    check_refused("union (sphere 1)", "','");
    check_refused("union (sphere 1, sphere 1", "')'");
    check_refused("union -1 (sphere 1, sphere 1)", "width");
    check_refused("sphere 1 at 0 0", "3 numbers");
    check_refused("sphere 1; cells 1000", "from 4 to 160");
    check_refused("sphere 1; colour red", "unknown option");
    check_refused("sphere 1 2", "the end");
    check_refused("difference (sphere 1, sphere 2)", "inside");
    check_refused("mesh", "type mesh");
    check_refused("hull", "type mesh");
    check_refused("neural", "a file of");
    check_refused("neural none.h5", "none.h5");
    check_refused("neural " CANS " 9 0 0 0", "outside of the space of shapes");
    check_refused("neural " CANS " 0 0", "4 numbers");
    check_refused("neural " CANS " size 0", "above 0");
    check_refused("neural " CANS " like cup", "the name of a shape");
}

CR_TEST_MAIN(fields_of_primitives_bounce_like_the_primitives, shapes_with_hollows_stand,
             wrong_shapes_are_refused_with_a_line)
