// SPDX-License-Identifier: MIT
//
// The lowest value of a field on a triangle.

#pragma once

#include "geometry/field/field.h"

/// A point of a triangle and how low it is.
typedef struct cri_triangle_min {
    double weight[3]; // of the corners, not negative, sum 1
    cri_vec3 x;
    cri_field_value v; // at x, with its Hessian
    double gap;        // g . (x - s) for the worst corner s: 0 where phi is stationary
    bool is_settled;   // gap within rounding; else at a kink of the field, or out of steps
} cri_triangle_min;

/// A local minimum of the field on the triangle, from the weights start.
void cri_triangle_min_find(const cri_field *field, const cri_vec3 corner[3], const double start[3],
                           cri_triangle_min *out);

/// The same search for a minimum below bound. False as soon as there is none, as far as a convex
/// field tells by the gap, or when the one that it ends at is not.
bool cri_triangle_min_below(const cri_field *field, const cri_vec3 corner[3], const double start[3],
                            double bound, cri_triangle_min *out);

/// Largest gap of a point of this triangle that counts as stationary.
double cri_triangle_min_tolerance(const cri_vec3 corner[3]);

/// The corners with weight, lowest number first. Returns how many.
int cri_triangle_active(const double weight[3], int active[3]);

/// B = E H E' of the active corners, E their sides from the first; B (n - 1)^2 as b00 b01 b11.
/// False when it is not safely positive: the minimum is then not unique.
bool cri_triangle_bend(const cri_vec3 corner[3], int n, const int active[3], const double H[6],
                       double B[3]);

/// B z = r for n - 1 unknowns.
void cri_triangle_bend_solve(int n, const double B[3], const double r[2], double z[2]);
