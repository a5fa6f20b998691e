// SPDX-License-Identifier: MIT
//
// Random shapes in random poses, for tests of geometry.

#pragma once

#include "cr_test.h"
#include "geometry/convex/shape.h"

/// A shape that owns its numbers. Do not copy.
typedef struct random_shape {
    cri_shape shape;
    double size[3];
} random_shape;

cri_vec3 random_unit(cr_test_rng *rng);
cri_mat3 random_rotation(cr_test_rng *rng);

/// Sizes in [least, most), evenly in their logarithm. hull is borrowed, for meshes.
void random_shape_init(cr_test_rng *rng, cri_shape_kind kind, double least, double most,
                       const cri_hull *hull, random_shape *out);

/// Name of a kind as in MJCF.
const char *shape_kind_name(cri_shape_kind kind);
