// SPDX-License-Identifier: MIT
//
// Islands: groups of contacts linked through units that move. What stands still does not link.

#pragma once

#include "contact/near.h"

/// Numbers the islands of these contacts (n) in the order of their first contact, and returns how
/// many there are. near (n) gives the units; island (n) gets that of each contact, island_of_unit
/// (n_unit) that of each unit, -1 for a unit that no contact touches.
int cri_islands(const cr_model *model, int n, const cri_near *const *near, int *island_of_unit,
                int *island);
