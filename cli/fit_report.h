// SPDX-License-Identifier: MIT
//
// The page of a fit: parameters with their error bars, the recording beside the motions that were
// found and started from, and those motions over each other.

#pragma once

#include "optimize/fit.h"
#include "report/report.h"
#include "scene.h"

/// What a fit has left behind.
typedef struct cli_fit_result {
    const cli_scene *scene;
    const cri_fit *fit;
    cri_replay *replay; // its point is the one that was found; used for the runs, and ends there
    double seconds;
} cli_fit_result;

/// Fills report, which may be NULL. Returns an exit code.
int cli_fit_report(cri_report *report, const cli_fit_result *result);
