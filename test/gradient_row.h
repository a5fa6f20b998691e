// SPDX-License-Identifier: MIT
//
// Rows of the gradient table over long vectors, of which some numbers are held.

#pragma once

#include "base/math/quat.h"
#include "cr_test.h"

/// How an input may be moved by differences.
typedef enum table_move {
    TABLE_FREE,
    TABLE_HELD,     // not at all: the function is not smooth that way
    TABLE_POSITIVE, // stays positive
    TABLE_UP,       // only up: an edge or a kink
    TABLE_DOWN,     // only down
} table_move;

enum { TABLE_LIMIT = 512 }; // numbers of a vector

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

/// The tests of one part, run as a group: returns how many failed.
#define TABLE_PART(part, ...)                                                                      \
    int part(void) {                                                                               \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

int gradient_table_math(void);
int gradient_table_body(void);
int gradient_table_state(void);
int gradient_table_tree(void);
int gradient_table_solver(void);
int gradient_table_cone(void);
int gradient_table_law(void);
int gradient_table_ground(void);
int gradient_table_space(void);
int gradient_table_contact(void);
int gradient_table_near(void);
int gradient_table_jump(void);
int gradient_table_jump_tree(void);
int gradient_table_motion(void);
int gradient_table_step(void);
int gradient_table_sim(void);
int gradient_table_points(void);
int gradient_table_points_jump(void);
