// SPDX-License-Identifier: MIT
//
// Whole files in memory, and error texts that begin with FILE:LINE.
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

/// Largest input that any reader takes, bytes: far above every real scene or recording, and small
/// enough that lines, rows and columns count as int.
#define CRI_FILE_LIMIT ((size_t)256 << 20)

/// Reads all of a file, or of standard input when its name is -, which can be read once. On success
/// *text is the caller's to free and has a NUL after its n_byte bytes; on failure it is NULL.
CR_MUST_CHECK cr_status cri_file_read(const char *path, char **text, size_t *n_byte, cr_error *err);

/// What messages call a file: its path, or "standard input" for -.
const char *cri_file_name(const char *path);

/// As cri_fail, with "FILE:LINE: " in front, or "FILE: " when line is 0. A long path keeps its end
/// only, and what no terminal should see becomes '?', so that the text is one readable line.
cr_status cri_file_fail(cr_error *err, cr_status status, const char *file, int line,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

/// What every reader says when the heap is exhausted.
cr_status cri_file_fail_memory(cr_error *err, const char *file);

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
