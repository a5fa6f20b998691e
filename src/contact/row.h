// SPDX-License-Identifier: MIT
//
// Three rows of the contact Jacobian of one touch, in the velocities of its two bodies, with
// adjoint and tangent.

#pragma once

#include "contact/ellipse.h"
#include "contact/frame.h"
#include "contact/near.h"

/// J_side = -+ [t, R'(arm x t)] for each axis t of the frame, times its scale: minus for body 0,
/// plus for body 1; arm goes from the body's origin to its witness point. A limit has no frame and
/// no J.
typedef struct cri_row {
    cri_near near;
    cri_narrow_touch touch;
    cri_frame frame;
    cri_ellipse ellipse;
    double J[2][3][6];
} cri_row;

/// Of a touch at a state.
void cri_row_at(const cri_world *world, const cri_near *near, const cri_narrow_touch *touch,
                const cri_state *state, cri_row *row);

/// Adjoint of the blocks J. Adds to q_adj (n_v) and d_adj.
void cri_row_at_vjp(const cri_world *world, const cri_row *row, const cri_state *state,
                    double J_adj[2][3][6], double *q_adj, const cri_derived *d_adj);

/// Tangent of the blocks J for q_tan (n_v), body_tan (n_body, 6) and d_tan. Returns that of the
/// gap.
double cri_row_at_jvp(const cri_world *world, const cri_row *row, const cri_state *state,
                      const double *q_tan, const double *body_tan, const cri_derived *d_tan,
                      double J_tan[2][3][6]);
