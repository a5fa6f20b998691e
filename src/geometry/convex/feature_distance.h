// SPDX-License-Identifier: MIT
//
// Distance of a point to a triangle, and of two edges: value, gradient and second derivatives.
//
// Once differentiable where the closest pieces change: there second derivatives jump, and are those
// of the pieces found. This is what local barriers are made of.

#pragma once

#include "base/math/vec3.h"

#include <stdbool.h>

/// Closest points as weights of four points, and how the weights may vary: a corner 0 ways, an
/// edge 1, a face or two crossing edges 2.
typedef struct cri_feature_distance {
    double distance;
    cri_vec3 n;        // unit vector to the first piece from the second; zero when they touch
    double w[4];       // sum w x = distance n
    int n_free;        // directions in which the weights are at a minimum
    double dw[2][4];   // their derivatives
    cri_vec3 e[2];     // sum dw x
    double inverse[3]; // of the matrix e_i . e_j: 11, 12, 22
} cri_feature_distance;

/// x[0] the point, x[1..3] the triangle.
cri_feature_distance cri_point_triangle_distance(const cri_vec3 x[4]);

/// x[0] x[1] the first edge, x[2] x[3] the second.
cri_feature_distance cri_edge_edge_distance(const cri_vec3 x[4]);

/// Adjoint of the distance and its gradient w_k n (4, 3): adds to x_adj (4, 3).
void cri_feature_distance_vjp(const cri_feature_distance *cache, double distance_adj,
                              const double gradient_adj[12], double x_adj[12]);

/// Tangent: fills distance_tan and gradient_tan.
void cri_feature_distance_jvp(const cri_feature_distance *cache, const double x_tan[12],
                              double *distance_tan, double gradient_tan[12]);

/// Second derivatives (12, 12) of the distance.
void cri_feature_distance_hessian(const cri_feature_distance *cache, double H[144]);
