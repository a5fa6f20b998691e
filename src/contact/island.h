// SPDX-License-Identifier: MIT
//
// The velocity jump of one island: v+ = v + W G' f, f = law(A = G W G', b = G v, mu, e, target).
//
// Impacts and resting contacts share it. Velocities are those of the whole model (n_v numbers);
// only the units of the island are read and written. G = J K: rows in the velocities of bodies
// times the bodies' motion in those of dofs; W is the (constrained) inverse mass matrix.

#pragma once

#include "base/math/dense_factor.h"
#include "base/math/vec3.h"
#include "contact/ground.h"
#include "contact/law.h"
#include "contact/pair.h"

/// Numbers the islands of these contacts (n) in the order of their first contact, and returns how
/// many there are. near (n) gives the units; island (n) gets that of each contact, island_of_unit
/// (n_unit) that of each unit, -1 for a unit that no contact touches.
int cri_islands(const cr_model *model, int n, const cri_near *const *near, int *island_of_unit,
                int *island);

/// Orthonormal axes n, t1, t2 in the world; also the type of their adjoint and tangent.
typedef struct cri_frame {
    cri_vec3 axis[3];
} cri_frame;

/// Requires a unit normal.
cri_frame cri_frame_of(cri_vec3 normal);

/// J_side = -+ [t, R'(arm x t)] for each axis t of the frame, times its scale: minus for body 0,
/// plus for body 1; arm goes from the body's origin to its witness point. A limit has no frame and
/// no J.
typedef struct cri_row {
    cri_near near;
    cri_narrow_touch touch;
    cri_frame frame;
    cri_ellipse ellipse;
    double J[2][3][6];
} cri_row;

/// Adjoint of the blocks J. Adds to q_adj (n_v) and d_adj.
void cri_row_at_vjp(const cri_world *world, const cri_row *row, const cri_state *state,
                    double J_adj[2][3][6], double *q_adj, const cri_derived *d_adj);

/// Tangent of the blocks J for q_tan (n_v), body_tan (n_body, 6) and d_tan. Returns that of the
/// gap.
double cri_row_at_jvp(const cri_world *world, const cri_row *row, const cri_state *state,
                      const double *q_tan, const double *body_tan, const cri_derived *d_tan,
                      double J_tan[2][3][6]);

/// Points into the arena that kept it.
typedef struct cri_opening {
    int n;         // contacts, 0: nothing opens, or contacts are not redundant
    int rank;      // rows of A that count as independent, in the order of psd
    int n_null;    // the others
    double *drift; // (3n) the velocities
    double *X;     // (rank, n_null) columns of [X; 1] span the null space of those rows
    double *K;     // (n_null, n_null) factor of N' D^-1 N
    double *s;     // (3n) D (drift - asked)
    double *y;     // (3n) impulse that makes the drift; only with derivatives
    cri_psd psd;   // pivots of A, n = 0: not needed
} cri_opening;

/// Adjoint: from drift_adj (3n) to target_adj (n), overwritten, and two outer products added to
/// adj, pushed on scratch.
void cri_opening_find_vjp(const cri_opening *opening, const double *drift_adj, double *target_adj,
                          cri_contact_adj *adj, cr_arena *scratch);

/// Overwrites drift_tan (3n), from target_tan (n), A_tan y and A_tan s (3n each). A_tan_s may be
/// NULL where s is zero.
void cri_opening_find_jvp(const cri_opening *opening, const double *target_tan,
                          const double *A_tan_y, const double *A_tan_s, double *drift_tan,
                          cr_arena *scratch);

/// A touch that takes part.
typedef struct cri_contact_ref {
    const cri_near *near;
    const cri_narrow_touch *touch;
} cri_contact_ref;

/// Three rows of G in the dofs of one unit.
typedef struct cri_block {
    int place;       // of the unit in the island, -1: nothing moves
    const double *G; // (3, n_v of the unit)
    // trees only: G W G' = left right' of two blocks, (3, n_v of the unit) each
    const double *left, *right;
} cri_block;

/// A response w = W G' z, nu its multipliers: derivatives meet the same few z at every seed.
typedef struct cri_jump_base {
    double *z;  // (3n)
    double *g;  // (n_dof) G' z
    double *w;  // (n_dof)
    double *nu; // (n_row)
} cri_jump_base;

/// Responses that are kept: two impulses and two vectors of each reduced system, their sum, and two
/// vectors of the opening.
enum { CRI_JUMP_BASES = 7 };

/// One island's solve, and what its derivatives replay. Points into the arena that kept it.
typedef struct cri_jump {
    int n;                 // contacts
    int n_unit;            // units of the island
    int n_dof;             // their dofs
    int n_row;             // rows of their equalities
    bool has_tree;         // some unit is no free body
    cri_state *state;      // where the rows stand, borrowed
    cri_row *row;          // (n)
    int *unit;             // (n_unit)
    int *at;               // (n_unit) first of its dofs in the island's vectors
    int *row_at;           // (n_unit) first of its multipliers
    cri_block (*block)[2]; // (n) of the two sides
    double *A, *b;         // (3n, 3n), (3n)
    double *mu, *e;        // (n)
    double *target;        // (n), zero unless the caller sets it; the solve takes what can be had
    cri_opening opening;   // of the targets
    bool *is_plain;        // (n), set by the caller
    bool *has_e;           // (n), whether restitution has a derivative; set by the caller
    bool *is_sliding;      // (n)
    bool *is_back;         // (n) its friction is that of sliding back (island.c)
    bool has_sides;        // of some contact
    double *f;             // (3n) impulses
    const cri_contact_link *link; // of the body that nets know, NULL: none
    const double *before;         // (n_v) velocity before the forces of the step; NULL: not said
    double *W, *v;                // (n_dof) inverse inertia of free bodies, velocity before
    size_t n_byte;                // room that one more call needs in scratch, and a solve in keep
    const void *law_cache;
    cri_jump_base *base; // (CRI_JUMP_BASES) filled by tangents; NULL without a cache
    int *n_base;         // how many there are
    cri_law_report report;
} cri_jump;

/// Leaves out touches that add nothing to a patch in the eyes of the world's law; returns how many
/// are left.
int cri_jump_thin(const cri_world *world, int n, cri_contact_ref *ref);

/// Room for cri_jump_begin and one cri_jump_solve in keep; the same suffices in scratch for the
/// solve and for the derivatives.
size_t cri_jump_bytes(const cri_world *world, int n, const cri_contact_ref *ref);

/// Rows, A, mu and e of these contacts (n) at a state. Nothing is plain; has_e is true. Has room.
void cri_jump_begin(const cri_world *world, int n, const cri_contact_ref *ref, cri_state *state,
                    cri_jump *jump, cr_arena *keep, cr_arena *scratch);

/// Solves for the velocity v (n_v) from the impulses in jump->f, and writes the units' v_out (n_v).
/// Where the numbers are not finite there is no solve: the report is CR_ITERATION_LIMIT, law_cache
/// NULL.
void cri_jump_solve(const cri_world *world, cri_jump *jump, const double *v, bool has_cache,
                    double *v_out, cr_arena *keep, cr_arena *scratch);

/// Adjoint for v_out_adj (n_v), of which the island's dofs are read. Adds to v_adj (n_v) what goes
/// through the solve and v_out_adj itself, to q_adj (n_v), d_adj, and overwrites target_adj (n).
void cri_jump_solve_vjp(const cri_world *world, const cri_jump *jump, const double *v_out_adj,
                        double *v_adj, double *q_adj, const cri_derived *d_adj, double *target_adj,
                        cr_arena *scratch);

/// Tangents of the inputs; target and target_of_gap may be NULL.
typedef struct cri_jump_tan {
    const double *v;        // (n_v)
    const double *q;        // (n_v)
    const double *body_tan; // (n_body, 6): cri_state_motion of q
    const cri_derived *d;
    const double *target;        // (n)
    const double *target_of_gap; // (n) added to target: this times the tangent of the gap
    bool is_fixed;               // d is zero
    bool is_still;               // and so is q: only velocity and target move
    bool is_exact;               // never smoothed
} cri_jump_tan;

/// Writes the units' entries of v_out_tan (n_v).
void cri_jump_solve_jvp(const cri_world *world, const cri_jump *jump, const cri_jump_tan *tan,
                        double *v_out_tan, cr_arena *scratch);

/// The derivative of the jump for q and v as a matrix: out (2 n_dof, n_dof), a row for each dof of
/// the island that changes, those of q first. False when there is none: the law has no jvp_many, or
/// a unit has equalities. zero are parameters' tangents; target_of_gap as above.
bool cri_jump_jac(const cri_world *world, const cri_jump *jump, const cri_derived *zero,
                  const double *target_of_gap, double *out, cr_arena *scratch);

/// Room in scratch that it needs.
size_t cri_jump_jac_bytes(const cri_world *world, const cri_jump *jump);

/// Sets the island's dofs of a vector (n_v) to zero.
void cri_jump_clear(const cri_world *world, const cri_jump *jump, double *v);

/// Numbers of dofs of unit k of the island.
static inline const cri_unit *cri_jump_unit(const cri_world *world, const cri_jump *jump, int k) {
    return &world->model->mech.unit[jump->unit[k]];
}

/// The inverse mass matrix of a free body, which is diagonal; its tangent likewise.
static inline void cri_jump_load_inverse(const cri_body_derived *d, double W[6]) {
    W[0] = W[1] = W[2] = d->inv_mass;
    cri_v3_store(d->inv_inertia, W + 3);
}

/// o (6) += rows (3, 6)' z (3): as cri_jump_pull, of a free body.
static inline void cri_jump_pull6(const double *rows, const double *z, double *o) {
    for (int r = 0; r < 3; r++) {
        for (int i = 0; i < 6; i++) {
            o[i] += rows[6 * r + i] * z[r];
        }
    }
}

/// out (n_dof) = G' z, out (3n) = G w.
void cri_jump_pull(const cri_world *world, const cri_jump *jump, const double *z, double *out);
void cri_jump_push(const cri_world *world, const cri_jump *jump, const double *w, double *out);

/// w (n_dof) = W g; nu (n_row), if not NULL, gets the multipliers. w may be g.
void cri_jump_respond(const cri_world *world, const cri_jump *jump, const double *g, double *w,
                      double *nu, cr_arena *scratch);

/// Copies between island vectors and those of the model.
void cri_jump_gather(const cri_world *world, const cri_jump *jump, const double *wide, double *out);
void cri_jump_scatter(const cri_world *world, const cri_jump *jump, const double *in, double *wide);

/// The forces on bodies J' z: adds to force (n_body, 6), of which only the island's trees are
/// written.
void cri_jump_body_force(const cri_world *world, const cri_jump *jump, const cri_row *row,
                         const double *z, double *force);

/// Sets force (n_body, 6) to zero for the bodies of the island's trees.
void cri_jump_clear_force(const cri_world *world, const cri_jump *jump, double *force);

/// The touching body alone, in keep, for laws of nets whose body hangs on others; NULL: it does
/// not.
cri_contact_link *cri_jump_link(const cri_world *world, const cri_jump *jump, cr_arena *keep,
                                cr_arena *scratch);
size_t cri_jump_link_bytes(const cri_world *world, int n);

/// Nets that ask where their body is along its surface, else NULL; and that place, m, or 0.
const struct cri_ground_nets *cri_jump_placed(const cri_world *world);
double cri_jump_where(const cri_world *world, const cri_jump *jump);
cri_contact_problem cri_jump_problem(const cri_world *world, const cri_jump *jump);

// for tests

/// Adds to normal_adj.
void cri_frame_of_vjp(cri_vec3 normal, const cri_frame *adj, cri_vec3 *normal_adj);
cri_frame cri_frame_of_jvp(cri_vec3 normal, cri_vec3 normal_tan);

/// The frame in which friction has two coefficients: t1 is the world's y axis, or z where the
/// normal is within 60 degrees of y, made orthogonal. Requires a unit normal.
cri_frame cri_frame_aligned(cri_vec3 normal);

/// Adds to normal_adj.
void cri_frame_aligned_vjp(cri_vec3 normal, const cri_frame *adj, cri_vec3 *normal_adj);
cri_frame cri_frame_aligned_jvp(cri_vec3 normal, cri_vec3 normal_tan);

/// Of a touch at a state.
void cri_row_at(const cri_world *world, const cri_near *near, const cri_narrow_touch *touch,
                const cri_state *state, cri_row *row);

/// Finds the opening of target (n). With has_derivative also what the derivatives need. Has room.
/// out->psd may be there though out->n is 0.
void cri_opening_find(int n, const double *A, const double *target, bool has_derivative,
                      cri_opening *out, cr_arena *keep, cr_arena *scratch);

/// Room that it needs in each arena.
size_t cri_opening_bytes(int n);
