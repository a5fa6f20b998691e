// SPDX-License-Identifier: MIT
//
// Local barrier on a plane between the hulls of two bodies (SDRS): a rival of the long-range
// potential, behind the same result. Smooth and never pulling, but zero from some distance on.
//
// energy = mu value.

#pragma once

#include "energy/longrange.h"

/// b(x) = -((x - reach)^2/x) log(x/reach) for 0 < x < reach, 0 from there on: value and first two
/// derivatives. Twice differentiable.
void cri_hull_barrier_of(double reach, double x, double b[3]);

/// The potential of the hulls of all vertices. reach, m, between 0 and 1. A mesh stands for its
/// hull. Infinite when no plane is found between the hulls: they touch, to rounding, or overlap.
/// n_exact counts vertices that feel the barrier, n_step the Newton steps.
void cri_hull_barrier_pair(double reach, const cri_longrange_body *a, const cri_longrange_body *b,
                           cri_longrange_order order, cri_longrange_result *out);
