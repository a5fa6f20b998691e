// SPDX-License-Identifier: MIT
//
// The page of a fit.

#include "fit_report.h"

#include "fit_print.h"
#include "model/model.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// recordings that are shown as motions, and charts of columns for all of them together
enum { RECORDING_LIMIT = 4, COLUMN_LIMIT = 24 };

// rows of the table of recordings, entries of the table of correlations, and sentences about the
// initial values of many recordings
enum { ROW_LIMIT = 100, CORRELATION_LIMIT = 16, SENTENCE_LIMIT = 6 };

static const char *file_of(const cri_recording *recording) {
    const char *slash = recording->file ? strrchr(recording->file, '/') : NULL;
    return slash ? slash + 1 : recording->file ? recording->file : "recording";
}

static int least(int a, int b) {
    return a < b ? a : b;
}

// ---- numbers -----------------------------------------------------------------------------------

static void put_facts(cri_report *report, const cli_fit_result *result) {
    const cri_fit *fit = result->fit;
    const char *unit = result->problem->recording[0].sigma ? " times the noise" : "";
    cri_report_fact(report, "rms residual", "%.4g%s", fit->rms, unit);
    if (result->problem->loss != CRI_LOSS_SQUARES) {
        cri_report_fact(report, "usual residual", "%.4g%s", fit->usual, unit);
    }
    if (fit->n_held_out > 0) {
        cri_report_fact(report, "rms of what was held out", "%.4g%s", fit->held_out, unit);
    }
    cri_report_fact(report, "noise of the recordings", "%.3g%s", fit->noise, unit);
    cri_report_fact(report, "numbers", "%d", fit->n_residual);
    cri_report_fact(report, "iterations", "%d", fit->n_iteration);
    cri_report_fact(report, "ended because", "%s", cri_lsq_stop_text(fit->stop));
    cri_report_fact(report, "computed in", "%.3g s", result->seconds);
    if (fit->n_held_out > 0) {
        bool is_single = result->problem->n_recording == 1;
        cri_report_note(report, "Held out, so that no value comes from them: the last %d %s.",
                        result->problem->n_held_out, is_single ? "samples" : "recordings");
    }
    char doubt[CLI_DOUBT_LIMIT];
    if (cli_fit_doubt(fit, doubt)) {
        cri_report_note(report, "%s", doubt);
    }
}

/// Shared values, those of a single recording, and else the initial values of those shown.
static void put_parameters(cri_report *report, const cli_fit_result *result, int n_shown) {
    const cri_fit *fit = result->fit;
    for (int i = 0; i < fit->n_entry; i++) {
        const cri_fit_entry *e = &fit->entry[i];
        if (e->recording >= n_shown) {
            continue;
        }
        double truth = NAN;
        if (!cli_fit_truth(result->problem, e, &truth)) {
            truth = NAN;
        }
        char name[200];
        bool is_one = e->recording >= 0 && fit->n_recording > 1;
        snprintf(name, sizeof name, is_one ? "%.80s in %.80s" : "%.80s", e->name,
                 is_one ? file_of(&result->problem->recording[e->recording]) : "");
        const char *note = !e->is_identifiable ? "not identifiable" : NULL;
        cri_report_value value = {.name = name,
                                  .unit = cli_unit_of(e->name),
                                  .start = e->start,
                                  .value = e->value,
                                  .error = e->deviation,
                                  .truth = truth,
                                  .note = e->is_at_bound ? "at its bound" : note};
        cri_report_parameter(report, &value);
    }
}

/// What stays open: all about the shared values, the first sentences about those of recordings.
static void put_open(cri_report *report, const cli_fit_result *result) {
    const cri_fit *fit = result->fit;
    int n_said = 0;
    for (int i = 0; i < fit->n_entry; i++) {
        const cri_fit_entry *e = &fit->entry[i];
        bool is_one = e->recording >= 0 && fit->n_recording > 1;
        if (!e->why[0]) {
            continue;
        }
        n_said += is_one;
        if (!is_one) {
            cri_report_note(report, "%s", e->why);
        } else if (n_said <= SENTENCE_LIMIT) {
            cri_report_note(report, "%.80s: %s", file_of(&result->problem->recording[e->recording]),
                            e->why);
        }
    }
    if (n_said > SENTENCE_LIMIT) {
        cri_report_note(report, "And so on for %d more initial values; --json has them all.",
                        n_said - SENTENCE_LIMIT);
    }
}

static void put_correlation(cri_report *report, const cri_fit *fit) {
    int n = least(fit->n_correlated, CORRELATION_LIMIT);
    if (n < 2) {
        return;
    }
    cri_report_column column[CORRELATION_LIMIT + 1] = {{.name = "name", .kind = CRI_COLUMN_TEXT}};
    for (int i = 0; i < n; i++) {
        column[i + 1] =
            (cri_report_column){.name = fit->entry[i].name, .kind = CRI_COLUMN_NUMBER, .digits = 3};
    }
    cri_report_table(report, "Correlation of the errors", n + 1, column);
    for (int i = 0; i < n; i++) {
        cri_report_cell cell[CORRELATION_LIMIT + 1] = {{.text = fit->entry[i].name}};
        for (int j = 0; j < n; j++) {
            cell[j + 1].value = fit->correlation[i * fit->n_correlated + j];
        }
        cri_report_row(report, cell);
    }
    if (n < fit->n_correlated) {
        cri_report_note(report,
                        "Correlations are those of the first %d of %d values; --json has "
                        "them all.",
                        n, fit->n_correlated);
    }
}

static void put_recordings(cri_report *report, const cli_fit_result *result) {
    const cri_fit *fit = result->fit;
    if (fit->n_recording < 2) {
        return;
    }
    bool has_noise = result->problem->recording[0].sigma != NULL;
    cri_report_column column[] = {
        {.name = "file", .kind = CRI_COLUMN_TEXT},
        {.name = has_noise ? "rms residual / noise" : "rms residual", .kind = CRI_COLUMN_LOG_BAR}};
    cri_report_table(report, "Recordings", 2, column);
    int n = least(fit->n_recording, ROW_LIMIT);
    for (int k = 0; k < n; k++) {
        cri_report_cell cell[2] = {{.text = file_of(&result->problem->recording[k])},
                                   {.value = fit->rms_of[k]}};
        cri_report_row(report, cell);
    }
    if (n < fit->n_recording) {
        cri_report_note(report, "The table has the first %d of %d recordings.", n,
                        fit->n_recording);
    }
}

static void put_history(cri_report *report, const cri_fit *fit) {
    if (fit->n_history < 2) {
        return;
    }
    int chart =
        cri_report_chart(report, &(cri_report_chart_def){.title = "Residuals during the search",
                                                         .x = "iteration",
                                                         .y = "rms residual",
                                                         .is_log = true});
    int line = cri_report_series(
        report, chart, 1, &(cri_report_line){.name = "of the samples compared at that time"});
    for (int i = 0; i < fit->n_history; i++) {
        cri_report_point(report, line, (double)(i + 1) * fit->history_every, &fit->history[i]);
    }
}

// ---- motions -----------------------------------------------------------------------------------

/// One recording on the page.
typedef struct shown {
    const cli_fit_result *result;
    cri_report *report;
    cr_sim *sim;
    cri_unknowns unknowns;
    int recording;
    int n_column; // with charts
    cri_replay replay;
    cri_values values;       // that were found
    int found[COLUMN_LIMIT]; // series of the charts
    int start[COLUMN_LIMIT];
} shown;

/// Sets the point of the replay to the values that were found, or to the start.
static int move_to(shown *s, bool is_found) {
    const cri_fit *fit = s->result->fit;
    cri_point *point = &s->replay.point;
    cli_scene_fill(s->result->scene, point);
    for (int i = 0; i < fit->n_entry; i++) {
        const cri_fit_entry *e = &fit->entry[i];
        if (e->recording < 0 || e->recording == s->recording) {
            cri_selection_put(s->result->problem->selection, e->variable,
                              is_found ? e->value : e->start, point);
        }
    }
    if (cri_model_normalise(s->replay.model, point->x0) >= 0) {
        return cli_failed("a quaternion of the initial state is zero");
    }
    return CLI_DONE;
}

static int prepare(shown *s) {
    const cri_fit_problem *problem = s->result->problem;
    cr_error err = {0};
    if (cri_replay_init(problem->model, &s->unknowns, &problem->recording[s->recording],
                        problem->dt, s->result->scene->memory, &s->replay, &err) != CR_OK) {
        return cli_error(&err);
    }
    cri_replay *replay = &s->replay;
    replay->has_control = replay->has_control || problem->u;
    int code = move_to(s, true);
    double *shared = CR_PUSH(s->result->scene->memory, double, s->unknowns.n_shared);
    double *own = CR_PUSH(s->result->scene->memory, double, s->unknowns.n_own);
    if (!shared || !own) {
        return cli_failed("no memory for a report");
    }
    for (int t = 0; t < s->unknowns.n_turn; t++) {
        memcpy(replay->base + 4 * t, replay->point.x0 + s->unknowns.turn[t].quat,
               4 * sizeof *replay->base);
    }
    cri_unknowns_read(&s->unknowns, &replay->point, shared, own);
    s->values = (cri_values){shared, own};
    return code;
}

/// Charts of the recorded columns, with the recording in them.
static void put_columns(shown *s) {
    const cri_recording *r = s->replay.recording;
    cri_report *report = s->report;
    bool is_one = s->result->fit->n_recording > 1;
    for (int c = 0; c < s->n_column; c++) {
        char title[200];
        snprintf(title, sizeof title, "%.80s%s%.80s",
                 cr_model_name(s->replay.model, CR_VECTOR_X, r->x_index[c]), is_one ? " in " : "",
                 is_one ? file_of(r) : "");
        int chart = cri_report_chart(
            report, &(cri_report_chart_def){.title = title, .motion = s->recording});
        int recorded =
            cri_report_series(report, chart, 1, &(cri_report_line){"recorded", CRI_LINE_POINTS});
        s->found[c] = cri_report_series(report, chart, 1, &(cri_report_line){.name = "found"});
        s->start[c] =
            cri_report_series(report, chart, 1, &(cri_report_line){"start", CRI_LINE_DASHED});
        for (int i = 0; i < r->n_sample; i++) {
            cri_report_point(report, recorded, r->time[i], &r->value[i * r->n_column + c]);
        }
    }
}

/// One chart of the residuals of all columns that have one.
static int put_residuals(shown *s) {
    cri_replay *replay = &s->replay;
    const cri_recording *r = replay->recording;
    double *residual =
        CR_PUSH(s->result->scene->memory, double, (size_t)r->n_sample *(size_t)r->n_column);
    if (!residual) {
        return cli_failed("no memory for a report");
    }
    cr_error err = {0};
    if (cri_replay_residuals(replay, s->sim, &s->values, residual, NULL, &err) != CR_OK) {
        return cli_error(&err);
    }
    char title[120];
    snprintf(title, sizeof title, "Residuals of %.80s", file_of(r));
    cri_report_chart_def def = {.title = title,
                                .y = "simulated - recorded",
                                .unit = r->sigma ? "noise" : NULL,
                                .motion = s->recording};
    int chart = cri_report_chart(s->report, &def);
    cri_report_line line[COLUMN_LIMIT];
    for (int c = 0; c < s->n_column; c++) {
        const char *name = cr_model_name(replay->model, CR_VECTOR_X, r->x_index[c]);
        line[c] = (cri_report_line){.name = name};
    }
    int series = cri_report_series(s->report, chart, s->n_column, line);
    for (int i = 0; i < r->n_sample; i++) {
        cri_report_point(s->report, series, r->time[i], residual + (size_t)i * (size_t)r->n_column);
    }
    return CLI_DONE;
}

/// The run at the point of the replay.
static int run(shown *s, const char *name, const int *series) {
    cri_replay *replay = &s->replay;
    cr_error err = {0};
    if (cr_sim_set_params(s->sim, replay->point.p, &err) != CR_OK) {
        return cli_error(&err);
    }
    cli_run one = {.name = name,
                   .sim = s->sim,
                   .x0 = replay->point.x0,
                   .rollout = {.n_step = replay->schedule.n_step,
                               .dt = replay->schedule.dt,
                               .n_dt = replay->schedule.n_dt,
                               .u = replay->has_control ? replay->point.u : NULL,
                               .n_u_row = replay->point.n_u_row},
                   .n_watch = s->n_column,
                   .watch = replay->recording->x_index,
                   .series = series};
    return cli_report_run(s->report, &one);
}

/// What a watch of the run that was found needs.
typedef struct recorded {
    shown *s;
    double *seen; // (n_x)
    int k;        // steps made
    int sample;   // the next one
} recorded;

/// Puts down the samples that are reached after k steps: what was not recorded is as found.
static void put_samples(recorded *w) {
    const cri_replay *replay = &w->s->replay;
    const cri_recording *r = replay->recording;
    for (; w->sample < r->n_sample && replay->schedule.step[w->sample] == w->k; w->sample++) {
        memcpy(w->seen, replay->x, (size_t)replay->sizes.n_x * sizeof *w->seen);
        const double *value = r->value + (size_t)w->sample * (size_t)r->n_column;
        for (int c = 0; c < r->n_column; c++) {
            w->seen[r->x_index[c]] = value[c];
        }
        cri_report_frame(w->s->report, r->time[w->sample], w->seen, 0, NULL);
    }
}

static void watch_samples(void *context, cr_sim *sim) {
    (void)sim;
    recorded *w = context;
    w->k++;
    put_samples(w);
}

/// The motion as it was recorded, where that tells positions.
static int run_recorded(shown *s) {
    cri_replay *replay = &s->replay;
    const cri_recording *r = replay->recording;
    bool has_position = false;
    for (int c = 0; c < r->n_column; c++) {
        has_position = has_position || r->x_index[c] < replay->sizes.n_q;
    }
    if (!has_position) {
        return CLI_DONE;
    }
    recorded w = {.s = s, .seen = CR_PUSH(s->result->scene->memory, double, replay->sizes.n_x)};
    if (!w.seen) {
        return cli_failed("no memory for a report");
    }
    cr_error err = {0};
    cr_status status = cr_sim_set_params(s->sim, replay->point.p, &err);
    if (status == CR_OK) {
        cri_report_variant(s->report, "recorded", s->sim);
        memcpy(replay->x, replay->point.x0, (size_t)replay->sizes.n_x * sizeof *replay->x);
        put_samples(&w);
        status = cri_replay_look(replay, s->sim, &s->values, watch_samples, &w, &err);
    }
    return status == CR_OK ? CLI_DONE : cli_error(&err);
}

static int show(shown *s) {
    int code = prepare(s);
    if (code != CLI_DONE) {
        return code;
    }
    put_columns(s);
    cri_report_motion(s->report, file_of(s->replay.recording));
    bool has_columns = !s->replay.recording->cloud;
    code = has_columns ? put_residuals(s) : CLI_DONE;
    code = code == CLI_DONE ? run(s, "found", s->found) : code;
    code = code == CLI_DONE ? move_to(s, false) : code;
    code = code == CLI_DONE ? run(s, "start", s->start) : code;
    code = code == CLI_DONE ? move_to(s, true) : code;
    return code == CLI_DONE && has_columns ? run_recorded(s) : code;
}

/// The first n recordings.
static int show_all(cri_report *report, const cli_fit_result *result, int n) {
    const cri_fit_problem *problem = result->problem;
    shown s = {.result = result, .report = report};
    cr_error err = {0};
    if (cri_unknowns_push(problem->selection, result->scene->memory, &s.unknowns, &err) != CR_OK) {
        return cli_error(&err);
    }
    int code = cli_scene_sim(result->scene, true, &s.sim);
    for (int k = 0; k < n && code == CLI_DONE; k++) {
        int n_column = problem->recording[k].n_column;
        s.recording = k;
        if (problem->recording[k].cloud) {
            n_column = 0; // points have no curves
        }
        s.n_column = least(n_column, COLUMN_LIMIT / n);
        if (s.n_column < n_column) {
            cri_report_note(report, "Curves are those of the first %d of %d columns of %.80s.",
                            s.n_column, n_column, file_of(&problem->recording[k]));
        }
        code = show(&s);
    }
    cr_sim_destroy(s.sim);
    return code;
}

int cli_fit_report(cri_report *report, const cli_fit_result *result) {
    if (!report) {
        return CLI_DONE;
    }
    const cri_fit *fit = result->fit;
    int n_shown = least(fit->n_recording, RECORDING_LIMIT);
    put_facts(report, result);
    put_open(report, result);
    put_parameters(report, result, n_shown);
    if (n_shown < fit->n_recording) {
        cri_report_note(report,
                        "Initial values and motions are those of the first %d of %d "
                        "recordings; --json has all values.",
                        n_shown, fit->n_recording);
    }
    put_correlation(report, fit);
    put_recordings(report, result);
    put_history(report, fit);
    return show_all(report, result, n_shown);
}
