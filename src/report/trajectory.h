// SPDX-License-Identifier: MIT
//
// Motions as files: CSV, or HDF5 when the name ends in .h5 or .hdf5 (see base/io/hdf5_file.h).
//
// CSV has a column t in seconds, then one an entry of the state, named like it. Numbers have the
// digits that bring every double back.

#pragma once

#include "base/base.h"
#include "base/io/file.h"

/// What a motion is of. Everything is borrowed until commit or cancel.
typedef struct cri_trajectory_def {
    const cr_model *model;
    const char *scene;
    const char *law;
    double dt;        // s
    bool has_control; // rows come with controls, which CSV leaves out
} cri_trajectory_def;

/// A file that grows. HDF5 is kept in memory until the commit.
typedef struct cri_trajectory {
    cri_trajectory_def def;
    cri_atomic_file file;
    bool is_hdf5;
    int n_row;
    int n_space;     // rows that fit into the arrays
    double *time;    // (n_space), owned like those below; HDF5 only
    double *part[3]; // (n_space, n_q), (n_space, n_v), (n_space, n_u)
} cri_trajectory;

/// Opens path for writing, and writes the names. After success end with commit or cancel.
CR_MUST_CHECK cr_status cri_trajectory_open(const char *path, const cri_trajectory_def *def,
                                            cri_trajectory *out, cr_error *err);

/// Writes the state x (n_x) at time t, and the control u (n_u) from then on; u is not looked at
/// without has_control. Fails for lack of memory; a failed write shows at the commit.
CR_MUST_CHECK cr_status cri_trajectory_row(cri_trajectory *trajectory, double t, const double *x,
                                           const double *u, cr_error *err);

/// Closes the file and gives it its name. After a failure nothing new stands at path.
CR_MUST_CHECK cr_status cri_trajectory_commit(cri_trajectory *trajectory, cr_error *err);

/// Throws away what was written.
void cri_trajectory_cancel(cri_trajectory *trajectory);
