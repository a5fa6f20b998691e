// SPDX-License-Identifier: MIT
//
// Identification: the values of a selection for which simulations repeat recordings best.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/ensemble.h"
#include "optimize/journal.h"

/// What to fit, and to what. Everything is borrowed.
typedef struct cri_fit_problem {
    const cr_model *model;
    cr_sim_options sim_options;
    const cri_selection *selection;
    int n_recording; // at least 1
    const cri_recording *recording;
    double dt;        // longest step, s
    const double *p;  // (n_p) start values
    const double *x0; // (n_x) for all recordings
    const double *u;  // (n_u) in every step, NULL: zero
    // (n_x) entries of x0 that count although a recording's first row has them; NULL: none
    const bool *is_x0_given;
    const cri_domain *bound; // (n_variable) besides the model's own; NULL: none
    int n_prior;
    const cri_prior *prior; // of variables that are no part of a turn (replay.h)
    cri_loss_kind loss;
    double tuning;                // of a robust loss, 0: the usual one
    int n_held_out;               // recordings at the end, or samples of a single one
    int n_thread;                 // at least 1
    const cri_progress *progress; // may be NULL
    // where it is saved, and goes on from when that is there; NULL: nowhere
    const cri_journal_def *checkpoint;
} cri_fit_problem;

typedef struct cri_fit_entry {
    const char *name; // the selection's
    int variable;     // of the selection
    int recording;    // whose initial value it is, -1: shared by all
    double start;
    double value;
    double deviation;     // standard error; NaN when there is none
    bool is_identifiable; // else why has a sentence
    bool is_at_bound;     // of its domain
    char why[240];        // may have one for an identifiable entry too
} cri_fit_entry;

typedef struct cri_fit {
    int n_entry; // shared ones first, then recording by recording
    int n_shared;
    cri_fit_entry *entry;
    int n_recording;     // fitted, without those held out
    int n_correlated;    // shared entries, and those of the recording when there is only one
    double *correlation; // (n_correlated, n_correlated), NaN where there is none
    double loss;         // what was made least
    double rms;          // of the residuals, in units of the noise where that is given
    double usual;        // the same, from the median when the loss is robust
    double
        noise; // of the recordings, rms, estimated from them alone; at least 1e-4 of their spread
    double *rms_of;  // (n_recording) of each
    double held_out; // rms over what was held out, NaN: nothing was
    int n_held_out;  // numbers that were
    int n_residual;
    int n_iteration; // of all stages
    int n_stage;
    int n_restart;     // searches for another start
    cri_lsq_stop stop; // of the last stage
    int n_history;
    int history_every; // iterations from one to the next
    // (n_history) sqrt(loss / residuals) after iterations; as stages compare more and more samples,
    // it need not fall
    const double *history;
    bool is_interrupted; // progress asked to stop, or saving failed; stop tells whether during the
                         // fit itself, or when only checks of its result were left
    cr_error unsaved;    // why it could not be saved, when its status is not CR_OK
} cri_fit;

/// Fits. What *out points to lives in arena.
CR_MUST_CHECK cr_status cri_fit_run(const cri_fit_problem *problem, cr_arena *arena, cri_fit *out,
                                    cr_error *err);
