// SPDX-License-Identifier: MIT
//
// Motions that would go through each other are cut short in time, at any speed, and not much
// earlier than they need to be.

#include "cr_test.h"

#include "geometry/mesh/step_limit.h"
#include "geometry/mesh/triangle_pair.h"
#include "longrange_fixture.h"
#include "narrow_fixture.h"

#include <string.h>

static struct {
    cr_arena *arena;
    fixture_mesh mesh[2];
    cri_sphere_tree tree[2];
    cri_moving_mesh moving[2];
} now;

static void plant(void) {
    now.arena = cri_arena_create(1 << 18);
    for (int k = 0; k < 2; k++) {
        now.tree[k] = fixture_tree(CRI_SPHERE_WRAPPED, &now.mesh[k], now.arena);
        now.moving[k] = (cri_moving_mesh){.tree = &now.tree[k], .vertex = now.mesh[k].vertex};
    }
}

/// Random direction, length up to most; one after the other, as arguments have no order.
static cri_vec3 random_vector(cr_test_rng *rng, double most) {
    double length = cr_test_uniform(rng, 0, most);
    return cri_v3_scale(length, fixture_direction(rng));
}

static cri_pose pose_at(const cri_moving_mesh *m, double tau) {
    double x[6];
    cri_v3_store(cri_v3_scale(tau, m->w), x);
    cri_v3_store(cri_v3_scale(tau, m->v), x + 3);
    return fixture_moved(&m->pose, x);
}

static double world[2][3 * FIXTURE_MESH_VERTEX];

static bool do_meet(double tau) {
    for (int k = 0; k < 2; k++) {
        cri_pose pose = pose_at(&now.moving[k], tau);
        fixture_world(&now.mesh[k], &pose, world[k]);
    }
    return fixture_meshes_meet(&now.mesh[0], world[0], &now.mesh[1], world[1]);
}

/// Least distance of two triangles at tau over that at the start, all pairs.
static double least_part(double tau) {
    static double start[FIXTURE_MESH_TRIANGLE * 16];
    double least = INFINITY;
    for (int time = 0; time < 2; time++) {
        do_meet(time ? tau : 0.0);
        int n = now.mesh[1].n_triangle;
        for (int i = 0; i < now.mesh[0].n_triangle * n; i++) {
            cri_vec3 x[6];
            for (int k = 0; k < 3; k++) {
                x[k] = cri_v3_load(world[0] + 3 * now.mesh[0].triangle[3 * (i / n) + k]);
                x[k + 3] = cri_v3_load(world[1] + 3 * now.mesh[1].triangle[3 * (i % n) + k]);
            }
            double d = cri_triangle_closest(x, x + 3).distance;
            if (time) {
                least = fmin(least, d / start[i]);
            } else {
                start[i] = d;
            }
        }
    }
    return least;
}

TEST(a_ball_stops_at_a_plate_at_any_speed) {
    fixture_ball(18, 0.1, &now.mesh[0]);
    fixture_box(2.0, 2.0, 0.01, &now.mesh[1]);
    plant();
    now.moving[1].pose = fixture_pose(cri_v3(0, 0, 0), cri_v3(0, 0, 0));
    for (double speed = 1.0; speed < 2e4; speed *= 10.0) {
        for (int spin = 0; spin < 2; spin++) {
            now.moving[0].pose = fixture_pose(cri_v3(0.1, 0.2, 0), cri_v3(0.1, 0.05, 1.0));
            now.moving[0].v = cri_v3(0, 0, -2.0 * speed);
            now.moving[0].w = spin ? cri_v3(3, 2, 1) : cri_v3(0, 0, 0);
            double limit = cri_step_limit(&now.moving[0], &now.moving[1], 0.1, 1.0, NULL);
            CHECK(limit > 0.0 && limit < 1.0);
            cri_pose end = pose_at(&now.moving[0], limit);
            CHECK(end.pos.z > 0.1 && end.pos.z < 0.25);
            CHECK(!do_meet(limit));
            // the other way there is nothing in the way
            now.moving[0].v = cri_v3(0, 0, 2.0 * speed);
            CHECK(cri_step_limit(&now.moving[0], &now.moving[1], 0.1, 1.0, NULL) == 1.0);
        }
    }
    cri_arena_destroy(now.arena);
}

/// Directions between triangles where they stand: the best, or any.
static bool find_direction(const void *context, int first, int second, cri_vec3 *n) {
    cr_test_rng *rng = (cr_test_rng *)(uintptr_t)context;
    cri_vec3 x[6];
    for (int k = 0; k < 6; k++) {
        const cri_moving_mesh *m = &now.moving[k / 3];
        int at = m->tree->triangle[3 * (k < 3 ? first : second) + k % 3];
        cri_vec3 r = cri_m3_mul(&m->pose.R, cri_v3_load(m->vertex + 3 * (size_t)at));
        x[k] = cri_v3_add(m->pose.pos, r);
    }
    if (cr_test_uniform(rng, 0, 1) < 0.5) {
        return cri_triangle_axis(x, x + 3, n) > 0.0;
    }
    *n = random_vector(rng, 1.0);
    *n = cri_v3_scale(1.0 / cri_v3_norm(*n), *n);
    return true;
}

TEST(random_motions_never_meet_before_the_limit) {
    cr_test_rng rng = cr_test_rng_of(31);
    fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
    fixture_ring(8, 3, 1.0, 0.2, &now.mesh[1]);
    plant();
    int n_cut = 0, n_free = 0, n_start = 0;
    for (int i = 0; i < 60; i++) {
        for (int k = 0; k < 2; k++) {
            cri_moving_mesh *m = &now.moving[k];
            m->pose = fixture_pose(random_vector(&rng, 3), cri_v3(0, 0, k ? 1.5 : 0));
            m->v = random_vector(&rng, 1.5 * (i % 3));
            m->w = random_vector(&rng, i % 4);
        }
        double limit = cri_step_limit(&now.moving[0], &now.moving[1], 0.1, 1.0, NULL);
        if (do_meet(0.0)) {
            CHECK(limit == 0.0);
            n_start++;
            continue;
        }
        CHECK(limit > 0.0 && limit <= 1.0);
        const cri_step_hints hints = {find_direction, &rng};
        CHECK(cri_step_limit(&now.moving[0], &now.moving[1], 0.1, 1.0, &hints) == limit);
        bool is_free = true;
        for (int j = 0; j <= 50; j++) {
            CHECK(!do_meet(limit * j / 50.0));
            is_free = is_free && !do_meet(j / 50.0);
        }
        n_cut += limit < 1.0;
        n_free += is_free && limit == 1.0;
        CHECK(is_free || limit < 1.0);
        // it stops for a reason: some pair has come down to its part
        CHECK(limit == 1.0 || least_part(limit) < 0.12);
        CHECK(least_part(limit) > 0.099);
    }
    CHECK(n_cut > 10);
    CHECK(n_free > 5);
    CHECK(n_start < 20);
    cri_arena_destroy(now.arena);
}

// two triangles, which what shows quickly that a pair is safe is about: those that part along one
// direction may meet along another
TEST(two_triangles_keep_their_part_of_the_gap_all_the_way) {
    cr_test_rng rng = cr_test_rng_of(33);
    int n_cut = 0;
    for (int i = 0; i < 12000; i++) {
        cri_vec3 x[6];
        fixture_triangles(&rng, pow(10.0, cr_test_uniform(&rng, -3, 0)), x);
        for (int k = 0; k < 2; k++) {
            now.mesh[k] = (fixture_mesh){.n_vertex = 3, .n_triangle = 1, .triangle = {0, 1, 2}};
            for (int j = 0; j < 3; j++) {
                cri_v3_store(x[3 * k + j], now.mesh[k].vertex + 3 * j);
            }
        }
        plant();
        for (int k = 0; k < 2; k++) {
            now.moving[k].pose = fixture_pose(cri_v3(0, 0, 0), cri_v3(0, 0, 0));
            now.moving[k].v = random_vector(&rng, 1.5);
            now.moving[k].w = random_vector(&rng, i % 2);
        }
        double limit = cri_step_limit(&now.moving[0], &now.moving[1], 0.1, 1.0, NULL);
        for (int j = 1; j <= 20; j++) {
            CHECK(!do_meet(limit * j / 20.0));
            CHECK(least_part(limit * j / 20.0) > 0.0999);
        }
        n_cut += limit < 1.0;
        cri_arena_destroy(now.arena);
    }
    CHECK(n_cut > 1000);
}

TEST(a_floor_stops_what_falls_and_turns) {
    cr_test_rng rng = cr_test_rng_of(32);
    fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
    now.mesh[1] = now.mesh[0];
    plant();
    int n_cut = 0;
    for (int i = 0; i < 300; i++) {
        cri_moving_mesh *m = &now.moving[0];
        double height = cr_test_uniform(&rng, 0.3, 1.0);
        m->pose = fixture_pose(random_vector(&rng, 3), cri_v3(0, 0, height));
        m->v = random_vector(&rng, 1.5);
        m->w = random_vector(&rng, 2);
        double limit = cri_step_limit_half(m, cri_v3(0, 0, 1), 0.0, 0.1, 1.0), least = INFINITY;
        double start[8] = {0};
        for (int j = 0; j <= 40; j++) {
            cri_pose pose = pose_at(m, limit * j / 40.0);
            fixture_world(&now.mesh[0], &pose, world[0]);
            for (int k = 0; k < 8; k++) {
                start[k] = j ? start[k] : world[0][3 * k + 2];
                least = fmin(least, world[0][3 * k + 2] / fabs(start[k]));
            }
        }
        if (least == -1.0 || limit == 0.0) {
            CHECK(limit == 0.0 && least < 0.0);
            continue;
        }
        n_cut += limit < 1.0;
        CHECK(least > 0.0999 && (limit == 1.0 || least < 0.11));
    }
    CHECK(n_cut > 50);
    cri_arena_destroy(now.arena);
}

CR_TEST_MAIN(a_ball_stops_at_a_plate_at_any_speed, random_motions_never_meet_before_the_limit,
             two_triangles_keep_their_part_of_the_gap_all_the_way,
             a_floor_stops_what_falls_and_turns)
