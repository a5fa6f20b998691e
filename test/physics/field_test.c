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

// A tilted ellipsoid that slides through an impact under lcp: its point of contact is not below its
// middle. Friction is across the normal, so that what it is and what the normal impulse is can be
// read off the change of velocity: one of the eight directions, of the full length. Directions
// across the lever, as printed in paper 004 (A.6), would mix both.
TEST(friction_acts_across_the_normal) {
    static const char *const scene =
        "<mujoco><option gravity='0 0 0'/><custom>"
        "<text name='carom:law' data='lcp'/>"
        "<text name='carom:shape:b' data='ellipsoid 0.3 0.2 0.1'/>"
        "<text name='carom:inertia:b' data='shape'/>"
        "<numeric name='carom:restitution:b' data='0.5'/></custom><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1' friction='0.1'/><body name='b'><freejoint/>"
        "<geom name='b' type='sphere' size='0.2' friction='0.1'/></body></worldbody>"
        "<keyframe><key qpos='0 0 0.4 0.9 0.3 0.2 0.1' qvel='4 1 -2 0 0 0'/></keyframe></mujoco>";
    cr_run r = cr_run_open(scene, NULL, 1, 0.01);
    double x[13];
    memcpy(x, r.x, sizeof x);
    for (int k = 0; k < 40 && x[9] == r.x[9]; k++) {
        steps(&r, x, 1);
    }
    double along[2] = {x[7] - r.x[7], x[8] - r.x[8]}, up = x[9] - r.x[9];
    double angle = atan2(along[1], along[0]) / (acos(-1.0) / 4.0);
    CHECK(up > 0.5);
    CHECK_CLOSE(hypot(along[0], along[1]), 0.1 * up, 1e-12, 0.0);
    CHECK_CLOSE(angle, round(angle), 1e-9, 0.0);
    cr_run_close(&r);
}

// vertices that move along their normals are not those of the mesh: the label says so
TEST(the_rule_along_the_normal_is_labelled) {
    static const char *const rule[2] = {"edge", "normal"};
    for (int k = 0; k < 2; k++) {
        char shape[64];
        snprintf(shape, sizeof shape, "ellipsoid 0.3 0.2 0.1; cells 8; vertex %s", rule[k]);
        cr_run r = open_body("type='sphere' size='0.2'", shape, "0 0 1 1 0 0 0", "0 0 0 0 0 0");
        double x[13];
        memcpy(x, r.x, sizeof x);
        steps(&r, x, 1);
        CHECK_INT((int)cr_sim_report(r.sim)->grad, k == 0 ? 0 : CR_GRAD_SURROGATE);
        cr_run_close(&r);
    }
}

// ---- the two switches for comparison with paper 004 ---------------------------------------------

static cr_run open_spin(const char *custom, const char *geoms) {
    char scene[2048];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='0 0 0'/><custom>%s</custom><worldbody><body name='b'>"
             "<freejoint/>%s</body></worldbody><keyframe><key qpos='0 0 1 0.9 0.3 0.2 0.1'"
             " qvel='0.3 0.2 0 1 -2 3'/></keyframe></mujoco>",
             custom, geoms);
    return cr_run_open(scene, NULL, 20, 0.02);
}

#define NO_GYRO "<text name='carom:gyroscopic' data='off'/>"
#define ORIGIN "<text name='carom:inertia:b' data='shape origin'/>"
#define BOTH NO_GYRO ORIGIN
#define BOX "<geom name='b' type='box' size='0.3 0.2 0.1' density='100'/>"
#define TWO                                                                                        \
    "<geom name='b' type='box' size='0.3 0.2 0.1' pos='0.1 0.05 0.02' density='100'/>"             \
    "<geom name='c' type='sphere' size='0.2' pos='-0.2 0 0.3' density='80'/>"

// the spin that a motion without torque began with is kept, in the body's frame and in the world's
TEST(without_the_gyroscopic_term_the_spin_is_kept) {
    static const char *const geoms[] = {BOX, TWO};
    for (int k = 0; k < 4; k++) {
        cr_run r = open_spin(k < 2 ? NO_GYRO : "", geoms[k % 2]);
        cr_run_value(&r, NULL);
        double change = 0.0;
        for (int i = 10; i < 13; i++) {
            change = fmax(change, fabs(r.x_end[i] - r.x[i]));
        }
        if (k < 2 ? change > 1e-13 : change < 0.1) {
            fail_msg("case %d: the spin changes by %g", k, change);
        }
        cr_run_close(&r);
    }
}

TEST(without_the_gyroscopic_term_a_torque_adds_up) {
    // I w' = tau, in the body's frame
    cr_run r = open_spin(NO_GYRO, BOX);
    double mass = 100.0 * 8.0 * 0.3 * 0.2 * 0.1, T = 20 * 0.02, size[3] = {0.3, 0.2, 0.1};
    for (int i = 0; i < 3; i++) {
        r.u[3 + i] = 0.3 + 0.2 * i;
    }
    cr_run_value(&r, NULL);
    for (int i = 0; i < 3; i++) {
        double a = size[(i + 1) % 3], b = size[(i + 2) % 3];
        double want = r.x[10 + i] + T * r.u[3 + i] / (mass * (a * a + b * b) / 3.0);
        CHECK_CLOSE(r.x_end[10 + i], want, 1e-12, 1e-12);
    }
    cr_run_close(&r);
}

TEST(inertia_about_the_origin_is_by_steiners_theorem) {
    // a ball on an arm along x: its centre is taken to be the origin, which stays in place
    cr_run r = open_spin(BOTH, "<geom name='b' size='0.2' pos='0.3 0 0' density='50'/>");
    double mass = 50.0 * 4.0 / 3.0 * acos(-1.0) * 0.008, T = 20 * 0.02;
    memset(r.x + 7, 0, 6 * sizeof *r.x);
    for (int i = 0; i < 3; i++) {
        r.u[3 + i] = 0.1 + 0.05 * i;
    }
    cr_run_value(&r, NULL);
    for (int i = 0; i < 3; i++) {
        double J = mass * (0.4 * 0.04 + (i == 0 ? 0.0 : 0.09));
        CHECK_CLOSE(r.x_end[10 + i], T * r.u[3 + i] / J, 1e-12, 1e-12);
        CHECK_CLOSE(r.x_end[i], r.x[i], 1e-14, 0.0);
    }
    cr_run_close(&r);
}

static void check_slope(double got, double want, double uncertainty) {
    if (!(fabs(got - want) <= 1e-7 * (1.0 + fabs(want)) + uncertainty)) {
        fail_msg("derivative %.12g, by differences %.12g", got, want);
    }
}

TEST(motions_with_the_switches_have_their_gradients) {
    static const double seed[13] = {0.3, -0.2, 0.5, 0.7, -0.4, 0.6, 0.2, 0.1, 0.3, -0.5, 1, -2, 3};
    static const char *const custom[] = {NO_GYRO, ORIGIN, BOTH};
    for (int k = 0; k < 3; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "%s<text name='carom:shape:b' data='union 0.05 (box 0.3 0.2 0.1 at 0.1 0.05 0.02, "
                 "sphere 0.2 at -0.2 0 0.1); cells 8'/>",
                 custom[k]);
        cr_run r = open_spin(text, BOX);
        double uncertainty;
        for (int i = 0; i < 3; i++) {
            r.u[3 + i] = 2.0 - i;
        }
        cr_run_gradient(&r, seed);
        for (int i = 7; i < 13; i++) {
            double x_tan[13] = {[0] = 0.0};
            x_tan[i] = 1.0;
            double want = cr_run_difference(&r, seed, r.x + i, 0, 1e-3, &uncertainty);
            check_slope(r.x_adj[i], want, uncertainty);
            check_slope(cr_run_tangent(&r, seed, x_tan, NULL, NULL), r.x_adj[i], 0.0);
        }
        for (int i = 3; i < r.n.n_p; i++) {
            double p_tan[64] = {0.0};
            p_tan[i] = 1.0;
            check_slope(cr_run_tangent(&r, seed, NULL, NULL, p_tan), r.p_adj[i], 0.0);
            if (r.p_adj[i] != 0.0 && r.p[i] > 0.0) { // springs may not be negative
                double want = cr_run_difference(&r, seed, r.p + i, 0, 1e-5, &uncertainty);
                check_slope(r.p_adj[i], want, uncertainty);
            }
        }
        cr_run_close(&r);
    }
}

static void check_no_model(const char *scene, const char *part) {
    cr_model *model = NULL;
    cr_error err = {0};
    CHECK(cr_model_parse(scene, strlen(scene), "scene.xml", &model, &err) == CR_ERR_UNSUPPORTED);
    if (!strstr(err.text, part)) {
        fail_msg("'%s' does not say '%s'", err.text, part);
    }
}

TEST(links_keep_their_gyroscopic_term) {
    check_no_model("<mujoco><custom>" NO_GYRO "</custom><worldbody><body name='arm'>"
                   "<joint type='ball'/>" BOX "</body></worldbody></mujoco>",
                   "scene.xml:1: carom:gyroscopic off is for free bodies without links, and body "
                   "arm is none; remove the entry");
    cr_run r = open_spin(NO_GYRO, BOX);
    cr_sim_options options = r.options;
    cr_sim *sim = NULL;
    cr_error err = {0};
    options.law = "longrange";
    options.stepper = NULL;
    CHECK(cr_sim_create(r.model, &options, &sim, &err) == CR_ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "the stepper implicit has no carom:gyroscopic off"));
    cr_run_close(&r);
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

CR_TEST_MAIN(without_the_gyroscopic_term_the_spin_is_kept,
             without_the_gyroscopic_term_a_torque_adds_up,
             inertia_about_the_origin_is_by_steiners_theorem,
             motions_with_the_switches_have_their_gradients, links_keep_their_gyroscopic_term,
             fields_of_primitives_bounce_like_the_primitives, shapes_with_hollows_stand,
             friction_acts_across_the_normal, the_rule_along_the_normal_is_labelled,
             wrong_shapes_are_refused_with_a_line)
