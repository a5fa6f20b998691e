// SPDX-License-Identifier: MIT
//
// The time of contact as a function of the shape. A tilted body on a slide falls at a constant
// speed v on a floor at 0 and bounces with e: z(T) = z0 - v t + e v (T - t), so that the gradient
// of z(T) is -(1 + e) v dt/dtheta, and t = (z0 - s)/v with s how far the shape reaches down.
//
//   box       ds/dx_i = |R_zi|              cylinder  ds/dr = sqrt(1 - R_zz^2), ds/dh = |R_zz|
//   a mesh    s is linear in its scale      a net     by differences of t

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 16 };

static const double speed = 2.0, bounce = 0.5, start = 1.5, dt = 0.05;
static const char *const quat = "0.8 0.3 0.4 0.33166247903554";

static const char *const planes = "type='plane' size='9 9 1'",
                         *const boxes = "type='box' size='2 2 0.5' pos='0 0 -0.5'";

static const char *const cube_mesh =
    "<asset><mesh name='m' vertex='-.3 -.2 -.25 .3 -.2 -.25 -.3 .2 -.25 .3 .2 -.25 -.3 -.2 .25 "
    ".3 -.2 .25 -.3 .2 .25 .3 .2 .25' face='0 2 3 0 3 1 4 5 7 4 7 6 0 1 5 0 5 4 2 6 7 2 7 3 "
    "0 4 6 0 6 2 1 3 7 1 7 5'/></asset>";

static cr_run open_fall(const char *floor, const char *geom, const char *shape) {
    char scene[3072];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='0 0 0'/><custom><text name='carom:shape:b' data='%s'/>"
             "<numeric name='carom:restitution:b' data='%g'/></custom>%s<worldbody>"
             "<geom name='floor' %s friction='0'/><body name='b'><joint name='j' type='slide' "
             "axis='0 0 1'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
             "<geom name='b' %s quat='%s' friction='0'/></body></worldbody>"
             "<keyframe><key qpos='%g' qvel='%g'/></keyframe></mujoco>",
             shape, bounce, strstr(geom, "mesh=") ? cube_mesh : "", floor, geom, quat, start,
             -speed);
    return cr_run_open(scene, NULL, STEPS, dt);
}

// when it hits, from where it ends
static double time_of(double z) {
    return (start + bounce * speed * STEPS * dt - z) / ((1.0 + bounce) * speed);
}

// gradients of the time of contact for parameters name[0], ..., and the time itself
static double contact_time(cr_run *r, const char *name, int n, double *gradient) {
    const double seed[2] = {1.0, 0.0};
    double t = time_of(cr_run_gradient(r, seed));
    CHECK(t > 2.0 * dt && t < (STEPS - 2) * dt);
    for (int i = 0; i < n; i++) {
        char full[32];
        snprintf(full, sizeof full, n > 1 ? "b/%s[%d]" : "b/%s", name, i);
        gradient[i] = -r->p_adj[cr_run_p(r, full)] / ((1.0 + bounce) * speed);
    }
    return t;
}

// third row of the rotation
static void row_of(double R[3]) {
    const double w = 0.8, x = 0.3, y = 0.4, z = 0.33166247903554;
    double n = w * w + x * x + y * y + z * z;
    R[0] = 2.0 * (x * z - w * y) / n;
    R[1] = 2.0 * (y * z + w * x) / n;
    R[2] = 1.0 - 2.0 * (x * x + y * y) / n;
}

static void check_box(const char *floor) {
    double R[3], g[3], reach = 0.0;
    const double size[3] = {0.3, 0.2, 0.25};
    row_of(R);
    cr_run r = open_fall(floor, "type='box' size='0.3 0.2 0.25'", "box 0.3 0.2 0.25");
    double t = contact_time(&r, "shape", 3, g);
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(g[i], -fabs(R[i]) / speed, 0.0, 1e-9);
        reach += fabs(R[i]) * size[i];
    }
    CHECK_CLOSE(t, (start - reach) / speed, 0.0, 1e-10);
    cr_run_close(&r);
}

TEST(the_corner_of_a_box_sets_the_time) {
    check_box(planes);
    check_box(boxes);
}

// its rim is a polygon of 128 corners: what they miss is at most 3e-4 of the radius
static void check_cylinder(const char *floor) {
    double R[3], g[2];
    row_of(R);
    double side = sqrt(1.0 - R[2] * R[2]);
    cr_run r = open_fall(floor, "type='cylinder' size='0.3 0.2'", "cylinder 0.3 0.2");
    double t = contact_time(&r, "shape", 2, g);
    CHECK_CLOSE(g[0], -side / speed, 3.1e-4 * side / speed, 0.0);
    CHECK_CLOSE(g[1], -fabs(R[2]) / speed, 0.0, 1e-9);
    CHECK_CLOSE(t, (start - 0.3 * side - 0.2 * fabs(R[2])) / speed, 1e-4 / speed, 0.0);
    // the time is linear in both, so that these are its own derivatives exactly
    CHECK_CLOSE(t, start / speed + 0.3 * g[0] + 0.2 * g[1], 0.0, 1e-9);
    cr_run_close(&r);
}

TEST(the_rim_of_a_cylinder_sets_the_time) {
    check_cylinder(planes);
    check_cylinder(boxes);
}

// a grid rounds the corner off, but what its mesh reaches is exact
static void check_grid(const char *floor) {
    double g[1];
    cr_run r = open_fall(floor, "type='mesh' mesh='m'", "mesh; samples 16");
    double t = contact_time(&r, "scale", 1, g);
    CHECK_CLOSE(g[0], t - start / speed, 0.0, 1e-8);
    cr_run_close(&r);
}

TEST(a_mesh_with_a_grid_sets_the_time_by_its_scale) {
    check_grid(planes);
    check_grid(boxes);
}

static const char *const neural =
    "neural " CAROM_SOURCE_DIR "/data/shapes/animals.h5 size 0.4; cells 8";

TEST(the_code_of_a_net_sets_the_time) {
    double g[2];
    const double seed[2] = {1.0, 0.0};
    cr_run r = open_fall(planes, "type='sphere' size='0.4'", neural);
    double reach = speed * contact_time(&r, "code", 2, g);
    CHECK(reach < start - 0.1 && reach > start - 0.6);
    for (int i = 0; i < 2; i++) {
        char name[16];
        double unsure;
        snprintf(name, sizeof name, "b/code[%d]", i);
        double slope = cr_run_difference(&r, seed, &r.p[cr_run_p(&r, name)], 0, 1e-5, &unsure);
        slope /= -(1.0 + bounce) * speed;
        unsure /= (1.0 + bounce) * speed;
        CHECK(fabs(slope) > 1e-3); // the code matters
        CHECK_CLOSE(g[i], slope, 1e-8 + 10.0 * unsure, 1e-6);
    }
    cr_run_close(&r);
}

// a field among fields is slow: one difference along both numbers
TEST(the_code_of_a_net_sets_the_time_on_a_box) {
    double g[2], t[2];
    const double step = 1e-5;
    cr_run r = open_fall("type='box' size='0.5 0.5 0.5' pos='0 0 -0.5'", "type='sphere' size='0.4'",
                         neural);
    (void)contact_time(&r, "code", 2, g);
    double *code = &r.p[cr_run_p(&r, "b/code[0]")];
    for (int k = 0; k < 2; k++) {
        const double seed[2] = {1.0, 0.0};
        double along = (k ? 2.0 : -1.0) * step;
        code[0] += along;
        code[1] += along;
        t[k] = time_of(cr_run_value(&r, seed));
    }
    CHECK_CLOSE(g[0] + g[1], (t[1] - t[0]) / (2.0 * step), 0.0, 1e-5);
    cr_run_close(&r);
}

CR_TEST_MAIN(the_corner_of_a_box_sets_the_time, the_rim_of_a_cylinder_sets_the_time,
             a_mesh_with_a_grid_sets_the_time_by_its_scale, the_code_of_a_net_sets_the_time,
             the_code_of_a_net_sets_the_time_on_a_box)
