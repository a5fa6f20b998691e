// SPDX-License-Identifier: MIT
//
// One run of carom plan, and what it shows of it.

#pragma once

#include "optimize/plan.h"
#include "optimize/receding.h"
#include "scene.h"
#include "targets.h"

/// Everything of one run.
typedef struct cli_planning {
    const cli_options *options;
    cli_scene scene;
    cr_sim *sim; // without gradients
    cri_selection *selection;
    cri_target *target;
    cri_aim aim;
    cri_point point;    // ends up holding the plan
    cri_waves waves;    // with --sines
    int n_variable;     // of the plan: those of the selection, or of the waves
    const char **name;  // (n_variable)
    cri_domain *domain; // (n_variable)
    double *z;          // (n_variable) the start
    cri_plan_options plan_options;
    cri_progress progress;
    cri_plan plan;
    int n_window; // receding horizon: windows, else 0
    double seconds;
} cli_planning;

/// Writes values of the plan's variables (n_variable) to t->point.
void cli_plan_put(cli_planning *t, const double *z);

/// The plan in words on stdout.
void cli_plan_print(const cli_planning *t);

/// Writes the files that the options ask for. Returns an exit code.
int cli_plan_write(const cli_planning *t);

/// Writes the page that the options ask for. Returns an exit code.
int cli_plan_page(cli_planning *t);

/// The verdict: CLI_DONE when the targets are reached, else CLI_FAILED after a line on stderr. err
/// is that of a checkpoint that could not be written.
int cli_plan_judge(const cli_planning *t, const cr_error *err);
