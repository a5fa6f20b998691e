// SPDX-License-Identifier: MIT
//
// Three rows of the contact Jacobian of one feature, with adjoint and tangent.

#pragma once

#include "contact/feature.h"
#include "contact/frame.h"

/// J_side = -+ [t, R'(arm x t)] for each axis t of the frame: minus for geom 0, plus for geom 1.
typedef struct cri_row {
    int feature;
    int pair;
    int body[2]; // -1: world, its block is not used
    cri_touch touch;
    cri_frame frame;
    double J[2][3][6];
} cri_row;

/// At the state x with unit quaternions.
cri_row cri_row_at(const cri_world *world, int feature, const double *x);

/// Adjoint of the blocks J. Adds to q_adj (n_v) and d_adj.
void cri_row_at_vjp(const cri_world *world, const cri_row *row, const double *x,
                    double J_adj[2][3][6], double *q_adj, const cri_derived *d_adj);

/// Tangent of the blocks J for q_tan (n_v) and d_tan.
void cri_row_at_jvp(const cri_world *world, const cri_row *row, const double *x,
                    const double *q_tan, const cri_derived *d_tan, double J_tan[2][3][6]);
