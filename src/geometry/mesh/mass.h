// SPDX-License-Identifier: MIT
//
// Mass, centre and inertia of solid shapes, of closed triangle meshes and of bodies made of several
// solids, with adjoints and tangents.
//
// Lengths in metres, density in kg/m^3. Inertia tensors are six numbers xx yy zz xy xz yz.

#pragma once

#include "geometry/convex/shape.h"

#include <stdbool.h>

/// Volume and principal moments of unit density, about the centre, of a primitive: m (4). m_size,
/// if not NULL, gets their derivatives (4, 3) for the sizes. Not for planes and meshes.
void cri_shape_moments(cri_shape_kind kind, const double *size, double m[4], double m_size[4][3]);

/// One solid part of a body.
typedef struct cri_solid {
    cri_shape_kind kind;
    const double *size;
    const double *moment; // mesh, field: volume, centre (3), inertia (6) of unit density
    double density;
    cri_vec3 pos; // frame in the body
    cri_mat3 R;
} cri_solid;

/// Also the type of its own adjoint and tangent. In an adjoint an off-diagonal entry of J stands
/// for the one number that occurs twice in the tensor.
typedef struct cri_inertia {
    double mass;
    cri_vec3 com;
    double J[6]; // about com
} cri_inertia;

/// Sum of n solids. A mass of 0 has its centre at the origin and no inertia.
cri_inertia cri_inertia_of(int n, const cri_solid *solid);

/// The same mass with its centre put at the origin and J about the origin, as paper 004 has it.
cri_inertia cri_inertia_at_origin(const cri_inertia *i);

/// Adds to i_adj.
void cri_inertia_at_origin_vjp(const cri_inertia *i, const cri_inertia *out_adj,
                               cri_inertia *i_adj);
cri_inertia cri_inertia_at_origin_jvp(const cri_inertia *i, const cri_inertia *tan);

/// Adjoint or tangent of a solid: sizes of a primitive, moments of a field; those of a mesh are
/// constants.
typedef struct cri_solid_diff {
    double size[3];
    double moment[10];
    double density;
} cri_solid_diff;

/// Adds to diff[i] of each solid.
void cri_inertia_of_vjp(int n, const cri_solid *solid, const cri_inertia *adj,
                        cri_solid_diff *diff);

/// Tangent for diff[i].
cri_inertia cri_inertia_of_jvp(int n, const cri_solid *solid, const cri_solid_diff *diff);

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

// for tests

/// The same mass with its inertia about the origin of the mesh's axes instead of the centre.
cri_mesh_mass cri_mesh_mass_at_origin(const cri_mesh_mass *mass);

/// Adds to mass_adj.
void cri_mesh_mass_at_origin_vjp(const cri_mesh_mass *mass, const cri_mesh_mass *adj,
                                 cri_mesh_mass *mass_adj);
