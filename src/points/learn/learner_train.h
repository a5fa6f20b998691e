// SPDX-License-Identifier: MIT
//
// Training a learner on a recording, by the trainer that knows nothing of it.

#pragma once

#include "learned/trainer.h"
#include "points/learn/learner.h"

/// How to train.
typedef struct cri_learner_recipe {
    const char *name;
    double rate;      // of Adam
    bool is_annealed; // falls linearly to 0, else it is constant
    double l2;        // on the kernels of the potential or residual net
    double l2_touch;  // on those of the contact net
    bool fits_starts; // first states of windows too, else they are the rows
} cri_learner_recipe;

typedef struct cri_learner_training {
    const cri_learner *learner;
    const cri_touch_data *data;
    cri_learner_recipe recipe;
    int n_epoch;
    int batch;     // windows of a step, 0: 32
    bool is_fixed; // p is not trained, first states alone are: the result is the loss of p
    uint64_t seed;
    const char *checkpoint; // file, NULL: none
    const cri_progress *progress;
} cri_learner_training;

/// Trains p (n_p) from where it stands, on this thread alone.
CR_MUST_CHECK cr_status cri_learner_train(const cri_learner_training *training, double *p,
                                          cri_train_result *out, cr_error *err);
