// SPDX-License-Identifier: MIT
//
// Task files of carom plan: all of its options as JSON, docs/plan-task.schema.json.

#pragma once

#include "options.h"

/// As cli_options_parse. When the command is plan and its word is a task file, the options are
/// those of the file, where the command line gives none of the same name. Release out with
/// cli_plan_task_free in either case.
int cli_plan_task_parse(const cli_command *command, int n_arg, char **arg, cli_options *out);

/// Releases what a task file brought; the strings of options are gone then. One without a task file
/// is left alone.
void cli_plan_task_free(cli_options *options);

/// Refuses a --save-task that cannot be kept. Returns an exit code.
int cli_plan_task_check(const cli_options *options);

/// Writes the task that is run to the file of --save-task, when there is one. Returns an exit code.
int cli_plan_task_save(const cli_options *options);
