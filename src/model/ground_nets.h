// SPDX-License-Identifier: MIT
//
// The nets of the law `augmented` (paper 003): one classifier and one friction regressor for each
// kind of contact patch. Their weights are parameters of the model; this is their shape, where each
// begins, and what they were trained for.

#pragma once

#include "base/math/vec3.h"
#include "base/nn/mlp.h"
#include "model/derived.h"

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
    char shape[128];      // of that body (cri_ground_shape)
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

/// The one body of a scene that moves in a plane and the surface that it touches: what nets of
/// contact patches can be trained for; and the same body at the end of a mechanism.
typedef struct cri_ground_body {
    int body;
    int surface;        // its geom, a plane
    int other;          // the body that it touches instead of a surface, -1: none
    int other_slide[2]; // as slide and hinge below, of that one
    int other_hinge;
    bool is_spatial;        // it moves freely: of what follows, only normal counts
    int slide[2];           // their places in q and v
    int hinge;              // likewise
    cri_vec3 slide_axis[2]; // world
    cri_vec3 axis;          // of the hinge, world
    cri_vec3 own_axis;      // the same in the body's frame
    bool is_linked;         // it hangs on others: there are no slides
    cri_vec3 anchor;        // of the joint that it hangs on, body frame
    cri_vec3 normal;        // of the surface
    cri_vec3 along;         // axis x normal: unit, in the plane of motion and in the surface
} cri_ground_body;

/// A body on a free joint, or on slide, slide, hinge in one plane, over a plane; or two of the
/// latter in one plane of motion, of which body is the second. Error: something else moves, or
/// there is more than one fixed geom to touch, or that is no plane.
CR_MUST_CHECK cr_status cri_ground_find(const cr_model *model, cri_ground_body *out, cr_error *err);

/// Mass, and the inertia (6) about the centre of mass: about the axis alone, or all of it.
void cri_ground_mass(const cri_derived *d, const cri_ground_body *ground, double *mass,
                     double *inertia);

/// Mass and inertia of the other body, if there is one, else zeros.
void cri_ground_other_mass(const cri_derived *d, const cri_ground_body *ground, double *mass,
                           double *inertia);

/// What of the body can touch, in words that do not change with its frame: "box 0.1 0.05 0.05".
void cri_ground_shape(const cr_model *model, const cri_derived *d, int body, size_t n_byte,
                      char *out);

/// Are the nets for this body? d is derived from the defaults. The error names both. Sets what the
/// builder has to.
CR_MUST_CHECK cr_status cri_ground_check_nets(const cr_model *model, const cri_derived *d,
                                              cri_ground_nets *nets, cr_error *err);
