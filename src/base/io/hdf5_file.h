// SPDX-License-Identifier: MIT
//
// HDF5 files: motions, and back as tables; linear maps; named arrays of numbers. A motion:
//
//     /            attributes "format" = "carom trajectory 1", "scene", "law" (strings), "dt" in s
//     /time        (n_row) s
//     /qpos        (n_row, n_q), attribute "names": the column names, an array of strings
//     /qvel        (n_row, n_v) likewise
//     /ctrl        (n_row, n_u) likewise, only when the motion was controlled
//
// A linear map:
//
//     /            attributes "format" = "carom linearisation 1", "scene", "law", "dt", and "step",
//                  after so many steps
//     /A           (n, n), attributes "names" of the columns and "rows"
//     /B           (n, n_u) likewise
//
// Named arrays, weights of nets and what belongs to them:
//
//     /            attributes "format", "arrays" (the names of all arrays), and texts of the caller
//     /NAME        an array of doubles; "/" within a name makes groups
//
// All numbers are doubles. Files are made and read in memory; equal content gives equal bytes, and
// checksums tell damage. hdf5_library.c makes and reads them by the library that hdf5_api.c loads;
// a build without it has hdf5_none.c, which refuses. HDF5 keeps state of its own: one thread at a
// time. It is told not to tidy up at the end of the program: whoever has other HDF5 files open
// closes them.

#pragma once

#include "base/base.h"
#include "base/io/table.h"

typedef enum cri_motion_part {
    CRI_MOTION_QPOS,
    CRI_MOTION_QVEL,
    CRI_MOTION_CTRL,
} cri_motion_part;

enum { CRI_N_MOTION_PART = CRI_MOTION_CTRL + 1 };

/// Columns of one dataset. Everything is borrowed.
typedef struct cri_motion_block {
    int n_col;
    const double *value;     // (n_row, n_col), NULL: the motion has no such part
    const char *const *name; // (n_col)
} cri_motion_block;

/// A motion to write. Everything is borrowed.
typedef struct cri_track {
    int n_row;
    const double *time; // (n_row) s
    cri_motion_block part[CRI_N_MOTION_PART];
    const char *scene;
    const char *law;
    double dt; // s
} cri_track;

/// A linear map x' = A x + B u to write. Everything is borrowed.
typedef struct cri_map {
    int n;
    int n_u;
    const double *A;            // (n, n) row by row
    const double *B;            // (n, n_u) likewise
    const char *const *state;   // (n) names
    const char *const *control; // (n_u) names
    const char *scene;
    const char *law;
    double dt; // s
    int step;
} cri_map;

/// CR_OK when this build knows HDF5 and its library can be loaded; else every call below fails with
/// this status, and err says what to do about the file that was wanted.
CR_MUST_CHECK cr_status cri_hdf5_check(const char *file, cr_error *err);

/// True for names that end in .h5 or .hdf5.
bool cri_hdf5_is_name(const char *path);

/// True for bytes that begin like an HDF5 file.
bool cri_hdf5_is_file(const char *bytes, size_t n_byte);

/// The bytes of a file that holds the motion. On success *bytes is the caller's to free, else NULL.
/// file stands in messages.
CR_MUST_CHECK cr_status cri_hdf5_make(const cri_track *motion, const char *file, char **bytes,
                                      size_t *n_byte, cr_error *err);

/// The same for a linear map.
CR_MUST_CHECK cr_status cri_hdf5_make_map(const cri_map *map, const char *file, char **bytes,
                                          size_t *n_byte, cr_error *err);

/// Reads the bytes of a file into a table: column t, then those of qpos and of qvel, of which one
/// may be missing; ctrl is checked by nobody and left out. Lines are 0. On failure *out is empty
/// and err says why.
CR_MUST_CHECK cr_status cri_hdf5_parse(const char *bytes, size_t n_byte, const char *file,
                                       cri_table *out, cr_error *err);

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
