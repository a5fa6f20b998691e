// SPDX-License-Identifier: MIT
//
// The penalty without barrier: its function, on which side of a mesh a corner is, and that it
// pushes bodies apart whether they overlap or are far.

#include "cr_test.h"

#include "energy/penalty.h"
#include "longrange_fixture.h"

TEST(force_and_gap_are_a_relaxed_complement) {
    static const double at[] = {-1e3, -1.0, -1e-3, 0.0, 1e-3, 1.0, 1e3, 1e6};
    const double ell = 0.02;
    for (size_t k = 0; k < sizeof at / sizeof at[0]; k++) {
        double s = at[k], f[3], up[3], down[3], d = 1e-4 * fmax(ell, fabs(s));
        cri_penalty_of(ell, s, f);
        cri_penalty_of(ell, s + d, up);
        cri_penalty_of(ell, s - d, down);
        double force = -f[1];
        CHECK(force > 0.0 && f[2] > 0.0);
        if (s >= 0.0) {
            CHECK_CLOSE(force * (force + s), 0.25 * ell * ell, 0.0, 1e-12);
        } else {
            CHECK_CLOSE(force, -s, 0.5 * ell, 0.0);
        }
        CHECK_CLOSE((up[0] - down[0]) / (2.0 * d), f[1], 1e-12, 1e-6);
        CHECK_CLOSE((up[1] - down[1]) / (2.0 * d), f[2], 1e-12, 1e-6);
    }
}

// a small box at p against a mesh: force on the box (3) and the least distance
static double probe(const fixture_mesh *mesh, cri_vec3 p, double force[3]) {
    static fixture_mesh box;
    cr_arena *arena = cri_arena_create(1 << 18);
    cri_longrange_body body[2];
    cri_longrange_result r;
    fixture_box(0.02, 0.02, 0.02, &box);
    const fixture_mesh *both[2] = {&box, mesh};
    cri_sphere_tree tree[2];
    for (int k = 0; k < 2; k++) {
        cri_pose pose = fixture_pose(cri_v3(0, 0, 0), k ? cri_v3(0, 0, 0) : p);
        tree[k] = fixture_tree(CRI_SPHERE_LAYERED, both[k], arena);
        CHECK(cri_longrange_place(&tree[k], both[k]->vertex, &pose, arena, &body[k]));
    }
    cri_penalty_pair(1e-3, &body[0], &body[1], CRI_LONGRANGE_HESSIAN, &r);
    CHECK(isfinite(r.value));
    for (int k = 0; k < 144; k++) {
        CHECK(isfinite(r.H[k]));
    }
    for (int k = 0; k < 3; k++) {
        force[k] = -r.g[3 + k];
        CHECK_CLOSE(r.g[3 + k] + r.g[9 + k], 0.0, 1e-12, 0.0);
    }
    cri_arena_destroy(arena);
    return r.gap;
}

TEST(a_box_is_pushed_out_of_a_box_from_either_side) {
    fixture_mesh mesh;
    double f[3];
    fixture_box(1.0, 1.0, 1.0, &mesh);
    CHECK_CLOSE(probe(&mesh, cri_v3(0.1, 0.05, 0.55), f), 0.04, 1e-12, 0.0);
    CHECK(f[2] > 0.0);
    CHECK_CLOSE(probe(&mesh, cri_v3(0.1, 0.05, 0.45), f), -0.06, 1e-12, 0.0);
    CHECK_CLOSE(f[2], 8 * 0.05, 1e-3, 0.0);
    // corners in the face, on its edge, and far
    CHECK_CLOSE(probe(&mesh, cri_v3(0.1, 0.05, 0.51), f), 0.0, 1e-12, 0.0);
    CHECK(f[2] > 0.0);
    CHECK_CLOSE(probe(&mesh, cri_v3(0.5, 0.51, 0.51), f), 0.0, 1e-12, 0.0);
    CHECK(f[1] > 0.0 && f[2] > 0.0);
    CHECK_CLOSE(probe(&mesh, cri_v3(0.0, 0.0, 1e6), f), 1e6 - 0.51, 1e-6, 0.0);
    CHECK(f[2] > 1e-13);
}

// a ring is not convex: its hole is outside, though the hull of its corners holds it
TEST(the_hole_of_a_ring_is_outside) {
    fixture_mesh mesh;
    double f[3];
    fixture_ring(12, 5, 1.0, 0.2, &mesh);
    CHECK(probe(&mesh, cri_v3(0.0, 0.0, 0.0), f) > 0.5);
    CHECK(probe(&mesh, cri_v3(0.5, 0.3, 0.0), f) > 0.0);
    CHECK(probe(&mesh, cri_v3(0.95, 0.0, 0.0), f) < -0.05);
}

CR_TEST_MAIN(force_and_gap_are_a_relaxed_complement, a_box_is_pushed_out_of_a_box_from_either_side,
             the_hole_of_a_ring_is_outside)
