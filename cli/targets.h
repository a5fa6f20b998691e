// SPDX-License-Identifier: MIT
//
// The targets of a command line.

#pragma once

#include "optimize/aim.h"
#include "scene.h"

/// Reads every --target; the aim has them in the order of their times, each with its number on the
/// command line. Returns an exit code, after a line on stderr when it is not CLI_DONE.
int cli_targets_read(const cli_scene *scene, const cli_options *options, cri_target **target,
                     cri_aim *aim);
