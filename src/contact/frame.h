// SPDX-License-Identifier: MIT
//
// Contact frames from the normal, with adjoint and tangent.

#pragma once

#include "base/math/vec3.h"

/// Orthonormal axes n, t1, t2 in the world; also the type of their adjoint and tangent.
typedef struct cri_frame {
    cri_vec3 axis[3];
} cri_frame;

/// Requires a unit normal.
cri_frame cri_frame_of(cri_vec3 normal);

/// Adds to normal_adj.
void cri_frame_of_vjp(cri_vec3 normal, const cri_frame *adj, cri_vec3 *normal_adj);

cri_frame cri_frame_of_jvp(cri_vec3 normal, cri_vec3 normal_tan);

/// The frame in which friction has two coefficients: t1 is the world's y axis, or z where the
/// normal is within 60 degrees of y, made orthogonal. Requires a unit normal.
cri_frame cri_frame_aligned(cri_vec3 normal);

/// Adds to normal_adj.
void cri_frame_aligned_vjp(cri_vec3 normal, const cri_frame *adj, cri_vec3 *normal_adj);

cri_frame cri_frame_aligned_jvp(cri_vec3 normal, cri_vec3 normal_tan);
