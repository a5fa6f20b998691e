// SPDX-License-Identifier: MIT
//
// Where one body's origin is in a state, with its adjoint.

#pragma once

#include "model/model.h"

/// x (n_x) as a user has it: quaternions of any length.
cri_vec3 cri_body_position(const cr_model *model, int body, const double *x);

/// Adds to x_adj (n_x).
void cri_body_position_vjp(const cr_model *model, int body, const double *x, cri_vec3 pos_adj,
                           double *x_adj);
