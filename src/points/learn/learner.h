// SPDX-License-Identifier: MIT
//
// Learning the motion of points from recordings with touch signals: the models of paper 001, one
// interface.
//
//   cdl            central-difference step; potential net, contact net; the measured touch gates
//                  the impulse in training, the contact net in prediction
//   cdl-notouch    the same without touch: the contact net's own sigmoid gates the impulse
//   resnet, resnetcontact, vin   see baseline.h
//
// Loss of a window of H steps from row s, mean over the windows of a batch:
//
//   sum_{n=1..H} [ mean_k (x_n - x_{s+n})_k^2 + mean_c crossentropy(logit_n, touch_{s+n})_c ]
//
// The second term is there for cdl and resnetcontact. Penalties on weights are the optimiser's. x_0
// is row s, or fitted: row s + shift, with mean_k shift_k^2 as the term of n = 0.

#pragma once

#include "base/nn/adam.h"
#include "learned/trainer.h"
#include "points/learn/baseline.h"
#include "points/learn/central.h"

typedef enum cri_learner_kind {
    CRI_LEARN_CDL,
    CRI_LEARN_CDL_NOTOUCH,
    CRI_LEARN_RESNET,
    CRI_LEARN_RESNETCONTACT,
    CRI_LEARN_VIN,
} cri_learner_kind;

enum { CRI_N_LEARNER_KIND = CRI_LEARN_VIN + 1, CRI_LEARNER_GROUP_MOST = 16 };

/// States at equal steps, one recording behind the other, and where windows begin.
typedef struct cri_touch_data {
    int n_q, n_touch;
    int n_row;
    double dt;           // s
    const double *x;     // (n_row, 2 n_q)
    const double *touch; // (n_row, n_touch) 1: touched in the step that led to this row
    int horizon;         // steps of a window
    int n_window;
    const int *window; // (n_window) their first rows
} cri_touch_data;

/// What a learner is made from.
typedef struct cri_learner_def {
    cri_learner_kind kind;
    cri_balls points;
    const double *mass;               // (n_body) kg
    int n_contact;                    //
    const cri_central_contact *touch; // (n_contact)
    cri_projection projection;
    bool learns_restitution; // else it is known
    bool learns_damping;
    int n_hidden; // units of the potential, and of the residual net
    int n_signal; // units of each of two layers of the contact net
    cri_activation act;
    double dt;        // s
    const double *x0; // (n_x), NULL: zero
} cri_learner_def;

/// The model that is trained; one of the two pointers is NULL. Constant once made.
typedef struct cri_learner {
    cri_learner_kind kind;
    cri_central *central;
    cri_baseline *baseline;
    bool learns_restitution, learns_damping;
    int n_q, n_touch, n_p;
} cri_learner;

/// Terms of a loss, sums over the windows.
typedef struct cri_learner_terms {
    double motion;
    double touch;
    int n_failed; // windows with a step that was not finite
} cri_learner_terms;

/// "cdl" and so on, and back: -1 for a name that is none.
const char *cri_learner_name(cri_learner_kind kind);
int cri_learner_find(const char *name);

/// False for lack of memory.
CR_MUST_CHECK bool cri_learner_create(const cri_learner_def *def, cri_learner *out);

/// Releases what learner owns. All zero is allowed.
void cri_learner_clear(cri_learner *learner);

/// Fills p (n_p) with what is known and weights to start from.
CR_MUST_CHECK bool cri_learner_start(const cri_learner *learner, uint64_t seed, double *p,
                                     cr_arena *work);

/// Adds the loss of n_window windows (numbers into data->window) to terms and, divided by n_mean,
/// its slope to p_adj (n_p, NULL: not wanted). False for lack of memory.
typedef struct cri_learner_batch {
    const cri_touch_data *data;
    int n_window;
    const int *window;   // (n_window)
    double n_mean;       // windows that the slope is a mean of
    const double *shift; // (data->n_window, n_x) first states less first rows, NULL: 0
    double *shift_adj;   // as shift, added to when p_adj is; NULL: not wanted
} cri_learner_batch;

CR_MUST_CHECK bool cri_learner_loss(const cri_learner *learner, const cri_learner_batch *batch,
                                    const double *p, cri_learner_terms *terms, double *p_adj,
                                    cr_arena *arena);

/// Runs from x0 (n_x): path (n_step + 1, n_x), touch (n_step + 1, n_touch), whose first row is 0.
/// False for lack of memory; a step that is not finite stands still.
CR_MUST_CHECK bool cri_learner_predict(const cri_learner *learner, const double *p,
                                       const double *x0, int n_step, double *path, double *touch,
                                       cr_arena *arena);

/// Probability (n_row, n_touch) of touch in the step from x (n_row, n_x); for models with a contact
/// net.
CR_MUST_CHECK bool cri_learner_touch(const cri_learner *learner, const double *p, int n_row,
                                     const double *x, double *probability, cr_arena *arena);

/// dV/dq (n_row, n_q) at q (n_row, n_q); false also for models without a potential.
CR_MUST_CHECK bool cri_learner_force(const cri_learner *learner, const double *p, int n_row,
                                     const double *q, double *g, cr_arena *arena);

/// How to train on a recording.
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

// for tests

/// Which numbers of p are trained: group (CRI_LEARNER_GROUP_MOST); l2 is the penalty on the kernels
/// of the potential or residual net, l2_touch that on those of the contact net. Returns how many.
int cri_learner_groups(const cri_learner *learner, double l2, double l2_touch,
                       cri_adam_group *group);
