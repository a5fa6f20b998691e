// SPDX-License-Identifier: MIT
//
// Points spread over a mesh, and how far two meshes are apart.

#pragma once

#include "base/arena.h"
#include "base/random.h"
#include "geometry/field/grid.h"

/// n points (n, 3) with the normals (n, 3) of their triangles, even over the area. False when
/// scratch has no memory or the mesh no area.
CR_MUST_CHECK bool cri_mesh_points(const cri_triangles *mesh, int n, cri_random *stream,
                                   double *point, double *normal, cr_arena *scratch);

/// Symmetric chamfer distance, m^2: the mean squared distance of the vertices of each mesh from
/// the other's surface, both ways added (paper 004, A.21, which takes the nearest vertex). NAN when
/// scratch has no memory.
double cri_mesh_chamfer(const cri_triangles *a, const cri_triangles *b, cr_arena *scratch);
