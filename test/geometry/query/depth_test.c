// SPDX-License-Identifier: MIT
//
// Depth cameras against closed forms: a sphere, a box beside it, noise and masks.

#include "geometry/query/depth.h"

#include "base/math/quat.h"
#include "cr_test.h"
#include "field_fixture.h"

#include <math.h>
#include <stdlib.h>

enum { W = 64, H = 48 };

static const cri_pose upright = {.R = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};

static cri_camera camera_at(double z) {
    cri_camera c = {W, H, 51.5, 51.5, 31.5, 23.5, upright};
    c.pose.pos.z = z;
    return c;
}

static fixture_field ball(double radius) {
    fixture_field f;
    fixture_field_leaf(CRI_FIELD_SPHERE, 1, &radius, &f);
    return f;
}

TEST(a_sphere_is_seen_where_rays_meet_it) {
    cr_arena *scratch = cri_arena_create(1 << 20);
    fixture_field f = ball(0.7);
    fixture_field_settle(&f);
    cri_camera c = camera_at(3.0);
    cri_seen seen = {&f.field, upright};
    double depth[W * H], normal[3 * W * H], point[3 * W * H];
    int which[W * H], n_seen = 0;
    CHECK(cri_depth_render(&c, 1, &seen, depth, which, normal, scratch));
    for (int i = 0; i < W * H; i++) {
        double x = (i % W + 0.5 - c.cx) / c.fx, y = -(i / W + 0.5 - c.cy) / c.fy;
        // |o + t d|^2 = r^2 along d = (x, y, -1)
        double a = x * x + y * y + 1.0, root = 9.0 - a * (9.0 - 0.49);
        CHECK((which[i] == 0) == (root > 0.0));
        if (root > 1e-3) {
            CHECK_CLOSE(depth[i], (3.0 - sqrt(root)) / a, 1e-7, 0.0);
            CHECK_CLOSE(normal[3 * i], x * depth[i] / 0.7, 1e-6, 0.0);
            n_seen++;
        }
    }
    CHECK(n_seen > 400);
    int n = cri_depth_points(&c, depth, which, 0, W * H, point);
    CHECK(n >= n_seen);
    CHECK(cri_depth_loss(&f.field, &upright, n, point) < 1e-12);
    cri_arena_destroy(scratch);
}

TEST(the_nearer_of_two_things_is_seen) {
    cr_arena *scratch = cri_arena_create(1 << 20);
    static const double half[3] = {5.0, 5.0, 0.5};
    fixture_field box, f = ball(0.4);
    fixture_field_leaf(CRI_FIELD_BOX, 3, half, &box);
    fixture_field_settle(&f);
    cri_camera c = camera_at(4.0);
    cri_seen seen[2] = {{&box.field, upright}, {&f.field, upright}};
    seen[1].pose.pos = cri_v3(0.1, 0.0, 1.5);
    double depth[W * H];
    int which[W * H];
    CHECK(cri_depth_render(&c, 2, seen, depth, which, NULL, scratch));
    // a face of the box lies on its own bounds
    CHECK_INT(which[0], 0);
    CHECK_CLOSE(depth[0], 3.5, 1e-6, 0.0);
    CHECK_INT(which[24 * W + 34], 1);
    int n_before = 0, n_after = 0;
    for (int i = 0; i < W * H; i++) {
        n_before += which[i] == 1;
    }
    CHECK(cri_depth_erode(&c, 1, which, depth, scratch));
    for (int i = 0; i < W * H; i++) {
        n_after += which[i] == 1;
    }
    CHECK(n_after > 0 && n_after < n_before);
    cri_random stream = cri_random_of(1, 0);
    double square = 0.0;
    cri_depth_disturb(&c, 1e-3, &stream, depth);
    for (int i = 0; i < W * H; i++) {
        square += which[i] == 0 ? (depth[i] - 3.5) * (depth[i] - 3.5) : 0.0;
    }
    // 1e-3 d^2 at 3.5 m
    CHECK_CLOSE(sqrt(square / (W * H - n_before)), 0.01225, 0.001, 0.0);
    cri_arena_destroy(scratch);
}

TEST(cameras_that_are_none_are_refused) {
    cri_camera c = camera_at(1.0);
    CHECK(!cri_camera_fault(&c));
    c.fx = 0.0;
    CHECK(cri_camera_fault(&c) != NULL);
    c = camera_at(NAN);
    CHECK(cri_camera_fault(&c) != NULL);
    c = camera_at(1.0);
    c.width = 0;
    CHECK(cri_camera_fault(&c) != NULL);
}

CR_TEST_MAIN(a_sphere_is_seen_where_rays_meet_it, the_nearer_of_two_things_is_seen,
             cameras_that_are_none_are_refused)
