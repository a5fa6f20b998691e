// SPDX-License-Identifier: MIT
//
// Windows for training from somebody's recordings of a system of points.

#include "points/learn/points_record.h"

#include "base/base.h"
#include "base/io/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/// What is read.
typedef struct recordings {
    const cri_points_record_def *def;
    cri_series *series; // (n_file)
    cri_window *window; // (n_window) that begin without overlap
    bool *is_hit;       // (n_window)
    int n_window;
    cr_arena *arena;
} recordings;

static cr_status no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for recordings");
}

// ---- reading -----------------------------------------------------------------------------------

void cri_points_column_name(const cri_points_scene *sc, int i, char *out, size_t size) {
    int D = sc->s.n_dof, d = sc->s.d;
    char point[48];
    cri_points_point_name(sc, i % D / d, point, sizeof point);
    (void)snprintf(out, size, "%s/%s[%d]", point, i < D ? "qpos" : "qvel", i % d);
}

// NULL when there is no memory
static const char **default_columns(const cri_points_scene *sc, cr_arena *arena) {
    const char **column = CR_PUSH(arena, const char *, sc->n_x);
    for (int i = 0; column && i < sc->n_x; i++) {
        char name[80];
        cri_points_column_name(sc, i, name, sizeof name);
        column[i] = cri_arena_push_text(arena, name);
        if (!column[i]) {
            return NULL;
        }
    }
    return column;
}

// how far a row is from a tie, as part of its length or of 1 m
static double misfit(const cri_tie *t, double phi) {
    bool has_length = t->kind == CRI_TIE_ANCHOR || t->kind == CRI_TIE_DISTANCE;
    return fabs(phi) / (has_length ? t->length * t->length : 1.0);
}

// noise is allowed, another system is not
static cr_status check_ties(const cri_points_scene *sc, const cri_series *s, cr_arena *arena,
                            cr_error *err) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    double *phi = CR_PUSH(arena, double, sc->s.n_tie + 1);
    for (int row = 0; phi && row < s->n_row; row++) {
        cri_ties_value(&sc->s, s->value + (size_t)row * (size_t)sc->n_x, phi);
        for (int e = 0; e < sc->s.n_tie; e++) {
            const cri_tie *t = &sc->s.tie[e];
            if (misfit(t, phi[e]) > 0.2) {
                char name[48];
                cri_points_point_name(sc, t->point[0], name, sizeof name);
                return cri_file_fail(err, CR_ERR_ARGUMENT, s->file, 0,
                                     "row %d: %s is where no %s of '%s' can be; do its columns "
                                     "belong to this system, in metres?",
                                     row + 1, name, name, sc->name);
            }
        }
    }
    cri_arena_rewind(arena, mark);
    return phi ? CR_OK : no_memory(err);
}

static cr_status read_all(recordings *r, double *dt, cr_error *err) {
    const cri_points_record_def *def = r->def;
    const cri_points_scene *sc = def->scene;
    const char *const *column = def->column ? def->column : default_columns(sc, r->arena);
    r->series = CR_PUSH(r->arena, cri_series, def->n_file);
    if (!column || !r->series) {
        return no_memory(err);
    }
    const cri_series_def series = {
        .time = def->time, .n_value = sc->n_x, .value = column, .n_row_least = CRI_WINDOW_STATES};
    for (int k = 0; k < def->n_file; k++) {
        CR_TRY(cri_series_read(&series, def->file[k], r->arena, &r->series[k], err));
        CR_TRY(check_ties(sc, &r->series[k], r->arena, err));
    }
    return cri_series_check_dt(def->n_file, r->series, dt, err);
}

// ---- windows -----------------------------------------------------------------------------------

static const double *state_of(const recordings *r, const cri_window *w, int t) {
    size_t n_x = (size_t)r->def->scene->n_x;
    return r->series[w->series].value + (size_t)(w->row + t) * n_x;
}

// windows that begin without overlap, and whether they have a contact
static cr_status find_windows(recordings *r, cr_error *err) {
    const cri_points_scene *sc = r->def->scene;
    int n;
    cri_window *all =
        cri_windows_push(r->def->n_file, r->series, NULL, CRI_WINDOW_STATES - 1, 1, r->arena, &n);
    r->is_hit = CR_PUSH(r->arena, bool, n + 1);
    if (!all || !r->is_hit) {
        return no_memory(err);
    }
    r->window = all;
    for (int k = 0; k < n; k++) {
        if (cri_points_overlap(sc, state_of(r, &all[k], 0))) {
            continue;
        }
        bool is_hit = false;
        for (int t = 1; t < CRI_WINDOW_STATES && !is_hit; t++) {
            is_hit = cri_points_overlap(sc, state_of(r, &all[k], t));
        }
        r->is_hit[r->n_window] = is_hit;
        all[r->n_window++] = all[k];
    }
    return r->n_window > 0 ? CR_OK
                           : cri_fail(err, CR_ERR_ARGUMENT, 0,
                                      "%.120s: points of '%s' overlap in all rows that a window "
                                      "could begin with; are positions in metres?",
                                      r->def->file[0], sc->name);
}

static bool push_data(const cri_points_scene *sc, int n, cri_points_data *out, cr_arena *arena) {
    size_t size = (size_t)n * CRI_WINDOW_STATES * (size_t)sc->n_x;
    *out = (cri_points_data){.n_x = sc->n_x,
                             .x = CR_PUSH(arena, double, size + 1),
                             .n_touch = CR_PUSH(arena, int, sc->n_coefficient)};
    return out->x && out->n_touch;
}

static void keep(const recordings *r, int k, cri_points_data *out) {
    const double *state[CRI_WINDOW_STATES];
    for (int t = 0; t < CRI_WINDOW_STATES; t++) {
        state[t] = state_of(r, &r->window[k], t);
    }
    cri_points_data_add(r->def->scene, state, out);
}

// of the windows chosen: all with a contact, and as many without one; all, if none has one
static void keep_half(const recordings *r, const bool *is_chosen, cri_random *stream,
                      cri_points_data *out) {
    int n_hit = 0, n_free = 0;
    for (int k = 0; k < r->n_window; k++) {
        n_hit += is_chosen[k] && r->is_hit[k];
        n_free += is_chosen[k] && !r->is_hit[k];
    }
    int wanted = n_hit == 0 || n_hit > n_free ? n_free : n_hit;
    for (int k = 0; k < r->n_window; k++) {
        bool is_kept = is_chosen[k] && r->is_hit[k];
        if (is_chosen[k] && !r->is_hit[k]) {
            // each of those left is as likely as any other (Knuth, algorithm S)
            is_kept = cri_random_whole(stream, 0, --n_free) < wanted;
            wanted -= is_kept;
        }
        if (is_kept) {
            keep(r, k, out);
        }
    }
}

// which windows validate
static bool *choose_validation(const recordings *r) {
    int n_file = r->def->n_file;
    bool *is_file = CR_PUSH(r->arena, bool, n_file);
    bool *is_valid = CR_PUSH(r->arena, bool, r->n_window);
    if (!is_file || !is_valid) {
        return NULL;
    }
    cri_series_split(n_file, 0.125, r->def->seed, is_file);
    for (int k = 0; k < r->n_window; k++) {
        is_valid[k] =
            n_file > 1 ? is_file[r->window[k].series] : k >= r->n_window - r->n_window / 8;
    }
    return is_valid;
}

cr_status cri_points_record(const cri_points_record_def *def, cri_points_data *train,
                            cri_points_data *valid, double *dt, cr_arena *arena, cr_error *err) {
    CR_ASSERT(def->n_file > 0);
    recordings r = {.def = def, .arena = arena};
    *dt = 0.0;
    CR_TRY(read_all(&r, dt, err));
    CR_TRY(find_windows(&r, err));
    bool *is_chosen = choose_validation(&r);
    if (!is_chosen || !push_data(def->scene, r.n_window, train, arena) ||
        !push_data(def->scene, r.n_window, valid, arena)) {
        return no_memory(err);
    }
    cri_random stream = cri_random_of(def->seed, 3);
    keep_half(&r, is_chosen, &stream, valid);
    for (int k = 0; k < r.n_window; k++) {
        is_chosen[k] = !is_chosen[k];
    }
    keep_half(&r, is_chosen, &stream, train);
    if (train->n == 0 || valid->n == 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "%.120s: too few rows for training and validation; windows have %d rows",
                        def->file[0], CRI_WINDOW_STATES);
    }
    return CR_OK;
}

cr_status cri_points_record_all(const cri_points_record_def *def, double dt, cri_points_data *out,
                                cr_arena *arena, cr_error *err) {
    recordings r = {.def = def, .arena = arena};
    CR_TRY(read_all(&r, &dt, err));
    CR_TRY(find_windows(&r, err));
    if (!push_data(def->scene, r.n_window, out, arena)) {
        return no_memory(err);
    }
    for (int k = 0; k < r.n_window; k++) {
        keep(&r, k, out);
    }
    return CR_OK;
}
