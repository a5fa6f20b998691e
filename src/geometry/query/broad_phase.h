// SPDX-License-Identifier: MIT
//
// Pairs of overlapping boxes along the axes, in O(n log n) for scattered boxes.

#pragma once

#include "base/arena.h"

/// Smallest and largest corner, m. May be infinite.
typedef struct cri_box3 {
    double lower[3];
    double upper[3];
} cri_box3;

/// Called for every pair i < j of overlapping boxes; false ends the search.
typedef bool cri_box_pair(void *context, int i, int j);

/// Finds all overlapping pairs of n boxes. Boxes with group[i] == group[j] >= 0 are not paired;
/// group may be NULL. Pairs come in an order that depends on the boxes alone. False for lack of
/// memory in scratch, or when the callback ended it. Boxes that touch overlap; a box with a NaN
/// overlaps none.
bool cri_broad_phase(int n, const cri_box3 *box, const int *group, cri_box_pair *pair,
                     void *context, cr_arena *scratch);

/// The same, and adds to *n_test how often two boxes were compared.
bool cri_broad_phase_counted(int n, const cri_box3 *box, const int *group, cri_box_pair *pair,
                             void *context, cr_arena *scratch, long long *n_test);

/// Room in scratch that a search among n boxes needs.
size_t cri_broad_phase_bytes(int n);
