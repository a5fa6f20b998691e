// SPDX-License-Identifier: MIT
//
// Bodies on joints, in reduced coordinates: what tree dynamics reads.
//
// Conventions are MJCF's. q: free = position (3) and quaternion (4), ball = quaternion, hinge and
// slide = 1 number. v: free = velocity of the body origin (world) and spin (body frame), ball =
// spin (child frame), hinge and slide = rate. Tangents of q have one number a degree of freedom
// (dof), quaternions move to q exp(theta).
//
// Vectors over bodies have 6 numbers a body, (n_body, 6): for motions the velocity of the body
// origin in world axes and the spin in body axes; for their duals a force (world) at the origin and
// a torque (body axes). Tangents of poses likewise. For a free body they are its own dofs.
//
// Bodies and joints are in document order, parents first, subtrees contiguous.

#pragma once

#include "base/math/quat.h"
#include "base/math/vec3.h"

#include <stdbool.h>

typedef enum cri_joint_kind {
    CRI_JOINT_FREE,
    CRI_JOINT_BALL,
    CRI_JOINT_HINGE,
    CRI_JOINT_SLIDE,
} cri_joint_kind;

/// One body as seen from its mechanism.
typedef struct cri_link {
    int parent; // body, -1: world
    int node;   // joint that it hangs on: its own last one, else that of its parent; -1: static
    int first_joint;
    int n_joint;
    int unit;      // -1: static
    cri_vec3 pos;  // frame in the parent's; for a free joint where qpos0 puts it
    cri_quat quat; // unit
} cri_link;

typedef struct cri_joint {
    cri_joint_kind kind;
    int body;
    int parent;        // joint before it towards the root, -1: none
    int q, v;          // first of its numbers in q and v
    int n_q, n_v;      // how many
    cri_vec3 pos;      // anchor, body frame; zero for free
    cri_vec3 axis;     // unit, body frame; hinge and slide
    double ref;        // value of q in the reference pose; hinge and slide
    cri_quat q_spring; // rest orientation of the spring; ball and free
    cri_vec3 x_spring; // rest position of the spring; free
} cri_joint;

typedef enum cri_drive_kind {
    CRI_DRIVE_DOFS, // on a joint or a fixed tendon: a combination of hinges and slides
    CRI_DRIVE_BALL, // on a ball or free joint's dofs: constant generalised force gear (n_v of it)
    CRI_DRIVE_SITE, // a wrench at a site
} cri_drive_kind;

/// A combination of hinges and slides: length = sum coef q.
typedef struct cri_tendon {
    int n;
    const int *joint;   // (n)
    const double *coef; // (n)
} cri_tendon;

/// What gain and bias of an actuator derive from.
typedef enum cri_servo_kind {
    CRI_SERVO_GENERAL,  // gain and bias themselves
    CRI_SERVO_POSITION, // kp and kv: gain kp, bias 0 -kp -kv
    CRI_SERVO_VELOCITY, // kv: gain kv, bias 0 0 -kv
} cri_servo_kind;

/// force = gain u + bias[0] + bias[1] length + bias[2] velocity, both limited; the dofs get gear
/// force (dofs), or the site a wrench R_ref gear force.
typedef struct cri_actuator {
    cri_drive_kind kind;
    cri_servo_kind servo;
    int joint;       // dofs and ball, -1: a tendon
    int tendon;      // -1: a joint
    int site;        // site kind
    int ref_site;    // frame of the wrench, -1: the site itself
    double ctrl[2];  // limits of u, infinite: none
    double force[2]; // limits of the force
} cri_actuator;

typedef enum cri_equality_kind {
    CRI_EQUALITY_CONNECT, // 3 rows: two points coincide
    CRI_EQUALITY_WELD,    // 6 rows: two frames coincide
    CRI_EQUALITY_JOINT,   // 1 row: q0 = poly(q1), or q0 = poly[0]
    CRI_EQUALITY_TENDON,  // 1 row: the same with lengths
} cri_equality_kind;

typedef struct cri_equality {
    cri_equality_kind kind;
    int object[2];      // bodies, joints or tendons; -1: world or none
    cri_vec3 anchor[2]; // points in the two bodies' frames; connect and weld
    cri_quat relative;  // weld: orientation of body 1 in body 0
    double poly[5];     // joint, tendon; in displacements from ref
    int unit;
} cri_equality;

typedef struct cri_site {
    int body; // -1: world
    cri_vec3 pos;
    cri_quat quat;
} cri_site;

/// A range of whole trees that move as one: linked by nothing, or by equalities, tendons or
/// actuators. The smallest thing with a mass matrix of its own.
typedef struct cri_unit {
    bool is_free_body; // one body, free joint, nothing attached, centre of mass at its origin and
                       // principal axes its own
    bool is_rigid;     // a free joint and what hangs rigidly on it, nothing attached
    int first_body, n_body;
    int first_joint, n_joint;
    int first_q, n_q;
    int first_v, n_v;
    int first_equality, n_equality; // equalities are ordered by unit
    int n_row;                      // of all its equalities
} cri_unit;

typedef struct cri_mechanism {
    int n_body, n_joint, n_q, n_v, n_u;
    int n_actuator, n_tendon, n_equality, n_site, n_unit;
    const cri_link *link;
    const cri_joint *joint;
    const cri_actuator *actuator; // u: one number an actuator, then one generalised force a dof
    const cri_tendon *tendon;
    const cri_equality *equality;
    const cri_site *site;
    const cri_unit *unit;
    const int *dof_joint;     // (n_v) joint of each dof
    bool is_euler;            // semi-implicit Euler instead of RK4, but for rigid units
    bool omits_gyro;          // w x J w of free bodies is left out; all units are single ones
    bool has_implicit_drives; // where damping is implicit, so is bias[2] of actuators on one joint
} cri_mechanism;

static inline bool cri_unit_is_euler(const cri_mechanism *mech, int unit) {
    return mech->is_euler && !mech->unit[unit].is_rigid;
}

// ---- what follows from parameters --------------------------------------------------------------

/// Mass, centre of mass (body frame), inertia about it (body axes): xx yy zz xy xz yz.
typedef struct cri_link_derived {
    double mass;
    cri_vec3 com;
    double J[6];
} cri_link_derived;

typedef struct cri_joint_derived {
    double stiffness;
    double damping;
    double armature;
    double springref; // hinge and slide
} cri_joint_derived;

typedef struct cri_actuator_derived {
    double gain;
    double bias[3];
    double gear[6]; // dofs: the first; ball: the first n_v of its joint; site: force, torque
} cri_actuator_derived;

typedef struct cri_tendon_derived {
    double stiffness;
    double damping;
    double springlength;
} cri_tendon_derived;

/// Also the type of its own adjoint and tangent. Arrays are borrowed.
typedef struct cri_mech_derived {
    double *gravity;                // (3)
    cri_link_derived *link;         // (n_body)
    cri_joint_derived *joint;       // (n_joint)
    cri_actuator_derived *actuator; // (n_actuator)
    cri_tendon_derived *tendon;     // (n_tendon)
    struct cri_tree_plan **plan;    // (n_unit) what trees share; NULL: each has its own
} cri_mech_derived;
