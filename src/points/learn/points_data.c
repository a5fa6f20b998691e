// SPDX-License-Identifier: MIT
//
// Recordings and windows of points.
//
// Recordings are made up to a hundred at a time. With r the share of them that ever have a contact,
// one that has is asked for a window with a contact with probability min(1, 0.5/r), so that half of
// all windows have one as long as r >= 0.5 (paper 000, App. H). A window has a contact when one of
// its states behind the first overlaps: that is where a step has made a jump.

#include "points/learn/points_data.h"

#include "base/base.h"
#include "base/io/file.h"
#include "points/learn/windows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// recordings of one go; rows of one step, whose contacts of long ropes take some MB each
enum { CHUNK = 100, ROLL = 16, MOST_EMPTY = 10 };

/// Recordings of one go.
typedef struct chunk {
    const cri_points_scene *scene;
    int B; // recordings
    int n_state;
    double *x;                // (n_state, B, n_x)
    bool *is_hit;             // (B, n_state)
    bool is_lost[CHUNK];      // a step failed
    bool has_contact[CHUNK];  // ever
    double share;             // of recordings that have a contact
    cri_points_memory memory; // of steps
} chunk;

/// What is read.
typedef struct recordings {
    const cri_points_record_def *def;
    cri_series *series; // (n_file)
    cri_window *window; // (n_window) that begin without overlap
    bool *is_hit;       // (n_window)
    int n_window;
    cr_arena *arena;
} recordings;

// ---- simulated recordings -----------------------------------------------------------------------

bool cri_points_memory_open(cri_points_memory *m) {
    *m = (cri_points_memory){cri_arena_create(1 << 20), cri_arena_create(1 << 20)};
    if (m->keep && m->scratch) {
        return true;
    }
    cri_points_memory_close(m);
    return false;
}

void cri_points_memory_close(cri_points_memory *m) {
    cri_arena_destroy(m->keep);
    cri_arena_destroy(m->scratch);
    *m = (cri_points_memory){0};
}

const bool *cri_points_scene_stepper(const void *scene, const double *p, int B, const double *x,
                                     double *x_next, const cri_points_memory *m) {
    const cri_points_tape *tape =
        cri_points_step(scene, p, B, x, x_next, NULL, m->keep, m->scratch);
    return tape ? tape->has_failed : NULL;
}

bool cri_points_roll(const cri_points_runner *runner, int B, int n_state, double *x, bool *is_lost,
                     const cri_points_memory *m) {
    size_t n_x = (size_t)runner->n_x, n = (size_t)B * n_x;
    memset(is_lost, 0, sizeof *is_lost * (size_t)B);
    for (int t = 1; t < n_state; t++, x += n) {
        for (int first = 0; first < B; first += ROLL) {
            double *from = x + (size_t)first * n_x, *to = from + n;
            int n_row = B - first < ROLL ? B - first : ROLL;
            cri_arena_reset(m->keep);
            const bool *has_failed = runner->step(runner->self, runner->p, n_row, from, to, m);
            if (!has_failed) {
                return false;
            }
            for (int b = 0; b < n_row; b++) {
                is_lost[first + b] = is_lost[first + b] || has_failed[b];
                if (is_lost[first + b]) {
                    memcpy(to + (size_t)b * n_x, from + (size_t)b * n_x, sizeof *x * n_x);
                }
            }
        }
    }
    return true;
}

static const double *state_of(const chunk *c, int b, int t) {
    return c->x + ((size_t)t * (size_t)c->B + (size_t)b) * (size_t)c->scene->n_x;
}

static void find_contacts(chunk *c) {
    int n_contact = 0;
    for (int b = 0; b < c->B; b++) {
        c->has_contact[b] = false;
        for (int t = 0; t < c->n_state; t++) {
            bool is_hit = cri_points_overlap(c->scene, state_of(c, b, t));
            c->is_hit[b * c->n_state + t] = is_hit;
            c->has_contact[b] = c->has_contact[b] || is_hit;
        }
        n_contact += c->has_contact[b];
    }
    c->share = (double)n_contact / c->B;
}

// false when there is no memory or no state can be drawn
static bool record(chunk *c, cri_random *r) {
    for (int b = 0; b < c->B; b++) {
        if (!cri_points_sample(c->scene, r, c->x + (size_t)b * (size_t)c->scene->n_x)) {
            return false;
        }
    }
    const cri_points_runner runner = {cri_points_scene_stepper, c->scene, c->scene->p,
                                      c->scene->n_x};
    if (!cri_points_roll(&runner, c->B, c->n_state, c->x, c->is_lost, &c->memory)) {
        return false;
    }
    find_contacts(c);
    return true;
}

static bool window_is_hit(const bool *is_hit, int first) {
    for (int t = 1; t < CRI_WINDOW_STATES; t++) {
        if (is_hit[first + t]) {
            return true;
        }
    }
    return false;
}

// how many windows with or without contact there are; out, the place of number k
static int count_windows(const chunk *c, int b, bool is_hit, int k, int *out) {
    const bool *hit = c->is_hit + b * c->n_state;
    int n = 0;
    for (int first = 0; first + CRI_WINDOW_STATES <= c->n_state; first++) {
        if (!hit[first] && window_is_hit(hit, first) == is_hit) {
            *out = n == k ? first : *out;
            n++;
        }
    }
    return n;
}

// where the window of recording b begins, -1: it has none
static int choose(const chunk *c, int b, cri_random *r) {
    double chance = c->has_contact[b] ? fmin(1.0, 0.5 / c->share) : 0.0;
    bool is_hit = cri_random_uniform(r, 0.0, 1.0) < chance;
    int first = -1;
    int n = count_windows(c, b, is_hit, -1, &first);
    if (n == 0) {
        is_hit = !is_hit;
        n = count_windows(c, b, is_hit, -1, &first);
    }
    if (n > 0) {
        (void)count_windows(c, b, is_hit, cri_random_whole(r, 0, n - 1), &first);
    }
    return first;
}

/// Adds the window of these states, for which there is room, and counts its contacts.
static void points_data_add(const cri_points_scene *sc,
                            const double *const state[CRI_WINDOW_STATES], cri_points_data *out) {
    size_t n_x = (size_t)sc->n_x;
    double *x = out->x + (size_t)out->n++ * CRI_WINDOW_STATES * n_x;
    bool is_hit = false;
    for (int t = 0; t < CRI_WINDOW_STATES; t++) {
        memcpy(x + (size_t)t * n_x, state[t], sizeof *x * n_x);
        for (int i = 0; t > 0 && i < sc->n_touch; i++) {
            const cri_points_touch *touch = &sc->touch[i];
            bool acts = cri_points_gap(&sc->s, touch, state[t]) < 0.0;
            out->n_touch[touch->coefficient] += acts;
            is_hit = is_hit || acts;
        }
    }
    out->n_hit += is_hit;
}

static void keep_window(const chunk *c, int b, int first, cri_points_data *out) {
    const double *state[CRI_WINDOW_STATES];
    for (int t = 0; t < CRI_WINDOW_STATES; t++) {
        state[t] = state_of(c, b, first + t);
    }
    points_data_add(c->scene, state, out);
}

static cr_status draw(chunk *c, cri_random *r, int n, cri_points_data *out, cr_error *err) {
    for (int n_empty = 0; out->n < n;) {
        if (!record(c, r)) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for recordings of '%s'",
                            c->scene->name);
        }
        int before = out->n;
        for (int b = 0; b < c->B && out->n < n; b++) {
            int first = c->is_lost[b] ? -1 : choose(c, b, r);
            if (first >= 0) {
                keep_window(c, b, first, out);
            }
        }
        n_empty += out->n == before;
        if (n_empty == MOST_EMPTY) {
            return cri_fail(err, CR_ERR_NUMERIC, 0,
                            "no recording of '%s' in %d tries; look at its parameters",
                            c->scene->name, c->B * MOST_EMPTY);
        }
    }
    return CR_OK;
}

cr_status cri_points_windows(const cri_points_scene *scene, uint64_t seed, int n,
                             cri_points_data *out, cr_arena *arena, cr_error *err) {
    CR_ASSERT(scene && n > 0 && scene->n_step >= CRI_WINDOW_STATES);
    size_t n_x = (size_t)scene->n_x;
    *out = (cri_points_data){.n_x = scene->n_x,
                             .x = CR_PUSH(arena, double, (size_t)n *CRI_WINDOW_STATES *n_x),
                             .n_touch = CR_PUSH(arena, int, scene->n_coefficient)};
    cr_arena *own = cri_arena_create(1 << 16);
    chunk c = {.scene = scene, .B = n < CHUNK ? n : CHUNK, .n_state = scene->n_step};
    if (own) {
        c.x = CR_PUSH_RAW(own, double, (size_t)c.n_state *(size_t)c.B *n_x);
        c.is_hit = CR_PUSH(own, bool, (size_t)c.n_state *(size_t)c.B);
    }
    cr_status status = CR_OK;
    if (!out->x || !out->n_touch || !c.x || !c.is_hit || !cri_points_memory_open(&c.memory)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory for recordings of '%s'", scene->name);
    } else {
        cri_random r = cri_random_of(seed, 0);
        status = draw(&c, &r, n, out, err);
    }
    cri_points_memory_close(&c.memory);
    cri_arena_destroy(own);
    return status;
}

// ---- noise -------------------------------------------------------------------------------------

// links one after another: x = l sin q, y = -l cos q, and w = q'
static void shake_links(const cri_points *s, cri_random *r, double sigma, double *x) {
    double *v = x + s->n_dof, last[4] = {0.0}, at[4] = {0.0};
    for (int k = 0; k < s->n_point; k++) {
        double l = s->tie[k].length;
        const double own[4] = {x[2 * k], x[2 * k + 1], v[2 * k], v[2 * k + 1]};
        double q = atan2(own[0] - last[0], last[1] - own[1]);
        double w = ((own[2] - last[2]) * cos(q) + (own[3] - last[3]) * sin(q)) / l;
        memcpy(last, own, sizeof last);
        q += sigma * cri_random_normal(r);
        w += sigma * cri_random_normal(r);
        at[0] += l * sin(q);
        at[1] -= l * cos(q);
        at[2] += l * cos(q) * w;
        at[3] += l * sin(q) * w;
        memcpy(x + 2 * k, at, 2 * sizeof *at);
        memcpy(v + 2 * k, at + 2, 2 * sizeof *at);
    }
}

void cri_points_add_noise(const cri_points_scene *scene, uint64_t seed, double sigma,
                          cri_points_data *data) {
    CR_ASSERT(sigma >= 0.0 && data->n_x == scene->n_x);
    cri_random r = cri_random_of(seed, 2);
    for (int k = 0; k < data->n * CRI_WINDOW_STATES; k++) {
        double *x = data->x + (size_t)k * (size_t)data->n_x;
        if (scene->kind == CRI_POINTS_PENDULUM) {
            shake_links(&scene->s, &r, sigma, x);
            continue;
        }
        for (int i = 0; i < data->n_x; i++) {
            x[i] += sigma * cri_random_normal(&r);
        }
    }
}

cr_status cri_points_sets(const cri_points_scene *scene, uint64_t seed, double sigma,
                          const cri_points_set set[3], cr_arena *arena, cr_error *err) {
    for (int k = 0; k < 3; k++) {
        uint64_t own = 8 * seed + (uint64_t)k;
        if (set[k].n == 0) {
            continue;
        }
        CR_TRY(cri_points_windows(scene, own, set[k].n, set[k].data, arena, err));
        if (sigma > 0.0) {
            cri_points_add_noise(scene, own, sigma, set[k].data);
        }
    }
    return CR_OK;
}

// ---- somebody's recordings ----------------------------------------------------------------------

// Windows for training from somebody's recordings of a system of points.

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

static const double *recorded_state(const recordings *r, const cri_window *w, int t) {
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
        if (cri_points_overlap(sc, recorded_state(r, &all[k], 0))) {
            continue;
        }
        bool is_hit = false;
        for (int t = 1; t < CRI_WINDOW_STATES && !is_hit; t++) {
            is_hit = cri_points_overlap(sc, recorded_state(r, &all[k], t));
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
        state[t] = recorded_state(r, &r->window[k], t);
    }
    points_data_add(r->def->scene, state, out);
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
