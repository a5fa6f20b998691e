// SPDX-License-Identifier: MIT
//
// All commands, one file each, and what they have in common.

#pragma once

#include "options.h"

extern const cli_command cli_simulate;
extern const cli_command cli_gradient;
extern const cli_command cli_fit;
extern const cli_command cli_compare;
extern const cli_command cli_plan;
extern const cli_command cli_linearize;
extern const cli_command cli_bench;
extern const cli_command cli_examples;
extern const cli_command cli_experiment;
extern const cli_command cli_experiments;
extern const cli_command cli_learn;
extern const cli_command cli_shape;
extern const cli_command cli_params;
extern const cli_command cli_laws;
extern const cli_command cli_help;
extern const cli_command cli_version;
extern const cli_command cli_completion;
extern const cli_command cli_man;

/// All of them, NULL behind the last.
extern const cli_command *const cli_commands[];

/// The command of that name, NULL after a line on stderr that says what it may have been.
const cli_command *cli_command_find(const char *name);

/// What 'carom help' says below the list of commands.
extern const char cli_notes[];
extern const char cli_exit_codes[];

/// Lines of help that every command ends with.
extern const char cli_help_end[];

/// What a command has to say about itself, to stdout.
void cli_help_print(const cli_command *command);

/// Name number i of the contact laws, and of the steppers; NULL behind the last.
const char *cli_law_name(int i);
const char *cli_stepper_name(int i);
