// SPDX-License-Identifier: MIT
//
// Islands: groups of contacts linked through moving bodies. Planes do not link.

#pragma once

#include "model/model.h"

/// Numbers the islands of these features (n, ascending) in the order of their first feature, and
/// returns how many there are. island (n) gets that of each feature, island_of_body (n_body) that
/// of each body, -1 for a body that no feature touches.
int cri_islands(const cr_model *model, int n, const int *feature, int *island_of_body, int *island);
