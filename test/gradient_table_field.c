// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: value and gradient of fields for point and parameters, and grids for
// their samples.

#include "cr_test.h"

#include "base/arena.h"
#include "field_fixture.h"
#include "geometry/grid.h"

#include <math.h>
#include <string.h>

enum { LIMIT = 3 + FIELD_PARAMS };

static fixture_field now;

// x = point and parameters, y = phi and g
static void forward(const double *x, double *y, void *cache) {
    (void)cache;
    memcpy(now.param, x + 3, sizeof *x * (size_t)now.field.n_param);
    cri_field_value v;
    cri_field_eval(&now.field, cri_v3_load(x), CRI_FIELD_GRADIENT, &v);
    y[0] = v.phi;
    cri_v3_store(v.g, y + 1);
    // outputs have the rounding error of numbers of size one
    for (int j = 0; j < 4; j++) {
        y[j] += 1.0;
    }
}

static void vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_vec3 point_adj = cri_v3_load(x_adj);
    memcpy(now.param, x + 3, sizeof *x * (size_t)now.field.n_param);
    cri_field_vjp(&now.field, cri_v3_load(x), y_adj[0], cri_v3_load(y_adj + 1), &point_adj,
                  x_adj + 3);
    cri_v3_store(point_adj, x_adj);
}

static void jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    cri_vec3 g_tan;
    memcpy(now.param, x + 3, sizeof *x * (size_t)now.field.n_param);
    cri_field_jvp(&now.field, cri_v3_load(x), cri_v3_load(x_tan), x_tan + 3, y_tan, &g_tan);
    cri_v3_store(g_tan, y_tan + 1);
}

static void check_at(int n_points, const double (*point)[3], double step) {
    double all[16 * LIMIT];
    int n_in = 3 + now.field.n_param;
    for (int k = 0; k < n_points; k++) {
        memcpy(all + k * n_in, point[k], sizeof point[k]);
        memcpy(all + k * n_in + 3, now.param, sizeof *all * (size_t)now.field.n_param);
    }
    cr_test_vjp(&(cr_vjp_case){.name = now.name,
                               .vjp_name = "cri_field_vjp",
                               .jvp_name = "cri_field_jvp",
                               .n_in = n_in,
                               .n_out = 4,
                               .forward = forward,
                               .vjp = vjp,
                               .jvp = jvp,
                               .points = all,
                               .n_points = n_points,
                               .step = step});
}

// beside a face, an edge and a corner, outside and inside, and within blends
static const double points[][3] = {{0.62, 0.51, 0.47},  {0.1, 0.2, 0.05},    {-0.3, 0.25, -0.9},
                                   {0.71, -0.1, 0.23},  {0.24, 0.11, 0.28},  {0.05, -0.33, 0.41},
                                   {-0.52, -0.47, 0.1}, {0.31, -0.09, -0.2}, {0.12, 0.19, 0.31},
                                   {0.21, 0.44, 0.38}};

TEST(fields_have_their_gradients) {
    for (int i = 0; i < FIELD_FIXTURES; i++) {
        fixture_field_make(i, &now);
        check_at((int)(sizeof points / sizeof *points), points, 1e-3);
    }
}

// ---- grids -------------------------------------------------------------------------------------

enum { NX = 6, NY = 5, NZ = 7, N_SAMPLE = NX * NY * NZ };
static const int size[3] = {NX, NY, NZ};
static cri_vec3 at;
static double samples[N_SAMPLE];

static void plant(cri_grid *grid, const double *coef) {
    *grid = (cri_grid){
        .n = {NX, NY, NZ}, .origin = {-0.5, -0.4, -0.6}, .h = 0.2, .coef = coef, .lipschitz = 2.0};
}

// x = samples, y = phi and g at a point
static void grid_forward(const double *x, double *y, void *cache) {
    (void)cache;
    double coef[N_SAMPLE];
    memcpy(coef, x, sizeof coef);
    cri_grid_filter(size, coef);
    cri_grid grid;
    plant(&grid, coef);
    cri_field_value v;
    cri_grid_eval(&grid, at, CRI_FIELD_GRADIENT, &v);
    y[0] = v.phi;
    cri_v3_store(v.g, y + 1);
}

static void grid_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    (void)cache;
    double adj[N_SAMPLE] = {0};
    cri_grid grid;
    plant(&grid, samples);
    cri_grid_eval_vjp(&grid, at, y_adj[0], cri_v3_load(y_adj + 1), adj);
    cri_grid_filter_vjp(size, adj);
    for (int i = 0; i < N_SAMPLE; i++) {
        x_adj[i] += adj[i];
    }
}

static void draw_samples(void) {
    cr_test_rng rng = cr_test_rng_of(7);
    for (int i = 0; i < N_SAMPLE; i++) {
        samples[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
}

TEST(grids_have_the_gradient_of_their_samples) {
    static const cri_vec3 where[] = {{0.01, 0.02, -0.05}, {0.9, 0.1, -0.7}, {-0.29, 0.7, 0.01}};
    draw_samples();
    for (int k = 0; k < 3; k++) {
        at = where[k];
        cr_test_vjp(&(cr_vjp_case){.name = "grid samples",
                                   .vjp_name = k ? "cri_grid_filter_vjp" : "cri_grid_eval_vjp",
                                   .n_in = N_SAMPLE,
                                   .n_out = 4,
                                   .forward = grid_forward,
                                   .vjp = grid_vjp,
                                   .points = samples,
                                   .n_points = 1});
    }
}

// point, scale and pose of a grid, within its box and beside, and behind an edge and a corner of it
TEST(fields_of_grids_have_their_gradients) {
    static const double where[][3] = {{0.03, 0.02, -0.05},
                                      {0.13, -0.11, 0.07},
                                      {0.9, 0.03, 0.02},
                                      {0.9, 0.7, 0.01},
                                      {-0.8, 0.9, 1.1}};
    double coef[N_SAMPLE];
    draw_samples();
    memcpy(coef, samples, sizeof coef);
    cri_grid_filter(size, coef);
    cri_grid grid;
    plant(&grid, coef);
    static const double param[] = {1.3, 0.05, 0.1, -0.04, 0.1, 0.2, -0.3};
    fixture_field_leaf(CRI_FIELD_GRID, 7, param, &now);
    now.node[0].grid = &grid;
    now.node[0].is_posed = true;
    now.name = "grid";
    check_at(5, where, 1e-4);
}

CR_TEST_MAIN(fields_have_their_gradients, grids_have_the_gradient_of_their_samples,
             fields_of_grids_have_their_gradients)
