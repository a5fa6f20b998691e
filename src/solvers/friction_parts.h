// SPDX-License-Identifier: MIT
//
// The scaled problem and Newton's method on it. Private to src/solvers.

#pragma once

#include "base/arena.h"
#include "solvers/friction_sparse.h"

/// The problem in scaled variables g = f/r, with the work space of Newton's method. Diagonal blocks
/// have a trace of 3, and the largest of the data is 1.
typedef struct cri_scaled {
    cri_friction_kind kind;
    int n;
    double *A, *c, *mu, *l;
    const cri_blocks *blocks;       // of A, NULL: dense
    double *r;                      // (n) impulse scale of each contact
    double *size;                   // (n) |c_i|, floored by the largest
    double *g, *best, *trial, *rhs; // (3n)
    double *kept;                   // (3n) the caller's own
    double *step;                   // (3n) of the sparse solve
    double *F, *u, *D;              // residual, velocity (3n); P' (9n)
    double *matrix;                 // (3n, 3n)
    int *pivot;                     // (3n)
    int *active;                    // (n) contacts whose impulse is not simply zero
    bool *is_active;                // (n)
    double rho;                     // of the natural map; 1 is that of the certificate
    int n_iteration;                // linear solves
    int n_dense;                    // of them, those where the sparse factor was no good
    int budget;                     // of n_iteration
} cri_scaled;

/// What Newton's method adds to the diagonal, unless asked for more.
static const double cri_newton_prox = 1e-11;
/// Relative residual at which a scaled solve is accepted, well under the certificate's 1e-10.
static const double cri_newton_accept = 1e-11;

/// Scaled copy of the problem, from the start f (3n).
cri_scaled cri_friction_scale(const cri_friction *problem, const double *f, cr_arena *arena);
size_t cri_friction_scale_bytes(int n);

/// The scaled data as a problem.
cri_friction cri_scaled_problem(const cri_scaled *s);

/// Newton from g; leaves the best iterate in g and returns its relative residual.
double cri_friction_newton(cri_scaled *s, int n_max, double prox);

/// Gauss-Seidel: projections of single contacts, in place in g.
void cri_friction_sweep(cri_scaled *s, int n_sweep);
