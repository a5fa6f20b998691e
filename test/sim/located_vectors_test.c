// SPDX-License-Identifier: MIT
//
// The located step against states and gradients of an independent program (located_vectors.h).

#include "cr_run.h"
#include "cr_test.h"
#include "sim/located_vectors.h"

#include <math.h>
#include <stdlib.h>

static cr_sim_options reference_options(void) {
    return (cr_sim_options){.stepper = "located",
                            .law = "ncp",
                            .eps_gap = 1e-9,
                            .eps_speed = 1e-6,
                            .eps_time = 1e-9,
                            .event_cap = 32,
                            .use_gradient = true};
}

static double largest(int n, const double *a) {
    double m = 0.0;
    for (int i = 0; i < n; i++) {
        m = fmax(m, fabs(a[i]));
    }
    return m;
}

static void run_vector(const located_vector *v) {
    cr_sim_options options = reference_options();
    cr_run r = cr_run_open(v->scene, &options, v->n_step, v->h);
    double *seed = calloc((size_t)r.n.n_x, sizeof *seed);
    for (int k = 0; k < r.n.n_x; k++) {
        r.x[k] = v->x[k];
        seed[k] = ((7 * k) % 11 - 5) / 10.0;
    }
    for (int k = 0; k < r.n.n_u; k++) {
        r.u[k] = v->u[k];
    }
    cr_run_gradient(&r, seed);

    // rounding grows with the gradients themselves, a few hundred operations deep
    double scale = largest(r.n.n_x, v->x_adj);
    for (int k = 0; k < r.n.n_x; k++) {
        CHECK_CLOSE(r.x_end[k], v->x_end[k], 1e-11, 1e-11);
        CHECK_CLOSE(r.x_adj[k], v->x_adj[k], 1e-11 * scale, 1e-11);
    }
    double p_scale = largest(v->n_name, v->p_adj);
    for (int k = 0; k < v->n_name; k++) {
        CHECK_CLOSE(r.p_adj[cr_run_p(&r, v->slot[k])], v->p_adj[k], 1e-11 * p_scale, 1e-11);
    }
    double u_scale = largest(r.n.n_u, v->u_adj);
    for (int k = 0; k < r.n.n_u; k++) {
        CHECK_CLOSE(r.u_adj[k], v->u_adj[k], 1e-11 * u_scale, 1e-11);
    }
    free(seed);
    cr_run_close(&r);
}

TEST(located_steps_match_the_independent_program) {
    for (size_t i = 0; i < sizeof located_vectors / sizeof located_vectors[0]; i++) {
        int before = cr_test_swap_failures(0);
        run_vector(&located_vectors[i]);
        int here = cr_test_swap_failures(before);
        if (here > 0) {
            cr_test_fail("%d numbers of case %s differ", here, located_vectors[i].name);
        }
    }
}

CR_TEST_MAIN(located_steps_match_the_independent_program)
