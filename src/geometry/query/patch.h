// SPDX-License-Identifier: MIT
//
// Contact patches: all points where two shapes lie on each other.

#pragma once

#include "geometry/convex/gjk.h"
#include "geometry/query/narrow.h"

/// Points before they are reduced to CRI_MAX_TOUCH.
enum { CRI_MAX_POOL = 64 };

typedef struct cri_patch {
    int n;
    cri_narrow_touch touch[CRI_MAX_POOL];
} cri_patch;

/// What find learned: the nearest points, or parallel pieces of which only the normal is known.
typedef struct cri_found {
    cri_meeting meeting;
    cri_meet meet;
    int feature[2];
    cri_vec3 x; // a point of shape 0 near the touch, for pieces in parallel
} cri_found;

/// The feature of shape i that is across n but for an angle.
int cri_patch_feature(const cri_pair *pair, int i, cri_vec3 n, double angle);

/// The points of flat pieces that face each other, whatever their gap.
void cri_patch_find(const cri_pair *pair, const cri_found *found, cri_patch *patch);

/// Puts the patch after the n touches there are: gap <= margin, at most CRI_MAX_TOUCH, keeping its
/// outline. Returns how many there are then.
int cri_patch_reduce(const cri_pair *pair, const cri_patch *patch, double margin, int n,
                     cri_narrow_touch *touch);
