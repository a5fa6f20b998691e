// SPDX-License-Identifier: MIT
//
// The velocity jump of one island: v+ = v + W J' f, f = law(A = J W J', b = J v, mu, e, target).
//
// Impacts and resting contacts share it. Velocities and poses are those of the whole model (n_v and
// n_x numbers); only the bodies of the island are read and written.

#pragma once

#include "contact/row.h"

/// One island's solve, and what its derivatives replay. Points into the arena that kept it.
typedef struct cri_jump {
    int n;            // contacts
    int n_body;       // bodies of the island
    const double *x;  // state at which the rows stand, borrowed
    cri_row *row;     // (n)
    int *body;        // (n_body)
    int (*local)[2];  // (n) place of each side's body in body, -1: world
    double *A, *b;    // (3n, 3n), (3n)
    double *mu, *e;   // (n)
    double *target;   // (n), zero unless the caller sets it
    bool *is_plain;   // (n), set by the caller
    bool *has_e;      // (n), whether restitution has a derivative; set by the caller
    bool *is_sliding; // (n)
    double *f;        // (3n) impulses
    double *W, *v;    // (6 n_body) inverse inertia, velocity before
    const void *law_cache;
    cri_law_report report;
} cri_jump;

/// Room for cri_jump_begin and one cri_jump_solve in keep; the same suffices in scratch for the
/// solve and for the derivatives.
size_t cri_jump_bytes(const cri_world *world, int n);

/// Rows, A, mu and e of these features (n) at x. Nothing is plain; has_e is true. Has room.
void cri_jump_begin(const cri_world *world, int n, const int *feature, const double *x,
                    cri_jump *jump, cr_arena *keep);

/// Solves for the velocity v (n_v) from the impulses in jump->f, and writes the bodies' v_out
/// (n_v).
void cri_jump_solve(const cri_world *world, cri_jump *jump, const double *v, bool has_cache,
                    double *v_out, cr_arena *keep, cr_arena *scratch);

/// Adjoint for v_out_adj (n_v), of which the island's bodies are read. Adds to v_adj (n_v) what
/// goes through the solve and v_out_adj itself, to q_adj (n_v), d_adj, and overwrites target_adj
/// (n).
void cri_jump_solve_vjp(const cri_world *world, const cri_jump *jump, const double *v_out_adj,
                        double *v_adj, double *q_adj, const cri_derived *d_adj, double *target_adj,
                        cr_arena *scratch);

/// Tangents of the inputs; target may be NULL.
typedef struct cri_jump_tan {
    const double *v; // (n_v)
    const double *q; // (n_v)
    const cri_derived *d;
    const double *target; // (n)
} cri_jump_tan;

/// Writes the bodies' entries of v_out_tan (n_v).
void cri_jump_solve_jvp(const cri_world *world, const cri_jump *jump, const cri_jump_tan *tan,
                        double *v_out_tan, cr_arena *scratch);
