// SPDX-License-Identifier: MIT
//
// Dynamics of one unit of a mechanism in reduced coordinates, with adjoints and tangents.
//
// Arrays over q, v, u and bodies are those of the whole mechanism; only the unit's entries are read
// and written, unless it says otherwise. Vectors over bodies: model/mechanism.h. K(q) takes rates
// of dofs to motions of bodies; M(q) is the mass matrix with armature; W is its inverse,
// constrained by the equalities if there are any: W = M^-1 - M^-1 E'(E M^-1 E')^-1 E M^-1.
//
// Calls go down this page: set, then solve and the maps; accel needs set at the same q.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/math/spatial.h"
#include "geometry/convex/shape.h"
#include "model/mechanism.h"
#include "model/model.h"

typedef struct cri_frames {
    const cr_model *model;
    cri_pose *pose;   // (n_body)
    cri_vec3 *w, *v;  // (n_v)
    const int *first; // (n_body + 1) into path
    const int *path;  // dofs from the root to a body
} cri_frames;

/// Memory for frames, with the paths of all bodies. False when there is none.
bool cri_frames_push(const cr_model *model, cr_arena *arena, cri_frames *out);

/// Others over the same paths.
bool cri_frames_push_like(const cri_frames *other, cr_arena *arena, cri_frames *out);

/// Poses and twists at q (n_q), whose quaternions are unit.
void cri_frames_set(cri_frames *frames, const double *q);

/// motion (n_body, 6) of the bodies for rates of dofs y (n_v).
void cri_frames_motion(const cri_frames *frames, const double *y, double *motion);

/// g (n_v) += forces (n_body, 6) on the dofs.
void cri_frames_pull(const cri_frames *frames, const double *force, double *g);

/// H (n_v, n_v) += second derivatives B of two bodies' motions, rows of a and columns of b, stride
/// apart, with their transpose for a != b. Bodies -1 and static ones add nothing.
void cri_frames_add_block(const cri_frames *frames, int a, int b, const double *B, int stride,
                          double *H);

/// H (n_v, n_v) += what the coordinates themselves bend: F (n_body, 3) and N (n_body, 9) are the
/// gradient in affine motions x = A r + b of each body, N for A and F for b. work (n_joint, 12).
void cri_frames_add_curvature(const cri_frames *frames, const double *F, const double *N,
                              double *work, double *H);

/// One unit at one q: poses, axes, inertias, factors; and after cri_tree_accel what its derivatives
/// need. Lives in the arena that made it. Calls use room in it: one thread at a time.
typedef struct cri_tree cri_tree;

/// Room that cri_tree_push needs.
size_t cri_tree_bytes(const cri_mechanism *mech, int unit);

/// The same where d has plans.
size_t cri_tree_room(const cri_mechanism *mech, const cri_mech_derived *d, int unit);

/// What trees of a unit share, for d->plan: one thread at a time. NULL when there is no memory.
struct cri_tree_plan *cri_tree_plan_push(const cri_mechanism *mech, int unit, cr_arena *arena);

/// Room in scratch that any one call below needs.
size_t cri_tree_scratch_bytes(const cri_mechanism *mech, int unit);

/// NULL when there is no memory. mech and d are borrowed.
cri_tree *cri_tree_push(const cri_mechanism *mech, int unit, const cri_mech_derived *d,
                        cr_arena *arena);

/// Forward kinematics, composite inertia, factor of M, and of E M^-1 E'.
void cri_tree_set(cri_tree *tree, const double *q, cr_arena *scratch);

/// The pose of body b, as left by cri_tree_set.
cri_pose cri_tree_pose(const cri_tree *tree, int body);

// ---- maps --------------------------------------------------------------------------------------

/// motion (n_body, 6) = K w,  w (n_v). Overwrites the unit's bodies.
void cri_tree_motion(const cri_tree *tree, const double *w, double *motion);

/// The same for one body alone: g (n_v) += K_b' force (6), along the path to the root.
void cri_tree_pull_body(const cri_tree *tree, int body, const double *force, double *g);

/// And for several: rows G (n, n_v) of the unit += forces (n, 6) K_b.
void cri_tree_pull_rows(const cri_tree *tree, int body, int n, const double *forces, double *G);

/// Columns of K for one body: the motion (6) for a unit rate of each of its dofs, from the root,
/// which dof gets (of the mechanism). Returns their number, n_v of the unit at most.
int cri_tree_body_columns(const cri_tree *tree, int body, int *dof, double *columns);

/// Derivatives of the body's motion K w for those dofs at fixed w (n_v): (6) each, as above.
void cri_tree_body_motion_jac(const cri_tree *tree, int body, const double *w, double *columns);
void cri_tree_solve(const cri_tree *tree, const double *g, double *w, double *nu);

/// Rows Z (n, n_v) for rows G (n, n_v) of the unit with Z Z' = G M^-1 G': half of what a solve
/// does, and zero where neither a row nor what is below it acts.
void cri_tree_half_rows(const cri_tree *tree, int n, const double *G, double *Z);

/// Two motions of dofs with their multipliers (NULL without equalities) and the forces on bodies
/// that go with them.
typedef struct cri_tree_form {
    const double *left;        // (n_v)
    const double *right;       // (n_v)
    const double *left_force;  // (n_body, 6)
    const double *right_force; // (n_body, 6)
    const double *left_nu;     // (n_row of the unit)
    const double *right_nu;    // (n_row of the unit)
} cri_tree_form;

/// Adds scale times the gradient of the number
///   phi(q, d) = left_force . K right + right_force . K left - left' M right
///               - left_nu . E right - right_nu . E left
/// for fixed vectors to q_adj (tangents, n_v) and d_adj. With left = W K' left_force and right
/// likewise this is the derivative of left_force . (K W K') right_force. NULL forces are zero.
void cri_tree_form_vjp(const cri_tree *tree, const cri_tree_form *form, double scale, double *q_adj,
                       const cri_mech_derived *d_adj, cr_arena *scratch);

/// Adjoint of poses for pose_adj (n_body, 6): q_adj (n_v) += K' pose_adj. Same as cri_tree_pull.

/// A direction in q and d, prepared once for several products. Lives in scratch, borrows both.
typedef struct cri_tree_tan cri_tree_tan;

cri_tree_tan *cri_tree_tan_push(const cri_tree *tree, const double *q_tan,
                                const cri_mech_derived *d_tan, cr_arena *scratch);

/// motion_tan = K_tan w + K w_tan.
void cri_tree_motion_jvp(const cri_tree *tree, const cri_tree_tan *tan, const double *w,
                         const double *w_tan, double *motion_tan);

/// g_tan += K_tan' force + K' force_tan.
void cri_tree_pull_jvp(const cri_tree *tree, const cri_tree_tan *tan, const double *force,
                       const double *force_tan, double *g_tan);

/// w_tan of w = W g, given g_tan, w and its multipliers nu.
void cri_tree_solve_jvp(const cri_tree *tree, const cri_tree_tan *tan, const double *g_tan,
                        const double *w, const double *nu, double *w_tan, cr_arena *scratch);

// ---- accelerations -----------------------------------------------------------------------------

/// a (n_v) without contact: (M + h D) a = forces - bias, constrained by the equalities with
/// stabilisation; h >= 0, the step of Euler, makes joint damping implicit over that time. v (n_v),
/// u (n_u).
/// Forces: gravity, springs, damping, tendons, actuators, and the generalised forces in u.
void cri_tree_accel(cri_tree *tree, const double *v, const double *u, double h, double *a,
                    cr_arena *scratch);

/// Adjoint of the last cri_tree_accel. Adds to q_adj, v_adj (n_v), u_adj (n_u), h_adj and d_adj;
/// the last three may be NULL.
void cri_tree_accel_vjp(const cri_tree *tree, const double *a_adj, double *q_adj, double *v_adj,
                        double *u_adj, double *h_adj, const cri_mech_derived *d_adj,
                        cr_arena *scratch);

/// Tangents of the inputs of cri_tree_accel.
typedef struct cri_accel_tan {
    const double *q; // (n_v)
    const double *v; // (n_v)
    const double *u; // (n_u)
    double h;
    const cri_mech_derived *d;
} cri_accel_tan;

void cri_tree_accel_jvp(const cri_tree *tree, const cri_accel_tan *tan, double *a_tan,
                        cr_arena *scratch);

/// Adds the derivatives of K' force - M w for q at fixed force (n_body, 6) and w (n_v) to R (n_v,
/// n_column) of the unit: a column for each dof that changes. No equalities.
void cri_tree_response_jac(const cri_tree *tree, const double *w, const double *force, int n_column,
                           double *R, cr_arena *scratch);

/// W times the columns of X (n_v, n_column) of the unit, in place. No equalities.
void cri_tree_solve_many(const cri_tree *tree, int n_column, double *X);

/// W times the rows of X (n, n_v) of the unit, in place. No equalities.
void cri_tree_solve_rows(const cri_tree *tree, int n, double *X, cr_arena *scratch);

/// Room in scratch for these.
size_t cri_tree_jac_bytes(const cri_mechanism *mech, int unit);

/// Kinetic energy, and potential energy of gravity (heights from the origin) and springs.
double cri_tree_energy(const cri_tree *tree, const double *v);

// ---- motion over a time ------------------------------------------------------------------------

/// Stages of one motion, for its derivatives. Lives in the arena given to cri_tree_flow.
typedef struct cri_tree_trace cri_tree_trace;

/// The same where d has plans.
size_t cri_tree_flow_room(const cri_mechanism *mech, const cri_mech_derived *d, int unit);

/// Where a motion begins, and how long it takes.
typedef struct cri_tree_start {
    const double *q; // (n_q)
    const double *v; // (n_v)
    const double *u; // (n_u) constant
    double t;        // >= 0, s
} cri_tree_start;

/// The smooth motion: RK4 on rotation vectors (order 4), or semi-implicit Euler with implicit
/// damping (cri_unit_is_euler). Writes the unit's entries of q_out, v_out. Returns the trace; NULL
/// when there is no memory in keep.
cri_tree_trace *cri_tree_flow(const cri_mechanism *mech, int unit, const cri_mech_derived *d,
                              const cri_tree_start *start, double *q_out, double *v_out,
                              cr_arena *keep, cr_arena *scratch);

/// Adjoint: q_adj, v_adj (n_v each, tangents) at time t become those of the start, in place for the
/// unit's entries; adds to u_adj, t_adj and d_adj, each NULL when not wanted.
void cri_tree_flow_vjp(const cri_tree_trace *trace, double *q_adj, double *v_adj, double *u_adj,
                       double *t_adj, const cri_mech_derived *d_adj, cr_arena *scratch);

/// Tangent: in place likewise. d_tan may be NULL for zero.
void cri_tree_flow_jvp(const cri_tree_trace *trace, double *q_tan, double *v_tan,
                       const double *u_tan, double t_tan, const cri_mech_derived *d_tan,
                       cr_arena *scratch);

/// Derivatives of the accelerations of all stages, in scratch, which many tangents of one motion
/// share; NULL when there are none (tree_has_jac). Needs cri_tree_flow_jac_bytes.
const double *cri_tree_flow_jac_push(const cri_tree_trace *trace, cr_arena *scratch);
size_t cri_tree_flow_jac_bytes(const cri_mechanism *mech, int unit);

/// cri_tree_flow_jvp with them, for q and v alone.
void cri_tree_flow_push(const cri_tree_trace *trace, const double *jac, double *q_tan,
                        double *v_tan, cr_arena *scratch);

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
void cri_tree_factor_mass(const cri_tree *tree, double h, cri_tree_factor *factor);

/// M w + E' nu = g, E w = e (NULL: zero), with w = g on entry.
void cri_tree_back_tied(const cri_tree *tree, const cri_tree_factor *factor, const double *e,
                        double *w, double *nu);

/// X (n_node + 1): motions of nodes for the rates w (n_v), that of the world as it is in X[0].
void cri_tree_spread(const cri_tree *tree, const double *w, cri_spatial *X);

/// X (n_node + 1) = motions of w (n_v), dX = their changes with those of the columns, and motions
/// of w_tan unless NULL (tree.c).
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

/// Tangent of the inverse dynamics at fixed a: tau_tan (n_v) += ..., dV, dA (n_node + 1) are
/// filled, dF holds changes of the nodes' own outer forces on entry, with their sign in F.
void cri_tree_recursion_jvp_part(const cri_tree *tree, const cri_tree_state *s,
                                 const cri_tree_tan *tan, const double *v_tan, cri_spatial *dV,
                                 cri_spatial *dA, cri_spatial *dF, double *tau_tan);

/// cri_tree_tan_push with q_tan (n_v) of the unit.
cri_tree_tan *cri_tree_tan_push_own(const cri_tree *tree, const double *q_tan,
                                    const cri_mech_derived *d_tan, cr_arena *scratch);

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

/// Implicit damping of actuator i of the plan: c in r1 += h c a of one dof, c = -gear^2 bias[2].
/// False: it has none, c is 0.
bool cri_tree_drive_damping(const cri_tree *tree, int i, double *c, int *dof);

/// E and the residuals at q.
void cri_tree_tie_all(cri_tree *tree);

/// Adds the wrenches of E' nu to F (n_node + 1).
void cri_tree_tie_wrenches(const cri_tree *tree, const double *nu, cri_spatial *F);

/// Changes of E' nu for fixed nu: wrenches into dF, the rest into g_tan (n_v).
void cri_tree_tie_wrenches_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *nu,
                                    cri_spatial *dF, double *g_tan);

/// e (n_row) = -E_tan w, with motions X of w and their changes dX at fixed w.
void cri_tree_tie_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *w,
                           const cri_spatial *X, const cri_spatial *dX, double *e);

/// Seeds of -scale (nu . E w) with motions X of w: on X's motions and on Y. Adds to q_adj (n_v).
void cri_tree_tie_form_vjp_part(const cri_tree *tree, double scale, const double *nu,
                                const double *w, const cri_spatial *X, cri_spatial *X_adj,
                                cri_spatial *Y_adj, double *q_adj);

// for tests

/// Poses of the unit's bodies (n_body) at q, whose quaternions are unit.
void cri_tree_poses(const cri_mechanism *mech, int unit, const double *q, cri_pose *pose);

/// g (n_v) += K' force,  force (n_body, 6).
void cri_tree_pull(const cri_tree *tree, const double *force, double *g);

/// M g (n_v), and w = W g; nu (n_row of the unit), if not NULL, gets the multipliers: M w + E' nu =
/// g. w may be g.
void cri_tree_multiply(const cri_tree *tree, const double *g, double *out);

/// c(q, v): forces that keep the unit from accelerating, without gravity's sign tricks: M a + c =
/// applied forces. MuJoCo's qfrc_bias.
void cri_tree_bias(const cri_tree *tree, const double *v, double *c, cr_arena *scratch);

// for tests

/// Room that cri_tree_flow needs in keep.
size_t cri_tree_flow_bytes(const cri_mechanism *mech, int unit);
