// SPDX-License-Identifier: MIT
//
// All trainings of one case, and what they came to.

#pragma once

#include "cdl_case.h"

enum { CDL_RECIPE_MOST = 2, CDL_RUN_MOST = 64 };

/// One training.
typedef struct cdl_job {
    int variant, recipe, run;
    cdl_score score;
    cr_status status;
    bool is_done;
    double *p; // of the first run, kept for the page; else NULL
} cdl_job;

typedef struct cdl_study {
    const cdl_case *c;
    const cri_experiment_options *options;
    cri_learner_recipe recipe[CDL_RECIPE_MOST];
    int n_epoch[CDL_RECIPE_MOST];
    int n_recipe, n_run, n_job;
    cdl_job *job;
    cr_arena *memory;
    int n_done;
    bool is_stopped;
} cdl_study;

/// Rows and page of a study.
CR_MUST_CHECK cr_status cri_cdl_tell(const cdl_study *s, cri_experiment_result *out, cr_error *err);
