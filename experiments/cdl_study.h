// SPDX-License-Identifier: MIT
//
// All trainings of one case, and what they came to.

#pragma once

#include "cdl_case.h"
#include "kept.h"

enum { CDL_RECIPE_MOST = 3, CDL_RUN_MOST = 64, CDL_TUNING = -1 };

/// How to train: over windows, then over whole recordings.
typedef struct cdl_recipe {
    cri_learner_recipe windows;
    int n_epoch;
    int n_whole; // epochs of whole recordings, 0: none
} cdl_recipe;

/// One training.
typedef struct cdl_job {
    int variant, recipe;
    int run; // CDL_TUNING: the one that chooses the recipe
    cdl_score score;
    cr_status status;
    bool is_done;
    double *p; // of the first run, for the page; else NULL
} cdl_job;

typedef struct cdl_study {
    const cdl_case *c;
    const cri_experiment_options *options;
    cdl_recipe recipe[CDL_RECIPE_MOST];
    int n_recipe, n_run;
    int n_job;
    cdl_job *job;                 // (n_job)
    int chosen[CDL_VARIANT_MOST]; // recipe, -1: not known
    cri_kept kept;
    cr_arena *memory;
    int n_done, n_all; // trainings
    bool is_stopped;
} cdl_study;

/// Rows and page of a study.
CR_MUST_CHECK cr_status cri_cdl_tell(const cdl_study *s, cri_experiment_result *out, cr_error *err);
