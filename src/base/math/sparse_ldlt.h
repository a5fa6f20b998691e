// SPDX-License-Identifier: MIT
//
// Sparse L D L' of a symmetric matrix, in an order that keeps L sparse. Pivots are taken as they
// come: the matrix is positive definite or quasi-definite.
//
// Pattern first, numbers later: cri_fill_find looks at where the matrix is nonzero, and its answer
// holds for every matrix of that pattern. Nothing here calls the heap; memory comes from arenas.
//
// cri_block_factor: factor of a symmetric positive definite matrix over groups of unknowns, most of
// which may not know each other: bodies. A block of two groups that is zero to the last number is
// neither stored nor multiplied, and groups are taken in an order that makes few blocks nonzero on
// the way.
//
// Where every two groups are coupled the order is the given one, and every number has the bits that
// cri_cholesky_factor gives it.

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

/// Finds the fill of the order; NULL asks pattern_order. False, and nothing kept, when L has
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

/// Groups of unknowns: group i has those from first[i] to first[i + 1] - 1. Borrowed.
typedef struct cri_groups {
    int n;            // groups
    const int *first; // (n + 1)
} cri_groups;

/// Consecutive places that a row has: columns of the matrix in order, side by side in the row.
typedef struct cri_block_run {
    int place, end; // places
    int at, length; // numbers of the row
} cri_block_run;

/// A = U' D U, groups in the order of their places. Row k of a group has the row of D U at the
/// columns of its own group and of those that it is coupled with, 1/d_k in place of its pivot.
typedef struct cri_block_factor {
    cri_groups groups;
    int *column;        // (n + 1) first unknown of a place
    int *run_first;     // (n + 1)
    int *order;         // (n) the group at a place
    int *width;         // (n) numbers in a row of a place
    int *start;         // (n) where its rows begin in value
    int *at;            // (n, n) where the columns of a later place begin in a row, -1: nowhere
    cri_block_run *run; // runs of place i from run_first[i] to run_first[i + 1] - 1
    bool *coupled;      // (n, n) of the groups: what it was made for
    double *value;      // (n_value), room for the square of the unknowns unless kept
    double *work;       // (unknowns)
    int n_value;        // numbers in use, 0: nothing was factored yet
    double n_times;     // multiplications that the last factor took
} cri_block_factor;

/// Room for any matrix over the groups. False for lack of memory.
bool cri_block_factor_push(const cri_groups *groups, cr_arena *arena, cri_block_factor *out);

/// Factors H (unknowns, unknowns), of which the upper triangle of blocks and of those on the
/// diagonal is read. Returns the number of unknowns, or the first whose pivot is not positive: the
/// factor is then unusable; -1 when scratch has no memory.
int cri_block_factor_make(cri_block_factor *factor, const double *H, cr_arena *scratch);

/// b becomes H^-1 b.
void cri_block_factor_solve(const cri_block_factor *factor, double *b);

/// y = H x, from the factor.
void cri_block_factor_multiply(const cri_block_factor *factor, const double *x, double *y);

/// A copy that has room for its own numbers alone, and cannot be made again. False for lack of
/// memory.
bool cri_block_factor_keep(const cri_block_factor *factor, cr_arena *arena, cri_block_factor *out);
