// SPDX-License-Identifier: MIT
//
// Recordings for training.
//
// The step of a recording is the median of the differences of its times, which single gaps do not
// move. Times are printed with few digits, so that steps may differ by a hundredth of it.

#include "points/learn/windows.h"

#include "base/io/file.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// part of a step by which others may differ
#define STEP_TOLERANCE 0.01

// losses square what is measured, and a sum of squares must stay a number
#define LARGEST 1e100

typedef struct reader {
    const cri_series_def *def;
    const cri_table *table;
    const char *file;
    cr_error *err;
} reader;

static double cell(const cri_table *t, int row, int column) {
    return t->value[(size_t)row * (size_t)t->n_col + (size_t)column];
}

// ---- columns -----------------------------------------------------------------------------------

// the column that was meant, NULL: none is near
static const char *nearest(const cri_table *t, const char *name) {
    const char *best = NULL;
    int least = cri_text_slack(strlen(name)) + 1;
    for (int c = 0; c < t->n_col; c++) {
        int distance = cri_text_distance(name, t->name[c]);
        if (distance < least) {
            least = distance;
            best = t->name[c];
        }
    }
    return best;
}

static cr_status find_column(const reader *r, const char *name, int *column) {
    *column = cri_table_find(r->table, name);
    if (*column >= 0) {
        return CR_OK;
    }
    const char *near = nearest(r->table, name);
    char names[120] = "";
    int length = 0;
    for (int c = 0; c < r->table->n_col && length + 40 < (int)sizeof names; c++) {
        length += snprintf(names + length, sizeof names - (size_t)length, "%s%.30s",
                           c > 0 ? ", " : "", r->table->name[c]);
    }
    return cri_file_fail(r->err, CR_ERR_ARGUMENT, r->file, 0,
                         "there is no column '%.40s'; %s%.40s%sthe first ones are %s", name,
                         near ? "did you mean '" : "", near ? near : "", near ? "'? " : "", names);
}

// names (n) of the table's columns into out (n_row, n)
static cr_status take_columns(const reader *r, int n, const char *const *name, double *out) {
    for (int k = 0; k < n; k++) {
        int column = -1;
        CR_TRY(find_column(r, name[k], &column));
        for (int i = 0; i < r->table->n_row; i++) {
            out[(size_t)i * (size_t)n + (size_t)k] = cell(r->table, i, column);
        }
    }
    return CR_OK;
}

// ---- checks ------------------------------------------------------------------------------------

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static cr_status check_times(const reader *r, int column, double *sorted, double *dt) {
    const cri_table *t = r->table;
    int n = t->n_row - 1;
    for (int i = 0; i < n; i++) {
        sorted[i] = cell(t, i + 1, column) - cell(t, i, column);
        if (!(sorted[i] > 0.0)) {
            return cri_file_fail(r->err, CR_ERR_ARGUMENT, r->file, t->line[i + 1],
                                 "row %d: time does not increase, %.9g s after %.9g s", i + 2,
                                 cell(t, i + 1, column), cell(t, i, column));
        }
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare_numbers);
    double step = sorted[n / 2];
    for (int i = 0; i < n; i++) {
        double own = cell(t, i + 1, column) - cell(t, i, column);
        if (fabs(own - step) <= STEP_TOLERANCE * step) {
            continue;
        }
        double missing = round(own / step) - 1.0;
        if (missing >= 1.0 && fabs(own / step - missing - 1.0) <= 0.1) {
            return cri_file_fail(r->err, CR_ERR_ARGUMENT, r->file, t->line[i + 1],
                                 "row %d: a gap, %.0f %s missing before %.9g s; cut the "
                                 "recording into two files there",
                                 i + 2, missing, missing > 1.5 ? "rows are" : "row is",
                                 cell(t, i + 1, column));
        }
        return cri_file_fail(
            r->err, CR_ERR_ARGUMENT, r->file, t->line[i + 1],
            "row %d: unequal time steps, %.9g s here, %.9g s elsewhere; sample the "
            "recording at equal steps",
            i + 2, own, step);
    }
    *dt = (cell(t, n, column) - cell(t, 0, column)) / n;
    return CR_OK;
}

static cr_status check_flags(const reader *r, const double *flag) {
    int n = r->def->n_flag;
    for (int i = 0; i < r->table->n_row; i++) {
        for (int k = 0; k < n; k++) {
            double own = flag[(size_t)i * (size_t)n + (size_t)k];
            if (own != 0.0 && own != 1.0) {
                return cri_file_fail(r->err, CR_ERR_ARGUMENT, r->file, r->table->line[i],
                                     "row %d: column '%.40s' is %.9g, expected 0 or 1", i + 1,
                                     r->def->flag[k], own);
            }
        }
    }
    return CR_OK;
}

static cr_status check_numbers(const reader *r, int n, const char *const *name,
                               const double *value) {
    for (int i = 0; i < r->table->n_row * n; i++) {
        if (!isfinite(value[i])) {
            return cri_file_fail(r->err, CR_ERR_ARGUMENT, r->file, r->table->line[i / n],
                                 "row %d: column '%.40s' is no finite number", i / n + 1,
                                 name[i % n]);
        }
        if (fabs(value[i]) > LARGEST) {
            return cri_file_fail(r->err, CR_ERR_ARGUMENT, r->file, r->table->line[i / n],
                                 "row %d: column '%.40s' is %.3g, too large to learn from: its "
                                 "square must be a number; choose other units",
                                 i / n + 1, name[i % n], value[i]);
        }
    }
    return CR_OK;
}

// ---- recordings --------------------------------------------------------------------------------

cr_status cri_series_push(const cri_series_def *def, const cri_table *table, const char *file,
                          cr_arena *arena, cri_series *out, cr_error *err) {
    CR_ASSERT(def && def->n_value >= 0 && def->n_flag >= 0 && table && file && arena && out);
    reader r = {def, table, file, err};
    const char *time = def->time ? def->time : "t";
    int n_row = table->n_row, least = def->n_row_least > 2 ? def->n_row_least : 2, column = -1;
    *out = (cri_series){.file = file, .n_row = n_row};
    CR_TRY(find_column(&r, time, &column));
    if (n_row < least) {
        return cri_file_fail(err, CR_ERR_ARGUMENT, file, 0, "has %d row%s, at least %d are needed",
                             n_row, n_row == 1 ? "" : "s", least);
    }
    double *times = CR_PUSH_RAW(arena, double, n_row);
    out->value = CR_PUSH_RAW(arena, double, (size_t)n_row *(size_t)def->n_value + 1);
    out->flag = CR_PUSH_RAW(arena, double, (size_t)n_row *(size_t)def->n_flag + 1);
    if (!times || !out->value || !out->flag) {
        return cri_file_fail_memory(err, file);
    }
    CR_TRY(take_columns(&r, 1, &time, times));
    CR_TRY(take_columns(&r, def->n_value, def->value, out->value));
    CR_TRY(take_columns(&r, def->n_flag, def->flag, out->flag));
    CR_TRY(check_numbers(&r, 1, &time, times));
    CR_TRY(check_numbers(&r, def->n_value, def->value, out->value));
    CR_TRY(check_flags(&r, out->flag));
    return check_times(&r, column, times, &out->dt);
}

cr_status cri_series_read(const cri_series_def *def, const char *path, cr_arena *arena,
                          cri_series *out, cr_error *err) {
    cri_table table;
    CR_TRY(cri_table_read(path, &table, err));
    cr_status status = cri_series_push(def, &table, path, arena, out, err);
    cri_table_clear(&table);
    return status;
}

cr_status cri_series_check_dt(int n_series, const cri_series *series, double *dt, cr_error *err) {
    for (int k = 0; k < n_series; k++) {
        if (*dt == 0.0) {
            *dt = series[k].dt;
        }
        if (fabs(series[k].dt - *dt) > STEP_TOLERANCE * *dt) {
            return cri_file_fail(err, CR_ERR_ARGUMENT, series[k].file, 0,
                                 "has time steps of %.9g s, the others %.9g s; sample all "
                                 "recordings at equal steps",
                                 series[k].dt, *dt);
        }
    }
    return CR_OK;
}

void cri_series_split(int n_series, double part, uint64_t seed, bool *is_validating) {
    CR_ASSERT(n_series >= 0 && part >= 0.0 && part <= 1.0 && is_validating);
    int wanted = (int)lround(part * n_series);
    if (n_series > 1 && part > 0.0 && part < 1.0) {
        wanted = wanted < 1 ? 1 : wanted > n_series - 1 ? n_series - 1 : wanted;
    }
    cri_random stream = cri_random_of(seed, 0);
    // each of those left is as likely as any other (Knuth, algorithm S)
    for (int k = 0; k < n_series; k++) {
        is_validating[k] = cri_random_whole(&stream, 0, n_series - k - 1) < wanted;
        wanted -= is_validating[k];
    }
}

cri_window *cri_windows_push(int n_series, const cri_series *series, const bool *is_chosen,
                             int n_step, int stride, cr_arena *arena, int *n_window) {
    CR_ASSERT(n_step >= 1 && stride >= 1 && arena && n_window);
    size_t n_most = 0;
    for (int k = 0; k < n_series; k++) {
        n_most += (size_t)series[k].n_row;
    }
    cri_window *out = CR_PUSH_RAW(arena, cri_window, n_most + 1);
    int n = 0;
    for (int k = 0; out && k < n_series; k++) {
        for (int row = 0; row + n_step < series[k].n_row; row += stride) {
            if (!is_chosen || is_chosen[k]) {
                out[n++] = (cri_window){k, row};
            }
        }
    }
    *n_window = n;
    return out;
}
