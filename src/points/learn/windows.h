// SPDX-License-Identifier: MIT
//
// Recordings for training: columns of tables at equal time steps, cut into windows of H steps.
//
// A window is H + 1 rows of one recording that follow each other. Recordings are split into those
// that train and those that validate as wholes: neighbouring windows share rows.

#pragma once

#include "base/arena.h"
#include "base/io/table.h"

#include <stdint.h>

/// What is read of a table.
typedef struct cri_series_def {
    const char *time; // column of times in s, NULL: "t"
    int n_value;
    const char *const *value; // (n_value) columns
    int n_flag;
    const char *const *flag; // (n_flag) columns of 0 and 1, such as a touch signal
    int n_row_least;         // rows of a recording, at least 2
} cri_series_def;

/// One recording, on the arena that it was pushed to.
typedef struct cri_series {
    const char *file; // borrowed
    int n_row;
    double dt;     // s, mean step
    double *value; // (n_row, n_value)
    double *flag;  // (n_row, n_flag) 0 or 1
} cri_series;

/// Takes columns of a table, which is read, not kept; file stands in messages and is borrowed.
/// Refuses, with the row: times that do not increase, unequal steps, gaps, flags that are neither 0
/// nor 1, numbers that are not finite or beyond 1e100, too few rows; and columns that are missing.
CR_MUST_CHECK cr_status cri_series_push(const cri_series_def *def, const cri_table *table,
                                        const char *file, cr_arena *arena, cri_series *out,
                                        cr_error *err);

/// The same from a file, CSV or HDF5.
CR_MUST_CHECK cr_status cri_series_read(const cri_series_def *def, const char *path,
                                        cr_arena *arena, cri_series *out, cr_error *err);

/// Recordings must agree in their time step: the first one's, when *dt is 0, which it sets then.
CR_MUST_CHECK cr_status cri_series_check_dt(int n_series, const cri_series *series, double *dt,
                                            cr_error *err);

/// Chooses the recordings that validate: the part nearest to it, of several recordings neither none
/// nor all when it lies between 0 and 1. The seed names the choice.
void cri_series_split(int n_series, double part, uint64_t seed, bool *is_validating);

/// Where a window begins.
typedef struct cri_window {
    int series;
    int row;
} cri_window;

/// All windows of n_step steps that begin at every stride-th row of the chosen recordings, in their
/// order; is_chosen NULL: all of them. NULL for lack of memory.
cri_window *cri_windows_push(int n_series, const cri_series *series, const bool *is_chosen,
                             int n_step, int stride, cr_arena *arena, int *n_window);
