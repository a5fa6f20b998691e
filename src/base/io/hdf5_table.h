// SPDX-License-Identifier: MIT
//
// Motions as HDF5 files, and back as tables; linear maps as HDF5 files.
//
//     /            attributes "format" = "carom trajectory 1", "scene", "law" (strings), "dt" in s
//     /time        (n_row) s
//     /qpos        (n_row, n_q), attribute "names": the column names, an array of strings
//     /qvel        (n_row, n_v) likewise
//     /ctrl        (n_row, n_u) likewise, only when the motion was controlled
//
// and of a linear map
//
//     /            attributes "format" = "carom linearisation 1", "scene", "law", "dt", and "step",
//                  after so many steps
//     /A           (n, n), attributes "names" of the columns and "rows"
//     /B           (n, n_u) likewise
//
// All numbers are doubles. Files are made and read in memory; the same motion gives the same bytes,
// and checksums tell damage. HDF5 keeps state of its own: one thread at a time. It is told not to
// tidy up at the end of the program: whoever has other HDF5 files open closes them.

#pragma once

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
