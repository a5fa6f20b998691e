// SPDX-License-Identifier: MIT
//
// A contact problem as text, written and read.

#include "bench/problem_file.h"

#include "base/io/file.h"
#include "base/io/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- writing -----------------------------------------------------------------------------------

static void write_rows(FILE *out, const char *name, int n_row, const double *x) {
    fprintf(out, "%s\n", name);
    for (int i = 0; i < n_row; i++) {
        fprintf(out, "%.17g%c", x[i], i % 3 == 2 ? '\n' : ' ');
    }
}

static void write_all(FILE *out, const cri_problem_text *t) {
    const cri_contact_problem *p = &t->problem.data;
    int m = 3 * p->n;
    fputs("carom-problem 1\n", out);
    if (t->remark) {
        fprintf(out, "# %s\n", t->remark);
    }
    fprintf(out, "law %s\nfamily %s\nseed %" PRIu64 "\ncontacts %d\n", t->law[0] ? t->law : "none",
            cri_family_name(t->problem.family), t->problem.seed, p->n);
    for (int i = 0; i < p->n; i++) {
        fprintf(out, "contact %.17g %.17g %.17g %s\n", p->mu[i], p->e[i], p->target[i],
                p->is_plain[i] ? "plain" : "bouncing");
    }
    write_rows(out, "velocity", m, p->b);
    fputs("matrix\n", out);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j <= i; j++) {
            double a = p->A[(size_t)i * (size_t)m + (size_t)j];
            fprintf(out, "%.17g%c", a, j == i ? '\n' : ' ');
        }
    }
    if (t->impulse) {
        write_rows(out, "impulse", m, t->impulse);
    }
}

cr_status cri_problem_write(const char *path, const cri_problem_text *text, cr_error *err) {
    CR_ASSERT(path && text && text->problem.data.n > 0 && !text->problem.data.drift);
    CR_ASSERT(!text->remark || !strchr(text->remark, '\n'));
    cri_atomic_file file;
    CR_TRY(cri_atomic_open(path, &file, err));
    write_all(file.stream, text);
    return cri_atomic_commit(&file, err);
}

// ---- reading -----------------------------------------------------------------------------------

/// A place in the text.
typedef struct reader {
    const char *file;
    const char *at;
    int line;
    cr_error *err;
} reader;

/// A piece of the text, not ended by NUL.
typedef struct word {
    const char *text;
    size_t n;
} word;

// the next word, empty at the end
static word next_word(reader *r) {
    for (;;) {
        if (*r->at == '#') {
            r->at += strcspn(r->at, "\n");
        }
        if (!*r->at || !cri_number_is_space(*r->at)) {
            break;
        }
        r->line += *r->at == '\n';
        r->at++;
    }
    word w = {r->at, 0};
    while (*r->at && *r->at != '#' && !cri_number_is_space(*r->at)) {
        r->at++;
        w.n++;
    }
    return w;
}

static bool is_word(word w, const char *text) {
    return w.n == strlen(text) && memcmp(w.text, text, w.n) == 0;
}

// how much of a strange word a message shows
static int shown(word w) {
    return w.n < 40 ? (int)w.n : 40;
}

static cr_status expect(reader *r, const char *text) {
    word w = next_word(r);
    if (!is_word(w, text)) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line, "expected '%s', found '%.*s'",
                             text, shown(w), w.text);
    }
    return CR_OK;
}

static cr_status read_number(reader *r, double least, double most, double *value) {
    word w = next_word(r);
    cri_number_kind kind = cri_number_parse(w.text, w.n, value);
    if (kind != CRI_NUMBER_OK) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "expected a number, '%.*s' %s", shown(w), w.text,
                             cri_number_text(kind));
    }
    if (!(*value >= least && *value <= most)) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "expected a number from %g to %g, found %g", least, most, *value);
    }
    return CR_OK;
}

static cr_status read_text(reader *r, const char *name, char *text, size_t n_byte) {
    CR_TRY(expect(r, name));
    word w = next_word(r);
    if (w.n == 0 || w.n >= n_byte) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "expected a name behind '%s', found '%.*s'", name, shown(w), w.text);
    }
    memcpy(text, w.text, w.n);
    text[w.n] = '\0';
    return CR_OK;
}

static cr_status read_seed(reader *r, uint64_t *seed) {
    char text[24] = "";
    CR_TRY(read_text(r, "seed", text, sizeof text));
    *seed = 0;
    for (const char *c = text; *c; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (*c < '0' || *c > '9' || *seed > (UINT64_MAX - digit) / 10) {
            return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                                 "expected a whole number of 64 bits behind 'seed', found '%s'",
                                 text);
        }
        *seed = 10 * *seed + digit;
    }
    return CR_OK;
}

static cr_status read_head(reader *r, cri_problem_text *out, int *n) {
    char family[32] = "";
    double count = 0.0;
    CR_TRY(expect(r, "carom-problem"));
    CR_TRY(expect(r, "1"));
    CR_TRY(read_text(r, "law", out->law, sizeof out->law));
    CR_TRY(read_text(r, "family", family, sizeof family));
    out->problem.family = cri_family_find(family);
    if (out->problem.family == CRI_FAMILY_NONE && strcmp(family, "none") != 0) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "unknown family '%s'; there are single, patch, redundant, stack, "
                             "pile, chain, wedge, limits, none",
                             family);
    }
    CR_TRY(read_seed(r, &out->problem.seed));
    CR_TRY(expect(r, "contacts"));
    CR_TRY(read_number(r, 1.0, CRI_PROBLEM_FILE_LIMIT, &count));
    *n = (int)count;
    if (*n != count) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "expected a whole number of contacts, found %g", count);
    }
    return CR_OK;
}

// largest number that is taken: products of two stay finite
static const double most = 1e100;

static cr_status read_contact(reader *r, double *mu, double *e, double *target, bool *is_plain) {
    CR_TRY(expect(r, "contact"));
    CR_TRY(read_number(r, 0.0, most, mu));
    CR_TRY(read_number(r, 0.0, 1.0, e));
    CR_TRY(read_number(r, -most, most, target));
    word w = next_word(r);
    *is_plain = is_word(w, "plain");
    if (!*is_plain && !is_word(w, "bouncing")) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "expected 'plain' or 'bouncing', found '%.*s'", shown(w), w.text);
    }
    return CR_OK;
}

static cr_status read_arrays(reader *r, int n, cri_problem_text *out, cr_arena *keep) {
    int m = 3 * n;
    double *A = CR_PUSH(keep, double, m *m + 2 * m + 3 * n);
    bool *is_plain = CR_PUSH(keep, bool, n);
    if (!A || !is_plain) {
        return cri_file_fail_memory(r->err, r->file);
    }
    double *b = A + m * m, *impulse = b + m, *mu = impulse + m, *e = mu + n, *target = e + n;
    for (int i = 0; i < n; i++) {
        CR_TRY(read_contact(r, &mu[i], &e[i], &target[i], &is_plain[i]));
    }
    CR_TRY(expect(r, "velocity"));
    for (int i = 0; i < m; i++) {
        CR_TRY(read_number(r, -most, most, &b[i]));
    }
    CR_TRY(expect(r, "matrix"));
    for (int i = 0; i < m; i++) {
        for (int j = 0; j <= i; j++) {
            CR_TRY(read_number(r, i == j ? 0.0 : -most, most, &A[i * m + j]));
            A[j * m + i] = A[i * m + j];
        }
    }
    out->problem.data = (cri_contact_problem){
        .n = n, .A = A, .b = b, .mu = mu, .e = e, .target = target, .is_plain = is_plain};
    word w = next_word(r);
    if (is_word(w, "impulse")) {
        for (int i = 0; i < m; i++) {
            CR_TRY(read_number(r, -most, most, &impulse[i]));
        }
        out->impulse = impulse;
        w = next_word(r);
    }
    if (w.n > 0) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "expected the end of the file, found '%.*s'", shown(w), w.text);
    }
    return CR_OK;
}

cr_status cri_problem_read(const char *path, cri_problem_text *out, cr_arena *keep, cr_error *err) {
    CR_ASSERT(path && out && keep);
    *out = (cri_problem_text){.problem.family = CRI_FAMILY_NONE};
    char *text = NULL;
    size_t n_byte = 0;
    CR_TRY(cri_file_read(path, &text, &n_byte, err));
    reader r = {.file = path, .at = text, .line = 1, .err = err};
    int n = 0;
    cr_status status = read_head(&r, out, &n);
    if (status == CR_OK) {
        status = read_arrays(&r, n, out, keep);
    }
    free(text);
    return status;
}
