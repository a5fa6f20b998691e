// SPDX-License-Identifier: MIT
//
// Contact problems of a body that moves in a plane: mass m, moment of inertia I, its centre at the
// height h over contacts at r_i; small nets whose classifier says what it is told to.
//
//   G_n = (0, 1, r_i),  G_t = (1, 0, h),  W = diag(1/m, 1/m, 1/I),  A = G W G'
//
// Numbers of a problem x = (1/m, 1/I, h, r (n), b (3n), target (n), weights).

#pragma once

#include "contact/augmented.h"

#include <math.h>
#include <string.h>

enum { PLANT_CONTACTS = 4 };

typedef struct ground_plant {
    int n; // contacts
    cri_ground_nets nets;
} ground_plant;

static inline int plant_at_b(const ground_plant *g) {
    return 3 + g->n;
}

static inline int plant_at_target(const ground_plant *g) {
    return plant_at_b(g) + 3 * g->n;
}

static inline int plant_at_weights(const ground_plant *g) {
    return plant_at_target(g) + g->n;
}

static inline int plant_size(const ground_plant *g) {
    return plant_at_weights(g) + g->nets.n_weight;
}

/// Row r of contact i in the body's three velocities.
static inline void plant_row(const double *x, int i, int r, double G[3]) {
    G[0] = r == 1 ? 1.0 : 0.0;
    G[1] = r == 0 ? 1.0 : 0.0;
    G[2] = r == 0 ? x[3 + i] : (r == 1 ? x[2] : 0.0);
}

/// A (3n, 3n); or with x_tan its tangent.
static inline void plant_matrix_of(const ground_plant *g, const double *x, const double *x_tan,
                                   double *A) {
    int m = 3 * g->n;
    for (int k = 0; k < m * m; k++) {
        double a[3], b[3], a_tan[3] = {0}, b_tan[3] = {0};
        plant_row(x, k / m / 3, k / m % 3, a);
        plant_row(x, k % m / 3, k % m % 3, b);
        double iw[3] = {x[0], x[0], x[1]};
        A[k] = 0.0;
        if (x_tan) {
            plant_row(x_tan, k / m / 3, k / m % 3, a_tan);
            plant_row(x_tan, k % m / 3, k % m % 3, b_tan);
            a_tan[0] = a_tan[1] = b_tan[0] = b_tan[1] = 0.0;
            double iw_tan[3] = {x_tan[0], x_tan[0], x_tan[1]};
            for (int d = 0; d < 3; d++) {
                A[k] += iw_tan[d] * a[d] * b[d] + iw[d] * (a_tan[d] * b[d] + a[d] * b_tan[d]);
            }
            continue;
        }
        for (int d = 0; d < 3; d++) {
            A[k] += iw[d] * a[d] * b[d];
        }
    }
}

static inline cri_contact_problem plant_problem_of(const ground_plant *g, const double *x,
                                                   const double *A) {
    return (cri_contact_problem){.n = g->n,
                                 .A = A,
                                 .b = x + plant_at_b(g),
                                 .target = x + plant_at_target(g),
                                 .nets = &g->nets,
                                 .weights = x + plant_at_weights(g)};
}

/// Makes the classifiers say it: by their last biases.
static inline void plant_say(const ground_plant *g, cri_ground_class said, double *x) {
    for (int i = 0; i < 2 * CRI_GROUND_SPACE_POINT; i += 2) {
        const cri_mlp *net = &g->nets.net[i];
        double *w = x + plant_at_weights(g) + g->nets.first[i];
        w[cri_mlp_place(net, net->n_layer, true) + (int)said] += 100.0;
    }
}
