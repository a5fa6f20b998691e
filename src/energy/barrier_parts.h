// SPDX-License-Identifier: MIT
//
// What energies of distances share: a function of the distance of two pieces, in four points of two
// bodies, and its way into the result of the pair. Used by barrier.c and penalty.c alone.

#pragma once

#include "energy/longrange.h"
#include "geometry/convex/feature_distance.h"

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

/// Multiplies an edge-edge energy by its weight, cri_barrier_mollify.
void cri_barrier_term_mollify(cri_longrange_order order, cri_barrier_term *t);

/// Adds it to the pair.
void cri_barrier_term_add(const cri_barrier_term *t, cri_longrange_order order,
                          cri_longrange_result *out);
