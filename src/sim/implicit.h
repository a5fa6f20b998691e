// SPDX-License-Identifier: MIT
//
// What the files of the implicit step share: its energy, and the record of a step.

#pragma once

#include "energy/inertial.h"
#include "energy/joint_energy.h"
#include "energy/slip.h"
#include "sim/sim.h"
#include "solvers/descent.h"

/// What poles and knees of a pair have beyond second order at a motion (12) of its bodies.
typedef struct cri_pair_bend {
    double value; // infinite: beyond a pole
    double g[12], H[144];
} cri_pair_bend;

/// A step: where it is, and what its energy is made of.
typedef struct cri_implicit {
    cr_sim *sim;
    double h, mu;
    cri_groups groups; // unknowns by bodies
    const double *x;   // (n_x) now
    const double *u;   // (n_u)
    cri_frames now, last;
    cri_frames stand, tried;   // of the unknown positions
    double *q_stand, *q_tried; // (n_q)
    cri_slip_list slips;
    double *F, *N;      // (n_body, 3), (n_body, 9) work
    double *force;      // (n_body, 6) work
    double *force_bent; // (n_body, 6) work
    double *joint;      // (n_joint, 12) work
    double *step;       // (n_v) work
    double *contact;    // (n_v) gradient of all that is proportional to mu, over mu, where it tried
    double *body_size;  // (n_body) m
    cri_potential_touch *touch; // (n_pair + n_half) where it tried
    // (n_pair + n_half) where it stands, and where it tried
    cri_longrange_poles *poles[2];
    cri_slip_knees *knees[2];
    cri_pair_bend *bent; // (n_pair + n_half) work
} cri_implicit;

/// What a step leaves on the tape.
typedef struct cri_implicit_record {
    double mu;
    int n_pair;
    cri_block_factor factor; // of the second derivatives, when the step is solved
    cri_frames now, last, next;
    cri_slip_list slips;
    double *contact; // (n_v)
    double *turn;    // (n_v) displacements over the step, log of rotations
    cri_potential_touch *touch;
    const cri_potential *potential;
} cri_implicit_record;

// for tests

/// Frames now and last of a state; the unknown positions stand where the state is. False when there
/// is no memory.
bool cri_implicit_begin(cr_sim *sim, const cri_step_record *record, cr_arena *keep,
                        cr_arena *scratch, cri_implicit *out);

/// Stands where the velocities lead, or on the way there when a surface or a limit is before it: a
/// better place to begin. Bodies at rest stay. is_start: where the step begins.
void cri_implicit_guess(cri_implicit *step, bool is_start);

/// The problem that a step solves.
cri_descent cri_implicit_problem(cri_implicit *step);

/// q_out (n_q) = q moved by part d (n_v).
void cri_implicit_retract(const cri_mechanism *mech, const double *q, double part, const double *d,
                          double *q_out);
