// SPDX-License-Identifier: MIT
//
// A file has a column of times, three of positions (two slides and a hinge, as the scene has them)
// and three of velocities; without those, velocities are differences of positions. A new throw
// begins where the column `throw` changes, or time does not grow. A transition is two rows of one
// throw: both poses, the velocity of the first and what gravity adds to it in between, the velocity
// of the second.

#include "learn_throws.h"

#include "io/table.h"
#include "scene.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 100 };

/// Columns of a file.
typedef struct columns {
    char name[7][NAME_BYTES]; // time, positions, velocities
    bool has_v;
    int at[7];
    int at_throw; // -1: there is none
} columns;

// three names with commas between
static bool split(const char *list, char name[3][NAME_BYTES]) {
    for (int k = 0; k < 3; k++) {
        size_t n = strcspn(list, ",");
        if (n == 0 || n >= NAME_BYTES || (list[n] == ',') != (k < 2)) {
            return false;
        }
        memcpy(name[k], list, n);
        name[k][n] = '\0';
        list += n + (k < 2);
    }
    return true;
}

static int choose(const cli_options *o, const cr_model *model, columns *c) {
    (void)snprintf(c->name[0], NAME_BYTES, "%s", o->time ? o->time : "t");
    for (int k = 0; k < 6; k++) {
        (void)snprintf(c->name[1 + k], NAME_BYTES, "%s", cr_model_name(model, CR_VECTOR_X, k));
    }
    c->has_v = !o->q || o->v;
    if (o->q && !split(o->q, c->name + 1)) {
        return cli_usage("--q %.60s: expected three columns, along, up and angle as the scene's "
                         "joints have them",
                         o->q);
    }
    if (o->v && !split(o->v, c->name + 4)) {
        return cli_usage("--v %.60s: expected three columns, in the order of --q", o->v);
    }
    return CLI_DONE;
}

static int find(const char *path, const cri_table *table, columns *c) {
    c->at_throw = cri_table_find(table, "throw");
    for (int k = 0; k < (c->has_v ? 7 : 4); k++) {
        c->at[k] = cri_table_find(table, c->name[k]);
        if (c->at[k] < 0) {
            return cli_failed("%.80s: there is no column %.60s; name columns with --time, --q "
                              "and --v",
                              path, c->name[k]);
        }
    }
    return CLI_DONE;
}

static double cell(const cri_table *table, int row, int column) {
    return table->value[(size_t)row * (size_t)table->n_col + (size_t)column];
}

// are rows i - 1 and i of one throw?
static bool is_one(const cri_table *table, const columns *c, int i) {
    return i > 0 && cell(table, i, c->at[0]) > cell(table, i - 1, c->at[0]) &&
           (c->at_throw < 0 || cell(table, i, c->at_throw) == cell(table, i - 1, c->at_throw));
}

// of row i, whose throw begins at first
static void velocity(const cri_table *table, const columns *c, int first, int i, double *v) {
    int late = i > first ? i : i + 1;
    double h = cell(table, late, c->at[0]) - cell(table, late - 1, c->at[0]);
    for (int k = 0; k < 3; k++) {
        v[k] = c->has_v
                   ? cell(table, i, c->at[4 + k])
                   : (cell(table, late, c->at[1 + k]) - cell(table, late - 1, c->at[1 + k])) / h;
    }
}

/// Where transitions go.
typedef struct sink {
    double *q, *before, *after, *from, *span;
    int n;
    double fall[3]; // m/s^2 of gravity in the three velocities
} sink;

static void take(const cri_table *table, const columns *c, sink *s) {
    int first = 0;
    for (int i = 1; i < table->n_row; i++) {
        if (!is_one(table, c, i)) {
            first = i;
            continue;
        }
        double h = cell(table, i, c->at[0]) - cell(table, i - 1, c->at[0]);
        velocity(table, c, first, i - 1, s->before + 3 * s->n);
        velocity(table, c, first, i, s->after + 3 * s->n);
        for (int k = 0; k < 3; k++) {
            s->q[3 * s->n + k] = cell(table, i, c->at[1 + k]);
            s->from[3 * s->n + k] = cell(table, i - 1, c->at[1 + k]);
            s->before[3 * s->n + k] += h * s->fall[k];
        }
        s->span[s->n++] = h;
    }
}

static bool push(sink *s, int n, cr_arena *arena) {
    s->q = CR_PUSH(arena, double, 3 * n);
    s->before = CR_PUSH(arena, double, 3 * n);
    s->after = CR_PUSH(arena, double, 3 * n);
    s->from = CR_PUSH(arena, double, 3 * n);
    s->span = CR_PUSH(arena, double, n);
    return s->q && s->before && s->after && s->from && s->span;
}

int learn_throws_read(const cli_options *o, const cr_model *model, cri_ground_record *out,
                      cr_arena *arena) {
    cr_error err = {0};
    cri_ground_body ground;
    if (cri_ground_find(model, &ground, &err) != CR_OK) {
        return cli_error(&err);
    }
    if (ground.is_spatial) {
        return cli_failed(
            "%.80s: body %.40s moves in space; throws are read for bodies on two slides "
            "and a hinge, leave them out to sample its contacts",
            o->word[1], cr_model_name(model, CR_VECTOR_X, 0));
    }
    columns c = {.at_throw = -1};
    int code = choose(o, model, &c), n_file = o->n_word - 2, n_row = 0;
    cri_table *table = CR_PUSH(arena, cri_table, n_file);
    for (int k = 0; k < n_file && table && code == CLI_DONE; k++) {
        bool is_read = cri_table_read(o->word[2 + k], &table[k], &err) == CR_OK;
        code = is_read ? find(o->word[2 + k], &table[k], &c) : cli_error(&err);
        n_row += table[k].n_row;
    }
    sink s = {.n = 0};
    double *p = CR_PUSH(arena, double, cr_model_sizes(model).n_p);
    if (code == CLI_DONE && (!table || !p || !push(&s, n_row + 1, arena))) {
        code = cli_failed("no memory for the recordings");
    }
    if (code == CLI_DONE) {
        cr_model_defaults(model, -1, p, NULL, NULL);
        for (int k = 0; k < 2; k++) {
            s.fall[ground.slide[k]] = cri_v3_dot(cri_v3_load(p), ground.slide_axis[k]);
        }
    }
    for (int k = 0; k < n_file && table; k++) {
        if (code == CLI_DONE && find(o->word[2 + k], &table[k], &c) == CLI_DONE) {
            take(&table[k], &c, &s);
        }
        cri_table_clear(&table[k]);
    }
    if (code == CLI_DONE && s.n == 0) {
        code =
            cli_failed("%.80s: two rows of one throw are needed, with growing times", o->word[2]);
    }
    *out = (cri_ground_record){.n = s.n,
                               .q = s.q,
                               .before = s.before,
                               .after = s.after,
                               .from = s.from,
                               .span = s.span,
                               .noise = 1e-3,
                               .reach = 1e-3,
                               .gap = 1e-3};
    return code;
}
