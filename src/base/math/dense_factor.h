// SPDX-License-Identifier: MIT
//
// Factors of dense matrices, row-major: LU with partial pivoting, Cholesky for symmetric positive
// definite ones, QR with column pivoting for rank, least squares and null space, and Cholesky with
// diagonal pivoting for the pseudoinverse of symmetric positive semidefinite ones.
//
// QR: A P = Q R, A (m, n) with m >= n. Columns are chosen by their remaining length, so the
// diagonal of R falls and shows the rank.

#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/// Factors a (n, n) in place; reads and writes the upper triangle alone. False when a pivot is not
/// positive or not finite; a is then unusable.
bool cri_cholesky_factor(int n, double *a);

/// Solves A x = b in place.
void cri_cholesky_solve(int n, const double *factor, double *b);

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

struct cr_arena;

/// Points into the arena that made it.
typedef struct cri_psd {
    int n, rank;
    int *order; // (n) row of S that stands at each place
    double *U;  // (rank, n) upper triangle, S = U'U in that order; entries below mean nothing
    double *X;  // (rank, n - rank) of cri_psd_null_basis
    double *K;  // (n - rank, n - rank) factor of 1 + X'X
} cri_psd;

/// Factors S (n, n). A pivot below tolerance times the diagonal entry that it comes from is zero.
/// The arena has room (cri_psd_bytes).
cri_psd cri_psd_factor(int n, const double *S, double tolerance, struct cr_arena *arena);
size_t cri_psd_bytes(int n);

/// The same in two parts: order, U and rank, and what a solve needs besides.
cri_psd cri_psd_pivot(int n, const double *S, double tolerance, struct cr_arena *arena);
void cri_psd_finish(cri_psd *psd);

/// X (rank, n - rank): in that order the columns of [X; 1] are a basis of the null space of the
/// first rank rows of S, for a rank of at most psd's.
void cri_psd_null_basis(const cri_psd *psd, int rank, double *X);

/// K = N' D N for such a basis N = [X; 1] and weights D (n) by rows of S, NULL: 1; factored by
/// cri_cholesky_factor. work (rank, n - rank), with D only. False for numbers beyond all scales.
bool cri_psd_null_factor(const cri_psd *psd, int rank, const double *X, const double *D, double *K,
                         double *work);

/// x (n) = N K^-1 N' b. work (2n).
void cri_psd_null_apply(const cri_psd *psd, int rank, const double *X, const double *K,
                        const double *b, double *x, double *work);

/// x (n): the first rank rows and columns of S, in that order, inverted and applied to those
/// entries of b; zero elsewhere. It is its own adjoint. work (n).
void cri_psd_solve_first(const cri_psd *psd, int rank, const double *b, double *x, double *work);

/// x (n) = S^+ b, the least-norm solution of S x = b in the sense of least squares. work (2n). It
/// is its own adjoint.
void cri_psd_solve(const cri_psd *psd, const double *b, double *x, double *work);

/// Some solution of the same for the columns of X (n, n_column), in place: S X = S S^+ B. work
/// (2n, n_column).
void cri_psd_solve_many(const cri_psd *psd, int n_column, double *X, double *work);

/// x (n) = (1 - S S^+) b, the part of b in the null space. work (2n). It is its own adjoint.
void cri_psd_null_part(const cri_psd *psd, const double *b, double *x, double *work);

/// Rows of Z (n - rank, n): an orthonormal basis of the null space of S, to the same tolerance.
/// Returns their number. scratch has room for a factor.
int cri_psd_null_space(int n, const double *S, double tolerance, double *Z,
                       struct cr_arena *scratch);

/// Orthonormalises row k of Z (k + 1, n) against the rows before it; 0 when nothing is left, else
/// 1.
int cri_orthonormalise(double *Z, int k, int n);
