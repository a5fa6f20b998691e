// SPDX-License-Identifier: MIT
//
// What the runs of an experiment came to, in a file, so that one that was interrupted goes on.
//
// An entry is some numbers under a text that says everything they depend on: model, recipe, epochs,
// seed. Which entries a command needs is its own matter, so that a table may be made in pieces, and
// more runs added later.

#pragma once

#include "base/base.h"

#include <stdint.h>

/// Start with cri_kept_open. Not safe for threads.
typedef struct cri_kept {
    const char *file; // NULL: nothing is kept
    uint64_t problem;
    size_t n_entry, room_entry;
    int64_t *index; // (n_entry, 2) hash of the text, numbers
    size_t n, room;
    double *number; // (n) of all entries
} cri_kept;

/// Reads the file when it is there. file NULL: nothing is kept. Another experiment's file is
/// refused. What cri_kept_clear releases is there after a failure too.
CR_MUST_CHECK cr_status cri_kept_open(const char *file, const char *experiment, cri_kept *out,
                                      cr_error *err);

void cri_kept_clear(cri_kept *kept);

/// Fills value (n); false when there is no such entry.
bool cri_kept_find(const cri_kept *kept, const char *text, size_t n, double *value);

/// Adds an entry and writes the file, whole or not at all.
CR_MUST_CHECK cr_status cri_kept_add(cri_kept *kept, const char *text, size_t n,
                                     const double *value, cr_error *err);
