// SPDX-License-Identifier: MIT
//
// Motions and linear maps as HDF5 files in memory.
//
// Objects keep no times, so that equal motions give equal bytes. Metadata of format 1.10 have
// checksums, the numbers get them from the filter "Fletcher32", which wants them in chunks.

#include "base/io/hdf5_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/hdf5_parts.h"

// numbers of a chunk, about: half a MiB, what the library caches of a dataset
#define CHUNK 65536

bool cri_hdf5_shut(hid_t id, herr_t (*close)(hid_t)) {
    return id >= 0 && close(id) >= 0;
}

static bool write_attribute(const cri_hdf5_api *h5, hid_t owner, const char *name, hid_t type,
                            hid_t space, const void *data) {
    hid_t attribute = h5->Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool is_good = attribute >= 0 && h5->Awrite(attribute, type, data) >= 0;
    return cri_hdf5_shut(attribute, h5->Aclose) && is_good;
}

// strings of size bytes, filled up with NUL
static hid_t text_type(const cri_hdf5_api *h5, size_t size) {
    hid_t type = h5->Tcopy(h5->c_s1);
    bool is_good = type >= 0 && h5->Tset_size(type, size) >= 0 &&
                   h5->Tset_strpad(type, H5T_STR_NULLPAD) >= 0 &&
                   h5->Tset_cset(type, H5T_CSET_UTF8) >= 0;
    if (!is_good && type >= 0) {
        h5->Tclose(type);
    }
    return is_good ? type : -1;
}

bool cri_hdf5_write_text(const cri_hdf5_api *h5, hid_t owner, const char *name, const char *text) {
    // a type of no bytes does not exist; the empty string is one NUL
    size_t n = strlen(text);
    hid_t type = text_type(h5, n > 0 ? n : 1);
    hid_t space = h5->Screate(H5S_SCALAR);
    bool is_good = type >= 0 && space >= 0 && write_attribute(h5, owner, name, type, space, text);
    is_good = cri_hdf5_shut(type, h5->Tclose) && is_good;
    return cri_hdf5_shut(space, h5->Sclose) && is_good;
}

static bool write_number(const cri_hdf5_api *h5, hid_t owner, const char *name, double value) {
    hid_t space = h5->Screate(H5S_SCALAR);
    bool is_good = space >= 0 && write_attribute(h5, owner, name, h5->native_double, space, &value);
    return cri_hdf5_shut(space, h5->Sclose) && is_good;
}

bool cri_hdf5_write_texts(const cri_hdf5_api *h5, hid_t owner, const char *attribute, int n,
                          const char *const *name) {
    size_t size = 1;
    for (int i = 0; i < n; i++) {
        size = strlen(name[i]) > size ? strlen(name[i]) : size;
    }
    char *all = calloc((size_t)n + 1, size);
    if (!all) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        memcpy(all + (size_t)i * size, name[i], strlen(name[i]));
    }
    hsize_t extent = (hsize_t)n;
    hid_t type = text_type(h5, size);
    hid_t space = h5->Screate_simple(1, &extent, NULL);
    bool is_good =
        type >= 0 && space >= 0 && write_attribute(h5, owner, attribute, type, space, all);
    is_good = cri_hdf5_shut(type, h5->Tclose) && is_good;
    is_good = cri_hdf5_shut(space, h5->Sclose) && is_good;
    free(all);
    return is_good;
}

// numbers behind one index of the first axis
static hsize_t row_width(int rank, const hsize_t *extent) {
    hsize_t width = 1;
    for (int i = 1; i < rank; i++) {
        width *= extent[i];
    }
    return width;
}

// how a dataset is laid out; one without numbers has no chunks
static hid_t creation(const cri_hdf5_api *h5, int rank, const hsize_t *extent) {
    hid_t list = h5->Pcreate(h5->dataset_create);
    bool is_good = list >= 0 && h5->Pset_obj_track_times(list, false) >= 0;
    hsize_t width = row_width(rank, extent);
    if (is_good && extent[0] > 0 && width > 0) {
        hsize_t n_row = CHUNK / width > 0 ? CHUNK / width : 1;
        hsize_t chunk[CRI_HDF5_RANK] = {0};
        memcpy(chunk, extent, sizeof *chunk * (size_t)rank);
        chunk[0] = n_row < extent[0] ? n_row : extent[0];
        is_good = h5->Pset_chunk(list, rank, chunk) >= 0 && h5->Pset_fletcher32(list) >= 0;
    }
    if (!is_good && list >= 0) {
        h5->Pclose(list);
    }
    return is_good ? list : -1;
}

bool cri_hdf5_write_numbers(const cri_hdf5_api *h5, hid_t file, const char *path, int rank,
                            const hsize_t *extent, const double *value, const char *const *name,
                            const char *const *row) {
    hid_t space = h5->Screate_simple(rank, extent, NULL);
    hid_t list = creation(h5, rank, extent);
    hid_t set = -1;
    if (space >= 0 && list >= 0) {
        set = h5->Dcreate2(file, path, h5->ieee_f64le, space, H5P_DEFAULT, list, H5P_DEFAULT);
    }
    bool is_good = set >= 0;
    if (is_good && extent[0] > 0 && row_width(rank, extent) > 0) {
        is_good = h5->Dwrite(set, h5->native_double, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0;
    }
    if (is_good && name) {
        is_good = cri_hdf5_write_texts(h5, set, "names", (int)extent[1], name);
    }
    if (is_good && row) {
        is_good = cri_hdf5_write_texts(h5, set, "rows", (int)extent[0], row);
    }
    is_good = cri_hdf5_shut(set, h5->Dclose) && is_good;
    is_good = cri_hdf5_shut(list, h5->Pclose) && is_good;
    return cri_hdf5_shut(space, h5->Sclose) && is_good;
}

static bool write_motion(const cri_hdf5_api *h5, hid_t file, const void *context) {
    const cri_track *m = context;
    static const char *const path[] = {"qpos", "qvel", "ctrl"};
    hsize_t extent[2] = {(hsize_t)m->n_row, 0};
    bool is_good = cri_hdf5_write_text(h5, file, "format", "carom trajectory 1") &&
                   cri_hdf5_write_text(h5, file, "scene", m->scene) &&
                   cri_hdf5_write_text(h5, file, "law", m->law) &&
                   write_number(h5, file, "dt", m->dt) &&
                   cri_hdf5_write_numbers(h5, file, "time", 1, extent, m->time, NULL, NULL);
    for (int i = 0; i < CRI_N_MOTION_PART && is_good; i++) {
        const cri_motion_block *part = &m->part[i];
        extent[1] = (hsize_t)part->n_col;
        is_good = !part->value || cri_hdf5_write_numbers(h5, file, path[i], 2, extent, part->value,
                                                         part->name, NULL);
    }
    return is_good;
}

static bool write_map(const cri_hdf5_api *h5, hid_t file, const void *context) {
    const cri_map *m = context;
    hsize_t square[2] = {(hsize_t)m->n, (hsize_t)m->n};
    hsize_t wide[2] = {(hsize_t)m->n, (hsize_t)m->n_u};
    return cri_hdf5_write_text(h5, file, "format", "carom linearisation 1") &&
           cri_hdf5_write_text(h5, file, "scene", m->scene) &&
           cri_hdf5_write_text(h5, file, "law", m->law) && write_number(h5, file, "dt", m->dt) &&
           write_number(h5, file, "step", m->step) &&
           cri_hdf5_write_numbers(h5, file, "A", 2, square, m->A, m->state, m->state) &&
           cri_hdf5_write_numbers(h5, file, "B", 2, wide, m->B, m->control, m->state);
}

cr_status cri_hdf5_make(const cri_track *motion, const char *file, char **bytes, size_t *n_byte,
                        cr_error *err) {
    CR_ASSERT(motion && motion->n_row >= 0 && (motion->time || motion->n_row == 0));
    CR_ASSERT(motion->scene && motion->law && file && bytes && n_byte);
    char what[40];
    snprintf(what, sizeof what, "%d rows", motion->n_row);
    return cri_hdf5_image_make(file, what, write_motion, motion, bytes, n_byte, err);
}

cr_status cri_hdf5_make_map(const cri_map *map, const char *file, char **bytes, size_t *n_byte,
                            cr_error *err) {
    CR_ASSERT(map && map->n > 0 && map->n_u >= 0 && map->A && (map->B || map->n_u == 0));
    CR_ASSERT(map->scene && map->law && file && bytes && n_byte);
    return cri_hdf5_image_make(file, "a linear map", write_map, map, bytes, n_byte, err);
}
