// SPDX-License-Identifier: MIT
//
// The contact patch of a body that moves in a plane, read off its contact problem: a point or a
// line, the rows that it reduces to, and the inputs of the nets (paper 003; formulas: ground.c).

#pragma once

#include "contact/law.h"
#include "model/ground_nets.h"

/// u = A g + c in the rows of the patch: its tangent, then the normal of each end.
typedef struct cri_ground {
    cri_ground_kind kind;
    int n_row;                                   // 2 or 3
    int n;                                       // contacts of the problem
    double *R;                                   // (n_row, 3n): a row is a mean of the problem's
    double A[CRI_GROUND_ROWS * CRI_GROUND_ROWS]; // (n_row, n_row) R A R'
    double c[CRI_GROUND_ROWS];                   // R (velocity before - velocity to reach)
    int closest;                                 // row of the end that closes fastest, 0: none
} cri_ground;

/// R is pushed on keep, which has room (cri_ground_bytes). False when the contacts do not move in a
/// plane: some of them have two tangents.
bool cri_ground_reduce(const cri_contact_problem *problem, cri_ground *patch, cr_arena *keep);

/// R z and R' g.
void cri_ground_take(const cri_ground *patch, const double *z, double *g);
void cri_ground_spread(const cri_ground *patch, const double *g, double *z);

/// Adjoint of A and c (n_row): overwrites A, b, target and drift of adj; pushes on scratch.
void cri_ground_reduce_vjp(const cri_contact_problem *problem, const cri_ground *patch,
                           const double *A_adj, const double *c_adj, cri_contact_adj *adj,
                           cr_arena *scratch);

/// Tangents of A and c.
void cri_ground_reduce_jvp(const cri_ground *patch, const cri_contact_tan *tan, double *A_tan,
                           double *c_tan, cr_arena *scratch);

/// Room for R, and in scratch for the derivatives.
size_t cri_ground_bytes(int n);

/// The inputs of the nets. Returns the scale of impulses, kg m/s: closing speed over inverse mass.
double cri_ground_input(const cri_ground *patch, double input[CRI_GROUND_INPUTS]);

/// Adds to A_adj (n_row, n_row) and c_adj (n_row).
void cri_ground_input_vjp(const cri_ground *patch, const double *input_adj, double scale_adj,
                          double *A_adj, double *c_adj);

/// Overwrites input_tan; returns the tangent of the scale.
double cri_ground_input_jvp(const cri_ground *patch, const double *A_tan, const double *c_tan,
                            double input_tan[CRI_GROUND_INPUTS]);
