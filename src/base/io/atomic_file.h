// SPDX-License-Identifier: MIT
//
// Files that appear whole or not at all.
//
// Text goes to a temporary file in the same folder, which takes the final name when it is complete.
// What is not a plain file (a pipe, a device, a symbolic link) is written directly. /dev/fd/N is
// descriptor N, which is open already: it is not opened again, which would truncate a file that
// others write to, and fail for sockets.

#pragma once

#include "base/base.h"

#include <stdio.h>

typedef struct cri_atomic_file {
    FILE *stream;
    const char *path; // borrowed until commit or cancel
    char *temporary;  // owned, NULL when written directly
} cri_atomic_file;

/// Opens path for writing. After success end with commit or cancel.
CR_MUST_CHECK cr_status cri_atomic_open(const char *path, cri_atomic_file *out, cr_error *err);

/// Closes the file and gives it its name. After a failure nothing new stands at path.
CR_MUST_CHECK cr_status cri_atomic_commit(cri_atomic_file *file, cr_error *err);

/// Throws away what was written.
void cri_atomic_cancel(cri_atomic_file *file);
