// SPDX-License-Identifier: MIT
//
// Long work saved in a file.

#define _POSIX_C_SOURCE 200809L

#include "base/io/checkpoint.h"

#include "base/io/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC "carom ck"
#define VERSION 1

// a number whose bytes differ in every order
#define ORDER 1.5

enum { KIND_REAL, KIND_WHOLE };

uint64_t cri_hash(uint64_t hash, const void *bytes, size_t n_byte) {
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n_byte; i++) {
        hash = (hash ^ b[i]) * 0x100000001b3u; // the prime of FNV
    }
    return hash;
}

uint64_t cri_hash_text(uint64_t hash, const char *text) {
    return cri_hash(hash, text, strlen(text) + 1);
}

bool cri_checkpoint_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

size_t cri_checkpoint_bytes(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && info.st_size > 0 ? (size_t)info.st_size : 0;
}

// ---- writing -----------------------------------------------------------------------------------

typedef struct writer {
    FILE *stream;
    uint64_t hash;
} writer;

// a failed write shows at the commit
static void put(writer *w, const void *bytes, size_t n_byte) {
    w->hash = cri_hash(w->hash, bytes, n_byte);
    fwrite(bytes, 1, n_byte, w->stream);
}

static void put_whole(writer *w, int64_t value) {
    put(w, &value, sizeof value);
}

static void put_array(writer *w, const cri_checkpoint_array *a) {
    size_t n_name = strlen(a->name);
    CR_ASSERT(n_name <= CRI_CHECKPOINT_NAME && a->n >= 0 && !a->real != !a->whole);
    put_whole(w, a->real ? KIND_REAL : KIND_WHOLE);
    put_whole(w, (int64_t)n_name);
    put_whole(w, a->n);
    put(w, a->name, n_name);
    const void *numbers = a->real ? (const void *)a->real : (const void *)a->whole;
    // both kinds take eight bytes
    put(w, numbers, (size_t)a->n * sizeof(double));
}

cr_status cri_checkpoint_write(const char *path, uint64_t problem, int n_array,
                               const cri_checkpoint_array *array, cr_error *err) {
    cri_atomic_file file;
    CR_TRY(cri_atomic_open(path, &file, err));
    writer w = {file.stream, CRI_HASH_START};
    const double order = ORDER;
    put(&w, MAGIC, strlen(MAGIC));
    put(&w, &order, sizeof order);
    put_whole(&w, VERSION);
    put_whole(&w, (int64_t)problem);
    put_whole(&w, n_array);
    for (int i = 0; i < n_array; i++) {
        put_array(&w, &array[i]);
    }
    put_whole(&w, (int64_t)w.hash);
    return cri_atomic_commit(&file, err);
}

// ---- reading -----------------------------------------------------------------------------------

typedef struct reader {
    const char *at;
    const char *end;
} reader;

/// The next n_byte bytes, NULL when there are not so many.
static const char *take(reader *r, size_t n_byte) {
    if ((size_t)(r->end - r->at) < n_byte) {
        return NULL;
    }
    const char *bytes = r->at;
    r->at += n_byte;
    return bytes;
}

static bool take_whole(reader *r, int64_t *value) {
    const char *bytes = take(r, sizeof *value);
    if (bytes) {
        memcpy(value, bytes, sizeof *value);
    }
    return bytes;
}

static cr_status damaged(const char *path, cr_error *err) {
    return cri_file_fail(err, CR_ERR_SYNTAX, path, 0,
                         "this checkpoint is damaged; remove it to begin anew");
}

/// Passes over the next array of the file, or fills the caller's when to is not NULL.
static bool take_array(reader *r, const cri_checkpoint_array *a, cri_checkpoint_array *to) {
    int64_t kind = 0;
    int64_t n_name = 0;
    int64_t n = 0;
    if (!take_whole(r, &kind) || !take_whole(r, &n_name) || !take_whole(r, &n) ||
        n_name != (int64_t)strlen(a->name) || n < 0 || n > a->n_most ||
        kind != (a->real ? KIND_REAL : KIND_WHOLE)) {
        return false;
    }
    const char *name = take(r, (size_t)n_name);
    const char *numbers = name ? take(r, (size_t)n * sizeof(double)) : NULL;
    if (!numbers || memcmp(name, a->name, (size_t)n_name) != 0) {
        return false;
    }
    if (to) {
        void *into = to->real ? (void *)to->real : (void *)to->whole;
        memcpy(into, numbers, (size_t)n * sizeof(double));
        to->n = n;
    }
    return true;
}

/// Magic, order of bytes, checksum and version of a whole file; *r is left behind them.
static cr_status check_frame(const char *path, reader *r, cr_error *err) {
    size_t n_magic = strlen(MAGIC);
    size_t n_byte = (size_t)(r->end - r->at);
    const char *begin = r->at;
    const char *magic = take(r, n_magic);
    if (!magic || memcmp(magic, MAGIC, n_magic) != 0) {
        return cri_file_fail(err, CR_ERR_SYNTAX, path, 0,
                             "this is no checkpoint; name another file");
    }
    double order = 0.0;
    const char *found = take(r, sizeof order);
    int64_t version = 0;
    if (!found || n_byte < n_magic + 3 * sizeof(int64_t) || !take_whole(r, &version)) {
        return damaged(path, err);
    }
    memcpy(&order, found, sizeof order);
    if (order != ORDER || version != VERSION) {
        return cri_file_fail(err, CR_ERR_UNSUPPORTED, path, 0,
                             "this checkpoint is of another machine or version; remove it to "
                             "begin anew");
    }
    uint64_t sum = 0;
    r->end -= sizeof sum;
    memcpy(&sum, r->end, sizeof sum);
    if (sum != cri_hash(CRI_HASH_START, begin, (size_t)(r->end - begin))) {
        return damaged(path, err);
    }
    return CR_OK;
}

static cr_status read_arrays(const char *path, reader r, uint64_t problem, int n_array,
                             cri_checkpoint_array *array, cr_error *err) {
    CR_TRY(check_frame(path, &r, err));
    int64_t found = 0;
    int64_t count = 0;
    bool is_same = take_whole(&r, &found) && (uint64_t)found == problem && take_whole(&r, &count) &&
                   count == n_array;
    reader again = r;
    for (int i = 0; i < n_array && is_same; i++) {
        is_same = take_array(&r, &array[i], NULL);
    }
    if (!is_same || r.at != r.end) {
        return cri_file_fail(err, CR_ERR_ARGUMENT, path, 0,
                             "this checkpoint is of another scene or of other options; give those "
                             "of its run, or remove it");
    }
    for (int i = 0; i < n_array; i++) {
        take_array(&again, &array[i], &array[i]);
    }
    return CR_OK;
}

cr_status cri_checkpoint_read(const char *path, uint64_t problem, int n_array,
                              cri_checkpoint_array *array, cr_error *err) {
    char *bytes = NULL;
    size_t n_byte = 0;
    CR_TRY(cri_file_read(path, &bytes, &n_byte, err));
    cr_status status =
        read_arrays(path, (reader){bytes, bytes + n_byte}, problem, n_array, array, err);
    free(bytes);
    return status;
}
