// SPDX-License-Identifier: MIT
//
// Windows for training from somebody's recordings of a system of points.
//
// A recording is a table with a column of times and two for every coordinate, position and
// velocity. All windows with a contact that begin without overlap are kept, and as many without
// one, drawn at random; what a contact is says the geometry of the system. Some recordings are set
// aside for validation, of a single one its last eighth.

#pragma once

#include "points/learn/points_data.h"
#include "points/learn/windows.h"

typedef struct cri_points_record_def {
    const cri_points_scene *scene;
    int n_file;
    const char *const *file;
    const char *time;          // column, NULL: t
    const char *const *column; // (n_x) NULL: ball1/qpos[0] and so on, as simulate writes them
    uint64_t seed;
} cri_points_record_def;

/// The name of number i of a state: ball1/qpos[0] and so on, as simulate writes it.
void cri_points_column_name(const cri_points_scene *scene, int i, char *out, size_t size);

/// Reads all files and cuts them. dt becomes their time step. Fails with file and row for what
/// cri_series_push refuses, and for a row that the ties of the system do not allow: then columns
/// belong to something else.
CR_MUST_CHECK cr_status cri_points_record(const cri_points_record_def *def, cri_points_data *train,
                                          cri_points_data *valid, double *dt, cr_arena *arena,
                                          cr_error *err);

/// All windows of one recording that begin without overlap, to be tested on. dt is that of the
/// others.
CR_MUST_CHECK cr_status cri_points_record_all(const cri_points_record_def *def, double dt,
                                              cri_points_data *out, cr_arena *arena, cr_error *err);
