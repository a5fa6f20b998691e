// SPDX-License-Identifier: MIT
//
// Planted friction problems of the gradient table: impulse f and velocity u of every contact are
// chosen, one class each, and the problem c = u - A f is built around them.

#pragma once

#include "solvers/friction.h"

#include <stdint.h>

enum { PLANT_MOST = 4 }; // contacts

/// A planted contact. Of a sliding one f_t follows from u_t; of an edge (octagon) u_t = -u[1] times
/// the direction of side number face, f_t lies at f[1] of half its length from the middle. The
/// normal velocity of a convex one counts from mu |u_t|, where it slides or opens.
typedef struct plant {
    cri_friction_class class;
    double f[3], u[3];
    double mu, l;
    int face;
} plant;

/// A symmetric positive definite matrix (m, m) without any pattern.
void plant_matrix(int m, uint64_t seed, double *A);

/// Velocity u (3) and impulse f (3) of one plant.
void plant_velocity(cri_friction_kind kind, const plant *p, double *u);
void plant_impulse(cri_friction_kind kind, const plant *p, double *f);

/// f (3n) of the plants, and c with A f + c = u.
void plant_problem(cri_friction_kind kind, int n, const plant *p, const double *A, double *f,
                   double *c);

/// out (m) = A z + c, c NULL: 0.
void plant_multiply(int m, const double *A, const double *z, const double *c, double *out);
