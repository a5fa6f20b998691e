// SPDX-License-Identifier: MIT
//
// What clang-tidy cannot see, because it reads one file at a time: cri_fail returns the status that
// it is given. Included in front of every file by tools/check_tidy, and by nothing else.

#pragma once

#include "base/base.h"

#define cri_fail(err, status, ...) (cri_fail(err, status, __VA_ARGS__), (status))
