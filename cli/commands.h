// SPDX-License-Identifier: MIT
//
// All commands, one file each.

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
