// SPDX-License-Identifier: MIT
//
// One run of carom simulate, and how it is saved and goes on.
//
// A checkpoint has the state, the count of steps, what was summed up over them, and the bytes of
// cr_sim_save: the run then goes on with the same bits. The motion of -o is not in it. It is read
// back from the file that the interrupted run left, which must end where the checkpoint is.

#pragma once

#include "report.h"
#include "report/result.h"
#include "report/trajectory.h"
#include "scene.h"

typedef struct cli_simulation {
    const cli_scene *scene;
    cr_sim *sim;
    double *x;       // (n_x)
    double *x_first; // (n_x) the start, kept for a report
    cri_trajectory file;
    bool has_file;
    cri_report *report; // NULL: none is wanted
    cli_track *track;
    int first; // steps that were done before
    int n_impact;
    int n_outside; // contact solves beyond what nets were trained for
    cr_outcome outcome;
    cri_simulate_result result;
    const char *checkpoint; // file, NULL: none
    uint64_t problem;       // what only an equal run has
} cli_simulation;

/// Saves the run after so many steps. Returns an exit code.
int cli_simulation_save(const cli_simulation *s, int n_done);

/// Takes up the run where its checkpoint is, or begins one where there is none. Returns an exit
/// code.
int cli_simulation_load(cli_simulation *s);

/// Writes the rows of the steps that were done before, and that of the start, from the motion at
/// path. Returns an exit code.
int cli_simulation_copy(cli_simulation *s, const char *path);

/// Fills the report, whose motion is there already.
void cli_simulation_report(const cli_simulation *s);
