// SPDX-License-Identifier: MIT
//
// Controls over time, from a table.

#include "optimize/control_table.h"

#include "base/io/file.h"
#include "optimize/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// times of a table come from decimal text, those of steps from sums
#define SLACK 1e-9

void cri_control_clear(cri_control_table *table) {
    free(table->time);
    free(table->value);
    free(table->index);
    *table = (cri_control_table){0};
}

static cr_status unknown_column(const cr_model *model, const char *file, const char *name,
                                cr_error *err) {
    const char *nearest = cri_name_nearest(model, CR_VECTOR_U, name);
    if (nearest) {
        return cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                             "column %.60s is no control; did you mean %.60s?", name, nearest);
    }
    return cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                         "column %.60s is no control; 'carom params SCENE' lists them as u:NAME",
                         name);
}

static cr_status find_columns(const cr_model *model, const cri_table *table, const char *file,
                              cri_control_table *out, cr_error *err) {
    int t = cri_table_find(table, "t");
    if (t < 0) {
        return cri_file_fail(err, CR_ERR_SYNTAX, file, 0, "there is no column t in seconds");
    }
    for (int c = 0, at = 0; c < table->n_col; c++) {
        if (c == t) {
            continue;
        }
        int i = cr_model_find(model, CR_VECTOR_U, table->name[c], NULL);
        if (i < 0) {
            return unknown_column(model, file, table->name[c], err);
        }
        for (int row = 0; row < table->n_row; row++) {
            out->value[(size_t)row * (size_t)out->n_col + (size_t)at] =
                table->value[(size_t)row * (size_t)table->n_col + (size_t)c];
        }
        out->index[at++] = i;
    }
    for (int row = 0; row < table->n_row; row++) {
        out->time[row] = table->value[(size_t)row * (size_t)table->n_col + (size_t)t];
        if (row > 0 && !(out->time[row] > out->time[row - 1])) {
            return cri_file_fail(err, CR_ERR_SYNTAX, file, table->line[row],
                                 "t does not increase: %g s after %g s", out->time[row],
                                 out->time[row - 1]);
        }
    }
    return CR_OK;
}

static cr_status take(const cr_model *model, const cri_table *table, const char *file,
                      cri_control_table *out, cr_error *err) {
    if (table->n_row < 1 || table->n_col < 2) {
        return cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                             "controls need a row, a column t and one beside t");
    }
    *out = (cri_control_table){
        .n_row = table->n_row, .n_col = table->n_col - 1, .n_u = cr_model_sizes(model).n_u};
    size_t n_row = (size_t)table->n_row;
    out->time = malloc(n_row * sizeof *out->time);
    out->value = malloc(n_row * (size_t)out->n_col * sizeof *out->value);
    out->index = malloc((size_t)out->n_col * sizeof *out->index);
    if (!out->time || !out->value || !out->index) {
        return cri_file_fail_memory(err, file);
    }
    return find_columns(model, table, file, out, err);
}

cr_status cri_control_read(const cr_model *model, const char *path, cri_control_table *out,
                           cr_error *err) {
    *out = (cri_control_table){0};
    cri_table table;
    CR_TRY(cri_table_read(path, &table, err));
    cr_status status = take(model, &table, path, out, err);
    cri_table_clear(&table);
    if (status != CR_OK) {
        cri_control_clear(out);
    }
    return status;
}

void cri_control_at(const cri_control_table *table, double t, double *u) {
    int low = 0;
    int high = table->n_row;
    // the last row that is not later than t
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        double time = table->time[middle];
        bool is_later = time > t + SLACK * fmax(fabs(time), SLACK);
        *(is_later ? &high : &low) = middle;
    }
    for (int c = 0; c < table->n_col; c++) {
        u[table->index[c]] = table->value[(size_t)low * (size_t)table->n_col + (size_t)c];
    }
}

void cri_control_rows(const cri_control_table *table, int n_step, int n_dt, const double *dt,
                      double *u) {
    double t = 0.0;
    for (int k = 0; k < n_step; k++) {
        // equal steps count without the rounding of a sum
        cri_control_at(table, n_dt > 1 ? t : k * dt[0], u + (size_t)k * (size_t)table->n_u);
        t += dt[n_dt > 1 ? k : 0];
    }
}
