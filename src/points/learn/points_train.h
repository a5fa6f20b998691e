// SPDX-License-Identifier: MIT
//
// Models of points with contact as they are learned (DCS, paper 000): CLNN and CHNN, whose masses,
// friction, restitution and potential come from windows of motion alone.
//
// The numbers w that are trained stand where the parameters p of the scene stand:
//
//     mass, lam, stiffness = exp w;   friction = w >= 0;   restitution = (w + 3)/6, |w| <= 3
//
// others = w. Gravity is constant and not used, epsilon constant or log(1 + exp w). The potential
// is a net, whose weights come last, and along the links of a rope springs of one stiffness. In
// baselines a second net stands for the law, its weights behind those:
//
//     net          MLP-CD-CLNN: v += net([x | v]) where the state behind a smooth step overlaps
//     relations    IN-CP-CLNN: v += an interaction network of that state, wherever it is. It is
//                  given the true friction and restitution, and the learned masses
//     alone        IN-CP-SP: v' = an interaction network of the state, x' = x + dt v. It is given
//                  all true properties, the gradient of the potential too; there is no other motion

#pragma once

#include "learned/trainer.h"
#include "points/learn/interaction.h"
#include "points/learn/points_data.h"

typedef enum cri_points_hit {
    CRI_HIT_LAW,
    CRI_HIT_NET,
    CRI_HIT_RELATIONS,
    CRI_HIT_ALONE,
} cri_points_hit;

/// What a model is made of.
typedef struct cri_points_learner_def {
    const char *name; // of cri_points_scene_create
    int n;            // of a rope
    const char *law;  // cone, cone-reg, lcp, ...
    cri_points_form form;
    int n_hidden, width; // layers of the potential's net, and of that for contacts
    cri_points_hit hit;
    cri_interaction_size relations; // when there are any
    bool learns_epsilon;
} cri_points_learner_def;

typedef struct cri_points_learner {
    cri_points_scene *scene; // with the net as its potential, but of CRI_HIT_ALONE
    const cri_mlp *net;      // of the scene; NULL: the true potential
    cri_points_hit kind;
    const cri_mlp *hit; // of CRI_HIT_NET
    const cri_points_relations *relations;
    int i_hit; // weights of either among w
    int n_w;
    bool learns_epsilon, learns_stiffness;
} cri_points_learner;

/// What a step of a model leaves for its adjoint.
typedef struct cri_points_learner_tape {
    int B;
    bool *has_failed;            // (B)
    const cri_points_tape *tape; // of the smooth motion and the law
    int n;                       // rows that overlap behind the smooth step, of CRI_HIT_NET
    int *row;                    // (n)
    cri_mlp_cache cache;
    cri_points_relations_tape relations;
} cri_points_learner_tape;

/// Builds a model; the caller clears it.
CR_MUST_CHECK cr_status cri_points_learner_create(const cri_points_learner_def *def,
                                                  cri_points_learner *out, cr_error *err);
void cri_points_learner_clear(cri_points_learner *l);

/// First numbers of a training: log masses 0.1 N(0, 1), friction U(0, 1) if all contacts share it,
/// else U(0, 0.1), restitution's N(0, 1), epsilon's N(0, 1), log stiffness as log masses, nets
/// orthogonal. What a model is given
/// stands there as it is. False when there is no memory.
bool cri_points_learner_start(const cri_points_learner *l, uint64_t seed, double *w);

/// Parameters p (n_w) of the scene from w (n_w).
void cri_points_learner_values(const cri_points_learner *l, const double *w, double *p);

/// The stepper of a model.
const bool *cri_points_learner_stepper(const void *learner, const double *p, int B, const double *x,
                                       double *x_next, const cri_points_memory *m);

/// Adds to shard->loss the mean |x - x*| over the five states of its windows, summed over them, and
/// to w_adj, unless it is NULL, the slope. Windows in which a step fails add nothing but to
/// n_dropped; of steps trained one by one those before it count. False when there is no memory.
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

// for tests

/// One step of B states; NULL when there is no memory.
const cri_points_learner_tape *cri_points_learner_step(const cri_points_learner *l, const double *p,
                                                       int B, const double *x, double *x_next,
                                                       const cri_points_memory *m);

/// Its adjoint: adds to x_adj (B, n_x) and p_adj (n_w). False when there is no memory.
bool cri_points_learner_pull(const cri_points_learner *l, const double *p,
                             const cri_points_learner_tape *tape, const double *x_next_adj,
                             double *x_adj, double *p_adj, cr_arena *scratch);
