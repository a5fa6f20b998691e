// SPDX-License-Identifier: MIT
//
// What a page needs to be seen, made from viewer/ by the build (cmake/viewer.cmake).

#pragma once

#include <stddef.h>

extern const unsigned char cri_viewer_style[];
extern const size_t cri_viewer_style_bytes;

/// No bytes when the build had no npm.
extern const unsigned char cri_viewer_script[];
extern const size_t cri_viewer_script_bytes;
