// SPDX-License-Identifier: MIT
//
// The motion of a sub-step: free bodies by their smooth flow, bodies with resting contacts velocity
// first. Both over one time t, with adjoint and tangent.

#pragma once

#include "sim/sim.h"

/// Start, resting islands, and their last solve. Points into the tape.
typedef struct cri_motion {
    const double *x; // (n_x) start
    const double *u; // (n_u)
    double h;        // full step, in the target -gap/h
    int n_island;
    cri_jump *island; // (n_island)
    int *island_of;   // (n_body), -1: free; NULL without islands
    double t_solved;  // time of the islands' last solve, -1: none
    bool has_rate;    // v_rate is that of this solve
    double *v_new;    // (n_v) their velocities then
    double *v_rate;   // (n_v) d v_new/dt
    double *accel;    // (n_v) acceleration without contact
    cri_arena_mark solve_mark;
} cri_motion;

/// Sets up the islands of the resting features (n_rest, ascending). False for lack of memory.
CR_MUST_CHECK bool cri_motion_begin(cr_sim *sim, cri_motion *motion, int n_rest, const int *rest);

/// Solves the islands for time t, unless they are; has_rate also gives v_rate. Nothing may have
/// been pushed on the tape since cri_motion_begin but by this function. False for lack of memory.
CR_MUST_CHECK bool cri_motion_solve(cr_sim *sim, cri_motion *motion, double t, bool has_rate);

/// State of body b at time t, and its rate when not NULL. A resting body must be solved for t.
cri_body_state cri_motion_body(const cr_sim *sim, const cri_motion *motion, int b, double t,
                               cri_body_tangent *rate);

/// y_adj (n_tangent) at time t becomes that of the start, in place; returns t_adj. Adds to
/// sim->d_adj and u_adj.
double cri_motion_vjp(cr_sim *sim, const cri_motion *motion, double t, double *y_adj,
                      double *u_adj);

/// y_tan (n_tangent) of the start becomes that at time t, in place.
void cri_motion_jvp(cr_sim *sim, const cri_motion *motion, double t, double t_tan, double *y_tan,
                    const double *u_tan);

/// Room in scratch for the derivatives.
size_t cri_motion_scratch_bytes(const cr_sim *sim, const cri_motion *motion);
