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
#include "geometry/convex/shape.h"
#include "model/mechanism.h"

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

/// Poses of the unit's bodies (n_body) at q, whose quaternions are unit.
void cri_tree_poses(const cri_mechanism *mech, int unit, const double *q, cri_pose *pose);

/// Forward kinematics, composite inertia, factor of M, and of E M^-1 E'.
void cri_tree_set(cri_tree *tree, const double *q, cr_arena *scratch);

/// The pose of body b, as left by cri_tree_set.
cri_pose cri_tree_pose(const cri_tree *tree, int body);

// ---- maps --------------------------------------------------------------------------------------

/// motion (n_body, 6) = K w,  w (n_v). Overwrites the unit's bodies.
void cri_tree_motion(const cri_tree *tree, const double *w, double *motion);

/// g (n_v) += K' force,  force (n_body, 6).
void cri_tree_pull(const cri_tree *tree, const double *force, double *g);

/// The same for one body alone: g (n_v) += K_b' force (6), along the path to the root.
void cri_tree_pull_body(const cri_tree *tree, int body, const double *force, double *g);

/// And for several: rows G (n, n_v) of the unit += forces (n, 6) K_b.
void cri_tree_pull_rows(const cri_tree *tree, int body, int n, const double *forces, double *G);

/// Columns of K for one body: the motion (6) for a unit rate of each of its dofs, from the root,
/// which dof gets (of the mechanism). Returns their number, n_v of the unit at most.
int cri_tree_body_columns(const cri_tree *tree, int body, int *dof, double *columns);

/// Derivatives of the body's motion K w for those dofs at fixed w (n_v): (6) each, as above.
void cri_tree_body_motion_jac(const cri_tree *tree, int body, const double *w, double *columns);

/// M g (n_v), and w = W g; nu (n_row of the unit), if not NULL, gets the multipliers: M w + E' nu =
/// g. w may be g.
void cri_tree_multiply(const cri_tree *tree, const double *g, double *out);
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

/// Are there the derivatives for all dofs at once? Not with equalities, nor with drives on sites.
bool cri_tree_has_jac(const cri_tree *tree);

/// Derivatives of the last cri_tree_accel for q, then for v: jac (2 n_v, n_v) of the unit, a row
/// for each dof that changes.
void cri_tree_accel_jac(const cri_tree *tree, double *jac, cr_arena *scratch);

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

/// c(q, v): forces that keep the unit from accelerating, without gravity's sign tricks: M a + c =
/// applied forces. MuJoCo's qfrc_bias.
void cri_tree_bias(const cri_tree *tree, const double *v, double *c, cr_arena *scratch);

/// Kinetic energy, and potential energy of gravity (heights from the origin) and springs.
double cri_tree_energy(const cri_tree *tree, const double *v);

// ---- motion over a time ------------------------------------------------------------------------

/// Stages of one motion, for its derivatives. Lives in the arena given to cri_tree_flow.
typedef struct cri_tree_trace cri_tree_trace;

/// Room that cri_tree_flow needs in keep.
size_t cri_tree_flow_bytes(const cri_mechanism *mech, int unit);

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
/// share; NULL when there are none (cri_tree_has_jac). Needs cri_tree_flow_jac_bytes.
const double *cri_tree_flow_jac_push(const cri_tree_trace *trace, cr_arena *scratch);
size_t cri_tree_flow_jac_bytes(const cri_mechanism *mech, int unit);

/// cri_tree_flow_jvp with them, for q and v alone.
void cri_tree_flow_push(const cri_tree_trace *trace, const double *jac, double *q_tan,
                        double *v_tan, cr_arena *scratch);
