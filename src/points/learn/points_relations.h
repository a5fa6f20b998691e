// SPDX-License-Identifier: MIT
//
// Points as objects of an interaction network (baselines IN-CP-CLNN and IN-CP-SP of DCS, paper
// 000).
//
// Every block of points is an object with state [x | v] of its points. Walls and the origin, where
// something is tied to it, are objects at rest: a wall stands at its point nearest to the middle of
// the box, or to the origin. Contacts and limits are relations with attributes (mu, e, 1), ties
// with (0, 0, 0), each both ways; a bend relates its outer points. Fixed features are inverse mass
// and moments, as asinh(1/m) and asinh(1/(m lam)), so that those of walls are 0 and none is huge,
// and the radius. The external input is dV/dx. Friction and restitution are those of the scene.
// Lengths are in mean radii (of bodies that touch nothing 0, as their feature is), of a rope in
// links: whether two bodies touch is a matter of a part of that, which nets of positions in metres
// take long to see.

#pragma once

#include "points/contact/points_step.h"
#include "points/learn/interaction.h"

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
