// SPDX-License-Identifier: MIT
//
// Positions after a time t at constant joint velocities: q' = q (+) t v, with adjoint and tangent.

#pragma once

#include "base/arena.h"
#include "dynamics/tree.h"
#include "model/derived.h"
#include "model/mechanism.h"
#include "model/model.h"

/// point in the body's frame; body -1: the world. x (n_x) as a user has it: quaternions of any
/// length.
cri_vec3 cri_body_position(const cr_model *model, int body, cri_vec3 point, const double *x);

/// Adds to x_adj (n_x).
void cri_body_position_vjp(const cr_model *model, int body, cri_vec3 point, const double *x,
                           cri_vec3 pos_adj, double *x_adj);

typedef struct cri_state {
    const double *x; // (n_x), unit quaternions, borrowed
    cri_pose *pose;  // (n_body)
    double *motion;  // (n_body, 6) velocities
    cri_tree **tree; // (n_unit), NULL until asked for; always NULL for free bodies
} cri_state;

/// Room that cri_state_push needs.
size_t cri_state_bytes(const cr_model *model);

/// Has room. The arrays are filled by cri_state_set; static bodies stand already.
void cri_state_push(const cr_model *model, const double *x, cri_state *state, cr_arena *arena);

/// Poses and velocities of one unit's bodies at state->x, or of all.
void cri_state_set_unit(const cr_model *model, cri_state *state, int unit);
void cri_state_set(const cr_model *model, cri_state *state);

/// Copies x, poses and velocities, not the trees; to->x must be writable.
void cri_state_copy(const cr_model *model, const cri_state *from, cri_state *to);

/// The tree of a unit that is no free body, made when it is not there. NULL for lack of memory.
cri_tree *cri_state_tree(const cr_model *model, const cri_derived *d, cri_state *state, int unit,
                         cr_arena *keep, cr_arena *scratch);

/// Adjoint of a body's pose: adds to q_adj (n_v) what pos_adj (world) and rot_adj (rotation vector,
/// body frame) come to. Static bodies (-1 too) are passed over. The unit's tree must be there.
void cri_state_pose_vjp(const cr_model *model, const cri_state *state, int body, cri_vec3 pos_adj,
                        cri_vec3 rot_adj, double *q_adj);

/// body_tan (n_body, 6): tangents of all poses for q_tan (n_v), or velocities for v. Trees of
/// moving units must be there. Units that are not moved (n_unit; NULL: all are) get zero unread.
void cri_state_motion(const cr_model *model, const cri_state *state, const bool *is_moved,
                      const double *q_tan, double *body_tan);

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

/// q, q_out (n_q of the mechanism) and v (n_v): the unit's entries are read and written. q_out may
/// be q.
void cri_advance(const cri_mechanism *mech, int unit, const double *q, const double *v, double t,
                 double *q_out);

/// Adjoint: q_adj (n_v, tangents) of q_out becomes that of q in place; adds to v_adj (n_v). Returns
/// the adjoint of t.
double cri_advance_vjp(const cri_mechanism *mech, int unit, const double *v, double t,
                       double *q_adj, double *v_adj);

/// Tangent: q_tan (n_v) of q becomes that of q_out in place.
void cri_advance_jvp(const cri_mechanism *mech, int unit, const double *v, const double *v_tan,
                     double t, double t_tan, double *q_tan);
