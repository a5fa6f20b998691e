// SPDX-License-Identifier: MIT
//
// A chain of equal boxes on hinges above a floor in DART, for a test in C. One link is a free box.
//
// States are laid out as in Carom: place and quaternion (w x y z) of the first link, angles of the
// hinges; its velocity (world) and angular velocity (its frame), rates of the hinges.

#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dart_chain dart_chain;

/// Links lie along x, joined by hinges about y at the middles of their ends. The floor is z = 0.
typedef struct dart_chain_def {
    int n_link;
    double half[3]; // half extents of a link
    double mass;    // of a link
    double mu;
    double gravity[3];
    double dt;
} dart_chain_def;

dart_chain *dart_chain_create(const dart_chain_def *def);
void dart_chain_destroy(dart_chain *chain);

void dart_chain_set(dart_chain *chain, const double *q, const double *v);
void dart_chain_step(dart_chain *chain);
void dart_chain_get(const dart_chain *chain, double *v);

/// Sum of the forces of the last step on the chain; returns how many contacts there were.
int dart_chain_force(const dart_chain *chain, double force[3]);

#ifdef __cplusplus
}
#endif
