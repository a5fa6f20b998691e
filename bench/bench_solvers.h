// SPDX-License-Identifier: MIT
//
// carom bench solvers: how often the contact laws are solved, and at what cost.

#pragma once

#include "cli/options.h"
#include "report/result.h"

/// Runs the laws on random problems, or on the files behind the first word, prints a table and adds
/// rows up to n_most of them. Returns an exit code.
int cli_bench_solvers(const cli_options *options, int n_most, cri_bench_row *row, int *n_row);

/// Solves a fixed set of problems n times, nothing else: for instruction counts.
int cli_bench_solves(const char *law, int n);
