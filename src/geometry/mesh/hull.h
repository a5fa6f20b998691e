// SPDX-License-Identifier: MIT
//
// Convex hull of points.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "geometry/convex/shape.h"

/// Hull of n points (n, 3). Everything lives in arena. Points in a plane (or fewer than four) have
/// none: CR_ERR_ARGUMENT, text without file or line, the caller adds them.
///
/// Every point lies on or below every face's plane but for rounding. Triangles within 2e-7 of the
/// size of one plane (coordinates in single precision) are one face, whose corners may lie below
/// its plane by twice as much.
CR_MUST_CHECK cr_status cri_hull_build(int n, const double *point, cr_arena *arena,
                                       const cri_hull **out, cr_error *err);
