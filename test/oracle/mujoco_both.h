// SPDX-License-Identifier: MIT
//
// One scene in Carom and in MuJoCo, and how their numbers are compared.

#pragma once

#include <mujoco/mujoco.h>
#include <stdbool.h>

#include "base/arena.h"
#include "carom/carom.h"
#include "dynamics/tree.h"

// both compute the same formulas in other orders; rounding of some hundred operations
#define TOLERANCE 1e-9

// one scene in both programs
typedef struct both {
    const char *path;
    mjModel *m;
    mjData *d;
    cr_model *model;
    cr_sim *sim;
    const cri_mechanism *mech;
    const cri_mech_derived *derived;
    cr_arena *memory; // trees
    cr_arena *scratch;
    cri_tree **tree; // (n_unit)
    bool *is_meshed; // (n_body) mass from meshes
    bool *is_turned; // (n_body) MuJoCo had to look for principal axes
    double *q, *v, *u;
} both;

// largest differences, relative to the largest number of their kind in a state
typedef struct worst {
    double mass, inertia, axes, pose, site, M, bias, accel, motion, rows;
} worst;

// n + 1 zeros, for free
double *numbers(int n);

// numbers of both programs, relative to the largest among them; keeps the largest error
void compare(const char *what, const both *s, int n, const double *carom, const double *mujoco,
             double tolerance, double *most_ever);

// mass, centre and inertia of every body
void compare_masses(const both *s, worst *w);

// MuJoCo's own mass, centre and inertia where it rounds them coarsely, so that what follows from
// them can be compared to TOLERANCE
void adopt_masses(both *s);

// residuals and Jacobians of the equalities at the state of both
void compare_equalities(const both *s, worst *w);

// a (n_v): from MuJoCo's accelerations without equalities to those with hard ones
void tie_accel(const both *s, double *a);
