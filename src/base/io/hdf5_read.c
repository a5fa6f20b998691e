// SPDX-License-Identifier: MIT
//
// Tables from HDF5 files in memory.
//
// Nothing in the file is trusted: kinds, shapes and sizes are asked for before memory is taken, and
// what does not fit the format of hdf5_table.h is refused by name. Strings may have a fixed length,
// as Carom writes them, or a variable one, as most other programs do.

#define _POSIX_C_SOURCE 200809L // strnlen

#include "base/io/hdf5_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/hdf5_parts.h"

// longest name of a column that is taken, bytes
#define NAME_LIMIT 1024

// and of a text of its own; HDF5 has no longer ones in attributes
#define TEXT_LIMIT 65536

cr_status cri_hdf5_refuse(const cri_hdf5_reader *r, const char *format, const char *what) {
    char message[160];
    snprintf(message, sizeof message, format, what);
    return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, 0, "%s", message);
}

cr_status cri_hdf5_damaged(const cri_hdf5_reader *r, const char *what) {
    return cri_hdf5_refuse(r, "'%.60s' cannot be read: the file is damaged", what);
}

// ---- strings -----------------------------------------------------------------------------------

// strings of a fixed length, from a block of them
static cr_status copy_fixed(const cri_hdf5_reader *r, hid_t attribute, hid_t type, int n,
                            char **out) {
    size_t size = r->h5->Tget_size(type);
    if (size == 0 || size > (n == 1 ? TEXT_LIMIT : NAME_LIMIT)) {
        return cri_hdf5_damaged(r, "names");
    }
    char *all = malloc((size_t)n * size + 1);
    if (!all) {
        return cri_file_fail_memory(r->err, r->file);
    }
    cr_status status =
        r->h5->Aread(attribute, type, all) >= 0 ? CR_OK : cri_hdf5_damaged(r, "names");
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
    cr_status status =
        r->h5->Aread(attribute, type, all) >= 0 ? CR_OK : cri_hdf5_damaged(r, "names");
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

cr_status cri_hdf5_read_texts(const cri_hdf5_reader *r, hid_t owner, const char *name, int n,
                              char **out) {
    if (r->h5->Aexists(owner, name) <= 0) {
        return cri_hdf5_refuse(r, "the attribute '%s' is missing: carom did not write this", name);
    }
    hid_t attribute = r->h5->Aopen(owner, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? r->h5->Aget_type(attribute) : -1;
    hid_t space = attribute >= 0 ? r->h5->Aget_space(attribute) : -1;
    cr_status status = CR_OK;
    if (type < 0 || space < 0) {
        status = cri_hdf5_damaged(r, name);
    } else if (r->h5->Tget_class(type) != H5T_STRING ||
               r->h5->Sget_simple_extent_npoints(space) != n) {
        status = cri_hdf5_refuse(r, "the attribute '%s' has not one string a column", name);
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

cr_status cri_hdf5_check_format(const cri_hdf5_reader *r, const char *expected) {
    char *format = NULL;
    cr_status status = cri_hdf5_read_texts(r, r->image, "format", 1, &format);
    CR_ASSERT(status != CR_OK || format);
    if (status == CR_OK && strcmp(format, expected) != 0) {
        status = cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, 0,
                               "the format is '%.40s', expected '%s'", format, expected);
    }
    free(format);
    return status;
}

// ---- numbers -----------------------------------------------------------------------------------

// a dataset that is open, with its shape
typedef struct dataset {
    hid_t id;
    int n_row;
    int n_col;
} dataset;

static cr_status read_shape(const cri_hdf5_reader *r, const char *name, int rank, dataset *set) {
    hid_t type = r->h5->Dget_type(set->id);
    hid_t space = r->h5->Dget_space(set->id);
    hsize_t extent[2] = {0, 1};
    bool has_rank = space >= 0 && r->h5->Sget_simple_extent_ndims(space) == rank;
    cr_status status = CR_OK;
    if (type < 0 || space < 0 ||
        (has_rank && r->h5->Sget_simple_extent_dims(space, extent, NULL) != rank)) {
        status = cri_hdf5_damaged(r, name);
    } else if (r->h5->Tget_class(type) != H5T_FLOAT) {
        status = cri_hdf5_refuse(r, "'%s' does not hold floating-point numbers", name);
    } else if (!has_rank) {
        status = cri_hdf5_refuse(
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
    return set->id >= 0 ? read_shape(r, name, rank, set) : cri_hdf5_damaged(r, name);
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
        status = cri_hdf5_damaged(r, name);
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

static const char *const part_name[] = {"qpos", "qvel"};

enum { N_PART = 2 };

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
        return cri_hdf5_refuse(r, "'%s' has no rows", "time");
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
            status = cri_hdf5_refuse(r, "a column has no name in the attribute '%s'", "names");
        } else if (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0) {
            status = cri_hdf5_refuse(r, "two columns have the name '%.40s'", sorted[i]);
        }
    }
    free(sorted);
    return status;
}

static cr_status fill(const cri_hdf5_reader *r, const dataset *time, const dataset *part,
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
            CR_TRY(cri_hdf5_read_texts(r, part[i].id, "names", part[i].n_col, t->name + first));
            CR_TRY(read_numbers(r, part_name[i], &part[i], first, t));
            first += part[i].n_col;
        }
    }
    return check_names(r, t);
}

static cr_status read_image(const cri_hdf5_reader *r, cri_table *t) {
    CR_TRY(cri_hdf5_check_format(r, "carom trajectory 1"));
    dataset time;
    dataset part[N_PART] = {{.id = -1}, {.id = -1}};
    cr_status status = open_dataset(r, "time", 1, &time);
    if (status == CR_OK && time.id < 0) {
        status = cri_hdf5_refuse(r, "the dataset '%s' is missing", "time");
    }
    for (int i = 0; i < N_PART && status == CR_OK; i++) {
        status = open_dataset(r, part_name[i], 2, &part[i]);
    }
    if (status == CR_OK) {
        status = fill(r, &time, part, t);
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
    cr_status status = cri_hdf5_image_read(bytes, n_byte, file, read_motion, out, err);
    if (status != CR_OK) {
        cri_table_clear(out);
    }
    return status;
}
