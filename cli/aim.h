// SPDX-License-Identifier: MIT
//
// What every command about targets begins with: --target and --wrt, and the numbers they select.

#pragma once

#include "optimize/aim.h"
#include "scene.h"

/// A run towards targets. Arrays belong to the scene's memory.
typedef struct cli_aim {
    cri_target *target; // in the order of their times
    cri_aim aim;
    cri_selection *selection; // owned
    cri_point point;          // the scene's start values
    double *z;                // (n_variable) those that are selected
} cli_aim;

/// Reads --target and --steps, then selects wrt, which is named as --wrt in messages. Returns an
/// exit code, after a line on stderr when it is not CLI_DONE. Close it in either case, before the
/// scene.
int cli_aim_open(const cli_scene *scene, const cli_options *options, const char *wrt, cli_aim *out);

void cli_aim_close(cli_aim *aim);
