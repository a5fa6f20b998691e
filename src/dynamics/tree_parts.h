// SPDX-License-Identifier: MIT
//
// What the files of tree dynamics share. Private to dynamics/tree*.c.
//
// Notation: nodes are joints, node 0 is the world and node k joint first_joint + k - 1. dof i of
// the unit is first_v + i of the mechanism; arrays here are over the unit's own dofs, bodies and
// nodes. Positions are relative to the origin O of the tree. S are the columns of the dofs; a
// column moves with its node, except the three linear ones of a free joint, which are still.
//
// Functions with vjp_part or jvp_part in their names are parts of cri_tree_accel_vjp and so on,
// whose rows in the gradient table cover them.
//
//   V velocity    A acceleration, that of the world is -gravity    F force of the whole subtree
//   Y displacement twist of a node    L motion with the rates lambda

#pragma once

#include "dynamics/tree.h"

#include "base/base.h"
#include "base/math/spatial.h"

typedef struct cri_tree_node {
    int parent;  // node
    int first_v; // dof
    int n_v;
    int n_still; // leading columns that do not move
    int first_q; // in the unit's q
} cri_tree_node;

/// What the mechanism says about the unit. Row i of a mass matrix has one entry for each ancestor
/// of dof i, from the root to i itself, at row[i] to row[i + 1].
typedef struct cri_tree_plan {
    int n_node, n_v, n_q, n_body, n_row, n_entry;
    int n_actuator, n_tendon, n_equality;
    cri_tree_node *node; // (n_node + 1)
    int *row;            // (n_v + 1)
    int *ancestor;       // (n_entry) dof
    int *body_node;      // (n_body)
    int *body_parent;    // (n_body) body of the unit, -1: none
    cri_pose *rest;      // (n_body) frame in that body's, or in the world
    int *actuator;       // (n_actuator) those that act on the unit
    int *tendon;         // (n_tendon) likewise

    size_t tree_bytes; // room of one tree on this plan

    // room of calls, shared by the trees on this plan
    cri_spatial *work[2];           // (n_node + 1)
    cri_spatial_inertia *composite; // (n_node + 1) of subtrees
    double *work_row;               // (n_row)
} cri_tree_plan;

/// A factor of M + h D, and of E (M + h D)^-1 E' over a largest set of independent rows.
typedef struct cri_tree_factor {
    double *H;     // (n_entry) L' D L: L below the diagonal, D on it
    double *Y;     // (n_row, n_v) rows of E (M + h D)^-1
    double *G;     // (n_row, n_row) Cholesky factor of the scaled rows, in their order
    double *scale; // (n_row)
    int *order;    // (n_row)
    int rank;
} cri_tree_factor;

/// What an actuator did in the last cri_tree_accel.
typedef struct cri_tree_drive {
    double control; // limited
    double length, rate;
    double force;                        // limited
    bool is_control_free, is_force_free; // not at a limit
} cri_tree_drive;

/// An equality at q. Rows are object 0 minus object 1.
typedef struct cri_tree_tie {
    int row;
    int node[2];              // connect, weld
    cri_vec3 x[2];            // the two points
    cri_vec3 apart;           // residual of the points
    cri_vec3 turn;            // residual of the orientation, 2 vec(e)
    double e0;                // weld: scalar part of e, not negative
    double value;             // joint, tendon: residual
    double slope, bend, rise; // derivatives of the polynomial
} cri_tree_tie;

struct cri_tree {
    const cri_mechanism *mech;
    const cri_unit *unit;
    const cri_mech_derived *d;
    const cri_tree_plan *plan;
    cri_vec3 origin; // O

    // at q
    double *q;              // (n_q)
    cri_pose *pose;         // (n_body) in the world
    cri_vec3 *place;        // (n_body) body origins from O
    cri_spatial *S;         // (n_v)
    cri_spatial_inertia *I; // (n_node + 1)
    double *M;              // (n_entry)
    double *E;              // (n_row, n_v)
    cri_tree_tie *tie;      // (n_equality)
    cri_tree_factor plain, damped;

    // after cri_tree_accel
    double h;
    const cri_tree_factor *factor; // the one that it used
    double *v, *a;                 // (n_v)
    double *nu;                    // (n_row) multipliers
    cri_spatial *V, *A, *F;        // (n_node + 1) with a = 0
    cri_tree_drive *drive;         // (n_actuator)
};

/// A state of the recursion: motions and forces of nodes at the accelerations a.
typedef struct cri_tree_state {
    const double *v, *a;      // (n_v)
    const cri_spatial *V, *A; // (n_node + 1)
    const cri_spatial *F;     // (n_node + 1)
} cri_tree_state;

/// Adjoints on nodes, seeds on entry.
typedef struct cri_tree_seeds {
    cri_spatial *A, *V, *Y; // (n_node + 1)
} cri_tree_seeds;

/// Where adjoints of accelerations go.
typedef struct cri_tree_accel_adj {
    double *q, *v;             // (n_v) of the unit
    double *u;                 // (n_u) of the mechanism, NULL: not wanted
    double *h;                 // NULL: not wanted
    const cri_mech_derived *d; // NULL: not wanted
} cri_tree_accel_adj;

/// Time constant of the stabilisation of equalities, critically damped. MuJoCo's default solref.
#define CRI_TIE_TIME 0.02

struct cri_tree_tan {
    const cri_mech_derived *d; // NULL: zero
    const double *q;           // (n_v) of the unit
    cri_spatial *Y;            // (n_node + 1)
    cri_spatial *S;            // (n_v) changes of columns
    cri_spatial_inertia *I;    // (n_node + 1) changes of inertias
    bool *is_moved;            // (n_node + 1) Y or I change; where not, nothing above does either
    bool *is_alive;            // (n_node + 1) work
};

// ---- plan and kinematics (tree.c) --------------------------------------------------------------

size_t cri_tree_plan_bytes(const cri_mechanism *mech, int unit);

/// That of d, or one of its own in the arena. NULL when there is no memory.
cri_tree_plan *cri_tree_plan_of(const cri_mechanism *mech, int unit, const cri_mech_derived *d,
                                cr_arena *arena);

/// NULL when there is no memory. The plan is borrowed.
cri_tree *cri_tree_push_on(const cri_tree_plan *plan, const cri_mechanism *mech, int unit,
                           const cri_mech_derived *d, cr_arena *arena);

/// cri_tree_set without factors; q (n_q) of the unit.
void cri_tree_place(cri_tree *tree, const double *q);

/// Node and pose of any body; node 0 and the fixed pose for one that is static, -1: the world.
int cri_tree_node_of(const cri_tree *tree, int body);
cri_pose cri_tree_any_pose(const cri_tree *tree, int body);

// ---- mass (tree_mass.c) ------------------------------------------------------------------------

void cri_tree_mass(cri_tree *tree);
void cri_tree_factor_mass(const cri_tree *tree, double h, cri_tree_factor *factor);

/// (M + h D)^-1 x in place.
void cri_tree_back(const cri_tree *tree, const cri_tree_factor *factor, double *x);

/// M w + E' nu = g, E w = e (NULL: zero), with w = g on entry.
void cri_tree_back_tied(const cri_tree *tree, const cri_tree_factor *factor, const double *e,
                        double *w, double *nu);

/// Adds the inertia of a body with the pose and place to a sum.
void cri_tree_body_inertia(const cri_link_derived *link, const cri_mat3 *R, cri_vec3 place,
                           cri_spatial_inertia *sum);

// ---- recursion (tree_rne.c) --------------------------------------------------------------------

/// X (n_node + 1): motions of nodes for the rates w (n_v), that of the world as it is in X[0].
void cri_tree_spread(const cri_tree *tree, const double *w, cri_spatial *X);

/// X (n_node + 1) = motions of w (n_v), dX = their changes with those of the columns, and motions
/// of w_tan unless NULL (tree_map.c).
void cri_tree_spread_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *w,
                              const double *w_tan, cri_spatial *X, cri_spatial *dX);

/// V, A and the nodes' own forces F for a = 0.
void cri_tree_bias_forces(const cri_tree *tree, const double *v, cri_spatial *V, cri_spatial *A,
                          cri_spatial *F);

/// Adds forces of subtrees up in F; g (n_v) += sign S . F.
void cri_tree_gather(const cri_tree *tree, double sign, cri_spatial *F, double *g);

/// Adjoint of the inverse dynamics for the weights mu with motions L. Adds to q_adj, v_adj (n_v of
/// the unit, v_adj not NULL) and d_adj. Seeds are overwritten.
void cri_tree_recursion_vjp_part(const cri_tree *tree, const cri_tree_state *s, const double *mu,
                                 const cri_spatial *L, const cri_tree_seeds *seeds, double *q_adj,
                                 double *v_adj, const cri_mech_derived *d_adj);

/// Adds scale times the gradient of X . I Z for the inertia of body b (of the unit).
void cri_tree_inertia_vjp_part(const cri_tree *tree, int b, double scale, cri_spatial X,
                               cri_spatial Z, cri_link_derived *adj);

/// Tangent of the inverse dynamics at fixed a: tau_tan (n_v) += ..., dV, dA (n_node + 1) are
/// filled, dF holds changes of the nodes' own outer forces on entry, with their sign in F.
void cri_tree_recursion_jvp_part(const cri_tree *tree, const cri_tree_state *s,
                                 const cri_tree_tan *tan, const double *v_tan, cri_spatial *dV,
                                 cri_spatial *dA, cri_spatial *dF, double *tau_tan);

// ---- with the unit's own arrays (tree_accel.c, tree_map.c) --------------------------------------

/// cri_tree_accel with v (n_v) of the unit; the result is in tree->a.
void cri_tree_accel_own(cri_tree *tree, const double *v, const double *u, double h,
                        cr_arena *scratch);

/// Adjoint and tangent of it, q and v (n_v) of the unit.
void cri_tree_accel_vjp_own(const cri_tree *tree, const double *a_adj,
                            const cri_tree_accel_adj *adj, cr_arena *scratch);
void cri_tree_accel_jvp_own(const cri_tree *tree, const cri_accel_tan *own, double *a_tan,
                            cr_arena *scratch);

/// Motions and forces at the accelerations of the last cri_tree_accel, in scratch.
cri_tree_state cri_tree_solved_state(const cri_tree *tree, cr_arena *scratch);

/// cri_tree_tan_push with q_tan (n_v) of the unit.
cri_tree_tan *cri_tree_tan_push_own(const cri_tree *tree, const double *q_tan,
                                    const cri_mech_derived *d_tan, cr_arena *scratch);

// ---- forces (tree_force.c) ---------------------------------------------------------------------

/// A joint seen as a tendon, or the tendon itself.
cri_tendon cri_tree_combination(const cri_mechanism *mech, const int *joint, int tendon);
double cri_tree_length(const cri_tree *tree, const cri_tendon *c);
double cri_tree_rate(const cri_tree *tree, const cri_tendon *c, const double *v);
void cri_tree_add_along(const cri_tree *tree, const cri_tendon *c, double s, double *g);

/// tau (n_v) += forces on dofs; F (n_node + 1) -= wrenches on nodes. u of the mechanism.
void cri_tree_forces(cri_tree *tree, const double *v, const double *u, double *tau, cri_spatial *F);

/// Adjoint for the weights lambda on all forces, with motions L. Adds; Y_adj (n_node + 1).
typedef struct cri_tree_force_adj {
    double *q, *v;             // (n_v) of the unit
    double *u;                 // of the mechanism, NULL: not wanted
    cri_spatial *Y;            // (n_node + 1)
    const cri_mech_derived *d; // NULL: not wanted
} cri_tree_force_adj;
void cri_tree_forces_vjp_part(const cri_tree *tree, const double *lambda, const cri_spatial *L,
                              const cri_tree_force_adj *adj);

/// tau_tan (n_v) += changes of forces on dofs; dF (n_node + 1) -= those of wrenches. tan has q and
/// v of the unit.
void cri_tree_forces_jvp_part(const cri_tree *tree, const cri_accel_tan *tan,
                              const cri_tree_tan *turn, double *tau_tan, cri_spatial *dF);

/// R (n_v, 2 n_v) += derivatives of all forces on dofs for q, then for v. No drive is one of a
/// site.
void cri_tree_forces_jac_part(const cri_tree *tree, double *R);

// ---- actuators (tree_drive.c), as in tree_force.c ----------------------------------------------

cri_tree_drive cri_tree_drive_of(const cri_tree *tree, int actuator, const double *v,
                                 const double *u);
void cri_tree_drive_apply(const cri_tree *tree, int actuator, double force, double *tau,
                          cri_spatial *F);
void cri_tree_drive_vjp_part(const cri_tree *tree, int i, const double *lambda,
                             const cri_spatial *L, const cri_tree_force_adj *adj);
void cri_tree_drive_jvp_part(const cri_tree *tree, int i, const cri_accel_tan *tan,
                             const cri_tree_tan *turn, double *tau_tan, cri_spatial *dF);

/// Implicit damping of actuator i of the plan: c in r1 += h c a of one dof, c = -gear^2 bias[2].
/// False: it has none, c is 0.
bool cri_tree_drive_damping(const cri_tree *tree, int i, double *c, int *dof);

// ---- equalities (tree_equality.c) --------------------------------------------------------------

/// E and the residuals at q.
void cri_tree_tie_all(cri_tree *tree);

/// Adds the wrenches of E' nu to F (n_node + 1).
void cri_tree_tie_wrenches(const cri_tree *tree, const double *nu, cri_spatial *F);

/// e (n_row) = -(rows at a = 0 with stabilisation).
void cri_tree_tie_bias(const cri_tree *tree, double *e);

/// Seeds of -nu_adj . rows + mu . E' nu, where L are the motions of mu. Adds to q_adj, v_adj (n_v).
void cri_tree_tie_vjp_part(const cri_tree *tree, const cri_tree_state *s, const double *nu_adj,
                           const double *mu, const cri_spatial *L, const cri_tree_seeds *seeds,
                           double *q_adj, double *v_adj);

/// Changes of E' nu for fixed nu: wrenches into dF, the rest into g_tan (n_v).
void cri_tree_tie_wrenches_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *nu,
                                    cri_spatial *dF, double *g_tan);

/// e (n_row) = -E_tan w, with motions X of w and their changes dX at fixed w.
void cri_tree_tie_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *w,
                           const cri_spatial *X, const cri_spatial *dX, double *e);

/// e (n_row) -= changes of the rows that come with velocities and stabilisation.
void cri_tree_tie_bias_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *v_tan,
                                const cri_spatial *dV, double *e);

/// Seeds of -scale (nu . E w) with motions X of w: on X's motions and on Y. Adds to q_adj (n_v).
void cri_tree_tie_form_vjp_part(const cri_tree *tree, double scale, const double *nu,
                                const double *w, const cri_spatial *X, cri_spatial *X_adj,
                                cri_spatial *Y_adj, double *q_adj);
