// SPDX-License-Identifier: MIT
//
// The page of a simulation: its figures, its curves and motion, its first and last state.

#include "simulate.h"

#include <string.h>

// entries of the state that a page shows
enum { ROW_LIMIT = 300 };

int cli_simulation_report_begin(cli_simulation *s, const cli_options *options) {
    int code = cli_report_open(options, "Simulation", s->scene, &s->report);
    if (code != CLI_DONE || !s->report) {
        return code;
    }
    size_t n_byte = sizeof *s->x * (size_t)s->scene->sizes.n_x;
    s->x_first = cri_arena_push(s->scene->memory, n_byte);
    if (!s->x_first) {
        return cli_failed("no memory for a report");
    }
    memcpy(s->x_first, s->x, n_byte);
    if (s->first > 0) {
        cri_report_note(s->report, "This page shows the steps from %d on, where the run went on.",
                        s->first);
    }
    cri_report_motion(s->report, "motion");
    s->track =
        cli_track_begin(s->report, s->result.law, s->sim, s->first * s->result.dt, s->x, true);
    return CLI_DONE;
}

static void fill(const cli_simulation *s) {
    const cri_simulate_result *r = &s->result;
    cri_report *report = s->report;
    cri_report_fact(report, "steps", "%d", r->n_step);
    cri_report_fact(report, "simulated", "%.6g s", r->n_step * r->dt);
    cri_report_fact(report, "impacts", "%d", s->n_impact);
    cri_report_fact(report, "energy", "%.5g \u2192 %.5g J", r->energy[0], r->energy[1]);
    cri_report_fact(report, "deepest overlap", "%.3g m", r->max_penetration);
    cri_report_fact(report, "computed in", "%.3g ms", 1e3 * r->seconds);
    if (s->outcome == CR_ITERATION_LIMIT) {
        cri_report_note(report,
                        "A contact solve did not converge; the motion is the best one found.");
    }
    const cri_report_column column[] = {
        {.name = "entry"},
        {.name = "first", .kind = CRI_COLUMN_NUMBER, .digits = 9},
        {.name = "last", .kind = CRI_COLUMN_NUMBER, .digits = 9},
    };
    cri_report_table(report, "State", 3, column);
    int n = r->n_q + r->n_v;
    if (n > ROW_LIMIT) {
        cri_report_note(report,
                        "The table has the first %d of %d entries of the state; -o FILE has all.",
                        ROW_LIMIT, n);
        n = ROW_LIMIT;
    }
    for (int i = 0; i < n; i++) {
        const char *name = cr_model_name(s->scene->model, CR_VECTOR_X, i);
        cri_report_row(
            report, (const cri_report_cell[]){{name, 0.0}, {NULL, s->x_first[i]}, {NULL, r->x[i]}});
    }
}

int cli_simulation_report_end(cli_simulation *s, const cli_options *options, int code) {
    if (code == CLI_DONE && s->report) {
        fill(s);
    }
    code = cli_report_close(options, s->report, code);
    s->report = NULL;
    return code;
}
