// SPDX-License-Identifier: MIT
//
// The result of carom fit for human eyes.

#pragma once

#include "optimize/fit.h"

enum { CLI_DOUBT_LIMIT = 256 };

/// The true value of an entry, where a recording tells it.
bool cli_fit_truth(const cri_fit_problem *problem, const cri_fit_entry *entry, double *truth);

/// What to say about residuals that are far above the noise that the recordings show. False:
/// nothing.
bool cli_fit_doubt(const cri_fit *fit, char text[CLI_DOUBT_LIMIT]);

/// Prints tables and sentences on stdout.
void cli_fit_print(const cri_fit_problem *problem, const cri_fit *fit, double seconds);
