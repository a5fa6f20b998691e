// SPDX-License-Identifier: MIT
//
// Dense LU factorisation with partial pivoting, row-major, in place.

#pragma once

#include <stdbool.h>

/// Factors a (n, n) in place; pivot (n) gets the row exchanges. False when a pivot is zero or not
/// finite; a is then unusable.
bool cri_lu_factor(int n, double *a, int *pivot);

/// Solves A x = b in place.
void cri_lu_solve(int n, const double *lu, const int *pivot, double *b);

/// The same for the columns of B (n, n_column).
void cri_lu_solve_many(int n, const double *lu, const int *pivot, int n_column, double *B);

/// Solves A' x = b in place.
void cri_lu_solve_transposed(int n, const double *lu, const int *pivot, double *b);

/// Smallest pivot, relative to the largest: near zero the matrix is singular.
double cri_lu_pivot_ratio(int n, const double *lu);
