// SPDX-License-Identifier: MIT
//
// Pseudoinverse of a symmetric positive semidefinite matrix, by Cholesky with diagonal pivoting.

#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/// K = N' D N for such a basis N = [X; 1] and weights D (n) by rows of S, NULL: 1; factored as
/// base/math/cholesky.h has it. work (rank, n - rank), with D only. False for numbers beyond all
/// scales.
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
