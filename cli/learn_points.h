// SPDX-License-Identifier: MIT
//
// carom learn points SYSTEM [DATA...]: masses, coefficients and potential of a system of points.

#pragma once

#include "options.h"

int cli_learn_points(const cli_options *options);
