// SPDX-License-Identifier: MIT
//
// What the options of carom fit say about noise, priors, bounds and what is held out.

#pragma once

#include "optimize/fit.h"
#include "scene.h"

/// Takes --noise: sets the sigma of the columns of all recordings. Returns an exit code.
int cli_fit_noise(const cli_scene *scene, const cli_options *options, int n_recording,
                  cri_recording *recording);

/// Takes --robust, --prior, --bound, --holdout and which x0 were --set into problem, whose model,
/// selection, recordings and start values are there. Returns an exit code.
int cli_fit_settle(const cli_scene *scene, const cli_options *options, cri_fit_problem *problem);
