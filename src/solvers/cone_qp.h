// SPDX-License-Identifier: MIT
//
// Cone programme by an interior point (Nesterov-Todd):
//
//   min 1/2 f'A f + c'f    over    |f_t| <= mu f_n,  f_n >= l      (three rows a contact)
//
// It is the convex law of friction.h, and knows its problem; kind is not read. A may be singular.
// The data come scaled: diagonal blocks of A with a trace of 3, |c| about 1, as friction.c
// does it.

#pragma once

#include "base/arena.h"
#include "solvers/friction.h"

typedef struct cri_cone_report {
    int n_iteration; // factorisations
    double gap;      // complementarity a contact and bound
    double residual; // largest entry of S (A f + c) - z - y e_n, S = diag(1, mu, mu)
} cri_cone_report;

/// Follows the central path down to gap and overwrites f (3n) with the last point, which is
/// strictly inside. Never fails: a factorisation that breaks down ends the search, and the report
/// tells how far it came; rounding may end it from 1e-10 downwards. The objective is known to the
/// gap, but velocities and directions of sliding only to its square root: polish them.
cri_cone_report cri_cone_interior(const cri_friction *problem, double gap, double *f,
                                  cr_arena *scratch);

/// Room that cri_cone_interior needs.
size_t cri_cone_interior_bytes(int n);

/// The point of the central path at a parameter kappa, and the factor of its derivative. Velocities
/// are those of the solution to about kappa.
typedef struct cri_cone_path {
    int n;
    double kappa;
    double *f;      // (3n) the point
    double *g;      // (3n) the same in the unit cone, f = diag(1, mu, mu) g
    double *u;      // (3n) A f + c
    double *factor; // (3n, 3n) of the Hessian on the path
} cri_cone_path;

// ---- in the problem's own units ----------------------------------------------------------------

/// Smoothed derivatives of a solution, of a problem with any scale. Points into the arena that kept
/// it, and to mu.
typedef struct cri_cone_smooth {
    cri_friction scaled; // without c
    cri_cone_path path;
    const double *r; // (n) impulse scale of each contact
    double k;        // size of the data, in sqrt(J)
} cri_cone_smooth;

/// Prepares them at kappa > 0, relative to the size of the data or to k_least if that is larger,
/// from a solution f (3n). False when the path is not reached: then there are none.
bool cri_cone_smooth_at(const cri_friction *problem, double kappa, double k_least, const double *f,
                        cri_cone_smooth *out, cr_arena *keep, cr_arena *scratch);

/// Room that cri_cone_smooth_at needs in keep, and in scratch.
size_t cri_cone_smooth_bytes(int n);

/// Adjoint of the impulse. Overwrites p (3n): A_adj = -p f', c_adj = -p, with the solution f; adds
/// to mu_adj and l_adj (n), nothing to the latter where l = 0.
void cri_cone_smooth_vjp(const cri_cone_smooth *smooth, const double *f_adj, double *p,
                         double *mu_adj, double *l_adj, cr_arena *scratch);

/// Its tangent: rhs (3n) = A_tan f + c_tan with the solution f. Overwrites f_tan (3n).
void cri_cone_smooth_jvp(const cri_cone_smooth *smooth, const double *rhs, const double *mu_tan,
                         const double *l_tan, double *f_tan, cr_arena *scratch);

// for tests

/// Centres at kappa > 0, to rounding; f (3n) is a solution to start from, NULL for none. False when
/// it does not converge: impulses of 1e3 and more may hide a kappa of 1e-9 in rounding.
bool cri_cone_path_at(const cri_friction *problem, double kappa, const double *f,
                      cri_cone_path *path, cr_arena *keep, cr_arena *scratch);

/// Room that cri_cone_path_at needs in keep, and in scratch.
size_t cri_cone_path_bytes(int n);

/// Adjoint of path->f. Overwrites p (3n): A_adj = -p f', c_adj = -p (A_adj is for an unsymmetric
/// A_tan); adds to mu_adj and l_adj (n), nothing to the latter where l = 0.
void cri_cone_path_vjp(const cri_friction *problem, const cri_cone_path *path, const double *f_adj,
                       double *p, double *mu_adj, double *l_adj, cr_arena *scratch);

/// Tangent of path->f: rhs (3n) = A_tan f + c_tan. Overwrites f_tan (3n).
void cri_cone_path_jvp(const cri_friction *problem, const cri_cone_path *path, const double *rhs,
                       const double *mu_tan, const double *l_tan, double *f_tan, cr_arena *scratch);
