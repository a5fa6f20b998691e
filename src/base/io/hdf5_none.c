// SPDX-License-Identifier: MIT
//
// What a build without HDF5 says instead of writing or reading such files.

#include "base/io/hdf5_file.h"

#include "base/io/file.h"

cr_status cri_hdf5_check(const char *file, cr_error *err) {
    return cri_file_fail(err, CR_ERR_UNSUPPORTED, file, 0,
                         "this carom was built without HDF5; install libhdf5-dev and build again; "
                         "tables may be CSV instead");
}

cr_status cri_hdf5_make(const cri_track *motion, const char *file, char **bytes, size_t *n_byte,
                        cr_error *err) {
    CR_ASSERT(motion && file);
    *bytes = NULL;
    *n_byte = 0;
    return cri_hdf5_check(file, err);
}

cr_status cri_hdf5_make_map(const cri_map *map, const char *file, char **bytes, size_t *n_byte,
                            cr_error *err) {
    CR_ASSERT(map && file);
    *bytes = NULL;
    *n_byte = 0;
    return cri_hdf5_check(file, err);
}

cr_status cri_hdf5_parse(const char *bytes, size_t n_byte, const char *file, cri_table *out,
                         cr_error *err) {
    CR_ASSERT((bytes || n_byte == 0) && file);
    *out = (cri_table){0};
    return cri_hdf5_check(file, err);
}

cr_status cri_arrays_write(const char *path, const cri_array_file *content, cr_error *err) {
    CR_ASSERT(path && content);
    return cri_hdf5_check(path, err);
}

cr_status cri_arrays_parse(const char *bytes, size_t n_byte, const char *file,
                           cri_array_file *content, cr_error *err) {
    CR_ASSERT((bytes || n_byte == 0) && file && content);
    return cri_hdf5_check(file, err);
}
