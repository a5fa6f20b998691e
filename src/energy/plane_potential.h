// SPDX-License-Identifier: MIT
//
// Long-range potential of two triangles, and of a triangle above a half-space: value, gradient and
// exact second derivatives in the corners.
//
// In units of the contact coefficient: the energy is mu times the value, mu in joule. ell > 0 is
// the length on which the potential falls, m: it depends on x / ell alone. So derivatives for ell
// follow from those for x: dP/dell = -(x . g)/ell, dg/dell = -(g + H x)/ell.

#pragma once

#include "energy/plane_pair.h"

/// Potential of two triangles with what its derivatives need.
typedef struct cri_plane_force {
    cri_plane_pair plane;
    double value;  // infinite when they touch
    double excess; // value - 12, without cancellation: falls to 0 far away
    double q[6];   // length of the gradient in each corner, 1/m; the same sum above and below
    double h[6];   // stiffness 2 q / s, 1/m^2
    double ratio;  // second derivatives of the inner problem are those of W over this
    double scale;  // weight of the gradient's own square
} cri_plane_force;

/// Forces of a plane that was found. The gradient in corner k is -sigma_k q_k n.
void cri_plane_forces(const cri_plane_pair *plane, double ell, cri_plane_force *out);

/// Value and gradient for the corners x (6, 3), the upper triangle first. hint may be NULL. False
/// when the triangles touch: the value is infinite, the gradient zero, and there is no derivative.
bool cri_plane_potential(const double x[18], double ell, const cri_plane_hint *hint, double *value,
                         double gradient[18], cri_plane_force *cache);

/// Adjoint: adds to x_adj.
void cri_plane_potential_vjp(const cri_plane_force *cache, double value_adj,
                             const double gradient_adj[18], double x_adj[18]);

/// Tangent: fills value_tan and gradient_tan.
void cri_plane_potential_jvp(const cri_plane_force *cache, const double x_tan[18],
                             double *value_tan, double gradient_tan[18]);

/// Potential of a triangle whose corners are at given heights above a half-space.
typedef struct cri_half_force {
    double value, excess; // as above
    double g[3];          // gradient in the heights, negative
    double H[9];          // second derivatives, row-major
} cri_half_force;

/// False when a height is not positive: the value is infinite, derivatives are zero.
bool cri_half_potential(const double height[3], double ell, cri_half_force *out);

/// Adjoint of value and gradient: adds to height_adj.
void cri_half_potential_vjp(const cri_half_force *cache, double value_adj, const double g_adj[3],
                            double height_adj[3]);

/// Tangent of value and gradient.
void cri_half_potential_jvp(const cri_half_force *cache, const double height_tan[3],
                            double *value_tan, double g_tan[3]);

/// 12 (1 + sqrt(ell / L))^2 - 12 and its first two derivatives in L > 0: the potential of two
/// clusters whose centres are L apart.
void cri_centred_potential(double L, double ell, double value[3]);

/// Weight phi of the centred potential and its first two derivatives in L: 0 up to d1, 1 from d2,
/// twice differentiable. 0 < d1 < d2.
void cri_blend_weight(double L, double d1, double d2, double phi[3]);
