// SPDX-License-Identifier: MIT
//
// Triangles and meshes for the tests of the long-range potential.

#pragma once

#include "cr_test.h"
#include "geometry/convex/shape.h"
#include "geometry/mesh/sphere_tree.h"

#include <stdbool.h>

/// Two random triangles of size one; apart, turned at random, closest points at this distance
/// (gap > 0).
void fixture_triangles(cr_test_rng *rng, double gap, cri_vec3 x[6]);

/// The pair of the reference vectors.
extern const double fixture_reference_pair[18];

enum { FIXTURE_MESH_VERTEX = 256, FIXTURE_MESH_TRIANGLE = 512 };

/// A closed mesh in its own memory.
typedef struct fixture_mesh {
    int n_vertex, n_triangle;
    double vertex[3 * FIXTURE_MESH_VERTEX];
    int triangle[3 * FIXTURE_MESH_TRIANGLE];
} fixture_mesh;

/// Box with edges of these lengths, 12 triangles.
void fixture_box(double x, double y, double z, fixture_mesh *out);

/// Ball of n points in even spirals, 2 n - 4 triangles.
void fixture_ball(int n, double radius, fixture_mesh *out);

/// Ring in the plane z = 0: n_around sections of n_section corners, 2 n_around n_section triangles.
void fixture_ring(int n_around, int n_section, double radius, double thickness, fixture_mesh *out);

/// An edge of one mesh pierces a triangle of the other: how a reader would test it, one by one.
/// Vertices in world coordinates.
bool fixture_meshes_meet(const fixture_mesh *a, const double *va, const fixture_mesh *b,
                         const double *vb);

/// Vertices of a mesh at a pose.
void fixture_world(const fixture_mesh *mesh, const cri_pose *pose, double *out);

/// The sphere tree of a mesh, which is a good one.
cri_sphere_tree fixture_tree(cri_sphere_kind kind, const fixture_mesh *mesh, cr_arena *arena);

/// Rotation vector w, position t.
cri_pose fixture_pose(cri_vec3 w, cri_vec3 t);

/// exp([x_w]) R, pos + x_v for x = (w, v).
cri_pose fixture_moved(const cri_pose *pose, const double x[6]);
