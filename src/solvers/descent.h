// SPDX-License-Identifier: MIT
//
// Newton's method with a line search, for a function that may be infinite where it must not go:
// steps are limited to what the problem calls safe, and never leave where the value falls.

#pragma once

#include "base/math/sparse_ldlt.h"

/// A function of n unknowns on a manifold. It keeps a point where it stands and one that is tried.
typedef struct cri_descent {
    int n;
    cri_groups groups; // of the unknowns: blocks of H that are zero cost nothing
    void *self;

    /// Tries part of the step d (n) from where it stands.
    void (*move)(void *self, double part, const double *d);

    /// Stands where it tried.
    void (*accept)(void *self);

    /// Value at the tried point, infinite: not allowed, NAN: no memory. g (n) and H (n, n), both or
    /// neither NULL, are overwritten. *noise gets what rounding leaves of the value.
    double (*value)(void *self, double *g, double *H, double *noise);

    /// The part of d, at most 1, up to which nothing forbidden is met.
    double (*limit)(void *self, const double *d);

    /// H += something positive definite of the problem's own scale, s (n) times: it may take one s
    /// for several unknowns, the largest.
    void (*stiffen)(void *self, const double *s, double *H);

    /// What a model of the function at where it stands plus d has beyond g . d + d' H d/2: the
    /// value, infinite beyond a pole; adds to its gradient g (n) and second derivatives H (n, n) at
    /// d, H may be NULL. NULL: nothing is known. Steps far into a pole then take many attempts.
    double (*bend)(void *self, const double *d, double *g, double *H);

    /// Size of a step, relative to the problem.
    double (*size)(void *self, const double *d);

    double tolerance; // of the last step's size, which is taken
    int most;         // steps
} cri_descent;

/// What it came to.
typedef struct cri_descent_report {
    bool is_solved;  // the last step was small, and H positive definite as it is
    bool has_memory; // false: nothing else holds
    bool is_allowed; // false: the start is not; nothing was done
    int n_step, n_value;
    double value; // where it stands, before the last step
    double size;  // of the last step
} cri_descent_report;

/// Minimises from where the problem stands, which is tried first by a step of zero. factor, pushed
/// for the groups, gets that of H at the end, to the last step's size, when it is solved. Pushes
/// 3 n^2 + 7 n doubles on scratch.
void cri_descent_run(const cri_descent *problem, cri_block_factor *factor, cr_arena *scratch,
                     cri_descent_report *report);

/// b (n) becomes what n_step steps of descent on z' H z/2 - b . z, from zero, leave in place of
/// H^-1 b, factor that of H: z += (H z - b)/-m, m_i the sum of |H_ij|, so that no step goes too
/// far. Linear and symmetric in b. False when scratch has no memory, for n^2 + 4 n doubles.
bool cri_descent_unroll(const cri_block_factor *factor, int n_step, double *b, cr_arena *scratch);
