// SPDX-License-Identifier: MIT
//
// Nearest points of two convex cores, and the least depth of two that overlap.
//
// Both work on the set D of differences x_1 - x_0 through its farthest points, in world axes around
// the origin of shape 0. Balls are left out (cri_core_support).

#pragma once

#include "geometry/convex/pieces.h"

/// Two shapes at their places.
typedef struct cri_pair {
    const cri_shape *shape;
    const cri_pose *pose;
    cri_vec3 apart; // from the origin of shape 0 to that of shape 1
    double scale;   // a length above all others
} cri_pair;

/// A point of D.
typedef struct cri_corner {
    cri_vec3 w; // x[1] - x[0]
    cri_vec3 x[2];
    int feature[2];
} cri_corner;

/// Where D is nearest to the origin, or its boundary when the origin is inside.
typedef struct cri_nearest {
    int n;
    cri_corner corner[4];
    double weight[4];
    cri_vec3 normal;   // from shape 0 to shape 1
    double separation; // of the cores along normal: no more than the distance
    int hint[2];
} cri_nearest;

/// The point of D lowest along d.
cri_corner cri_pair_corner(const cri_pair *pair, cri_vec3 d, int hint[2]);

/// Whether a core has no corners: nearest points are then only approached.
bool cri_pair_is_round(const cri_pair *pair);

/// True when the cores are apart, and near is filled. False when they touch or overlap; near then
/// has the last corners, for cri_epa, and the last direction. With round cores share of the
/// distance may be missing, and all of it below close: then they may also overlap.
bool cri_gjk(const cri_pair *pair, double share, double close, cri_nearest *near);

/// The least depth of cores that touch or overlap, from what cri_gjk left. share: of the depth that
/// may be missing with round cores. False when D is flat.
bool cri_epa(const cri_pair *pair, double share, cri_nearest *near);
