// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: the long-range potential and what it is made of. Outputs are a value
// and its gradient, so that a row checks second derivatives as well.

#include "cr_test.h"

#include "geometry/plane_potential.h"
#include "longrange_fixture.h"

#include <string.h>

// ---- two triangles -----------------------------------------------------------------------------

static void pair_forward(const double *x, double *y, void *cache) {
    CHECK(cri_plane_potential(x, 0.7, NULL, y, y + 1, cache));
}

static void pair_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    cri_plane_potential_vjp(cache, y_adj[0], y_adj + 1, x_adj);
}

static void pair_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    cri_plane_potential_jvp(cache, x_tan, y_tan, y_tan + 1);
}

static void check_pair(const char *name, const double *x, double step) {
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = "cri_plane_potential_vjp",
                               .jvp_name = "cri_plane_potential_jvp",
                               .n_in = 18,
                               .n_out = 19,
                               .cache_size = sizeof(cri_plane_force),
                               .forward = pair_forward,
                               .vjp = pair_vjp,
                               .jvp = pair_jvp,
                               .points = x,
                               .n_points = 1,
                               .step = step});
}

TEST(triangles_have_their_derivatives) {
    check_pair("reference pair", fixture_reference_pair, 1e-2);
    cr_test_rng rng = cr_test_rng_of(11);
    static const double gaps[] = {10.0, 0.5, 0.03};
    for (int k = 0; k < 9; k++) {
        cri_vec3 x[6];
        double flat[18];
        fixture_triangles(&rng, gaps[k % 3], x);
        for (int i = 0; i < 6; i++) {
            cri_v3_store(x[i], flat + 3 * i);
        }
        check_pair("random pair", flat, 0.02 * fmin(1.0, gaps[k % 3]));
    }
}

// ---- half-space --------------------------------------------------------------------------------

static void half_forward(const double *x, double *y, void *cache) {
    CHECK(cri_half_potential(x, 0.7, cache));
    const cri_half_force *f = cache;
    y[0] = f->value;
    memcpy(y + 1, f->g, sizeof f->g);
}

static void half_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    cri_half_potential_vjp(cache, y_adj[0], y_adj + 1, x_adj);
}

static void half_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    cri_half_potential_jvp(cache, x_tan, y_tan, y_tan + 1);
}

TEST(a_half_space_has_its_derivatives) {
    static const double points[] = {
        0.5,  0.8,  0.6, // tilted
        1.0,  1.0,  1.0, // flat
        0.05, 0.7,  1.9, // on a corner
        30.0, 31.0, 33.0,
    };
    cr_test_vjp(&(cr_vjp_case){.name = "half-space",
                               .vjp_name = "cri_half_potential_vjp",
                               .jvp_name = "cri_half_potential_jvp",
                               .n_in = 3,
                               .n_out = 4,
                               .cache_size = sizeof(cri_half_force),
                               .forward = half_forward,
                               .vjp = half_vjp,
                               .jvp = half_jvp,
                               .points = points,
                               .n_points = 4,
                               .step = 1e-3});
}

CR_TEST_MAIN(triangles_have_their_derivatives, a_half_space_has_its_derivatives)
