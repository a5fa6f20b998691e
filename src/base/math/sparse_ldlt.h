// SPDX-License-Identifier: MIT
//
// Sparse L D L' of a symmetric matrix, in an order that keeps L sparse. Pivots are taken as they
// come: the matrix is positive definite or quasi-definite.
//
// Pattern first, numbers later: cri_fill_find looks at where the matrix is nonzero, and its answer
// holds for every matrix of that pattern. Nothing here calls the heap; memory comes from arenas.

#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/// Where a symmetric matrix may be nonzero, by rows: row i has the columns index[first[i]] to
/// index[first[i + 1] - 1], ascending, of both triangles and with the diagonal.
typedef struct cri_pattern {
    int n;
    const int *first; // (n + 1)
    const int *index;
} cri_pattern;

/// Where its factor L may be nonzero. Rows and columns are counted as places of the elimination.
typedef struct cri_fill {
    int n;
    int *order;       // (n) the row of the matrix that comes at a place
    int *place;       // (n) the inverse
    int *below_first; // (n + 1)
    int *below;       // column k of L without its diagonal: rows, ascending
    int *left_first;  // (n + 1)
    int *left;        // row k of L without its diagonal: columns, ascending
} cri_fill;

/// An order that keeps the factor sparse: approximate minimum degree, or the natural one where the
/// library was built without it. Overwrites order (n).
void cri_pattern_order(const cri_pattern *pattern, int *order, cr_arena *scratch);

/// Finds the fill of the order; NULL asks cri_pattern_order. False, and nothing kept, when L has
/// more than n_most entries below its diagonal.
bool cri_fill_find(const cri_pattern *pattern, const int *order, int n_most, cri_fill *fill,
                   cr_arena *arena);

/// Room that cri_fill_find needs for n_entry entries of the pattern.
size_t cri_fill_bytes(int n, int n_entry, int n_most);

/// A factor. The pattern and its fill are borrowed.
typedef struct cri_ldlt {
    const cri_pattern *pattern;
    const cri_fill *fill;
    double *value;  // of fill->below
    double *d_inv;  // (n) 1/D
    double *work;   // (n)
    int *filled;    // (n) entries of each column so far
    int n_negative; // pivots below zero: none of a positive definite matrix
} cri_ldlt;

/// Room for the numbers, from the arena.
cri_ldlt cri_ldlt_push(const cri_pattern *pattern, const cri_fill *fill, cr_arena *arena);
size_t cri_ldlt_bytes(int n, int n_most);

/// Factors the matrix with the entries a, one for each of pattern->index. Returns -1, or the row
/// of the matrix whose pivot is zero or not finite; the factor is then unusable.
int cri_ldlt_factor(cri_ldlt *ldlt, const double *a);

/// Solves for n_rhs right sides b (n_rhs, n), in place.
void cri_ldlt_solve(const cri_ldlt *ldlt, int n_rhs, double *b);
