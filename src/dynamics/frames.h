// SPDX-License-Identifier: MIT
//
// Poses of all bodies and the twists of all dofs at q, and how numbers of bodies become numbers of
// dofs: gradients, blocks of second derivatives, and the curvature of the coordinates.
//
// A body's motion is (w, v): turn in world axes and velocity of its origin, six numbers; a force is
// (torque about its origin, force). Unlike those of mechanism.h both are in world axes. The twist
// of a dof is (w, v) with v the velocity at the world's origin. Tangents of q are mechanism.h's.

#pragma once

#include "base/arena.h"
#include "model/model.h"

typedef struct cri_frames {
    const cr_model *model;
    cri_pose *pose;   // (n_body)
    cri_vec3 *w, *v;  // (n_v)
    const int *first; // (n_body + 1) into path
    const int *path;  // dofs from the root to a body
} cri_frames;

/// Memory for frames, with the paths of all bodies. False when there is none.
bool cri_frames_push(const cr_model *model, cr_arena *arena, cri_frames *out);

/// Others over the same paths.
bool cri_frames_push_like(const cri_frames *other, cr_arena *arena, cri_frames *out);

/// Poses and twists at q (n_q), whose quaternions are unit.
void cri_frames_set(cri_frames *frames, const double *q);

/// motion (n_body, 6) of the bodies for rates of dofs y (n_v).
void cri_frames_motion(const cri_frames *frames, const double *y, double *motion);

/// g (n_v) += forces (n_body, 6) on the dofs.
void cri_frames_pull(const cri_frames *frames, const double *force, double *g);

/// H (n_v, n_v) += second derivatives B of two bodies' motions, rows of a and columns of b, stride
/// apart, with their transpose for a != b. Bodies -1 and static ones add nothing.
void cri_frames_add_block(const cri_frames *frames, int a, int b, const double *B, int stride,
                          double *H);

/// H (n_v, n_v) += what the coordinates themselves bend: F (n_body, 3) and N (n_body, 9) are the
/// gradient in affine motions x = A r + b of each body, N for A and F for b. work (n_joint, 12).
void cri_frames_add_curvature(const cri_frames *frames, const double *F, const double *N,
                              double *work, double *H);
