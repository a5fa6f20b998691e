// SPDX-License-Identifier: MIT
//
// Can contacts jam? (contact/problem_make.h)

#pragma once

#include "base/arena.h"

/// G (n, n_dof) has the directions in which contacts push. True when some of them balance: there is
/// y >= 0, not zero, with G' y = 0. scratch has room (cri_problem_jams_bytes).
bool cri_problem_jams(int n, int n_dof, const double *G, cr_arena *scratch);

/// Room that cri_problem_jams needs.
size_t cri_problem_jams_bytes(int n, int n_dof);
