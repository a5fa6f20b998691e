// SPDX-License-Identifier: MIT
//
// Which touches rest.

#pragma once

#include "sim/scan.h"

/// Does a touch of a feature with this rate rest at a state, in a step of h seconds?
bool cri_is_resting(const cr_sim *sim, int feature, const cri_narrow_touch *touch,
                    const cri_state *state, double h, double speed);
