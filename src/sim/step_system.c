// SPDX-License-Identifier: MIT
//
// The stepper of models that bring their own step (model/system.h): a batch of one row.
//
//   y_adj  -> vjp of the system
//   y_tan  -> J y_tan + J_u u_tan + J_p p_tan, where row i of [J | J_u | J_p] is the vjp of e_i
//
// A Jacobian is made once a step and serves all tangents. The gradient is that of the step map.

#include "model/system.h"
#include "sim/sim.h"

#include "base/math/dense.h"

#include <math.h>
#include <string.h>

/// What a step leaves.
typedef struct system_data {
    cri_system_batch batch;
    const void *cache;
} system_data;

static cr_status system_step(cr_sim *sim, cri_step_record *record, double *x_next, cr_error *err) {
    const cr_model *m = sim->model;
    system_data *data = CR_PUSH(sim->tape, system_data, 1);
    if (!data) {
        return cri_no_memory(err);
    }
    data->batch = (cri_system_batch){.p = sim->p,
                                     .h = record->h,
                                     .n_row = 1,
                                     .law = sim->system_law,
                                     .x = record->x,
                                     .u = record->u};
    cri_system_row row = {0};
    const void **cache = sim->has_cache ? &data->cache : NULL;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    cr_arena *arena = sim->has_cache ? sim->tape : sim->scratch;
    if (!m->system_kind->step(m->system_self, &data->batch, x_next, &row, cache, arena)) {
        return cri_no_memory(err);
    }
    cri_arena_rewind(sim->scratch, mark);
    record->report.grad |= CR_GRAD_DISCRETE | (row.is_failed ? CR_GRAD_REFUSED : 0);
    record->report.outcome = row.is_failed ? CR_ITERATION_LIMIT : CR_SOLVED;
    record->report.n_event = row.n_event;
    record->report.penetration = NAN; // a system does not say
    record->data = data;
    return CR_OK;
}

static cr_status system_vjp(cr_sim *sim, const cri_step_record *record, double *y_adj,
                            double *u_adj, cr_error *err) {
    const cr_model *m = sim->model;
    const system_data *data = record->data;
    size_t n_x = (size_t)m->sizes.n_x;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    double *x_adj = CR_PUSH(sim->scratch, double, n_x);
    bool is_good = x_adj && m->system_kind->vjp(m->system_self, &data->batch, data->cache, y_adj,
                                                x_adj, u_adj, sim->d_adj.block, sim->scratch);
    if (is_good) {
        memcpy(y_adj, x_adj, sizeof *x_adj * n_x);
    }
    cri_arena_rewind(sim->scratch, mark);
    return is_good ? CR_OK : cri_no_memory(err);
}

// rows of n_x + n_u + n_p numbers (the last only if p moves), on scratch
static bool make_jac(cr_sim *sim, const system_data *data) {
    const cr_model *m = sim->model;
    int n_x = m->sizes.n_x, n_p = sim->is_d_fixed ? 0 : m->sizes.n_p;
    size_t n_col = (size_t)n_x + (size_t)m->sizes.n_u + (size_t)n_p;
    double *jac = CR_PUSH(sim->scratch, double, (size_t)n_x *n_col);
    double *seed = CR_PUSH(sim->scratch, double, n_x);
    for (int i = 0; jac && seed && i < n_x; i++) {
        double *row = jac + (size_t)i * n_col, *u = row + n_x;
        seed[i] = 1.0;
        if (!m->system_kind->vjp(m->system_self, &data->batch, data->cache, seed, row, u,
                                 n_p > 0 ? u + m->sizes.n_u : NULL, sim->scratch)) {
            return false;
        }
        seed[i] = 0.0;
    }
    sim->system_jac = seed ? jac : NULL;
    return sim->system_jac != NULL;
}

static cr_status system_jvp(cr_sim *sim, const cri_step_record *record, double *y_tan,
                            const double *u_tan, cr_error *err) {
    const cr_sizes *z = &sim->model->sizes;
    if (!sim->system_jac && !make_jac(sim, record->data)) {
        return cri_no_memory(err);
    }
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    double *out = CR_PUSH(sim->scratch, double, z->n_x);
    if (!out) {
        return cri_no_memory(err);
    }
    const double *row = sim->system_jac;
    for (int i = 0; i < z->n_x; i++) {
        out[i] = cri_dot(z->n_x, row, y_tan) + cri_dot(z->n_u, row + z->n_x, u_tan);
        row += z->n_x + z->n_u;
        if (!sim->is_d_fixed) {
            out[i] += cri_dot(z->n_p, row, sim->d_tan.block);
            row += z->n_p;
        }
    }
    memcpy(y_tan, out, sizeof *out * (size_t)z->n_x);
    cri_arena_rewind(sim->scratch, mark);
    return CR_OK;
}

static int system_contacts(const cri_step_record *record, cr_contact *out) {
    (void)record;
    (void)out;
    return 0;
}

const cri_stepper cri_stepper_system = {
    .name = "system",
    .summary = "what a system brings along",
    .step = system_step,
    .vjp = system_vjp,
    .jvp = system_jvp,
    .contacts = system_contacts,
};
