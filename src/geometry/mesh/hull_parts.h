// SPDX-License-Identifier: MIT
//
// What the files of the hull share. Private to src/geometry.

#pragma once

#include "geometry/mesh/hull.h"

/// A triangle of the hull, counterclockwise from outside. Side k goes from v[k] to v[(k + 1) % 3].
typedef struct cri_hull_facet {
    int v[3];
    int next[3]; // triangle on the other side of each side
} cri_hull_facet;

/// A triangulated hull, numbers into the points that it was built of.
typedef struct cri_hull_facets {
    int n_point;
    const double *point; // (n_point, 3)
    int n;
    const cri_hull_facet *facet; // (n)
    double size;                 // half the diagonal of the bounding box
} cri_hull_facets;

/// Merges coplanar triangles and fills a hull, in arena. False for lack of memory.
CR_MUST_CHECK bool cri_hull_merge(const cri_hull_facets *in, cr_arena *arena, cr_arena *scratch,
                                  cri_hull *out);
