// SPDX-License-Identifier: MIT
//
// Surfaces for 'carom shape train': meshes of files, of folders, or of a built-in family.

#pragma once

#include "base/arena.h"
#include "learned/shape_train.h"
#include "options.h"

typedef struct shape_data {
    cri_shape_data all;
    int n_code; // that the shapes need, by a rule of thumb
} shape_data;

/// Reads the words behind "train". Returns an exit code, after a line on stderr when it is not
/// CLI_DONE.
int shape_data_read(const cli_options *options, cr_arena *arena, cr_arena *scratch,
                    shape_data *out);
