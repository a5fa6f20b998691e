// SPDX-License-Identifier: MIT
//
// One self-contained HTML file about a result: facts, sentences, tables, parameters with error
// bars, curves, and motions that can be played. docs/report.md has the format of its data, which
// viewers read; the text of the page is HTML, so that it can be read without any script.
//
//     cri_report *report = NULL;
//     CR_TRY(cri_report_create("Fit of bounce.xml", &report, err));
//     cri_report_fact(report, "rms residual", "%.4g m", fit.rms);
//     cri_report_note(report, "%s", "The recording does not tell the mass.");
//     cri_report_parameter(report, &(cri_report_value){.name = "ball/size[0]", .unit = "m",
//         .start = 0.06, .value = 0.05, .error = 1e-4, .truth = NAN});
//
//     int loss = cri_report_chart(report, &(cri_report_chart_def){.title = "Loss",
//         .x = "iteration", .y = "loss", .unit = "m^2", .is_log = true});
//     int found = cri_report_series(report, loss, 1, &(cri_report_line){.name = "found"});
//     for (int k = 0; k < n; k++) {
//         cri_report_point(report, found, k, &loss_of[k]);
//     }
//
//     cri_report_motion(report, "throw 1");
//     cri_report_variant(report, "found", sim);
//     for (...) {                       // the start, and then every step
//         cri_report_frame(report, t, x, n_contact, contact);
//     }
//     cr_status status = cri_report_write(report, path, err);
//     cri_report_destroy(report);
//
// Calls return nothing, so that a command stays short: lack of memory is kept in mind and told by
// cri_report_write. Texts are copied. Long runs take bounded memory: curves keep least and largest
// value of every interval, motions keep one frame an interval with the sum of its impulses. What is
// not finite becomes a gap. NULL instead of a report is allowed everywhere but in create: nothing
// happens, so that a command need not ask whether a report is wanted.

#pragma once

#include "base/base.h"

typedef struct cri_report cri_report;

/// Points that a curve keeps, twice as many when it had to leave some out; frames of a variant;
/// contacts of a frame, the strongest ones.
#define CRI_REPORT_POINTS 1024
#define CRI_REPORT_FRAMES 600
#define CRI_REPORT_CONTACTS 48

CR_MUST_CHECK cr_status cri_report_create(const char *title, cri_report **out, cr_error *err);

/// Releases report. NULL is allowed.
void cri_report_destroy(cri_report *report);

/// Takes over a model whose motions are in the report: it is released with it. NULL is allowed for
/// the model; without a report the caller keeps it.
void cri_report_own_model(cri_report *report, cr_model *model);

/// The command line that made it, below the title.
void cri_report_command(cri_report *report, const char *text);

/// A short fact, "law", "ncp", in the row below the title.
void cri_report_fact(cri_report *report, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// A sentence.
void cri_report_note(cri_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- tables ------------------------------------------------------------------------------------

typedef enum cri_report_column_kind {
    CRI_COLUMN_TEXT,    // to the left
    CRI_COLUMN_NUMBER,  // to the right
    CRI_COLUMN_LOG_BAR, // a number above zero with a bar for its size, such as an error
} cri_report_column_kind;

typedef struct cri_report_column {
    const char *name;
    const char *unit; // NULL: none
    cri_report_column_kind kind;
    int digits; // of numbers, 0: 6
} cri_report_column;

/// text, or when it is NULL the number; one that is not finite is shown as a dash.
typedef struct cri_report_cell {
    const char *text;
    double value;
} cri_report_cell;

/// Begins a table. Rows go to the one begun last.
void cri_report_table(cri_report *report, const char *title, int n_column,
                      const cri_report_column *column);

/// cell (n_column) of the table begun last.
void cri_report_row(cri_report *report, const cri_report_cell *cell);

/// A number that was found. What is not known is NAN.
typedef struct cri_report_value {
    const char *name;
    const char *unit; // NULL: none
    double start;
    double value;
    double error;     // standard error: drawn as a bar of one and of two
    double truth;     // when somebody knows it
    const char *note; // such as "at its bound", NULL: none
} cri_report_value;

/// Adds a row to the table of parameters.
void cri_report_parameter(cri_report *report, const cri_report_value *value);

// ---- curves ------------------------------------------------------------------------------------

typedef struct cri_report_chart_def {
    const char *title;
    const char *x;      // what the axis shows; NULL: time in s, with the cursor of the motions
    const char *x_unit; // NULL: none
    const char *y;      // what the curves show, NULL: the title says it
    const char *unit;   // of y, NULL: none
    bool is_log;        // the y axis; what is not above zero is a gap
    int motion;         // whose time it is, counted from 0; not used when x is given
} cri_report_chart_def;

typedef enum cri_report_style {
    CRI_LINE_SOLID,
    CRI_LINE_DASHED,
    CRI_LINE_POINTS, // a recording
    CRI_LINE_STEMS,  // impulses: a line up from zero
} cri_report_style;

typedef struct cri_report_line {
    const char *name;
    cri_report_style style;
} cri_report_line;

/// Begins a chart and returns its number.
int cri_report_chart(cri_report *report, const cri_report_chart_def *def);

/// Adds n_line curves that share their x to a chart; returns the number for cri_report_point. One
/// chart may have several, such as a recording and a simulation at other times.
int cri_report_series(cri_report *report, int chart, int n_line, const cri_report_line *line);

/// y (n_line) at x, which ascends.
void cri_report_point(cri_report *report, int series, double x, const double *y);

// ---- motions -----------------------------------------------------------------------------------

/// Begins a motion, which is what one view plays.
void cri_report_motion(cri_report *report, const char *name);

/// Begins a variant, to be laid over the others of the motion begun last: "found" over "start",
/// one law over another. The first one is drawn filled. Takes the shapes with the parameters that
/// are set in sim, whose model must outlive the report; sim itself is not kept.
void cri_report_variant(cri_report *report, const char *name, const cr_sim *sim);

/// State x (n_x) of the variant begun last at t seconds, and the contacts that acted since the
/// frame before (n_contact may be 0).
void cri_report_frame(cri_report *report, double t, const double *x, int n_contact,
                      const cr_contact *contact);

/// A point of the world that matters in the motion begun last, such as a target.
void cri_report_marker(cri_report *report, const char *name, const double point[3]);

// ---- file --------------------------------------------------------------------------------------

/// Writes the page. The file appears whole or not at all.
CR_MUST_CHECK cr_status cri_report_write(const cri_report *report, const char *path, cr_error *err);

/// False when this build has no charts because npm was missing; then pages have tables alone.
bool cri_report_has_viewer(void);
