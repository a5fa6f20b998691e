// SPDX-License-Identifier: MIT
//
// The velocity jump of one island: v+ = v + W G' f, f = law(A = G W G', b = G v, mu, e, target).
//
// Impacts and resting contacts share it. Velocities are those of the whole model (n_v numbers);
// only the units of the island are read and written. G = J K: rows in the velocities of bodies
// times the bodies' motion in those of dofs; W is the (constrained) inverse mass matrix.

#pragma once

#include "contact/opening.h"
#include "contact/row.h"

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
    bool *is_back;         // (n) its friction is that of sliding back (jump_side.c)
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
