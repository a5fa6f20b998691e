// SPDX-License-Identifier: MIT
//
// The calls of HDF5 that Carom makes, found when a file wants them.
//
// Linked in the usual way, HDF5 and the dozens of libraries behind it would be loaded by every
// process, for more than ten milliseconds. So nothing links it: h5->Fopen(...) stands where
// H5Fopen(...) would.

#pragma once

#include <hdf5.h>

#include "base/base.h"

// the header's constants call the library in passing, which cri_hdf5_load has done
#undef H5CHECK
#undef H5OPEN
#define H5CHECK
#define H5OPEN

// clang-format off
#define CRI_HDF5_CALLS(CALL) \
    CALL(open) CALL(dont_atexit) CALL(Eget_auto2) CALL(Eset_auto2) \
    CALL(Fcreate) CALL(Fopen) CALL(Fclose) CALL(Gcreate2) CALL(Gclose) CALL(Lexists) \
    CALL(Aexists) CALL(Acreate2) CALL(Aopen) CALL(Aclose) CALL(Aread) CALL(Awrite) \
    CALL(Aget_type) CALL(Aget_space) \
    CALL(Dcreate2) CALL(Dopen2) CALL(Dclose) CALL(Dread) CALL(Dwrite) \
    CALL(Dget_type) CALL(Dget_space) CALL(Dvlen_reclaim) \
    CALL(Pcreate) CALL(Pclose) CALL(Pset_chunk) CALL(Pset_fletcher32) CALL(Pset_obj_track_times) \
    CALL(Pset_fapl_core) CALL(Pset_fclose_degree) CALL(Pset_file_image) \
    CALL(Pset_file_image_callbacks) CALL(Pset_libver_bounds) \
    CALL(Screate) CALL(Screate_simple) CALL(Sclose) CALL(Sget_simple_extent_ndims) \
    CALL(Sget_simple_extent_dims) CALL(Sget_simple_extent_npoints) \
    CALL(Tcopy) CALL(Tclose) CALL(Tget_class) CALL(Tget_size) CALL(Tis_variable_str) \
    CALL(Tset_size) CALL(Tset_strpad) CALL(Tset_cset)
// clang-format on

/// Functions of the library by their names without H5, and ids that it gives out.
typedef struct cri_hdf5_api {
#define CRI_HDF5_MEMBER(name) __typeof__(H5##name) *(name);
    CRI_HDF5_CALLS(CRI_HDF5_MEMBER)
#undef CRI_HDF5_MEMBER
    hid_t c_s1, native_double, ieee_f64le;                        // H5T_C_S1 and so on
    hid_t file_access, file_create, group_create, dataset_create; // H5P_FILE_ACCESS and so on
} cri_hdf5_api;

/// Loads the library, or finds it loaded; it stays until the process ends, and leaves out what it
/// would do then. Without it CR_ERR_UNSUPPORTED, and err says what to do about the file that was
/// wanted.
CR_MUST_CHECK cr_status cri_hdf5_load(const char *file, cri_hdf5_api *out, cr_error *err);

/// The same from a library of this name, as dlopen takes it.
CR_MUST_CHECK cr_status cri_hdf5_load_from(const char *library, const char *file, cri_hdf5_api *out,
                                           cr_error *err);
