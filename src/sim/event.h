// SPDX-License-Identifier: MIT
//
// When the next impact of a sub-step happens.

#pragma once

#include "sim/motion.h"

/// Gap, rate and overlap of every feature at x, into sim->gap, sim->speed and sim->offset.
void cri_event_measure(cr_sim *sim, const double *x);

/// Does a feature with this gap and rate rest at x, in a step of h seconds?
bool cri_event_is_rest(const cr_sim *sim, int feature, const double *x, double h, double gap,
                       double speed);

/// First impact in (0, T] along the motion, over all features but the resting ones. Fills sim->root
/// and returns the time of the earliest, infinite when there is none; ties go to the lower feature,
/// in *feature. *has_memory false: no memory for a solve.
double cri_event_search(cr_sim *sim, cri_motion *motion, double T, int n_rest, const int *rest,
                        int *feature, bool *has_memory);
