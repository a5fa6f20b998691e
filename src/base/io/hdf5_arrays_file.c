// SPDX-License-Identifier: MIT
//
// Named arrays: files, and what needs no HDF5.

#include "base/io/hdf5_arrays.h"

#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"

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
