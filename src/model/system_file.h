// SPDX-License-Identifier: MIT
//
// Files of weights that hold a system: which reader builds the model of which.
//
// The readers belong to higher layers, which define the table (src/points/learn/readers.c);
// cr_model_load looks into it.

#pragma once

#include "base/base.h"

/// Format of all such files, see base/io/hdf5_file.h. The text "system" names the kind of the
/// system.
#define CRI_SYSTEM_FORMAT "carom weights 1"

typedef struct cri_system_reader {
    const char *kind; // name of the system, as cri_system_kind has it
    cr_status (*read)(const char *bytes, size_t n_byte, const char *file, cr_model **out,
                      cr_error *err);
} cri_system_reader;

/// All readers; the last one has kind NULL.
extern const cri_system_reader cri_system_readers[];
