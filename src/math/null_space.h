// SPDX-License-Identifier: MIT
//
// Null space of a symmetric positive semidefinite matrix, by Cholesky with diagonal pivoting.

#pragma once

struct cr_arena;

/// Orthonormalises row k of Z (k + 1, n) against the rows before it; 0 when nothing is left, else
/// 1.
int cri_orthonormalise(double *Z, int k, int n);

/// Fills rows of Z (n, n) with an orthonormal basis of {x : S x = 0} and returns their number.
/// Pivots below tolerance times the largest are zero. S (n, n) is overwritten.
int cri_psd_null_space(int n, double *S, double tolerance, double *Z, struct cr_arena *scratch);
