// SPDX-License-Identifier: MIT
//
// Contact with friction in impulses: n contacts of three rows each (normal, two tangents),
//
//   u = A f + c,    A (3n, 3n) symmetric, positive semidefinite, often singular
//
// under one of three laws of friction, all but the octagon's (l = 0) with lower bounds l of the
// normal impulses:
//
//   Coulomb   0 <= f_n - l  perp  u_n >= 0,  |f_t| <= mu f_n,  f_t = -mu f_n u_t/|u_t| if u_t != 0
//   convex    f = argmin 1/2 f'A f + c'f  over  |f_t| <= mu f_n, f_n >= l
//   octagon   as Coulomb, f_t in mu f_n conv{d_0 .. d_7}, d_k at 45 k degrees, and f_t'u_t least
//
// Each says f = P(f - rho u) for a projection P of its own, and nothing else distinguishes them
// here. Knows nothing of bodies.

#pragma once

#include "base/arena.h"
#include "base/math/sparse_ldlt.h"
#include "carom/carom.h"

#include <math.h>
#include <stdbool.h>

struct cr_arena;

struct cri_blocks;

typedef enum cri_friction_kind {
    CRI_COULOMB,
    CRI_CONVEX,
    CRI_OCTAGON,
} cri_friction_kind;

/// All arrays are borrowed.
typedef struct cri_friction {
    cri_friction_kind kind;
    int n;
    const double *A;  // (3n, 3n)
    const double *c;  // (3n)
    const double *b;  // (3n) velocity before, a scale for the certificate
    const double *mu; // (n), >= 0
    const double *l;  // (n), >= 0, lower bounds of the normal impulses; octagon: 0
    // where A is not zero (friction.h); NULL: everywhere
    const struct cri_blocks *blocks;
    // pivots of A (base/math/dense_factor.h, to 1e-11), NULL: not there
    const struct cri_psd *pivots;
} cri_friction;

typedef struct cri_solve_report {
    cr_outcome outcome;
    int n_iteration; // linear solves
    double residual; // certificate, relative to 1e-10 of its scale: solved means <= 1
} cri_solve_report;

/// Solves from the start f (3n) and overwrites it, with the best iterate if nothing converges.
cri_solve_report cri_friction_solve(const cri_friction *problem, double *f,
                                    struct cr_arena *scratch);

/// The same with Newton's method alone: cheap, and its point is a start where it does not solve.
/// Solved means to the solver's own, stricter tolerance.
cri_solve_report cri_friction_try(const cri_friction *problem, double *f, struct cr_arena *scratch);

/// Largest |f - P(f - rho u)| over contacts, each divided by its tolerance
/// 1e-10 (|f| + rho max(|b|, |c|)) + 64 eps rho |A||f| + (2 + mu) rho 1e-12 m/s. From the raw data.
double cri_friction_certificate(const cri_friction *problem, const double *f);

/// What a certificate is worth: loosely is 1e-6 of the scale, where 1 asks for 1e-10.
cr_outcome cri_friction_outcome(double certificate);

/// The same where the velocity u (3n) of f is known.
double cri_friction_certificate_at(const cri_friction *problem, const double *f, const double *u);

/// Room that cri_friction_solve needs.
size_t cri_friction_bytes(int n);

// ---- projections and classes -------------------------------------------------------------------

typedef enum cri_friction_class {
    CRI_OPEN,        // f = 0
    CRI_STICK,       // u = 0
    CRI_SLIDE,       // f_t on the cone (octagon: on a corner); u_n = 0, convex: u_n = mu |u_t|
    CRI_EDGE,        // octagon: f_t between two corners, u_t across that side, u_n = 0
    CRI_BOUND_STICK, // f_n = l, u_t = 0
    CRI_BOUND_SLIDE, // f_n = l, f_t on the cone
} cri_friction_class;

/// P(z) of one contact, and the branch of P that gave it.
typedef struct cri_friction_point {
    double p[3];
    cri_friction_class branch;
    int face; // octagon: corner or first corner of the side
} cri_friction_point;

/// The projection whose fixed point f = P(f - rho u) is the law.
cri_friction_point cri_friction_project(cri_friction_kind kind, const double z[3], double mu,
                                        double l);

/// Corner d_k of the octagon, k = 0..7, and the middle (d_k + d_(k+1))/2 and direction of side k.
void cri_octagon_corner(int k, double d[2]);
void cri_octagon_side(int k, double middle[2], double along[2]);

/// How far f_t of one contact's impulse f (3) is from the border of its disc or octagon of radius
/// r.
double cri_friction_inside_by(cri_friction_kind kind, const double *f, double r);

/// Relative distance of contact i to another class, at an impulse f and velocity u of it (3 each).
/// f_scale: the largest impulse of the problem.
double cri_friction_margin_of(const cri_friction *problem, int i, const cri_friction_point *at,
                              const double *f, const double *u, double f_scale);

/// True when a normal impulse f_n of contact i is rounding noise: touching without force is open.
bool cri_friction_is_weak(const cri_friction *problem, int i, double f_n, double l);

/// Size of the tangential part of three rows. Of speeds and impulses: no overflow to fear.
static inline double cri_tangent_size(const double *a) {
    return sqrt(a[1] * a[1] + a[2] * a[2]);
}

/// 3/trace of the diagonal block of contact i: turns its velocities into impulses.
double cri_friction_rho(const cri_friction *problem, int i);

/// The graph, and the fill of its factors.
typedef struct cri_blocks {
    cri_pattern row; // of contacts
    cri_fill fill;   // of contacts
} cri_blocks;

/// The graph of A (3n, 3n), or NULL where dense loops are as good: fewer than 20 contacts, or half
/// of the blocks of A or of its factor not zero.
const cri_blocks *cri_blocks_find(int n, const double *A, cr_arena *arena);
size_t cri_blocks_bytes(int n);

/// The contacts that share blocks with one, itself included, ascending; all of them without a
/// graph.
typedef struct cri_neighbours {
    int n;
    const int *index; // NULL: 0 .. n - 1
} cri_neighbours;

static inline cri_neighbours cri_neighbours_of(const cri_friction *problem, int i) {
    const cri_blocks *b = problem->blocks;
    if (!b) {
        return (cri_neighbours){.n = problem->n};
    }
    int first = b->row.first[i];
    return (cri_neighbours){.n = b->row.first[i + 1] - first, .index = b->row.index + first};
}

static inline int cri_neighbour(const cri_neighbours *of, int k) {
    return of->index ? of->index[k] : k;
}

/// out (3) = rows of contact i of A x: to the bit what sums over all columns in their order give.
void cri_blocks_times(const cri_blocks *blocks, const double *A, int i, const double *x,
                      double out[3]);

/// The system of Newton's method on active contacts, see friction.c:
///   M = 1 - D + rho D (A + prox 1)
typedef struct cri_newton_system {
    const cri_blocks *blocks;
    const double *A;       // (3n, 3n)
    const double *D;       // (9n)
    const bool *is_active; // (n)
    double rho, prox;
} cri_newton_system;

/// One polygon a contact. Points into the arena that it was opened in.
typedef struct cri_fans {
    int n;
    int n_turn;     // turns made
    double *axis;   // (n) radians, where the middle corner points
    double *width;  // (n) radians, from that corner to the next
    double *corner; // (n, 8, 2)
} cri_fans;

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

/// Relative residual at which a scaled solve is accepted, well under the certificate's 1e-10.
static const double cri_newton_accept = 1e-11;

/// Scaled copy of the problem, from the start f (3n).
cri_scaled cri_friction_scale(const cri_friction *problem, const double *f, cr_arena *arena);
size_t cri_friction_scale_bytes(int n);

/// The scaled data as a problem.
cri_friction cri_scaled_problem(const cri_scaled *s);

// for tests

/// Its derivative D (3, 3) for z, on the branch taken there.
void cri_friction_project_jacobian(cri_friction_kind kind, const double z[3], double mu,
                                   const cri_friction_point *at, double D[9]);

/// Solves M x = b (3n each) on the active contacts; elsewhere b is not read and x is zero. False
/// when a pivot vanishes, or the residual is above 1e-6 of b after one refinement: pivots are
/// chosen only within contacts. room has cri_newton_system_room doubles, less than 9n^2.
bool cri_newton_system_solve(const cri_newton_system *s, const double *b, double *x, double *room);
size_t cri_newton_system_room(const cri_blocks *blocks);

/// Fans along the friction of f (3n), as wide as they get.
cri_fans cri_fans_open(int n, const double *f, cr_arena *arena);

/// Overwrites f (3n) with the solution for these polygons, and makes those of the next turn.
void cri_fans_turn(cri_fans *fans, const cri_friction *problem, double *f, cr_arena *scratch);

/// Room that both need together.
size_t cri_fans_bytes(int n);

/// Newton from g; leaves the best iterate in g and returns its relative residual.
double cri_friction_newton(cri_scaled *s, int n_max, double prox);
