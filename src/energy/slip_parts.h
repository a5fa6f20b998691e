// SPDX-License-Identifier: MIT
//
// The velocity of a massless plane between corners that slip on it. Private to contact/slip*.c.

#pragma once

#include "energy/potential_law.h"
#include "energy/slip.h"

/// Four slips, a lane each, in the two directions along their planes: weights and velocities of
/// corners. Corners that a slip does not have weigh nothing.
typedef struct cri_slip_lanes {
    cri_lane a[6], w[2][6];
} cri_slip_lanes;

/// Solved: min over u of sum a_k rho_k, rho_k^2 = |e_k|^2 + v^2, e_k = w_k - u.
typedef struct cri_slip_flat {
    cri_lane e[2][6];
    cri_lane q[6];    // a/rho
    cri_lane K[3][6]; // a/rho (1 - e e'/rho^2): 11, 12, 22
    cri_lane sum[3];  // of K
    cri_lane left[2]; // force on the plane that is left
    cri_lane value;
} cri_slip_flat;

/// shift as in cri_slip.
void cri_slip_flatten(const cri_slip_lanes *slips, double speed, cri_lane shift[2],
                      cri_slip_flat *out);

/// The same in space; everything is along the plane.
typedef struct cri_slip_plane {
    cri_vec3 e[6];
    double rho[6];
    double K[6][6]; // a/rho (1 - e e'/rho^2), xx yy zz xy xz yz
    double inv[6];  // of the sum of K, on the plane
} cri_slip_plane;

/// w (6): velocities of the corners along the plane.
void cri_slip_solve(const cri_slip *slip, double speed, const cri_vec3 w[6], cri_slip_plane *out);

/// A place for one more knee, NULL when all places have stronger ones.
cri_slip_knee *cri_slip_knee_place(cri_slip_knees *knees, double strength);

/// Position of a corner at poses, and from its body's origin; the still point of a plane is where
/// it was.
typedef struct cri_slip_corner {
    cri_vec3 x, r;
    int body; // -1: none that moves
} cri_slip_corner;

cri_slip_corner cri_slip_corner_at(const cri_potential *potential, const cri_slip *slip, int k,
                                   const cri_pose *pose);

/// a - n (n . a)
static inline cri_vec3 cri_slip_along(cri_vec3 n, cri_vec3 a) {
    return cri_v3_mad(a, -cri_v3_dot(n, a), n);
}

/// For coefficients of pairs.
static inline cri_world cri_slip_world(const cri_potential *potential) {
    return (cri_world){.model = potential->model, .d = potential->d, .law = &cri_law_longrange};
}
