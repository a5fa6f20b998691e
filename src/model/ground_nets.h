// SPDX-License-Identifier: MIT
//
// The nets of the law `augmented` (paper 003): one classifier and one friction regressor for each
// kind of contact patch. Their weights are parameters of the model; this is their shape, where each
// begins, and what they were trained for.

#pragma once

#include "math/vec3.h"
#include "nn/mlp.h"

/// A patch by its dimension. A body that moves in a plane has no surfaces.
typedef enum cri_ground_kind {
    CRI_GROUND_POINT,
    CRI_GROUND_LINE,
} cri_ground_kind;

/// What a patch does next: it stays, it moves along the ground or loses a part, it leaves.
typedef enum cri_ground_class {
    CRI_GROUND_STATIC,
    CRI_GROUND_DYNAMIC,
    CRI_GROUND_DETACH,
} cri_ground_class;

enum {
    CRI_GROUND_KINDS = 2,
    CRI_GROUND_CLASSES = 3,
    CRI_GROUND_INPUTS = 11, // of a line, which has the most (contact/ground.h)
    CRI_GROUND_ROWS = 3,    // of a line: one tangent, two ends
    CRI_GROUND_HIDDEN = 4,  // hidden layers at most
    CRI_GROUND_WIDTH = 128, // of a layer at most
    CRI_GROUND_NETS = 2 * CRI_GROUND_KINDS,
};

/// Nets 2 kind (classifier) and 2 kind + 1 (regressor).
typedef struct cri_ground_nets {
    cri_mlp net[CRI_GROUND_NETS];
    int first[CRI_GROUND_NETS];                        // of the weights of each, in one block
    int n_weight;                                      // of all
    double lower[CRI_GROUND_KINDS][CRI_GROUND_INPUTS]; // range of the inputs in training
    double upper[CRI_GROUND_KINDS][CRI_GROUND_INPUTS];
    bool has_restitution;  // regressors have one output more, the coefficient of restitution
    char law[32];          // that labelled, or recorded
    char body[64];         // that the nets were trained for
    char surface[64];      // geom that it touches
    double mass, inertia;  // of the body, kg and kg m^2 about its hinge's axis
    cri_vec3 along;        // the surface in the plane of motion, unit; set by the builder
    int body_index;        // likewise
    bool is_linked;        // the body hangs on others; likewise
    cri_vec3 anchor;       // of its joint, body frame; likewise
    cri_vec3 axis;         // of the plane of motion, body frame; likewise
    const double *weights; // (n_weight) the defaults
} cri_ground_nets;

static inline int cri_ground_inputs(cri_ground_kind kind) {
    return kind == CRI_GROUND_POINT ? 6 : 11;
}

/// Rows of the reduced problem: the tangent, then one normal for each end.
static inline int cri_ground_rows(cri_ground_kind kind) {
    return kind == CRI_GROUND_POINT ? 2 : 3;
}

/// Outputs of a regressor: an impulse for each row, and restitution.
static inline int cri_ground_outputs(cri_ground_kind kind, bool has_restitution) {
    return cri_ground_rows(kind) + (has_restitution ? 1 : 0);
}

/// Fills net, first and n_weight, for the has_restitution that is there: all nets have these hidden
/// layers. n_hidden is 1 to CRI_GROUND_HIDDEN, widths are 1 to CRI_GROUND_WIDTH.
void cri_ground_nets_shape(int n_hidden, const int *width, cri_ground_nets *nets);

/// Name of a net: point/class, point/friction, line/class, line/friction.
const char *cri_ground_net_name(int net);
