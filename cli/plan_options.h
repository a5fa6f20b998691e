// SPDX-License-Identifier: MIT
//
// Options of carom plan.

#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_plan_task cli_plan_task;

/// Zero or NULL: not given.
typedef struct cli_plan_options {
    const char *controls;
    const char *method;
    const char *bundle;     // N:SIGMA[:ORDER]
    const char *checkpoint; // file to save to, and to go on from
    const char *resume;     // as checkpoint, which must be there
    const char *file;       // CSV of controls over time
    const char *beta;       // of Adam, A,B
    const char *save_task;  // file that gets all of these
    cli_plan_task *task;    // file that they came from, owned (plan_task.h)
    const char *task_file;  // its name, NULL: none
    int n_iteration;
    int n_start;
    int n_sample;
    int n_sine;
    int n_knot;
    int halve; // iterations without a fall
    int n_thread;
    int horizon; // steps
    int execute; // steps
    int n_focus; // targets out of place that count at once, 0: all
    uint64_t seed;
    double rate;
    double tolerance; // m
    double radius;    // m
    double cost;
    double spread;
} cli_plan_options;
