// SPDX-License-Identifier: MIT
//
// What commands put into a report: the head that all have, and motions with their curves.
//
//     cri_report *report = NULL;
//     int code = cli_report_open(options, "Fit", &scene, &report);       NULL without --report
//     ...
//     cri_report_motion(report, "throw 1");
//     cli_report_run(report, &(cli_run){.name = "found", .sim = sim, .x0 = x0, .rollout = ...});
//     ...
//     code = cli_report_close(options, report, code);
//
// NULL instead of a report is allowed everywhere: nothing happens.

#pragma once

#include "optimize/aim.h"
#include "report/report.h"
#include "scene.h"

/// Makes a report with title, command line, scene, law and step, when the options ask for one; else
/// *out is NULL. what is the title's first word, such as "Simulation"; the whole title when scene
/// is NULL.
int cli_report_open(const cli_options *options, const char *what, const cli_scene *scene,
                    cri_report **out);

/// Writes the file when code is CLI_DONE, and releases the report. Returns code, or CLI_FAILED
/// after a line on stderr.
int cli_report_close(const cli_options *options, cri_report *report, int code);

/// Unit of an entry of p, x or u by its name, such as "kg" for ball/mass; NULL: none, or not known.
const char *cli_unit_of(const char *name);

/// Curves of a run: states, energy, gaps and impulses, filled step by step.
typedef struct cli_track cli_track;

/// Begins a variant of the motion begun last, and the charts of its run; has_curves false: the
/// motion alone, as for the second and further variants. x0 (n_x) is the state at t seconds, where
/// it starts. NULL when report is NULL; lack of memory is told when the report is written.
cli_track *cli_track_begin(cri_report *report, const char *name, cr_sim *sim, double t,
                           const double *x0, bool has_curves);

/// The state x (n_x) after the last cr_sim_step of the track's sim, t seconds after the start.
/// Leaves the sim as it is.
void cli_track_step(cli_track *track, double t, const double *x);

/// Releases track. NULL is allowed.
void cli_track_end(cli_track *track);

/// A run to show: from x0 with the parameters that are set in sim. Set them right before: that
/// forgets warm data, so that the motion is that of a rollout.
typedef struct cli_run {
    const char *name; // of the variant
    cr_sim *sim;
    const double *x0; // (n_x)
    cr_rollout rollout;
    bool has_curves;   // charts of states, energy, gaps and impulses
    int n_watch;       // entries of x that go to series of the caller's
    const int *watch;  // (n_watch)
    const int *series; // (n_watch) as cri_report_series gave them, of one line each
    const int *energy; // series for the total energy, of one line; NULL: none
} cli_run;

/// Runs it again, step by step, into the report. Returns an exit code.
int cli_report_run(cri_report *report, const cli_run *run);

/// Marks the targets in the motion begun last.
void cli_report_targets(cri_report *report, const cri_aim *aim);

/// A run towards targets, from point.
typedef struct cli_aim_run {
    const char *name; // of the variant
    const char *law;  // NULL: the scene's
    const cri_aim *aim;
    const cri_point *point;
    bool has_curves;
    const int *energy; // as of cli_run
} cli_aim_run;

/// As cli_report_run, with a sim of its own. Returns an exit code.
int cli_report_aim(cri_report *report, const cli_scene *scene, const cli_aim_run *run);
