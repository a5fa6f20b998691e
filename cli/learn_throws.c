// SPDX-License-Identifier: MIT
//
// A file has a column of times, three of positions (two slides and a hinge, as the scene has them)
// and three of velocities. A new throw begins where the column `throw` changes, or time does not
// grow. A transition is two rows of one throw: both poses, the velocity of the first and what
// gravity adds to it in between, the velocity of the second. Without velocities these are
// differences to the row before the first and to the row behind the second, so that no difference
// has an impact of that transition within.

#include "learn_throws.h"

#include "base/io/table.h"
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

// of row i, or of the rows i and i + 1 where velocities are differences
static void velocity(const cri_table *table, const columns *c, int i, double *v) {
    for (int k = 0; k < 3; k++) {
        v[k] = c->has_v ? cell(table, i, c->at[4 + k])
                        : (cell(table, i + 1, c->at[1 + k]) - cell(table, i, c->at[1 + k])) /
                              (cell(table, i + 1, c->at[0]) - cell(table, i, c->at[0]));
    }
}

/// Where transitions go.
typedef struct sink {
    double *q, *before, *after, *from, *span, *mean;
    int n;
    double fall[3]; // m/s^2 of gravity in the three velocities
} sink;

// the transition from row i - 1 to row i; differences are those of the rows before and behind it
static void take_one(const cri_table *table, const columns *c, int i, sink *s) {
    int early = c->has_v ? i - 1 : i - 2, late = c->has_v ? i : i + 1;
    double *before = s->before + 3 * s->n;
    double fallen = cell(table, i, c->at[0]) - cell(table, i - 1, c->at[0]);
    s->span[s->n] = fallen;
    if (!c->has_v) {
        fallen = 0.5 * (cell(table, late, c->at[0]) + cell(table, i, c->at[0]) -
                        cell(table, i - 1, c->at[0]) - cell(table, early, c->at[0]));
    }
    // a difference is the velocity in the middle of its rows
    double lead = c->has_v ? 0.5 * s->span[s->n]
                           : 0.5 * (cell(table, i, c->at[0]) - cell(table, early, c->at[0]));
    velocity(table, c, early, before);
    velocity(table, c, i, s->after + 3 * s->n);
    for (int k = 0; k < 3; k++) {
        s->q[3 * s->n + k] = cell(table, i, c->at[1 + k]);
        s->from[3 * s->n + k] = cell(table, i - 1, c->at[1 + k]);
        s->mean[3 * s->n + k] = before[k] + lead * s->fall[k];
        before[k] += fallen * s->fall[k];
    }
    s->n++;
}

static void take(const cri_table *table, const columns *c, sink *s) {
    for (int i = 1; i < table->n_row; i++) {
        bool has_more = c->has_v || (is_one(table, c, i - 1) && i + 1 < table->n_row &&
                                     is_one(table, c, i + 1));
        if (is_one(table, c, i) && has_more) {
            take_one(table, c, i, s);
        }
    }
}

static bool push(sink *s, int n, cr_arena *arena) {
    s->q = CR_PUSH(arena, double, 3 * n);
    s->before = CR_PUSH(arena, double, 3 * n);
    s->after = CR_PUSH(arena, double, 3 * n);
    s->from = CR_PUSH(arena, double, 3 * n);
    s->span = CR_PUSH(arena, double, n);
    s->mean = CR_PUSH(arena, double, 3 * n);
    return s->q && s->before && s->after && s->from && s->span && s->mean;
}

int learn_throws_read(const cli_options *o, const cr_model *model, cri_ground_record *out,
                      cr_arena *arena) {
    cr_error err = {0};
    cri_ground_body ground;
    if (o->law) {
        return cli_usage("--law %.40s: recordings have their labels; leave it out", o->law);
    }
    if (cri_ground_find(model, &ground, &err) != CR_OK) {
        return cli_error(&err);
    }
    if (ground.is_spatial) {
        return cli_failed(
            "%.80s: its body moves in space; throws are read for bodies on two slides "
            "and a hinge, leave them out to sample its contacts",
            o->word[1]);
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
        code = cli_failed("%.80s: %s rows of one throw are needed, with growing times", o->word[2],
                          c.has_v ? "two" : "four (or two with --v)");
    }
    *out = (cri_ground_record){.n = s.n,
                               .q = s.q,
                               .before = s.before,
                               .after = s.after,
                               .from = s.from,
                               .span = s.span,
                               .mean = s.mean,
                               .is_difference = !c.has_v,
                               .noise = 1e-3,
                               .reach = 1e-3,
                               .gap = 1e-3};
    return code;
}
