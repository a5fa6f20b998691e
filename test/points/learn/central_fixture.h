// SPDX-License-Identifier: MIT
//
// Systems of points for tests.

#pragma once

#include "cr_test.h"
#include "points/learn/baseline.h"
#include "points/learn/central.h"

#include <math.h>
#include <string.h>

static const char *const fixture_body[] = {"a", "b", "c", "d"};
static const double fixture_along[3] = {1.0, 0.0, 0.0};

/// Weights of the test vectors: W_l[i][j] = sin(0.5 + 1.3 l + 0.7 i + 0.9 j)/sqrt(n), b_l[i] = 0.1
/// cos(l + 0.3 i), l from 0.
static inline void fixture_weights(const cri_mlp *net, double *w) {
    for (int l = 0; l < net->n_layer; l++) {
        int n_in = net->width[l];
        for (int k = 0; k < net->width[l + 1] * n_in; k++) {
            *w++ = sin(0.5 + 1.3 * l + 0.7 * (k / n_in) + 0.9 * (k % n_in)) / sqrt(n_in);
        }
        bool has_bias = l + 1 < net->n_layer || !net->has_no_last_bias;
        for (int i = 0; has_bias && i < net->width[l + 1]; i++) {
            *w++ = 0.1 * cos(l + 0.3 * i);
        }
    }
}

/// One step of one row; fails the test for lack of memory.
static inline cri_system_row fixture_step(const cri_central *c, const double *p, double h,
                                          const double *x, double *x_next) {
    cr_arena *arena = cri_arena_create(1 << 14);
    assert_non_null(arena);
    cri_system_row row;
    cri_system_batch batch = {p, h, 1, 0, x, NULL};
    assert_true(cri_central_kind.step(c, &batch, x_next, &row, NULL, arena));
    cri_arena_destroy(arena);
    return row;
}
