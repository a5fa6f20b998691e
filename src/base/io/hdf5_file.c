// SPDX-License-Identifier: MIT
//
// How HDF5 files are told from others, and named arrays as far as they need no HDF5. Files are made
// and read in hdf5_library.c by a library that hdf5_api.c loads, or refused in hdf5_none.c.

#include "base/io/hdf5_file.h"

#include "base/base.h"
#include "base/io/file.h"
#include "base/io/table.h"

#include <stdlib.h>
#include <string.h>

// ---- names and signatures -----------------------------------------------------------------------

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

// ---- arrays -------------------------------------------------------------------------------------

cr_status cri_arrays_read(const char *path, cri_array_file *content, cr_error *err) {
    char *bytes = NULL;
    size_t n_byte = 0;
    content->n_array = 0;
    content->array = NULL;
    for (int i = 0; i < content->n_text; i++) {
        content->text[i].text = NULL;
    }
    CR_TRY(cri_file_read(path, &bytes, &n_byte, err));
    cr_status status = cri_arrays_parse(bytes, n_byte, path, content, err);
    free(bytes);
    return status;
}

void cri_arrays_clear(cri_array_file *content) {
    for (int i = 0; i < content->n_array; i++) {
        free(content->array[i].name);
        free(content->array[i].value);
    }
    free(content->array);
    content->array = NULL;
    content->n_array = 0;
    for (int i = 0; i < content->n_text; i++) {
        free(content->text[i].text);
        content->text[i].text = NULL;
    }
}

const cri_array *cri_arrays_find(const cri_array_file *content, const char *name) {
    for (int i = 0; i < content->n_array; i++) {
        if (strcmp(content->array[i].name, name) == 0) {
            return &content->array[i];
        }
    }
    return NULL;
}
