// SPDX-License-Identifier: MIT
//
// What the experiments of paper 000 share: cases, models, and how good a trained model is.

#pragma once

#include "experiment.h"

#include "points/learn/points_train.h"

enum { DCS_MODEL_MOST = 8, DCS_RATIO_MOST = 4, DCS_STATES = 101, DCS_LONG = 51 };

/// A model by its name: the law of contact and the form of motion.
typedef struct dcs_model {
    const char *name;
    const char *law;
    cri_points_form form;
    cri_points_hit hit;
} dcs_model;

/// Figures of the paper for one model, NAN: it has none.
typedef struct dcs_paper {
    const char *model;
    double error; // of trajectories, Table S.5 (E6)
    double friction, restitution;
    double ratio[DCS_RATIO_MOST]; // of mass 2 to 5 to mass 1
} dcs_paper;

/// How much is trained on.
typedef struct dcs_size {
    int n_train, n_test; // windows; validation has as many as the test
    int n_epoch, batch;
    int n_hidden, width; // of the potential's net
    double rate;         // of the net
    int n_point;         // of a rope
    const char *models;  // when none is asked for
    double paper_error;  // of cm-clnn at this size, 0: that of the table
} dcs_size;

typedef struct dcs_case {
    const char *name;  // of the experiment
    const char *scene; // of cri_points_scene_create
    bool is_elastic;   // energy is conserved
    bool has_friction; // rows of a limit have none
    dcs_size size[2];  // quick, full
    int n_paper;
    const dcs_paper *paper;
} dcs_case;

/// How a study differs from a task. What is zero is as the task has it.
typedef struct dcs_twist {
    const char *task;  // name of its experiment
    const char *label; // in rows, behind the model
    const char *model; // its one model
    const char *law;   // of the data, or "generators"; NULL: cone
    int n_train;       // windows, with as many steps of training
    int n_point;       // of a rope
    int n_hidden, width;
    double epsilon;    // of cone-reg, -1: learned
    double noise;      // of the windows, standard deviation
    double paper_loss; // of validation
    double paper_cone; // error on data of the law cone
    dcs_paper paper;   // what the paper came to
    bool is_only_full; // left out of --quick
    bool is_small;     // nets are those of --quick in --full too
} dcs_twist;

/// What a trained model comes to on windows that it has not seen.
typedef struct dcs_score {
    double error, half;        // sum of r_t over five states, and 95 % half width of its mean
    double error_long;         // mean of r_t over 50 steps
    double half_long;          // and of its mean
    double drift, own_drift;   // of energy along 100 steps: of the model, of the true simulation
    double r[DCS_STATES];      // mean r_t
    double energy[DCS_STATES]; // of the first window, J
    double true_energy[DCS_STATES];
    int n_lost; // windows in which a step fails
    double seconds, best;
    int best_epoch;
    double n_dropped; // windows of all epochs in which a step failed
} dcs_score;

/// One trained model.
typedef struct dcs_trained {
    const dcs_case *c;
    const dcs_size *size;
    const dcs_model *model;
    const dcs_twist *twist; // NULL: none
    const char *name;       // in rows
    const cri_points_scene *truth;
    const cri_points_learner *learner;
    const cri_points_data *train;
    const double *p;      // values of what was learned
    const double *spread; // (2 n_coefficient) standard errors of friction and restitution, or NULL
    dcs_score score;
} dcs_trained;

/// Fills the score of a model on windows of the truth. False when there is no memory.
CR_MUST_CHECK bool cri_dcs_score(const cri_points_scene *truth, const cri_points_runner *model,
                                 const cri_points_data *test, dcs_score *out);

/// Fills error (2 n_coefficient): standard errors of friction, then of restitution, infinite where
/// the windows for training do not show it; for a model with a law. False when there is no memory.
CR_MUST_CHECK bool cri_dcs_precision(const dcs_trained *t, double *error, cr_arena *arena);

/// Trains what options ask for, or the one model of a twist.
CR_MUST_CHECK cr_status cri_dcs_run(const dcs_case *c, const dcs_twist *twist,
                                    const cri_experiment_options *options,
                                    cri_experiment_result *out, cr_error *err);

/// Makes data of Tables S.4 and S.5 as the paper's seem to be; it has no derivatives.
extern const cri_law cri_dcs_generators;

/// A task by the name of its experiment, which there must be.
const dcs_case *cri_dcs_find(const char *name);

/// A study by the name of its experiment.
CR_MUST_CHECK cr_status cri_dcs_study_run(const cri_experiment *self,
                                          const cri_experiment_options *options,
                                          cri_experiment_result *out, cr_error *err);

/// Times of iterations, Table 3.
CR_MUST_CHECK cr_status cri_dcs_scaling_run(const cri_experiment *self,
                                            const cri_experiment_options *options,
                                            cri_experiment_result *out, cr_error *err);

/// The break shot.
CR_MUST_CHECK cr_status cri_dcs_billiards_run(const cri_experiment *self,
                                              const cri_experiment_options *options,
                                              cri_experiment_result *out, cr_error *err);

/// Throws of a disk.
CR_MUST_CHECK cr_status cri_dcs_throw_run(const cri_experiment *self,
                                          const cri_experiment_options *options,
                                          cri_experiment_result *out, cr_error *err);

/// How a penetration is repaired.
CR_MUST_CHECK cr_status cri_dcs_penetration_run(const cri_experiment *self,
                                                const cri_experiment_options *options,
                                                cri_experiment_result *out, cr_error *err);

/// Seconds of a clock that goes on while threads work.
double cri_dcs_seconds(void);

/// Rows and page of one model.
void cri_dcs_tell(const dcs_trained *t, cri_report *report, cri_experiment_result *out);

/// A model by name, NULL: there is none.
const dcs_model *cri_dcs_model(int i);
