// SPDX-License-Identifier: MIT
//
// Convex hull of points, and exact mass integrals of closed triangle meshes.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "geometry/convex/shape.h"

/// Hull of n points (n, 3). Everything lives in arena. Points in a plane (or fewer than four) have
/// none: CR_ERR_ARGUMENT, text without file or line, the caller adds them.
///
/// Every point lies on or below every face's plane but for rounding. Triangles within 2e-7 of the
/// size of one plane (coordinates in single precision) are one face, whose corners may lie below
/// its plane by twice as much.
CR_MUST_CHECK cr_status cri_hull_build(int n, const double *point, cr_arena *arena,
                                       const cri_hull **out, cr_error *err);

/// Volume, centre and inertia of unit density.
typedef struct cri_mesh_mass {
    double volume;
    double centre[3];
    double inertia[6]; // about the centre, mesh axes: xx yy zz xy xz yz
} cri_mesh_mass;

/// Exact polyhedral integrals over triangles (n_face, 3) of vertices (n_vertex, 3), outward
/// orientation; also right for nonconvex meshes. False when the mesh is open (some side not once in
/// each direction), its volume is not positive, or there is no memory to find out.
bool cri_mesh_mass_of(int n_vertex, const double *vertex, int n_face, const int *face,
                      cri_mesh_mass *out);

/// Whether every side of the triangles occurs once in each direction. Triangles that use a vertex
/// twice do not count. Else side, if not NULL, is one that does not, from vertex to vertex; -1 for
/// lack of memory or when there are no triangles.
bool cri_mesh_is_closed(int n_face, const int *face, int side[2]);

/// As cri_mesh_mass_of, of a mesh that is known to be closed: its volume may be negative, and then
/// it is inside out. False when it has none or a number is not finite.
bool cri_mesh_integrals(int n_vertex, const double *vertex, int n_face, const int *face,
                        cri_mesh_mass *out);

/// Adjoint of cri_mesh_integrals: adds to vertex_adj (n_vertex, 3). In adj an off-diagonal entry of
/// the inertia stands for the one number that occurs twice in the tensor.
void cri_mesh_integrals_vjp(int n_vertex, const double *vertex, int n_face, const int *face,
                            const cri_mesh_mass *adj, double *vertex_adj);

/// Tangent for vertex_tan (n_vertex, 3).
cri_mesh_mass cri_mesh_integrals_jvp(int n_vertex, const double *vertex, int n_face,
                                     const int *face, const double *vertex_tan);

/// The same mass with its inertia about the origin of the mesh's axes instead of the centre.
cri_mesh_mass cri_mesh_mass_at_origin(const cri_mesh_mass *mass);

/// Adds to mass_adj.
void cri_mesh_mass_at_origin_vjp(const cri_mesh_mass *mass, const cri_mesh_mass *adj,
                                 cri_mesh_mass *mass_adj);
