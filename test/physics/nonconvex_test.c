// SPDX-License-Identifier: MIT
//
// Shapes with holes and hollows rest and roll without sinking in by more than 1e-3 of their size.

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MESHES CAROM_SOURCE_DIR "/../shared/data/meshes/"

// runs, and returns the largest overlap; x (13) gets the end
static double overlap_of(const char *scene, int n, double dt, double *x) {
    cr_run r = cr_run_open(scene, NULL, n, dt);
    double most = 0.0;
    cr_error err = {0};
    memcpy(x, r.x, 13 * sizeof *x);
    for (int k = 0; k < n; k++) {
        if (cr_sim_step(r.sim, dt, x, r.u, x, &err) != CR_OK) {
            fail_msg("%s", err.text);
        }
        most = fmax(most, cr_sim_report(r.sim)->penetration);
    }
    cr_run_close(&r);
    return most;
}

TEST(a_ring_falls_on_a_peg) {
    double x[13];
    double overlap = overlap_of(
        "<mujoco><custom><text name='carom:shape:ring' data='difference 0.01 (cylinder 0.2 0.05, "
        "cylinder 0.1 0.2); cells 10'/><text name='carom:inertia:ring' data='shape'/></custom>"
        "<worldbody><geom type='plane' size='9 9 1'/>"
        "<geom type='cylinder' size='0.07 0.15' pos='0 0 0.15'/>"
        "<body name='ring'><freejoint/><geom name='ring' type='cylinder' size='0.2 "
        "0.05'/></body></worldbody>"
        "<keyframe><key qpos='0.01 0 0.3 0.99 0.1 0.05 0' qvel='0 0 -2 0 0 "
        "0'/></keyframe></mujoco>",
        23, 0.005, x);
    CHECK(overlap <= 1e-3 * 0.4);
    // around the peg, no higher than a tilt leaves it, no lower than edges that the cells cut
    CHECK(hypot(x[0], x[1]) < 0.04 && x[2] < 0.1 && x[2] > 0.03);
}

// On its flat side points near the floor come down while one of a smooth field rests.
TEST(a_ring_comes_to_lie) {
    double x[13];
    double overlap = overlap_of(
        "<mujoco><custom><text name='carom:shape:ring' data='difference 0.01 (cylinder 0.2 0.05, "
        "cylinder 0.1 0.2); cells 10'/><text name='carom:inertia:ring' data='shape'/></custom>"
        "<worldbody><geom type='plane' size='9 9 1'/><body name='ring'><freejoint/>"
        "<geom name='ring' type='cylinder' size='0.2 0.05'/></body></worldbody>"
        "<keyframe><key qpos='0 0 0.1 1 0.114 0.056 0.1' qvel='0.1 0 0 0 1.6 "
        "0.3'/></keyframe></mujoco>",
        130, 0.005, x);
    CHECK(overlap <= 1e-6);
    CHECK_CLOSE(x[2], 0.05, 1e-4, 0.0);
}

TEST(a_bowl_lies_in_a_bowl) {
    double x[13];
    double overlap = overlap_of(
        "<mujoco><custom><text name='carom:shape:a' data='difference 0.01 (sphere 0.2, sphere 0.17 "
        "at 0 0 0.02, box 0.3 0.3 0.2 at 0 0 0.25); cells 10'/><text name='carom:shape:b' "
        "data='difference 0.01 (sphere 0.14, sphere 0.12 at 0 0 0.02, box 0.3 0.3 0.2 at 0 0 0.24);"
        " cells 10'/><text name='carom:inertia:b' data='shape'/></custom><worldbody>"
        "<geom name='a' type='sphere' size='0.2'/><body name='b'><freejoint/>"
        "<geom name='b' type='sphere' size='0.14'/></body></worldbody>"
        "<keyframe><key qpos='0.01 0 0.0 1 0 0 0'/></keyframe></mujoco>",
        30, 0.005, x);
    CHECK(overlap <= 1e-3 * 0.28);
    // the bottoms touch where the inner radius 0.17 at 0.02 meets 0.14
    CHECK_CLOSE(x[2], -0.01, 3e-3, 0.0);
}

// It lies on the higher post and comes down on the lower one, which nothing saw at the start of the
// step: it was 0.04 m inside of it behind the step.
TEST(a_bar_that_rests_on_a_post_hits_the_other) {
    double x[13];
    double overlap = overlap_of(
        "<mujoco><custom><text name='carom:shape:posts' data='union (sphere 0.1 at -0.35 0 0, "
        "sphere 0.1 at 0.35 0 -0.02); cells 16'/><text name='carom:shape:bar' data='box 0.5 0.05 "
        "0.02'/></custom><worldbody><geom name='posts' type='box' size='0.45 0.05 0.1'/><body>"
        "<freejoint/><geom name='bar' type='box' size='0.5 0.05 0.02' mass='1'/></body></worldbody>"
        "<keyframe><key qpos='0 0 0.12 1 0 0 0' qvel='0.04 0 -0.7 0 2 0'/></keyframe></mujoco>",
        3, 1.0 / 30.0, x);
    CHECK(overlap <= 1e-4);
    CHECK_CLOSE(x[2], 0.11, 1e-3, 0.0);
}

/// A throw of a mesh.
typedef struct thrown {
    const char *file;
    double scale;
    const char *shape, *key;
    int n;
    double dt, size;
} thrown;

static void check_mesh(const thrown *t) {
    char path[512], scene[2048];
    double x[13];
    snprintf(path, sizeof path, MESHES "%s", t->file);
    if (access(path, R_OK) != 0) {
        SKIP("the reference meshes (../shared/data/meshes) are not here");
    }
    snprintf(scene, sizeof scene,
             "<mujoco><custom><text name='carom:shape:b' data='%s'/></custom><asset>"
             "<mesh name='m' file='%s' scale='%g %g %g'/></asset><worldbody>"
             "<geom type='plane' size='9 9 1'/><body><freejoint/><geom name='b' type='mesh' "
             "mesh='m' mass='1'/></body></worldbody><keyframe><key %s/></keyframe></mujoco>",
             t->shape, path, t->scale, t->scale, t->scale, t->key);
    double overlap = overlap_of(scene, t->n, t->dt, x);
    if (!(overlap <= 1e-3 * t->size)) {
        fail_msg("%s (%s) sinks in by %g with steps of %g s", t->file, t->shape, overlap, t->dt);
    }
    CHECK(x[2] > 0.0 && isfinite(x[2]));
}

#define ON_FEET "qpos='0 0 0.75 0.7071 0.7071 0 0' qvel='0.5 0 -1 0 0 0'"
// falls on its back and rolls over many vertices
#define TUMBLING                                                                                   \
    "qpos='0 0 1.3 -0.390142 0.186983 -0.828319 0.355739' qvel='0.3 -0.4 0.2 1.5 -2 0.6'"

TEST(spot_lands_and_tips) {
    check_mesh(&(thrown){"spot_tri.obj", 1.0, "mesh; samples 32", ON_FEET, 60, 0.005, 1.7});
}

TEST(spot_lands_on_its_feet_in_long_steps) {
    check_mesh(&(thrown){"spot_tri.obj", 1.0, "hull", ON_FEET, 60, 1.0 / 30.0, 1.7});
    check_mesh(&(thrown){"spot_tri.obj", 1.0, "mesh; samples 32", ON_FEET, 60, 1.0 / 30.0, 1.7});
}

TEST(spot_tumbles_in_long_steps) {
    check_mesh(&(thrown){"spot_tri.obj", 1.0, "hull", TUMBLING, 60, 1.0 / 30.0, 1.7});
    check_mesh(&(thrown){"spot_tri.obj", 1.0, "mesh; samples 32", TUMBLING, 60, 1.0 / 30.0, 1.7});
}

TEST(bob_lands_and_rocks) {
    const char *key = "qpos='0 0 0.53 0.7071 0.7071 0 0' qvel='0.5 0 -1 0 0 0'";
    check_mesh(&(thrown){"bob_tri.obj", 1.0, "mesh; samples 32", key, 60, 0.005, 1.9});
    check_mesh(&(thrown){"bob_tri.obj", 1.0, "hull", TUMBLING, 60, 1.0 / 30.0, 1.9});
}

TEST(a_gear_rolls) {
    const char *key = "qpos='0 0 0.21 0.7071 0.7071 0 0' qvel='0.4 0 0 0 0 -2'";
    check_mesh(&(thrown){"gearwheel.stl", 0.01, "mesh; samples 32", key, 60, 0.005, 0.417});
}

TEST(a_gear_tumbles_in_long_steps) {
    const char *key = "qpos='0 0 0.35 0.5 -0.5 0.6 0.4' qvel='0.3 -0.4 0 2 -3 4'";
    check_mesh(&(thrown){"gearwheel.stl", 0.01, "hull", key, 60, 1.0 / 30.0, 0.417});
}

// Lies down on its flat side, many vertices at once: what lifts off beside resting ones comes back.
TEST(a_gear_comes_to_lie) {
    const char *key = "qpos='0 0 0.417 1.1467800968358872 -0.8850266195932266 0.7645263609186551 "
                      "-0.989288685150784' qvel='-0.2728289321888462 -0.07110039756475528 "
                      "0.4187636526201901 1.0026054771742725 -2.572704615819486 "
                      "2.2487985613735493'";
    check_mesh(&(thrown){"gearwheel.stl", 0.01, "hull", key, 200, 0.01, 0.417});
}

// More impacts in a step than are located, while the rim comes down elsewhere.
TEST(a_gear_rattles_on_its_rim) {
    const char *key = "qpos='0 0 0.417 -0.22786815724755932 1.5312611183771347 1.0013269397588183 "
                      "-0.9159956064123633' qvel='0.18285264582998995 -0.8209176345532874 "
                      "-0.02184616625147706 -2.771913181368924 -0.029763038971924338 "
                      "-1.3566023145846264'";
    check_mesh(&(thrown){"gearwheel.stl", 0.01, "hull", key, 60, 0.01, 0.417});
}

// Likewise with points far above the floor, which are no rows.
TEST(bob_rocks_in_long_steps) {
    const char *key = "qpos='0 0 1.9 -0.45272404500329455 1.4700636494690207 1.214805794588859 "
                      "-0.6628630110149107' qvel='0.6934033238127995 -0.06742531684840958 "
                      "-0.03331592768910041 0.966010949121836 0.6331354571848178 "
                      "-1.1127658052065172'";
    check_mesh(&(thrown){"bob_tri.obj", 1.0, "mesh; samples 32", key, 60, 1.0 / 30.0, 1.9});
}

CR_TEST_MAIN(a_ring_falls_on_a_peg, a_ring_comes_to_lie, a_bowl_lies_in_a_bowl,
             a_bar_that_rests_on_a_post_hits_the_other, spot_lands_and_tips,
             spot_lands_on_its_feet_in_long_steps, spot_tumbles_in_long_steps, bob_lands_and_rocks,
             a_gear_rolls, a_gear_tumbles_in_long_steps, a_gear_comes_to_lie,
             a_gear_rattles_on_its_rim, bob_rocks_in_long_steps)
