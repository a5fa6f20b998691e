// SPDX-License-Identifier: MIT
//
// Smooth motion of one free rigid body over a time t, with its adjoint and tangent.

#pragma once

#include "model/derived.h"

/// Position (world), unit quaternion, velocity (world), spin (body frame).
typedef struct cri_body_state {
    cri_vec3 pos;
    cri_quat quat;
    cri_vec3 vel;
    cri_vec3 spin;
} cri_body_state;

/// Adjoint or tangent of a cri_body_state, the rotation in tangent coordinates (base/math/quat.h).
typedef struct cri_body_tangent {
    cri_vec3 pos;
    cri_vec3 rot;
    cri_vec3 vel;
    cri_vec3 spin;
} cri_body_tangent;

/// What drives the body: its derived parameters, gravity (3), force and torque (6).
typedef struct cri_drive {
    const cri_body_derived *body;
    const double *gravity;
    const double *wrench;
    bool omits_gyro; // w x I w is left out; of no account in a tangent
} cri_drive;

/// Adjoints or tangents of what a cri_drive points to.
typedef struct cri_drive_adj {
    cri_body_derived *body;
    double *gravity;
    double *wrench;
} cri_drive_adj;

cri_body_state cri_flow(const cri_drive *drive, const cri_body_state *s, double t);

/// Adds to s_adj, t_adj and adj.
void cri_flow_vjp(const cri_drive *drive, const cri_body_state *s, double t,
                  const cri_body_tangent *out_adj, cri_body_tangent *s_adj, double *t_adj,
                  const cri_drive_adj *adj);

/// Tangent for s_tan, t_tan and the tangents that tan points to.
cri_body_tangent cri_flow_jvp(const cri_drive *drive, const cri_body_state *s, double t,
                              const cri_body_tangent *s_tan, double t_tan, const cri_drive *tan);

/// Rate of the state in time along the discrete map: d cri_flow/dt.
cri_body_tangent cri_flow_rate(const cri_drive *drive, const cri_body_state *s, double t);

/// Linear and angular acceleration at s.
void cri_acceleration(const cri_drive *drive, cri_vec3 spin, cri_vec3 *linear, cri_vec3 *angular);

/// Adds to spin_adj and adj.
void cri_acceleration_vjp(const cri_drive *drive, cri_vec3 spin, cri_vec3 linear_adj,
                          cri_vec3 angular_adj, cri_vec3 *spin_adj, const cri_drive_adj *adj);

/// Tangents of both accelerations.
void cri_acceleration_jvp(const cri_drive *drive, cri_vec3 spin, cri_vec3 spin_tan,
                          const cri_drive *tan, cri_vec3 *linear_tan, cri_vec3 *angular_tan);
