// SPDX-License-Identifier: MIT
//
// Files of the nets of contact patches: JSON with shape, weights, ranges of inputs, and the body
// that they were trained for.

#pragma once

#include "model/ground_nets.h"

#include "carom/carom.h"

/// nets->weights are on the arena. Errors name the file and the member.
CR_MUST_CHECK cr_status cri_ground_file_read(const char *path, cri_ground_nets *nets,
                                             cr_arena *arena, cr_error *err);

CR_MUST_CHECK cr_status cri_ground_file_write(const char *path, const cri_ground_nets *nets,
                                              cr_error *err);
