// SPDX-License-Identifier: MIT
//
// What the files of gemm.h share.

#pragma once

#include <stdbool.h>

/// A matrix by its steps in memory.
typedef struct cri_matrix_view {
    const double *at;
    long row, col;
} cri_matrix_view;

/// C = A B, or C += A B.
typedef struct cri_product {
    int m, n, k;
    cri_matrix_view a, b;
    double *c;
    long c_row, c_col;
    bool is_adding;
} cri_product;

/// The product by a loop of our own.
void cri_gemm_plain(const cri_product *x);
