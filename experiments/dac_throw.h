// SPDX-License-Identifier: MIT
//
// Throws of one planar body under three laws: the analytic one that labels (GS), nets with guards
// (ours), nets alone (PDD).

#pragma once

#include "learn/augmented.h"

#include "experiment.h"

enum { DAC_OURS, DAC_GS, DAC_PDD, DAC_LAWS, DAC_TRIALS = 10 };

/// Where a throw begins: x and the vertical velocity are 0.
typedef struct dac_start {
    double height, angle_deg, along, spin; // m, degrees, m/s, rad/s
} dac_start;

/// What the paper says of it, by law.
typedef struct dac_figure {
    double n_bounce, distance, angle_deg;
} dac_figure;

typedef struct dac_trial {
    dac_start start;
    dac_figure paper[DAC_LAWS];
} dac_trial;

/// What came out.
typedef struct dac_throw {
    dac_figure figure;
    double penetration; // largest, m
} dac_throw;

/// The models of a scene, with nets of their own. Release with dac_models_clear.
typedef struct dac_models {
    cr_model *model[DAC_LAWS];
    cri_augmented_score ours[CRI_GROUND_KINDS], pdd[CRI_GROUND_KINDS];
    double seconds[DAC_LAWS]; // of training
    bool is_interrupted;
} dac_models;

/// Trains both on the same samples, epochs and shapes.
CR_MUST_CHECK cr_status dac_models_train(const char *scene, const char *name,
                                         const cri_experiment_options *options, dac_models *out,
                                         cr_error *err);
void dac_models_clear(dac_models *models);

/// A throw over so many seconds, by stepper end or located.
CR_MUST_CHECK cr_status dac_throw_run(const dac_models *models, int law, const char *stepper,
                                      const dac_start *start, double seconds, dac_throw *out,
                                      cr_error *err);

/// Adds rows on the accuracy of the nets.
void dac_tell_accuracy(const dac_models *models, cri_experiment_result *out);
