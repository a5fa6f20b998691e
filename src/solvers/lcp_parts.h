// SPDX-License-Identifier: MIT
//
// What the files of lcp.h share: the problem in balanced numbers.

#pragma once

#include "solvers/lcp.h"

/// z = size d z', w = size w'/d: M' = d M d has rows and columns of largest entry about 1, the
/// largest q' is 1. Complementary pairs stay so, and a copositive M' too.
typedef struct cri_lcp_balanced {
    cri_lcp problem; // M', q'
    double *d;       // (n), > 0
    double size;     // > 0
} cri_lcp_balanced;

/// Pushes M', q' and d on the arena.
cri_lcp_balanced cri_lcp_balance(const cri_lcp *problem, cr_arena *arena);

/// What a residual may be to count as solved: 1e-10 of the largest q, and the rounding of M z up to
/// 1e-8 of it.
double cri_lcp_tolerance(const cri_lcp *problem, const double *z);

/// w (n) = M z + q
void cri_lcp_slack(const cri_lcp *problem, const double *z, double *w);
