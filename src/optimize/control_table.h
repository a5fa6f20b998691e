// SPDX-License-Identifier: MIT
//
// Controls over time, from a table.
//
// Column t holds seconds, increasing; every other column is named like the entry of u that it sets,
// such as an actuator. A row holds until the next one; before the first row the first holds, and
// the last one to the end. Entries without a column keep their values.

#pragma once

#include "base/base.h"
#include "base/io/table.h"

typedef struct cri_control_table {
    int n_row;
    int n_col;
    int n_u;
    double *time;  // (n_row) s, owned like those below
    double *value; // (n_row, n_col)
    int *index;    // (n_col) entry of u
} cri_control_table;

/// Reads a file, CSV or HDF5. Release with cri_control_clear; on failure *out is empty.
CR_MUST_CHECK cr_status cri_control_read(const cr_model *model, const char *path,
                                         cri_control_table *out, cr_error *err);

void cri_control_clear(cri_control_table *table);

/// Writes what holds at time t, s, to u (n_u). Times within a billionth of a row's count as it.
void cri_control_at(const cri_control_table *table, double t, double *u);

/// Fills the rows of u (n_step, n_u) for steps of these lengths, as in cr_rollout.
void cri_control_rows(const cri_control_table *table, int n_step, int n_dt, const double *dt,
                      double *u);
