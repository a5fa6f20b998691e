// SPDX-License-Identifier: MIT
//
// The page of a plan: its figures, the loss over the iterations, controls over time, and the
// motions of the plan and of its start.

#include "plan.h"

#include "report.h"

#include <math.h>

// controls with curves, variables in the table
enum { CONTROL_LIMIT = 16, ROW_LIMIT = 200 };

static void put_figures(cri_report *report, const cli_planning *t) {
    const cri_plan *p = &t->plan;
    cri_report_fact(report, "plan", "%s", cri_plan_stop_word(p->stop));
    cri_report_fact(report, "loss", "%.5g m\u00b2", p->loss);
    cri_report_fact(report, "method", "%s", cri_method_text(t->plan_options.minimise.method));
    cri_report_fact(report, "iterations", "%d", p->n_iteration);
    cri_report_fact(report, "steps", "%d", t->aim.schedule.n_step);
    cri_report_fact(report, "computed in", "%.3g s", t->seconds);
    int chart = cri_report_chart(
        report, &(cri_report_chart_def){.title = "Loss",
                                        .x = t->n_window > 0 ? "window" : "iteration",
                                        .unit = "m^2",
                                        .is_log = true});
    int best = cri_report_series(report, chart, 1, &(cri_report_line){.name = "best so far"});
    for (int k = 0; k < p->n_history; k++) {
        cri_report_point(report, best, k, &p->history[k]);
    }
}

static void put_variables(cri_report *report, const cli_planning *t) {
    const cri_report_column column[] = {
        {.name = "name"},
        {.name = "start", .kind = CRI_COLUMN_NUMBER},
        {.name = "plan", .kind = CRI_COLUMN_NUMBER},
    };
    int n = t->n_variable, n_row = n < ROW_LIMIT ? n : ROW_LIMIT;
    cri_report_table(report, "Variables", 3, column);
    for (int j = 0; j < n_row; j++) {
        cri_report_row(report, (const cri_report_cell[]){{t->name[j], 0.0},
                                                         {NULL, t->plan.start[j]},
                                                         {NULL, t->plan.z[j]}});
    }
    if (n_row < n) {
        cri_report_note(report, "The table has the first %d of %d variables; --json FILE has all.",
                        n_row, n);
    }
    for (int i = 0; i < t->aim.n_target; i++) {
        const cri_target *target = &t->aim.target[i];
        double distance = t->plan.distance[target->order];
        bool is_within = distance <= target->radius;
        cri_report_note(report, "The target at (%g, %g, %g) is %s %.3g m%s.", target->point[0],
                        target->point[1], target->point[2], is_within ? "reached," : "missed by",
                        distance, is_within ? " from its centre" : "");
    }
}

/// Controls that change over time.
static void put_controls(cri_report *report, const cli_planning *t) {
    int n_u = t->scene.sizes.n_u, n_row = t->point.n_u_row, n = 0;
    int entry[CONTROL_LIMIT];
    cri_report_line line[CONTROL_LIMIT];
    for (int i = 0; i < n_u && n < CONTROL_LIMIT && n_row > 1; i++) {
        bool is_used = false;
        for (int k = 0; k < n_row; k++) {
            is_used = is_used || t->point.u[(size_t)k * (size_t)n_u + (size_t)i] != 0.0;
        }
        if (is_used) {
            entry[n] = i;
            line[n++] = (cri_report_line){.name = cr_model_name(t->scene.model, CR_VECTOR_U, i)};
        }
    }
    if (n == 0) {
        return;
    }
    int chart = cri_report_chart(report, &(cri_report_chart_def){.title = "Controls"});
    int series = cri_report_series(report, chart, n, line);
    double time = 0.0;
    for (int k = 0; k < n_row; k++) {
        double y[CONTROL_LIMIT];
        for (int c = 0; c < n; c++) {
            y[c] = t->point.u[(size_t)k * (size_t)n_u + (size_t)entry[c]];
        }
        cri_report_point(report, series, time, y);
        time += t->aim.schedule.dt[t->aim.schedule.n_dt > 1 ? k : 0];
    }
}

int cli_plan_page(cli_planning *t) {
    cri_report *report = NULL;
    int code = cli_report_open(t->options, "Plan", &t->scene, &report);
    if (code != CLI_DONE || !report) {
        return code;
    }
    put_figures(report, t);
    put_variables(report, t);
    put_controls(report, t);
    cri_report_motion(report, "motion");
    cli_report_targets(report, &t->aim);
    t->aim.has_control = t->scene.has_control;
    cli_aim_run run = {.name = "plan", .aim = &t->aim, .point = &t->point, .has_curves = true};
    code = cli_report_aim(report, &t->scene, &run);
    if (code == CLI_DONE) {
        cli_plan_put(t, t->plan.start);
        cli_aim_run start = {.name = "start", .aim = &t->aim, .point = &t->point};
        code = cli_report_aim(report, &t->scene, &start);
        cli_plan_put(t, t->plan.z);
    }
    return cli_report_close(t->options, report, code);
}
