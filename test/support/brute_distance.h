// SPDX-License-Identifier: MIT
//
// The signed distance of two convex shapes by brute force: slow, and shares nothing with the
// library but the names of the shapes.
//
// Along a unit vector n the shapes are apart by
//   s(n) = min over x in shape 1 of n.x  -  max over x in shape 0 of n.x,
// and the signed distance is the largest s(n): positive when they are apart, the least depth of a
// separating translation when they overlap. Every s(n) is a lower bound, whoever chose n; the
// distance of any two points is an upper bound while they are apart.

#pragma once

#include "brute_body.h"

typedef struct brute_distance {
    double value;    // m
    cri_vec3 normal; // unit, from shape 0 to shape 1
    double slack;    // apart: the true value is at most so much smaller; 0 in an overlap
} brute_distance;

/// s(n) for a unit vector n. Shape 0 may be a plane, whose own normal is then the only n.
double brute_separation(const cri_shape shape[2], const cri_pose pose[2], cri_vec3 n);

/// The signed distance. At most one of the two is a plane, and then it is shape 0.
brute_distance brute_distance_of(const cri_shape shape[2], const cri_pose pose[2]);

/// The signed distance by the search over directions that overlaps of curved shapes need, for any
/// shapes but planes: to test it.
brute_distance brute_distance_search(const cri_shape shape[2], const cri_pose pose[2]);
