// SPDX-License-Identifier: MIT
//
// Recordings for 'carom learn central-difference': columns, contacts, windows.

#pragma once

#include "learn/learner.h"
#include "learn/windows.h"
#include "options.h"

enum { LEARN_Q_MOST = 16, LEARN_TOUCH_MOST = 16 };

/// What is learned from. Everything lives on the arena.
typedef struct learn_data {
    int n_q;
    const char *q[LEARN_Q_MOST]; // columns, each a body of one dimension
    const char *v[LEARN_Q_MOST];
    bool has_v;
    int n_touch;
    const char *column[LEARN_TOUCH_MOST]; // NULL: proposed from jumps
    cri_central_contact touch[LEARN_TOUCH_MOST];
    int n_hit[LEARN_TOUCH_MOST]; // rows with touch
    bool is_proposed;
    int n_series; // the last one is held out when has_holdout
    bool has_holdout;
    int *first; // (n_series + 1) first rows
    cri_touch_data all;
    cr_arena *arena;
} learn_data;

/// An output that cannot be written is told before hours of training. NULL is none. Returns an
/// exit code.
int learn_check_output(const char *path);

/// Reads the files behind the system's name and --holdout. Returns an exit code.
int learn_data_read(const cli_options *options, int horizon, learn_data *out);
