// SPDX-License-Identifier: MIT
//
// Motions and linear maps as HDF5 files in memory.
//
// The library's core driver holds the whole file in memory and never touches a disk. Objects keep
// no times, so that equal motions give equal bytes. Metadata of format 1.10 have checksums, the
// numbers get them from the filter "Fletcher32", which wants them in chunks.

#include "io/hdf5_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/hdf5_api.h"

// numbers of a chunk, about: half a MiB, what the library caches of a dataset
#define CHUNK 65536

// bytes by which the file in memory grows
#define GROWTH ((size_t)1 << 16)

// closes what was opened; true when it was opened and closed well
static bool shut(hid_t id, herr_t (*close)(hid_t)) {
    return id >= 0 && close(id) >= 0;
}

static bool write_attribute(const cri_hdf5_api *h5, hid_t owner, const char *name, hid_t type,
                            hid_t space, const void *data) {
    hid_t attribute = h5->Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool is_good = attribute >= 0 && h5->Awrite(attribute, type, data) >= 0;
    return shut(attribute, h5->Aclose) && is_good;
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

static bool write_text(const cri_hdf5_api *h5, hid_t owner, const char *name, const char *text) {
    // a type of no bytes does not exist; the empty string is one NUL
    size_t n = strlen(text);
    hid_t type = text_type(h5, n > 0 ? n : 1);
    hid_t space = h5->Screate(H5S_SCALAR);
    bool is_good = type >= 0 && space >= 0 && write_attribute(h5, owner, name, type, space, text);
    is_good = shut(type, h5->Tclose) && is_good;
    return shut(space, h5->Sclose) && is_good;
}

static bool write_number(const cri_hdf5_api *h5, hid_t owner, const char *name, double value) {
    hid_t space = h5->Screate(H5S_SCALAR);
    bool is_good = space >= 0 && write_attribute(h5, owner, name, h5->native_double, space, &value);
    return shut(space, h5->Sclose) && is_good;
}

static bool write_names(const cri_hdf5_api *h5, hid_t owner, const char *attribute, int n,
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
    is_good = shut(type, h5->Tclose) && is_good;
    is_good = shut(space, h5->Sclose) && is_good;
    free(all);
    return is_good;
}

// how a dataset is laid out; one without numbers has no chunks
static hid_t creation(const cri_hdf5_api *h5, int rank, const hsize_t *extent) {
    hid_t list = h5->Pcreate(h5->dataset_create);
    bool is_good = list >= 0 && h5->Pset_obj_track_times(list, false) >= 0;
    hsize_t width = rank == 2 ? extent[1] : 1;
    if (is_good && extent[0] > 0 && width > 0) {
        hsize_t n_row = CHUNK / width > 0 ? CHUNK / width : 1;
        hsize_t chunk[2] = {n_row < extent[0] ? n_row : extent[0], width};
        is_good = h5->Pset_chunk(list, rank, chunk) >= 0 && h5->Pset_fletcher32(list) >= 0;
    }
    if (!is_good && list >= 0) {
        h5->Pclose(list);
    }
    return is_good ? list : -1;
}

// names of columns and of rows may be NULL
static bool write_dataset(const cri_hdf5_api *h5, hid_t file, const char *path, int rank,
                          const hsize_t *extent, const double *value, const char *const *name,
                          const char *const *row) {
    hid_t space = h5->Screate_simple(rank, extent, NULL);
    hid_t list = creation(h5, rank, extent);
    hid_t set = -1;
    if (space >= 0 && list >= 0) {
        set = h5->Dcreate2(file, path, h5->ieee_f64le, space, H5P_DEFAULT, list, H5P_DEFAULT);
    }
    bool is_good = set >= 0;
    if (is_good && extent[0] > 0 && (rank == 1 || extent[1] > 0)) {
        is_good = h5->Dwrite(set, h5->native_double, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0;
    }
    if (is_good && name) {
        is_good = write_names(h5, set, "names", (int)extent[1], name);
    }
    if (is_good && row) {
        is_good = write_names(h5, set, "rows", (int)extent[0], row);
    }
    is_good = shut(set, h5->Dclose) && is_good;
    is_good = shut(list, h5->Pclose) && is_good;
    return shut(space, h5->Sclose) && is_good;
}

static bool write_motion(const cri_hdf5_api *h5, hid_t file, const void *what) {
    const cri_track *m = what;
    static const char *const path[] = {"qpos", "qvel", "ctrl"};
    hsize_t extent[2] = {(hsize_t)m->n_row, 0};
    bool is_good = write_text(h5, file, "format", "carom trajectory 1") &&
                   write_text(h5, file, "scene", m->scene) && write_text(h5, file, "law", m->law) &&
                   write_number(h5, file, "dt", m->dt) &&
                   write_dataset(h5, file, "time", 1, extent, m->time, NULL, NULL);
    for (int i = 0; i < CRI_N_MOTION_PART && is_good; i++) {
        const cri_motion_block *part = &m->part[i];
        extent[1] = (hsize_t)part->n_col;
        is_good = !part->value ||
                  write_dataset(h5, file, path[i], 2, extent, part->value, part->name, NULL);
    }
    return is_good;
}

static bool write_map(const cri_hdf5_api *h5, hid_t file, const void *what) {
    const cri_map *m = what;
    hsize_t square[2] = {(hsize_t)m->n, (hsize_t)m->n};
    hsize_t wide[2] = {(hsize_t)m->n, (hsize_t)m->n_u};
    return write_text(h5, file, "format", "carom linearisation 1") &&
           write_text(h5, file, "scene", m->scene) && write_text(h5, file, "law", m->law) &&
           write_number(h5, file, "dt", m->dt) && write_number(h5, file, "step", m->step) &&
           write_dataset(h5, file, "A", 2, square, m->A, m->state, m->state) &&
           write_dataset(h5, file, "B", 2, wide, m->B, m->control, m->state);
}

// ---- memory ------------------------------------------------------------------------------------

// the memory of the file, from the driver's calls for it
typedef struct image {
    char *bytes; // of the closed file
    size_t n_byte;
} image;

static void *image_malloc(size_t n, H5FD_file_image_op_t op, void *context) {
    (void)op;
    ((image *)context)->n_byte = n;
    return calloc(n, 1);
}

static void *image_memcpy(void *to, const void *from, size_t n, H5FD_file_image_op_t op,
                          void *context) {
    (void)op;
    (void)context;
    return memcpy(to, from, n);
}

static void *image_realloc(void *bytes, size_t n, H5FD_file_image_op_t op, void *context) {
    (void)op;
    ((image *)context)->n_byte = n;
    return realloc(bytes, n);
}

// the file is closed, and what the driver gives back is its last state
static herr_t image_free(void *bytes, H5FD_file_image_op_t op, void *context) {
    if (op == H5FD_FILE_IMAGE_OP_FILE_CLOSE) {
        ((image *)context)->bytes = bytes;
    } else {
        free(bytes);
    }
    return 0;
}

static void *keep_context(void *context) {
    return context;
}

static herr_t free_nothing(void *context) {
    (void)context;
    return 0;
}

// an empty file in memory
static hid_t open_empty(const cri_hdf5_api *h5, image *out) {
    H5FD_file_image_callbacks_t calls = {
        .image_malloc = image_malloc,
        .image_memcpy = image_memcpy,
        .image_realloc = image_realloc,
        .image_free = image_free,
        .udata_copy = keep_context,
        .udata_free = free_nothing,
        .udata = out,
    };
    hid_t access = h5->Pcreate(h5->file_access);
    hid_t create = h5->Pcreate(h5->file_create);
    hid_t file = -1;
    if (access >= 0 && create >= 0 && h5->Pset_fapl_core(access, GROWTH, false) >= 0 &&
        h5->Pset_file_image_callbacks(access, &calls) >= 0 &&
        h5->Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0 &&
        h5->Pset_obj_track_times(create, false) >= 0) {
        // no file is touched, but a name is wanted; this one cannot exist
        file = h5->Fcreate("/dev/null/carom", H5F_ACC_TRUNC, create, access);
    }
    shut(access, h5->Pclose);
    shut(create, h5->Pclose);
    return file;
}

// the file ends where its superblock says (specification, II.A: 8 bytes at 28); the memory is
// longer
static bool trim(image *made) {
    uint64_t n = 0;
    for (size_t i = 0; i < 8 && made->n_byte >= 48; i++) {
        n |= (uint64_t)(unsigned char)made->bytes[28 + i] << 8 * i;
    }
    bool is_good = n >= 48 && n <= made->n_byte;
    made->n_byte = (size_t)n;
    return is_good;
}

// what goes into a file; true when it is there
typedef bool writer(const cri_hdf5_api *h5, hid_t file, const void *what);

static cr_status make(writer *write, const void *what, const char *file, char **bytes,
                      size_t *n_byte, cr_error *err) {
    *bytes = NULL;
    *n_byte = 0;

    cri_hdf5_api h5;
    CR_TRY(cri_hdf5_load(file, &h5, err));

    // failures are told here, not on standard error
    H5E_auto2_t print;
    void *data;
    h5.Eget_auto2(H5E_DEFAULT, &print, &data);
    h5.Eset_auto2(H5E_DEFAULT, NULL, NULL);
    image made = {0};
    hid_t id = open_empty(&h5, &made);
    bool is_good = id >= 0 && write(&h5, id, what);
    is_good = shut(id, h5.Fclose) && is_good;
    h5.Eset_auto2(H5E_DEFAULT, print, data);

    is_good = is_good && made.bytes && trim(&made);
    if (is_good) {
        *bytes = made.bytes;
        *n_byte = made.n_byte;
    } else {
        free(made.bytes);
    }
    return is_good ? CR_OK
                   : cri_file_fail(err, CR_ERR_MEMORY, file, 0,
                                   "cannot be written: HDF5 found no memory");
}

cr_status cri_hdf5_make(const cri_track *motion, const char *file, char **bytes, size_t *n_byte,
                        cr_error *err) {
    CR_ASSERT(motion && motion->n_row >= 0 && (motion->time || motion->n_row == 0));
    CR_ASSERT(motion->scene && motion->law && file && bytes && n_byte);
    return make(write_motion, motion, file, bytes, n_byte, err);
}

cr_status cri_hdf5_make_map(const cri_map *map, const char *file, char **bytes, size_t *n_byte,
                            cr_error *err) {
    CR_ASSERT(map && map->n > 0 && map->n_u >= 0 && map->A && (map->B || map->n_u == 0));
    CR_ASSERT(map->scene && map->law && file && bytes && n_byte);
    return make(write_map, map, file, bytes, n_byte, err);
}
