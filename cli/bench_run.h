// SPDX-License-Identifier: MIT
//
// What a benchmark measures inside one process.

#pragma once

#include "options.h"

/// Seconds for a rollout of one scene.
typedef struct cli_bench_times {
    double forward;  // rollout, gradients off
    double recorded; // rollout, gradients on
    double gradient; // adjoint of the recorded one for all parameters and the initial state
} cli_bench_times;

/// Least times of n_repeat runs of n_step steps. scene is a path or "builtin:NAME". Returns an exit
/// code.
int cli_bench_rollout(const char *scene, int n_step, int n_repeat, cli_bench_times *out);

/// Least seconds to load a scene, of n_repeat times.
int cli_bench_load(const char *scene, int n_repeat, double *seconds);

/// n_step plain steps, nothing else: for instruction counts.
int cli_bench_steps(const char *scene, int n_step);

/// Largest memory of this process so far, MB.
double cli_bench_peak_mb(void);
