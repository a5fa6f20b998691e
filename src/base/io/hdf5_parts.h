// SPDX-License-Identifier: MIT
//
// What the writers and readers of HDF5 files share.

#pragma once

#include "base/io/hdf5_api.h"

/// Most axes of an array.
enum { CRI_HDF5_RANK = 4 };

// ---- files in memory (hdf5_image.c) ------------------------------------------------------------

/// Writes into an empty file. False when HDF5 fails.
typedef bool cri_hdf5_fill(const cri_hdf5_api *h5, hid_t file, const void *context);

/// The bytes of the file that fill makes: the caller's to free, NULL after a failure, whose text
/// says for what there was no memory.
CR_MUST_CHECK cr_status cri_hdf5_image_make(const char *file, const char *what, cri_hdf5_fill *fill,
                                            const void *context, char **bytes, size_t *n_byte,
                                            cr_error *err);

/// A file that is open for reading.
typedef struct cri_hdf5_reader {
    const cri_hdf5_api *h5;
    const char *file; // in messages
    cr_error *err;
    hid_t image;
} cri_hdf5_reader;

typedef cr_status cri_hdf5_take(const cri_hdf5_reader *r, void *context);

/// Opens the bytes of a file and lets take read them.
CR_MUST_CHECK cr_status cri_hdf5_image_read(const char *bytes, size_t n_byte, const char *file,
                                            cri_hdf5_take *take, void *context, cr_error *err);

// ---- writing (hdf5_write.c) --------------------------------------------------------------------

/// Closes what was opened; true when it was opened and closed well.
bool cri_hdf5_shut(hid_t id, herr_t (*close)(hid_t));

/// Attributes of one string, and of n.
bool cri_hdf5_write_text(const cri_hdf5_api *h5, hid_t owner, const char *name, const char *text);
bool cri_hdf5_write_texts(const cri_hdf5_api *h5, hid_t owner, const char *attribute, int n,
                          const char *const *name);

/// A dataset of rank 1 to CRI_HDF5_RANK; names of the columns and rows of a table, NULL: none.
bool cri_hdf5_write_numbers(const cri_hdf5_api *h5, hid_t file, const char *path, int rank,
                            const hsize_t *extent, const double *value, const char *const *name,
                            const char *const *row);

// ---- reading (hdf5_read.c) ---------------------------------------------------------------------

/// Failures with the file in front; format has one %s for what.
cr_status cri_hdf5_refuse(const cri_hdf5_reader *r, const char *format, const char *what);
cr_status cri_hdf5_damaged(const cri_hdf5_reader *r, const char *what);

/// n strings of an attribute into out (n), which comes as NULL; the caller frees them in any case.
CR_MUST_CHECK cr_status cri_hdf5_read_texts(const cri_hdf5_reader *r, hid_t owner, const char *name,
                                            int n, char **out);

/// Is the attribute "format" of the file the expected one?
CR_MUST_CHECK cr_status cri_hdf5_check_format(const cri_hdf5_reader *r, const char *expected);
