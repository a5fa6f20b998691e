// SPDX-License-Identifier: MIT
//
// A recorded motion: times and the entries of the state that were observed.
//
// In a table column t holds seconds, increasing; every other column is named like the entry of x
// that it observes, such as ball/qpos[0]. Comments "true NAME = VALUE" say what a made-up recording
// was made with: for tables, never for the fit.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/io/table.h"
#include "optimize/select.h"

typedef struct cri_truth {
    cri_variable_place place;
    double value;
} cri_truth;

typedef struct cri_recording {
    int n_sample; // at least 2
    int n_column; // at least 1
    int n_truth;
    double *time;  // (n_sample) s after the first sample
    double *value; // (n_sample, n_column)
    int *x_index;  // (n_column) entry of x
    double *sigma; // (n_column) noise of a column, in its unit; NULL: not given, in no recording
    cri_truth *truth;
    const char *file; // as it was named, borrowed; may be NULL
    // points of a geom's surface instead of entries of x (optimize/replay.h): (n_sample, n_column,
    // 3), the world; NULL: none. Then value is zero and x_index -1
    const double *cloud;
    int geom;
} cri_recording;

/// What the residuals of a column are multiplied by.
static inline double cri_recording_weight(const cri_recording *recording, int column) {
    return recording->sigma ? 1.0 / recording->sigma[column] : 1.0;
}

/// Takes what a table holds. The arrays live in arena; table is read, not kept; file is borrowed
/// and stands in messages. sigma is NULL.
CR_MUST_CHECK cr_status cri_recording_push(const cr_model *model, const cri_table *table,
                                           const char *file, cr_arena *arena, cri_recording *out,
                                           cr_error *err);

/// The true value of a variable, when the recording tells it for one of its places.
bool cri_recording_truth(const cri_recording *recording, const cri_variable *variable,
                         double *value);

/// An estimate of the noise of all columns, rms, in units of sigma, from the recording alone: third
/// differences of neighbouring samples, of which a smooth motion has next to none. Too large when
/// the sampling is coarse.
double cri_recording_noise(const cri_recording *recording);

/// Part of a recording's spread that no model is expected to explain: integrators differ by about
/// as much.
#define CRI_RECORDING_FLOOR 1e-4

/// How far the columns reach from their means, rms over all, in units of sigma.
double cri_recording_spread(const cri_recording *recording);
