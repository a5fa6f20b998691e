// SPDX-License-Identifier: MIT
//
// A recording simulated again: residuals and their derivatives.
//
//     r = (simulated - recorded) / sigma, for every sample and column, sigma the column's noise
//
// The initial state is the one at the first sample. A quaternion and its negative are the same
// rotation: where all four numbers are recorded, they are taken with the sign that is nearer.
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
//
// Recordings of points on a surface, as depth cameras see them.
//
// Every sample of such a recording has the same number of points p, and the residual of a point is
// its signed distance from the geom, phi(R'(p - x)), which needs no pairs of points.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "geometry/query/depth.h"
#include "model/model.h"
#include "optimize/recording.h"
#include "optimize/schedule.h"
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
void cri_unknowns_x0_tan(const cri_unknowns *unknowns, const double *own, const double *x0,
                         double *x0_tan);

/// Points of one time, in the world; n may be 0.
typedef struct cri_cloud_frame {
    double time; // s
    int n;
    const double *point; // (n, 3)
} cri_cloud_frame;

/// What was seen of a geom. Borrowed; file stands in messages and stays with the recording.
typedef struct cri_cloud_def {
    int geom;
    int n_frame;
    const cri_cloud_frame *frame; // (n_frame) in ascending time
    int n_point;                  // of each frame that count, above 0
    const char *file;
} cri_cloud_def;

/// A recording of it. Of every frame n_point are taken, evenly over their order; a frame with fewer
/// has some twice, and one without any is left out. CR_ERR_ARGUMENT when a number is not finite,
/// times do not increase or fewer than two frames have points.
CR_MUST_CHECK cr_status cri_cloud_push(const cr_model *model, const cri_cloud_def *def,
                                       cr_arena *arena, cri_recording *out, cr_error *err);

/// The geom as a field with the parameters p (n_p). False: it has none, as planes.
bool cri_cloud_field(const cr_model *model, int geom, const double *p, cri_field_node *leaf,
                     cri_field *out);

typedef struct cri_replay {
    const cr_model *model;
    cr_sizes sizes;
    const cri_unknowns *unknowns;
    const cri_recording *recording;
    cri_schedule schedule;
    cri_point point;  // start values; the places of the unknowns hold the last ones
    double *base;     // (n_turn, 4) quaternions that turns start from; the caller fills it
    bool has_control; // true when a control is selected; the caller may set it for others
    int n_sample;     // how many samples are compared, from the first
    int n_quat;       // quaternions whose four numbers are all recorded
    int (*quat)[4];   // (n_quat) their columns
    double *sign;     // (n_column) of the sample at hand
    double *x;        // (n_x)
    double *x_tan;    // (n_unknown, n_tangent)
    double *x_adj;    // (n_x) scratch
    double *u_tan;    // (n_unknown, n_u)
    double *p_tan;    // (n_unknown, n_p)
} cri_replay;

/// Prepares a replay. dt is the longest step. Everything passed must outlive it. Its point is zero
/// and for the caller to fill.
CR_MUST_CHECK cr_status cri_replay_init(const cr_model *model, const cri_unknowns *unknowns,
                                        const cri_recording *recording, double dt, cr_arena *arena,
                                        cri_replay *out, cr_error *err);

/// Values of the unknowns: shared (n_shared) and the recording's own (n_own).
typedef struct cri_values {
    const double *shared;
    const double *own;
} cri_values;

/// Told after each step of a replay, for statistics. x is the state after it.
typedef void cri_replay_watch(void *context, cr_sim *sim);

/// Residuals r (n_sample * n_column) on a sim with gradients, and when J is not NULL their
/// derivatives (n_shared + n_own, n_sample * n_column).
CR_MUST_CHECK cr_status cri_replay_residuals(cri_replay *replay, cr_sim *sim,
                                             const cri_values *values, double *r, double *J,
                                             cr_error *err);

/// Simulates the samples and lets watch see each step.
CR_MUST_CHECK cr_status cri_replay_look(cri_replay *replay, cr_sim *sim, const cri_values *values,
                                        cri_replay_watch *watch, void *context, cr_error *err);
