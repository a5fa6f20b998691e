// SPDX-License-Identifier: MIT
//
// All bodies of a model at one state x: poses, velocities, and on demand the trees behind them.
//
// Vectors over bodies have 6 numbers a body (model/mechanism.h).

#pragma once

#include "base/arena.h"
#include "dynamics/tree.h"
#include "model/derived.h"

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
