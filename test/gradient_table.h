// SPDX-License-Identifier: MIT
//
// What the parts of the gradient table share: rows over long vectors, of which some numbers are
// held, and scenes whose states are moved in tangent coordinates.
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
#include "cr_test.h"
#include "sim/sim.h"

/// How an input may be moved by differences.
typedef enum table_move {
    TABLE_FREE,
    TABLE_HELD,     // not at all: the function is not smooth that way
    TABLE_POSITIVE, // stays positive
    TABLE_UP,       // only up: an edge or a kink
    TABLE_DOWN,     // only down
} table_move;

enum { TABLE_LIMIT = 256 }; // numbers of a vector

/// Size of a row's outputs when redundant contacts choose their impulse, to 1e-13 of the largest.
enum { TABLE_REDUNDANT = 1000 };

/// One function at one point. forward is called before vjp and jvp, which may use what it left
/// behind.
typedef struct table_row {
    const char *name;
    const char *vjp_name;
    const char *jvp_name;
    int n_in, n_out;
    void (*forward)(const double *x, double *y);
    void (*vjp)(const double *x, const double *y_adj, double *x_adj); // adds
    void (*jvp)(const double *x, const double *x_tan, double *y_tan); // fills
    const double *x;                                                  // (n_in) the point
    const table_move *move;                                           // (n_in), NULL: all free
    double step, tolerance;                                           // as in cr_vjp_case

    /// Outputs have the rounding error of numbers of this size, 0: 1. It is added to them, as
    /// differences judge their own error by the size of an output, and one of zero seems to have
    /// none.
    double size;
} table_row;

/// Compares vjp and jvp with differences in the inputs that are not held.
void table_check(const table_row *row);

/// Rotation vector from one unit quaternion to another, in the body frame: b = a exp(theta).
void table_turn(cri_quat a, cri_quat b, double *theta);

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
    double restitution;  // of the floor; those of the bodies are 0.9 to 0.6 of it
    const char *bodies;  // o ball, p and q smaller ones, r round one, x box, s slab
    const char *qpos, *qvel;
} table_scene;

/// Tolerances of the steppers far below the steps of differences.
cr_sim_options table_options(const char *stepper, const char *law);

/// Opens a scene at the state of its first keyframe.
void table_open(table_stage *s, const char *mjcf, const cr_sim_options *options);
void table_open_scene(table_stage *s, const table_scene *scene, const cr_sim_options *options);
void table_close(table_stage *s);

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

/// The tests of one part, run as a group: returns how many failed.
#define TABLE_PART(part, ...)                                                                      \
    int part(void) {                                                                               \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

int gradient_table_math(void);
int gradient_table_body(void);
int gradient_table_solver(void);
int gradient_table_contact(void);
int gradient_table_jump(void);
int gradient_table_motion(void);
int gradient_table_step(void);
int gradient_table_sim(void);
