// SPDX-License-Identifier: MIT
//
// What a benchmark measures inside one process.

#pragma once

#include "cli/options.h"

/// Seconds for a rollout of one scene.
typedef struct cli_bench_times {
    double forward;  // rollout, gradients off
    double recorded; // rollout, gradients on
    double gradient; // adjoint of the recorded one for all parameters and the initial state
    double dt;       // length of its steps
} cli_bench_times;

/// Least times of n_repeat runs of n_step steps. scene is a path or "builtin:NAME". Returns an exit
/// code.
int cli_bench_rollout(const char *scene, int n_step, int n_repeat, cli_bench_times *out);

/// Least seconds to load a scene, of n_repeat times.
int cli_bench_load(const char *scene, int n_repeat, double *seconds);

/// What is done at every step of an instruction count.
typedef enum cli_bench_work {
    CLI_WORK_STEP,     // the step, gradients off
    CLI_WORK_GRADIENT, // the step with its caches, and its adjoint
    CLI_WORK_JACOBIAN, // the step with its caches, and the tangents of all of the state
} cli_bench_work;

/// n_step steps and nothing else, for instruction counts. options gives stepper and law. Prints how
/// many steps had no derivative, when there are any.
int cli_bench_steps(const cli_options *options, const char *scene, int n_step, cli_bench_work work);

/// Largest memory of this process so far, MB.
double cli_bench_peak_mb(void);
