// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: nets, x = (input rows, weights), and cross entropy.

#include "base/nn/mlp.h"
#include "cr_test.h"

#include <math.h>
#include <string.h>

enum { ROWS = 2, X_MOST = 200 };

/// The net of the row, and what its last call left.
static struct {
    cri_mlp net;
    bool has_value; // of a gradient
    cr_arena *arena;
    cri_mlp_cache cache;
    double x[X_MOST];
} run;

static int n_input(void) {
    return ROWS * run.net.width[0];
}

static void check(const cri_mlp *net, bool has_value, cr_vjp_case *row) {
    double point[X_MOST];
    run.net = *net;
    run.has_value = has_value;
    run.arena = cri_arena_create(1000);
    row->n_in = n_input() + cri_mlp_n_weight(net);
    assert_true(row->n_in <= X_MOST);
    for (int i = 0; i < row->n_in; i++) {
        point[i] = 0.8 * sin(1.0 + 1.7 * i) + 0.1;
    }
    row->points = point;
    row->n_points = 1;
    cr_test_vjp(row);
    cri_arena_destroy(run.arena);
}

// ---- value -------------------------------------------------------------------------------------

static void value_forward(const double *x, double *y, void *cache) {
    (void)cache;
    // the cache borrows x, which the table moves
    memcpy(run.x, x, sizeof *x * (size_t)n_input());
    cri_arena_reset(run.arena);
    CHECK(cri_mlp_value(&run.net, x + n_input(), ROWS, run.x, y, &run.cache, run.arena));
}

static void value_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    CHECK(cri_mlp_value_vjp(&run.net, x + n_input(), &run.cache, y_adj, x_adj, x_adj + n_input(),
                            run.arena));
}

TEST(values_of_nets) {
    static const cri_mlp nets[] = {
        {.n_layer = 1, .width = {3, 2}},
        {.n_layer = 2, .width = {2, 5, 3}, .has_no_last_bias = true},
        {.n_layer = 3, .width = {2, 4, 3, 2}, .act = CRI_ACT_TANH},
        {.n_layer = 3, .width = {2, 4, 3, 1}, .act = CRI_ACT_RELU},
    };
    for (int k = 0; k < 4; k++) {
        cr_vjp_case row = {.name = "mlp_value",
                           .vjp_name = "cri_mlp_value_vjp",
                           .n_out = ROWS * nets[k].width[nets[k].n_layer],
                           .forward = value_forward,
                           .vjp = value_vjp,
                           .step = nets[k].act == CRI_ACT_RELU ? 1e-3 : 0.0};
        check(&nets[k], true, &row);
    }
}

// ---- gradient ----------------------------------------------------------------------------------

static void gradient_forward(const double *x, double *y, void *cache) {
    (void)cache;
    memcpy(run.x, x, sizeof *x * (size_t)n_input());
    cri_arena_reset(run.arena);
    CHECK(cri_mlp_gradient(&run.net, x + n_input(), ROWS, run.x,
                           run.has_value ? y + n_input() : NULL, y, &run.cache, run.arena));
}

static void gradient_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    CHECK(cri_mlp_gradient_vjp(&run.net, x + n_input(), &run.cache,
                               run.has_value ? y_adj + n_input() : NULL, y_adj, x_adj,
                               x_adj + n_input(), run.arena));
}

TEST(gradients_of_nets) {
    static const cri_mlp nets[] = {
        {.n_layer = 1, .width = {3, 1}},
        {.n_layer = 2, .width = {1, 9, 1}},
        {.n_layer = 2, .width = {2, 9, 1}, .has_no_last_bias = true},
        {.n_layer = 2, .width = {3, 5, 1}, .act = CRI_ACT_TANH},
        {.n_layer = 2, .width = {6, 5, 1}},
        {.n_layer = 3, .width = {3, 5, 4, 1}},
        {.n_layer = 4, .width = {2, 5, 3, 4, 1}, .act = CRI_ACT_TANH},
        {.n_layer = 3, .width = {2, 4, 3, 1}, .act = CRI_ACT_RELU},
    };
    for (int k = 0; k < 16; k++) {
        const cri_mlp *net = &nets[k / 2];
        bool has_value = k % 2;
        cr_vjp_case row = {.name = "mlp_gradient",
                           .vjp_name = has_value || !cri_mlp_is_single(net) ? "cri_mlp_gradient_vjp"
                                                                            : "mlp_single_vjp",
                           .n_out = ROWS * (net->width[0] + has_value),
                           .forward = gradient_forward,
                           .vjp = gradient_vjp,
                           .step = net->act == CRI_ACT_RELU ? 1e-3 : 0.0};
        check(net, has_value, &row);
    }
}

// ---- cross entropy -----------------------------------------------------------------------------

static const double label[4] = {1.0, 0.0, 0.3, 1.0};

static void entropy_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_cross_entropy(4, x, label, y);
}

static void entropy_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_cross_entropy_vjp(4, x, label, y_adj, x_adj);
}

TEST(cross_entropy) {
    static const double points[2][4] = {{0.7, -1.2, 0.1, -3.0}, {-2.0, 4.0, -0.5, 0.0}};
    cr_test_vjp(&(cr_vjp_case){.name = "cross_entropy",
                               .vjp_name = "cri_cross_entropy_vjp",
                               .n_in = 4,
                               .n_out = 4,
                               .forward = entropy_forward,
                               .vjp = entropy_vjp,
                               .points = points[0],
                               .n_points = 2});
}

CR_TEST_MAIN(values_of_nets, gradients_of_nets, cross_entropy)
