// SPDX-License-Identifier: MIT
//
// Experiments of the papers, by name: scene, data, loss, and the paper's figures beside ours.

#pragma once

#include "base/arena.h"
#include "base/progress.h"
#include "report/report.h"
#include "report/result.h"

/// What a user asks for.
typedef struct cri_experiment_options {
    bool is_full;           // the paper's size; else the trend in seconds
    uint64_t seed;          // of noise and of first weights
    const char *model;      // one of those the experiment has, NULL: all
    const char *start;      // one of those the experiment has, NULL: all
    int n_run;              // 0: as the experiment has it
    int n_epoch;            // of every training; 0: as the experiment has it
    int n_thread;           // at least 1
    const char *checkpoint; // file of finished runs, NULL: none
    cri_report *report;
    const cri_progress *progress;
} cri_experiment_options;

// 64 runs of 20 trainings with 20 rows each, and more
enum { CRI_EXPERIMENT_ROW_MOST = 1 << 15 };

/// What came out.
typedef struct cri_experiment_result {
    int n_row;
    cri_experiment_row row[CRI_EXPERIMENT_ROW_MOST];
    bool is_interrupted; // rows are of the runs that were done
} cri_experiment_result;

typedef struct cri_experiment {
    const char *name;
    const char *summary;
    const char *models; // names for --model, with spaces between; NULL: it has none
    cr_status (*run)(const struct cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err);
} cri_experiment;

/// All experiments, NULL behind the last.
extern const cri_experiment *const cri_experiments[];

/// NULL: there is none of that name.
const cri_experiment *cri_experiment_find(const char *name);

/// Has it trainings whose epochs may be set?
bool cri_experiment_has_epochs(const cri_experiment *experiment);

/// Does it keep finished runs in a file, and go on from them?
bool cri_experiment_keeps_runs(const cri_experiment *experiment);

/// CR_OK when this build has the parts that it needs for the model, NULL: for all of them; else err
/// names what is missing and how to get it.
CR_MUST_CHECK cr_status cri_experiment_check_parts(const cri_experiment *experiment,
                                                   const char *model, cr_error *err);

/// Names for --start, with spaces between; NULL: it has none.
const char *cri_experiment_starts(const cri_experiment *experiment);

/// Adds a row; paper NAN: it has no such figure. Rows beyond the limit are dropped by assertion.
void cri_experiment_add(cri_experiment_result *result, const char *unit, const char *better,
                        double value, double paper, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
