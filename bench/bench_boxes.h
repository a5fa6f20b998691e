// SPDX-License-Identifier: MIT
//
// Many boxes in contact: what a step with its full Jacobian costs.

#pragma once

#include "cli/options.h"

/// How the boxes stand.
typedef enum cli_boxes {
    CLI_BOXES_FLOOR,  // each on the floor
    CLI_BOXES_STACKS, // in stacks of four
} cli_boxes;

/// Least seconds of a step, and of a step with its full transition Jacobian, of 32 free boxes at
/// rest, end of step.
typedef struct cli_bench_boxes_result {
    double step;
    double jacobian;
    int n_contact; // in the last step
} cli_bench_boxes_result;

/// Returns an exit code.
int cli_bench_boxes(cli_boxes kind, cli_bench_boxes_result *out);
