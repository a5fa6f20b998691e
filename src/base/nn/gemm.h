// SPDX-License-Identifier: MIT
//
// Products of dense matrices, row-major without gaps; the one place that calls BLAS.
//
// Products of four million multiplications go to OpenBLAS, on one thread, which is loaded by the
// first of them. The others, and all when it is missing or has no kernels for this processor, go to
// a loop of our own: its bits are those of every machine, and a row of C does not depend on how
// many rows there are. In either case a shape gives the same bits on every thread and at every
// call.

#pragma once

#include <stdbool.h>

/// C (m, n) = A (m, k) B (n, k)^T, added to C when is_adding.
void cri_gemm_nt(int m, int n, int k, const double *A, const double *B, double *C, bool is_adding);

/// C (m, n) = A (m, k) B (k, n), likewise.
void cri_gemm_nn(int m, int n, int k, const double *A, const double *B, double *C, bool is_adding);

/// C (m, n) = A (k, m)^T B (k, n), likewise.
void cri_gemm_tn(int m, int n, int k, const double *A, const double *B, double *C, bool is_adding);

/// sum (n) += the rows of A (m, n).
void cri_sum_rows(int m, int n, const double *A, double *sum);

/// True when large products go to BLAS, which is loaded then.
bool cri_gemm_has_blas(void);
