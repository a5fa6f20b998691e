// SPDX-License-Identifier: MIT
//
// Motions as CSV: column t in seconds, then one column an entry of the state, named like it.

#pragma once

#include "base/base.h"
#include "report/atomic_file.h"

/// Writes the line of names.
void cri_trajectory_header(cri_atomic_file *file, const cr_model *model);

/// Writes the state x (n_x) at time t. Numbers have the digits that bring every double back.
void cri_trajectory_row(cri_atomic_file *file, int n_x, double t, const double *x);
