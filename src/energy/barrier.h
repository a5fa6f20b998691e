// SPDX-License-Identifier: MIT
//
// Barriers on the distances of surface pieces: rivals of the long-range potential, behind the same
// result. The local one is that of incremental potential contact (IPC).
//
// In units of their stiffness: energy = mu value. They are infinite at distance zero, but do not
// know that surfaces have passed through each other: steps must be limited (cri_step_limit).
//
// The barrier of hulls acts on a plane between the hulls of two bodies (SDRS). It is smooth and
// never pulls, but is zero from some distance on.

#pragma once

#include "energy/longrange.h"
#include "geometry/convex/feature_distance.h"

/// Function of a distance d; of a signed one where there is no barrier.
typedef enum cri_barrier_kind {
    CRI_BARRIER_LOCAL,  // -(d - reach)^2 log(d / reach) up to reach, 0 from there on
    CRI_BARRIER_GLOBAL, // 12 (1 + sqrt(ell / d))^2 everywhere: not smooth, but never zero
    CRI_BARRIER_NONE,   // that of energy/penalty.h: half-spaces only
} cri_barrier_kind;

typedef struct cri_barrier_options {
    cri_barrier_kind kind;
    double reach; // m, positive; not global
    double ell;   // m, positive; global only
} cri_barrier_options;

/// Which corners and edges a triangle stands for, so that each counts once: bit k for corner k, bit
/// 3 + k for the edge from corner k to the next. (n_triangle), in arena; NULL for lack of memory.
const unsigned char *cri_barrier_owners(const cri_sphere_tree *tree, cr_arena *arena);

/// A body in place and what its triangles stand for.
typedef struct cri_barrier_body {
    cri_longrange_body body;
    const unsigned char *owner;
} cri_barrier_body;

/// Sum over all corners against triangles, both ways, and all edges against edges, these with the
/// weight of cri_barrier_mollify. Twice differentiable where the closest pieces stay the same.
/// n_exact counts terms that are not zero.
void cri_barrier_pair(const cri_barrier_options *options, const cri_barrier_body *a,
                      const cri_barrier_body *b, cri_longrange_order order,
                      cri_longrange_result *out);

/// Sum over the vertices of a body of the function of their heights above a half-space; is_hull:
/// cri_hull_barrier_of with the same reach. n_exact counts vertices that feel it.
void cri_barrier_half(const cri_barrier_options *options, bool is_hull,
                      const cri_longrange_body *body, const cri_half_space *half,
                      cri_longrange_order order, cri_longrange_half_result *out);

/// Four points of the two bodies with the derivatives of an energy in them.
typedef struct cri_barrier_term {
    cri_vec3 x[4], r[4]; // in the world, from the second position; from their bodies' positions
    int side[4];
    double value, g[12];
    double slope, bend; // of the energy in the distance
    cri_feature_distance f;
    bool has_weight; // H (12, 12) then has the second derivatives
    double H[144];
} cri_barrier_term;

/// The energy b (value and two derivatives) of a distance.
void cri_barrier_term_set(const double b[3], const cri_feature_distance *f, cri_barrier_term *t);

/// Adds it to the pair.
void cri_barrier_term_add(const cri_barrier_term *t, cri_longrange_order order,
                          cri_longrange_result *out);

/// b(x) = -((x - reach)^2/x) log(x/reach) for 0 < x < reach, 0 from there on: value and first two
/// derivatives. Twice differentiable.
void cri_hull_barrier_of(double reach, double x, double b[3]);

/// The potential of the hulls of all vertices. reach, m, between 0 and 1. A mesh stands for its
/// hull. Infinite when no plane is found between the hulls: they touch, to rounding, or overlap.
/// n_exact counts vertices that feel the barrier, n_step the Newton steps.
void cri_hull_barrier_pair(double reach, const cri_longrange_body *a, const cri_longrange_body *b,
                           cri_longrange_order order, cri_longrange_result *out);

// for tests

/// Value of a function of a distance and its first two derivatives; d > 0 where it is a barrier.
void cri_barrier_of_distance(const cri_barrier_options *options, double d, double value[3]);

/// Weight of two edges x[0] x[1] and x[2] x[3] that are nearly parallel, where their distance is
/// not smooth: 0 when they are, 1 from an angle of 1/32 on, with gradient (12) and second
/// derivatives (12, 12). Lengths are those at rest. False: the weight is 1, derivatives are not
/// filled.
bool cri_barrier_mollify(const cri_vec3 x[4], double *weight, double g[12], double H[144]);
