// SPDX-License-Identifier: MIT
//
// What experiments of paper 002 look at inside a simulator.

#pragma once

#include "carom/carom.h"

/// Do triangles share a point where the last step of an implicit law ended? Decided exactly.
bool lrc_surfaces_meet(const cr_sim *sim);

/// Value of the potential at x, nothing remembered, by all pairs or by sphere trees.
double lrc_potential_at(cr_sim *sim, const double *x, bool is_brute);
