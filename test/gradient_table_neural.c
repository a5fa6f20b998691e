// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: nets of distance fields, x = (input rows, weights), and the fields
// that they make, x = (point, code).

#include "cr_test.h"

#include "base/math/quat.h"
#include "geometry/field/field_neural.h"
#include "geometry/query/depth.h"

#include <math.h>
#include <string.h>

enum { ROWS = 2, IN = 5, X_MOST = 400, WORK_MOST = 4000 };

static cri_skip_net net;
static double work[WORK_MOST];

static int n_input(void) {
    return ROWS * net.n_in;
}

// y = values, gradients
static void net_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_skip_net_eval(&net, x + n_input(), ROWS, x, y, y + ROWS, work);
}

static void net_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_skip_net_eval_vjp(&net, x + n_input(), ROWS, y_adj, y_adj + ROWS, x_adj, x_adj + n_input(),
                          work);
}

static void draw(int n, double *x) {
    for (int i = 0; i < n; i++) {
        x[i] = 0.8 * sin(1.0 + 1.7 * i) + 0.1;
    }
}

TEST(nets_of_distances_have_their_gradients) {
    static const cri_skip_net nets[] = {
        {.n_in = 3, .n_hidden = 1, .width = 4, .beta = 2.0},
        {.n_in = 3, .n_hidden = 3, .width = 5, .skip = 2, .beta = 3.0},
        {.n_in = IN, .n_hidden = 2, .width = 7, .skip = 1, .beta = 1.0},
        {.n_in = IN, .n_hidden = 3, .width = 7, .skip = 3, .beta = 2.0},
    };
    for (int k = 0; k < 4; k++) {
        net = nets[k];
        double point[X_MOST];
        int n = n_input() + cri_skip_net_n_weight(&net);
        assert_true(n <= X_MOST && cri_skip_net_work(&net, ROWS) <= WORK_MOST);
        draw(n, point);
        cr_test_vjp(&(cr_vjp_case){.name = "skip net",
                                   .vjp_name = "cri_skip_net_eval_vjp",
                                   .n_in = n,
                                   .n_out = ROWS * (1 + net.n_in),
                                   .forward = net_forward,
                                   .vjp = net_vjp,
                                   .points = point,
                                   .n_points = 1});
    }
}

// ---- the field ---------------------------------------------------------------------------------

static double weights[X_MOST];
static cri_neural neural;
static cri_field_custom custom;
static cri_field_node node;

static cri_field field_of(const double *code) {
    return (cri_field){1, &node, IN - 3, code};
}

static void field_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_field field = field_of(x + 3);
    cri_field_value v;
    cri_field_eval(&field, cri_v3_load(x), CRI_FIELD_GRADIENT, &v);
    y[0] = v.phi;
    cri_v3_store(v.g, y + 1);
}

static void field_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_field field = field_of(x + 3);
    cri_vec3 point_adj = cri_v3_load(x_adj);
    cri_field_vjp(&field, cri_v3_load(x), y_adj[0], cri_v3_load(y_adj + 1), &point_adj, x_adj + 3);
    cri_v3_store(point_adj, x_adj);
}

static void field_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    cri_field field = field_of(x + 3);
    cri_vec3 g_tan;
    cri_field_jvp(&field, cri_v3_load(x), cri_v3_load(x_tan), x_tan + 3, y_tan, &g_tan);
    cri_v3_store(g_tan, y_tan + 1);
}

static void plant(void) {
    static const double lower[3] = {-1.0, -1.0, -1.0}, upper[3] = {1.0, 1.0, 1.0};
    net = (cri_skip_net){.n_in = IN, .n_hidden = 3, .width = 8, .skip = 2, .beta = 3.0};
    assert_true(cri_skip_net_n_weight(&net) <= X_MOST);
    draw(cri_skip_net_n_weight(&net), weights);
    neural = (cri_neural){&net, weights, {0.1, -0.2, 0.3}, 1.7};
    custom = cri_neural_custom(&neural, 9.0, lower, upper);
    node = (cri_field_node){.kind = CRI_FIELD_CUSTOM, .custom = &custom};
}

static const double point[] = {0.3, -0.2, 0.5, 0.4, -0.1, -0.6, 0.7, 0.2, 0.0, 0.3};

TEST(neural_fields_have_their_gradients) {
    plant();
    cr_vjp_case row = {.name = "neural field",
                       .vjp_name = "neural_vjp",
                       .jvp_name = "neural_jvp",
                       .n_in = IN,
                       .n_out = 4,
                       .forward = field_forward,
                       .vjp = field_vjp,
                       .jvp = field_jvp,
                       .points = point,
                       .n_points = 2};
    cr_test_vjp(&row);
    // the second derivative that eval gives is that of the jvp
    cri_field field = field_of(point + 3);
    cri_field_value v;
    cri_field_eval(&field, cri_v3_load(point), CRI_FIELD_HESSIAN, &v);
    cri_vec3 u = cri_v3(0.3, -0.7, 0.2), g_tan, H_u = cri_sym_mul(v.H, u);
    double phi_tan;
    cri_field_jvp(&field, cri_v3_load(point), u, NULL, &phi_tan, &g_tan);
    CHECK_CLOSE(phi_tan, cri_v3_dot(v.g, u), 1e-14, 0.0);
    CHECK_CLOSE(cri_v3_norm(cri_v3_sub(g_tan, H_u)), 0.0, 1e-13, 0.0);
}

// ---- many points -------------------------------------------------------------------------------

enum { MANY = 3 };

// x = code, y = phi at three points
static const double places[3 * MANY] = {0.3, -0.2, 0.5, 0.1, 0.9, -0.3, -0.6, 0.2, 0.0};

static void many_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_neural_many(&neural, x, MANY, places, y, NULL);
}

static void many_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_neural_many_vjp(&neural, x, MANY, places, y_adj, x_adj);
}

static void many_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    cri_neural_many_jvp(&neural, x, MANY, places, x_tan, y_tan);
}

static void field_many_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_field field = field_of(x);
    cri_field_phi_many(&field, MANY, places, y);
}

static void field_many_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_field field = field_of(x);
    cri_field_phi_many_vjp(&field, MANY, places, y_adj, x_adj);
}

static void field_many_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    cri_field field = field_of(x);
    cri_field_phi_many_jvp(&field, MANY, places, x_tan, y_tan);
}

TEST(many_points_at_once_have_the_gradient_of_each) {
    plant();
    cr_vjp_case row = {.name = "many points of a net",
                       .vjp_name = "cri_neural_many_vjp",
                       .n_in = IN - 3,
                       .n_out = MANY,
                       .forward = many_forward,
                       .vjp = many_vjp,
                       .jvp_name = "cri_neural_many_jvp",
                       .jvp = many_jvp,
                       .points = point + 3,
                       .n_points = 1};
    cr_test_vjp(&row);
    row.vjp_name = "cri_field_phi_many_vjp";
    row.forward = field_many_forward;
    row.vjp = field_many_vjp;
    row.jvp_name = "cri_field_phi_many_jvp";
    row.jvp = field_many_jvp;
    cr_test_vjp(&row);
    cri_field field = field_of(point + 3);
    double phi[MANY];
    cri_field_phi_many(&field, MANY, places, phi);
    for (int i = 0; i < MANY; i++) {
        CHECK_CLOSE(phi[i], cri_field_phi(&field, cri_v3_load(places + 3 * (size_t)i)), 1e-14, 0.0);
    }
}

// ---- depth -------------------------------------------------------------------------------------

// x = position, rotation vector beyond a fixed one, code; y = loss of three points
enum { POSE = 6 };

static cri_pose pose_of(const double *x) {
    cri_quat base = cri_quat_exp(cri_v3(0.3, -0.2, 0.4));
    cri_quat turn = cri_quat_mul(base, cri_quat_exp(cri_v3_load(x + 3)));
    return (cri_pose){.pos = cri_v3_load(x), .R = cri_quat_rotation(turn)};
}

static void depth_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_field field = field_of(x + POSE);
    cri_pose pose = pose_of(x);
    y[0] = cri_depth_loss(&field, &pose, MANY, places);
}

static void depth_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_field field = field_of(x + POSE);
    cri_pose pose = pose_of(x);
    cri_pose_diff adj = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    cri_depth_loss_vjp(&field, &pose, MANY, places, y_adj[0], &adj, x_adj + POSE);
    cri_v3_accumulate(adj.pos, x_adj);
    cri_v3_accumulate(adj.rot, x_adj + 3);
}

static void depth_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    cri_field field = field_of(x + POSE);
    cri_pose pose = pose_of(x);
    cri_pose_diff tan = {cri_v3_load(x_tan), cri_v3_load(x_tan + 3)};
    y_tan[0] = cri_depth_loss_jvp(&field, &pose, MANY, places, &tan, x_tan + POSE);
}

TEST(depth_losses_have_their_gradients) {
    // at the fixed rotation, where its tangent is the rotation vector itself
    static const double at[POSE + IN - 3] = {0.2, -0.1, 0.3, 0.0, 0.0, 0.0, 0.4, -0.1};
    plant();
    cr_test_vjp(&(cr_vjp_case){.name = "depth loss",
                               .vjp_name = "cri_depth_loss_vjp",
                               .jvp_name = "cri_depth_loss_jvp",
                               .n_in = POSE + IN - 3,
                               .n_out = 1,
                               .forward = depth_forward,
                               .vjp = depth_vjp,
                               .jvp = depth_jvp,
                               .points = at,
                               .n_points = 1});
}

CR_TEST_MAIN(nets_of_distances_have_their_gradients, neural_fields_have_their_gradients,
             many_points_at_once_have_the_gradient_of_each, depth_losses_have_their_gradients)
