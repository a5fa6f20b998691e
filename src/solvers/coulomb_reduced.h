// SPDX-License-Identifier: MIT
//
// The solved Coulomb problem on its contact classes: a unique impulse where the problem leaves one
// free, and its derivatives.

#pragma once

#include "base/arena.h"
#include "math/qr.h"
#include "solvers/coulomb.h"

/// A direction b in which a contact's impulse may move, the equation c that it has to keep, and the
/// diagonal term d of the two.
typedef struct cri_coulomb_column {
    int contact;
    double b[3];
    double c[3];
    double d;
} cri_coulomb_column;

/// What the derivatives replay. Points into the arena that kept it.
typedef struct cri_coulomb_cache {
    int n;                      // contacts
    int m;                      // columns
    int n_null;                 // redundant directions
    cri_coulomb_class *contact; // (n)
    double *slip;               // (n, 2) direction of sliding
    cri_coulomb_column *column; // (m)
    double *scale;              // (m) of rows and columns of H
    double *null_space;         // (n_null, 3n) orthonormal: selection rows
    double weight;              // of the selection rows
    double *q;                  // (3n), for the derivative of the selection
    const double *f;            // (3n) the impulse
    cri_qr qr;                  // of the scaled [H; selection]
    cri_arena_mark qr_mark;     // where qr begins in its arena
    double margin;              // relative distance to another class
    bool is_one_sided;          // at a kink, or the selection could not be met
} cri_coulomb_cache;

/// A nearby solution that stands for a limit: its impulse, velocity and bounds.
typedef struct cri_coulomb_limit {
    const double *f, *u, *l;
} cri_coulomb_limit;

/// Reads the classes off a solution, picks the impulse of the limit A + eps 1 where several solve
/// the problem (f is overwritten), and factors. limit, if not NULL, decides the classes instead of
/// f.
void cri_coulomb_reduce(const cri_coulomb *problem, double *f, const cri_coulomb_limit *limit,
                        cri_coulomb_cache *cache, struct cr_arena *keep, struct cr_arena *scratch);

/// The margin that cri_coulomb_reduce would find, and whether it is that of a kink.
double cri_coulomb_margin(const cri_coulomb *problem, const double *f, bool *is_kink,
                          struct cr_arena *scratch);

/// Room that cri_coulomb_reduce needs in keep, and in scratch.
size_t cri_coulomb_reduce_bytes(int n);

/// Adjoint of the impulse. Overwrites p and z (3n each): A_adj = -p f' + z q', c_adj = -p; adds to
/// mu_adj and l_adj (n).
void cri_coulomb_reduced_vjp(const cri_coulomb *problem, const cri_coulomb_cache *cache,
                             const double *f_adj, double *p, double *z, double *mu_adj,
                             double *l_adj, struct cr_arena *scratch);

/// Tangents of the data, for the impulse: rhs (3n) = A_tan f + c_tan, A_q (3n) = A_tan q.
typedef struct cri_coulomb_tan {
    const double *rhs;
    const double *A_q; // not read when there are no redundant directions
    const double *mu;  // (n)
    const double *l;   // (n)
} cri_coulomb_tan;

/// Overwrites f_tan (3n).
void cri_coulomb_reduced_jvp(const cri_coulomb *problem, const cri_coulomb_cache *cache,
                             const cri_coulomb_tan *tan, double *f_tan, struct cr_arena *scratch);
