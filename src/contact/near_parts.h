// SPDX-License-Identifier: MIT
//
// What the files near*.c share: poses of geoms, and pairs with a distance field.

#pragma once

#include "contact/near.h"
#include "geometry/field/form.h"

/// Poses of both geoms in the world. A plane stands where its offset says.
void cri_near_poses(const cri_world *world, const cri_near *near, const cri_state *state,
                    cri_pose pose[2]);

/// Bodies beyond all numbers touch nothing.
bool cri_near_are_finite(const cri_pose pose[2]);

/// Adjoint and tangent of a geom's pose: pos in the world, rot in the geom's own frame.
void cri_near_pose_vjp(const cri_world *world, int geom, const cri_state *state, cri_vec3 pos_adj,
                       cri_vec3 rot_adj, double *q_adj, const cri_derived *d_adj);
void cri_near_pose_jvp(const cri_world *world, int geom, const cri_state *state,
                       const double *body_tan, const cri_derived *d_tan, cri_vec3 *pos_tan,
                       cri_vec3 *rot_tan);

/// The same as in near.h, for two geoms one of which is a field.
void cri_near_field_touches(const cri_world *world, const cri_near *near, const cri_pose pose[2],
                            double margin, cri_narrow_touch *touch);
void cri_near_field_touch(const cri_world *world, const cri_near *near, const cri_pose pose[2],
                          cri_narrow_touch *touch);
bool cri_near_field_again(const cri_world *world, const cri_near *near, const cri_pose pose[2],
                          cri_narrow_touch *touch);
void cri_near_field_vjp(const cri_world *world, const cri_near *near, const cri_narrow_touch *touch,
                        const cri_state *state, const cri_touch_diff *adj, double *q_adj,
                        const cri_derived *d_adj);
cri_touch_diff cri_near_field_jvp(const cri_world *world, const cri_near *near,
                                  const cri_narrow_touch *touch, const cri_state *state,
                                  const double *body_tan, const cri_derived *d_tan);
