// SPDX-License-Identifier: MIT
//
// What the runs of an experiment came to, in a file.

#include "kept.h"

#include "base/io/checkpoint.h"
#include "base/io/file.h"
#include "carom/carom.h"

#include <stdlib.h>
#include <string.h>

enum { N_ARRAY = 2 };

// texts are told apart by their hash
static int64_t hash_of(const char *text) {
    return (int64_t)cri_hash_text(CRI_HASH_START, text);
}

static void list_arrays(cri_kept *k, cri_checkpoint_array array[N_ARRAY]) {
    array[0] = (cri_checkpoint_array){"index", NULL, k->index, 2 * (int64_t)k->n_entry,
                                      2 * (int64_t)k->room_entry};
    array[1] = (cri_checkpoint_array){"numbers", k->number, NULL, (int64_t)k->n, (int64_t)k->room};
}

// room for one more entry of n numbers
static bool make_room(cri_kept *k, size_t n) {
    if (k->n_entry == k->room_entry) {
        size_t room = 2 * k->room_entry + 16;
        int64_t *index = realloc(k->index, 2 * room * sizeof *index);
        if (!index) {
            return false;
        }
        k->index = index;
        k->room_entry = room;
    }
    if (k->n + n > k->room) {
        size_t room = 2 * k->room + n;
        double *number = realloc(k->number, room * sizeof *number);
        if (!number) {
            return false;
        }
        k->number = number;
        k->room = room;
    }
    return true;
}

static bool is_sound(const cri_kept *k) {
    size_t n = 0;
    for (size_t i = 0; i < k->n_entry; i++) {
        int64_t own = k->index[2 * i + 1];
        if (own < 0 || own > (int64_t)(k->n - n)) {
            return false;
        }
        n += (size_t)own;
    }
    return n == k->n;
}

static cr_status load(cri_kept *k, const char *experiment, cr_error *err) {
    size_t room = cri_checkpoint_bytes(k->file) / sizeof(double) + 1;
    k->room_entry = k->room = room;
    k->index = malloc(2 * room * sizeof *k->index);
    k->number = malloc(room * sizeof *k->number);
    if (!k->index || !k->number) {
        return cri_file_fail_memory(err, k->file);
    }
    cri_checkpoint_array array[N_ARRAY];
    list_arrays(k, array);
    cr_status status = cri_checkpoint_read(k->file, k->problem, N_ARRAY, array, err);
    if (status == CR_ERR_ARGUMENT) {
        return cri_file_fail(err, CR_ERR_FILE, k->file, 0,
                             "this checkpoint is of other work than %s of version %s; name "
                             "another file, or remove it",
                             experiment, CR_VERSION);
    }
    CR_TRY(status);
    k->n_entry = (size_t)array[0].n / 2;
    k->n = (size_t)array[1].n;
    return is_sound(k) ? CR_OK
                       : cri_file_fail(err, CR_ERR_SYNTAX, k->file, 0,
                                       "this checkpoint is damaged; remove it to begin anew");
}

cr_status cri_kept_open(const char *file, const char *experiment, cri_kept *out, cr_error *err) {
    uint64_t problem = cri_hash_text(CRI_HASH_START, "carom experiment " CR_VERSION);
    *out = (cri_kept){.file = file, .problem = cri_hash_text(problem, experiment)};
    return file && cri_checkpoint_exists(file) ? load(out, experiment, err) : CR_OK;
}

void cri_kept_clear(cri_kept *kept) {
    free(kept->index);
    free(kept->number);
    *kept = (cri_kept){0};
}

bool cri_kept_find(const cri_kept *kept, const char *text, size_t n, double *value) {
    int64_t hash = hash_of(text);
    size_t at = 0;
    for (size_t i = 0; i < kept->n_entry; i++) {
        size_t own = (size_t)kept->index[2 * i + 1];
        if (kept->index[2 * i] == hash && own == n) {
            memcpy(value, kept->number + at, n * sizeof *value);
            return true;
        }
        at += own;
    }
    return false;
}

cr_status cri_kept_add(cri_kept *kept, const char *text, size_t n, const double *value,
                       cr_error *err) {
    if (!kept->file) {
        return CR_OK;
    }
    if (!make_room(kept, n)) {
        return cri_file_fail_memory(err, kept->file);
    }
    kept->index[2 * kept->n_entry] = hash_of(text);
    kept->index[2 * kept->n_entry + 1] = (int64_t)n;
    memcpy(kept->number + kept->n, value, n * sizeof *value);
    kept->n_entry++;
    kept->n += n;
    cri_checkpoint_array array[N_ARRAY];
    list_arrays(kept, array);
    return cri_checkpoint_write(kept->file, kept->problem, N_ARRAY, array, err);
}
