// SPDX-License-Identifier: MIT
//
// Named arrays of numbers as HDF5 files. Nothing in a file is trusted, as in hdf5_read.c.

#include "base/io/hdf5_arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/file.h"
#include "base/io/hdf5_parts.h"

// ---- writing -----------------------------------------------------------------------------------

// the groups that a name goes through
static bool make_groups(const cri_hdf5_api *h5, hid_t file, const char *name) {
    hid_t list = h5->Pcreate(h5->group_create);
    bool is_good = list >= 0 && h5->Pset_obj_track_times(list, false) >= 0;
    for (const char *slash = strchr(name, '/'); slash && is_good; slash = strchr(slash + 1, '/')) {
        char *path = calloc((size_t)(slash - name) + 1, 1);
        if (!path) {
            is_good = false;
            break;
        }
        memcpy(path, name, (size_t)(slash - name));
        if (h5->Lexists(file, path, H5P_DEFAULT) <= 0) {
            hid_t group = h5->Gcreate2(file, path, H5P_DEFAULT, list, H5P_DEFAULT);
            is_good = cri_hdf5_shut(group, h5->Gclose);
        }
        free(path);
    }
    return cri_hdf5_shut(list, h5->Pclose) && is_good;
}

static bool write_list(const cri_hdf5_api *h5, hid_t file, const cri_array_file *c) {
    const char **name = calloc((size_t)c->n_array + 1, sizeof *name);
    for (int i = 0; name && i < c->n_array; i++) {
        name[i] = c->array[i].name;
    }
    bool is_good = name && cri_hdf5_write_texts(h5, file, "arrays", c->n_array, name);
    free(name);
    return is_good;
}

static bool fill(const cri_hdf5_api *h5, hid_t file, const void *context) {
    const cri_array_file *c = context;
    bool is_good = cri_hdf5_write_text(h5, file, "format", c->format) && write_list(h5, file, c);
    for (int i = 0; i < c->n_text && is_good; i++) {
        is_good =
            !c->text[i].text || cri_hdf5_write_text(h5, file, c->text[i].name, c->text[i].text);
    }
    for (int i = 0; i < c->n_array && is_good; i++) {
        const cri_array *a = &c->array[i];
        hsize_t extent[CRI_HDF5_RANK] = {0};
        for (int k = 0; k < a->rank; k++) {
            extent[k] = (hsize_t)a->extent[k];
        }
        is_good = make_groups(h5, file, a->name) &&
                  cri_hdf5_write_numbers(h5, file, a->name, a->rank, extent, a->value, NULL, NULL);
    }
    return is_good;
}

cr_status cri_arrays_write(const char *path, const cri_array_file *content, cr_error *err) {
    CR_ASSERT(path && content && content->format && content->n_array <= CRI_ARRAY_LIMIT);
    for (int i = 0; i < content->n_array; i++) {
        const cri_array *a = &content->array[i];
        CR_ASSERT(a->name && a->name[0] && a->rank >= 1 && a->rank <= CRI_ARRAY_RANK && a->value);
    }
    char *bytes = NULL;
    size_t n_byte = 0;
    char what[40];
    snprintf(what, sizeof what, "%d arrays", content->n_array);
    CR_TRY(cri_hdf5_image_make(path, what, fill, content, &bytes, &n_byte, err));
    cri_atomic_file file;
    cr_status status = cri_atomic_open(path, &file, err);
    if (status == CR_OK) {
        fwrite(bytes, 1, n_byte, file.stream); // a failure shows at the commit
        status = cri_atomic_commit(&file, err);
    }
    free(bytes);
    return status;
}

// ---- reading -----------------------------------------------------------------------------------

// strings of an attribute, -1 when there is no such attribute
static long count_texts(const cri_hdf5_reader *r, const char *name) {
    if (r->h5->Aexists(r->image, name) <= 0) {
        return -1;
    }
    hid_t attribute = r->h5->Aopen(r->image, name, H5P_DEFAULT);
    hid_t space = attribute >= 0 ? r->h5->Aget_space(attribute) : -1;
    hssize_t n = space >= 0 ? r->h5->Sget_simple_extent_npoints(space) : -1;
    cri_hdf5_shut(space, r->h5->Sclose);
    cri_hdf5_shut(attribute, r->h5->Aclose);
    return n >= 0 && n <= CRI_ARRAY_LIMIT ? (long)n : CRI_ARRAY_LIMIT + 1;
}

// True when every part of the path is there: HDF5 wants to be asked one by one.
static bool has_path(const cri_hdf5_reader *r, const char *name) {
    char path[1100];
    size_t n = strlen(name);
    if (n == 0 || n >= sizeof path || name[0] == '/' || name[n - 1] == '/') {
        return false;
    }
    for (size_t i = 1; i <= n; i++) {
        if (name[i] == '/' || name[i] == '\0') {
            memcpy(path, name, i);
            path[i] = '\0';
            if (r->h5->Lexists(r->image, path, H5P_DEFAULT) <= 0) {
                return false;
            }
        }
    }
    return true;
}

static cr_status check_shape(const cri_hdf5_reader *r, hid_t set, cri_array *a, size_t *n) {
    hid_t type = r->h5->Dget_type(set), space = r->h5->Dget_space(set);
    hsize_t extent[CRI_ARRAY_RANK] = {0};
    int rank = space >= 0 ? r->h5->Sget_simple_extent_ndims(space) : -1;
    bool is_float = type >= 0 && r->h5->Tget_class(type) == H5T_FLOAT;
    cr_status status = CR_OK;
    if (rank < 1 || rank > CRI_ARRAY_RANK ||
        r->h5->Sget_simple_extent_dims(space, extent, NULL) != rank) {
        status = cri_hdf5_refuse(r, "'%.60s' is no array of one to four axes", a->name);
    } else if (!is_float) {
        status = cri_hdf5_refuse(r, "'%.60s' does not hold floating-point numbers", a->name);
    }
    cri_hdf5_shut(type, r->h5->Tclose);
    cri_hdf5_shut(space, r->h5->Sclose);
    *n = 1;
    for (int k = 0; k < rank && status == CR_OK; k++) {
        if (extent[k] > CRI_FILE_LIMIT / 8 || (*n *= (size_t)extent[k]) > CRI_FILE_LIMIT / 8) {
            status = cri_hdf5_refuse(r, "'%.60s' is too large", a->name);
        }
        a->extent[k] = (int)extent[k];
    }
    a->rank = rank;
    return status;
}

static cr_status read_numbers(const cri_hdf5_reader *r, hid_t set, cri_array *a) {
    size_t n = 0;
    CR_TRY(check_shape(r, set, a, &n));
    a->value = malloc(n * sizeof *a->value + 1);
    if (!a->value) {
        return cri_file_fail_memory(r->err, r->file);
    }
    if (n > 0 &&
        r->h5->Dread(set, r->h5->native_double, H5S_ALL, H5S_ALL, H5P_DEFAULT, a->value) < 0) {
        return cri_hdf5_damaged(r, a->name);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a->value[i])) {
            return cri_hdf5_refuse(r, "'%.60s' has a number that is not finite", a->name);
        }
    }
    return CR_OK;
}

static cr_status read_array(const cri_hdf5_reader *r, cri_array *a) {
    CR_ASSERT(a->name);
    if (!has_path(r, a->name)) {
        return cri_hdf5_refuse(r, "the array '%.60s' is missing", a->name);
    }
    hid_t set = r->h5->Dopen2(r->image, a->name, H5P_DEFAULT);
    if (set < 0) {
        return cri_hdf5_damaged(r, a->name);
    }
    cr_status status = read_numbers(r, set, a);
    r->h5->Dclose(set);
    return status;
}

static cr_status take(const cri_hdf5_reader *r, void *context) {
    cri_array_file *c = context;
    CR_TRY(cri_hdf5_check_format(r, c->format));
    long n = count_texts(r, "arrays");
    if (n < 0 || n > CRI_ARRAY_LIMIT) {
        return cri_hdf5_refuse(r, "the attribute '%s' is missing or too long", "arrays");
    }
    char **name = calloc((size_t)n + 1, sizeof *name);
    c->array = calloc((size_t)n + 1, sizeof *c->array);
    if (!name || !c->array) {
        free(name);
        return cri_file_fail_memory(r->err, r->file);
    }
    cr_status status = n > 0 ? cri_hdf5_read_texts(r, r->image, "arrays", (int)n, name) : CR_OK;
    for (int i = 0; i < n; i++) {
        c->array[i].name = name[i];
    }
    c->n_array = (int)n;
    free(name);
    for (int i = 0; i < n && status == CR_OK; i++) {
        status = read_array(r, &c->array[i]);
    }
    for (int i = 0; i < c->n_text && status == CR_OK; i++) {
        if (count_texts(r, c->text[i].name) >= 0) {
            status = cri_hdf5_read_texts(r, r->image, c->text[i].name, 1, &c->text[i].text);
        }
    }
    return status;
}

cr_status cri_arrays_parse(const char *bytes, size_t n_byte, const char *file,
                           cri_array_file *content, cr_error *err) {
    CR_ASSERT((bytes || n_byte == 0) && file && content && content->format);
    content->n_array = 0;
    content->array = NULL;
    for (int i = 0; i < content->n_text; i++) {
        content->text[i].text = NULL;
    }
    return cri_hdf5_image_read(bytes, n_byte, file, take, content, err);
}
