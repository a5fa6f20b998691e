// SPDX-License-Identifier: MIT
//
// The velocities at an island's contacts that open its overlaps, such as bodies can have.
//
// Redundant contacts may ask for normal velocities that contradict each other, or that cannot be
// had without slip: corners of a face at unlike depths, links of a chain on the floor. Friction
// then acts on what bodies do besides opening, so that a contact that could stick carries no stress
// that comes of the opening alone.

#pragma once

#include "base/math/psd.h"
#include "contact/law.h"

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

/// Finds the opening of target (n). With has_derivative also what the derivatives need. Has room.
/// out->psd may be there though out->n is 0.
void cri_opening_find(int n, const double *A, const double *target, bool has_derivative,
                      cri_opening *out, cr_arena *keep, cr_arena *scratch);

/// Room that it needs in each arena.
size_t cri_opening_bytes(int n);

/// Adjoint: from drift_adj (3n) to target_adj (n), overwritten, and two outer products added to
/// adj, pushed on scratch.
void cri_opening_find_vjp(const cri_opening *opening, const double *drift_adj, double *target_adj,
                          cri_contact_adj *adj, cr_arena *scratch);

/// Overwrites drift_tan (3n), from target_tan (n), A_tan y and A_tan s (3n each). A_tan_s may be
/// NULL where s is zero.
void cri_opening_find_jvp(const cri_opening *opening, const double *target_tan,
                          const double *A_tan_y, const double *A_tan_s, double *drift_tan,
                          cr_arena *scratch);
