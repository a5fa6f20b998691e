// SPDX-License-Identifier: MIT
//
// What recordings say against the options of 'carom learn central-difference'.

#pragma once

#include "learn_data.h"

/// Warns of contacts that the data cannot teach, of velocities that are not those of their columns,
/// of touches in another direction or row than velocities jump, and of weights that nobody keeps.
void learn_doubt(const cli_options *options, const learn_data *data);
