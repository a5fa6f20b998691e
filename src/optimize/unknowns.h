// SPDX-License-Identifier: MIT
//
// The unknowns of a fit behind the variables of a selection.
//
// Variables about parameters and controls are shared by all recordings. Variables about the initial
// state alone are each recording's own: every recording has its copy. A tie of both kinds is
// shared.
//
// An own variable is an unknown, with one exception: when all four numbers of a quaternion are
// selected, three unknowns stand for them, the rotation vector theta from where the quaternion
// stood at the start: q = q_start exp(theta). So no unknown is about the length of q, which means
// nothing.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/select.h"

/// A quaternion whose four numbers are all selected.
typedef struct cri_turn {
    int quat;        // first of its numbers in x
    int theta;       // first of its rotation vector in the tangent of x
    int own;         // first of its three unknowns among a recording's own
    int variable[4]; // of the selection
} cri_turn;

typedef struct cri_unknowns {
    const cri_selection *selection; // borrowed
    int n_shared;
    int *shared; // (n_shared) variable of each shared unknown
    int n_own;   // unknowns of each recording
    int *own;    // (n_own) variable of each, -1: part of a turn
    int n_own_variable;
    int *own_variable; // (n_own_variable) of the selection, in its order
    int n_turn;
    cri_turn *turn;
} cri_unknowns;

/// Sorts the variables of a selection. The arrays live in arena.
CR_MUST_CHECK cr_status cri_unknowns_push(const cri_selection *selection, cr_arena *arena,
                                          cri_unknowns *out, cr_error *err);

/// The unknown that holds own variable j of the selection, -1 for one in a turn and for others.
int cri_unknowns_find(const cri_unknowns *unknowns, int variable);

/// The turn that holds a variable, -1: none.
int cri_unknowns_find_turn(const cri_unknowns *unknowns, int variable);

/// Shared values z (n_shared), and own values z (n_own), of a point; turns are zero.
void cri_unknowns_read(const cri_unknowns *unknowns, const cri_point *point, double *shared,
                       double *own);

/// Writes them to a point. base (n_turn, 4) has the quaternions that turns start from.
void cri_unknowns_write(const cri_unknowns *unknowns, const double *shared, const double *own,
                        const double *base, cri_point *point);

/// Tangents, one row an unknown, the shared ones first, overwritten: p_tan (n, n_p); u_tan (n, n_u)
/// during that step; x0_tan (n, n_tangent) at the initial state x0 that the own values make.
void cri_unknowns_p_tan(const cri_unknowns *unknowns, double *p_tan);
void cri_unknowns_u_tan(const cri_unknowns *unknowns, int step, double *u_tan);
void cri_unknowns_x0_tan(const cri_unknowns *unknowns, const double *own, const double *x0,
                         double *x0_tan);
