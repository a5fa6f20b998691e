// SPDX-License-Identifier: MIT
//
// Long-range potential of two triangles, and of a triangle above a half-space: value, gradient and
// exact second derivatives in the corners.
//
// In units of the contact coefficient: the energy is mu times the value, mu in joule. ell > 0 is
// the length on which the potential falls, m: it depends on x / ell alone. So derivatives for ell
// follow from those for x: dP/dell = -(x . g)/ell, dg/dell = -(g + H x)/ell.

#pragma once

#include "base/math/lane.h"

/// Where to begin: n . x + offset = 0, in the coordinates of the corners. Any plane will do.
typedef struct cri_plane_hint {
    cri_vec3 n;
    double offset;
} cri_plane_hint;

/// The plane between two triangles that keeps the largest distance to their six corners, in the
/// sense of the least sum of 1 / distance, and what its derivatives are made of. Corners 0, 1, 2
/// belong to the upper triangle, 3, 4, 5 to the lower one; the normal points up. Tangents are
/// chosen so that the 2 x 2 matrix of tilts is graded, and the point so that tilts and offset do
/// not couple.
typedef struct cri_plane_pair {
    cri_vec3 n, t1, t2; // unit normal, tangents
    cri_vec3 c;         // point of the plane: mean of the corners' feet, weighted by 1 / s^3
    double s[6];        // distances of the corners, all positive
    double tau[2][6];   // coordinates of the corners along t1 and t2, about c
    double W;           // sum of 1 / s, the least there is, 1/m
    double a, m, d;     // matrix of tilts, [a b; b .] = [1 0; m 1] diag(a, d) [1 m; 0 1]
    double o;           // of the offset
    double gap;         // certificate: W exceeds the true minimum by at most this part
    double kappa; // size of the pair over its gap; rounding leaves no less than some ulp kappa
    int n_step;   // of Newton's method
} cri_plane_pair;

/// The same for four pairs, a lane each.
typedef struct cri_plane_lanes {
    cri_lane3 n, t1, t2, c;
    cri_lane s[6], inverse[6]; // distances, and one over them
    cri_lane tau[2][6];
    cri_lane W, a, m, d, o, gap, kappa, n_step;
} cri_plane_lanes;

/// Where four of them begin; lanes that are not known have none.
typedef struct cri_plane_hints {
    cri_mask is_known;
    cri_lane3 n;
    cri_lane offset;
} cri_plane_hints;

/// Finds the planes of four pairs, each with the bits that it has alone. The lanes that are found;
/// others touch.
cri_mask cri_plane_solve_lanes(const cri_lane3 x[6], const cri_plane_hints *hints,
                               cri_plane_lanes *out);

/// One of the four.
void cri_plane_of_lane(const cri_plane_lanes *from, int lane, cri_plane_pair *out);

/// z = H^-1 b for the matrix of (tilt, tilt, offset) of W at the optimum.
static inline void cri_plane_unwind(const cri_plane_pair *p, const double b[3], double z[3]) {
    z[1] = (b[1] - p->m * b[0]) / p->d;
    z[0] = b[0] / p->a - p->m * z[1];
    z[2] = b[2] / p->o;
}

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

/// Value and gradient for the corners x (6, 3), the upper triangle first. hint may be NULL. False
/// when the triangles touch: the value is infinite, the gradient zero, and there is no derivative.
bool cri_plane_potential(const double x[18], double ell, const cri_plane_hint *hint, double *value,
                         double gradient[18], cri_plane_force *cache);

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

/// 12 (1 + sqrt(ell / L))^2 - 12 and its first two derivatives in L > 0: the potential of two
/// clusters whose centres are L apart.
void cri_centred_potential(double L, double ell, double value[3]);

/// Weight phi of the centred potential and its first two derivatives in L: 0 up to d1, 1 from d2,
/// twice differentiable. 0 < d1 < d2.
void cri_blend_weight(double L, double d1, double d2, double phi[3]);

// for tests

/// Finds the plane. hint may be NULL. False when the triangles touch, to rounding: closer than
/// CRI_PLANE_TOUCH of their size; out is then unusable.
bool cri_plane_solve(const cri_vec3 x[6], const cri_plane_hint *hint, cri_plane_pair *out);

/// Adjoint: adds to x_adj.
void cri_plane_potential_vjp(const cri_plane_force *cache, double value_adj,
                             const double gradient_adj[18], double x_adj[18]);

/// Adjoint of value and gradient: adds to height_adj.
void cri_half_potential_vjp(const cri_half_force *cache, double value_adj, const double g_adj[3],
                            double height_adj[3]);

/// Tangent of value and gradient.
void cri_half_potential_jvp(const cri_half_force *cache, const double height_tan[3],
                            double *value_tan, double g_tan[3]);
