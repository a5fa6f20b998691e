// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: rotations, least squares.

#include "gradient_table.h"

#include "base/arena.h"
#include "base/math/dense_factor.h"

#include <math.h>
#include <string.h>

// ---- rotations ---------------------------------------------------------------------------------

/// Origin of the rotation vectors of a row.
static cri_quat origin;

static void normalise_forward(const double *x, double *y) {
    table_turn(origin, cri_quat_normalise(cri_q4_load(x)), y);
}

static void normalise_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_quat_normalise_vjp(cri_q4_load(x), cri_v3_load(y_adj), x_adj);
}

static void normalise_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_v3_store(cri_quat_tangent(cri_q4_load(x), x_tan), y_tan);
}

TEST(normalising_a_quaternion_turns_by_its_tangent) {
    static const double points[3][4] = {
        {0.5, -0.3, 0.7, 0.4}, {1.2, 0.8, -0.9, 1.1}, {-0.2, 0.5, 0.1, -0.6}};
    for (int k = 0; k < 3; k++) {
        origin = cri_quat_normalise(cri_q4_load(points[k]));
        table_check(&(table_row){.name = "quat_normalise",
                                 .vjp_name = "cri_quat_normalise_vjp",
                                 .n_in = 4,
                                 .n_out = 3,
                                 .forward = normalise_forward,
                                 .vjp = normalise_vjp,
                                 .jvp = normalise_jvp,
                                 .x = points[k]});
    }
}

static void tangent_forward(const double *x, double *y) {
    cri_q4_store(cri_quat_mul(origin, cri_quat_exp(cri_v3_load(x))), y);
}

static void tangent_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    cri_v3_accumulate(cri_quat_tangent_vjp(origin, y_adj), x_adj);
}

TEST(numbers_of_a_quaternion_have_the_adjoint_of_its_tangent) {
    origin = cri_quat_normalise((cri_quat){0.5, -0.3, 0.7, 0.4});
    static const double zero[3];
    table_check(&(table_row){.name = "quat_tangent",
                             .vjp_name = "cri_quat_tangent_vjp",
                             .n_in = 3,
                             .n_out = 4,
                             .forward = tangent_forward,
                             .vjp = tangent_vjp,
                             .x = zero});
}

static void exp_forward(const double *x, double *y) {
    table_turn(origin, cri_quat_exp(cri_v3_load(x)), y);
}

static void exp_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_so3 r = cri_so3_of(cri_v3_load(x));
    cri_v3_accumulate(cri_so3_right_vjp(&r, cri_v3_load(y_adj)), x_adj);
}

static void exp_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_so3 r = cri_so3_of(cri_v3_load(x));
    cri_v3_store(cri_so3_right(&r, cri_v3_load(x_tan)), y_tan);
}

TEST(the_right_jacobian_is_that_of_the_exponential) {
    // the series and the closed form meet at a length of 0.1
    static const double points[5][3] = {
        {0.9, -1.3, 0.6}, {0.06, -0.07, 0.05}, {0.05, -0.06, 0.04}, {1e-3, 2e-3, -3e-3}, {0, 0, 0}};
    for (int k = 0; k < 5; k++) {
        origin = cri_quat_exp(cri_v3_load(points[k]));
        table_check(&(table_row){.name = "so3_right",
                                 .vjp_name = "cri_so3_right_vjp",
                                 .n_in = 3,
                                 .n_out = 3,
                                 .forward = exp_forward,
                                 .vjp = exp_vjp,
                                 .jvp = exp_jvp,
                                 .x = points[k]});
    }
}

/// What is turned, and which way.
static const cri_vec3 arm = {0.7, -0.4, 1.1};

static void rotate_forward(const double *x, double *y) {
    cri_so3 r = cri_so3_of(cri_v3_load(x));
    cri_v3_store(cri_so3_rotate(&r, arm), y);
    cri_v3_store(cri_so3_unrotate(&r, arm), y + 3);
}

TEST(turning_and_turning_back_agree_with_the_quaternion) {
    static const double points[3][3] = {{0.9, -1.3, 0.6}, {0.05, -0.06, 0.04}, {0, 0, 0}};
    for (int k = 0; k < 3; k++) {
        double y[6];
        rotate_forward(points[k], y);
        cri_mat3 R = cri_quat_rotation(cri_quat_exp(cri_v3_load(points[k])));
        cri_vec3 forth = cri_m3_mul(&R, arm), back = cri_m3_tmul(&R, arm);
        // rounding of a dozen operations
        CHECK_CLOSE(y[0], forth.x, 4e-16, 4e-16);
        CHECK_CLOSE(y[1], forth.y, 4e-16, 4e-16);
        CHECK_CLOSE(y[2], forth.z, 4e-16, 4e-16);
        CHECK_CLOSE(y[3], back.x, 4e-16, 4e-16);
        CHECK_CLOSE(y[4], back.y, 4e-16, 4e-16);
        CHECK_CLOSE(y[5], back.z, 4e-16, 4e-16);
    }
}

// ---- least squares -----------------------------------------------------------------------------

enum { N_ROW = 5, N_COLUMN = 3 };

/// The factorisation of a row, A (m, n).
static struct {
    int m, n;
    cri_qr qr;
} factored;

static void qr_solve_forward(const double *x, double *y) {
    double b[N_ROW];
    memcpy(b, x, sizeof(double) * (size_t)factored.m);
    cri_qr_solve(&factored.qr, b, y);
}

static void qr_solve_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    double b_adj[N_ROW];
    cri_qr_solve_vjp(&factored.qr, y_adj, b_adj);
    for (int i = 0; i < factored.m; i++) {
        x_adj[i] += b_adj[i];
    }
}

static void qr_solve_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    qr_solve_forward(x_tan, y_tan);
}

static void check_qr(int m, const double *A, int rank) {
    static const double b[N_ROW] = {1.0, -2.0, 0.5, 3.0, -1.5};
    cr_arena *arena = cri_arena_create(4096);
    assert_non_null(arena);
    factored.m = m;
    factored.n = N_COLUMN;
    factored.qr = cri_qr_factor(m, N_COLUMN, A, 1e-11, arena);
    CHECK_INT(factored.qr.rank, rank);
    table_check(&(table_row){.name = "qr_solve",
                             .vjp_name = "cri_qr_solve_vjp",
                             .n_in = m,
                             .n_out = N_COLUMN,
                             .forward = qr_solve_forward,
                             .vjp = qr_solve_vjp,
                             .jvp = qr_solve_jvp,
                             .x = b});
    cri_arena_destroy(arena);
}

TEST(least_squares_has_the_adjoint_of_its_right_side) {
    static const double square[] = {2.0, -1.0, 0.5, 0.3, 1.5, -0.7, 1.1, 0.4, 3.0};
    static const double tall[] = {2.0,  -1.0, 0.5, 0.3,  1.5, -0.7, 1.1, 0.4,
                                  -3.0, 0.8,  0.9, -0.2, 0.6, -1.2, 1.3};
    // the third column is the first minus twice the second
    static const double singular[] = {2.0, -1.0, 4.0, 0.3,  1.5, -2.7, 1.1, 0.4,
                                      0.3, 0.8,  0.9, -1.0, 0.6, -1.2, 3.0};
    check_qr(3, square, 3);
    check_qr(N_ROW, tall, 3);
    check_qr(N_ROW, singular, 2);
}

TABLE_PART(gradient_table_math, normalising_a_quaternion_turns_by_its_tangent,
           numbers_of_a_quaternion_have_the_adjoint_of_its_tangent,
           the_right_jacobian_is_that_of_the_exponential,
           turning_and_turning_back_agree_with_the_quaternion,
           least_squares_has_the_adjoint_of_its_right_side)
