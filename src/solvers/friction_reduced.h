// SPDX-License-Identifier: MIT
//
// The solved friction problem on its contact classes: a unique impulse where the problem leaves one
// free, and its derivatives.

#pragma once

#include "base/arena.h"
#include "base/math/dense_factor.h"
#include "solvers/friction.h"

/// A direction b in which a contact's impulse may move, the equation c that it has to keep, and the
/// diagonal term d of the two.
typedef struct cri_friction_column {
    int contact;
    int unit_b, unit_c; // the entry of b and c that is 1 where the others are 0, else -1
    double b[3];
    double c[3];
    double d;
} cri_friction_column;

/// What the derivatives replay. Points into the arena that kept it.
typedef struct cri_friction_cache {
    int n;                       // contacts
    int m;                       // columns
    int n_null;                  // redundant directions
    int n_joined;                // contacts without force that may carry some
    bool has_slide;              // some column is more than an entry of f
    cri_friction_class *contact; // (n)
    double *slip;                // (n, 2) s, of f_t = -mu f_n s
    double *speed;               // (n) |u_t|
    cri_friction_column *column; // (m)
    double *scale;               // (m) of rows and columns of H
    double *null_space;          // (n_null, 3n) orthonormal: selection rows Zc
    double *left;                // (n_null, m) orthonormal left null space of the scaled H
    double weight;               // of the selection rows
    double *q, *w;               // (3n), for the derivative of the selection
    const double *f;             // (3n) the impulse
    cri_psd psd;                 // of H when nothing slides, else psd.n = 0
    double *lu;                  // (m, m) of the scaled H + left' selection
    int *pivot;                  // (m)
    cri_qr qr;                   // of the same where lu is singular, else qr.n = 0
    cri_arena_mark qr_mark;      // where qr begins in its arena
    double selected;   // certificate of the impulse where a selection or a guess held, else -1
    double margin;     // relative distance to another class
    bool is_one_sided; // at a kink, or the selection could not be met
} cri_friction_cache;

/// A nearby solution that stands for a limit: its impulse, velocity and bounds.
typedef struct cri_friction_limit {
    const double *f, *u, *l;
} cri_friction_limit;

/// Reads the classes off a solution, picks the impulse of the limit A + eps 1 where several solve
/// the problem (f is overwritten), and factors. limit, if not NULL, decides the classes instead of
/// f.
void cri_friction_reduce(const cri_friction *problem, double *f, const cri_friction_limit *limit,
                         bool has_derivative, cri_friction_cache *cache, struct cr_arena *keep,
                         struct cr_arena *scratch);

/// Guesses that the classes at the start f are those of the solution: then one linear solve is all
/// there is, or a few where something slides. True when that is so, well within the certificate;
/// else f is as it was, and nothing is kept.
bool cri_friction_reduce_at_once(const cri_friction *problem, double *f, bool has_derivative,
                                 cri_friction_cache *cache, struct cr_arena *keep,
                                 struct cr_arena *scratch);

/// The margin that cri_friction_reduce would find, and whether it is that of a kink.
double cri_friction_margin(const cri_friction *problem, const double *f, bool *is_kink,
                           struct cr_arena *scratch);

/// Room that cri_friction_reduce needs in keep, and in scratch.
size_t cri_friction_reduce_bytes(int n);

/// Adjoint of the impulse. Overwrites p and z (3n each): A_adj = -p f' + z q', c_adj = -p; adds to
/// mu_adj and l_adj (n).
void cri_friction_reduced_vjp(const cri_friction *problem, const cri_friction_cache *cache,
                              const double *f_adj, double *p, double *z, double *mu_adj,
                              double *l_adj, struct cr_arena *scratch);

/// Tangents of the data, for the impulse: rhs (3n) = A_tan f + c_tan, A_q (3n) = A_tan q.
typedef struct cri_friction_tan {
    const double *rhs;
    const double *A_q; // not read when there are no redundant directions
    const double *mu;  // (n)
    const double *l;   // (n)
} cri_friction_tan;

/// Overwrites f_tan (3n).
void cri_friction_reduced_jvp(const cri_friction *problem, const cri_friction_cache *cache,
                              const cri_friction_tan *tan, double *f_tan, struct cr_arena *scratch);

/// Does the velocity A f_tan depend on A_tan q?
bool cri_friction_takes_q(const cri_friction *problem, const cri_friction_cache *cache);

/// The same for many tangents of A and c, by columns: F (3n, n_column) is A_tan f + c_tan on entry,
/// on return f_tan, but for what has A f_tan = 0. A_q (3n, n_column) = A_tan q, NULL unless
/// cri_friction_takes_q.
void cri_friction_reduced_many(const cri_friction *problem, const cri_friction_cache *cache,
                               int n_column, double *F, const double *A_q,
                               struct cr_arena *scratch);

/// Room in scratch that it needs.
size_t cri_friction_many_bytes(int n, int n_column);

// for tests

/// y = A x + c0, c0 may be NULL.
void cri_friction_multiply(const cri_friction *problem, const double *x, const double *c0,
                           double *y);

/// y (m) of [H; Zc' B] y = [rhs; Zc' x] with rhs (m) and x (3n, NULL: zero).
void cri_friction_solve_columns(const cri_friction_cache *cache, const double *rhs, const double *x,
                                double *y, struct cr_arena *scratch);

/// Its adjoint: from y_adj (m) to rhs_adj (m) and x_adj (3n), both overwritten.
void cri_friction_solve_columns_vjp(const cri_friction_cache *cache, const double *y_adj,
                                    double *rhs_adj, double *x_adj, struct cr_arena *scratch);
