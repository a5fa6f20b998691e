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
#include "points/contact/points_step.h"

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

int cri_interaction_n_weight(const cri_interaction *net);

/// Points as objects of an interaction network (baselines IN-CP-CLNN and IN-CP-SP of DCS, paper
/// 000).
///
/// Every block of points is an object with state [x | v] of its points. Walls and the origin, where
/// something is tied to it, are objects at rest: a wall stands at its point nearest to the middle
/// of the box, or to the origin. Contacts and limits are relations with attributes (mu, e, 1), ties
/// with (0, 0, 0), each both ways; a bend relates its outer points. Fixed features are inverse mass
/// and moments, as asinh(1/m) and asinh(1/(m lam)), so that those of walls are 0 and none is huge,
/// and the radius. The external input is dV/dx. Friction and restitution are those of the scene.
/// Lengths are in mean radii (of bodies that touch nothing 0, as their feature is), of a rope in
/// links: whether two bodies touch is a matter of a part of that, which nets of positions in metres
/// take long to see.
typedef struct cri_points_relations {
    const cri_points_scene *scene; // borrowed
    cri_interaction net;
    const double *wall;   // (n_object - n_active, d) m
    const double *radius; // (n_active) m
    double unit;          // of lengths, m
} cri_points_relations;

/// What a call leaves for its vjp.
typedef struct cri_points_relations_tape {
    cri_interaction_cache net;
    const void *potential; // cache of its gradient
} cri_points_relations_tape;

/// Objects and relations of a scene, on its arena. NULL when there is no memory.
const cri_points_relations *cri_points_relations_push(const cri_points_scene *scene,
                                                      const cri_interaction_size *size);

/// out (B, D) of the states x (B, n_x): of each point what the net says. p as the scene has it, and
/// behind its n_p numbers the weights of the net. False when there is no memory.
CR_MUST_CHECK bool cri_points_relate(const cri_points_relations *r, const double *p, int B,
                                     const double *x, double *out, cri_points_relations_tape *tape,
                                     cr_arena *keep);

/// Adds to x_adj (B, n_x) and p_adj, the weights included. False when there is no memory.
CR_MUST_CHECK bool cri_points_relate_vjp(const cri_points_relations *r, const double *p,
                                         const cri_points_relations_tape *tape,
                                         const double *out_adj, double *x_adj, double *p_adj,
                                         cr_arena *scratch);

// for tests

/// Fills the shapes of the two nets from the other fields.
void cri_interaction_shape(cri_interaction *net, const cri_interaction_size *size);

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
