// SPDX-License-Identifier: MIT
//
// The contact patch of a body, read off its contact problem: a point, a line, or a surface of a
// body that moves in space; the rows that it reduces to, and the inputs of the nets (paper 003;
// formulas: ground.c, in space ground.c, ground.c).

#pragma once

#include "contact/law.h"
#include "model/ground_nets.h"

/// u = A g + c in the rows of the patch: its tangents (in space two and the twist), then the normal
/// of each end.
typedef struct cri_ground {
    cri_ground_kind kind;
    int n_row;                                   // tangents and all ends
    int n_tangent;                               // 1; in space 2 for a point, else 3
    int n;                                       // contacts of the problem
    double *R;                                   // (n_row, 3n): a row is a mean of the problem's
    double A[CRI_GROUND_ROWS * CRI_GROUND_ROWS]; // (n_row, n_row) R A R'
    double c[CRI_GROUND_ROWS];                   // R (velocity before - velocity to reach)
} cri_ground;

/// R is pushed on keep, which has room (cri_ground_bytes). In space where the problem says where
/// its contacts are. False when nets do not fit: contacts have two tangents and are not in space,
/// or a surface has too many corners.
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

/// Inputs for applied forces (n_row), of the part of velocities that they made (3n): it over the
/// sum of all.
void cri_ground_applied(const cri_ground *patch, const double *applied, double *input);

/// Adds to A_adj (n_row, n_row) and c_adj (n_row).
void cri_ground_input_vjp(const cri_ground *patch, const double *input_adj, double scale_adj,
                          double *A_adj, double *c_adj);

/// Overwrites input_tan; returns the tangent of the scale.
double cri_ground_input_jvp(const cri_ground *patch, const double *A_tan, const double *c_tan,
                            double input_tan[CRI_GROUND_INPUTS]);

/// What nets say is in a frame of their own: its direction in the tangents, the scale of the twist.
typedef struct cri_ground_turn {
    double cosine, sine, twist; // 1, 0, 1 in a plane
    double side;                // 1, or -1 for what is mirrored: a choice, also in derivatives
} cri_ground_turn;

cri_ground_turn cri_ground_turn_of(const cri_ground *patch);

/// Adds to A_adj (n_row, n_row) and c_adj (n_row).
void cri_ground_turn_of_vjp(const cri_ground *patch, const cri_ground_turn *adj, double *A_adj,
                            double *c_adj);
cri_ground_turn cri_ground_turn_of_jvp(const cri_ground *patch, const double *A_tan,
                                       const double *c_tan);

/// Impulses g (n_row, the tangents first) from that frame to the rows of the patch, in place.
void cri_ground_turn_back(const cri_ground *patch, const cri_ground_turn *turn, double *g);

/// One solve, and what its derivatives replay.
typedef struct cri_ground_still {
    int k;
    double h[CRI_GROUND_LEAD]; // what nets see
    double x[CRI_GROUND_LEAD]; // the impulse
    double size;               // its length; 0: there is none
    double factor[CRI_GROUND_LEAD * CRI_GROUND_LEAD];
} cri_ground_still;

/// Also the type of its adjoint and tangent, where larger has no meaning.
typedef struct cri_ellipse {
    double size;     // the larger coefficient
    double scale[3]; // of the rows n, t1, t2: 1, mu1/size, mu2/size
    int larger;      // 0: mu1, or both are the same; 1: mu2; -1: both are zero
} cri_ellipse;

/// What has one coefficient for all directions.
static inline cri_ellipse cri_ellipse_round(double mu) {
    return (cri_ellipse){mu, {1.0, 1.0, 1.0}, 0};
}

/// Requires mu1, mu2 >= 0.
cri_ellipse cri_ellipse_of(double mu1, double mu2);

/// Adds to mu1_adj and mu2_adj; adj->scale[0] is not read.
void cri_ellipse_of_vjp(const cri_ellipse *ellipse, const cri_ellipse *adj, double *mu1_adj,
                        double *mu2_adj);
cri_ellipse cri_ellipse_of_jvp(const cri_ellipse *ellipse, double mu1_tan, double mu2_tan);

// for tests

/// Inputs in space, as above.
double cri_ground_space_input(const cri_ground *patch, double input[CRI_GROUND_INPUTS]);
void cri_ground_space_input_vjp(const cri_ground *patch, const double *input_adj, double scale_adj,
                                double *A_adj, double *c_adj);
double cri_ground_space_input_jvp(const cri_ground *patch, const double *A_tan, const double *c_tan,
                                  double input_tan[CRI_GROUND_INPUTS]);

/// B (k, k) symmetric, y (k).
cri_ground_still cri_ground_still_of(int k, const double *B, const double *y);

/// Adds to B_adj (k, k) and y_adj (k).
void cri_ground_still_vjp(const cri_ground_still *still, const double *h_adj, double *B_adj,
                          double *y_adj);

/// Overwrites h_tan (k).
void cri_ground_still_jvp(const cri_ground_still *still, const double *B_tan, const double *y_tan,
                          double *h_tan);
