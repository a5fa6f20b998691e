// SPDX-License-Identifier: MIT
//
// Sums of the long-range potential of two bodies, shared by its files.

#pragma once

#include "contact/longrange.h"

/// Value and gradient of a part of the potential.
typedef struct cri_longrange_part {
    double value;
    cri_affine_gradient affine;
} cri_longrange_part;

/// Two clusters: their distance, the direction u from the second to the first, and their centres
/// from the positions of their bodies.
typedef struct cri_longrange_line {
    double L;
    cri_vec3 u, ra, rb;
} cri_longrange_line;

/// Second derivatives in the making. With e = d(L)/d(pose) and E = [J_a, -J_b] the derivative of
/// the centres' difference, centred terms are sums of alpha e e' + beta E'E, which a few moments
/// hold.
typedef struct cri_longrange_sum {
    double direction[81]; // sum alpha (ra x u, u, rb x u)(..)', upper triangle
    double moment[28];    // sum beta (1, r, r r'), r = (ra, rb), upper triangle of r r' packed
    double dense[144];    // all else, upper triangle
} cri_longrange_sum;

/// Adds s u . (x_a - x_b) in affine form.
void cri_longrange_add_line(const cri_longrange_line *line, double s, cri_affine_gradient *out);

/// Adds alpha e e' + beta E'E.
void cri_longrange_add_moments(const cri_longrange_line *line, double alpha, double beta,
                               cri_longrange_sum *sum);

/// Adds weight (e g' + g e').
void cri_longrange_add_product(const cri_longrange_line *line, double weight, const double g[12],
                               cri_longrange_sum *sum);

/// Gradient of an exact pair; corners r (6) from the positions of their bodies.
void cri_longrange_add_pair(const cri_plane_force *f, const cri_vec3 r[6],
                            cri_affine_gradient *out);

/// Adds weight times its second derivatives.
void cri_longrange_add_pair_hessian(const cri_plane_force *f, const cri_vec3 r[6], double weight,
                                    cri_longrange_sum *sum);

/// The gradient in both charts.
void cri_longrange_charts(const cri_affine_gradient *affine, double g[12]);

/// The whole symmetric matrix.
void cri_longrange_expand(const cri_longrange_sum *sum, double H[144]);
