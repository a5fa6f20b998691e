// SPDX-License-Identifier: MIT
//
// Grey pictures as PNG files.

#pragma once

#include "base/base.h"

/// Writes grey (height, width), 0 black to 255 white, whole or not at all.
CR_MUST_CHECK cr_status cri_png_write(const char *path, int width, int height,
                                      const unsigned char *grey, cr_error *err);
