// SPDX-License-Identifier: MIT
//
// carom_step SCENE N [gradient]: runs N steps of Carom, each with its adjoint when asked for, from
// a state high above the ground, where nothing touches and joints stand amid their ranges. The
// counterpart of mujoco_step, and measured likewise.

#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// how far a free body is lifted, m
#define HEIGHT 50.0

static void set_state(const cr_model *m, double *x) {
    for (int j = 0; j < m->mech.n_joint; j++) {
        if (m->mech.joint[j].kind == CRI_JOINT_FREE) {
            x[m->mech.joint[j].q + 2] += HEIGHT;
        }
    }
    for (int k = 0; k + 1 < m->n_limit; k++) {
        const cri_limit *low = &m->limit[k], *high = &m->limit[k + 1];
        if (low->ball < 0 && low->n == 1 && high->n == 1 && low->q[0] == high->q[0]) {
            x[low->q[0]] = 0.5 * (low->bound + high->bound);
        }
    }
    for (int i = 0; i < m->sizes.n_v; i++) {
        x[m->sizes.n_q + i] = 0.1 * sin(1.0 + 2.0 * i);
    }
}

static cr_status run(cr_sim *sim, const cr_sizes *z, int n, bool has_gradient, double *x,
                     double *adj, cr_error *err) {
    double *x_adj = adj, *u_adj = adj + z->n_x, *p_adj = u_adj + z->n_u;
    double *seed = p_adj + z->n_p;
    for (int i = 0; i < z->n_x; i++) {
        seed[i] = 1.0;
    }
    for (int k = 0; k < n; k++) {
        cr_status status = cr_sim_step(sim, z->dt, x, NULL, x, err);
        if (status == CR_OK && has_gradient) {
            status = cr_sim_step_vjp(sim, seed, x_adj, u_adj, p_adj, err);
        }
        if (status != CR_OK) {
            return status;
        }
    }
    return CR_OK;
}

int main(int argc, char **argv) {
    int n = argc >= 3 ? atoi(argv[2]) : 0;
    bool has_gradient = argc == 4 && strcmp(argv[3], "gradient") == 0;
    if (n < 1 || argc > 4 || (argc == 4 && !has_gradient)) {
        fprintf(stderr, "usage: carom_step SCENE N [gradient]\n");
        return 2;
    }
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    cr_error err = {0};
    cr_status status = cr_model_load(argv[1], &model, &err);
    if (status == CR_OK) {
        cr_sim_options options = cr_sim_options_default(model);
        options.use_gradient = has_gradient;
        status = cr_sim_create(model, &options, &sim, &err);
    }
    if (status == CR_OK) {
        cr_sizes z = cr_model_sizes(model);
        double *x = calloc((size_t)(3 * z.n_x + z.n_u + z.n_p), sizeof *x);
        if (x) {
            cr_model_defaults(model, -1, NULL, x, NULL);
            set_state(model, x);
            status = run(sim, &z, n, has_gradient, x, x + z.n_x, &err);
        }
        free(x);
    }
    if (status != CR_OK) {
        fprintf(stderr, "carom_step: %s\n", err.text);
    }
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    return status == CR_OK ? 0 : 1;
}
