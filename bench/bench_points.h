// SPDX-License-Identifier: MIT
//
// Systems of points in contact: what windows of four steps with their adjoints cost.

#pragma once

#include "cli/options.h"

/// Least seconds of a window of B states, forward and adjoint.
typedef struct cli_bench_points_result {
    double smooth;  // without contacts, and without a potential
    double contact; // what contacts add
    double per_row; // contacts in a step, mean over states and steps
    int n_dof;      // coordinates of one state
} cli_bench_points_result;

/// system of points/contact/points_step.h with n points (a rope; else 0), B states. Returns an exit
/// code.
int cli_bench_points(const char *system, int n, int B, cli_bench_points_result *out);
