// SPDX-License-Identifier: MIT
//
// The nets of the law `augmented` (paper 003): one classifier and one friction regressor for each
// kind of contact patch. Their weights are parameters of the model; this is their shape, where each
// begins, and what they were trained for.

#pragma once

#include "base/math/vec3.h"
#include "base/nn/mlp.h"

/// A patch by its dimension, and that of the motion. A body that moves in a plane has no surfaces.
typedef enum cri_ground_kind {
    CRI_GROUND_POINT,
    CRI_GROUND_LINE,
    CRI_GROUND_SPACE_POINT,
    CRI_GROUND_SPACE_LINE,
    CRI_GROUND_SPACE_SURFACE,
} cri_ground_kind;

/// What a patch does next: it stays, it moves along the ground or loses a part, it leaves.
typedef enum cri_ground_class {
    CRI_GROUND_STATIC,
    CRI_GROUND_DYNAMIC,
    CRI_GROUND_DETACH,
} cri_ground_class;

enum {
    CRI_GROUND_KINDS = 5,
    CRI_GROUND_CLASSES = 3,
    CRI_GROUND_INPUTS = 35, // of a surface, which has the most (contact/ground.h)
    CRI_GROUND_ENDS = 8,    // corners of a surface at most
    CRI_GROUND_ROWS = 11,   // with two tangents and the twist
    CRI_GROUND_LEAD = 6,    // rows that nets see at most: three corners are all of a surface
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
    bool is_spatial;      // the body moves freely: kinds are those of space
    bool has_applied;     // inputs have the part of velocities that forces of the step made
    bool has_place;       // inputs end with where the body is along the surface
    bool has_restitution; // regressors have one output more, the coefficient of restitution
    char law[32];         // that labelled, or recorded
    bool is_regressed;    // nets of the rival: regressors know every state, classifiers nothing
    char body[64];        // that the nets were trained for
    char shape[128];      // of that body (model/ground_body.h)
    char surface[64];     // geom that it touches, or the other body
    bool has_other;       // another body that moves
    int other_index;      // set by the builder
    double other_mass, other_inertia;
    char other_shape[128];
    double mass;           // of the body, kg
    double inertia[6];     // kg m^2: about its hinge's axis alone, or xx yy zz xy xz yz in space
    cri_vec3 along;        // the surface in the plane of motion, unit; set by the builder
    int body_index;        // likewise
    bool is_linked;        // the body hangs on others; likewise
    cri_vec3 anchor;       // of its joint, body frame; likewise
    cri_vec3 axis;         // of the plane of motion, body frame; likewise
    const double *weights; // (n_weight) the defaults
} cri_ground_nets;

/// Do nets for motion in space, or in a plane, have this kind?
static inline bool cri_ground_has(bool is_spatial, int kind) {
    return is_spatial == (kind >= CRI_GROUND_SPACE_POINT);
}

static inline int cri_ground_inputs(cri_ground_kind kind) {
    static const int n[CRI_GROUND_KINDS] = {8, 14, 12, 26, 35};
    return n[kind];
}

/// Rows that nets see: tangents (and the twist), then normals of ends.
static inline int cri_ground_rows(cri_ground_kind kind) {
    static const int n[CRI_GROUND_KINDS] = {2, 3, 3, 5, 6};
    return n[kind];
}

/// How many of them come before the normals.
static inline int cri_ground_tangents(cri_ground_kind kind) {
    static const int n[CRI_GROUND_KINDS] = {1, 1, 2, 3, 3};
    return n[kind];
}

/// Numbers that describe the inertia.
static inline int cri_ground_moments(bool is_spatial) {
    return is_spatial ? 6 : 1;
}

/// Outputs of a regressor: an impulse for each row, and restitution.
static inline int cri_ground_outputs(cri_ground_kind kind, bool has_restitution) {
    return cri_ground_rows(kind) + (has_restitution ? 1 : 0);
}

/// Inputs with those for applied forces, one a row, behind the others, and the place last.
static inline int cri_ground_all_inputs(cri_ground_kind kind, bool has_applied, bool has_place) {
    return cri_ground_inputs(kind) + (has_applied ? cri_ground_rows(kind) : 0) +
           (has_place ? 1 : 0);
}

/// Fills net, first and n_weight, for the is_spatial and has_.. that are there: all nets of their
/// kinds have these hidden layers, and others none. n_hidden is 1 to CRI_GROUND_HIDDEN, widths are
/// 1 to CRI_GROUND_WIDTH.
void cri_ground_nets_shape(int n_hidden, const int *width, cri_ground_nets *nets);

/// Is there such a net?
static inline bool cri_ground_has_net(const cri_ground_nets *nets, int net) {
    return cri_ground_has(nets->is_spatial, net / 2);
}

/// point, line or surface.
const char *cri_ground_kind_name(int kind);

/// Name of a net: point/class, point/friction, line/class, line/friction, surface/..
const char *cri_ground_net_name(int net);
