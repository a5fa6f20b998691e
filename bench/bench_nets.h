// SPDX-License-Identifier: MIT
//
// What nets cost: products, activations, and one training step of the shapes of a learned ball.

#pragma once

#include <stdbool.h>

typedef struct cli_bench_nets_result {
    double small_product; // multiplications and additions a second, 32 x 100 x 100
    double large_product; // 200 x 256 x 256
    bool has_blas;        // which the large one used
    double logistic;      // s a number
    double softplus;      // s a number, value and slope
    double forward;       // s, gradient of the potential 1-500-1 on 32 rows
    double vjp;           // s, its vjp for input and weights
    double contact;       // s, value and vjp of the contact net 2-100-100-1 on 32 rows
    double batch;         // s, all of them over 10 steps, and Adam on their weights
} cli_bench_nets_result;

/// Least of many times each. Returns an exit code.
int cli_bench_nets(cli_bench_nets_result *out);
