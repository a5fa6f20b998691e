// SPDX-License-Identifier: MIT
//
// How HDF5 files are told from others.
//
// Files are made in hdf5_write.c and read in hdf5_read.c by a library that hdf5_api.c loads, or
// refused in hdf5_none.c.

#include "base/io/hdf5_table.h"

#include <string.h>

bool cri_hdf5_is_name(const char *path) {
    static const char *const ending[] = {".h5", ".hdf5"};
    size_t n = strlen(path);
    for (int i = 0; i < 2; i++) {
        size_t n_ending = strlen(ending[i]);
        if (n > n_ending && strcmp(path + n - n_ending, ending[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool cri_hdf5_is_file(const char *bytes, size_t n_byte) {
    // the signature of the format's specification, section II.A
    return n_byte >= 8 && memcmp(bytes, "\x89HDF\r\n\x1a\n", 8) == 0;
}
