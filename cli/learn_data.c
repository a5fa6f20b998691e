// SPDX-License-Identifier: MIT
//
// Recordings for 'carom learn central-difference': columns, contacts, windows.
//
// Every position column is a body of one dimension; a contact pushes one of them along an axis
// (+z, -x) or two apart (a-b). Without --v velocities are differences, v_n = (q_{n+1} - q_n)/h,
// which is what the central-difference step means by them. Without --touch contacts are proposed
// from velocity jumps (src/learned/propose.c).

#define _POSIX_C_SOURCE 200809L // access

#include "learn_data.h"

#include "learned/propose.h"
#include "scene.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

static const double forwards[1] = {1.0};
static const double backwards[1] = {-1.0};

int learn_check_output(const char *path) {
    if (!path) {
        return CLI_DONE;
    }
    const char *extension = cli_extension(path);
    if (!extension || (strcmp(extension, ".h5") != 0 && strcmp(extension, ".hdf5") != 0)) {
        return cli_usage("-o %.80s: weights are HDF5, the name should end in .h5", path);
    }
    return CLI_DONE;
}

static int find_q(const learn_data *d, const char *name, size_t n_byte) {
    for (int k = 0; k < d->n_q; k++) {
        if (strlen(d->q[k]) == n_byte && strncmp(d->q[k], name, n_byte) == 0) {
            return k;
        }
    }
    return -1;
}

// +z, -x, or a-b
static bool take_direction(const learn_data *d, const char *text, cri_central_contact *out) {
    if (*text == '+' || *text == '-') {
        out->i = find_q(d, text + 1, strlen(text + 1));
        out->j = -1;
        out->normal = *text == '+' ? forwards : backwards;
        return out->i >= 0;
    }
    for (const char *at = strchr(text, '-'); at; at = strchr(at + 1, '-')) {
        out->i = find_q(d, text, (size_t)(at - text));
        out->j = find_q(d, at + 1, strlen(at + 1));
        out->normal = forwards;
        if (out->i >= 0 && out->j >= 0 && out->i != out->j) {
            return true;
        }
    }
    return false;
}

static int take_touch(const char *text, learn_data *d) {
    if (d->n_touch == LEARN_TOUCH_MOST) {
        return cli_usage("more than %d contacts", LEARN_TOUCH_MOST);
    }
    const char *colon = strrchr(text, ':');
    char *column = cri_arena_push_text(d->arena, text);
    if (!column) {
        return cli_failed("no memory");
    }
    cri_central_contact *c = &d->touch[d->n_touch];
    *c = (cri_central_contact){.i = 0, .j = -1, .normal = forwards, .restitution = 0.8};
    if (colon) {
        column[colon - text] = '\0';
        if (!take_direction(d, colon + 1, c)) {
            return cli_usage("--touch %.60s: behind the colon expected a position column with its "
                             "sign, such as +%s, or two, such as a-b",
                             text, d->q[0]);
        }
    } else if (d->n_q > 1) {
        return cli_usage("--touch %.60s: with several positions say which one it pushes, such as "
                         "%.60s:+%s",
                         text, text, d->q[0]);
    }
    for (int k = 0; k < d->n_touch; k++) {
        if (strcmp(d->column[k], column) == 0) {
            return cli_usage("--touch %.60s: column %.60s is that of a contact already", text,
                             column);
        }
    }
    c->name = column;
    d->column[d->n_touch++] = column;
    return CLI_DONE;
}

static int take_columns(const cli_options *options, learn_data *d) {
    d->n_q = cli_split_names(d->arena, "--q", options->q ? options->q : "q", d->q, LEARN_Q_MOST);
    if (d->n_q < 0) {
        return CLI_USAGE;
    }
    d->has_v = options->v != NULL;
    if (d->has_v) {
        int n = cli_split_names(d->arena, "--v", options->v, d->v, LEARN_Q_MOST);
        if (n != d->n_q) {
            return n < 0 ? CLI_USAGE
                         : cli_usage("--v has %d columns and --q %d: one velocity a position", n,
                                     d->n_q);
        }
    }
    for (int k = 1; k < d->n_q; k++) {
        for (int i = 0; i < k; i++) {
            bool is_same = strcmp(d->q[i], d->q[k]) == 0;
            if (is_same || (d->has_v && strcmp(d->v[i], d->v[k]) == 0)) {
                return cli_usage("%s: column %.60s stands there twice", is_same ? "--q" : "--v",
                                 is_same ? d->q[k] : d->v[k]);
            }
        }
    }
    if (options->touch_held && options->n_touch == 0) {
        return cli_usage("--touch-held: is about the column of --touch, which is missing");
    }
    for (int k = 0; k < options->n_touch; k++) {
        int code = take_touch(options->touch[k], d);
        if (code != CLI_DONE) {
            return code;
        }
    }
    return CLI_DONE;
}

// ---- rows --------------------------------------------------------------------------------------

// one recording behind the others
static void put_series(learn_data *d, const cri_series *s, int first, double *x, double *touch) {
    int n_value = d->has_v ? 2 * d->n_q : d->n_q;
    int n_row = s->n_row - (d->has_v ? 0 : 1);
    for (int row = 0; row < n_row; row++) {
        const double *from = s->value + (size_t)(row * n_value);
        double *to = x + (size_t)((first + row) * 2 * d->n_q);
        for (int k = 0; k < d->n_q; k++) {
            to[k] = from[k];
            to[d->n_q + k] = d->has_v ? from[d->n_q + k] : (from[n_value + k] - from[k]) / s->dt;
        }
        for (int k = 0; k < d->n_touch && touch; k++) {
            touch[(first + row) * d->n_touch + k] = s->flag[row * d->n_touch + k];
        }
    }
}

// the longest runs of rows with touch in one recording; all but their first rows may be cleared
static void find_runs(learn_data *d, const cri_series *s, int first, bool is_cut, double *touch) {
    for (int k = 0; k < d->n_touch; k++) {
        int n = 0;
        for (int row = 0; row < s->n_row - (d->has_v ? 0 : 1); row++) {
            double *own = &touch[(first + row) * d->n_touch + k];
            n = *own > 0.5 ? n + 1 : 0;
            if (n > d->held[k].n_row) {
                d->held[k] = (learn_held){n, row - n + 2, s->file};
            }
            *own = is_cut && n > 1 ? 0.0 : *own;
        }
    }
}

// recordings that are not held out
static int n_training(const learn_data *d) {
    return d->n_series - (d->has_holdout ? 1 : 0);
}

// -1: none
static int find_contact(const learn_data *d, int i, int j, const double *normal) {
    for (int k = 0; k < d->n_touch; k++) {
        if (d->touch[k].i == i && d->touch[k].j == j && d->touch[k].normal == normal) {
            return k;
        }
    }
    return -1;
}

// a contact for every direction in which something jumps, -1: there are too many
static int add_contact(learn_data *d, int i, int j, const double *normal) {
    if (d->n_touch == LEARN_TOUCH_MOST) {
        return -1;
    }
    char name[160];
    (void)snprintf(name, sizeof name, j < 0 ? "%s%.60s%s" : "%s%.60s-%.60s",
                   j >= 0               ? ""
                   : normal == forwards ? "+"
                                        : "-",
                   d->q[i], j < 0 ? "" : d->q[j]);
    d->touch[d->n_touch] = (cri_central_contact){.i = i,
                                                 .j = j,
                                                 .normal = normal,
                                                 .restitution = 0.8,
                                                 .name = cri_arena_push_text(d->arena, name)};
    return d->n_touch++;
}

// the contact that the jumps of one row mean for column k, -1: none, or told with another column;
// one that is not there yet is added if it may be
static int contact_at(learn_data *d, const signed char *jump, int k, bool may_add) {
    int other = -1;
    for (int i = 0; i < d->n_q; i++) {
        other = i != k && jump[i] == -jump[k] ? i : other;
    }
    if (jump[k] == 0 || (other >= 0 && jump[k] < 0)) {
        return -1;
    }
    const double *normal = jump[k] > 0 ? forwards : backwards;
    int contact = find_contact(d, k, other, normal);
    return contact < 0 && may_add ? add_contact(d, k, other, normal) : contact;
}

static int propose(learn_data *d, const double *x, double **touch) {
    int n_row = d->first[d->n_series];
    signed char *jump = CR_PUSH(d->arena, signed char, n_row * d->n_q);
    if (!jump) {
        return cli_failed("no memory");
    }
    for (int s = 0; s < d->n_series; s++) {
        if (!cri_touch_jumps(d->first[s + 1] - d->first[s], d->n_q,
                             x + (size_t)(d->first[s] * 2 * d->n_q), jump + d->first[s] * d->n_q,
                             d->arena)) {
            return cli_failed("no memory");
        }
    }
    // first which contacts the training has, then which rows they have
    for (int pass = 0; pass < 2; pass++) {
        int n = pass == 0 ? d->first[n_training(d)] : n_row;
        for (int k = 0; k < n * d->n_q; k++) {
            int row = k / d->n_q;
            int contact = contact_at(d, jump + row * d->n_q, k % d->n_q, pass == 0);
            bool is_full = d->n_touch == LEARN_TOUCH_MOST;
            d->n_left += pass == 1 && contact < 0 && is_full && jump[k] != 0;
            if (pass == 1 && contact >= 0) {
                (*touch)[row * d->n_touch + contact] = 1.0;
            }
        }
        if (pass == 0) {
            *touch = CR_PUSH(d->arena, double, n_row * d->n_touch + 1);
        }
        if (!*touch) {
            return cli_failed("no memory");
        }
    }
    return CLI_DONE;
}

static int put_windows(learn_data *d, int horizon) {
    int n_train = n_training(d);
    int *window = CR_PUSH(d->arena, int, d->first[n_train] + 1);
    int n = 0;
    for (int s = 0; window && s < n_train; s++) {
        for (int row = d->first[s]; row + horizon < d->first[s + 1]; row++) {
            window[n++] = row;
        }
    }
    d->all.horizon = horizon;
    d->all.n_window = n;
    d->all.window = window;
    CR_ASSERT(d->all.touch);
    for (int row = 0; row < d->first[n_train]; row++) {
        for (int k = 0; k < d->n_touch; k++) {
            d->n_hit[k] += d->all.touch[row * d->n_touch + k] > 0.5;
        }
    }
    return window ? CLI_DONE : cli_failed("no memory");
}

static int read_series(const cli_options *options, int horizon, learn_data *d, cri_series *series) {
    const char *value[2 * LEARN_Q_MOST];
    for (int k = 0; k < d->n_q; k++) {
        value[k] = d->q[k];
        value[d->n_q + k] = d->v[k];
    }
    cri_series_def def = {.time = options->time,
                          .n_value = d->has_v ? 2 * d->n_q : d->n_q,
                          .value = value,
                          .n_flag = d->n_touch,
                          .flag = d->column,
                          .n_row_least = horizon + (d->has_v ? 1 : 2)};
    cr_error err = {0};
    for (int s = 0; s < d->n_series; s++) {
        bool is_holdout = d->has_holdout && s + 1 == d->n_series;
        const char *path = is_holdout ? options->holdout : options->word[1 + s];
        if (cri_series_read(&def, path, d->arena, &series[s], &err) != CR_OK) {
            return cli_error(&err);
        }
        d->first[s + 1] = d->first[s] + series[s].n_row - (d->has_v ? 0 : 1);
    }
    return cri_series_check_dt(d->n_series, series, &d->all.dt, &err) == CR_OK ? CLI_DONE
                                                                               : cli_error(&err);
}

int learn_data_read(const cli_options *options, int horizon, learn_data *d) {
    bool is_cut = options->touch_held && strcmp(options->touch_held, "first") == 0;
    int code = take_columns(options, d);
    if (code != CLI_DONE) {
        return code;
    }
    d->has_holdout = options->holdout != NULL;
    d->n_series = options->n_word - 1 + (d->has_holdout ? 1 : 0);
    d->is_proposed = d->n_touch == 0;
    d->first = CR_PUSH(d->arena, int, d->n_series + 1);
    cri_series *series = CR_PUSH(d->arena, cri_series, d->n_series);
    if (!d->first || !series) {
        return cli_failed("no memory");
    }
    code = read_series(options, horizon, d, series);
    if (code != CLI_DONE) {
        return code;
    }
    int n_row = d->first[d->n_series];
    double *x = CR_PUSH(d->arena, double, n_row * 2 * d->n_q);
    double *touch = d->is_proposed ? NULL : CR_PUSH(d->arena, double, n_row * d->n_touch + 1);
    if (!x || (!touch && !d->is_proposed)) {
        return cli_failed("no memory");
    }
    for (int s = 0; s < d->n_series; s++) {
        put_series(d, &series[s], d->first[s], x, touch);
        if (touch) {
            find_runs(d, &series[s], d->first[s], is_cut, touch);
        }
    }
    if (d->is_proposed) {
        code = propose(d, x, &touch);
    }
    d->all.n_q = d->n_q;
    d->all.n_touch = d->n_touch;
    d->all.n_row = n_row;
    d->all.x = x;
    d->all.touch = touch;
    return code == CLI_DONE ? put_windows(d, horizon) : code;
}
