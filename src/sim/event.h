// SPDX-License-Identifier: MIT
//
// When the next impact of a sub-step happens.

#pragma once

#include "sim/scan.h"

/// The touch of a general pair that comes next at a state while those with the ids skip (n_skip)
/// rest; false: none is near.
bool cri_event_next(const cr_sim *sim, const cri_near *near, const cri_state *state, int n_skip,
                    const int *skip, cri_narrow_touch *out);

/// First impact in (0, T] along the motion, over all features but the resting ones. Fills the
/// scan's roots and returns the time of the earliest, infinite when there is none; ties go to the
/// lower feature, in *feature. *has_memory false: no memory for a solve.
double cri_event_search(cr_sim *sim, cri_motion *motion, double T, int n_rest, const int *rest,
                        int *feature, bool *has_memory);

/// The longest of T, T/2, ... T/32 at whose end nothing but the resting touches of units that have
/// had their share of impacts overlaps by more than 1e-4 of the smaller geom's radius, or by a
/// tenth more than at the start; T/32 when there is none.
double cri_event_cut(cr_sim *sim, cri_motion *motion, double T, int n_rest, const int *rest,
                     bool *has_memory);
