// SPDX-License-Identifier: MIT
//
// What carom fit --depth GEOM=FILE reads: points of a geom's surface over time, or depth frames.

#pragma once

#include "optimize/recording.h"
#include "options.h"
#include "scene.h"

/// Reads number k of the options' --depth into a recording. Returns an exit code.
int cli_fit_depth(const cli_scene *scene, const cli_options *options, int k, cri_recording *out);
