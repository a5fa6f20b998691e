// SPDX-License-Identifier: MIT
//
// On which side of a plane a point lies, without rounding.

#pragma once

/// Coordinates that cri_orient takes are integers up to this size: differences are then exact.
#define CRI_ORIENT_LIMIT 1125899906842624.0 // 2^50

/// The sign, 1, 0 or -1, of (a - d) . ((b - d) x (c - d)): 1 when d lies below the plane of a, b,
/// c, which are counterclockwise seen from above. All coordinates are integers of at most
/// CRI_ORIENT_LIMIT.
int cri_orient(const double a[3], const double b[3], const double c[3], const double d[3]);

/// The determinant itself, rounded.
double cri_orient_volume(const double a[3], const double b[3], const double c[3],
                         const double d[3]);
