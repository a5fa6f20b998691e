// SPDX-License-Identifier: MIT
//
// Gradients of another law: every step goes forward by the sim's own law, and its adjoint is pulled
// back through the step of the surrogate from the same state and control,
//
//   x_adj += (d step_surrogate / d x)(x_k, u_k)' x_next_adj,   likewise for u and p
//
// so that a body feels surfaces that it has not touched. The result is no derivative of the motion
// and says so: CR_GRAD_SURROGATE. Where the surrogate has no step, because surfaces touch at the
// start as those of bodies at rest do, the step's own derivative takes its place.

#include "sim/sim.h"

#include <string.h>

cr_status cri_surrogate_create(cr_sim *sim, const cr_sim_options *options, cr_error *err) {
    if (!options->surrogate || !options->use_gradient) {
        return CR_OK;
    }
    cr_sim_options own = *options;
    own.law = options->surrogate;
    own.stepper = NULL;
    own.surrogate = NULL;
    own.smoothing = 0.0;
    cr_error why = {0};
    cr_status status = cr_sim_create(sim->model, &own, &sim->surrogate, &why);
    return status == CR_OK ? CR_OK
                           : cri_fail(err, status, 0, "the surrogate %.40s: %.200s",
                                      options->surrogate, why.text);
}

void cri_surrogate_begin(cr_sim *sim) {
    cr_sim *own = sim->surrogate;
    if (own) {
        memset(own->d_adj.block, 0, sizeof(double) * (size_t)own->d_adj.n_double);
        own->wants_u = sim->wants_u;
        own->wants_p = sim->wants_p;
    }
}

cr_status cri_surrogate_pull(cr_sim *sim, const cri_step_record *record, const double *x_next_adj,
                             double *x_adj, double *u_adj, bool *is_done) {
    cr_sim *own = sim->surrogate;
    cri_step_record *step = NULL;
    cr_error err = {0};
    *is_done = false;
    cri_arena_reset(own->tape);
    cri_arena_reset(own->scratch);
    double *next = CR_PUSH(own->tape, double, sim->model->sizes.n_x);
    if (!next) {
        return CR_ERR_MEMORY;
    }
    cr_status status = cri_sim_step(own, record->h, record->raw, record->u, next, &step, &err);
    // touching at the start, or no solution: the step's own derivative
    if (status != CR_OK || (step->report.grad & CR_GRAD_REFUSED)) {
        return status == CR_ERR_MEMORY ? status : CR_OK;
    }
    *is_done = true;
    return cri_sim_step_vjp(own, step, x_next_adj, x_adj, u_adj, &err);
}

void cri_surrogate_end(cr_sim *sim, double *p_adj) {
    cr_sim *own = sim->surrogate;
    if (own && p_adj) {
        cri_derive_vjp(own->model, own->p, &own->d, &own->d_adj, p_adj);
    }
}
