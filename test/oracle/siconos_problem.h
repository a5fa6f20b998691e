// SPDX-License-Identifier: MIT
//
// Contact problems that Carom and Siconos both solve: u = A f + c with rows (normal, two tangents)
// a contact, in both programs.

#pragma once

#include "solvers/friction.h"
#include "support/cr_test.h"

enum { N_CONTACT = 8, N_ROW = 3 * N_CONTACT };

typedef struct oracle_problem {
    const char *name;
    int n;
    double A[N_ROW * N_ROW]; // (3n, 3n)
    double c[N_ROW];
    double mu[N_CONTACT];
    double coulomb[N_ROW]; // impulses as published, NAN where there are none
    double convex[N_ROW];  // likewise, of the convex problem
} oracle_problem;

enum { N_FIXED = 9 };

/// Problems with known impulses: two unit spheres that touch each other and a floor, and vectors of
/// a third program.
oracle_problem fixed_problem(int i);

/// Bodies with random masses, contact points and frames, moving at random. When is_singular, some
/// cannot move along some axes, so that A has not full rank.
oracle_problem random_problem(cr_test_rng *rng, bool is_singular);

/// Siconos's answer under Coulomb's law or that of the convex problem. False when none of its
/// solvers converges.
bool siconos_solve(cri_friction_kind kind, const oracle_problem *p, double *f);
