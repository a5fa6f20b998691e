// SPDX-License-Identifier: MIT
//
// Surface meshes of fields by marching cubes, with the derivative of every vertex.
//
// Samples stand at origin + h (i, j, k), k running fastest; inside is phi < 0. The surface is
// closed and oriented outward: every side of a triangle occurs once in each direction, and the
// triangles around a vertex are one fan. Samples of exactly 0 give triangles without area.

#pragma once

#include "base/arena.h"
#include "geometry/field/field.h"

/// Where a field is sampled. It is held when derivatives are taken.
typedef struct cri_march_box {
    int n[3];
    cri_vec3 origin;
    double h;
} cri_march_box;

/// A mesh, and where each of its vertices lies on the edge between two samples a and b. Arrays live
/// in the arena that was given.
typedef struct cri_surface {
    int n_vertex, n_face;
    double h;
    double *vertex;      // (n_vertex, 3)
    int *face;           // (n_face, 3)
    unsigned char *axis; // (n_vertex) from a to b
    double *share;       // (n_vertex) of b: v = (1 - s) x_a + s x_b
    double *slope;       // (n_vertex) dphi/ds there; of samples phi_b - phi_a
} cri_surface;

/// Derivative of a vertex for the field.
typedef enum cri_vertex_rule {
    CRI_VERTEX_EDGE,   // along its edge, dv = -e dphi/(e . g): that of this mesh, exactly
    CRI_VERTEX_NORMAL, // along the normal: dv = -n dphi, of the smooth surface only
} cri_vertex_rule;

/// Cubes of about n_longest cells along the longest side of the box around {phi <= 0}, with two
/// more on each side.
cri_march_box cri_march_box_of(const cri_field *field, int n_longest);

/// The surface of a field: vertices are zeros of the field on the edges, to rounding. Where the
/// slope of the field rules out a zero nothing is sampled.
CR_MUST_CHECK cr_status cri_surface_of_field(const cri_field *field, const cri_march_box *box,
                                             cr_arena *arena, cr_arena *scratch, cri_surface *out,
                                             cr_error *err);

/// Adjoint of the vertices for the parameters of the field: adds to param_adj (n_param). False when
/// scratch has no memory.
bool cri_surface_of_field_vjp(const cri_field *field, const cri_surface *surface,
                              cri_vertex_rule rule, const double *vertex_adj, cr_arena *scratch,
                              double *param_adj);

/// Tangents of the vertices (n_vertex, 3) for those of the parameters. False as above.
bool cri_surface_of_field_jvp(const cri_field *field, const cri_surface *surface,
                              cri_vertex_rule rule, const double *param_tan, cr_arena *scratch,
                              double *vertex_tan);

/// Edges of the triangles for each pattern of corners inside, three each, -1 behind the last.
/// Corner c has x, y, z in its bits 0, 1, 2; edge e runs along axis e/4.
extern const signed char cri_cube_table[256][16];

// for tests

/// The surface of samples (n[0], n[1], n[2]), linear between them. CR_ERR_ARGUMENT when there are
/// too many, when nothing is inside or when what is inside reaches the border; scratch is rewound.
CR_MUST_CHECK cr_status cri_march(const cri_march_box *box, const double *sample, cr_arena *arena,
                                  cr_arena *scratch, cri_surface *out, cr_error *err);
