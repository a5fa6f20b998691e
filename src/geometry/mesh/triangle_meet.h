// SPDX-License-Identifier: MIT
//
// Do two triangles, or two meshes, have a point in common? Decided without rounding.

#pragma once

#include "geometry/mesh/step_limit.h"

/// True when the closed triangles share a point: crossing, touching, within one plane or one line.
/// Needles and points are triangles as well. Coordinates are first rounded to 2^-49 of the size of
/// the pair; from there on the answer is exact.
bool cri_triangles_meet(const cri_vec3 x[3], const cri_vec3 y[3]);

/// True when surfaces of two meshes at their poses share a point; their motions are not looked at.
/// pair, NULL when not wanted, gets the first two such triangles.
bool cri_meshes_meet(const cri_moving_mesh *a, const cri_moving_mesh *b, int pair[2]);

/// True when the first vertex of b is inside of a, a closed surface: of two meshes that do not
/// meet, b is then inside of a as a whole, or a part of it is. By rounded numbers.
bool cri_mesh_holds(const cri_moving_mesh *a, const cri_moving_mesh *b);
