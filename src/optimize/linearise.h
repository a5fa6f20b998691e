// SPDX-License-Identifier: MIT
//
// A step as a linear map of small changes, in tangent coordinates:
//
//     dx' = A dx + B du
//
// A tangent dx has 2 n_v numbers: changes of position, laid out like the velocities (a rotation
// vector in the body frame, rad, for a quaternion), then changes of the velocities.

#pragma once

#include "base/arena.h"
#include "base/base.h"

typedef struct cri_linearisation {
    int n;          // n_tangent
    int n_u;        // columns of B
    double *A;      // (n, n) row by row
    double *B;      // (n, n_u) row by row
    double *x_next; // (n_x)
    int grad;       // cr_grad bits of the step
} cri_linearisation;

/// Linearises one step of dt from x under u (NULL: zero). sim has gradients on. Arrays come from
/// arena.
CR_MUST_CHECK cr_status cri_linearise(const cr_model *model, cr_sim *sim, double dt,
                                      const double *x, const double *u, cr_arena *arena,
                                      cri_linearisation *out, cr_error *err);

/// The name of tangent coordinate i: BODY/dq[k], of which BODY/qvel[k] is the rate, or
/// BODY/qvel[k].
void cri_tangent_name(const cr_model *model, int i, char *text, size_t n_byte);
