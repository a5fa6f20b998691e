// SPDX-License-Identifier: MIT
//
// Training of the nets of law `augmented` (paper 003) and of its rival, pure regression.

#pragma once

#include "learned/ground_data.h"
#include "learned/trainer.h"

typedef struct cri_augmented_options {
    cri_ground_sampling sampling;
    int n_sample[CRI_GROUND_KINDS]; // of which a tenth is held out
    int n_hidden;
    int width[CRI_GROUND_HIDDEN];
    int n_epoch, n_epoch_space; // in a plane, in space
    int batch;
    int n_thread;
    double rate;   // of Adam; falls linearly to 0 over the last three quarters
    double robust; // width beyond which errors count linearly, in standard deviations; 0: squares
    double l2;     // penalty on weights of the standardised nets
    bool is_absolute;  // errors count in kg m/s, as in the paper; else over the scale
    bool is_regressed; // the rival: regressors learn every state, not only sliding ones
    const cri_ground_record *record; // learn from these, not from samples; NULL: from samples
    const cri_progress *progress;
} cri_augmented_options;

/// 15,000 points and 35,000 lines, which have the more inputs, nets 32-32-16, 300 epochs of batches
/// of 256. In space 40,000 points, 160,000 lines and 80,000 surfaces, and 75 epochs: as many steps
/// as with a quarter of the samples and 300 epochs, which learn some of theirs by heart.
cri_augmented_options cri_augmented_options_default(void);

/// The same for recordings, which are few and have outliers: 600 epochs, robust, with a penalty.
cri_augmented_options cri_augmented_options_recorded(const cri_ground_record *record);

/// What held-out samples say of one kind of patch.
typedef struct cri_augmented_score {
    int n_train, n_test;
    int confusion[CRI_GROUND_CLASSES][CRI_GROUND_CLASSES]; // [label][answer]
    bool is_interrupted; // training was, and the nets are what they were by then
    double accuracy;     // of the classifier, part of 1
    double rebound;      // mean error of the regressed restitution, 0: there is none
    double friction;     // 1 - mean |error| / mean |value| of the regressed friction impulse
    double impulse;      // the same over all rows of the impulse
} cri_augmented_score;

/// Counts of a data set under the nets with these weights.
CR_MUST_CHECK bool cri_augmented_judge(const cri_ground_nets *nets, const double *weights,
                                       const cri_ground_data *data, bool is_regressed,
                                       cri_augmented_score *out, cr_arena *work);

/// Fills nets (weights on the arena) and score of each kind. A kind without samples keeps the
/// weights that it starts from.
CR_MUST_CHECK cr_status cri_augmented_train(const cr_model *model,
                                            const cri_augmented_options *options,
                                            cri_ground_nets *nets,
                                            cri_augmented_score score[CRI_GROUND_KINDS],
                                            cr_arena *arena, cr_error *err);
