// SPDX-License-Identifier: MIT
//
// Dense Cholesky factorisation of a symmetric positive definite matrix, row-major, in place.

#pragma once

#include <stdbool.h>

/// Factors a (n, n) in place; reads and writes the upper triangle alone. False when a pivot is not
/// positive or not finite; a is then unusable.
bool cri_cholesky_factor(int n, double *a);

/// The same; returns the row of the pivot that is not, n when all are.
int cri_cholesky_rows(int n, double *a);

/// Solves A x = b in place.
void cri_cholesky_solve(int n, const double *factor, double *b);
