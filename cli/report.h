// SPDX-License-Identifier: MIT
//
// What commands put into a report: the head that all have, and motions with their curves.
//
//     cri_report *report = NULL;
//     int code = cli_report_open(options, "Fit", scene, &report);       NULL without --report
//     ...
//     cli_report_run(report, &(cli_run){.name = "found", .sim = sim, .schedule..., .x0 = x0});
//     ...
//     code = cli_report_close(options, report, code);
//
// NULL instead of a report is allowed everywhere: nothing happens.

#pragma once

#include "report/report.h"
#include "scene.h"

/// Makes a report with title, command line, scene, law and step, when the options ask for one; else
/// *out is NULL. what is the title's first word, such as "Simulation". Refuses a FILE that does not
/// end in .html, unless it has no extension.
int cli_report_open(const cli_options *options, const char *what, const cli_scene *scene,
                    cri_report **out);

/// Writes the file when code is CLI_DONE, and releases the report. Returns code, or CLI_FAILED
/// after a line on stderr.
int cli_report_close(const cli_options *options, cri_report *report, int code);

/// Curves of a run: states, energy, gaps and impulses, filled step by step.
typedef struct cli_track cli_track;

/// Begins the charts of one run, and a variant of the motion begun last. has_curves false: the
/// motion alone, as for the second and further variants. NULL when report is NULL; lack of memory
/// is told when the report is written.
cli_track *cli_track_begin(cri_report *report, const char *name, cr_sim *sim, const double *x0,
                           bool has_curves);

/// The state x after the last cr_sim_step of the track's sim, t seconds after the start.
void cli_track_step(cli_track *track, double t, const double *x);

/// Releases track. NULL is allowed.
void cli_track_end(cli_track *track);

/// A run to show: from x0 with the parameters that are set in sim.
typedef struct cli_run {
    const char *name; // of the variant
    cr_sim *sim;
    const double *x0; // (n_x)
    cr_rollout rollout;
    bool has_curves;
} cli_run;

/// Runs it again, step by step, into the report. Returns an exit code.
int cli_report_run(cri_report *report, const cli_run *run);
