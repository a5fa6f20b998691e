// SPDX-License-Identifier: MIT
//
// Learned steps that know less of mechanics: systems "resnet", "resnetcontact" and "vin".
//
//   resnet          s' = s + h net(s)
//   resnetcontact   s' = s + h net(s, c), c = [logit > 0] of a contact net of s
//   vin             velocity Verlet with the potential net(q)
//
// s = [q | v]. p = masses (vin) | weights of the net | weights of the contact net (resnetcontact).
// Formulas: baseline.c.

#pragma once

#include "base/nn/mlp.h"
#include "model/system.h"
#include "points/learn/names.h"

typedef enum cri_baseline_kind {
    CRI_BASELINE_RESNET,
    CRI_BASELINE_RESNETCONTACT,
    CRI_BASELINE_VIN,
} cri_baseline_kind;

/// What a system is made from; all of it is copied.
typedef struct cri_baseline_def {
    cri_baseline_kind kind;
    cri_balls points;    // bodies
    int n_signal;        // touch signals, of resnetcontact
    const double *mass;  // (n_body) kg, of vin
    cri_mlp net;         // s, or s and c, to s; or q to 1
    cri_mlp contact_net; // s to n_signal
    double dt;           // s
    const double *x0;    // (n_x), NULL: zero
} cri_baseline_def;

/// The system as it steps. Constant once made.
typedef struct cri_baseline {
    cri_baseline_kind kind;
    int n_body, n_dim, n_q, n_signal, n_p;
    cri_mlp net;
    cri_mlp contact_net;
    int at_net, at_contact_net; // places in p
    double dt;
    double *mass;     // (n_body) as defined
    double *x0;       // (n_x)
    cri_balls points; // names are owned
    cr_arena *memory; // owns everything, the struct too
} cri_baseline;

/// What a residual step leaves for its vjp.
typedef struct cri_residual_cache {
    int n_in;          // of the net
    double *in;        // (n_row, n_in)
    double *rate;      // (n_row, n_x)
    double *touched;   // (n_row, n_signal)
    bool *is_failed;   // (n_row)
    cri_mlp_cache net; //
} cri_residual_cache;

/// What a Verlet step leaves for its vjp.
typedef struct cri_verlet_cache {
    double *q;            // (n_row, n_q)
    double *q1;           // (n_row, n_q)
    double *g[2];         // (n_row, n_q) at q and at q1
    bool *is_failed;      // (n_row)
    cri_mlp_cache net[2]; //
} cri_verlet_cache;

/// NULL when there is no memory.
cri_baseline *cri_baseline_create(const cri_baseline_def *def);

/// Releases b. NULL is allowed.
void cri_baseline_destroy(cri_baseline *b);

/// Makes a model of b with parameters p (n_p), which owns b from then on.
CR_MUST_CHECK cr_status cri_baseline_model(cri_baseline *b, const double *p, cr_model **out,
                                           cr_error *err);

/// touched (n_row, n_signal) from outside, as in training; NULL: the contact net's.
CR_MUST_CHECK bool cri_residual_step(const cri_baseline *b, const cri_system_batch *batch,
                                     const double *touched, double *x_next,
                                     cri_residual_cache *cache, cr_arena *arena);
CR_MUST_CHECK bool cri_residual_step_vjp(const cri_baseline *b, const cri_system_batch *batch,
                                         const cri_residual_cache *cache, const double *x_next_adj,
                                         double *x_adj, double *p_adj, cr_arena *work);
CR_MUST_CHECK bool cri_verlet_step(const cri_baseline *b, const cri_system_batch *batch,
                                   double *x_next, cri_verlet_cache *cache, cr_arena *arena);
CR_MUST_CHECK bool cri_verlet_step_vjp(const cri_baseline *b, const cri_system_batch *batch,
                                       const cri_verlet_cache *cache, const double *x_next_adj,
                                       double *x_adj, double *p_adj, cr_arena *work);
