// SPDX-License-Identifier: MIT
//
// The page of a fit.

#include "fit_report.h"

#include "model/model.h"
#include "report.h"

#include <math.h>
#include <string.h>

// recorded columns with a chart of their own
enum { COLUMN_LIMIT = 24 };

static void put_parameters(cri_report *report, const cli_fit_result *result) {
    const cri_fit *fit = result->fit;
    const cri_replay *replay = result->replay;
    for (int i = 0; i < fit->n_entry; i++) {
        const cri_fit_entry *e = &fit->entry[i];
        double truth = NAN;
        if (!cri_recording_truth(replay->recording, &replay->selection->variable[i], &truth)) {
            truth = NAN;
        }
        const char *note = !e->is_identifiable ? "not identifiable" : NULL;
        cri_report_value value = {.name = e->name,
                                  .unit = cli_unit_of(e->name),
                                  .start = e->start,
                                  .value = e->value,
                                  .error = e->deviation,
                                  .truth = truth,
                                  .note = e->is_at_bound ? "at its bound" : note};
        cri_report_parameter(report, &value);
        if (!e->is_identifiable) {
            cri_report_note(report, "%s", e->why);
        }
    }
    cri_report_fact(report, "rms residual", "%.4g", fit->rms);
    cri_report_fact(report, "noise of the recording", "%.3g", fit->noise);
    cri_report_fact(report, "numbers", "%d", fit->n_residual);
    cri_report_fact(report, "iterations", "%d", fit->n_iteration);
    cri_report_fact(report, "computed in", "%.3g s", result->seconds);
}

/// Charts of the recorded columns: series of the run that was found, and of the start.
static void put_recording(cri_report *report, const cri_replay *replay, int n, int *found,
                          int *start) {
    const cri_recording *r = replay->recording;
    for (int c = 0; c < n; c++) {
        const char *name = cr_model_name(replay->model, CR_VECTOR_X, r->x_index[c]);
        int chart = cri_report_chart(report, &(cri_report_chart_def){.title = name});
        int recorded =
            cri_report_series(report, chart, 1, &(cri_report_line){"recorded", CRI_LINE_POINTS});
        found[c] = cri_report_series(report, chart, 1, &(cri_report_line){.name = "found"});
        start[c] =
            cri_report_series(report, chart, 1, &(cri_report_line){"start", CRI_LINE_DASHED});
        for (int i = 0; i < r->n_sample; i++) {
            cri_report_point(report, recorded, r->time[i], &r->value[i * r->n_column + c]);
        }
    }
}

/// The run at the replay's point.
static int run(cri_report *report, cri_replay *replay, const char *name, const int *series,
               int n_column) {
    cr_error err = {0};
    if (cr_sim_set_params(replay->sim, replay->point.p, &err) != CR_OK) {
        return cli_error(&err);
    }
    cli_run one = {.name = name,
                   .sim = replay->sim,
                   .x0 = replay->point.x0,
                   .rollout = {.n_step = replay->schedule.n_step,
                               .dt = replay->schedule.dt,
                               .n_dt = replay->schedule.n_dt,
                               .u = replay->has_control ? replay->point.u : NULL,
                               .n_u_row = replay->point.n_u_row},
                   .n_watch = n_column,
                   .watch = replay->recording->x_index,
                   .series = series};
    return cli_report_run(report, &one);
}

static cr_status step(const cri_replay *replay, int k, double *x, cr_error *err) {
    const cri_schedule *schedule = &replay->schedule;
    size_t row = replay->point.n_u_row > 1 ? (size_t)k : 0;
    const double *u =
        replay->has_control ? replay->point.u + row * (size_t)replay->sizes.n_u : NULL;
    return cr_sim_step(replay->sim, schedule->dt[schedule->n_dt > 1 ? k : 0], x, u, x, err);
}

/// The motion as it was recorded, where that tells positions: what was not recorded is as found.
static int run_recorded(cri_report *report, const cri_replay *replay) {
    const cri_recording *r = replay->recording;
    bool has_position = false;
    for (int c = 0; c < r->n_column; c++) {
        has_position = has_position || r->x_index[c] < replay->sizes.n_q;
    }
    if (!has_position) {
        return CLI_DONE;
    }
    size_t n_x = (size_t)replay->sizes.n_x;
    cr_arena *memory = cri_arena_create(1 << 12);
    double *x = memory ? CR_PUSH(memory, double, n_x) : NULL;
    double *seen = memory ? CR_PUSH(memory, double, n_x) : NULL;
    cr_error err = {0};
    cr_status status = x && seen ? cr_sim_set_params(replay->sim, replay->point.p, &err)
                                 : cri_fail(&err, CR_ERR_MEMORY, 0, "no memory for a report");
    if (status == CR_OK) {
        memcpy(x, replay->point.x0, n_x * sizeof *x);
        cri_report_variant(report, "recorded", replay->sim);
    }
    for (int i = 0, k = 0; i < r->n_sample && status == CR_OK; i++) {
        for (; k < replay->schedule.step[i] && status == CR_OK; k++) {
            status = step(replay, k, x, &err);
        }
        memcpy(seen, x, n_x * sizeof *x);
        for (int c = 0; c < r->n_column; c++) {
            seen[r->x_index[c]] = r->value[(size_t)i * (size_t)r->n_column + (size_t)c];
        }
        cri_report_frame(report, r->time[i], seen, 0, NULL);
    }
    cri_arena_destroy(memory);
    return status == CR_OK ? CLI_DONE : cli_error(&err);
}

/// Sets the replay's point to the values that were found, or to the start.
static int move_to(const cli_fit_result *result, bool is_found) {
    const cri_fit *fit = result->fit;
    double *z = CR_PUSH(result->scene->memory, double, fit->n_entry);
    if (!z) {
        return cli_failed("no memory for a report");
    }
    for (int i = 0; i < fit->n_entry; i++) {
        z[i] = is_found ? fit->entry[i].value : fit->entry[i].start;
    }
    cri_selection_write(result->replay->selection, z, &result->replay->point);
    return CLI_DONE;
}

int cli_fit_report(cri_report *report, const cli_fit_result *result) {
    if (!report) {
        return CLI_DONE;
    }
    cri_replay *replay = result->replay;
    int n_column = replay->recording->n_column;
    int n = n_column < COLUMN_LIMIT ? n_column : COLUMN_LIMIT;
    int found[COLUMN_LIMIT], start[COLUMN_LIMIT];
    put_parameters(report, result);
    put_recording(report, replay, n, found, start);
    if (n < n_column) {
        cri_report_note(report, "Curves are those of the first %d of %d recorded columns.", n,
                        n_column);
    }
    cri_report_motion(report, "motion");
    int code = run(report, replay, "found", found, n);
    if (code == CLI_DONE) {
        code = move_to(result, false);
    }
    if (code == CLI_DONE) {
        code = run(report, replay, "start", start, n);
    }
    if (code == CLI_DONE) {
        code = move_to(result, true);
    }
    return code == CLI_DONE ? run_recorded(report, replay) : code;
}
