// SPDX-License-Identifier: MIT
//
// HDF5 files in memory. The library's core driver holds the whole file and never touches a disk.

#include "base/io/hdf5_parts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/hdf5_table.h"

// bytes by which a file in memory grows
#define GROWTH ((size_t)1 << 16)

// a name is wanted where no file is touched; one that cannot exist
#define NO_FILE "/dev/null/carom"

/// How failures were shown before; here they are told, not shown on standard error.
typedef struct silence {
    H5E_auto2_t print;
    void *data;
} silence;

static silence begin_silence(const cri_hdf5_api *h5) {
    silence s;
    h5->Eget_auto2(H5E_DEFAULT, &s.print, &s.data);
    h5->Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return s;
}

static void end_silence(const cri_hdf5_api *h5, const silence *s) {
    h5->Eset_auto2(H5E_DEFAULT, s->print, s->data);
}

// ---- writing
// --------------------------------------------------------------------------------------

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
        file = h5->Fcreate(NO_FILE, H5F_ACC_TRUNC, create, access);
    }
    cri_hdf5_shut(access, h5->Pclose);
    cri_hdf5_shut(create, h5->Pclose);
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

cr_status cri_hdf5_image_make(const char *file, const char *what, cri_hdf5_fill *fill,
                              const void *context, char **bytes, size_t *n_byte, cr_error *err) {
    *bytes = NULL;
    *n_byte = 0;
    cri_hdf5_api h5;
    CR_TRY(cri_hdf5_load(file, &h5, err));

    silence before = begin_silence(&h5);
    image made = {0};
    hid_t id = open_empty(&h5, &made);
    bool is_good = id >= 0 && fill(&h5, id, context);
    is_good = cri_hdf5_shut(id, h5.Fclose) && is_good;
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

cr_status cri_hdf5_image_read(const char *bytes, size_t n_byte, const char *file,
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
