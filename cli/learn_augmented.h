// SPDX-License-Identifier: MIT
//
// carom learn augmented SCENE: the nets of the law of that name.

#pragma once

#include "options.h"

int cli_learn_augmented(const cli_options *options);
