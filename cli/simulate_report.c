// SPDX-License-Identifier: MIT
//
// What carom simulate --report shows besides the motion.

#include "simulate.h"

#include <math.h>

// entries of the state that a report shows
enum { REPORT_ROWS = 300 };

void cli_simulation_report(const cli_simulation *s) {
    const cri_simulate_result *r = &s->result;
    cri_report *report = s->report;
    const cr_model *model = s->scene->model;
    cri_report_fact(report, "steps", "%d", r->n_step);
    cri_report_fact(report, "simulated", "%.6g s", r->n_step * r->dt);
    cri_report_fact(report, "impacts", "%d", s->n_impact);
    cri_report_fact(report, "energy", "%.5g \u2192 %.5g J", r->energy[0], r->energy[1]);
    if (isfinite(r->max_penetration)) {
        cri_report_fact(report, "deepest overlap", "%.3g m", r->max_penetration);
    }
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
    if (n > REPORT_ROWS) {
        cri_report_note(report,
                        "The table has the first %d of %d entries of the state; -o FILE has all.",
                        REPORT_ROWS, n);
        n = REPORT_ROWS;
    }
    for (int i = 0; i < n; i++) {
        const cri_report_cell cell[] = {
            {cr_model_name(model, CR_VECTOR_X, i), 0.0}, {NULL, s->x_first[i]}, {NULL, r->x[i]}};
        cri_report_row(report, cell);
    }
}
