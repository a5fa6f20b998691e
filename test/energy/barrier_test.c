// SPDX-License-Identifier: MIT
//
// Barriers on distances of pieces: each piece counts once, they end at their reach, and their
// second derivatives jump, which the long-range potential's do not.

#include "cr_test.h"

#include "energy/barrier.h"
#include "longrange_fixture.h"

#include <string.h>

static struct {
    cr_arena *arena, *scratch;
    fixture_mesh mesh[2];
    cri_sphere_tree tree[2];
    const unsigned char *owner[2];
    cri_pose pose[2];
    cri_longrange_result result;
} now;

static void plant(void) {
    now.arena = cri_arena_create(1 << 16);
    now.scratch = cri_arena_create(1 << 16);
    for (int k = 0; k < 2; k++) {
        now.tree[k] = fixture_tree(CRI_SPHERE_WRAPPED, &now.mesh[k], now.arena);
        now.owner[k] = cri_barrier_owners(&now.tree[k], now.arena);
    }
}

static void fell(void) {
    cri_arena_destroy(now.arena);
    cri_arena_destroy(now.scratch);
}

/// NULL: the barrier of hulls, reach 0.1
static const cri_longrange_result *evaluate(const cri_barrier_options *options) {
    cri_barrier_body body[2];
    cri_arena_reset(now.scratch);
    for (int k = 0; k < 2; k++) {
        body[k].owner = now.owner[k];
        CHECK(cri_longrange_place(&now.tree[k], now.mesh[k].vertex, &now.pose[k], now.scratch,
                                  &body[k].body));
    }
    if (options) {
        cri_barrier_pair(options, &body[0], &body[1], CRI_LONGRANGE_HESSIAN, &now.result);
    } else {
        cri_hull_barrier_pair(0.1, &body[0].body, &body[1].body, CRI_LONGRANGE_HESSIAN,
                              &now.result);
    }
    return &now.result;
}

static void plant_cubes(void) {
    fixture_box(1.0, 1.0, 1.0, &now.mesh[0]);
    fixture_box(1.0, 1.0, 1.0, &now.mesh[1]);
    plant();
    now.pose[0] = fixture_pose(cri_v3(0, 0, 0), cri_v3(0, 0, 0));
    now.pose[1] = fixture_pose(cri_v3(0.5, 0.4, 0.1), cri_v3(0.1, 0.05, 1.37));
}

TEST(every_corner_and_edge_counts_once) {
    const cri_barrier_options all = {CRI_BARRIER_GLOBAL, 0.0, 1.0};
    const cri_barrier_options wide = {CRI_BARRIER_LOCAL, 50.0, 0.0};
    plant_cubes();
    // 8 corners against 12 triangles, both ways, and 18 edges against 18
    CHECK_INT(evaluate(&all)->n_exact, 2 * 8 * 12 + 18 * 18);
    CHECK_INT(evaluate(&wide)->n_exact, 2 * 8 * 12 + 18 * 18);
    fell();
    fixture_ball(48, 0.5, &now.mesh[0]);
    fixture_ring(8, 3, 1.0, 0.2, &now.mesh[1]);
    plant();
    now.pose[0] = fixture_pose(cri_v3(0.3, 0.2, 0), cri_v3(0, 0, 2));
    now.pose[1] = fixture_pose(cri_v3(0, 0, 0), cri_v3(0, 0, 0));
    // 48, 92, 138 and 24, 48, 72 corners, triangles, edges
    CHECK_INT(evaluate(&all)->n_exact, 48 * 48 + 24 * 92 + 138 * 72);
    fell();
}

TEST(the_local_barrier_ends_at_its_reach) {
    cri_barrier_options options = {CRI_BARRIER_LOCAL, 0.01, 0.0};
    plant_cubes();
    const cri_longrange_result *r = evaluate(&options);
    CHECK(r->value == 0.0 && r->g[5] == 0.0 && r->H[12 * 5 + 5] == 0.0);
    // from the lowest corner: some 0.07 here
    options.reach = 0.2;
    r = evaluate(&options);
    CHECK(r->value > 0.0 && r->g[11] < 0.0 && r->H[12 * 11 + 11] > 0.0);
    for (int i = 0; i < 3; i++) {
        double sum = 0.0; // of the gradients at both bodies, which is zero: one F is kept
        CHECK(r->g[3 + i] == -r->g[9 + i]);
        for (int j = 0; j < 3; j++) {
            sum = fmax(sum, fabs(r->H[12 * (3 + i) + 3 + j] + r->H[12 * (3 + i) + 9 + j]));
        }
        CHECK(sum <= 1e-9 * fabs(r->H[12 * 5 + 5]));
    }
    double b[3];
    cri_barrier_of_distance(&options, 0.2, b);
    CHECK(b[0] == 0.0 && b[1] == 0.0 && b[2] == 0.0);
    cri_barrier_of_distance(&options, 0.2 * (1.0 - 1e-6), b);
    CHECK(b[0] > 0.0 && b[0] < 1e-15 && b[2] < 1e-5); // C2 at the reach
    fell();
}

TEST(touching_is_infinite) {
    const cri_barrier_options options = {CRI_BARRIER_LOCAL, 0.1, 0.0};
    plant_cubes();
    now.pose[1] = fixture_pose(cri_v3(0, 0, 0), cri_v3(0.25, 0.25, 1.0));
    CHECK(isinf(evaluate(&options)->value));
    fell();
}

static double largest_change(const cri_barrier_options *options, int n, double length) {
    static double last[144];
    double most = 0.0, start = now.pose[1].pos.x;
    for (int i = 0; i <= n; i++) {
        now.pose[1].pos.x = start + length * i / n;
        const cri_longrange_result *r = evaluate(options);
        for (int k = 0; k < 144; k++) {
            most = fmax(most, i ? fabs(r->H[k] - last[k]) : 0.0);
            last[k] = r->H[k];
        }
    }
    now.pose[1].pos.x = start;
    return most;
}

// the same way of a corner over a face and its edge as for the long-range potential
TEST(second_derivatives_jump_where_a_corner_leaves_a_face) {
    const cri_barrier_options kinds[2] = {{CRI_BARRIER_LOCAL, 0.2, 0.0},
                                          {CRI_BARRIER_GLOBAL, 0.0, 1.0}};
    plant_cubes();
    for (int k = 0; k < 2; k++) {
        double coarse = largest_change(&kinds[k], 100, 0.6);
        double fine = largest_change(&kinds[k], 600, 0.6);
        CHECK(fine > 0.5 * coarse);
    }
    fell();
}

// The plane between hulls does not know pieces. Where a vertex ceases to act they change like a
// square root: a third for steps of a tenth.
TEST(second_derivatives_of_hulls_are_continuous_there) {
    plant_cubes();
    double coarse = largest_change(NULL, 200, 0.56), fine = largest_change(NULL, 2000, 0.56);
    CHECK(coarse > 0.0 && fine < 0.45 * coarse);
    fell();
}

// two cubes face to face: eight corners at half the gap, so that one unknown is left
TEST(facing_cubes_have_the_potential_of_one_unknown) {
    plant_cubes();
    for (double gap = 0.2; gap > 1e-4; gap *= 0.5) {
        now.pose[1] = fixture_pose(cri_v3(0, 0, 0), cri_v3(0, 0, 1.0 + gap));
        const cri_longrange_result *r = evaluate(NULL);
        double low = 1e-9, high = 1.0 - 1e-9, b[3], c[3], z = 0.5;
        for (int i = 0; i < 200; i++) {
            // root of the derivative, which grows
            z = 0.5 * (low + high);
            cri_hull_barrier_of(0.1, 1.0 - z, b);
            cri_hull_barrier_of(0.1, 0.5 * z * gap, c);
            double slope = -b[1] + 4.0 * gap * c[1];
            low = slope < 0.0 ? z : low;
            high = slope < 0.0 ? high : z;
        }
        CHECK_CLOSE(r->value, b[0] + 8.0 * c[0], 1e-15, 1e-9);
        CHECK_CLOSE(r->g[11], 4.0 * c[1] * z, 1e-12, 1e-8);
        CHECK_INT(r->n_exact, 8);
    }
    fell();
}

TEST(hulls_far_apart_feel_nothing_and_touching_ones_all) {
    plant_cubes();
    // 2 reach/(1 - reach) = 0.2222
    now.pose[1] = fixture_pose(cri_v3(0, 0, 0), cri_v3(0, 0, 1.223));
    const cri_longrange_result *r = evaluate(NULL);
    CHECK(r->value == 0.0 && r->g[11] == 0.0 && r->H[143] == 0.0);
    for (double z = 1.222; z > 1.0001; z -= 0.002) {
        now.pose[1].pos.z = z;
        r = evaluate(NULL);
        CHECK(r->value > 0.0 && isfinite(r->value) && r->g[11] < 0.0);
    }
    now.pose[1].pos.z = 1.0;
    CHECK(isinf(evaluate(NULL)->value));
    now.pose[1].pos.z = 0.6;
    CHECK(isinf(evaluate(NULL)->value));
    fell();
}

TEST(the_weight_of_parallel_edges_is_smooth) {
    cri_vec3 x[4] = {{0, 0, 0}, {1, 0.1, 0}, {0.2, 0, 1}, {1.1, 0.1, 1.01}};
    double m, g[12], H[144], step = 1e-5;
    CHECK(cri_barrier_mollify(x, &m, g, H));
    CHECK(m > 0.0 && m < 1.0);
    double rest = 1e-3 * 1.01 * (0.81 + 0.01 + 1e-4);
    for (int i = 0; i < 12; i++) {
        // lengths at rest are held: the weight as a function of |e1 x e2|^2 alone
        double c[3];
        for (int s = 0; s < 3; s++) {
            cri_vec3 y[4];
            memcpy(y, x, sizeof y);
            double *entry[3] = {&y[i / 3].x, &y[i / 3].y, &y[i / 3].z};
            *entry[i % 3] += (s - 1) * step;
            cri_vec3 cross = cri_v3_cross(cri_v3_sub(y[1], y[0]), cri_v3_sub(y[3], y[2]));
            double t = cri_v3_dot(cross, cross) / rest;
            c[s] = t * (2.0 - t);
        }
        CHECK_CLOSE(c[1], m, 0, 1e-12);
        CHECK_CLOSE((c[2] - c[0]) / (2.0 * step), g[i], 1e-5, 1e-6);
        CHECK_CLOSE((c[2] - 2.0 * c[1] + c[0]) / (step * step), H[13 * i], 1e-2, 1e-4);
    }
    x[3].y = 1.0;
    CHECK(!cri_barrier_mollify(x, &m, g, H));
    CHECK(m == 1.0);
}

CR_TEST_MAIN(every_corner_and_edge_counts_once, the_local_barrier_ends_at_its_reach,
             touching_is_infinite, second_derivatives_jump_where_a_corner_leaves_a_face,
             second_derivatives_of_hulls_are_continuous_there,
             facing_cubes_have_the_potential_of_one_unknown,
             hulls_far_apart_feel_nothing_and_touching_ones_all,
             the_weight_of_parallel_edges_is_smooth)
