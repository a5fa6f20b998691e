// SPDX-License-Identifier: MIT
//
// Whole files in memory, and error texts that begin with FILE:LINE.

#pragma once

#include "base/base.h"

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
