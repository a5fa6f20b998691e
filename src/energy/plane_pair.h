// SPDX-License-Identifier: MIT
//
// The plane between two triangles that keeps the largest distance to their six corners, in the
// sense of the least sum of 1 / distance.
//
// Corners 0, 1, 2 belong to the upper triangle, 3, 4, 5 to the lower one; the normal points up.
// Lengths in metres. The origin may be anywhere.

#pragma once

#include "base/math/lane.h"

/// Where to begin: n . x + offset = 0, in the coordinates of the corners. Any plane will do.
typedef struct cri_plane_hint {
    cri_vec3 n;
    double offset;
} cri_plane_hint;

/// The plane, and what its derivatives are made of. Tangents are chosen so that the 2 x 2 matrix of
/// tilts is graded, and the point so that tilts and offset do not couple.
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

/// Finds the plane. hint may be NULL. False when the triangles touch, to rounding: closer than
/// CRI_PLANE_TOUCH of their size; out is then unusable.
bool cri_plane_solve(const cri_vec3 x[6], const cri_plane_hint *hint, cri_plane_pair *out);

#define CRI_PLANE_TOUCH 1e-9

/// z = H^-1 b for the matrix of (tilt, tilt, offset) of W at the optimum.
static inline void cri_plane_unwind(const cri_plane_pair *p, const double b[3], double z[3]) {
    z[1] = (b[1] - p->m * b[0]) / p->d;
    z[0] = b[0] / p->a - p->m * z[1];
    z[2] = b[2] / p->o;
}
