// SPDX-License-Identifier: MIT
//
// Recordings for 'carom learn central-difference': columns, contacts, windows.

#pragma once

#include "options.h"
#include "points/learn/learner.h"
#include "points/learn/windows.h"

enum { LEARN_Q_MOST = 16, LEARN_TOUCH_MOST = 16 };

/// A run of rows with touch.
typedef struct learn_held {
    int n_row;        // 0: there is none
    int row;          // of the first, from 1
    const char *file; // borrowed
} learn_held;

/// What is learned from. Everything lives on the arena.
typedef struct learn_data {
    int n_q;
    const char *q[LEARN_Q_MOST]; // columns, each a body of one dimension
    const char *v[LEARN_Q_MOST];
    bool has_v;
    int n_touch;
    const char *column[LEARN_TOUCH_MOST]; // NULL: proposed from jumps
    cri_central_contact touch[LEARN_TOUCH_MOST];
    int n_hit[LEARN_TOUCH_MOST];       // rows with touch
    learn_held held[LEARN_TOUCH_MOST]; // the longest touch of each
    bool is_proposed;
    int n_left;   // jumps of no contact, since there are too many
    int n_series; // the last one is held out when has_holdout
    bool has_holdout;
    int *first; // (n_series + 1) first rows
    cri_touch_data all;
    cr_arena *arena;
} learn_data;

/// An output of another kind than weights is told before hours of training. NULL is none. Returns
/// an exit code.
int learn_check_output(const char *path);

/// Reads the files behind the system's name and --holdout. Returns an exit code.
int learn_data_read(const cli_options *options, int horizon, learn_data *out);
