// SPDX-License-Identifier: MIT
//
// Directions of friction against MuJoCo, whose contacts carry the frame in which they have two
// coefficients: of every pair of shapes but a capsule on a plane, whose frame turns with it there
// and which the reader refuses. And the coefficients themselves.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "carom/carom.h"
#include "contact/island.h"
#include "support/cr_test.h"

// both round some ten operations on unit vectors
#define TOLERANCE 1e-14

// MuJoCo reads files only
static mjModel *load(const char *scene) {
    char path[] = CAROM_BINARY_DIR "/friction_XXXXXX", error[300] = "";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(write(file, scene, strlen(scene)) == (ssize_t)strlen(scene));
    close(file);
    mjModel *m = mj_loadXML(path, NULL, error, sizeof error);
    unlink(path);
    if (!m) {
        fail_msg("%s", error);
    }
    return m;
}

// a unit quaternion in any direction
static void random_turn(cr_test_rng *rng, double *quat) {
    double length = 0.0;
    for (int i = 0; i < 4; i++) {
        quat[i] = cr_test_uniform(rng, -1.0, 1.0);
        length += quat[i] * quat[i];
    }
    for (int i = 0; i < 4; i++) {
        quat[i] /= sqrt(length);
    }
}

/// A pair of shapes with MuJoCo's types and sizes; centres that far apart overlap.
typedef struct meeting {
    const char *first, *second;
    double apart;
} meeting;

// one of each frame's two branches at least is met
static int compare_frames(const meeting *it, cr_test_rng *rng, int branch[2]) {
    double turn[2][4], R[9], z[3], z0[3] = {0.0, 0.0, it->apart};
    char scene[1000];
    random_turn(rng, turn[0]);
    random_turn(rng, turn[1]);
    mju_quat2Mat(R, turn[0]);
    mju_rotVecMat(z, z0, R);
    snprintf(scene, sizeof scene,
             "<mujoco><worldbody><geom name='a' %s quat='%.17g %.17g %.17g %.17g'/>"
             "<body pos='%.17g %.17g %.17g' quat='%.17g %.17g %.17g %.17g'><freejoint/>"
             "<geom name='b' %s/></body></worldbody><contact><pair geom1='a' geom2='b'"
             " friction='0.3 0.1'/></contact></mujoco>",
             it->first, turn[0][0], turn[0][1], turn[0][2], turn[0][3], z[0], z[1], z[2],
             turn[1][0], turn[1][1], turn[1][2], turn[1][3], it->second);
    mjModel *m = load(scene);
    mjData *d = mj_makeData(m);
    mj_forward(m, d);
    int n = d->ncon;
    for (int k = 0; k < n; k++) {
        const mjContact *c = &d->contact[k];
        cri_frame frame = cri_frame_aligned(cri_v3_load(c->frame));
        branch[fabs(c->frame[1]) < 0.5]++;
        for (int i = 0; i < 9; i++) {
            double axis[3];
            cri_v3_store(frame.axis[i / 3], axis);
            CHECK_CLOSE(axis[i % 3], c->frame[i], TOLERANCE, 0.0);
        }
        CHECK(c->friction[0] == 0.3 && c->friction[1] == 0.1);
    }
    mj_deleteData(d);
    mj_deleteModel(m);
    return n;
}

TEST(tangents_are_those_of_mujoco) {
    static const meeting meetings[] = {
        {"type='plane' size='1 1 1'", "type='box' size='.1 .1 .1'", 0.05},
        {"type='plane' size='1 1 1'", "type='sphere' size='.1'", 0.05},
        {"type='plane' size='1 1 1'", "type='cylinder' size='.1 .1'", 0.05},
        {"type='plane' size='1 1 1'", "type='ellipsoid' size='.1 .1 .2'", 0.05},
        {"type='sphere' size='.1'", "type='sphere' size='.1'", 0.15},
        {"type='sphere' size='.1'", "type='capsule' size='.1 .1'", 0.15},
        {"type='sphere' size='.1'", "type='box' size='.1 .1 .1'", 0.15},
        {"type='capsule' size='.1 .1'", "type='capsule' size='.1 .1'", 0.12},
        {"type='box' size='.1 .1 .1'", "type='box' size='.1 .1 .1'", 0.12},
    };
    cr_test_rng rng = cr_test_rng_of(7);
    for (size_t k = 0; k < sizeof meetings / sizeof meetings[0]; k++) {
        int n = 0, branch[2] = {0};
        for (int i = 0; i < 60; i++) {
            n += compare_frames(&meetings[k], &rng, branch);
        }
        CHECK(n >= 60 && branch[0] > 0 && branch[1] > 0);
    }
}

// 0.3 s down a slope that is steeper than both coefficients. MuJoCo's law is convex, so what slides
// is lifted, and its contacts are soft: it chatters, and agrees to some per cent.
TEST(a_block_slides_down_a_slope_as_in_mujoco) {
    static const char scene[] =
        "<mujoco><option timestep='0.0005' gravity='3 4 -8' cone='elliptic' impratio='100'/>"
        "<worldbody><geom name='floor' type='plane' size='9 9 1'/><body name='block' pos='0 0 .05'>"
        "<joint name='x' type='slide' axis='1 0 0'/><joint name='y' type='slide' axis='0 1 0'/>"
        "<joint name='z' type='slide' axis='0 0 1'/>"
        "<geom name='block' type='sphere' size='.05' mass='1'/></body></worldbody>"
        "<contact><pair geom1='floor' geom2='block' condim='3' friction='.1 .35 0 0 0'/></contact>"
        "</mujoco>";
    enum { N_STEP = 600 };
    double x[6], dt = 0.0005;
    cr_error err = {0};
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    assert_int_equal(cr_model_parse(scene, sizeof scene - 1, "slope", &model, &err), CR_OK);
    cr_sim_options options = cr_sim_options_default(model);
    assert_int_equal(cr_sim_create(model, &options, &sim, &err), CR_OK);
    cr_model_defaults(model, -1, NULL, x, NULL);
    mjModel *m = load(scene);
    mjData *d = mj_makeData(m);
    for (int k = 0; k < N_STEP; k++) {
        assert_int_equal(cr_sim_step(sim, dt, x, NULL, x, &err), CR_OK);
        mj_step(m, d);
    }
    CHECK_CLOSE(x[3], d->qvel[0], 0.0, 0.05);
    CHECK_CLOSE(x[4], d->qvel[1], 0.0, 0.05);
    // had the two coefficients changed places, it would go elsewhere
    CHECK(x[4] / x[3] > 1.5 * 4.0 / 3.0);
    mj_deleteData(d);
    mj_deleteModel(m);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

CR_TEST_MAIN(tangents_are_those_of_mujoco, a_block_slides_down_a_slope_as_in_mujoco)
