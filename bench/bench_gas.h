// SPDX-License-Identifier: MIT
//
// Many bodies: what the search for contacts costs.

#pragma once

#include "cli/options.h"

/// What n spheres take: means of a run, the least of the runs.
typedef struct cli_bench_gas_result {
    double load;   // s, from the text to the model
    double flight; // s, a step before the first impact: the search for pairs, and flight
    double step;   // s, a step of the gas
    double impact; // impacts in such a step
} cli_bench_gas_result;

/// n_layer hundred elastic spheres that fly about in a box without gravity, at a density that does
/// not depend on n_layer. Returns an exit code.
int cli_bench_gas(int n_layer, cli_bench_gas_result *out);
