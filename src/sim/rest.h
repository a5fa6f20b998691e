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

/// The part of a step that the features in scan->rest (n_rest) may move at once without sinking:
/// their rows hold the tangents of turns, which they leave by k t^2/2, no more than half of what
/// counts as an overlap (sim/motion.c); at most 128 parts.
double cri_rest_part(cr_sim *sim, const cri_motion *motion, int n_rest);

/// Does a feature in touch approach no faster than such a part leaves it?
bool cri_rests_by_sinking(cr_sim *sim, const cri_motion *motion, int feature);
