// SPDX-License-Identifier: MIT
//
// Tables of numbers from CSV text.
//
// One pass over the lines. The header fixes the number of columns, every later row must have as
// many cells. Arrays grow by doubling; the table given back holds nothing unless all went well.

#include "base/io/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/hdf5_file.h"
#include "base/io/number.h"

// longest piece of the file shown in a message, bytes
#define SHOWN 40

typedef struct span {
    const char *at;
    size_t n;
} span;

typedef struct reader {
    const char *file;
    const char *text;
    const char *end;
    cri_table *out;
    cr_error *err;
    const char *line_at;
    span row;      // the line without its end
    int line;      // its number
    bool is_cut;   // it is the last one and has no line end
    int row_space; // rows that fit into the arrays
    int comment_space;
} reader;

// where a cell is being read
typedef struct cursor {
    const char *at;
    const char *end;
    bool is_done; // the last cell of the row has been read
} cursor;

static cr_status fail_memory(reader *r) {
    return cri_file_fail_memory(r->err, r->file);
}

// for err->column, 1 for the first character of the line
static cr_status set_column(reader *r, const char *at, cr_status status) {
    if (r->err) {
        r->err->column = (int)(at - r->row.at) + 1;
    }
    return status;
}

static int shown(span s) {
    return s.n < SHOWN ? (int)s.n : SHOWN;
}

static span trim(span s) {
    while (s.n > 0 && cri_number_is_space(s.at[0])) {
        s.at++;
        s.n--;
    }
    while (s.n > 0 && cri_number_is_space(s.at[s.n - 1])) {
        s.n--;
    }
    return s;
}

static char *copy_text(span s) {
    char *copy = malloc(s.n + 1);
    if (copy) {
        memcpy(copy, s.at, s.n);
        copy[s.n] = '\0';
    }
    return copy;
}

// ---- cells -------------------------------------------------------------------------------------

// a quoted cell, the cursor on its opening quote; *cell is what stands between the quotes
static cr_status next_quoted(reader *r, cursor *c, span *cell) {
    const char *open = c->at++;
    cell->at = c->at;
    for (;; c->at++) {
        if (c->at == c->end) {
            return set_column(r, open,
                              cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                                            "quote opened at character %d is never closed",
                                            (int)(open - r->row.at) + 1));
        }
        bool is_doubled = *c->at == '"' && c->at + 1 < c->end && c->at[1] == '"';
        if (is_doubled) {
            c->at++;
        } else if (*c->at == '"') {
            break;
        }
    }
    cell->n = (size_t)(c->at - cell->at);
    c->at++;
    while (c->at < c->end && cri_number_is_space(*c->at)) {
        c->at++;
    }
    if (c->at < c->end && *c->at != ',') {
        return set_column(r, c->at,
                          cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                                        "expected a comma after the quote, found '%c'", *c->at));
    }
    return CR_OK;
}

// the next cell of the row, trimmed and without quotes
static cr_status next_cell(reader *r, cursor *c, span *cell) {
    CR_ASSERT(!c->is_done);
    while (c->at < c->end && cri_number_is_space(*c->at)) {
        c->at++;
    }
    if (c->at < c->end && *c->at == '"') {
        CR_TRY(next_quoted(r, c, cell));
    } else {
        const char *comma = memchr(c->at, ',', (size_t)(c->end - c->at));
        cell->at = c->at;
        c->at = comma ? comma : c->end;
        cell->n = (size_t)(c->at - cell->at);
    }
    *cell = trim(*cell);
    c->is_done = c->at == c->end;
    c->at += c->is_done ? 0 : 1;
    return CR_OK;
}

static cursor row_cursor(const reader *r) {
    return (cursor){.at = r->row.at, .end = r->row.at + r->row.n};
}

static cr_status count_cells(reader *r, int *n) {
    cursor c = row_cursor(r);
    span cell;
    for (*n = 0; !c.is_done; (*n)++) {
        CR_TRY(next_cell(r, &c, &cell));
    }
    return CR_OK;
}

// ---- header ------------------------------------------------------------------------------------

// doubled quotes inside a quoted name stand for one
static void undouble_quotes(char *name) {
    char *to = name;
    for (const char *from = name; *from; from++) {
        *to++ = *from;
        if (from[0] == '"' && from[1] == '"') {
            from++;
        }
    }
    *to = '\0';
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static cr_status check_unique(reader *r) {
    const cri_table *t = r->out;
    char **sorted = malloc((size_t)t->n_col * sizeof *sorted);
    if (!sorted) {
        return fail_memory(r);
    }
    memcpy(sorted, t->name, (size_t)t->n_col * sizeof *sorted);
    qsort(sorted, (size_t)t->n_col, sizeof *sorted, compare_names);
    cr_status status = CR_OK;
    for (int i = 1; i < t->n_col && status == CR_OK; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            status = cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                                   "two columns have the name '%.*s'", SHOWN, sorted[i]);
        }
    }
    free(sorted);
    return status;
}

// names into the table; *n_number counts those that are numbers
static cr_status read_names(reader *r, int n_col, int *n_number) {
    cri_table *t = r->out;
    t->name = calloc((size_t)n_col, sizeof *t->name);
    if (!t->name) {
        return fail_memory(r);
    }
    cursor c = row_cursor(r);
    *n_number = 0;
    while (!c.is_done) {
        span cell;
        double ignored;
        CR_TRY(next_cell(r, &c, &cell));
        if (cell.n == 0) {
            return set_column(r, cell.at,
                              cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                                            "column %d of the header has no name", t->n_col + 1));
        }
        *n_number += cri_number_parse(cell.at, cell.n, &ignored) == CRI_NUMBER_OK;
        char *name = copy_text(cell);
        if (!name) {
            return fail_memory(r);
        }
        undouble_quotes(name);
        t->name[t->n_col++] = name;
    }
    return CR_OK;
}

static cr_status read_header(reader *r) {
    int n_col = 0;
    int n_number = 0;
    CR_TRY(count_cells(r, &n_col));
    CR_TRY(read_names(r, n_col, &n_number));
    if (n_number == n_col) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "the header is missing: expected column names, found numbers");
    }
    return check_unique(r);
}

// ---- rows --------------------------------------------------------------------------------------

static cr_status reserve_row(reader *r) {
    cri_table *t = r->out;
    if (t->n_row < r->row_space) {
        return CR_OK;
    }
    int space = r->row_space > 0 ? 2 * r->row_space : 64;
    double *value = realloc(t->value, (size_t)space * (size_t)t->n_col * sizeof *value);
    if (!value) {
        return fail_memory(r);
    }
    t->value = value;
    int *line = realloc(t->line, (size_t)space * sizeof *line);
    if (!line) {
        return fail_memory(r);
    }
    t->line = line;
    r->row_space = space;
    return CR_OK;
}

static cr_status read_row(reader *r) {
    cri_table *t = r->out;
    int n_cell = 0;
    CR_TRY(count_cells(r, &n_cell));
    if (n_cell != t->n_col) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "row has %d fields, expected %d%s", n_cell, t->n_col,
                             r->is_cut ? "; the file may be cut off" : "");
    }
    CR_TRY(reserve_row(r));

    double *value = t->value + (size_t)t->n_row * (size_t)t->n_col;
    cursor c = row_cursor(r);
    for (int i = 0; i < t->n_col; i++) {
        span cell;
        CR_TRY(next_cell(r, &c, &cell));
        cri_number_kind kind = cri_number_parse(cell.at, cell.n, &value[i]);
        if (kind != CRI_NUMBER_OK) {
            return set_column(r, cell.at,
                              cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                                            "column '%.*s': '%.*s' %s, expected a number", SHOWN,
                                            t->name[i], shown(cell), cell.at,
                                            cri_number_text(kind)));
        }
    }
    t->line[t->n_row++] = r->line;
    return CR_OK;
}

static cr_status read_comment(reader *r, span s) {
    cri_table *t = r->out;
    if (t->n_comment == r->comment_space) {
        int space = r->comment_space > 0 ? 2 * r->comment_space : 8;
        char **comment = realloc(t->comment, (size_t)space * sizeof *comment);
        if (!comment) {
            return fail_memory(r);
        }
        t->comment = comment;
        r->comment_space = space;
    }
    char *copy = copy_text(trim((span){s.at + 1, s.n - 1}));
    if (!copy) {
        return fail_memory(r);
    }
    t->comment[t->n_comment++] = copy;
    return CR_OK;
}

// ---- the whole ---------------------------------------------------------------------------------

static cr_status check_text(reader *r) {
    size_t n = (size_t)(r->end - r->text);
    if (n > CRI_FILE_LIMIT) {
        return cri_file_fail(r->err, CR_ERR_FILE, r->file, 0, "is larger than %d MiB",
                             (int)(CRI_FILE_LIMIT >> 20));
    }
    const char *nul = memchr(r->text, '\0', n);
    if (!nul) {
        return CR_OK;
    }
    int line = 1;
    for (const char *s = r->text; s < nul; s++) {
        line += *s == '\n';
    }
    return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, line,
                         "contains a NUL byte: expected a table as text (CSV)");
}

// moves to the next line; false at the end of the text
static bool next_line(reader *r) {
    const char *at = r->line_at;
    if (at == r->end) {
        return false;
    }
    const char *stop = memchr(at, '\n', (size_t)(r->end - at));
    r->is_cut = !stop;
    stop = stop ? stop : r->end;
    r->row = (span){at, (size_t)(stop - at)};
    r->line++;
    r->line_at = r->is_cut ? r->end : stop + 1;
    return true;
}

static cr_status read_lines(reader *r) {
    while (next_line(r)) {
        span s = trim(r->row);
        if (s.n == 0) {
            continue;
        }
        if (s.at[0] == '#') {
            CR_TRY(read_comment(r, s));
        } else if (r->out->n_col == 0) {
            CR_TRY(read_header(r));
        } else {
            CR_TRY(read_row(r));
        }
    }
    if (r->out->n_col == 0) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, 0,
                             "is empty: expected a line of column names and rows of numbers");
    }
    if (r->out->n_row == 0) {
        return cri_file_fail(r->err, CR_ERR_SYNTAX, r->file, r->line,
                             "has no data: expected rows of numbers after the header");
    }
    return CR_OK;
}

cr_status cri_table_parse(const char *text, size_t n_byte, const char *file, cri_table *out,
                          cr_error *err) {
    CR_ASSERT((text || n_byte == 0) && file && out);
    *out = (cri_table){0};
    if (n_byte == 0) {
        text = "";
    }
    reader r = {.file = file, .text = text, .end = text + n_byte, .out = out, .err = err};

    // a byte-order mark is no part of the first name
    bool has_mark = n_byte >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    r.line_at = text + (has_mark ? 3 : 0);

    cr_status status = check_text(&r);
    if (status == CR_OK) {
        status = read_lines(&r);
    }
    if (status != CR_OK) {
        cri_table_clear(out);
    }
    return status;
}

cr_status cri_table_read(const char *path, cri_table *out, cr_error *err) {
    CR_ASSERT(path && out);
    *out = (cri_table){0};
    char *text;
    size_t n_byte;
    CR_TRY(cri_file_read(path, &text, &n_byte, err));
    bool is_hdf5 = cri_hdf5_is_name(path) || cri_hdf5_is_file(text, n_byte);
    cr_status status = is_hdf5 ? cri_hdf5_parse(text, n_byte, path, out, err)
                               : cri_table_parse(text, n_byte, path, out, err);
    free(text);
    return status;
}

void cri_table_clear(cri_table *table) {
    for (int i = 0; i < table->n_col; i++) {
        free(table->name[i]);
    }
    for (int i = 0; i < table->n_comment; i++) {
        free(table->comment[i]);
    }
    free(table->name);
    free(table->comment);
    free(table->value);
    free(table->line);
    *table = (cri_table){0};
}

int cri_table_find(const cri_table *table, const char *name) {
    for (int i = 0; i < table->n_col; i++) {
        if (strcmp(table->name[i], name) == 0) {
            return i;
        }
    }
    return -1;
}
