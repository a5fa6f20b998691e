// SPDX-License-Identifier: MIT
//
// Triangles on the surface of a shape, whose vertices are linear in its sizes.
//
// Round shapes are inscribed polyhedra: 128 triangles for a sphere or ellipsoid, 160 for a capsule,
// 64 for a cylinder. A box has 12. A mesh keeps its own.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "geometry/convex/shape.h"

/// The triangles of a mesh, borrowed.
typedef struct cri_mesh_view {
    int n_vertex, n_triangle;
    const double *vertex; // (n_vertex, 3)
    const int *triangle;  // (n_triangle, 3)
} cri_mesh_view;

/// vertex = fixed + sum over sizes of slope size, in the shape's frame.
typedef struct cri_tessellation {
    int n_vertex, n_triangle, n_size;
    const double *fixed; // (n_vertex, 3), NULL: zero
    const double *slope; // (n_vertex, 3, 3) by coordinate, then by size; NULL: no size moves it
    const int *triangle; // (n_triangle, 3) counterclockwise from outside
} cri_tessellation;

/// Triangles of a mesh that have no area, to rounding.
int cri_mesh_count_flat(const cri_mesh_view *mesh);

/// Of any shape but a plane; mesh only for CRI_SHAPE_MESH, where triangles without area are left
/// out. CR_ERR_ARGUMENT when none is left, CR_ERR_MEMORY.
CR_MUST_CHECK cr_status cri_tessellate(cri_shape_kind kind, const cri_mesh_view *mesh,
                                       cr_arena *arena, cri_tessellation *out, cr_error *err);

/// vertex (n_vertex, 3) = pos + R (fixed + slope size) for a frame in the body's.
void cri_tessellation_place(const cri_tessellation *t, const double *size, const cri_pose *frame,
                            double *vertex);

/// Adjoint for the sizes: adds to size_adj (n_size).
void cri_tessellation_place_vjp(const cri_tessellation *t, const cri_pose *frame,
                                const double *vertex_adj, double *size_adj);

/// Tangent: fills vertex_tan (n_vertex, 3).
void cri_tessellation_place_jvp(const cri_tessellation *t, const cri_pose *frame,
                                const double *size_tan, double *vertex_tan);
