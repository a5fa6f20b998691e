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

/// Solves A' x = b in place.
void cri_lu_solve_transposed(int n, const double *lu, const int *pivot, double *b);
