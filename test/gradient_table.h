// SPDX-License-Identifier: MIT
//
// What the parts of the gradient table share: scenes whose states are moved in tangent coordinates.
//
// Vectors of a row with a scene are put together of
//
//   y   the state in tangent coordinates (n_tangent): in inputs its displacement from the point;
//       in outputs positions and velocities, and rotation vectors from where the point goes
//   d   derived parameters, the block of a cri_derived (n_d)
//
// so that Jacobians are compared at rotation vectors of zero.

#pragma once

#include "carom/carom.h"
#include "gradient_row.h"
#include "sim/sim.h"

/// A scene and the state around which a row moves.
typedef struct table_stage {
    cr_model *model;
    cr_sim *sim;
    cr_sizes n;
    int n_d;
    double x[TABLE_LIMIT];    // (n_x) the point, unit quaternions
    double next[TABLE_LIMIT]; // (n_x) where it goes, origin of the output's rotation vectors
    double d[TABLE_LIMIT];    // (n_d) at the point
} table_stage;

/// Bodies over a floor. They differ in everything, and so do the coefficients of their pairs.
typedef struct table_scene {
    const char *gravity; // NULL: none
    const char *normal;  // of the floor through the origin, NULL: upwards
    double friction;     // of the floor; those of the bodies are 0.1 to 0.2
    double friction2;    // of pairs along the second tangent, 0: one for both
    double restitution;  // of the floor; those of the bodies are 0.9 to 0.6 of it
    bool has_pairs;      // pairs have coefficients of their own, those of floor and body
    const char *bodies;  // o ball, p and q smaller ones, r round one, x box, s slab
    const char *qpos, *qvel;
} table_scene;

/// A touch of two geoms, or the limit number slot when there are none.
typedef struct table_contact {
    const char *geom[2];
    int slot;
} table_contact;

/// Tolerances of the steppers far below the steps of differences.
cr_sim_options table_options(const char *stepper, const char *law);

/// Opens a scene at the state of its first keyframe.
void table_open(table_stage *s, const char *mjcf, const cr_sim_options *options);
void table_open_scene(table_stage *s, const table_scene *scene, const cr_sim_options *options);
void table_close(table_stage *s);

/// The near of a contact; the test ends when there is no such.
cri_near table_near(const table_stage *s, const table_contact *c);

/// Trees of all units at a state whose poses are set.
void table_set_trees(const table_stage *s, cri_state *state, cr_arena *keep, cr_arena *scratch);

/// State x (n_x) at the displacement y (n_tangent).
void table_displace(const table_stage *s, const double *y, double *x);

/// Output y (n_tangent) of a state x (n_x), rotations against s->next.
void table_output(const table_stage *s, const double *x, double *y);

/// Writes the derived parameters into the sim, and how each may be moved.
void table_set_derived(table_stage *s, const double *d);
void table_move_derived(const table_stage *s, table_move *move);

/// Clears the sim's d_adj; then adds it to adj (n_d).
void table_begin_derived_adj(table_stage *s);
void table_add_derived_adj(const table_stage *s, double *adj);
