// SPDX-License-Identifier: MIT
//
// Tables of numbers from CSV text.
//
// The first line that is neither blank nor a comment names the columns; every other one is a row of
// as many numbers, separated by commas. Lines whose first character is '#' are comments. Cells may
// have spaces around them and double quotes; line ends may be LF or CRLF.

#pragma once

#include "base/base.h"

/// A table as read. Owns its arrays and strings; release with cri_table_clear.
typedef struct cri_table {
    int n_row;
    int n_col;
    int n_comment;
    char **name;    // (n_col) without quotes and surrounding spaces
    double *value;  // (n_row, n_col) finite
    int *line;      // (n_row) line of the file, 0 when it has none
    char **comment; // (n_comment) without '#' and surrounding spaces
} cri_table;

/// Reads a file, CSV or HDF5 (see hdf5_file.h). On failure *out is empty and err names file, line
/// and column.
CR_MUST_CHECK cr_status cri_table_read(const char *path, cri_table *out, cr_error *err);

/// As cri_table_read, from memory. file stands in messages.
CR_MUST_CHECK cr_status cri_table_parse(const char *text, size_t n_byte, const char *file,
                                        cri_table *out, cr_error *err);

/// Releases what table owns and empties it.
void cri_table_clear(cri_table *table);

/// Index of a column, -1 when there is none.
int cri_table_find(const cri_table *table, const char *name);
