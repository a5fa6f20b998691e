// SPDX-License-Identifier: MIT
//
// URDF, the robot format of ROS, to a scene definition.
//
// A link becomes a body, a joint the joint of its child. The root link stands still: a link named
// world is the world, any other root is fixed to it. (URDF has no floating base: put a joint of
// type floating between a link named world and the robot.) Looks, transmissions and simulator
// extensions are passed over; what is read and has no effect stands in the warning.
//
// Links do not touch each other, only what belongs to the link named world: URDF does not say which
// of them may, and shapes of neighbours overlap. Gazebo, DART and PyBullet start from this as well.

#pragma once

#include "model/scene_def.h"

/// Reads a robot from memory. file stands in messages, and meshes are sought beside it. On success
/// *def is released by cri_scene_def_clear; on failure it is empty and err names file, line,
/// element and remedy.
CR_MUST_CHECK cr_status cri_urdf_read(const char *text, size_t n_byte, const char *file,
                                      cri_scene_def *def, cr_error *err);
