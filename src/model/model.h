// SPDX-License-Identifier: MIT
//
// The compiled scene, and the definition it is built from.
//
// A reader (src/scene) fills a cri_scene_def; cri_model_build checks it and lays out p, x and u.
// The model owns everything it points to and never changes afterwards.
//
// Order of p: gravity; per body mass and inertia (or density, when they follow from the shape); per
// geom size (plane: offset along its normal), friction, restitution; then the coefficients of pairs
// that have their own.

#pragma once

#include "carom/carom.h"

#include "base/base.h"
#include "math/quat.h"
#include "math/vec3.h"
#include "model/scene_def.h"

/// Builds the model. def is read, not kept.
CR_MUST_CHECK cr_status cri_model_build(const cri_scene_def *def, cr_model **out, cr_error *err);

// ---- model -------------------------------------------------------------------------------------

typedef struct cri_body {
    int geom;
    int slot_mass;    // -1: follows the shape
    int slot_inertia; // 3 slots, -1: follows the shape
    int slot_density; // -1: mass and inertia are slots
} cri_body;

typedef struct cri_geom {
    cri_shape_kind shape;
    int body;      // -1: world
    int slot_size; // n_size slots; a plane's only one is its offset
    int n_size;
    int slot_friction;
    int slot_restitution;
    cri_vec3 normal; // plane only, world
} cri_geom;

typedef enum cri_pair_kind {
    CRI_PAIR_PLANE_SPHERE,
    CRI_PAIR_PLANE_BOX,
    CRI_PAIR_SPHERE_SPHERE,
} cri_pair_kind;

/// Two geoms that may collide. A plane is geom[0]; of two bodies the lower one is.
typedef struct cri_pair {
    cri_pair_kind kind;
    int geom[2];
    int body[2];          // body[0] -1 for a plane
    int slot_friction;    // own, or a geom's that alone counts; -1: maximum of the two geoms
    int slot_restitution; // own; -1: maximum of the two geoms
} cri_pair;

/// The smallest thing that touches: a pair, and for a box the corner. Its index breaks every tie.
typedef struct cri_feature {
    int pair;
    int corner; // bit 2: +x, bit 1: +y, bit 0: +z; 0 for spheres
} cri_feature;

/// One entry of p.
typedef struct cri_slot {
    const char *name;
    double value; // default
    double lower;
    double upper;
    bool is_open_lower;
} cri_slot;

typedef struct cri_key {
    const char *name;
    const double *x; // (n_x)
} cri_key;

struct cr_model {
    cr_sizes sizes;
    int n_pair;
    int n_feature;
    cri_body *body;
    cri_geom *geom;
    cri_pair *pair;
    cri_feature *feature;
    cri_slot *slot;         // (n_p)
    const char **x_name;    // (n_x)
    const char **u_name;    // (n_u)
    const char **body_name; // (n_body)
    const char **geom_name; // (n_geom)
    double *x_placed;       // (n_x) bodies as placed, at rest
    cri_key *key;
    char law[32];
    char stepper[32];
    char warning[240];
    const char *file;
    int law_line;
    int stepper_line;
    struct cr_arena *memory; // owns everything above
};
