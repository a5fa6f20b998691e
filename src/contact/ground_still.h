// SPDX-License-Identifier: MIT
//
// The impulse that would bring a patch to rest, over its size: inputs of the nets of contact
// patches (formulas: ground_still.c). Private to src/contact.

#pragma once

#include "model/ground_nets.h"

/// One solve, and what its derivatives replay.
typedef struct cri_ground_still {
    int k;
    double h[CRI_GROUND_LEAD]; // what nets see
    double x[CRI_GROUND_LEAD]; // the impulse
    double size;               // its length; 0: there is none
    double factor[CRI_GROUND_LEAD * CRI_GROUND_LEAD];
} cri_ground_still;

/// B (k, k) symmetric, y (k).
cri_ground_still cri_ground_still_of(int k, const double *B, const double *y);

/// Adds to B_adj (k, k) and y_adj (k).
void cri_ground_still_vjp(const cri_ground_still *still, const double *h_adj, double *B_adj,
                          double *y_adj);

/// Overwrites h_tan (k).
void cri_ground_still_jvp(const cri_ground_still *still, const double *B_tan, const double *y_tan,
                          double *h_tan);
