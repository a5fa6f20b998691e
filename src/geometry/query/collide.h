// SPDX-License-Identifier: MIT
//
// Gap, normal and contact arms of primitive pairs, with their adjoints and tangents.
//
// The normal points from shape 0 to shape 1. Arms go from a shape's origin to the contact point, in
// world axes. Rotations are in tangent coordinates (base/math/quat.h).

#pragma once

#include "base/math/quat.h"
#include "base/math/vec3.h"

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
