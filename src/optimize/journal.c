// SPDX-License-Identifier: MIT
//
// What a fit has computed so far, in order.
//
// An entry of a search is its status, why it stopped, its iterations and loss, and z. Of the search
// under way z, the scales and the damping are saved; residuals and Jacobian at z are computed again
// and have the same bits.

#include "optimize/journal.h"

#include "base/arena.h"
#include "base/io/checkpoint.h"
#include "base/io/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

// a fit is saved after so many iterations or candidates
#define SAVE_EVERY 10

// numbers of a search's entry in front of z
enum { SEARCH_STATUS, SEARCH_STOP, SEARCH_ITERATION, SEARCH_LOSS, N_SEARCH };

// arrays of the file
enum { ARRAY_ENTRY, ARRAY_Z, ARRAY_SCALE, ARRAY_DAMPING, ARRAY_HISTORY, ARRAY_COUNT };

enum { ARRAY_PART = ARRAY_COUNT + 1, ARRAY_LABEL, N_ARRAY };

// places in the array of counts
enum { COUNT_ITERATION, COUNT_HISTORY, COUNT_EVERY, COUNT_LAST, N_COUNT };

enum { N_DAMPING = 2, N_LABEL = CRI_JOURNAL_LABEL / 8 };

// the kind of work that such a file is of
#define KIND "carom fit"

/// The small arrays of a file, in one piece.
typedef struct frame {
    double damping[N_DAMPING];
    int64_t count[N_COUNT];
    int64_t part[CRI_JOURNAL_N_PART];
    int64_t label[N_LABEL]; // characters
} frame;

/// A search of which a journal hears.
typedef struct watched {
    cri_journal *journal;
    const cri_lsq *problem;
    cri_journal_search *search;
} watched;

// ---- losses of iterations -----------------------------------------------------------------------

// Losses of the iterations of a fit.

void cri_history_keep(cri_fit_history *history, long long i, double value) {
    if (i <= history->last) {
        return;
    }
    history->last = i;
    if (i % history->every == 0 && history->n == CRI_HISTORY_LIMIT) {
        history->n /= 2;
        history->every *= 2;
        for (int k = 0; k < history->n; k++) {
            history->value[k] = history->value[2 * k + 1];
        }
    }
    if (i % history->every == 0) {
        history->value[history->n++] = value;
    }
}

// ---- the journal --------------------------------------------------------------------------------

static uint64_t kind(void) {
    return cri_hash_text(CRI_HASH_START, KIND);
}

// ---- file --------------------------------------------------------------------------------------

/// The arrays of the file: entries and history of journal, a search, and what frame holds. room:
/// numbers that each of the long ones has place for.
static void list_arrays(const cri_journal *j, const cri_journal_search *s, frame *f, int64_t room,
                        cri_checkpoint_array out[N_ARRAY]) {
    int64_t n_history = j->history->n;
    out[ARRAY_ENTRY] = (cri_checkpoint_array){"entries", j->real, NULL, (int64_t)j->n, room};
    out[ARRAY_Z] = (cri_checkpoint_array){"z", s->z, NULL, s->n, room};
    out[ARRAY_SCALE] = (cri_checkpoint_array){"scale", s->state.scale, NULL, s->n, room};
    out[ARRAY_DAMPING] = (cri_checkpoint_array){"damping", f->damping, NULL, N_DAMPING, N_DAMPING};
    out[ARRAY_HISTORY] =
        (cri_checkpoint_array){"history", j->history->value, NULL, n_history, CRI_HISTORY_LIMIT};
    out[ARRAY_COUNT] = (cri_checkpoint_array){"counts", NULL, f->count, N_COUNT, N_COUNT};
    out[ARRAY_PART] =
        (cri_checkpoint_array){"parts", NULL, f->part, CRI_JOURNAL_N_PART, CRI_JOURNAL_N_PART};
    out[ARRAY_LABEL] = (cri_checkpoint_array){"label", NULL, f->label, N_LABEL, N_LABEL};
}

static void fill_frame(const cri_journal *j, frame *f) {
    *f = (frame){.damping = {j->now.state.damping, j->now.state.growth},
                 .count = {j->now.n_iteration, j->history->n, j->history->every, j->history->last}};
    for (int i = 0; i < CRI_JOURNAL_N_PART; i++) {
        f->part[i] = (int64_t)j->def->part[i];
    }
    size_t n = strlen(j->def->label);
    memcpy(f->label, j->def->label, n < CRI_JOURNAL_LABEL ? n : CRI_JOURNAL_LABEL - 1);
}

static void save(cri_journal *j) {
    // an array is there, if empty
    double none = 0.0;
    cri_journal_search s = j->now;
    if (s.n == 0) {
        s.z = s.state.scale = &none;
    }
    cri_journal whole = *j;
    whole.real = j->real ? j->real : &none;
    frame f;
    fill_frame(j, &f);
    cri_checkpoint_array array[N_ARRAY];
    list_arrays(&whole, &s, &f, 0, array);
    j->status = cri_checkpoint_write(j->def->file, kind(), N_ARRAY, array, &j->err);
    j->is_closed = j->is_closed || j->status != CR_OK;
}

/// Refuses a file of another fit, and says which part of it is another.
static cr_status check_parts(const cri_journal_def *def, const frame *f, cr_error *err) {
    static const char *const words[CRI_JOURNAL_N_PART] = {"scene, or its --set, --dt or --law",
                                                          "recording", "option"};
    char label[CRI_JOURNAL_LABEL];
    memcpy(label, f->label, sizeof label);
    label[CRI_JOURNAL_LABEL - 1] = '\0';
    for (int i = 0; i < CRI_JOURNAL_N_PART; i++) {
        if (f->part[i] != (int64_t)def->part[i]) {
            return cri_file_fail(err, CR_ERR_FILE, def->file, 0,
                                 "saved by a fit of %s, and this is one of %s: another %s; give "
                                 "what it had, or remove the file",
                                 label, def->label, words[i]);
        }
    }
    return CR_OK;
}

static bool is_sound(const cri_journal *j, const frame *f, const cri_checkpoint_array *array) {
    const int64_t *count = f->count;
    return array[ARRAY_Z].n == array[ARRAY_SCALE].n && array[ARRAY_DAMPING].n == N_DAMPING &&
           array[ARRAY_COUNT].n == N_COUNT && count[COUNT_ITERATION] >= 0 &&
           count[COUNT_ITERATION] < INT_MAX && array[ARRAY_HISTORY].n == count[COUNT_HISTORY] &&
           count[COUNT_EVERY] > 0 && count[COUNT_EVERY] < INT_MAX && count[COUNT_LAST] >= 0 &&
           j->real;
}

static cr_status load(cri_journal *j, cr_error *err) {
    const char *file = j->def->file;
    size_t room = cri_checkpoint_bytes(file) / sizeof(double) + 1;
    j->real = malloc(room * sizeof *j->real);
    j->loaded.z = malloc(room * sizeof *j->loaded.z);
    j->loaded.state.scale = malloc(room * sizeof *j->loaded.state.scale);
    if (!j->real || !j->loaded.z || !j->loaded.state.scale) {
        return cri_file_fail_memory(err, file);
    }
    frame f = {0};
    cri_checkpoint_array array[N_ARRAY];
    list_arrays(j, &j->loaded, &f, (int64_t)room, array);
    cr_status status = cri_checkpoint_read(file, kind(), N_ARRAY, array, err);
    if (status == CR_ERR_ARGUMENT) {
        return cri_file_fail(err, CR_ERR_FILE, file, 0,
                             "this checkpoint is of other work than %s; name another file, or "
                             "remove it",
                             j->def->label);
    }
    CR_TRY(status);
    CR_TRY(check_parts(j->def, &f, err));
    if (!is_sound(j, &f, array)) {
        return cri_file_fail(err, CR_ERR_SYNTAX, file, 0, "damaged; remove it to begin anew");
    }
    j->n = (size_t)array[ARRAY_ENTRY].n;
    j->room = room;
    j->loaded.n = array[ARRAY_Z].n;
    j->loaded.n_iteration = f.count[COUNT_ITERATION];
    j->loaded.state.damping = f.damping[0];
    j->loaded.state.growth = f.damping[1];
    j->history->n = (int)f.count[COUNT_HISTORY];
    j->history->every = (int)f.count[COUNT_EVERY];
    j->history->last = f.count[COUNT_LAST];
    return CR_OK;
}

cr_status cri_journal_open(const cri_journal_def *def, cri_fit_history *history, cri_journal *out,
                           cr_error *err) {
    *out = (cri_journal){.def = def, .history = history};
    if (cri_checkpoint_exists(def->file)) {
        return load(out, err);
    }
    save(out); // a file that cannot be written is known now
    if (out->status != CR_OK && err) {
        *err = out->err;
    }
    return out->status;
}

void cri_journal_clear(cri_journal *j) {
    free(j->real);
    free(j->loaded.z);
    free(j->loaded.state.scale);
    *j = (cri_journal){0};
}

// ---- entries -----------------------------------------------------------------------------------

static bool is_repeating(const cri_journal *j) {
    return j->def && !j->is_closed && j->at < j->n;
}

/// Nothing in the file can be used from here on.
static void refuse(cri_journal *j) {
    j->is_foreign = j->is_closed = true;
}

bool cri_journal_next(cri_journal *j, int n, double *value) {
    if (!is_repeating(j)) {
        return false;
    }
    // a length is a small whole number, so that equal doubles are equal lengths
    if (j->real[j->at] != n || j->n - j->at <= (size_t)n) {
        refuse(j);
        return false;
    }
    memcpy(value, j->real + j->at + 1, (size_t)n * sizeof *value);
    j->at += (size_t)n + 1;
    return true;
}

static bool make_room(cri_journal *j, size_t n) {
    if (n > j->room) {
        size_t room = 2 * n;
        double *real = realloc(j->real, room * sizeof *real);
        if (!real) {
            return false;
        }
        j->real = real;
        j->room = room;
    }
    return true;
}

void cri_journal_keep(cri_journal *j, int n, const double *value) {
    if (!j->def || j->is_closed) {
        return;
    }
    CR_ASSERT(j->at == j->n);
    if (!make_room(j, j->n + (size_t)n + 1)) {
        j->status = cri_file_fail_memory(&j->err, j->def->file);
        j->is_closed = true;
        return;
    }
    j->real[j->n] = n;
    memcpy(j->real + j->n + 1, value, (size_t)n * sizeof *value);
    j->n += (size_t)n + 1;
    j->at = j->n;
}

/// Saves when that is due. False: stop.
static bool tick(cri_journal *j, bool goes_on) {
    if (!j->def) {
        return goes_on;
    }
    bool is_due = !goes_on || ++j->n_tick % SAVE_EVERY == 0;
    if (is_due && !j->is_closed) {
        save(j);
    }
    j->is_closed = j->is_closed || !goes_on;
    return goes_on && !j->is_closed;
}

bool cri_journal_tell(cri_journal *j, const cri_progress *progress,
                      const cri_progress_state *state) {
    return is_repeating(j) || tick(j, cri_progress_tell(progress, state));
}

cr_status cri_journal_finish(cri_journal *j, cr_error *err) {
    if (j->is_foreign) {
        return cri_file_fail(err, CR_ERR_FILE, j->def->file, 0,
                             "this checkpoint does not go with this fit; remove it to begin anew");
    }
    if (j->def && !j->is_closed) {
        save(j);
    }
    return CR_OK;
}

// ---- searches ----------------------------------------------------------------------------------

static bool hear(void *context, const cri_progress_state *state) {
    const watched *w = context;
    bool goes_on = cri_progress_tell(w->problem->progress, state);
    w->search->n_iteration = state->done - w->problem->n_before;
    return tick(w->journal, goes_on);
}

/// Takes a search from the journal. False when it has to be made.
static bool take_search(cri_journal *j, int n, double *entry, double *z, cri_lsq_result *out,
                        cr_status *status) {
    if (!cri_journal_next(j, N_SEARCH + n, entry)) {
        return false;
    }
    *status = (cr_status)entry[SEARCH_STATUS];
    *out = (cri_lsq_result){.stop = (cri_lsq_stop)entry[SEARCH_STOP],
                            .n_iteration = (int)entry[SEARCH_ITERATION],
                            .loss = entry[SEARCH_LOSS]};
    memcpy(z, entry + N_SEARCH, (size_t)n * sizeof *z);
    return true;
}

static void keep_search(cri_journal *j, int n, double *entry, const double *z,
                        const cri_lsq_result *result, cr_status status) {
    entry[SEARCH_STATUS] = status;
    entry[SEARCH_STOP] = status == CR_OK ? result->stop : CRI_LSQ_STOPPED;
    entry[SEARCH_ITERATION] = status == CR_OK ? result->n_iteration : 0;
    entry[SEARCH_LOSS] = status == CR_OK ? result->loss : INFINITY;
    memcpy(entry + N_SEARCH, z, (size_t)n * sizeof *z);
    cri_journal_keep(j, N_SEARCH + n, entry);
}

/// Lets a search go on where the one that was saved had come to.
static void go_on(cri_journal *j, int n, cri_journal_search *s) {
    cri_journal_search *from = &j->loaded;
    if (!j->def || j->is_closed || from->n == 0) {
        return;
    }
    if (from->n != n) {
        refuse(j);
        return;
    }
    memcpy(s->z, from->z, (size_t)n * sizeof *s->z);
    memcpy(s->state.scale, from->state.scale, (size_t)n * sizeof *s->state.scale);
    s->state.damping = from->state.damping;
    s->state.growth = from->state.growth;
    s->n_iteration = from->n_iteration;
    from->n = 0;
}

/// Makes a search, from where it stands on.
static cr_status search(cri_journal *j, const cri_lsq *problem, double *r, double *J,
                        cri_lsq_result *out, cr_error *err) {
    cri_journal_search *s = &j->now;
    watched w = {j, problem, s};
    cri_progress progress = {hear, &w};
    cri_lsq rest = *problem;
    int n_done = (int)s->n_iteration;
    rest.iteration_limit -= n_done;
    rest.n_before += n_done;
    rest.progress = &progress;
    CR_TRY(cri_lsq_advance(&rest, &s->state, s->z, r, J, out, err));
    out->n_iteration += n_done;
    return CR_OK;
}

cr_status cri_journal_minimise(cri_journal *j, const cri_lsq *problem, double *z, double *r,
                               double *J, cri_lsq_result *out, cr_error *err) {
    int n = problem->arrow->n;
    cr_arena *arena = cri_arena_create((size_t)(2 * n + N_SEARCH) * sizeof(double));
    double *scale = arena ? CR_PUSH(arena, double, n) : NULL;
    double *entry = arena ? CR_PUSH(arena, double, n + N_SEARCH) : NULL;
    cr_status status = CR_OK;
    if (!scale || !entry) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory to fit %d unknowns", n);
    } else if (take_search(j, n, entry, z, out, &status)) {
        status = status == CR_OK ? CR_OK : cri_fail(err, status, 0, "no value at the start");
    } else {
        j->now =
            (cri_journal_search){.n = n, .z = z, .state = {.scale = scale, .reach = CRI_LSQ_REACH}};
        go_on(j, n, &j->now);
        status = search(j, problem, r, J, out, err);
        j->now = (cri_journal_search){0};
        if (status != CR_ERR_MEMORY) {
            keep_search(j, n, entry, z, out, status);
        }
    }
    cri_arena_destroy(arena);
    return status;
}
