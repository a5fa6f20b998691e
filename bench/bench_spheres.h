// SPDX-License-Identifier: MIT
//
// One problem of three contacts, for comparison with other programs: two spheres that touch each
// other and a floor.

#pragma once

#include "contact/law.h"

/// What the problem costs under a law, seconds, each the least of many.
typedef struct cli_spheres_times {
    double solve;    // from f = 0, without what derivatives need
    double prepared; // likewise, with it
    double vjp;      // of a prepared one
    cr_outcome outcome;
    double residual; // of the certificate, at most 1 is solved
    double f_n;      // normal impulse between the spheres, N s
} cli_spheres_times;

/// Solves with restitution e, 0 for contacts that merely rest. Returns an exit code.
int cli_bench_spheres(const cri_law *law, double e, cli_spheres_times *out);

/// The same n times without a clock, or one prepared solve and n vjps: for instruction counts.
int cli_bench_spheres_work(const char *law, bool is_vjp, int n);
