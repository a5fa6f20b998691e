// SPDX-License-Identifier: MIT
//
// The motion of a sub-step: units by their smooth flow, those with resting contacts velocity first.
// All over one time t, with adjoint and tangent.

#pragma once

#include "sim/sim.h"

/// Start, resting islands, and their last solve. Points into the tape.
typedef struct cri_motion {
    cri_state state; // start
    const double *u; // (n_u)
    double h;        // full step
    double part;     // of it that resting contacts move at once, in the target -gap/part
    double t_end;    // of the sub-step without an impact
    int n_island;
    cri_jump *island;       // (n_island)
    int *island_of;         // (n_unit), -1: in none; NULL without islands
    double t_solved;        // time of the islands' last solve, -1: none
    bool has_rate;          // v_rate is that of this solve
    double *v_new;          // (n_v) their velocities then
    double *v_rate;         // (n_v) d v_new/dt
    double *accel;          // (n_v) acceleration without contact
    cri_tree_trace **trace; // (n_unit) flows of trees, NULL without trees
    double *t_flow;         // (n_unit) times they stand for, NAN: none
    double *flow;           // (n_x) where they led
    cri_arena_mark solve_mark;
} cri_motion;

/// Room on the tape for a motion from x (n_x) under u (n_u); poses are not set yet. False for lack
/// of memory.
CR_MUST_CHECK bool cri_motion_push(cr_sim *sim, cri_motion *motion, const double *x,
                                   const double *u, double h);

/// Sets up the islands of the resting features (n_rest) of sim->scan. False for lack of memory.
CR_MUST_CHECK bool cri_motion_begin(cr_sim *sim, cri_motion *motion, int n_rest, const int *rest);

/// Solves the islands for time t, unless they are; has_rate also gives v_rate. Nothing may have
/// been pushed on the tape since cri_motion_begin but by this function. False for lack of memory.
CR_MUST_CHECK bool cri_motion_solve(cr_sim *sim, cri_motion *motion, double t, bool has_rate);

/// The unit's entries of y (n_x) at time t, and of y_rate (n_tangent) when not NULL. A resting unit
/// must be solved for t. Traces of trees go to keep. False for lack of memory.
CR_MUST_CHECK bool cri_motion_unit(cr_sim *sim, cri_motion *motion, int unit, double t, double *y,
                                   double *y_rate, cr_arena *keep);

/// All units at time t, solved; traces go to the tape. False for lack of memory.
CR_MUST_CHECK bool cri_motion_all(cr_sim *sim, cri_motion *motion, double t, double *y,
                                  double *y_rate);

static inline bool cri_motion_is_resting(const cri_motion *motion, int unit) {
    return motion->n_island > 0 && motion->island_of[unit] >= 0;
}

/// y_adj (n_tangent) at time t becomes that of the start, in place; returns t_adj. Adds to
/// sim->d_adj and u_adj.
double cri_motion_vjp(cr_sim *sim, const cri_motion *motion, double t, double *y_adj,
                      double *u_adj);

/// y_tan (n_tangent) of the start becomes that at time t, in place; spreads sim->is_moved.
void cri_motion_jvp(cr_sim *sim, const cri_motion *motion, double t, double t_tan, double *y_tan,
                    const double *u_tan);

/// Room in scratch for the derivatives.
size_t cri_motion_scratch_bytes(const cr_sim *sim, const cri_motion *motion);

/// Prepares derivatives in scratch that the tangents of a motion without islands share, until
/// sim->flow_jac is NULL again: for q and v alone. Needs cri_motion_jac_bytes.
void cri_motion_share(cr_sim *sim, const cri_motion *motion);
size_t cri_motion_jac_bytes(const cr_sim *sim);
