// SPDX-License-Identifier: MIT
//
// A task under several laws, over seeds and rates: what all of them came to.

#pragma once

#include "kept.h"
#include "lrc_task.h"

/// Everything that the entries of one experiment share.
typedef struct lrc_contest {
    const cri_experiment_options *o;
    const lrc_task *task;
    cr_model *model;
    cri_kept *kept;
    cri_experiment_result *out;
} lrc_contest;

/// One line of the table: a law from one kind of start.
typedef struct lrc_entry {
    const char *name;
    const lrc_rival *rival;
    lrc_start start;
    double dt;         // s, 0: that of the scene
    bool has_one_rate; // no other is tried where a search fails
    bool is_ours;      // the paper's figures stand beside it
    bool has_film;     // its motion goes into the report
    int chart;         // -1: none
    double settled;    // comes out: mean over the seeds that came there, s; NAN: none did
} lrc_entry;

/// Runs the entry over all seeds, and adds its rows. out->is_interrupted ends it early.
CR_MUST_CHECK cr_status lrc_contest_enter(lrc_contest *contest, lrc_entry *entry, cr_error *err);

/// Opens model and kept runs of a task; close after a failure too.
CR_MUST_CHECK cr_status lrc_contest_open(lrc_contest *contest, const lrc_task *task, cr_error *err);
void lrc_contest_close(lrc_contest *contest);
