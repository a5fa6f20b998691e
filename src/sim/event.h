// SPDX-License-Identifier: MIT
//
// When the next impact of a sub-step happens.

#pragma once

#include "sim/scan.h"

/// First impact in (0, T] along the motion, over all features but the resting ones. Fills the
/// scan's roots and returns the time of the earliest, infinite when there is none; ties go to the
/// lower feature, in *feature. *has_memory false: no memory for a solve.
double cri_event_search(cr_sim *sim, cri_motion *motion, double T, int n_rest, const int *rest,
                        int *feature, bool *has_memory);
