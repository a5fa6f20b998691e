// SPDX-License-Identifier: MIT
//
// Files that come with Carom: shapes/ and examples/ in the folder share/carom.

#pragma once

#include "base/base.h"

/// Longest path that is made, bytes.
enum { CRI_SHIPPED_LIMIT = 1024 };

/// Path of a shipped file or folder, such as "shapes/animals.h5". The folder is CAROM_DATA when the
/// environment has it, else it is found from where the running program lies: in share/carom beside
/// it (a build tree), then where an installation has it. An error names every place that was tried.
CR_MUST_CHECK cr_status cri_shipped_path(const char *name, char path[CRI_SHIPPED_LIMIT],
                                         cr_error *err);
