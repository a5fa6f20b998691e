// SPDX-License-Identifier: MIT
//
// The vertices of a hull in a tree of boxes, for questions that links between neighbours do not
// answer: which vertices lie below a plane, and which of these lies farthest along a direction.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "geometry/convex/shape.h"

/// Sorts the vertices of a hull with many of them; one with few has no tree and is looked through.
/// False for lack of memory.
CR_MUST_CHECK bool cri_hull_tree_build(cri_hull *hull, cr_arena *arena, cr_arena *scratch);

/// Nodes of the tree that a part consists of, at most.
enum { CRI_HULL_PART = 16 };

/// Vertices below a plane, z.x <= limit. Opaque but for the first four: made by cri_hull_part_of.
typedef struct cri_hull_part {
    const cri_hull *hull;
    cri_vec3 z;
    double limit;
    double high; // no vertex of its nodes lies higher along z
    int n_node;  // that hold all of them; 0 without a tree
    int node[CRI_HULL_PART];
} cri_hull_part;

cri_hull_part cri_hull_part_of(const cri_hull *hull, cri_vec3 z, double limit);

/// The vertex of a part that is farthest along d, -1 when none is farther than least (d.x > least).
/// Of vertices as far but for 1e-14 of the hull's radius it is any one, always the same.
int cri_hull_farthest(const cri_hull_part *part, cri_vec3 d, double least);

/// The vertices of a part that are farthest against d and along d, as cri_hull_farthest has them.
void cri_hull_ends(const cri_hull_part *part, cri_vec3 d, int end[2]);

/// Lists vertices of a part until there are most of them. Returns how many.
int cri_hull_below(const cri_hull_part *part, int most, int *out);
