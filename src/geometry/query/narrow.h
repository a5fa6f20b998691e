// SPDX-License-Identifier: MIT
//
// Contact points of any two shapes (touches: geometry/convex/touch.h), and of the pairs that have a
// formula: a sphere with a plane or a sphere.
//
// Normals point from shape 0 to shape 1. Arms go from a shape's origin to the contact point, in
// world axes. Rotations are in tangent coordinates (base/math/quat.h).

#pragma once

#include "base/math/quat.h"
#include "base/math/vec3.h"
#include "geometry/convex/touch.h"

enum { CRI_MAX_TOUCH = 8 };

/// The contact patch of two shapes. touch[0] is always there and is the signed distance, down to
/// the least depth of any separating translation in an overlap; the others are points of the patch
/// with gap <= margin. Returns how many, at most CRI_MAX_TOUCH. At most one of the two is a plane,
/// and then it is shape 0.
int cri_collide(const cri_shape shape[2], const cri_pose pose[2], double margin,
                cri_narrow_touch touch[CRI_MAX_TOUCH]);

/// The signed distance and its witness points alone: touch[0] of cri_collide.
void cri_distance(const cri_shape shape[2], const cri_pose pose[2], cri_narrow_touch *touch);

/// Whether a touch is one that is asked for.
typedef bool (*cri_touch_filter)(const void *context, const cri_narrow_touch *touch);

/// Vertices x (frame of the mesh) with rate.x <= most_rate, or with a gap of least_gap and more.
typedef struct cri_plane_asked {
    cri_vec3 rate;
    double most_rate, least_gap; // INFINITY: no gap will do
} cri_plane_asked;

/// The lowest touch of a plane and a mesh that the filter lets pass, of all its vertices. asked
/// holds all of these and is quick to look through. False: none.
bool cri_plane_next(const cri_shape shape[2], const cri_pose pose[2], const cri_plane_asked *asked,
                    cri_touch_filter filter, const void *context, cri_narrow_touch *touch);

// ---- spheres by formula -------------------------------------------------------------------------

/// Also the type of its own adjoint and tangent.
typedef struct cri_touch {
    double gap;
    cri_vec3 normal;
    cri_vec3 arm[2]; // arm[0] is unused when shape 0 is a plane
} cri_touch;

/// Sphere, or with radius 0 a point, above the plane normal . x = offset.
cri_touch cri_plane_sphere(cri_vec3 normal, double offset, cri_vec3 pos, double radius);
void cri_plane_sphere_vjp(cri_vec3 normal, const cri_touch *adj, cri_vec3 *pos_adj,
                          double *offset_adj, double *radius_adj);
cri_touch cri_plane_sphere_jvp(cri_vec3 normal, cri_vec3 pos_tan, double offset_tan,
                               double radius_tan);

/// Two spheres; delta goes from the centre of 0 to that of 1 and is not zero.
cri_touch cri_sphere_sphere(cri_vec3 delta, double radius0, double radius1);
void cri_sphere_sphere_vjp(cri_vec3 delta, double radius0, double radius1, const cri_touch *adj,
                           cri_vec3 *delta_adj, double *radius0_adj, double *radius1_adj);
cri_touch cri_sphere_sphere_jvp(cri_vec3 delta, double radius0, double radius1, cri_vec3 delta_tan,
                                double radius0_tan, double radius1_tan);
