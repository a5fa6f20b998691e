// SPDX-License-Identifier: MIT
//
// A penalty on the depth of corners that pushes at any distance: a rival of the long-range
// potential, behind the same result. No barrier: surfaces may overlap.
//
// energy = mu value, mu in N/m.

#pragma once

#include "energy/longrange.h"

/// Value at the signed distance s and its first two derivatives; ell > 0, m.
void cri_penalty_of(double ell, double s, double value[3]);

/// Sum over the corners of each body of the function of their signed distance from the other.
/// Meshes are closed, with normals to the outside. Twice differentiable where the closest pieces
/// stay the same. n_exact counts corners, gap is the least distance, below zero in an overlap.
void cri_penalty_pair(double ell, const cri_longrange_body *a, const cri_longrange_body *b,
                      cri_longrange_order order, cri_longrange_result *out);
