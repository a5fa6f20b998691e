// SPDX-License-Identifier: MIT
//
// Results of the commands as JSON files, a contract that scripts rely on.
//
//     simulate  {"scene","law","dt","steps","qpos","qvel","energy":[first,last],"max_penetration",
//                "seconds"}; max_penetration is null for weights, whose overlaps nobody knows
//     gradient  {"scene","law","loss","status","entries":[{"name","value","difference","error"}],
//                "seconds_forward","seconds_gradient"}; difference and error only when checked,
//                and "held", the reason, of entries whose derivative is 0 whatever the motion
//     fit       {"loss","parameters":[{"name","start","value","stderr","identifiable"}],"heldout",
//                "seconds","rms","iterations","stop","correlation","recordings":[{"file","rms"}]};
//                an entry may have "recording", whose initial value it is, and "note", a sentence;
//                correlation is of the first entries: the shared ones, or all of one recording
//     compare   {"rows":[{"law","status","loss","max_penetration","energy_change","gradient_error",
//                "gradient_norm","step_us","gradient_us","reason","checked","undecided","wrong",
//                "impacts","targets":[[x,y,z]]}],"scene","stepper","steps","entries":[names],
//                "sentences":[{"kind","text"}]}
//     plan      {"scene","law","method","loss","cost","status","iterations",
//                "controls":[{"name","start","value"}],"targets":[{"name","distance"}],"seconds",
//                "history"}
//     linearize {"scene","law","dt","step","status","state","controls","A","B"}; A and B by rows
//     bench     {"rows":[{"name","value","unit"}]}
//     experiment {"experiment","mode","seed","seconds",
//                "rows":[{"name","value","paper","unit","better"}]}; better: lower, higher, match
//     learn     {"system","model","data":[files],"contacts":[{"name","restitution","touches"}],
//                "windows","epochs","loss","rmse","heldout","seconds"}
//     params    {"entries":[{"name","value","lower","upper"}]}, names as --wrt takes them
//     laws      {"laws":[{"name","summary"}]}
//     experiments {"experiments":[{"name","summary"}]}
//     version   {"version","commit","build":{"HDF5": true, ...}}
//
// A number that does not exist is null. Files appear whole or not at all.

#pragma once

#include "base/base.h"
#include "learned/augmented.h"
#include "optimize/differ.h"
#include "optimize/fit.h"
#include "optimize/linearise.h"
#include "optimize/plan.h"

typedef struct cri_nets_result {
    const char *scene;
    const char *law;                     // that labelled
    const cri_ground_sampling *sampling; // NULL: recordings
    const cri_ground_nets *nets;
    const cri_augmented_score *score; // (CRI_GROUND_KINDS)
    const cri_augmented_score *pdd;   // (CRI_GROUND_KINDS) the rival's
    double seconds;
} cri_nets_result;

/// {"system", "scene", "law", "body", "surface", "sampling": {"along", "closing", "opening"} or
/// null, "kinds": [{"kind", "spin", "train", "test", "accuracy", "confusion": [[..] by label],
/// "friction", "impulse_pdd"}], "seconds"}; spin is null where states were recorded
CR_MUST_CHECK cr_status cri_result_nets(const char *path, const cri_nets_result *result,
                                        cr_error *err);

typedef struct cri_simulate_result {
    const char *scene;
    const char *law;
    double dt; // s
    int n_step;
    int n_q;
    int n_v;
    const double *x;        // (n_q + n_v) the last state
    double energy[2];       // J, first and last
    double max_penetration; // m
    double seconds;
} cri_simulate_result;

typedef struct cri_gradient_entry {
    const char *name;
    double value;
    double difference;  // when checked
    double uncertainty; // of the difference
    double error;       // relative
    const char *held;   // why the value is 0 whatever the motion, NULL: it is not
} cri_gradient_entry;

typedef struct cri_gradient_result {
    const char *scene;
    const char *law;
    const char *status; // contract class in words
    double loss;
    bool is_checked;
    int n_entry;
    const cri_gradient_entry *entry;
    double seconds_forward;
    double seconds_gradient;
} cri_gradient_result;

typedef struct cri_compare_result {
    const char *scene;
    const char *stepper;
    int n_step;
    int n_target;
    const cri_selection *selection;
    const cri_compare *compare;
    const cri_differ *differ;
} cri_compare_result;

typedef struct cri_plan_result {
    const char *scene;
    const char *law;
    const char *method;
    const cri_plan *plan;
    int n_control;
    const char *const *control; // (n_control) names
    int n_target;
    const char *const *target; // (n_target) as the user wrote them
    double seconds;
} cri_plan_result;

typedef struct cri_linear_result {
    const char *scene;
    const char *law;
    double dt; // s
    int at_step;
    const cri_linearisation *map;
    const char *const *row;    // (n) names of tangent coordinates
    const char *const *column; // (n_u) names of controls
} cri_linear_result;

typedef struct cri_bench_row {
    char name[64];
    double value;
    const char *unit;
} cri_bench_row;

/// One figure of an experiment.
typedef struct cri_experiment_row {
    char name[96];
    double value;
    double paper; // NAN: it has none
    const char *unit;
    const char *better; // lower, higher or match
} cri_experiment_row;

typedef struct cri_experiment_file {
    const char *experiment;
    const char *mode; // quick or full
    double seed;
    double seconds;
    int n_row;
    const cri_experiment_row *row;
} cri_experiment_file;

/// A contact of a learned system.
typedef struct cri_learn_contact {
    const char *name;
    double restitution; // NAN: the model has none
    int n_touch;        // in the data
    double friction;    // NAN: the model has none
} cri_learn_contact;

typedef struct cri_learn_result {
    const char *kind; // of the system
    const char *model;
    int n_file;
    const char *const *file;
    int n_contact;
    const cri_learn_contact *contact;
    int n_window;
    int n_epoch;
    double loss;    // of the last epoch
    double rmse;    // over whole recordings, from their first states; of points over windows
    double heldout; // the same of the one held out, NAN: none
    double seconds;
} cri_learn_result;

/// One entry of a scene's vectors.
typedef struct cri_name_row {
    cr_vector vector;
    const char *name; // without the prefix x0: or u:
    double value;
    double lower; // of its domain, infinite when there is none
    double upper;
    bool is_open; // strictly above lower
} cri_name_row;

/// A contact law in words; promise may be NULL.
typedef struct cri_law_row {
    const char *name;
    const char *summary;
    const char *promise;
    bool needs_nets;    // only scenes that name their weights take it
    bool is_energy;     // needs bodies that are apart at the start
    const char *serves; // a system that alone takes it, NULL: scenes do
} cri_law_row;

CR_MUST_CHECK cr_status cri_result_simulate(const char *path, const cri_simulate_result *result,
                                            cr_error *err);
CR_MUST_CHECK cr_status cri_result_gradient(const char *path, const cri_gradient_result *result,
                                            cr_error *err);
CR_MUST_CHECK cr_status cri_result_fit(const char *path, const cri_fit_problem *problem,
                                       const cri_fit *fit, double seconds, cr_error *err);

/// The values of a fit as CSV with the columns name, recording, start, value, stderr, identifiable;
/// recording is a file, empty for shared values.
CR_MUST_CHECK cr_status cri_result_fit_table(const char *path, const cri_fit_problem *problem,
                                             const cri_fit *fit, cr_error *err);
CR_MUST_CHECK cr_status cri_result_compare(const char *path, const cri_compare_result *result,
                                           cr_error *err);
CR_MUST_CHECK cr_status cri_result_plan(const char *path, const cri_plan_result *result,
                                        cr_error *err);
CR_MUST_CHECK cr_status cri_result_linear(const char *path, const cri_linear_result *result,
                                          cr_error *err);
CR_MUST_CHECK cr_status cri_result_bench(const char *path, int n_row, const cri_bench_row *row,
                                         cr_error *err);
CR_MUST_CHECK cr_status cri_result_experiment(const char *path, const cri_experiment_file *result,
                                              cr_error *err);
CR_MUST_CHECK cr_status cri_result_learn(const char *path, const cri_learn_result *result,
                                         cr_error *err);
CR_MUST_CHECK cr_status cri_result_params(const char *path, int n_row, const cri_name_row *row,
                                          cr_error *err);
CR_MUST_CHECK cr_status cri_result_laws(const char *path, int n_law, const cri_law_row *law,
                                        cr_error *err);

/// A list of names with their summaries, under the key what.
CR_MUST_CHECK cr_status cri_result_names(const char *path, const char *what, int n,
                                         const char *(*row)[2], cr_error *err);

/// What the build has.
typedef struct cri_build_part {
    const char *name;
    bool is_there;
} cri_build_part;

CR_MUST_CHECK cr_status cri_result_version(const char *path, const char *commit, int n,
                                           const cri_build_part *part, cr_error *err);

/// What became of a law in words: the class of its gradient, "refused" when there is none, "failed"
/// when there is no motion either, "interrupted" when it was not reached.
void cri_compare_text(const cri_compare *compare, int i, char text[64]);

/// Words for cr_grad bits, such as "exact" or "discrete, one-sided", in text.
void cri_grad_text(int grad, char text[64]);
