// SPDX-License-Identifier: MIT
//
// How a run of carom simulate is saved and goes on.

#include "simulate.h"

#include "base/io/checkpoint.h"
#include "base/io/table.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// resting contacts that a saved simulator may have
#define CONTACT_LIMIT 100000

enum { N_REAL = 2, N_WHOLE = 4, N_ARRAY = 4 };

/// What is saved, with room for the simulator's bytes as whole numbers.
typedef struct saved {
    double real[N_REAL];    // first energy, deepest overlap
    int64_t whole[N_WHOLE]; // steps, impacts, outcome, bytes of the simulator
    int64_t *sim;           // owned
    int64_t n_sim;
} saved;

static void list_arrays(const cli_simulation *s, saved *data, cri_checkpoint_array out[N_ARRAY]) {
    int64_t n_x = s->scene->sizes.n_x;
    out[0] = (cri_checkpoint_array){.name = "x", .real = s->x, .n = n_x, .n_most = n_x};
    out[1] = (cri_checkpoint_array){
        .name = "numbers", .real = data->real, .n = N_REAL, .n_most = N_REAL};
    out[2] = (cri_checkpoint_array){
        .name = "counts", .whole = data->whole, .n = N_WHOLE, .n_most = N_WHOLE};
    out[3] = (cri_checkpoint_array){
        .name = "simulator", .whole = data->sim, .n = data->n_sim, .n_most = data->n_sim};
}

static bool push_sim(saved *data, size_t n_byte) {
    data->n_sim = (int64_t)((n_byte + sizeof *data->sim - 1) / sizeof *data->sim);
    data->sim = calloc((size_t)data->n_sim, sizeof *data->sim);
    return data->sim;
}

int cli_simulation_save(const cli_simulation *s, int n_done) {
    size_t n_byte = cr_sim_save_bytes(s->sim);
    saved data = {.real = {s->result.energy[0], s->result.max_penetration},
                  .whole = {n_done, s->n_impact, (int64_t)s->outcome, (int64_t)n_byte}};
    if (!push_sim(&data, n_byte)) {
        return cli_failed("%.150s: no memory", s->checkpoint);
    }
    cr_sim_save(s->sim, data.sim);
    cri_checkpoint_array array[N_ARRAY];
    list_arrays(s, &data, array);
    cr_error err = {0};
    cr_status status = cri_checkpoint_write(s->checkpoint, s->problem, N_ARRAY, array, &err);
    free(data.sim);
    return status == CR_OK ? CLI_DONE : cli_error(&err);
}

static int restore(cli_simulation *s, const saved *data, cr_error *err) {
    int64_t n_done = data->whole[0], n_byte = data->whole[3];
    bool is_sound = n_done >= 0 && n_done <= INT_MAX && data->whole[1] >= 0 &&
                    data->whole[1] <= INT_MAX && data->whole[2] >= 0 &&
                    data->whole[2] <= CR_ITERATION_LIMIT && n_byte >= 0 &&
                    n_byte <= data->n_sim * (int64_t)sizeof *data->sim;
    if (!is_sound) {
        return cli_failed("%.150s: damaged; remove it to begin anew", s->checkpoint);
    }
    if (cr_sim_restore(s->sim, data->sim, (size_t)n_byte, err) != CR_OK) {
        return cli_failed("%.150s: %s; remove it to begin anew", s->checkpoint, err->text);
    }
    if (n_done > s->result.n_step) {
        return cli_usage("%.150s: %d steps are done already; raise --steps %d, or remove it to "
                         "begin anew",
                         s->checkpoint, (int)n_done, s->result.n_step);
    }
    s->first = (int)n_done;
    s->n_impact = (int)data->whole[1];
    s->outcome = (cr_outcome)data->whole[2];
    s->result.energy[0] = data->real[0];
    s->result.max_penetration = data->real[1];
    return CLI_DONE;
}

int cli_simulation_load(cli_simulation *s) {
    if (!cri_checkpoint_exists(s->checkpoint)) {
        return cli_simulation_save(s, 0); // a file that cannot be written is known now
    }
    saved data = {0};
    // a contact that rests has two geoms and a touch, and three impulses
    size_t n_most = cr_sim_save_bytes(s->sim) + CONTACT_LIMIT * 6 * sizeof(double);
    if (!push_sim(&data, n_most)) {
        return cli_failed("%.150s: no memory", s->checkpoint);
    }
    cri_checkpoint_array array[N_ARRAY];
    list_arrays(s, &data, array);
    cr_error err = {0};
    int code = cri_checkpoint_read(s->checkpoint, s->problem, N_ARRAY, array, &err) == CR_OK
                   ? restore(s, &data, &err)
                   : cli_error(&err);
    free(data.sim);
    return code;
}

// ---- the motion so far -------------------------------------------------------------------------

/// Columns of the state in a table; false when one is missing.
static bool find_columns(const cli_scene *scene, const cri_table *table, int *column) {
    bool is_found = cri_table_find(table, "t") >= 0;
    for (int i = 0; i < scene->sizes.n_x; i++) {
        column[i] = cri_table_find(table, cr_model_name(scene->model, CR_VECTOR_X, i));
        is_found = is_found && column[i] >= 0;
    }
    return is_found;
}

/// Does the table end where the run is? column (n_x) gets the places of the state.
static bool is_motion(const cli_simulation *s, const cri_table *table, int *column) {
    if (!find_columns(s->scene, table, column) || table->n_row != s->first + 1) {
        return false;
    }
    const double *last = table->value + (size_t)s->first * (size_t)table->n_col;
    double t = s->first * s->result.dt;
    // times are written with 12 digits
    bool is_good = fabs(last[cri_table_find(table, "t")] - t) <= 1e-11 * t;
    for (int i = 0; i < s->scene->sizes.n_x; i++) {
        is_good = is_good && last[column[i]] == s->x[i];
    }
    return is_good;
}

static int copy_rows(cli_simulation *s, const char *path, const cri_table *table) {
    const cli_scene *scene = s->scene;
    int n_x = scene->sizes.n_x, at = s->first;
    int *column = CR_PUSH(scene->memory, int, n_x);
    double *x = CR_PUSH(scene->memory, double, n_x);
    if (!column || !x) {
        return cli_failed("%.150s: no memory", path);
    }
    if (!is_motion(s, table, column)) {
        return cli_failed("%.150s: not the motion up to step %d, where %.100s is; bring it back, "
                          "or remove the checkpoint to begin anew",
                          path, at, s->checkpoint);
    }
    cr_error err = {0};
    for (int k = 0; k <= at; k++) {
        const double *row = table->value + (size_t)k * (size_t)table->n_col;
        for (int i = 0; i < n_x; i++) {
            x[i] = row[column[i]];
        }
        if (scene->has_table) {
            cri_control_at(&scene->table, k * s->result.dt, scene->u);
        }
        if (cri_trajectory_row(&s->file, k * s->result.dt, x, scene->u, &err) != CR_OK) {
            return cli_error(&err);
        }
    }
    return CLI_DONE;
}

int cli_simulation_copy(cli_simulation *s, const char *path) {
    cri_table table = {0};
    cr_error err = {0};
    if (cri_table_read(path, &table, &err) != CR_OK) {
        return cli_failed("%s; the run goes on from step %d and needs the motion so far, or remove "
                          "%.60s to begin anew",
                          err.text, s->first, s->checkpoint);
    }
    int code = copy_rows(s, path, &table);
    cri_table_clear(&table);
    return code;
}
