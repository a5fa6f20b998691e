// SPDX-License-Identifier: MIT
//
// Small dense matrices of least-squares problems: triangular and singular value decompositions.
//
// Matrices are stored by columns: a[j * m + i] is row i of column j.

#pragma once

/// Q'(A | b) for the orthogonal Q that makes A (m, n), m >= n, upper triangular; overwrites a and b
/// (m). Column norms of A and the norm of b stay. b may be NULL.
void cri_triangularise(int m, int n, double *a, double *b);

/// A V = W with orthogonal V (n, n) and orthogonal columns of W, whose norms are the singular
/// values s (n), in no order. Overwrites a (m, n) by W. Small singular values are as accurate,
/// relative to their column, as large ones.
void cri_singular(int m, int n, double *a, double *v, double *s);
