// SPDX-License-Identifier: MIT
//
// carom shape show: the shapes of a space or of a family, in numbers and pictures.

#pragma once

#include "base/arena.h"
#include "options.h"

/// Shows what options name. Returns an exit code.
int shape_show(const cli_options *options, cr_arena *arena, cr_arena *scratch);
