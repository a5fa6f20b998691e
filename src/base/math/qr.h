// SPDX-License-Identifier: MIT
//
// Dense QR factorisation with column pivoting: rank, least squares, null space.
//
// A P = Q R, A (m, n) row-major with m >= n. Columns are chosen by their remaining length, so the
// diagonal of R falls and shows the rank.

#pragma once

struct cr_arena;

/// Householder vectors below the diagonal of a, R on and above it. Points into the arena that made
/// it.
typedef struct cri_qr {
    int m, n;
    int rank;     // diagonal entries above tolerance times the first
    double *a;    // (m, n)
    double *beta; // (n) factors of the reflectors
    int *column;  // (n) column of A that stands at each place
} cri_qr;

/// Factors a copy of A. rank_tolerance is relative to the largest diagonal of R. The arena has
/// room.
cri_qr cri_qr_factor(int m, int n, const double *A, double rank_tolerance, struct cr_arena *arena);

/// Least-squares x (n) of A x = b (m); b is overwritten. Entries behind the rank are zero.
void cri_qr_solve(const cri_qr *qr, double *b, double *x);

/// Its adjoint: b_adj (m) = (A^+)' x_adj (n), for the x of cri_qr_solve.
void cri_qr_solve_vjp(const cri_qr *qr, const double *x_adj, double *b_adj);
