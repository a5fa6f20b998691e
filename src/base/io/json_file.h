// SPDX-License-Identifier: MIT
//
// JSON documents to files.

#pragma once

#include "base/base.h"

#include <jansson.h>

/// Writes root, whose reference is taken, whole or not at all; flags are those of json_dumps, to
/// which 17 digits are added, as they bring every double back. NULL, or what is not built to its
/// end, is told as lack of memory.
CR_MUST_CHECK cr_status cri_json_write(const char *path, json_t *root, bool is_built, size_t flags,
                                       cr_error *err);
