// SPDX-License-Identifier: MIT
//
// How far two meshes can move before their surfaces come too close: continuous collision detection
// for line searches that must not jump over a barrier.

#pragma once

#include "geometry/convex/shape.h"
#include "geometry/mesh/sphere_tree.h"

/// A mesh that moves over tau in [0, 1]: R(tau) = exp(tau [w]) R, pos(tau) = pos + tau v.
typedef struct cri_moving_mesh {
    const cri_sphere_tree *tree;
    const double *vertex; // (n_vertex, 3) in its own frame
    cri_pose pose;        // at tau = 0
    cri_vec3 w, v;
} cri_moving_mesh;

/// A direction from the second to the first of two triangles, world axes, that is thought to
/// separate them at tau = 0; false: none is known. It saves time and changes nothing.
typedef struct cri_step_hints {
    bool (*find)(const void *context, int first, int second, cri_vec3 *n);
    const void *context;
} cri_step_hints;

/// The largest part of the motion found to keep every pair of triangles apart, all the way, by a
/// part `keep` of its own gap at the start, 0 < keep < 1. Within 1e-3 of that gap of the largest
/// there is, unless turns are large, where it may be smaller. 0 when surfaces touch at the start.
/// At most `most`: the least of several meshes is the same bits whatever the order. hints may be
/// NULL.
double cri_step_limit(const cri_moving_mesh *a, const cri_moving_mesh *b, double keep, double most,
                      const cri_step_hints *hints);

/// The same for the vertices of a mesh above the half-space n . x <= offset, n a unit vector.
double cri_step_limit_half(const cri_moving_mesh *a, cri_vec3 n, double offset, double keep,
                           double most);
