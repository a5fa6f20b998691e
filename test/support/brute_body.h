// SPDX-License-Identifier: MIT
//
// Convex bodies for the brute-force distance: a core in the world, and a radius around it.
//
// Spheres are points with a radius, capsules segments with one. Points, segments, boxes and hulls
// are polytopes: their corners, and every triangle of corners that has all others on one side. So
// faces with more than three corners come as triangles that overlap, and edges as all sides of
// those, diagonals too: nothing of this is wrong for a minimum over all of them, and nothing relies
// on how a hull was made.

#pragma once

#include <stdbool.h>

#include "geometry/convex/shape.h"

enum { BRUTE_MAX_VERTEX = 64, BRUTE_MAX_TRIANGLE = 4096, BRUTE_MAX_EDGE = 2016 };

typedef enum brute_kind {
    BRUTE_POLYTOPE,
    BRUTE_CYLINDER,
    BRUTE_ELLIPSOID,
} brute_kind;

typedef struct brute_body {
    brute_kind kind;
    double radius; // around the core
    cri_pose pose; // cylinder, ellipsoid
    double size[3];
    int n_vertex, n_triangle, n_edge; // polytope; a point has one edge from itself to itself
    cri_vec3 vertex[BRUTE_MAX_VERTEX];
    int triangle[BRUTE_MAX_TRIANGLE][3];
    cri_vec3 normal[BRUTE_MAX_TRIANGLE]; // unit, outward
    int edge[BRUTE_MAX_EDGE][2];
} brute_body;

/// The body of a shape, which is no plane and no hull of more than BRUTE_MAX_VERTEX corners.
void brute_body_of(const cri_shape *shape, const cri_pose *pose, brute_body *out);

/// Farthest point of the core in a direction.
cri_vec3 brute_support(const brute_body *body, cri_vec3 n);

/// The core's point nearest to p.
cri_vec3 brute_project(const brute_body *body, cri_vec3 p);

/// The nearest points of two segments; false values of the parameters never leave [0, 1].
void brute_segments(const cri_vec3 a[2], const cri_vec3 b[2], cri_vec3 point[2]);
