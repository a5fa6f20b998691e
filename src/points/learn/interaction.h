// SPDX-License-Identifier: MIT
//
// Interaction networks: objects, relations between them, and two nets.
//
// An object has features [state | fixed]. A relation sees what its ends differ in, their fixed
// features, and its own attributes; what it does is summed at its receiver:
//
//     e_r = relate([state_i - state_j | fixed_i | fixed_j | attributes_r]),  i receives from j
//     out_i = act([state_i | fixed_i | external_i | sum of e_r over relations that i receives])
//
// Rows of a batch are independent. Formulas of the adjoint: interaction.c.

#pragma once

#include "base/nn/mlp.h"

enum { CRI_RELATION_ATTRIBUTES = 3 };

typedef struct cri_relation {
    int receiver, sender;
    double attribute[CRI_RELATION_ATTRIBUTES];
} cri_relation;

typedef struct cri_interaction {
    int n_object;
    int n_active; // the first ones, which receive and have an output; the others are walls
    int n_state, n_fixed;
    int n_external, n_out;
    int n_attribute;
    int n_relation;
    const cri_relation *relation; // borrowed
    cri_mlp relate, act;          // weights [relate | act]
} cri_interaction;

/// Layers of the two nets.
typedef struct cri_interaction_size {
    int n_relate, relate; // hidden layers and their width
    int n_effect;
    int n_act, act;
} cri_interaction_size;

/// What a call leaves for its vjp.
typedef struct cri_interaction_cache {
    int B;
    cri_mlp_cache relate, act;
} cri_interaction_cache;

/// Fills the shapes of the two nets from the other fields.
void cri_interaction_shape(cri_interaction *net, const cri_interaction_size *size);

int cri_interaction_n_weight(const cri_interaction *net);

/// objects (B, n_object, n_state + n_fixed), external (B, n_active, n_external), out (B, n_active,
/// n_out). cache lives on the arena. False: no memory.
CR_MUST_CHECK bool cri_interaction_value(const cri_interaction *net, const double *w, int B,
                                         const double *objects, const double *external, double *out,
                                         cri_interaction_cache *cache, cr_arena *arena);

/// Adds to objects_adj, external_adj and w_adj. work is scratch, released by itself.
CR_MUST_CHECK bool cri_interaction_value_vjp(const cri_interaction *net, const double *w,
                                             const cri_interaction_cache *cache,
                                             const double *out_adj, double *objects_adj,
                                             double *external_adj, double *w_adj, cr_arena *work);
