// SPDX-License-Identifier: MIT
//
// Names and slots that systems of points and nets share.

#pragma once

#include "base/nn/mlp.h"
#include "model/system.h"

/// How bodies of n_dim numbers each stand in space.
typedef struct cri_balls {
    int n_body, n_dim;       // at most 3 dimensions for a model
    const char *const *name; // (n_body)
    bool is_angle;           // one number a body, its angle below an anchor
    double length;           // m, from the anchor, of angles
    double radius;           // m, of pictures
    double spacing;          // m, between neighbours at q = 0
} cri_balls;

/// Parts of a cri_system_def, on an arena. Axes: z for one dimension, x and z for two; angles turn
/// in the plane of x and z, positive towards x.
typedef struct cri_balls_layout {
    cri_system_body *body;             // (n_body)
    cri_system_coordinate *coordinate; // (n_body n_dim)
    const char **u_name;               // (n_body n_dim) BODY/force[k]
} cri_balls_layout;

/// False for lack of memory.
CR_MUST_CHECK bool cri_balls_lay_out(const cri_balls *points, cri_balls_layout *out,
                                     cr_arena *arena);

/// A copy whose names are on the arena; false for lack of memory.
CR_MUST_CHECK bool cri_balls_copy(const cri_balls *from, cri_balls *to, cr_arena *arena);

/// A text on the arena, as printf makes it; NULL for lack of memory.
char *cri_name_push(cr_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// What cri_system_slot.held says of weights behind a threshold.
extern const char cri_held_by_threshold[];

/// One slot with a name from cri_name_push; false when that is NULL.
CR_MUST_CHECK bool cri_slot_set(cri_system_slot *slot, char *name, double value);

/// Slots of all weights of a net: NET/LAYER/w[k] and NET/LAYER/b[k].
CR_MUST_CHECK bool cri_slot_set_net(cri_system_slot *slot, const cri_mlp *net, const char *name,
                                    const double *w, cr_arena *arena);
