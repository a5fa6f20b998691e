// SPDX-License-Identifier: MIT
//
// The result of carom fit for human eyes.

#pragma once

#include "optimize/fit.h"

/// The true value of an entry, where a recording tells it.
bool cli_fit_truth(const cri_fit_problem *problem, const cri_fit_entry *entry, double *truth);

/// Prints tables and sentences on stdout.
void cli_fit_print(const cri_fit_problem *problem, const cri_fit *fit, double seconds);
