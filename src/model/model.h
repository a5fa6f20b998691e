// SPDX-License-Identifier: MIT
//
// The compiled scene.
//
// A reader (src/scene) fills a cri_scene_def; cri_model_build checks it and lays out p, x and u.
// The model owns everything it points to and never changes afterwards.
//
// Order of p: gravity; per moving body mass, centre of mass and inertia (or the densities of its
// geoms, when they follow from the shapes); per geom size (plane: offset along its normal; field:
// its parameters), friction, restitution; coefficients of pairs that have their own; per joint
// stiffness, damping, armature, rest position; per actuator gain and bias (a servo: kp, kv), gear;
// per tendon stiffness, damping, rest length; mu of laws that are energies, when the scene gives
// it; weights of nets. A free body with nothing attached
// has no joint parameters, and its centre of mass is its origin.

#pragma once

#include "carom/carom.h"

#include "base/base.h"
#include "geometry/convex/shape.h"
#include "geometry/mesh/tessellate.h"
#include "model/mechanism.h"
#include "model/scene_def.h"

/// Where a body's mass, centre of mass and inertia come from.
typedef struct cri_body {
    int slot_mass;     // -1: follows the shapes, or static
    int slot_com;      // 3 slots, -1: at the origin, or follows the shapes
    int slot_inertia;  // 3 slots (principal) or 6, -1: follows the shapes
    int n_inertia;     // 3 or 6
    bool is_at_origin; // of the shapes: centre put at the origin, inertia about it
    int first_geom;    // of its geoms in model->geom_of_body
    int n_geom;
} cri_body;

typedef struct cri_geom {
    cri_shape_kind shape;
    int body;      // -1: world
    int unit;      // that moves it, -1: static
    int group;     // geoms with equal group >= 0 never collide: they are rigidly linked
    int slot_size; // n_size slots; a plane's only one is its offset
    int n_size;
    int slot_shape; // n_shape slots: parameters of a field
    int n_shape;
    int first_shape;  // in cri_derived.shape
    int slot_vertex;  // 3 slots a vertex of its surface, -1: no parameters
    int first_vertex; // in cri_derived.vertex
    int slot_density; // -1: none
    int slot_friction;
    int slot_restitution;
    bool is_centred; // frame is the body's
    cri_vec3 pos;    // in the body
    cri_quat quat;
    cri_mat3 R;
    cri_vec3 normal;      // plane only, world
    const cri_hull *hull; // mesh only
    const double *moment; // mesh and field: volume, centre (3), inertia (6) of unit density
    const struct cri_form_plan *plan; // of a field and whatever may touch one, else NULL
    cri_shape_kind solid;             // whose closed form gives mass and inertia, else a mesh
    cri_mesh_view surface; // mesh only: its own, or those of its hull when it has points alone
    int contype;
    int conaffinity;
    int priority;
    double eps; // of shells of its pairs, relative; 0: that of the scene
    cri_softness softness;
} cri_geom;

/// Two geoms with coefficients of their own, or that collide whatever their types say. Sorted by
/// geom[0], then geom[1]; geom[0] < geom[1].
typedef struct cri_geom_pair {
    int geom[2];
    bool is_listed;
    int slot_friction;      // own, -1: none; of the first tangent if there is a second
    int slot_friction2;     // of the second tangent, -1: one for both
    int slot_friction_back; // of sliding against slide, -1: one for both ways
    cri_vec3 slide;         // world, unit: geom[1] over geom[0]; zero: none
    int slot_restitution;   // own, -1: none
    int friction_geom;      // whose friction alone counts, -1: the larger of the two
    cri_softness softness;  // what it has counts before that of the geoms
} cri_geom_pair;

/// A bound on a combination of hinges and slides: sign (sum coef q - bound) >= 0; or on the angle
/// of a ball joint: bound - angle >= 0.
typedef struct cri_limit {
    int unit;
    int ball;           // place of its quaternion in q, -1: hinges and slides
    int n;              // 3 for a ball
    const int *q;       // (n) their place in q
    const int *dof;     // (n) and in v
    const double *coef; // (n)
    double bound;
    double sign;
    cri_softness softness;
} cri_limit;

/// One entry of p.
typedef struct cri_slot {
    const char *name;
    double value; // default
    double lower;
    double upper;
    bool is_open_lower;
    const char *held; // why its derivative is always 0, NULL: it is not
} cri_slot;

typedef struct cri_key {
    const char *name;
    const double *x; // (n_x)
    const double *u; // (n_u)
} cri_key;

struct cr_model {
    cr_sizes sizes;
    cri_mechanism mech;
    int n_form;           // geoms with a plan
    bool has_normal_rule; // a marched one moves its vertices along their normals
    int n_shape;          // parameters of all fields
    int n_corner;         // coordinates of vertices that are parameters
    int n_pair;
    int n_limit;
    int n_exclude;
    cri_body *body;
    cri_geom *geom;
    int *geom_of_body; // (n_geom) geoms by body
    cri_geom_pair *pair;
    cri_limit *limit;
    int (*exclude)[2];       // (n_exclude) bodies, -1: world
    cri_pose *static_pose;   // (n_body) of bodies that do not move
    int *slot_joint;         // (n_joint) first of 3 slots, 4 with a rest position; -1: none
    int *slot_actuator;      // (n_actuator) gain and bias (4 slots), kp and kv, or kv; then n_gear
    int *n_gear;             // (n_actuator)
    int *slot_tendon;        // (n_tendon) first of 3 slots
    cri_slot *slot;          // (n_p)
    const char **x_name;     // (n_x)
    const char **u_name;     // (n_u)
    const char **body_name;  // (n_body)
    const char **geom_name;  // (n_geom)
    const char **site_name;  // (mech.n_site)
    const char **joint_name; // (n_joint)
    double *x_placed;        // (n_x) bodies as placed, at rest
    cri_key *key;
    bool has_contact;
    bool filters_parents;
    char law[32];
    char stepper[32];
    char warning[480];
    cri_place law_place;
    cri_place stepper_place;
    struct cri_ground_nets *nets;              // of learned contact laws, NULL: none
    int slot_nets;                             // first of their weights
    cri_potential_numbers potential;           // of laws that are energies
    int slot_mu;                               // of their coefficient, -1: none
    const struct cri_system_kind *system_kind; // NULL: a scene of bodies
    void *system_self;
    void (*system_release)(void *self); // NULL: nothing to do
    double *system_radius;              // (n_body) of the balls in pictures, m
    int n_system_wall;
    struct cri_system_wall *system_wall; // (n_system_wall) planes in pictures
    struct cr_arena *memory;             // owns everything above but system_self
};

/// Builds the model. def is read, not kept.
CR_MUST_CHECK cr_status cri_model_build(const cri_scene_def *def, cr_model **out, cr_error *err);

/// May two geoms touch? The rules of MJCF: types, parents, exclusions, listed pairs. *pair, if not
/// NULL, gets their own coefficients, -1: none.
bool cri_model_may_collide(const cr_model *model, int geom0, int geom1, int *pair);

/// Pose of a body that does not move (-1: world).
cri_pose cri_model_static_pose(const cr_model *model, int body);

/// One entry of x: the joint that it belongs to, and whether it is part of a quaternion.
typedef struct cri_entry {
    int joint;
    int part;  // within the joint's numbers
    int quat;  // first of its quaternion in x, -1: an ordinary number
    int theta; // first of its rotation vector, or its own place, in the tangent of q
} cri_entry;

/// i < n_q.
cri_entry cri_model_q_entry(const cr_model *model, int i);

/// Normalises every quaternion of q (n_q) in place; returns the joint whose quaternion has no
/// direction, -1: all have one.
int cri_model_normalise(const cr_model *model, double *q);
