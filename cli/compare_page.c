// SPDX-License-Identifier: MIT
//
// The page of a comparison: the laws in a table, their motions over each other, their energies.

#include "compare_page.h"

#include "report.h"
#include "report/result.h"

static void put_table(cri_report *report, const cri_compare *compare) {
    const cri_report_column column[] = {
        {.name = "law"},
        {.name = "loss", .unit = "m^2", .kind = CRI_COLUMN_NUMBER, .digits = 7},
        {.name = "overlap", .unit = "m", .kind = CRI_COLUMN_NUMBER, .digits = 2},
        {.name = "energy", .unit = "J", .kind = CRI_COLUMN_NUMBER, .digits = 4},
        {.name = "gradient norm", .kind = CRI_COLUMN_NUMBER, .digits = 5},
        {.name = "its error", .kind = CRI_COLUMN_LOG_BAR, .digits = 2},
        {.name = "step", .unit = "us", .kind = CRI_COLUMN_NUMBER, .digits = 3},
        {.name = "back", .unit = "us", .kind = CRI_COLUMN_NUMBER, .digits = 3},
        {.name = "gradient is"},
    };
    cri_report_table(report, "Contact laws", sizeof column / sizeof *column, column);
    for (int i = 0; i < compare->n_row; i++) {
        const cri_compare_row *row = &compare->row[i];
        char status[64];
        cri_compare_text(compare, i, status);
        const cri_report_cell cell[] = {
            {row->law->name, 0.0},      {NULL, row->loss},          {NULL, row->max_penetration},
            {NULL, row->energy_change}, {NULL, row->gradient_norm}, {NULL, row->gradient_error},
            {NULL, row->step_us},       {NULL, row->gradient_us},   {status, 0.0}};
        cri_report_row(report, cell);
    }
}

static void put_words(cri_report *report, const cli_compare_result *result) {
    for (int i = 0; i < result->compare->n_row; i++) {
        const cri_compare_row *row = &result->compare->row[i];
        if (row->reason[0]) {
            cri_report_note(report, "%s has no %s: %s", row->law->name,
                            row->has_motion ? "gradient" : "motion", row->reason);
        }
    }
    for (int i = 0; i < result->differ->n; i++) {
        cri_report_note(report, "%s", result->differ->sentence[i].text);
    }
}

int cli_compare_page(const cli_options *options, const cli_compare_result *result) {
    cri_report *report = NULL;
    int code = cli_report_open(options, "Comparison", result->scene, &report);
    if (code != CLI_DONE || !report) {
        return code;
    }
    put_table(report, result->compare);
    put_words(report, result);
    cri_report_motion(report, "motion");
    cli_report_targets(report, &result->run->aim);
    int chart = cri_report_chart(report, &(cri_report_chart_def){.title = "Energy", .unit = "J"});
    for (int i = 0; i < result->compare->n_row && code == CLI_DONE; i++) {
        const cri_compare_row *row = &result->compare->row[i];
        if (!row->has_motion) {
            continue;
        }
        const char *law = row->law->name;
        int energy = cri_report_series(report, chart, 1, &(cri_report_line){.name = law});
        cli_aim_run run = {.name = law,
                           .law = law,
                           .aim = &result->run->aim,
                           .point = &result->run->point,
                           .energy = &energy};
        code = cli_report_aim(report, result->scene, &run);
    }
    return cli_report_close(options, report, code);
}
