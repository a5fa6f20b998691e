// SPDX-License-Identifier: MIT
//
// Signed distance sampled on a regular grid and interpolated by cubic B-splines.
//
// Samples stand at origin + h (i, j, k), k running fastest. The field is C2 within the box that
// leaves out the outermost cells; outside of it a point has the value of the nearest point of the
// box plus the distance to it. Constant and shareable.

#pragma once

#include "base/arena.h"
#include "base/io/mesh_file.h"
#include "geometry/field/field.h"

enum { CRI_GRID_LEAST = 5, CRI_GRID_MOST = 512 }; // samples along an axis

typedef struct cri_grid {
    int n[3];
    cri_vec3 origin;
    double h;
    const double *coef;    // (n[0], n[1], n[2]) of the splines
    double lipschitz;      // largest slope at the samples, and 1 at least
    cri_vec3 lower, upper; // box around the surface
} cri_grid;

/// G(x), as far as order says.
void cri_grid_eval(const cri_grid *grid, cri_vec3 x, cri_field_order order, cri_field_value *out);

/// A closed triangle mesh as read: vertices (n_vertex, 3), triangles (n_face, 3) counterclockwise
/// from outside.
typedef struct cri_triangles {
    int n_vertex, n_face;
    const double *vertex;
    const int *face;
} cri_triangles;

/// Refuses a mesh that has no inside: none or too many triangles, numbers that are not finite,
/// open, inside out, without volume. CR_ERR_ARGUMENT, text without file or line.
CR_MUST_CHECK cr_status cri_triangles_check(const cri_triangles *mesh, cr_error *err);

/// Samples the distance to a mesh that passes cri_triangles_check, with n_longest samples along the
/// longest axis of its box. The mesh is read, not kept; the grid lives in arena.
CR_MUST_CHECK cr_status cri_grid_of_mesh(const cri_triangles *mesh, int n_longest, cr_arena *arena,
                                         cri_grid *out, cr_error *err);

// for tests

/// Adjoint of (phi, g) for the coefficients: adds to coef_adj. For x: a g + H b of cri_grid_eval.
void cri_grid_eval_vjp(const cri_grid *grid, cri_vec3 x, double phi_adj, cri_vec3 g_adj,
                       double *coef_adj);

/// Coefficients of the splines through samples, in place. f (n[0], n[1], n[2]).
void cri_grid_filter(const int n[3], double *f);

/// Adjoint of cri_grid_filter, in place: that of the coefficients becomes that of the samples.
void cri_grid_filter_vjp(const int n[3], double *f_adj);

/// A grid through samples (n[0], n[1], n[2]), which are finite and at least CRI_GRID_LEAST along
/// each axis. Lives in arena; false when there is no memory.
bool cri_grid_of_samples(const int n[3], cri_vec3 origin, double h, const double *sample,
                         cr_arena *arena, cri_grid *out);
