// SPDX-License-Identifier: MIT
//
// Models of points with contact as they are learned (DCS, paper 000): CLNN and CHNN, whose masses,
// friction, restitution and potential come from windows of motion alone.
//
// The numbers w that are trained stand where the parameters p of the scene stand:
//
//     mass, lam = exp w;   friction = w >= 0;   restitution = (w + 3)/6, |w| <= 3;   others = w
//
// Gravity, stiffness and epsilon are constant; the potential is a net, whose weights come last.
// As a baseline a second net may stand for the law (MLP-CD-CLNN): v += net([x | v]) where the state
// behind a smooth step overlaps. Its weights come behind those of the potential.

#pragma once

#include "learn/points_data.h"
#include "learn/trainer.h"
#include "nn/mlp.h"

/// What a model is made of.
typedef struct cri_points_learner_def {
    const char *name; // of cri_points_scene_create
    int n;            // of a rope
    const char *law;  // cone, cone-reg, lcp, ...
    cri_points_form form;
    int n_hidden, width; // layers of the potential's net
    bool has_hit_net;    // contacts by a net of the same layers, not by the law
} cri_points_learner_def;

typedef struct cri_points_learner {
    cri_points_scene *scene; // with the net as its potential
    const cri_mlp *net;      // of the scene
    const cri_mlp *hit;      // NULL: contacts by the law
    int i_hit;               // its weights among w
    int n_w;
} cri_points_learner;

/// What a step of a model leaves for its adjoint.
typedef struct cri_points_learner_tape {
    const cri_points_tape *tape;
    int n;    // rows that overlap behind the smooth step, when a net makes their contacts
    int *row; // (n)
    cri_mlp_cache cache;
} cri_points_learner_tape;

/// Builds a model; the caller clears it.
CR_MUST_CHECK cr_status cri_points_learner_create(const cri_points_learner_def *def,
                                                  cri_points_learner *out, cr_error *err);
void cri_points_learner_clear(cri_points_learner *l);

/// First numbers of a training: log masses 0.1 N(0, 1), friction U(0, 1), restitution's N(0, 1),
/// net orthogonal. False when there is no memory.
bool cri_points_learner_start(const cri_points_learner *l, uint64_t seed, double *w);

/// Parameters p (n_w) of the scene from w (n_w).
void cri_points_learner_values(const cri_points_learner *l, const double *w, double *p);

/// One step of B states; NULL when there is no memory.
const cri_points_learner_tape *cri_points_learner_step(const cri_points_learner *l, const double *p,
                                                       int B, const double *x, double *x_next,
                                                       const cri_points_memory *m);

/// Its adjoint: adds to x_adj (B, n_x) and p_adj (n_w). False when there is no memory.
bool cri_points_learner_pull(const cri_points_learner *l, const double *p,
                             const cri_points_learner_tape *tape, const double *x_next_adj,
                             double *x_adj, double *p_adj, cr_arena *scratch);

/// The stepper of a model.
const bool *cri_points_learner_stepper(const void *learner, const double *p, int B, const double *x,
                                       double *x_next, const cri_points_memory *m);

/// Adds to shard->loss the mean |x - x*| over the five states of its windows, summed over them, and
/// to w_adj, unless it is NULL, the slope. Windows in which a step fails add nothing but to
/// n_dropped. False when there is no memory.
bool cri_points_window_loss(const cri_points_learner *l, const cri_points_data *data,
                            cri_train_shard *shard, const cri_points_memory *m);

typedef struct cri_points_training {
    const cri_points_learner *learner;
    const cri_points_data *train, *valid;
    int n_epoch;
    int batch;   // windows of a step
    double rate; // of the net; physical numbers have ten times of it. To 0 over the last half
    uint64_t seed;
    int n_thread;
    const char *checkpoint; // file, NULL: none
    const cri_progress *progress;
} cri_points_training;

/// Trains w (n_w) from where it stands; what is kept is best on valid. history as cri_train has it.
CR_MUST_CHECK cr_status cri_points_train(const cri_points_training *t, double *w, double *history,
                                         cri_train_result *out, cr_error *err);
