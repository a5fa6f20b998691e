// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: pairs of shapes, contact frames.

#include "gradient_table.h"

#include "base/math/dense.h"
#include "contact/ground.h"
#include "contact/island.h"
#include "contact/pair.h"
#include "geometry/query/narrow.h"

#include <string.h>

enum { N_TOUCH = 10 };

static void store_touch(const cri_touch *t, double *y) {
    y[0] = t->gap;
    cri_v3_store(t->normal, y + 1);
    cri_v3_store(t->arm[0], y + 4);
    cri_v3_store(t->arm[1], y + 7);
}

static cri_touch load_touch(const double *y) {
    return (cri_touch){
        .gap = y[0], .normal = cri_v3_load(y + 1), .arm = {cri_v3_load(y + 4), cri_v3_load(y + 7)}};
}

// ---- pairs of shapes ---------------------------------------------------------------------------

static const cri_vec3 slope = {0.36, -0.48, 0.8}; // unit

// x = (pos, offset, radius)
static void plane_sphere_forward(const double *x, double *y) {
    cri_touch t = cri_plane_sphere(slope, x[3], cri_v3_load(x), x[4]);
    store_touch(&t, y);
}

static void plane_sphere_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    cri_touch adj = load_touch(y_adj);
    cri_vec3 pos_adj = cri_v3_load(x_adj);
    cri_plane_sphere_vjp(slope, &adj, &pos_adj, x_adj + 3, x_adj + 4);
    cri_v3_store(pos_adj, x_adj);
}

static void plane_sphere_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    cri_touch t = cri_plane_sphere_jvp(slope, cri_v3_load(x_tan), x_tan[3], x_tan[4]);
    store_touch(&t, y_tan);
}

// x = (delta, radius0, radius1)
static void sphere_sphere_forward(const double *x, double *y) {
    cri_touch t = cri_sphere_sphere(cri_v3_load(x), x[3], x[4]);
    store_touch(&t, y);
}

static void sphere_sphere_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_touch adj = load_touch(y_adj);
    cri_vec3 delta_adj = cri_v3_load(x_adj);
    cri_sphere_sphere_vjp(cri_v3_load(x), x[3], x[4], &adj, &delta_adj, x_adj + 3, x_adj + 4);
    cri_v3_store(delta_adj, x_adj);
}

static void sphere_sphere_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_touch t =
        cri_sphere_sphere_jvp(cri_v3_load(x), x[3], x[4], cri_v3_load(x_tan), x_tan[3], x_tan[4]);
    store_touch(&t, y_tan);
}

TEST(a_plane_and_a_sphere_have_their_gradient) {
    static const double ball[5] = {0.3, -0.7, 1.1, 0.4, 0.6};
    table_check(&(table_row){.name = "plane_sphere",
                             .vjp_name = "cri_plane_sphere_vjp",
                             .jvp_name = "cri_plane_sphere_jvp",
                             .n_in = 5,
                             .n_out = N_TOUCH,
                             .forward = plane_sphere_forward,
                             .vjp = plane_sphere_vjp,
                             .jvp = plane_sphere_jvp,
                             .x = ball});
}

TEST(two_spheres_have_their_gradient) {
    // apart, and with one centre, where only the radii may move
    static const double points[2][5] = {{0.9, -0.7, 1.1, 0.4, 0.6}, {0.0, 0.0, 0.0, 0.4, 0.6}};
    static const table_move moves[2][5] = {{TABLE_FREE}, {TABLE_HELD, TABLE_HELD, TABLE_HELD}};
    for (int k = 0; k < 2; k++) {
        table_check(&(table_row){.name = "sphere_sphere",
                                 .vjp_name = "cri_sphere_sphere_vjp",
                                 .jvp_name = "cri_sphere_sphere_jvp",
                                 .n_in = 5,
                                 .n_out = N_TOUCH,
                                 .forward = sphere_sphere_forward,
                                 .vjp = sphere_sphere_vjp,
                                 .jvp = sphere_sphere_jvp,
                                 .x = points[k],
                                 .move = moves[k]});
    }
}

// ---- frames ------------------------------------------------------------------------------------

static void store_frame(const cri_frame *frame, double *y) {
    for (int r = 0; r < 3; r++) {
        cri_v3_store(frame->axis[r], y + 3 * r);
    }
}

static void frame_forward(const double *x, double *y) {
    cri_frame frame = cri_frame_of(cri_v3_load(x));
    store_frame(&frame, y);
}

static void frame_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_frame adj = {{cri_v3_load(y_adj), cri_v3_load(y_adj + 3), cri_v3_load(y_adj + 6)}};
    cri_vec3 normal_adj = cri_v3_load(x_adj);
    cri_frame_of_vjp(cri_v3_load(x), &adj, &normal_adj);
    cri_v3_store(normal_adj, x_adj);
}

static void frame_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_frame frame = cri_frame_of_jvp(cri_v3_load(x), cri_v3_load(x_tan));
    store_frame(&frame, y_tan);
}

TEST(a_frame_has_the_gradient_of_its_normal) {
    static const double points[2][3] = {{0.36, -0.48, 0.8}, {0.48, 0.64, -0.6}};
    for (int k = 0; k < 2; k++) {
        table_check(&(table_row){.name = "frame_of",
                                 .vjp_name = "cri_frame_of_vjp",
                                 .jvp_name = "cri_frame_of_jvp",
                                 .n_in = 3,
                                 .n_out = 9,
                                 .forward = frame_forward,
                                 .vjp = frame_vjp,
                                 .jvp = frame_jvp,
                                 .x = points[k]});
    }
}

static void aligned_forward(const double *x, double *y) {
    cri_frame frame = cri_frame_aligned(cri_v3_load(x));
    store_frame(&frame, y);
}

static void aligned_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_frame adj = {{cri_v3_load(y_adj), cri_v3_load(y_adj + 3), cri_v3_load(y_adj + 6)}};
    cri_vec3 normal_adj = cri_v3_load(x_adj);
    cri_frame_aligned_vjp(cri_v3_load(x), &adj, &normal_adj);
    cri_v3_store(normal_adj, x_adj);
}

static void aligned_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_frame frame = cri_frame_aligned_jvp(cri_v3_load(x), cri_v3_load(x_tan));
    store_frame(&frame, y_tan);
}

TEST(an_aligned_frame_has_the_gradient_of_its_normal) {
    // along y, along z, upright
    static const double points[3][3] = {{0.36, -0.48, 0.8}, {0.48, 0.64, -0.6}, {0.0, 0.0, 1.0}};
    for (int k = 0; k < 3; k++) {
        table_check(&(table_row){.name = "frame_aligned",
                                 .vjp_name = "cri_frame_aligned_vjp",
                                 .jvp_name = "cri_frame_aligned_jvp",
                                 .n_in = 3,
                                 .n_out = 9,
                                 .forward = aligned_forward,
                                 .vjp = aligned_vjp,
                                 .jvp = aligned_jvp,
                                 .x = points[k]});
    }
}

// ---- two coefficients of friction --------------------------------------------------------------

// y = (size, scale of t1, scale of t2)
static void ellipse_forward(const double *x, double *y) {
    cri_ellipse e = cri_ellipse_of(x[0], x[1]);
    y[0] = e.size;
    y[1] = e.scale[1];
    y[2] = e.scale[2];
}

static void ellipse_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_ellipse e = cri_ellipse_of(x[0], x[1]);
    cri_ellipse adj = {.size = y_adj[0], .scale = {0.0, y_adj[1], y_adj[2]}};
    cri_ellipse_of_vjp(&e, &adj, x_adj, x_adj + 1);
}

static void ellipse_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_ellipse e = cri_ellipse_of(x[0], x[1]);
    cri_ellipse tan = cri_ellipse_of_jvp(&e, x_tan[0], x_tan[1]);
    y_tan[0] = tan.size;
    y_tan[1] = tan.scale[1];
    y_tan[2] = tan.scale[2];
}

TEST(an_ellipse_has_the_gradient_of_its_coefficients) {
    // the first is larger, the second, they are equal, one is zero
    static const double points[4][2] = {{0.7, 0.3}, {0.2, 0.5}, {0.4, 0.4}, {0.3, 0.0}};
    static const table_move moves[4][2] = {
        {TABLE_FREE, TABLE_FREE},
        {TABLE_FREE, TABLE_FREE},
        {TABLE_UP, TABLE_DOWN}, // the first counts as the larger
        {TABLE_FREE, TABLE_UP},
    };
    for (int k = 0; k < 4; k++) {
        table_check(&(table_row){.name = "ellipse_of",
                                 .vjp_name = "cri_ellipse_of_vjp",
                                 .jvp_name = "cri_ellipse_of_jvp",
                                 .n_in = 2,
                                 .n_out = 3,
                                 .forward = ellipse_forward,
                                 .vjp = ellipse_vjp,
                                 .jvp = ellipse_jvp,
                                 .x = points[k],
                                 .move = moves[k]});
    }
    // none at all: that of both together
    cri_ellipse none = cri_ellipse_of(0.0, 0.0);
    CHECK_CLOSE(cri_ellipse_of_jvp(&none, 0.2, 0.2).size, 0.2, 0.0, 1e-15);
    double adj[2] = {0.0, 0.0};
    cri_ellipse_of_vjp(&none, &(cri_ellipse){.size = 1.0}, &adj[0], &adj[1]);
    CHECK_CLOSE(adj[0] + adj[1], 1.0, 0.0, 1e-15);
}

// ---- limits of ball joints ---------------------------------------------------------------------

// orientation around which x = theta moves, one for each sign of the quaternion
static cri_quat ball_at;

static const cri_limit ball_limit = {.ball = 0, .n = 3};

static void limit_axis_forward(const double *x, double *y) {
    double q[4], angle;
    cri_q4_store(cri_quat_mul(ball_at, cri_quat_exp(cri_v3_load(x))), q);
    cri_v3_store(cri_limit_axis(&ball_limit, q, &angle), y);
}

static void limit_axis_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    double q[4];
    cri_q4_store(ball_at, q);
    cri_v3_accumulate(cri_limit_axis_vjp(&ball_limit, q, cri_v3_load(y_adj)), x_adj);
}

static void limit_axis_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    double q[4];
    cri_q4_store(ball_at, q);
    cri_v3_store(cri_limit_axis_jvp(&ball_limit, q, cri_v3_load(x_tan)), y_tan);
}

TEST(the_axis_of_a_ball_joint_has_its_gradient) {
    static const double none[3];
    for (int k = 0; k < 2; k++) {
        ball_at = cri_quat_exp(cri_v3(0.7, -1.1, 0.4));
        double sign = k == 0 ? 1.0 : -1.0;
        ball_at =
            (cri_quat){sign * ball_at.w, sign * ball_at.x, sign * ball_at.y, sign * ball_at.z};
        table_check(&(table_row){.name = "cri_limit_axis",
                                 .vjp_name = "cri_limit_axis_vjp",
                                 .jvp_name = "cri_limit_axis_jvp",
                                 .n_in = 3,
                                 .n_out = 3,
                                 .forward = limit_axis_forward,
                                 .vjp = limit_axis_vjp,
                                 .jvp = limit_axis_jvp,
                                 .x = none});
    }
}

// ---- openings ----------------------------------------------------------------------------------

// contacts, rows, dofs: twice as many rows as dofs
enum { N_OPEN = 4, M_OPEN = 3 * N_OPEN, D_OPEN = 6, N_OPEN_IN = M_OPEN * D_OPEN + N_OPEN };

static cri_opening opening;
static cr_arena *opening_memory[2];

// out (M_OPEN, M_OPEN) = left right' of rows (M_OPEN, D_OPEN)
static void outer_rows(const double *left, const double *right, double *out) {
    for (int i = 0; i < M_OPEN * M_OPEN; i++) {
        out[i] = cri_dot(D_OPEN, left + i / M_OPEN * D_OPEN, right + i % M_OPEN * D_OPEN);
    }
}

// x = (rows G (M_OPEN, D_OPEN), targets); A = G G'
static void opening_forward(const double *x, double *y) {
    double A[M_OPEN * M_OPEN];
    for (int k = 0; k < 2; k++) {
        cri_arena_reset(opening_memory[k]);
        assert_true(cri_arena_reserve(opening_memory[k], cri_opening_bytes(N_OPEN)));
    }
    outer_rows(x, x, A);
    cri_opening_find(N_OPEN, A, x + M_OPEN * D_OPEN, true, &opening, opening_memory[0],
                     opening_memory[1]);
    memcpy(y, opening.drift, sizeof(double) * M_OPEN);
}

static void opening_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_contact_adj adj = {0};
    double target_adj[N_OPEN], pulled[D_OPEN];
    cri_arena_mark mark = cri_arena_get_mark(opening_memory[1]);
    cri_opening_find_vjp(&opening, y_adj, target_adj, &adj, opening_memory[1]);
    for (int i = 0; i < N_OPEN; i++) {
        x_adj[M_OPEN * D_OPEN + i] += target_adj[i];
    }
    // A_adj = sum of left right',  G_adj = (A_adj + A_adj') G
    for (int k = 0; k < 2 * adj.n_outer; k++) {
        const double *a = k % 2 ? adj.left[k / 2] : adj.right[k / 2];
        const double *b = k % 2 ? adj.right[k / 2] : adj.left[k / 2];
        memset(pulled, 0, sizeof pulled);
        for (int i = 0; i < M_OPEN; i++) {
            cri_add_scaled(D_OPEN, b[i], x + i * D_OPEN, pulled);
        }
        for (int i = 0; i < M_OPEN; i++) {
            cri_add_scaled(D_OPEN, a[i], pulled, x_adj + i * D_OPEN);
        }
    }
    cri_arena_rewind(opening_memory[1], mark);
}

static void opening_jvp(const double *x, const double *x_tan, double *y_tan) {
    double A[2][M_OPEN * M_OPEN], A_tan_y[M_OPEN], A_tan_s[M_OPEN];
    outer_rows(x, x_tan, A[0]);
    outer_rows(x_tan, x, A[1]);
    for (int i = 0; i < M_OPEN; i++) {
        const double *a = A[0] + i * M_OPEN, *b = A[1] + i * M_OPEN;
        A_tan_y[i] = cri_dot(M_OPEN, a, opening.y) + cri_dot(M_OPEN, b, opening.y);
        A_tan_s[i] = cri_dot(M_OPEN, a, opening.s) + cri_dot(M_OPEN, b, opening.s);
    }
    cri_opening_find_jvp(&opening, x_tan + M_OPEN * D_OPEN, A_tan_y, A_tan_s, y_tan,
                         opening_memory[1]);
}

TEST(openings_have_the_gradient_of_rows_and_targets) {
    double x[N_OPEN_IN];
    for (int i = 0; i < N_OPEN_IN; i++) {
        x[i] = sin(1.0 + 1.7 * i + 0.3 * i * i);
    }
    for (int k = 0; k < 2; k++) {
        opening_memory[k] = cri_arena_create(0);
        assert_non_null(opening_memory[k]);
    }
    table_check(&(table_row){.name = "opening_find",
                             .vjp_name = "cri_opening_find_vjp",
                             .jvp_name = "cri_opening_find_jvp",
                             .n_in = N_OPEN_IN,
                             .n_out = M_OPEN,
                             .forward = opening_forward,
                             .vjp = opening_vjp,
                             .jvp = opening_jvp,
                             .x = x});
    CHECK(opening.n_null == M_OPEN - D_OPEN);
    for (int k = 0; k < 2; k++) {
        cri_arena_destroy(opening_memory[k]);
    }
}

TABLE_PART(gradient_table_contact, a_plane_and_a_sphere_have_their_gradient,
           two_spheres_have_their_gradient, a_frame_has_the_gradient_of_its_normal,
           an_aligned_frame_has_the_gradient_of_its_normal,
           an_ellipse_has_the_gradient_of_its_coefficients,
           the_axis_of_a_ball_joint_has_its_gradient,
           openings_have_the_gradient_of_rows_and_targets)
