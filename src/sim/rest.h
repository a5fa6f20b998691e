// SPDX-License-Identifier: MIT
//
// Which touches rest.

#pragma once

#include "sim/scan.h"

/// Does a touch of a feature with this rate rest at a state, in a step of h seconds?
bool cri_is_resting(const cr_sim *sim, int feature, const cri_narrow_touch *touch,
                    const cri_state *state, double h, double speed);

/// Has one of the units had its share of impacts in this step?
bool cri_is_capped(const cr_sim *sim, const cri_near *near);

/// Is a feature, as it was measured, within reach of such a unit?
bool cri_rests_by_cap(const cr_sim *sim, int feature, double h);

/// How fast the gaps of the features in scan->rest (n_rest) would be drawn shut by the turning of
/// their bodies alone, m/s^2: the largest -k, or 0.
double cri_rest_sinking(cr_sim *sim, const cri_motion *motion, int n_rest);
