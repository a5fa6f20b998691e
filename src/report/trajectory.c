// SPDX-License-Identifier: MIT
//
// Motions as files, CSV row by row or HDF5 at the end.

#include "report/trajectory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/hdf5_file.h"

// columns of a part of the state or the control, 0 when it is not written
static int part_width(const cri_trajectory *t, int part) {
    cr_sizes sizes = cr_model_sizes(t->def.model);
    const int width[] = {sizes.n_q, sizes.n_v, t->def.has_control ? sizes.n_u : 0};
    return width[part];
}

static void release(cri_trajectory *t) {
    free(t->time);
    for (int i = 0; i < 3; i++) {
        free(t->part[i]);
    }
    *t = (cri_trajectory){0};
}

// ---- rows --------------------------------------------------------------------------------------

static bool grow(double **array, size_t n) {
    double *larger = realloc(*array, (n + 1) * sizeof **array);
    if (larger) {
        *array = larger;
    }
    return larger;
}

static cr_status reserve_row(cri_trajectory *t, cr_error *err) {
    if (t->n_row < t->n_space) {
        return CR_OK;
    }
    bool has_room = t->n_space < INT_MAX / 2;
    int space = has_room && t->n_space > 0 ? 2 * t->n_space : 256;
    bool is_good = has_room && grow(&t->time, (size_t)space);
    for (int i = 0; i < 3 && is_good; i++) {
        is_good = grow(&t->part[i], (size_t)space * (size_t)part_width(t, i));
    }
    if (!is_good) {
        return cri_file_fail(err, CR_ERR_MEMORY, t->file.path, 0,
                             "out of memory after %d rows, which HDF5 keeps there; CSV does not",
                             t->n_row);
    }
    t->n_space = space;
    return CR_OK;
}

static cr_status keep_row(cri_trajectory *t, double time, const double *x, const double *u,
                          cr_error *err) {
    CR_TRY(reserve_row(t, err));
    const double *from[] = {x, x + part_width(t, 0), u};
    t->time[t->n_row] = time;
    for (int i = 0; i < 3; i++) {
        size_t width = (size_t)part_width(t, i);
        if (width > 0) {
            memcpy(t->part[i] + (size_t)t->n_row * width, from[i], width * sizeof *x);
        }
    }
    t->n_row++;
    return CR_OK;
}

cr_status cri_trajectory_row(cri_trajectory *t, double time, const double *x, const double *u,
                             cr_error *err) {
    if (t->is_hdf5) {
        return keep_row(t, time, x, u, err);
    }
    fprintf(t->file.stream, "%.12g", time);
    for (int i = 0; i < cr_model_sizes(t->def.model).n_x; i++) {
        fprintf(t->file.stream, ",%.17g", x[i]);
    }
    fputc('\n', t->file.stream);
    return CR_OK;
}

// ---- files -------------------------------------------------------------------------------------

static void write_header(cri_trajectory *t) {
    fputs("t", t->file.stream);
    for (int i = 0; i < cr_model_sizes(t->def.model).n_x; i++) {
        fprintf(t->file.stream, ",%s", cr_model_name(t->def.model, CR_VECTOR_X, i));
    }
    fputc('\n', t->file.stream);
}

cr_status cri_trajectory_open(const char *path, const cri_trajectory_def *def, cri_trajectory *out,
                              cr_error *err) {
    *out = (cri_trajectory){.def = *def, .is_hdf5 = cri_hdf5_is_name(path)};
    if (out->is_hdf5) {
        CR_TRY(cri_hdf5_check(path, err));
    }
    CR_TRY(cri_atomic_open(path, &out->file, err));
    if (!out->is_hdf5) {
        write_header(out);
    }
    return CR_OK;
}

// the whole HDF5 file, name (n_x + n_u) being room for the names
static cr_status write_hdf5(cri_trajectory *t, const char **name, cr_error *err) {
    cri_track motion = {.n_row = t->n_row,
                        .time = t->time,
                        .scene = t->def.scene,
                        .law = t->def.law,
                        .dt = t->def.dt};
    int n_x = part_width(t, 0) + part_width(t, 1);
    for (int i = 0; i < n_x + part_width(t, 2); i++) {
        name[i] = i < n_x ? cr_model_name(t->def.model, CR_VECTOR_X, i)
                          : cr_model_name(t->def.model, CR_VECTOR_U, i - n_x);
    }
    for (int i = 0; i < 3; i++) {
        bool is_there = i != CRI_MOTION_CTRL || t->def.has_control;
        motion.part[i] = (cri_motion_block){part_width(t, i), is_there ? t->part[i] : NULL, name};
        name += part_width(t, i);
    }
    char *bytes;
    size_t n_byte;
    CR_TRY(cri_hdf5_make(&motion, t->file.path, &bytes, &n_byte, err));
    // a short write shows at the commit
    fwrite(bytes, 1, n_byte, t->file.stream);
    free(bytes);
    return CR_OK;
}

cr_status cri_trajectory_commit(cri_trajectory *t, cr_error *err) {
    cr_status status = CR_OK;
    if (t->is_hdf5) {
        cr_sizes sizes = cr_model_sizes(t->def.model);
        const char **name = malloc(((size_t)sizes.n_x + (size_t)sizes.n_u + 1) * sizeof *name);
        status = name ? write_hdf5(t, name, err)
                      : cri_file_fail(err, CR_ERR_MEMORY, t->file.path, 0, "out of memory");
        free(name);
    }
    if (status == CR_OK) {
        status = cri_atomic_commit(&t->file, err);
    } else {
        cri_atomic_cancel(&t->file);
    }
    release(t);
    return status;
}

void cri_trajectory_cancel(cri_trajectory *t) {
    cri_atomic_cancel(&t->file);
    release(t);
}
