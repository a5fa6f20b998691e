// SPDX-License-Identifier: MIT
//
// Recordings of throws for 'carom learn augmented'.

#pragma once

#include "learned/ground_data.h"
#include "options.h"

/// Transitions of the files behind the scene's name: rows of times, positions and velocities.
/// Arrays are on the arena. Returns an exit code.
int learn_throws_read(const cli_options *options, const cr_model *model, cri_ground_record *out,
                      cr_arena *arena);
