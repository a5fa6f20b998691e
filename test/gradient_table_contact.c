// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: pairs of shapes, contact frames, rows of the Jacobian, velocity
// jumps.

#include "gradient_table.h"

#include "contact/frame.h"
#include "contact/jump.h"
#include "contact/row.h"
#include "geometry/collide.h"

#include <math.h>
#include <string.h>

enum { N_TOUCH = 10, N_ROW = 36 };

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

static const cri_quat tilt = {0.5, -0.1, 0.7, 0.5}; // unit

/// Corner of the row.
static int corner_i;

// x = (pos, rotation vector, offset, size)
static void plane_box_forward(const double *x, double *y) {
    cri_mat3 R = cri_quat_rotation(cri_quat_mul(tilt, cri_quat_exp(cri_v3_load(x + 3))));
    cri_touch t = cri_plane_box(slope, x[6], cri_v3_load(x), &R, cri_box_corner(x + 7, corner_i));
    store_touch(&t, y);
}

static void plane_box_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_mat3 R = cri_quat_rotation(tilt);
    cri_touch adj = load_touch(y_adj);
    cri_vec3 pos_adj = cri_v3_load(x_adj), rot_adj = cri_v3_load(x_adj + 3);
    double *rest_adj[2] = {x_adj + 6, x_adj + 7};
    cri_plane_box_vjp(slope, &R, corner_i, x + 7, &adj, &pos_adj, &rot_adj, rest_adj);
    cri_v3_store(pos_adj, x_adj);
    cri_v3_store(rot_adj, x_adj + 3);
}

static void plane_box_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_mat3 R = cri_quat_rotation(tilt);
    cri_touch t = cri_plane_box_jvp(slope, &R, corner_i, x + 7, cri_v3_load(x_tan),
                                    cri_v3_load(x_tan + 3), x_tan[6], x_tan + 7);
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

TEST(pairs_with_a_plane_have_their_gradients) {
    static const double ball[5] = {0.3, -0.7, 1.1, 0.4, 0.6};
    static const double box[10] = {0.3, -0.7, 1.1, 0, 0, 0, 0.4, 0.5, 0.8, 1.2};
    table_check(&(table_row){.name = "plane_sphere",
                             .vjp_name = "cri_plane_sphere_vjp",
                             .jvp_name = "cri_plane_sphere_jvp",
                             .n_in = 5,
                             .n_out = N_TOUCH,
                             .forward = plane_sphere_forward,
                             .vjp = plane_sphere_vjp,
                             .jvp = plane_sphere_jvp,
                             .x = ball});
    for (corner_i = 0; corner_i < 8; corner_i++) {
        table_check(&(table_row){.name = "plane_box",
                                 .vjp_name = "cri_plane_box_vjp",
                                 .jvp_name = "cri_plane_box_jvp",
                                 .n_in = 10,
                                 .n_out = N_TOUCH,
                                 .forward = plane_box_forward,
                                 .vjp = plane_box_vjp,
                                 .jvp = plane_box_jvp,
                                 .x = box});
    }
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

// ---- features and rows -------------------------------------------------------------------------

// all kinds of pairs over a slope
static const table_scene yard = {
    .normal = "0.2 -0.3 1",
    .friction = 0.4,
    .restitution = 0.5,
    .bodies = "oxp",
    .qpos = "0.1 0.2 0.9 0.8 0.3 -0.4 0.2  2 1 1.2 0.7 -0.2 0.5 0.4 -0.5 1.3 1.6 0.5 -0.1 0.7 0.5",
    .qvel = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
};

/// The scene of the row, and the feature.
static table_stage stage;
static int feature_i;

/// State and derived parameters of x = (q displacement, d): the state is written to out.
static void pose_stage(const double *x, double *out) {
    double y[TABLE_LIMIT] = {0};
    memcpy(y, x, sizeof *x * (size_t)stage.n.n_v);
    table_displace(&stage, y, out);
    table_set_derived(&stage, x + stage.n.n_v);
}

static void feature_forward(const double *x, double *y) {
    double state[TABLE_LIMIT];
    pose_stage(x, state);
    cri_touch t = cri_feature_touch(&stage.sim->world, feature_i, state);
    store_touch(&t, y);
}

static void feature_vjp(const double *x, const double *y_adj, double *x_adj) {
    double state[TABLE_LIMIT];
    pose_stage(x, state);
    cri_touch adj = load_touch(y_adj);
    table_begin_derived_adj(&stage);
    cri_feature_touch_vjp(&stage.sim->world, feature_i, state, &adj, x_adj, &stage.sim->d_adj);
    table_add_derived_adj(&stage, x_adj + stage.n.n_v);
}

static void feature_jvp(const double *x, const double *x_tan, double *y_tan) {
    double state[TABLE_LIMIT];
    pose_stage(x, state);
    cr_sim *sim = stage.sim;
    memcpy(sim->d_tan.block, x_tan + stage.n.n_v, sizeof *x_tan * (size_t)stage.n_d);
    cri_touch t = cri_feature_touch_jvp(&sim->world, feature_i, state, x_tan, &sim->d_tan);
    store_touch(&t, y_tan);
}

static void row_forward(const double *x, double *y) {
    double state[TABLE_LIMIT];
    pose_stage(x, state);
    cri_row row = cri_row_at(&stage.sim->world, feature_i, state);
    memcpy(y, row.J, sizeof row.J);
    // the world's block is not used
    if (row.body[0] < 0) {
        memset(y, 0, sizeof row.J[0]);
    }
}

static void row_vjp(const double *x, const double *y_adj, double *x_adj) {
    double state[TABLE_LIMIT], J_adj[2][3][6];
    pose_stage(x, state);
    cri_row row = cri_row_at(&stage.sim->world, feature_i, state);
    memcpy(J_adj, y_adj, sizeof J_adj);
    table_begin_derived_adj(&stage);
    cri_row_at_vjp(&stage.sim->world, &row, state, J_adj, x_adj, &stage.sim->d_adj);
    table_add_derived_adj(&stage, x_adj + stage.n.n_v);
}

static void row_jvp(const double *x, const double *x_tan, double *y_tan) {
    double state[TABLE_LIMIT], J_tan[2][3][6];
    pose_stage(x, state);
    cr_sim *sim = stage.sim;
    cri_row row = cri_row_at(&sim->world, feature_i, state);
    memcpy(sim->d_tan.block, x_tan + stage.n.n_v, sizeof *x_tan * (size_t)stage.n_d);
    cri_row_at_jvp(&sim->world, &row, state, x_tan, &sim->d_tan, J_tan);
    memcpy(y_tan, J_tan, sizeof J_tan);
}

TEST(every_feature_has_the_gradient_of_its_touch_and_rows) {
    double x[TABLE_LIMIT] = {0};
    table_move move[TABLE_LIMIT] = {0};
    cr_sim_options options = table_options("located", "ncp");
    table_open_scene(&stage, &yard, &options);
    int n_v = stage.n.n_v;
    memcpy(x + n_v, stage.d, sizeof stage.d[0] * (size_t)stage.n_d);
    table_move_derived(&stage, move + n_v);
    CHECK_INT(stage.model->n_feature, 2 + 8 + 1);
    for (feature_i = 0; feature_i < stage.model->n_feature; feature_i++) {
        table_check(&(table_row){.name = "feature_touch",
                                 .vjp_name = "cri_feature_touch_vjp",
                                 .jvp_name = "cri_feature_touch_jvp",
                                 .n_in = n_v + stage.n_d,
                                 .n_out = N_TOUCH,
                                 .forward = feature_forward,
                                 .vjp = feature_vjp,
                                 .jvp = feature_jvp,
                                 .x = x,
                                 .move = move});
        table_check(&(table_row){.name = "row_at",
                                 .vjp_name = "cri_row_at_vjp",
                                 .jvp_name = "cri_row_at_jvp",
                                 .n_in = n_v + stage.n_d,
                                 .n_out = N_ROW,
                                 .forward = row_forward,
                                 .vjp = row_vjp,
                                 .jvp = row_jvp,
                                 .x = x,
                                 .move = move});
    }
    table_close(&stage);
}

TABLE_PART(gradient_table_contact, pairs_with_a_plane_have_their_gradients,
           two_spheres_have_their_gradient, a_frame_has_the_gradient_of_its_normal,
           every_feature_has_the_gradient_of_its_touch_and_rows)
