// SPDX-License-Identifier: MIT
//
// Distance fields as text: what <custom> carom:shape:GEOM says.
//
//   SHAPE    sphere R | box X Y Z | rounded-box X Y Z R | cylinder R H | capsule R H |
//            ellipsoid X Y Z | mesh [SCALE] | hull |
//            neural FILE [size S] [CODE... | like NAME]
//            OP [K] ( SHAPE , SHAPE ... )         OP: union, intersection, difference
//   SHAPE may be followed by   at X Y Z   and   turn RX RY RZ (a rotation vector, rad)
//   behind the whole           ; cells N   ; samples N   ; vertex edge|normal
//
// Sizes are half lengths, as in MJCF. K is the width of a blend, 0 for a sharp edge. FILE is a
// space of shapes beside the scene; S, 1 without it, enlarges its shapes and is no parameter.
// Without a code the shape is that of the mean of all codes, with NAME that of one of its shapes.

#pragma once

#include "model/scene_def.h"

/// Reads text. file is the scene's, for paths beside it; out and what it points to live in arena.
/// CR_ERR_SYNTAX, and err says what is wrong and what was expected, without file or line.
CR_MUST_CHECK cr_status cri_shape_text_read(const char *text, const char *file, cr_arena *arena,
                                            cri_form_def *out, cr_error *err);
