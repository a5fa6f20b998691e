// SPDX-License-Identifier: MIT
//
// Motions, linear maps, tables and named arrays as HDF5 files in memory. The library's core driver
// holds the whole file and never touches a disk.

#define _POSIX_C_SOURCE 200809L // strnlen

#include "base/io/file.h"
#include "base/io/hdf5_api.h"
#include "base/io/hdf5_file.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Most axes of an array.
enum { CRI_HDF5_RANK = 4 };

/// Writes into an empty file. False when HDF5 fails.
typedef bool cri_hdf5_fill(const cri_hdf5_api *h5, hid_t file, const void *context);

/// A file that is open for reading.
typedef struct cri_hdf5_reader {
    const cri_hdf5_api *h5;
    const char *file; // in messages
    cr_error *err;
    hid_t image;
} cri_hdf5_reader;

typedef cr_status cri_hdf5_take(const cri_hdf5_reader *r, void *context);

// bytes by which a file in memory grows
#define GROWTH ((size_t)1 << 16)

// a name is wanted where no file is touched; one that cannot exist
#define NO_FILE "/dev/null/carom"

/// How failures were shown before; here they are told, not shown on standard error.
typedef struct silence {
    H5E_auto2_t print;
    void *data;
} silence;

// the memory of the file, from the driver's calls for it
typedef struct image {
    char *bytes; // of the closed file
    size_t n_byte;
} image;

// numbers of a chunk, about: half a MiB, what the library caches of a dataset
#define CHUNK 65536

// longest name of a column that is taken, bytes
#define NAME_LIMIT 1024

// and of a text of its own; HDF5 has no longer ones in attributes
#define TEXT_LIMIT 65536

// a dataset that is open, with its shape
typedef struct dataset {
    hid_t id;
    int n_row;
    int n_col;
} dataset;

static const char *const part_name[] = {"qpos", "qvel"};

enum { N_PART = 2 };

// ---- files in memory ----------------------------------------------------------------------------

static silence begin_silence(const cri_hdf5_api *h5) {
    silence s;
    h5->Eget_auto2(H5E_DEFAULT, &s.print, &s.data);
    h5->Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return s;
}

static void end_silence(const cri_hdf5_api *h5, const silence *s) {
    h5->Eset_auto2(H5E_DEFAULT, s->print, s->data);
}

// ---- writing ------------------------------------------------------------------------------------

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

/// Closes what was opened; true when it was opened and closed well.
static bool hdf5_shut(hid_t id, herr_t (*close)(hid_t)) {
    return id >= 0 && close(id) >= 0;
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
        file = h5->Fcreate(NO_FILE, H5F_ACC_TRUNC, create, access);
    }
    hdf5_shut(access, h5->Pclose);
    hdf5_shut(create, h5->Pclose);
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

/// The bytes of the file that fill makes: the caller's to free, NULL after a failure, whose text
/// says for what there was no memory.
static cr_status hdf5_image_make(const char *file, const char *what, cri_hdf5_fill *fill,
                                 const void *context, char **bytes, size_t *n_byte, cr_error *err) {
    *bytes = NULL;
    *n_byte = 0;
    cri_hdf5_api h5;
    CR_TRY(cri_hdf5_load(file, &h5, err));

    silence before = begin_silence(&h5);
    image made = {0};
    hid_t id = open_empty(&h5, &made);
    bool is_good = id >= 0 && fill(&h5, id, context);
    is_good = hdf5_shut(id, h5.Fclose) && is_good;
    end_silence(&h5, &before);

    is_good = is_good && made.bytes && trim(&made);
    if (is_good) {
        *bytes = made.bytes;
        *n_byte = made.n_byte;
        return CR_OK;
    }
    free(made.bytes);
    return cri_file_fail(err, CR_ERR_MEMORY, file, 0,
                         "cannot be written: HDF5 found no memory for %s", what);
}

// ---- reading -----------------------------------------------------------------------------------

// the bytes are copied; HDF5 refuses a name that exists
static hid_t open_image(const cri_hdf5_api *h5, const char *bytes, size_t n_byte) {
    hid_t access = h5->Pcreate(h5->file_access);
    hid_t file = -1;
    if (access >= 0 && h5->Pset_fapl_core(access, GROWTH, false) >= 0 &&
        h5->Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
        h5->Pset_file_image(access, (void *)bytes, n_byte) >= 0) {
        file = h5->Fopen(NO_FILE, H5F_ACC_RDONLY, access);
    }
    if (access >= 0) {
        h5->Pclose(access);
    }
    return file;
}

/// Opens the bytes of a file and lets take read them.
static cr_status hdf5_image_read(const char *bytes, size_t n_byte, const char *file,
                                 cri_hdf5_take *take, void *context, cr_error *err) {
    if (!cri_hdf5_is_file(bytes, n_byte)) {
        return cri_file_fail(err, CR_ERR_SYNTAX, file, 0, "is no HDF5 file, as its name says");
    }
    cri_hdf5_api h5;
    CR_TRY(cri_hdf5_load(file, &h5, err));

    silence before = begin_silence(&h5);
    cri_hdf5_reader r = {&h5, file, err, open_image(&h5, bytes, n_byte)};
    cr_status status = CR_OK;
    if (r.image < 0) {
        status = cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                               "cannot be opened as HDF5: the file is damaged or cut off");
    } else {
        status = take(&r, context);
        h5.Fclose(r.image);
    }
    end_silence(&h5, &before);
    return status;
}

// ---- motions and linear maps --------------------------------------------------------------------

// Motions and linear maps as HDF5 files in memory.
//
// Objects keep no times, so that equal motions give equal bytes. Metadata of format 1.10 have
// checksums, the numbers get them from the filter "Fletcher32", which wants them in chunks.

static bool write_attribute(const cri_hdf5_api *h5, hid_t owner, const char *name, hid_t type,
                            hid_t space, const void *data) {
    hid_t attribute = h5->Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool is_good = attribute >= 0 && h5->Awrite(attribute, type, data) >= 0;
    return hdf5_shut(attribute, h5->Aclose) && is_good;
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

/// Attributes of one string, and of n.
static bool hdf5_write_text(const cri_hdf5_api *h5, hid_t owner, const char *name,
                            const char *text) {
    // a type of no bytes does not exist; the empty string is one NUL
    size_t n = strlen(text);
    hid_t type = text_type(h5, n > 0 ? n : 1);
    hid_t space = h5->Screate(H5S_SCALAR);
    bool is_good = type >= 0 && space >= 0 && write_attribute(h5, owner, name, type, space, text);
    is_good = hdf5_shut(type, h5->Tclose) && is_good;
    return hdf5_shut(space, h5->Sclose) && is_good;
}

static bool write_number(const cri_hdf5_api *h5, hid_t owner, const char *name, double value) {
    hid_t space = h5->Screate(H5S_SCALAR);
    bool is_good = space >= 0 && write_attribute(h5, owner, name, h5->native_double, space, &value);
    return hdf5_shut(space, h5->Sclose) && is_good;
}

static bool hdf5_write_texts(const cri_hdf5_api *h5, hid_t owner, const char *attribute, int n,
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
    is_good = hdf5_shut(type, h5->Tclose) && is_good;
    is_good = hdf5_shut(space, h5->Sclose) && is_good;
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

/// A dataset of rank 1 to CRI_HDF5_RANK; names of the columns and rows of a table, NULL: none.
static bool hdf5_write_numbers(const cri_hdf5_api *h5, hid_t file, const char *path, int rank,
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
        is_good = hdf5_write_texts(h5, set, "names", (int)extent[1], name);
    }
    if (is_good && row) {
        is_good = hdf5_write_texts(h5, set, "rows", (int)extent[0], row);
    }
    is_good = hdf5_shut(set, h5->Dclose) && is_good;
    is_good = hdf5_shut(list, h5->Pclose) && is_good;
    return hdf5_shut(space, h5->Sclose) && is_good;
}

static bool write_motion(const cri_hdf5_api *h5, hid_t file, const void *context) {
    const cri_track *m = context;
    static const char *const path[] = {"qpos", "qvel", "ctrl"};
    hsize_t extent[2] = {(hsize_t)m->n_row, 0};
    bool is_good = hdf5_write_text(h5, file, "format", "carom trajectory 1") &&
                   hdf5_write_text(h5, file, "scene", m->scene) &&
                   hdf5_write_text(h5, file, "law", m->law) &&
                   write_number(h5, file, "dt", m->dt) &&
                   hdf5_write_numbers(h5, file, "time", 1, extent, m->time, NULL, NULL);
    for (int i = 0; i < CRI_N_MOTION_PART && is_good; i++) {
        const cri_motion_block *part = &m->part[i];
        extent[1] = (hsize_t)part->n_col;
        is_good = !part->value ||
                  hdf5_write_numbers(h5, file, path[i], 2, extent, part->value, part->name, NULL);
    }
    return is_good;
}

static bool write_map(const cri_hdf5_api *h5, hid_t file, const void *context) {
    const cri_map *m = context;
    hsize_t square[2] = {(hsize_t)m->n, (hsize_t)m->n};
    hsize_t wide[2] = {(hsize_t)m->n, (hsize_t)m->n_u};
    return hdf5_write_text(h5, file, "format", "carom linearisation 1") &&
           hdf5_write_text(h5, file, "scene", m->scene) &&
           hdf5_write_text(h5, file, "law", m->law) && write_number(h5, file, "dt", m->dt) &&
           write_number(h5, file, "step", m->step) &&
           hdf5_write_numbers(h5, file, "A", 2, square, m->A, m->state, m->state) &&
           hdf5_write_numbers(h5, file, "B", 2, wide, m->B, m->control, m->state);
}

cr_status cri_hdf5_make(const cri_track *motion, const char *file, char **bytes, size_t *n_byte,
                        cr_error *err) {
    CR_ASSERT(motion && motion->n_row >= 0 && (motion->time || motion->n_row == 0));
    CR_ASSERT(motion->scene && motion->law && file && bytes && n_byte);
    char what[40];
    snprintf(what, sizeof what, "%d rows", motion->n_row);
    return hdf5_image_make(file, what, write_motion, motion, bytes, n_byte, err);
}

cr_status cri_hdf5_make_map(const cri_map *map, const char *file, char **bytes, size_t *n_byte,
                            cr_error *err) {
    CR_ASSERT(map && map->n > 0 && map->n_u >= 0 && map->A && (map->B || map->n_u == 0));
    CR_ASSERT(map->scene && map->law && file && bytes && n_byte);
    return hdf5_image_make(file, "a linear map", write_map, map, bytes, n_byte, err);
}

// ---- tables -------------------------------------------------------------------------------------

// Tables from HDF5 files in memory.
//
// Nothing in the file is trusted: kinds, shapes and sizes are asked for before memory is taken, and
// what does not fit the format of hdf5_file.h is refused by name. Strings may have a fixed length,
// as Carom writes them, or a variable one, as most other programs do.

/// Failures with the file in front; format has one %s for what.
static cr_status hdf5_refuse(const cri_hdf5_reader *r, const char *format, const char *what) {
    char message[160];
    snprintf(message, sizeof message, format, what);
    return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, 0, "%s", message);
}

static cr_status hdf5_damaged(const cri_hdf5_reader *r, const char *what) {
    return hdf5_refuse(r, "'%.60s' cannot be read: the file is damaged", what);
}

// ---- strings -----------------------------------------------------------------------------------

// strings of a fixed length, from a block of them
static cr_status copy_fixed(const cri_hdf5_reader *r, hid_t attribute, hid_t type, int n,
                            char **out) {
    size_t size = r->h5->Tget_size(type);
    if (size == 0 || size > (n == 1 ? TEXT_LIMIT : NAME_LIMIT)) {
        return hdf5_damaged(r, "names");
    }
    char *all = malloc((size_t)n * size + 1);
    if (!all) {
        return cri_file_fail_memory(r->err, r->file);
    }
    cr_status status = r->h5->Aread(attribute, type, all) >= 0 ? CR_OK : hdf5_damaged(r, "names");
    for (int i = 0; i < n && status == CR_OK; i++) {
        // padded with NUL or with spaces
        size_t length = strnlen(all + (size_t)i * size, size);
        while (length > 0 && all[(size_t)i * size + length - 1] == ' ') {
            length--;
        }
        out[i] = malloc(length + 1);
        if (!out[i]) {
            status = cri_file_fail_memory(r->err, r->file);
        } else {
            memcpy(out[i], all + (size_t)i * size, length);
            out[i][length] = '\0';
        }
    }
    free(all);
    return status;
}

// strings of a variable length, which HDF5 takes from the heap
static cr_status copy_variable(const cri_hdf5_reader *r, hid_t attribute, hid_t type, hid_t space,
                               int n, char **out) {
    char **all = calloc((size_t)n + 1, sizeof *all);
    if (!all) {
        return cri_file_fail_memory(r->err, r->file);
    }
    cr_status status = r->h5->Aread(attribute, type, all) >= 0 ? CR_OK : hdf5_damaged(r, "names");
    for (int i = 0; i < n && status == CR_OK; i++) {
        size_t length = all[i] ? strnlen(all[i], n == 1 ? TEXT_LIMIT : NAME_LIMIT) : 0;
        out[i] = calloc(length + 1, 1);
        if (!out[i]) {
            status = cri_file_fail_memory(r->err, r->file);
        } else if (length > 0) {
            memcpy(out[i], all[i], length);
        }
    }
    r->h5->Dvlen_reclaim(type, space, H5P_DEFAULT, all);
    free(all);
    return status;
}

/// n strings of an attribute into out (n), which comes as NULL; the caller frees them in any case.
static cr_status hdf5_read_texts(const cri_hdf5_reader *r, hid_t owner, const char *name, int n,
                                 char **out) {
    if (r->h5->Aexists(owner, name) <= 0) {
        return hdf5_refuse(r, "the attribute '%s' is missing: carom did not write this", name);
    }
    hid_t attribute = r->h5->Aopen(owner, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? r->h5->Aget_type(attribute) : -1;
    hid_t space = attribute >= 0 ? r->h5->Aget_space(attribute) : -1;
    cr_status status = CR_OK;
    if (type < 0 || space < 0) {
        status = hdf5_damaged(r, name);
    } else if (r->h5->Tget_class(type) != H5T_STRING ||
               r->h5->Sget_simple_extent_npoints(space) != n) {
        status = hdf5_refuse(r, "the attribute '%s' has not one string a column", name);
    } else if (r->h5->Tis_variable_str(type) > 0) {
        status = copy_variable(r, attribute, type, space, n, out);
    } else {
        status = copy_fixed(r, attribute, type, n, out);
    }
    if (space >= 0) {
        r->h5->Sclose(space);
    }
    if (type >= 0) {
        r->h5->Tclose(type);
    }
    if (attribute >= 0) {
        r->h5->Aclose(attribute);
    }
    return status;
}

/// Is the attribute "format" of the file the expected one?
static cr_status hdf5_check_format(const cri_hdf5_reader *r, const char *expected) {
    char *format = NULL;
    cr_status status = hdf5_read_texts(r, r->image, "format", 1, &format);
    CR_ASSERT(status != CR_OK || format);
    if (status == CR_OK && strcmp(format, expected) != 0) {
        status = cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, 0,
                               "the format is '%.40s', expected '%s'", format, expected);
    }
    free(format);
    return status;
}

// ---- numbers -----------------------------------------------------------------------------------

static cr_status read_shape(const cri_hdf5_reader *r, const char *name, int rank, dataset *set) {
    hid_t type = r->h5->Dget_type(set->id);
    hid_t space = r->h5->Dget_space(set->id);
    hsize_t extent[2] = {0, 1};
    bool has_rank = space >= 0 && r->h5->Sget_simple_extent_ndims(space) == rank;
    cr_status status = CR_OK;
    if (type < 0 || space < 0 ||
        (has_rank && r->h5->Sget_simple_extent_dims(space, extent, NULL) != rank)) {
        status = hdf5_damaged(r, name);
    } else if (r->h5->Tget_class(type) != H5T_FLOAT) {
        status = hdf5_refuse(r, "'%s' does not hold floating-point numbers", name);
    } else if (!has_rank) {
        status = hdf5_refuse(
            r, rank == 1 ? "'%s' is no list of numbers" : "'%s' is no table of numbers", name);
    } else if (extent[0] > CRI_FILE_LIMIT / 8 || extent[1] > CRI_FILE_LIMIT / 8 ||
               extent[0] * extent[1] > CRI_FILE_LIMIT / 8) {
        status = cri_file_fail(r->err, CR_ERR_FILE, r->file, 0, "'%s' is larger than %d MiB", name,
                               (int)(CRI_FILE_LIMIT >> 20));
    }
    set->n_row = (int)extent[0];
    set->n_col = (int)extent[1];
    if (type >= 0) {
        r->h5->Tclose(type);
    }
    if (space >= 0) {
        r->h5->Sclose(space);
    }
    return status;
}

// one that is not there gets no id
static cr_status open_dataset(const cri_hdf5_reader *r, const char *name, int rank, dataset *set) {
    *set = (dataset){.id = -1};
    if (r->h5->Lexists(r->image, name, H5P_DEFAULT) <= 0) {
        return CR_OK;
    }
    set->id = r->h5->Dopen2(r->image, name, H5P_DEFAULT);
    return set->id >= 0 ? read_shape(r, name, rank, set) : hdf5_damaged(r, name);
}

// the numbers of a dataset into columns of the table from first on
static cr_status read_numbers(const cri_hdf5_reader *r, const char *name, const dataset *set,
                              int first, cri_table *t) {
    size_t n = (size_t)set->n_row * (size_t)set->n_col;
    double *value = malloc(n * sizeof *value + 1);
    if (!value) {
        return cri_file_fail_memory(r->err, r->file);
    }
    cr_status status = CR_OK;
    if (n > 0 &&
        r->h5->Dread(set->id, r->h5->native_double, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0) {
        status = hdf5_damaged(r, name);
    }
    for (size_t i = 0; i < n && status == CR_OK; i++) {
        size_t row = i / (size_t)set->n_col;
        size_t col = i % (size_t)set->n_col;
        if (!isfinite(value[i])) {
            status =
                cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, 0,
                              "'%s' has a number that is not finite in row %d", name, (int)row + 1);
        }
        t->value[row * (size_t)t->n_col + (size_t)first + col] = value[i];
    }
    free(value);
    return status;
}

// ---- the table ---------------------------------------------------------------------------------

// arrays for all columns
static cr_status reserve(const cri_hdf5_reader *r, const dataset *time, const dataset *part,
                         cri_table *t) {
    size_t n_col = 1;
    for (int i = 0; i < N_PART; i++) {
        if (part[i].id >= 0 && part[i].n_row != time->n_row) {
            return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, 0,
                                 "'%s' has %d rows, 'time' has %d", part_name[i], part[i].n_row,
                                 time->n_row);
        }
        n_col += (size_t)part[i].n_col;
    }
    if (time->n_row == 0) {
        return hdf5_refuse(r, "'%s' has no rows", "time");
    }
    size_t n_row = (size_t)time->n_row;
    t->name = calloc(n_col, sizeof *t->name);
    t->line = calloc(n_row, sizeof *t->line);
    t->value = calloc(n_row * n_col, sizeof *t->value);
    if (!t->name || !t->line || !t->value) {
        return cri_file_fail_memory(r->err, r->file);
    }
    t->n_row = (int)n_row;
    t->n_col = (int)n_col;
    return CR_OK;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static cr_status check_names(const cri_hdf5_reader *r, const cri_table *t) {
    char **sorted = malloc((size_t)t->n_col * sizeof *sorted);
    if (!sorted) {
        return cri_file_fail_memory(r->err, r->file);
    }
    memcpy(sorted, t->name, (size_t)t->n_col * sizeof *sorted);
    qsort(sorted, (size_t)t->n_col, sizeof *sorted, compare_names);
    cr_status status = CR_OK;
    for (int i = 0; i < t->n_col && status == CR_OK; i++) {
        if (sorted[i][0] == '\0') {
            status = hdf5_refuse(r, "a column has no name in the attribute '%s'", "names");
        } else if (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0) {
            status = hdf5_refuse(r, "two columns have the name '%.40s'", sorted[i]);
        }
    }
    free(sorted);
    return status;
}

static cr_status fill_table(const cri_hdf5_reader *r, const dataset *time, const dataset *part,
                            cri_table *t) {
    CR_TRY(reserve(r, time, part, t));
    t->name[0] = calloc(2, 1);
    if (!t->name[0]) {
        return cri_file_fail_memory(r->err, r->file);
    }
    t->name[0][0] = 't';
    CR_TRY(read_numbers(r, "time", time, 0, t));
    int first = 1;
    for (int i = 0; i < N_PART; i++) {
        if (part[i].id >= 0) {
            CR_TRY(hdf5_read_texts(r, part[i].id, "names", part[i].n_col, t->name + first));
            CR_TRY(read_numbers(r, part_name[i], &part[i], first, t));
            first += part[i].n_col;
        }
    }
    return check_names(r, t);
}

static cr_status read_image(const cri_hdf5_reader *r, cri_table *t) {
    CR_TRY(hdf5_check_format(r, "carom trajectory 1"));
    dataset time;
    dataset part[N_PART] = {{.id = -1}, {.id = -1}};
    cr_status status = open_dataset(r, "time", 1, &time);
    if (status == CR_OK && time.id < 0) {
        status = hdf5_refuse(r, "the dataset '%s' is missing", "time");
    }
    for (int i = 0; i < N_PART && status == CR_OK; i++) {
        status = open_dataset(r, part_name[i], 2, &part[i]);
    }
    if (status == CR_OK) {
        status = fill_table(r, &time, part, t);
    }
    const hid_t open[] = {time.id, part[0].id, part[1].id};
    for (int i = 0; i < 3; i++) {
        if (open[i] >= 0) {
            r->h5->Dclose(open[i]);
        }
    }
    return status;
}

static cr_status read_motion(const cri_hdf5_reader *r, void *context) {
    return read_image(r, context);
}

cr_status cri_hdf5_parse(const char *bytes, size_t n_byte, const char *file, cri_table *out,
                         cr_error *err) {
    CR_ASSERT((bytes || n_byte == 0) && file && out);
    *out = (cri_table){0};
    cr_status status = hdf5_image_read(bytes, n_byte, file, read_motion, out, err);
    if (status != CR_OK) {
        cri_table_clear(out);
    }
    return status;
}

// ---- named arrays -------------------------------------------------------------------------------

// Named arrays of numbers. Nothing in a file is trusted, as in tables.

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
            is_good = hdf5_shut(group, h5->Gclose);
        }
        free(path);
    }
    return hdf5_shut(list, h5->Pclose) && is_good;
}

static bool write_list(const cri_hdf5_api *h5, hid_t file, const cri_array_file *c) {
    const char **name = calloc((size_t)c->n_array + 1, sizeof *name);
    for (int i = 0; name && i < c->n_array; i++) {
        name[i] = c->array[i].name;
    }
    bool is_good = name && hdf5_write_texts(h5, file, "arrays", c->n_array, name);
    free(name);
    return is_good;
}

static bool fill_arrays(const cri_hdf5_api *h5, hid_t file, const void *context) {
    const cri_array_file *c = context;
    bool is_good = hdf5_write_text(h5, file, "format", c->format) && write_list(h5, file, c);
    for (int i = 0; i < c->n_text && is_good; i++) {
        is_good = !c->text[i].text || hdf5_write_text(h5, file, c->text[i].name, c->text[i].text);
    }
    for (int i = 0; i < c->n_array && is_good; i++) {
        const cri_array *a = &c->array[i];
        hsize_t extent[CRI_HDF5_RANK] = {0};
        for (int k = 0; k < a->rank; k++) {
            extent[k] = (hsize_t)a->extent[k];
        }
        is_good = make_groups(h5, file, a->name) &&
                  hdf5_write_numbers(h5, file, a->name, a->rank, extent, a->value, NULL, NULL);
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
    CR_TRY(hdf5_image_make(path, what, fill_arrays, content, &bytes, &n_byte, err));
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
    hdf5_shut(space, r->h5->Sclose);
    hdf5_shut(attribute, r->h5->Aclose);
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
        status = hdf5_refuse(r, "'%.60s' is no array of one to four axes", a->name);
    } else if (!is_float) {
        status = hdf5_refuse(r, "'%.60s' does not hold floating-point numbers", a->name);
    }
    hdf5_shut(type, r->h5->Tclose);
    hdf5_shut(space, r->h5->Sclose);
    *n = 1;
    for (int k = 0; k < rank && status == CR_OK; k++) {
        if (extent[k] > CRI_FILE_LIMIT / 8 || (*n *= (size_t)extent[k]) > CRI_FILE_LIMIT / 8) {
            status = hdf5_refuse(r, "'%.60s' is too large", a->name);
        }
        a->extent[k] = (int)extent[k];
    }
    a->rank = rank;
    return status;
}

static cr_status read_values(const cri_hdf5_reader *r, hid_t set, cri_array *a) {
    size_t n = 0;
    CR_TRY(check_shape(r, set, a, &n));
    a->value = malloc(n * sizeof *a->value + 1);
    if (!a->value) {
        return cri_file_fail_memory(r->err, r->file);
    }
    if (n > 0 &&
        r->h5->Dread(set, r->h5->native_double, H5S_ALL, H5S_ALL, H5P_DEFAULT, a->value) < 0) {
        return hdf5_damaged(r, a->name);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a->value[i])) {
            return hdf5_refuse(r, "'%.60s' has a number that is not finite", a->name);
        }
    }
    return CR_OK;
}

static cr_status read_array(const cri_hdf5_reader *r, cri_array *a) {
    CR_ASSERT(a->name);
    if (!has_path(r, a->name)) {
        return hdf5_refuse(r, "the array '%.60s' is missing", a->name);
    }
    hid_t set = r->h5->Dopen2(r->image, a->name, H5P_DEFAULT);
    if (set < 0) {
        return hdf5_damaged(r, a->name);
    }
    cr_status status = read_values(r, set, a);
    r->h5->Dclose(set);
    return status;
}

static cr_status take_arrays(const cri_hdf5_reader *r, void *context) {
    cri_array_file *c = context;
    CR_TRY(hdf5_check_format(r, c->format));
    long n = count_texts(r, "arrays");
    if (n < 0 || n > CRI_ARRAY_LIMIT) {
        return hdf5_refuse(r, "the attribute '%s' is missing or too long", "arrays");
    }
    char **name = calloc((size_t)n + 1, sizeof *name);
    c->array = calloc((size_t)n + 1, sizeof *c->array);
    if (!name || !c->array) {
        free(name);
        return cri_file_fail_memory(r->err, r->file);
    }
    cr_status status = n > 0 ? hdf5_read_texts(r, r->image, "arrays", (int)n, name) : CR_OK;
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
            status = hdf5_read_texts(r, r->image, c->text[i].name, 1, &c->text[i].text);
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
    return hdf5_image_read(bytes, n_byte, file, take_arrays, content, err);
}
