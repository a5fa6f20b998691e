// SPDX-License-Identifier: MIT
//
// Energy of one rigid body over an implicit step: inertia and gravity, with derivatives.
//
// Poses of three times: next (unknown), now, last. Motions and forces of a body are (w, v) and
// (torque, force), six numbers in world axes (dynamics/tree.h). Gradients are of energy, joule.

#pragma once

#include "geometry/convex/shape.h"
#include "model/mechanism.h"

/// Where a body is over a step.
typedef struct cri_inertial_path {
    const cri_pose *next, *now, *last;
    const double *gravity; // (3)
    double h;              // s
} cri_inertial_path;

/// Gradient in affine motions of the body: N for the turn, F for the shift.
typedef struct cri_inertial_force {
    double value;
    double F[3], N[9];
} cri_inertial_force;

/// Value and gradient in the next pose.
void cri_inertial_energy(const cri_link_derived *link, const cri_inertial_path *path,
                         cri_inertial_force *out);

/// Adjoints of an inertial force along a motion of the next pose.
typedef struct cri_inertial_adj {
    double now[6], last[6]; // of the poses, as forces
    double gravity[3];
    cri_link_derived link;
} cri_inertial_adj;

/// Derivatives of motion . gradient, motion (6), for everything but the next pose: adds.
void cri_inertial_energy_vjp(const cri_link_derived *link, const cri_inertial_path *path,
                             const double motion[6], cri_inertial_adj *adj);

/// Tangent of the gradient, as a force (6), for motions of the poses now and last, and for
/// parameters; link and gravity may be NULL for zero. Overwrites.
typedef struct cri_inertial_tan {
    const double *now, *last; // (6)
    const double *gravity;    // (3)
    const cri_link_derived *link;
} cri_inertial_tan;

void cri_inertial_energy_jvp(const cri_link_derived *link, const cri_inertial_path *path,
                             const cri_inertial_tan *tan, double force[6]);

/// Second derivatives (6, 6) in the next pose, without curvature: the inertia over h^2.
void cri_inertial_hessian(const cri_link_derived *link, const cri_pose *next, double h,
                          double H[36]);
