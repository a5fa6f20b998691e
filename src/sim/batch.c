// SPDX-License-Identifier: MIT
//
// Many rollouts of one model on threads.
//
// Each item is run by one thread from its own start with no warm data, so its bits do not depend on
// who runs it; parameter adjoints are kept per item and summed in the items' order.

#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

// the gradients of one item that has run; its rows are written when they are whole
static cr_status pull_item(cr_sim *sim, const cr_batch *batch, int k, double *p_adj) {
    size_t n_x = (size_t)sim->model->sizes.n_x, at = (size_t)k * n_x;
    cr_seed seed = {.step = batch->rollout.n_step, .x_adj = batch->x_end_adj + at};
    double *x0_adj = calloc(n_x, sizeof *x0_adj);
    cr_status status = CR_ERR_MEMORY;
    if (x0_adj) {
        status = cr_sim_rollout_vjp(sim, 1, &seed, x0_adj, NULL, p_adj, NULL);
    }
    if (status == CR_OK && batch->x0_adj) {
        memcpy(batch->x0_adj + at, x0_adj, sizeof *x0_adj * n_x);
    }
    free(x0_adj);
    return status;
}

// one item; its parameter adjoint goes to p_adj (n_p), zeroed by the caller
static cr_status run_item(cr_sim *sim, const cr_batch *batch, int k, double *p_adj) {
    size_t at = (size_t)k * (size_t)sim->model->sizes.n_x;
    CR_TRY(cr_sim_rollout(sim, &batch->rollout, batch->x0 + at, NULL, batch->x_end + at, NULL));
    return batch->x_end_adj ? pull_item(sim, batch, k, p_adj) : CR_OK;
}

// a sim for each thread, with the batch's parameters
static cr_status make_sims(const cr_model *model, const cr_sim_options *options,
                           const cr_batch *batch, int n, cr_sim **sim, cr_error *err) {
    cr_sim_options o = *options;
    o.use_gradient = batch->x_end_adj != NULL;
    for (int t = 0; t < n; t++) {
        CR_TRY(cr_sim_create(model, &o, &sim[t], err));
        if (batch->p) {
            CR_TRY(cr_sim_set_params(sim[t], batch->p, err));
        }
    }
    return CR_OK;
}

static void run_all(cr_sim **sim, int n_thread, const cr_batch *batch, double *p_adj, int n_p) {
    (void)n_thread;
#ifdef _OPENMP
#pragma omp parallel for num_threads(n_thread) schedule(dynamic)
#endif
    for (int k = 0; k < batch->n_item; k++) {
        int thread = 0;
#ifdef _OPENMP
        thread = omp_get_thread_num();
#endif
        double *own = p_adj ? p_adj + (size_t)k * (size_t)n_p : NULL;
        batch->status[k] = run_item(sim[thread], batch, k, own);
    }
}

cr_status cr_batch_rollout(const cr_model *model, const cr_sim_options *options,
                           const cr_batch *batch, int n_thread, cr_error *err) {
    CR_ASSERT(model && options);
    if (n_thread < 1 || batch->n_item < 0 || !batch->status || !batch->x0 || !batch->x_end) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "a batch needs x0, x_end, status, n_item >= 0 and at least one thread");
    }
    int n_p = model->sizes.n_p;
    bool has_p = batch->p_adj && batch->x_end_adj;
    cr_sim **sim = calloc((size_t)n_thread, sizeof *sim);
    double *p_adj = has_p ? calloc((size_t)batch->n_item * (size_t)n_p + 1, sizeof *p_adj) : NULL;
    cr_status status = CR_OK;
    if (!sim || (has_p && !p_adj)) {
        status = cri_no_memory(err);
    }
    if (status == CR_OK) {
        status = make_sims(model, options, batch, n_thread, sim, err);
    }
    if (status == CR_OK) {
        run_all(sim, n_thread, batch, p_adj, n_p);
    }
    if (status == CR_OK && has_p) {
        memset(batch->p_adj, 0, sizeof *batch->p_adj * (size_t)n_p);
        for (int k = 0; k < batch->n_item; k++) {
            for (int i = 0; batch->status[k] == CR_OK && i < n_p; i++) {
                batch->p_adj[i] += p_adj[(size_t)k * (size_t)n_p + (size_t)i];
            }
        }
    }
    for (int t = 0; sim && t < n_thread; t++) {
        cr_sim_destroy(sim[t]);
    }
    free(sim);
    free(p_adj);
    return status;
}
