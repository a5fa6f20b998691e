// SPDX-License-Identifier: MIT
//
// Touches proposed from velocity jumps, for recordings without a touch signal.

#pragma once

#include "base/arena.h"
#include "carom/carom.h"

/// jump (n_row, n_q) is +1 or -1 in the row behind a jump of that velocity, else 0. x (n_row, 2
/// n_q) is one recording. False for lack of memory.
CR_MUST_CHECK bool cri_touch_jumps(int n_row, int n_q, const double *x, signed char *jump,
                                   cr_arena *work);
