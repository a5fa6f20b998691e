// SPDX-License-Identifier: MIT
//
// Two triangles: closest points, a direction that separates them, and, without rounding, whether
// they or two meshes have a point in common.

#pragma once

#include "base/math/vec3.h"
#include "geometry/mesh/step_limit.h"

#include <stdbool.h>

/// Points of two triangles and their distance, m.
typedef struct cri_triangle_gap {
    cri_vec3 a, b; // of the first, of the second
    double distance;
} cri_triangle_gap;

/// The closest points. Triangles may be needles or points. Of triangles that pierce each other it
/// gives a pair of points of their outlines or corners, whose distance says nothing.
cri_triangle_gap cri_triangle_closest(const cri_vec3 x[3], const cri_vec3 y[3]);

/// How far x lies above y along the unit vector n: the least height of x less the largest of y.
double cri_triangle_width(const cri_vec3 x[3], const cri_vec3 y[3], cri_vec3 n);

/// True when their boxes along the axes, or the plane of one of them, show that no two of their
/// points are within `reach`. False says nothing.
bool cri_triangle_far(const cri_vec3 x[3], const cri_vec3 y[3], double reach);

/// Unit vector n from y to x with the largest width among the normals of faces, the products of
/// edges, and the normals of edges within their faces; returns that width. Positive: they are
/// apart. Not positive: they meet, to rounding. -INFINITY when all points are one.
double cri_triangle_axis(const cri_vec3 x[3], const cri_vec3 y[3], cri_vec3 *n);

/// True when surfaces of two meshes at their poses share a point; their motions are not looked at.
/// pair, NULL when not wanted, gets the first two such triangles.
bool cri_meshes_meet(const cri_moving_mesh *a, const cri_moving_mesh *b, int pair[2]);

/// True when the first vertex of b is inside of a, a closed surface: of two meshes that do not
/// meet, b is then inside of a as a whole, or a part of it is. By rounded numbers.
bool cri_mesh_holds(const cri_moving_mesh *a, const cri_moving_mesh *b);

// for tests

/// True when the closed triangles share a point: crossing, touching, within one plane or one line.
/// Needles and points are triangles as well. Coordinates are first rounded to 2^-49 of the size of
/// the pair; from there on the answer is exact.
bool cri_triangles_meet(const cri_vec3 x[3], const cri_vec3 y[3]);
