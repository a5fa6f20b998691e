// SPDX-License-Identifier: MIT
//
// Throws of one planar body under three laws: the analytic one that labels (GS), nets with guards
// (ours), nets alone (PDD).

#pragma once

#include "learned/augmented.h"

#include "experiment.h"

enum { DAC_OURS, DAC_GS, DAC_PDD, DAC_NCP, DAC_LAWS, DAC_PAPER = DAC_NCP, DAC_TRIALS = 10 };

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
    dac_figure paper[DAC_PAPER];
} dac_trial;

/// What came out.
typedef struct dac_throw {
    dac_figure figure;
    double penetration; // largest, m
    int n_touch;        // steps with a contact
    int n_slide;        // of which sliding
} dac_throw;

/// The models of a scene, with nets of their own. Release with dac_models_clear.
typedef struct dac_models {
    cr_model *model[DAC_LAWS]; // ncp has that of GS
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

/// Largest distance (m) and angle (degrees) of a throw by a law to that of GS, end steps.
CR_MUST_CHECK cr_status dac_throw_compare(const dac_models *models, int law, const dac_start *start,
                                          double seconds, double off[2], cr_error *err);

/// Adds a row on steps per second of ours, of a throw at rest and moving.
void dac_tell_speed(const dac_models *models, const dac_start *start, cri_experiment_result *out);

/// Nets of one body, without a rival. Release with dac_nets_clear.
typedef struct dac_nets {
    cri_ground_nets nets;
    cri_augmented_score score[CRI_GROUND_KINDS];
    double seconds; // of training
    bool is_interrupted;
    cr_arena *arena;
} dac_nets;

CR_MUST_CHECK cr_status dac_nets_train(const char *scene, const char *name,
                                       const cri_experiment_options *options, dac_nets *out,
                                       cr_error *err);

/// The same; is_absolute takes the paper's loss of regressors.
CR_MUST_CHECK cr_status dac_nets_train_by(const char *scene, const char *name,
                                          const cri_experiment_options *options, bool is_absolute,
                                          dac_nets *out, cr_error *err);

/// The same by this library's loss; mu_static above 0: forces of a step are inputs.
CR_MUST_CHECK cr_status dac_nets_train_with(const char *scene, const char *name,
                                            const cri_experiment_options *options, double mu_static,
                                            dac_nets *out, cr_error *err);
void dac_nets_clear(dac_nets *nets);

/// Adds rows on the accuracy of the classifiers and regressors.
void dac_tell_score(const cri_augmented_score score[CRI_GROUND_KINDS], cri_experiment_result *out);

/// Adds rows on the accuracy of the nets.
void dac_tell_accuracy(const dac_models *models, cri_experiment_result *out);
