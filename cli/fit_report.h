// SPDX-License-Identifier: MIT
//
// The page of a fit: parameters with their error bars, how they hang together, what stays open, and
// the first recordings beside the motions that were found and started from.

#pragma once

#include "optimize/fit.h"
#include "report/report.h"
#include "scene.h"

/// What a fit has left behind.
typedef struct cli_fit_result {
    const cli_scene *scene;
    const cri_fit_problem *problem;
    const cri_fit *fit;
    double seconds;
} cli_fit_result;

/// Fills report, which may be NULL. Returns an exit code.
int cli_fit_report(cri_report *report, const cli_fit_result *result);
