// SPDX-License-Identifier: MIT
//
// Named arrays of numbers as HDF5 files: weights of nets and what belongs to them.
//
//     /         attributes "format", "arrays" (the names of all arrays), and texts of the caller
//     /NAME     an array of doubles; "/" within a name makes groups
//
// Equal content gives equal bytes, and checksums tell damage.

#pragma once

#include "base/base.h"

enum { CRI_ARRAY_RANK = 4, CRI_ARRAY_LIMIT = 1024 };

/// One array, row-major. What was read owns name and value.
typedef struct cri_array {
    char *name;
    int rank; // 1 to CRI_ARRAY_RANK
    int extent[CRI_ARRAY_RANK];
    double *value;
} cri_array;

/// A text beside the arrays. In what is read text is owned, NULL: the file has none of this name.
typedef struct cri_array_text {
    const char *name;
    char *text;
} cri_array_text;

/// The content of a file.
typedef struct cri_array_file {
    const char *format; // such as "carom weights 1"
    int n_array;        // at most CRI_ARRAY_LIMIT
    cri_array *array;
    int n_text;
    cri_array_text *text; // (n_text) the caller's
} cri_array_file;

/// Writes a file, whole or not at all.
CR_MUST_CHECK cr_status cri_arrays_write(const char *path, const cri_array_file *content,
                                         cr_error *err);

/// Reads a file of the format that content names, all its arrays and the texts that content names.
/// Numbers are finite. Release with cri_arrays_clear, after a failure too.
CR_MUST_CHECK cr_status cri_arrays_read(const char *path, cri_array_file *content, cr_error *err);

/// As cri_arrays_read, from memory. file stands in messages.
CR_MUST_CHECK cr_status cri_arrays_parse(const char *bytes, size_t n_byte, const char *file,
                                         cri_array_file *content, cr_error *err);

/// Releases what was read.
void cri_arrays_clear(cri_array_file *content);

/// The array of a name, NULL when there is none.
const cri_array *cri_arrays_find(const cri_array_file *content, const char *name);
