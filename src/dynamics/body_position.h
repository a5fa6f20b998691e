// SPDX-License-Identifier: MIT
//
// Where a point of one body is in a state, with its adjoint.

#pragma once

#include "model/model.h"

/// point in the body's frame; body -1: the world. x (n_x) as a user has it: quaternions of any
/// length.
cri_vec3 cri_body_position(const cr_model *model, int body, cri_vec3 point, const double *x);

/// Adds to x_adj (n_x).
void cri_body_position_vjp(const cr_model *model, int body, cri_vec3 point, const double *x,
                           cri_vec3 pos_adj, double *x_adj);
