// SPDX-License-Identifier: MIT
//
// Shapes for the tests of the narrow phase, and what is known of them without it.

#pragma once

#include "cr_test.h"
#include "geometry/query/narrow.h"

enum { FIXTURE_VERTEX = 24, FIXTURE_FACE = 2 * FIXTURE_VERTEX };

/// A small convex hull in its own memory.
typedef struct fixture_hull {
    cri_hull hull;
    double vertex[FIXTURE_VERTEX * 3];
    int face_start[FIXTURE_FACE + 1];
    int face_vertex[6 * FIXTURE_VERTEX];
    double face_normal[FIXTURE_FACE * 3];
    double face_offset[FIXTURE_FACE];
    int edge[12 * FIXTURE_VERTEX];
    int link_start[FIXTURE_VERTEX + 1];
    int link[6 * FIXTURE_VERTEX];
} fixture_hull;

/// From points that are all corners of their hull, by trying every triple as a face.
void fixture_hull_of(int n, const double *point, fixture_hull *out);

/// Tetrahedron, cube, icosahedron; radius of the sphere around it.
void fixture_solid(int which, double radius, fixture_hull *out);

/// Two shapes with everything they borrow.
typedef struct fixture_pair {
    cri_shape shape[2];
    cri_pose pose[2];
    double size[2][3];
    fixture_hull hull[2];
    double scale; // sum of the bounding radii (1 for a plane) and of the distance
} fixture_pair;

cri_mat3 fixture_turn(cri_vec3 rotation_vector);
cri_vec3 fixture_direction(cr_test_rng *rng);

/// Random shapes: sizes over two decades, poses from one centre to far apart, a part of them with
/// parallel axes, equal sizes or in contact along some direction.
void fixture_random(cr_test_rng *rng, cri_shape_kind kind0, cri_shape_kind kind1,
                    fixture_pair *out);

/// Renews the pointers into the pair, and scale, after it was copied or changed.
void fixture_settle(fixture_pair *pair);

/// Gap between the supporting planes across n, written for each shape from its definition: no more
/// than the distance, and the signed distance is its maximum.
double fixture_separation(const fixture_pair *pair, cri_vec3 n);

/// How far a point is outside of shape i: a length that is <= 0 inside.
double fixture_outside(const fixture_pair *pair, int i, cri_vec3 point);
