// SPDX-License-Identifier: MIT
//
// What the experiments of paper 001 share: a recording made by a known step, models trained on it,
// and how well each goes on from starts that it has and has not seen.

#pragma once

#include "cdl.h"

#include "points/learn/learner.h"

enum { CDL_Q_MOST = 4, CDL_VARIANT_MOST = 6, CDL_TEST_MOST = 12, CDL_TOUCH_MOST = 4 };

/// A model of the tables.
typedef struct cdl_variant {
    const char *name;
    cri_learner_kind kind;
    bool has_no_projection;
    bool has_no_signal; // its touches are proposed from velocity jumps
    double paper;       // RMSE of its single run, NAN: none
    double paper_mean;  // over 5 runs, NAN: none
} cdl_variant;

/// One experiment. Everything is constant.
typedef struct cdl_case {
    cri_balls points;
    int n_q, n_contact;
    const cri_central_contact *touch; // (n_contact)
    cri_projection projection;
    bool learns_restitution; // starts from that of touch
    double restitution;      // of the truth
    bool learns_damping;     // starts from 0
    double damping;          // of the truth, N s/m
    double dt;               // s
    double noise;            // of q and v
    int n_row;               // states of a recording
    int n_train;             // recordings
    const double *train;     // (n_train, n_x) starts
    const double *hold;      // (n_x) start of the recording that recipes are chosen by
    int n_test;              //
    const double *test;      // (n_test, n_x) other starts
    int n_test_row;          // states of a test
    int n_variant;           //
    cdl_variant variant[CDL_VARIANT_MOST];
    int epoch_quick, epoch_annealed, epoch_paper;
    double l2_annealed, l2_paper;
    bool fits_starts;   // recipes are three: the first fits first states of windows too
    bool follows_whole; // recipes are three: the last goes over whole recordings too

    /// The true step: x_next (n_x), touch (n_contact).
    void (*step)(const struct cdl_case *self, const double *x, double *x_next, double *touch);
    /// True dV/dq (n_q) and V of unit masses.
    double (*potential)(const struct cdl_case *self, const double *q, double *g);
} cdl_case;

/// Rows of a path: states and touches, the first of which are 0.
typedef struct cdl_path {
    int n_row;
    double *x;     // (n_row, n_x)
    double *touch; // (n_row, n_contact)
} cdl_path;

/// The true motion from x0.
CR_MUST_CHECK bool cri_cdl_truth(const cdl_case *c, const double *x0, int n_row, cdl_path *out,
                                 cr_arena *arena);

/// Recordings from n_start starts (n_start, n_x) with noise of a seed, cut into windows of horizon
/// steps.
CR_MUST_CHECK bool cri_cdl_record(const cdl_case *c, int n_start, const double *start,
                                  uint64_t seed, int horizon, cri_touch_data *out, cr_arena *arena);

/// The true motion from x0, and the model's behind it.
CR_MUST_CHECK bool cri_cdl_follow(const cdl_case *c, const cri_learner *learner, const double *p,
                                  const double *x0, cdl_path path[2], int n_row, cr_arena *arena);

/// Energy of a state in the true potential, J.
double cri_cdl_energy(const cdl_case *c, const double *x);

/// How good a trained model is.
typedef struct cdl_score {
    double rmse;      // over the recording's own span, from its clean start: the paper's figure
    double test_rmse; // median over the other starts
    double bounce;    // steps, median error of touch times over the other starts, 5 s
    double missed;    // share of touches that the model makes too few or too many
    double force;     // size of the relative error of its mean along the orbits of the other starts
    double ripple;    // relative rms error of the force there
    double energy;  // largest relative change of energy over the recording's span, NAN: it is lost
    double contact; // largest touch probability, where nothing touches
    double restitution; // learned
    double damping;     // learned, N s/m
    double held_out;    // loss of windows of a recording that was not trained on; tuning alone
    double seconds;     // of training, of its own thread
} cdl_score;

CR_MUST_CHECK bool cri_cdl_score(const cdl_case *c, const cri_learner *learner, const double *p,
                                 cdl_score *out, cr_arena *arena);

/// A model of the case; the caller clears it.
CR_MUST_CHECK bool cri_cdl_learner(const cdl_case *c, const cdl_variant *variant, cri_learner *out);

/// Trains all variants and fills rows and report.
CR_MUST_CHECK cr_status cri_cdl_run(const cdl_case *c, const char *name,
                                    const cri_experiment_options *options,
                                    cri_experiment_result *out, cr_error *err);

/// The true motion and one model's, as charts.
CR_MUST_CHECK bool cri_cdl_page(const cdl_case *c, const char *name, const cri_learner *learner,
                                const double *p, cri_report *report, cr_arena *arena);

/// Median, mean, standard error and largest of n numbers, which are sorted.
typedef struct cdl_spread {
    double median, mean, error, most;
} cdl_spread;
cdl_spread cri_cdl_spread(int n, double *value);
