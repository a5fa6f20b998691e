// SPDX-License-Identifier: MIT
//
// A scene as read, before it becomes a model. Readers (src/scene) fill it, cri_model_build reads
// it.
//
// All frames are resolved (fromto, euler, frames, defaults, replicate): pos and unit quat in the
// parent body's frame. Angles in rad. Strings and arrays belong to memory unless it says otherwise.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/math/quat.h"
#include "geometry/convex/shape.h"
#include "geometry/mesh/march.h"
#include "model/mechanism.h"

/// Where something stands, for messages.
typedef struct cri_place {
    const char *file;
    int line;
} cri_place;

/// Numbers of contact laws that are energies (energy/potential.h).
typedef struct cri_potential_numbers {
    bool has_mu;             // given, so that it is a parameter
    double mu;               // J; 0: that of the law
    double eps;              // of shells, relative
    double length;           // on which the long-range potential falls, m
    double reach;            // of barriers on distances, m; 0: that of the law
    double slip;             // speed below which friction is that of a fluid, m/s
    bool has_whole_clusters; // of the long-range potential
} cri_potential_numbers;

/// How soft a contact or a limit is, with MuJoCo's meaning (energy/soft.h). Zeros stand for its
/// defaults.
typedef struct cri_softness {
    bool has_ref, has_imp, has_mix;
    double ref[2]; // solref
    double imp[5]; // solimp
    double mix;    // solmix
} cri_softness;

typedef struct cri_body_def {
    const char *name;
    int parent; // -1: world; smaller than its own index, subtrees contiguous
    cri_vec3 pos;
    cri_quat quat;
    bool has_inertial;      // mass, com and inertia given, else from the geoms
    bool is_shape_inertia;  // mass and inertia follow sizes and densities, as parameters too
    bool is_origin_inertia; // and then: centre put at the origin, inertia about it
    double mass;            // kg
    cri_vec3 com;
    double inertia[6]; // about com, body axes: xx yy zz xy xz yz, kg m^2
    cri_place place;
} cri_body_def;

typedef struct cri_joint_def {
    const char *name;
    int body; // joints of one body are consecutive, bodies ascending
    cri_joint_kind kind;
    cri_vec3 pos;
    cri_vec3 axis; // unit
    double ref;
    double springref;
    double stiffness;
    double damping;
    double armature;
    double range[2];       // infinite: no limit. Ball: range[1] is the largest angle
    cri_softness softness; // of its limits
    cri_place place;
} cri_joint_def;

typedef struct cri_mesh_def {
    const char *name;
    int n_vertex;
    int n_face;
    double *vertex; // (n_vertex, 3), scaled and placed
    int *face;      // (n_face, 3), empty when only points were given: then its hull counts
    cri_place place;
} cri_mesh_def;

/// A shape that is chosen by carom:shape, as a distance field (geometry/field/field.h). A grid leaf
/// stands for the geom's mesh: its grid is NULL.
typedef struct cri_form_def {
    bool is_hull; // the convex hull of the geom's mesh, and nothing below
    int n_node;
    cri_field_node node[CRI_FIELD_NODES];
    int n_param;
    const double *param;  // (n_param)
    int n_cell;           // along the longest side of a marched surface; 0: as the builder sees fit
    int n_sample;         // along the longest side of a grid; 0: as the builder sees fit
    cri_vertex_rule rule; // of a marched surface
    cri_place place;
} cri_form_def;

typedef struct cri_geom_def {
    const char *name;
    int body; // -1: world
    cri_shape_kind shape;
    int mesh;                 // -1: none
    bool has_vertices;        // of its mesh as parameters
    const cri_form_def *form; // NULL: what shape says; a mesh that is not convex is a field anyway
    double size[3];
    cri_vec3 pos;
    cri_quat quat;
    bool has_mass;
    double mass;     // kg, used when has_mass
    double density;  // kg/m^3, else
    double friction; // sliding coefficient
    double restitution;
    int contype;
    int conaffinity;
    int priority;
    int condim;
    double eps; // of shells of its pairs, relative; 0: that of the scene
    cri_softness softness;
    cri_place place;
} cri_geom_def;

typedef struct cri_site_def {
    const char *name;
    int body; // -1: world
    cri_vec3 pos;
    cri_quat quat;
    cri_place place;
} cri_site_def;

typedef struct cri_tendon_def {
    const char *name;
    int n;
    int *joint;   // (n)
    double *coef; // (n)
    double stiffness;
    double damping;
    double springlength;   // NAN: where the springs of its joints rest
    double range[2];       // infinite: no limit
    cri_softness softness; // of its limits
    cri_place place;
} cri_tendon_def;

typedef struct cri_actuator_def {
    const char *name;
    cri_drive_kind kind;
    cri_servo_kind servo; // of its kind, gain and bias are what follows from kp and kv
    int joint;            // -1: none
    int tendon;
    int site;
    int ref_site;
    double gear[6];
    double gain;
    double bias[3];
    double ctrl[2];  // limits, infinite: none
    double force[2]; // limits, infinite: none
    cri_place place;
} cri_actuator_def;

typedef struct cri_equality_def {
    const char *name;
    cri_equality_kind kind;
    int object[2];     // bodies, joints or tendons, -1: world or none
    bool has_anchor;   // connect: anchor[0] given in body 0, anchor[1] follows from qpos0
    bool has_relative; // weld: relative pose given, else that of qpos0
    cri_vec3 anchor[2];
    cri_vec3 relative_pos; // weld: of body 1 in body 0
    cri_quat relative;
    double poly[5];
    cri_place place;
} cri_equality_def;

/// Coefficients of two geoms that override those of the geoms.
typedef struct cri_pair_def {
    int geom[2];
    bool is_listed; // collides whatever contype and conaffinity say
    bool has_friction;
    bool has_two_frictions; // one for each tangent
    bool has_restitution;
    double friction;
    double friction2; // along the second tangent
    bool has_sides;   // friction for sliding along slide, friction_back for the other way
    double friction_back;
    cri_vec3 slide; // world, unit: geom[1] over geom[0]
    double restitution;
    int friction_geom; // without has_friction: 1 + the geom whose friction counts, 0: the larger
    int condim;        // of a listed pair, 0: that of the geoms
    cri_softness softness; // what it does not have comes from the geoms
    cri_place place;
} cri_pair_def;

/// Two bodies whose geoms do not collide, -1: world.
typedef struct cri_exclude_def {
    int body[2];
    cri_place place;
} cri_exclude_def;

typedef struct cri_key_def {
    const char *name;
    double *qpos; // (n_qpos) NULL: as placed
    double *qvel; // (n_qvel) NULL: at rest
    double *ctrl; // (n_ctrl) NULL: zero
    int n_qpos;
    int n_qvel;
    int n_ctrl;
    cri_place place;
} cri_key_def;

typedef enum cri_integrator {
    CRI_INTEGRATOR_ANY, // the file does not say
    CRI_INTEGRATOR_EULER,
    CRI_INTEGRATOR_RK4,
    CRI_INTEGRATOR_IMPLICIT, // Euler with the velocity feedback of actuators implicit
} cri_integrator;

/// Release with cri_scene_def_clear.
typedef struct cri_scene_def {
    const char *file;
    double dt;
    double gravity[3];
    cri_integrator integrator;
    cri_potential_numbers potential;
    bool has_contact;     // false: <flag contact="disable"/>
    bool filters_parents; // a body does not collide with its parent
    char law[32];         // empty: default
    char stepper[32];     // empty: default
    char warning[480];    // what was read and has no effect, empty: nothing
    cri_place law_place;  // where law and stepper were asked for
    cri_place stepper_place;
    bool omits_gyro; // free bodies move without w x J w
    cri_place gyro_place;
    cri_body_def *body;
    cri_joint_def *joint;
    cri_geom_def *geom;
    cri_mesh_def *mesh;
    cri_site_def *site;
    cri_tendon_def *tendon;
    cri_actuator_def *actuator;
    cri_equality_def *equality;
    cri_pair_def *pair;
    cri_exclude_def *exclude;
    cri_key_def *key;
    struct cri_ground_nets *nets; // of learned contact laws, NULL: none
    int n_body, n_joint, n_geom, n_mesh, n_site, n_tendon, n_actuator, n_equality, n_pair,
        n_exclude, n_key;
    cr_arena *memory; // owns everything above
} cri_scene_def;

/// Makes an empty definition with its arena. False for lack of memory.
CR_MUST_CHECK bool cri_scene_def_begin(cri_scene_def *def, const char *file);

void cri_scene_def_clear(cri_scene_def *def);

/// Room for one more item in a list of n items of item_bytes each, in memory: returns the list,
/// moved when it was full (capacity is the next power of two, at least 8). NULL for lack of memory.
void *cri_scene_def_grow(cri_scene_def *def, void *list, int n, size_t item_bytes);
