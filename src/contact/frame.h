// SPDX-License-Identifier: MIT
//
// A contact frame from its normal, with its adjoint and tangent.

#pragma once

#include "math/vec3.h"

/// Orthonormal axes n, t1, t2 in the world; also the type of their adjoint and tangent.
typedef struct cri_frame {
    cri_vec3 axis[3];
} cri_frame;

/// Requires a unit normal.
cri_frame cri_frame_of(cri_vec3 normal);

/// Adds to normal_adj.
void cri_frame_of_vjp(cri_vec3 normal, const cri_frame *adj, cri_vec3 *normal_adj);

cri_frame cri_frame_of_jvp(cri_vec3 normal, cri_vec3 normal_tan);
