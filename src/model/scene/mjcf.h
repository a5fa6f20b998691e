// SPDX-License-Identifier: MIT
//
// MJCF, MuJoCo's scene format, to a scene definition. docs/scenes.md lists what is read.
//
// What would change the motion and is not simulated is an error with file and line; what cannot
// change it is passed over.

#pragma once

#include "model/model.h"

/// Reads a scene from memory. file stands in messages. On success *def is released by
/// cri_scene_def_clear; on failure it is empty and err names file, line, element and remedy.
CR_MUST_CHECK cr_status cri_mjcf_read(const char *text, size_t n_byte, const char *file,
                                      cri_scene_def *def, cr_error *err);
