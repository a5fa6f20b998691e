// SPDX-License-Identifier: MIT
//
// How a run of carom fit is saved and goes on.

#pragma once

#include "optimize/fit.h"
#include "scene.h"

/// What --checkpoint says, for a problem that is settled. def keeps the text of label.
int cli_fit_save(const cli_scene *scene, const cli_options *options, const cri_fit_problem *problem,
                 char label[CRI_JOURNAL_LABEL], cri_journal_def *def);
