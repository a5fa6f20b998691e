// SPDX-License-Identifier: MIT
//
// Recordings of points with contact, and the windows that models are trained on (DCS, paper 000).
//
// Of every recording, from a drawn state, one window of five states is kept. It begins without
// overlap; about half of the windows have a contact.

#pragma once

#include "points/contact/points_step.h"
#include "points/learn/windows.h"

enum { CRI_WINDOW_STATES = 5 };

/// Windows.
typedef struct cri_points_data {
    int n, n_x;
    double *x;    // (n, CRI_WINDOW_STATES, n_x)
    int n_hit;    // windows with a contact
    int *n_touch; // (n_coefficient) contacts of each class in all windows
} cri_points_data;

/// Where arrays of one call live.
typedef struct cri_points_memory {
    cr_arena *keep, *scratch;
} cri_points_memory;

/// False when there is no memory; then it is empty.
bool cri_points_memory_open(cri_points_memory *m);
void cri_points_memory_close(cri_points_memory *m);

/// A step of B states x (B, n_x); says which rows have failed (B), NULL for lack of memory. keep is
/// its own, reset by the caller.
typedef const bool *cri_points_stepper(const void *self, const double *p, int B, const double *x,
                                       double *x_next, const cri_points_memory *m);

/// That of a scene.
const bool *cri_points_scene_stepper(const void *scene, const double *p, int B, const double *x,
                                     double *x_next, const cri_points_memory *m);

/// What runs: a scene or a model.
typedef struct cri_points_runner {
    cri_points_stepper *step;
    const void *self;
    const double *p;
    int n_x;
} cri_points_runner;

/// Runs B states x[0] for n_state - 1 steps: x (n_state, B, n_x). A row whose step fails stays
/// where it is from then on, and is_lost (B) says so. False when there is no memory.
bool cri_points_roll(const cri_points_runner *runner, int B, int n_state, double *x, bool *is_lost,
                     const cri_points_memory *m);

/// Draws n windows of scene with its own parameters; streams differ by their seed. Arrays live on
/// arena. Fails for lack of memory, and when no recording can be made.
CR_MUST_CHECK cr_status cri_points_windows(const cri_points_scene *scene, uint64_t seed, int n,
                                           cri_points_data *out, cr_arena *arena, cr_error *err);

/// Windows of one kind of use; n 0: none.
typedef struct cri_points_set {
    cri_points_data *data;
    int n;
} cri_points_set;

/// Draws windows for training, validation and test, each from a stream of its own, and adds noise
/// of standard deviation sigma. Streams differ by their seed. Fails as cri_points_windows.
CR_MUST_CHECK cr_status cri_points_sets(const cri_points_scene *scene, uint64_t seed, double sigma,
                                        const cri_points_set set[3], cr_arena *arena,
                                        cr_error *err);

/// Somebody's recordings of a system of points, from which windows for training are cut.
///
/// A recording is a table with a column of times and two for every coordinate, position and
/// velocity. All windows with a contact that begin without overlap are kept, and as many without
/// one, drawn at random; what a contact is says the geometry of the system. Some recordings are set
/// aside for validation, of a single one its last eighth.
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

// for tests

/// Adds noise of standard deviation sigma to all states of the windows: of a pendulum to its angles
/// and rates, so that ties still hold, else to all numbers. Streams differ by their seed.
void cri_points_add_noise(const cri_points_scene *scene, uint64_t seed, double sigma,
                          cri_points_data *data);
