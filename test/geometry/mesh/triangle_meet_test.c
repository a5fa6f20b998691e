// SPDX-License-Identifier: MIT
//
// Triangles that meet, and that do not by however little.

#include "cr_test.h"

#include "geometry/mesh/triangle_pair.h"
#include "longrange_fixture.h"
#include "narrow_fixture.h"

#include <string.h>

typedef struct meet_case {
    const char *name;
    double x[18];
    bool does_meet;
} meet_case;

static const meet_case cases[] = {
    {"pierced", {0, 0, -1, 0, 0, 1, 1, 0, 1, -1, -1, 0, 1, -1, 0, 0, 1, 0}, true},
    {"corner on face", {0, 0, 0, 0, 0, 1, 1, 0, 1, -1, -1, 0, 1, -1, 0, 0, 1, 0}, true},
    {"corner above face", {0, 0, 1e-14, 0, 0, 1, 1, 0, 1, -1, -1, 0, 1, -1, 0, 0, 1, 0}, false},
    {"the same", {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0}, true},
    {"corner on corner", {0, 0, 0, 1, 1, 0, -1, 1, 0, 0, 0, 0, 1, -1, 0, -1, -1, 0}, true},
    {"one plane, overlap", {0.1, 0.1, 0, 2, 2, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0}, true},
    {"one plane, within", {0.1, 0.1, 0, 0.2, 0.1, 0, 0.1, 0.2, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0}, true},
    {"one plane, around", {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.1, 0.1, 0, 0.2, 0.1, 0, 0.1, 0.2, 0}, true},
    {"one plane, apart", {2, 2, 0, 3, 2, 0, 2, 3, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0}, false},
    {"parallel planes", {0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0}, false},
    {"edges cross", {-1, 0, 0, 1, 0, 0, 0, 0, 1, 0, -1, 0, 0, 1, 0, 0, 0, -1}, true},
    {"edges pass", {-1, 0, 1e-14, 1, 0, 1e-14, 0, 0, 1, 0, -1, 0, 0, 1, 0, 0, 0, -1}, false},
    {"shared edge", {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, true},
    {"needle through face", {0, 0, -1, 0, 0, 1, 0, 0, 0.5, -1, -1, 0, 1, -1, 0, 0, 1, 0}, true},
    {"needle beside", {2, 0, -1, 2, 0, 1, 2, 0, 0.5, -1, -1, 0, 1, -1, 0, 0, 1, 0}, false},
    {"needles cross", {-1, 0, 0, 1, 0, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0.5, 0}, true},
    {"needles pass", {-1, 0, 0.1, 1, 0, 0.1, 0, 0, 0.1, 0, -1, 0, 0, 1, 0, 0, 0.5, 0}, false},
    {"needles in line",
     {0, 0, 0, 1, 1, 1, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75, 2, 2, 2, 3, 3, 3},
     true},
    {"in line, apart", {0, 0, 0, 1, 1, 1, 0.5, 0.5, 0.5, 1.5, 1.5, 1.5, 2, 2, 2, 3, 3, 3}, false},
    {"a point within", {0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0, 1, -1, 0, 0, 1, 0}, true},
    {"a point beside", {2, 0, 0, 2, 0, 0, 2, 0, 0, -1, -1, 0, 1, -1, 0, 0, 1, 0}, false},
    {"one point", {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}, true},
};

TEST(triangles_meet_or_not_in_every_position) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        // both ways, in every order of corners and axes
        for (int turn = 0; turn < 18; turn++) {
            cri_vec3 x[6];
            for (int k = 0; k < 6; k++) {
                const double *p = cases[i].x + 3 * (k < 3 ? (k + turn) % 3 : k);
                int a = turn / 3 % 3;
                x[(k + 3 * (turn / 9)) % 6] = cri_v3(p[a], p[(a + 1) % 3], p[(a + 2) % 3]);
            }
            if (cri_triangles_meet(x, x + 3) != cases[i].does_meet) {
                cr_test_fail("%s, turn %d", cases[i].name, turn);
            }
        }
    }
}

TEST(random_triangles_agree_with_a_plain_test) {
    cr_test_rng rng = cr_test_rng_of(41);
    fixture_mesh one = {.n_vertex = 3, .n_triangle = 1, .triangle = {0, 1, 2}};
    int n_meet = 0;
    for (int i = 0; i < 2000; i++) {
        double v[18];
        cri_vec3 x[6];
        for (int k = 0; k < 18; k++) {
            v[k] = cr_test_uniform(&rng, -1, 1);
        }
        for (int k = 0; k < 6; k++) {
            x[k] = cri_v3_load(v + 3 * k);
        }
        bool is_met = fixture_meshes_meet(&one, v, &one, v + 9);
        CHECK(cri_triangles_meet(x, x + 3) == is_met);
        n_meet += is_met;
    }
    CHECK(n_meet > 200);
}

TEST(gaps_down_to_rounding_are_seen) {
    cr_test_rng rng = cr_test_rng_of(42);
    for (double gap = 1.0; gap > 1e-13; gap *= 0.1) {
        for (int i = 0; i < 50; i++) {
            cri_vec3 x[6];
            fixture_triangles(&rng, gap, x);
            CHECK(!cri_triangles_meet(x, x + 3));
        }
    }
}

TEST(meshes_that_meet_name_two_triangles) {
    cr_test_rng rng = cr_test_rng_of(43);
    static fixture_mesh mesh[2];
    static double world[2][3 * FIXTURE_MESH_VERTEX];
    cri_sphere_tree tree[2];
    cri_moving_mesh moving[2];
    cr_arena *arena = cri_arena_create(1 << 16);
    fixture_ball(48, 0.5, &mesh[0]);
    fixture_ring(8, 3, 1.0, 0.2, &mesh[1]);
    for (int k = 0; k < 2; k++) {
        tree[k] = fixture_tree(CRI_SPHERE_WRAPPED, &mesh[k], arena);
        moving[k] = (cri_moving_mesh){.tree = &tree[k], .vertex = mesh[k].vertex};
    }
    int n_meet = 0;
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 2; k++) {
            cri_vec3 turn = fixture_direction(&rng), way = fixture_direction(&rng);
            double far = cr_test_uniform(&rng, 0, k ? 1.2 : 0.1);
            moving[k].pose = fixture_pose(turn, cri_v3_scale(far, way));
            fixture_world(&mesh[k], &moving[k].pose, world[k]);
        }
        int pair[2] = {-1, -1};
        bool is_met = cri_meshes_meet(&moving[0], &moving[1], pair);
        CHECK(is_met == fixture_meshes_meet(&mesh[0], world[0], &mesh[1], world[1]));
        CHECK(is_met == (pair[0] >= 0 && pair[1] >= 0));
        n_meet += is_met;
    }
    CHECK(n_meet > 10 && n_meet < 90);
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(triangles_meet_or_not_in_every_position, random_triangles_agree_with_a_plain_test,
             gaps_down_to_rounding_are_seen, meshes_that_meet_name_two_triangles)
