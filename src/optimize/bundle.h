// SPDX-License-Identifier: MIT
//
// Gradient bundles: a loss smoothed by random changes of its variables.
//
//     F(z) = E f(z + sigma w),  w normal
//
// estimated with N fixed draws of w, the same at every z, so that F is one function and a run can
// be repeated. It shows a slope where f is flat, such as before the first touch, and none of f's
// jumps. (Suh, Pang and Tedrake 2022: bundled gradients.)

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/minimise.h"

#include <stdint.h>

typedef struct cri_bundle_options {
    int n;          // draws, 0: no bundle
    double sigma;   // in the unit of each variable
    bool is_zeroth; // from losses alone, else from gradients
    uint64_t seed;
} cri_bundle_options;

typedef struct cri_bundle {
    cri_bundle_options options;
    const cri_objective *inner; // borrowed; its gradient may fail at single draws
    double *noise;              // (n, inner->n)
    double *z;                  // (inner->n) work
    double *gradient;           // (inner->n) work
    cri_objective objective;    // F; without residuals
} cri_bundle;

/// Reads N:SIGMA, N:SIGMA:first or N:SIGMA:zeroth; false when it is none of them.
bool cri_bundle_parse(const char *text, cri_bundle_options *out);

CR_MUST_CHECK cr_status cri_bundle_init(const cri_objective *inner,
                                        const cri_bundle_options *options, cr_arena *arena,
                                        cri_bundle *out, cr_error *err);
