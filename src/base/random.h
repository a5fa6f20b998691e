// SPDX-License-Identifier: MIT
//
// Random numbers for test problems: streams that are the same on every machine.
//
// Only additions, products and square roots are used, which IEEE 754 rounds in one way, so that a
// seed names its numbers to the last bit.

#pragma once

#include <stdint.h>

/// A stream in the caller's memory.
typedef struct cri_random {
    uint64_t state;
} cri_random;

/// The stream of a seed; different stream numbers of one seed are unrelated. Any value will do.
cri_random cri_random_of(uint64_t seed, uint64_t stream);

/// Uniform in [lower, upper).
double cri_random_uniform(cri_random *r, double lower, double upper);

/// Whole number from lower to upper, both included.
int cri_random_whole(cri_random *r, int lower, int upper);

/// Mean 0, variance 1, a bell that ends at 6.
double cri_random_normal(cri_random *r);

/// Between 10^lower and 10^upper: 10^k (1 + 9 t) with k + t uniform in [lower, upper) and t in
/// [0, 1), evenly over decades.
double cri_random_decade(cri_random *r, double lower, double upper);
