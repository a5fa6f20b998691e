// SPDX-License-Identifier: MIT
//
// What recordings say against the options of 'carom learn'.

#pragma once

#include "learn_data.h"

/// Sums over steps of one column: how it moves, and what its velocity says.
typedef struct learn_pace {
    double moved, along, square, n;
} learn_pace;

/// Adds a step: the column changes by dq, its velocity times the time step is hv.
void learn_pace_add(learn_pace *pace, double dq, double hv);

/// Is that another velocity, unit or time? slope: times a step of the velocity that the column
/// changes by, 1 if all is well.
bool learn_pace_is_wrong(const learn_pace *pace, double *slope);

/// Warns of contacts that the data cannot teach, of velocities that are not those of their columns,
/// of touches in another direction or row than velocities jump, and of weights that nobody keeps.
void learn_doubt(const cli_options *options, const learn_data *data);
