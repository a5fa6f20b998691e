// SPDX-License-Identifier: MIT
//
// Mixed linear complementarity problems, dense:
//
//   w = M z + q,    w_i = 0 for i < n_free (z_i of any sign),    0 <= z_i perp w_i >= 0 else
//
// M (n, n) need not be symmetric. An interior point for the copositive ones of friction, Lemke's
// method behind it, which ends in finitely many steps. A point is judged by |min(z_i, w_i)|, so z
// and w should be of like size; inside, the methods balance M themselves.

#pragma once

#include "base/arena.h"
#include "solvers/friction.h"

/// Arrays are borrowed.
typedef struct cri_lcp {
    int n, n_free;
    const double *M; // (n, n)
    const double *q; // (n)
} cri_lcp;

typedef struct cri_lcp_report {
    cr_outcome outcome;
    int n_iteration; // factorisations or pivots
    double residual; // largest |min(z, w)|, or |w| of a free row
} cri_lcp_report;

/// Mehrotra's predictor and corrector down to tolerance; overwrites z (n) with the best point.
cri_lcp_report cri_lcp_interior(const cri_lcp *problem, double tolerance, double *z,
                                cr_arena *scratch);

/// Lemke's method with the covering vector 1 (others after a ray) and lexicographic ratios;
/// overwrites z (n). CR_ITERATION_LIMIT for rays, too many pivots, or an M that is singular on the
/// free rows.
cri_lcp_report cri_lcp_lemke(const cri_lcp *problem, double *z, cr_arena *scratch);

/// Interior point, then Lemke where that fails, each with one solve on the active set behind it.
/// Solved means a residual of 1e-10 of the largest q, and what rounding adds.
cri_lcp_report cri_lcp_solve(const cri_lcp *problem, double *z, cr_arena *scratch);

/// The solution's active set, factored: what derivatives replay.
typedef struct cri_lcp_cache {
    int n, n_active;
    int *active;    // (n_active) rows with w = 0
    double *factor; // (n_active, n_active) LU of M on them
    int *pivot;     // (n_active)
    double margin;  // least max(z, w) of a complementary row, relative
} cri_lcp_cache;

/// Reads the active set off a solution and factors; false when M is singular there (multipliers
/// that are not unique), and then there is no derivative. Rows with z = w = 0 count as active.
bool cri_lcp_reduce(const cri_lcp *problem, const double *z, cri_lcp_cache *cache, cr_arena *keep);

/// Adjoint of z: overwrites q_adj (n); M_adj = q_adj z'.
void cri_lcp_vjp(const cri_lcp_cache *cache, const double *z_adj, double *q_adj, cr_arena *scratch);

/// Tangent of z: rhs (n) = M_tan z + q_tan. Overwrites z_tan (n).
void cri_lcp_jvp(const cri_lcp_cache *cache, const double *rhs, double *z_tan, cr_arena *scratch);

/// Room that any of these needs in its arena.
size_t cri_lcp_bytes(int n);

/// The octagon law of friction.h with l = 0 as such a problem (SDF, A.7), ten rows a contact:
/// z = (f_n, beta_0 .. beta_7, gamma), f_t = sum beta_k d_k. M (10n, 10n) and q (10n) are pushed on
/// keep.
cri_lcp cri_octagon_lcp(const cri_friction *problem, cr_arena *keep);

/// The impulses f (3n) of its solution z.
void cri_octagon_impulse(int n, const double *z, double *f);

/// The same for a law of its own: eight corners a contact, corner (n, 8, 2) unit vectors with the
/// centre inside, and bounds l. kind is not read.
cri_lcp cri_polygon_lcp(const cri_friction *problem, const double *corner, cr_arena *keep);

/// The impulses f (3n) of its solution z.
void cri_polygon_impulse(const cri_friction *problem, const double *corner, const double *z,
                         double *f);

// for tests

/// Largest residual of z (n), from the raw data.
double cri_lcp_residual(const cri_lcp *problem, const double *z);
