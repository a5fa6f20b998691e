// SPDX-License-Identifier: MIT
//
// Steps in a row, and their adjoint with checkpoints.
//
// Every K steps (x, w) is stored; backwards, a segment is replayed to refill the tape, then pulled
// back step by step. With s bytes a checkpoint and c bytes a record the memory N/K s + K c is least
// at K = sqrt(N s/c); time is forward + one replay + vjp. A replay gives the same bits, which is
// checked at each segment's end. The adjoint of the parameters is kept as that of d and goes
// through derive once. A stepper whose records cost nothing beyond its steps keeps them all while
// they fit, and so does every one where fields meet, whose steps are dear: an adjoint is then a vjp
// a step, and several have one run.

#include "sim/sim.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// bytes of a record of one flying body, measured; only sets the spacing of checkpoints
static const double record_bytes = 1200.0;

// of kept records
static const size_t kept_bytes = (size_t)64 << 20;

/// What runs backwards through a rollout.
typedef struct pull {
    int n_seed; // seeds that are left
    const cr_seed *seed;
    double *x_adj;            // (n_x) of the current step's end
    double *before;           // (n_x) work
    double *x;                // (n_x) work
    double *u_adj;            // the caller's, may be NULL
    cri_step_record **record; // (every)
} pull;

#ifdef _OPENMP

#endif

// ---- rollouts -----------------------------------------------------------------------------------

static cr_status check_rollout(const cr_sim *sim, const cr_rollout *r, cr_error *err) {
    if (r->n_step < 0 || (r->n_dt != 1 && r->n_dt != r->n_step) ||
        (r->u && r->n_u_row != 1 && r->n_u_row != r->n_step)) {
        return cri_fail(
            err, CR_ERR_ARGUMENT, 0,
            "a rollout of %d steps has %d step lengths and %d control rows; give one or "
            "as many as steps",
            r->n_step, r->n_dt, r->u ? r->n_u_row : 1);
    }
    for (int i = 0; i < r->n_dt; i++) {
        CR_TRY(cri_sim_check_dt(r->dt[i], err));
    }
    for (int i = 0; r->u && i < r->n_u_row; i++) {
        CR_TRY(cri_sim_check_control(sim, r->u + (size_t)i * (size_t)sim->model->sizes.n_u, err));
    }
    return CR_OK;
}

static double dt_of(const cr_rollout *r, int step) {
    return r->dt[r->n_dt == 1 ? 0 : step];
}

static const double *u_of(const cr_sim *sim, const cr_rollout *r, int step) {
    size_t row = r->n_u_row == 1 ? 0 : (size_t)step;
    return r->u ? r->u + row * (size_t)sim->model->sizes.n_u : NULL;
}

// makes room for n checkpoints
static bool reserve(cri_history *h, int n, size_t n_x) {
    if (n <= h->checkpoint_space) {
        return true;
    }
    double *x = realloc(h->x, sizeof *x * n_x * (size_t)n);
    h->x = x ? x : h->x;
    cri_warm_list *warm = x ? realloc(h->warm, sizeof *warm * (size_t)n) : NULL;
    if (!warm) {
        return false;
    }
    memset(warm + h->checkpoint_space, 0, sizeof *warm * (size_t)(n - h->checkpoint_space));
    h->warm = warm;
    h->checkpoint_space = n;
    return true;
}

void cri_history_clear(cri_history *h) {
    for (int k = 0; k < h->checkpoint_space; k++) {
        free(h->warm[k].entry);
    }
    free(h->warm);
    free(h->x);
    free(h->record);
}

// a list for n records; without memory for it none are kept
static bool reserve_records(cri_history *h, int n) {
    if (n > h->record_space) {
        cri_step_record **record = realloc(h->record, sizeof *record * (size_t)n);
        h->record = record ? record : h->record;
        h->record_space = record ? n : h->record_space;
    }
    return n <= h->record_space;
}

// makes room for the checkpoints of a rollout
static cr_status prepare(cr_sim *sim, const cr_rollout *rollout, cr_error *err) {
    cri_history *h = &sim->history;
    h->rollout = *rollout;
    h->report = cri_report_none();
    h->n_checkpoint = 0;
    bool is_dear = sim->stepper->keeps_records || sim->model->n_form > 0;
    h->is_kept = sim->use_gradient && is_dear && sim->checkpoint_every == 0 &&
                 reserve_records(h, rollout->n_step);
    if (!sim->use_gradient) {
        return CR_OK;
    }
    size_t n_x = (size_t)sim->model->sizes.n_x;
    double s = (double)(sizeof(double) * n_x + sizeof(cri_warm_list));
    double c = record_bytes * sim->model->sizes.n_body;
    int best = (int)ceil(sqrt(rollout->n_step * s / c));
    h->every = sim->checkpoint_every > 0 ? sim->checkpoint_every : best > 1 ? best : 1;
    return reserve(h, rollout->n_step / h->every + 1, n_x) ? CR_OK : cri_no_memory(err);
}

static bool store(cr_sim *sim, const double *x) {
    cri_history *h = &sim->history;
    size_t n_x = (size_t)sim->model->sizes.n_x;
    int k = h->n_checkpoint++;
    memcpy(h->x + n_x * (size_t)k, x, sizeof *x * n_x);
    return cri_warm_copy(&sim->warm, &h->warm[k]);
}

static bool load(cr_sim *sim, int k, double *x) {
    size_t n_x = (size_t)sim->model->sizes.n_x;
    memcpy(x, sim->history.x + n_x * (size_t)k, sizeof *x * n_x);
    return cri_warm_copy(&sim->history.warm[k], &sim->warm);
}

// empties the tape, unless its records are kept and leave room for another
static void make_room(cr_sim *sim) {
    cri_history *h = &sim->history;
    h->is_kept = h->is_kept && cri_arena_used(sim->tape) < kept_bytes;
    if (!h->is_kept) {
        cri_arena_reset(sim->tape);
    }
}

// all steps from x (n_x, in place)
static cr_status run(cr_sim *sim, const cr_rollout *r, double *x, double *x_path, cr_error *err) {
    size_t n_x = (size_t)sim->model->sizes.n_x;
    for (int k = 0; k < r->n_step; k++) {
        if (sim->use_gradient && k % sim->history.every == 0 && !store(sim, x)) {
            return cri_no_memory(err);
        }
        make_room(sim);
        cri_step_record *record = NULL;
        cr_status status = cri_sim_step(sim, dt_of(r, k), x, u_of(sim, r, k), x, &record, err);
        if (status == CR_ERR_NUMERIC) {
            char why[sizeof err->text] = "";
            memcpy(why, err ? err->text : why, sizeof why);
            return cri_fail(err, status, 0, "step %d: %.220s", k + 1, why);
        }
        CR_TRY(status);
        cri_report_add(&sim->history.report, &record->report);
        if (sim->history.is_kept) {
            sim->history.record[k] = record;
        }
        if (x_path) {
            memcpy(x_path + n_x * ((size_t)k + 1), x, sizeof *x * n_x);
        }
    }
    return CR_OK;
}

cr_status cr_sim_rollout(cr_sim *sim, const cr_rollout *rollout, const double *x0, double *x_path,
                         double *x_end, cr_error *err) {
    CR_ASSERT(sim && rollout && x0 && (rollout->dt || rollout->n_step == 0));
    size_t n_x = (size_t)sim->model->sizes.n_x;
    CR_TRY(check_rollout(sim, rollout, err));
    CR_TRY(cri_sim_check_state(sim, x0, err));
    sim->last = NULL;
    sim->history.is_valid = false;
    CR_TRY(prepare(sim, rollout, err));
    cri_warm_clear(&sim->warm);
    double *x = malloc(sizeof *x * n_x);
    if (!x) {
        return cri_no_memory(err);
    }
    memcpy(x, x0, sizeof *x * n_x);
    if (x_path) {
        memcpy(x_path, x0, sizeof *x * n_x);
    }
    cri_arena_reset(sim->tape);
    cri_arena_reset(sim->scratch);
    sim->has_cache = sim->history.is_kept;
    cr_status status = run(sim, rollout, x, x_path, err);
    sim->report = sim->history.report;
    sim->history.is_valid = status == CR_OK;
    if (status == CR_OK && x_end) {
        memcpy(x_end, x, sizeof *x * n_x);
    }
    free(x);
    return status;
}

static void add_seeds(const cr_sim *sim, pull *p, int step) {
    while (p->n_seed > 0 && p->seed[p->n_seed - 1].step == step) {
        p->n_seed--;
        for (int i = 0; i < sim->model->sizes.n_x; i++) {
            p->x_adj[i] += p->seed[p->n_seed].x_adj[i];
        }
    }
}

// replays the steps of a segment onto the tape
static cr_status replay(cr_sim *sim, pull *p, int segment, int n, cr_error *err) {
    const cri_history *h = &sim->history;
    size_t n_x = (size_t)sim->model->sizes.n_x;
    if (!load(sim, segment, p->x)) {
        return cri_no_memory(err);
    }
    sim->has_cache = true;
    cri_arena_reset(sim->tape);
    for (int k = 0; k < n; k++) {
        int step = segment * h->every + k;
        CR_TRY(cri_sim_step(sim, dt_of(&h->rollout, step), p->x, u_of(sim, &h->rollout, step), p->x,
                            &p->record[k], err));
    }
    if (segment + 1 < h->n_checkpoint) {
        const double *next = h->x + n_x * ((size_t)segment + 1);
        CR_ASSERT(memcmp(next, p->x, sizeof(double) * n_x) == 0);
    }
    return CR_OK;
}

// pulls x_adj back over one replayed step
static cr_status pull_step(cr_sim *sim, pull *p, int step, const cri_step_record *record,
                           cr_error *err) {
    const cr_sizes *z = &sim->model->sizes;
    memset(p->before, 0, sizeof(double) * (size_t)z->n_x);
    memset(sim->u_adj, 0, sizeof(double) * (size_t)z->n_u);
    CR_TRY(cri_sim_step_vjp(sim, record, p->x_adj, p->before, sim->u_adj, err));
    memcpy(p->x_adj, p->before, sizeof(double) * (size_t)z->n_x);
    if (p->u_adj) {
        const cr_rollout *r = &sim->history.rollout;
        size_t row = !r->u || r->n_u_row == 1 ? 0 : (size_t)step;
        for (int i = 0; i < z->n_u; i++) {
            p->u_adj[row * (size_t)z->n_u + (size_t)i] += sim->u_adj[i];
        }
    }
    return CR_OK;
}

static cr_status pull_kept(cr_sim *sim, pull *p, cr_error *err) {
    const cri_history *h = &sim->history;
    for (int k = h->rollout.n_step - 1; k >= 0; k--) {
        CR_TRY(pull_step(sim, p, k, h->record[k], err));
        add_seeds(sim, p, k);
    }
    return CR_OK;
}

static cr_status pull_all(cr_sim *sim, pull *p, cr_error *err) {
    const cri_history *h = &sim->history;
    int n_step = h->rollout.n_step;
    add_seeds(sim, p, n_step);
    if (h->is_kept) {
        return pull_kept(sim, p, err);
    }
    for (int segment = h->n_checkpoint - 1; segment >= 0; segment--) {
        int first = segment * h->every;
        int n = n_step - first < h->every ? n_step - first : h->every;
        CR_TRY(replay(sim, p, segment, n, err));
        for (int k = n - 1; k >= 0; k--) {
            CR_TRY(pull_step(sim, p, first + k, p->record[k], err));
            add_seeds(sim, p, first + k);
        }
    }
    return CR_OK;
}

static cr_status check_pull(const cr_sim *sim, int n_seed, const cr_seed *seed, cr_error *err) {
    const cri_history *h = &sim->history;
    if (!h->is_valid || !sim->use_gradient) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        h->is_valid ? "gradients are off; create the sim with use_gradient"
                                    : "there is no last rollout to differentiate");
    }
    if (h->report.grad & CR_GRAD_REFUSED) {
        return cri_refuse_gradient(sim, &h->report, err);
    }
    for (int k = 0; k < n_seed; k++) {
        int least = k > 0 ? seed[k - 1].step : 0;
        if (seed[k].step < least || seed[k].step > h->rollout.n_step) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "seed %d is at step %d; steps must ascend from 0 to %d", k,
                            seed[k].step, h->rollout.n_step);
        }
        if (!cri_all_finite(sim->model->sizes.n_x, seed[k].x_adj)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "seed %d is not finite", k);
        }
    }
    return CR_OK;
}

cr_status cr_sim_rollout_vjp(cr_sim *sim, int n_seed, const cr_seed *seed, double *x0_adj,
                             double *u_adj, double *p_adj, cr_error *err) {
    CR_ASSERT(sim && n_seed >= 0 && (seed || n_seed == 0));
    size_t n_x = (size_t)sim->model->sizes.n_x;
    CR_TRY(check_pull(sim, n_seed, seed, err));
    size_t n_record = (size_t)sim->history.every;
    size_t n_u = (size_t)sim->history.rollout.n_u_row * (size_t)sim->model->sizes.n_u;
    n_u = sim->history.rollout.u ? n_u : (size_t)sim->model->sizes.n_u;
    double *work = calloc(3 * n_x, sizeof *work);
    pull p = {.n_seed = n_seed, .seed = seed};
    p.u_adj = u_adj ? calloc(n_u, sizeof *p.u_adj) : NULL;
    p.record = calloc(n_record, sizeof(cri_step_record *));
    if (!work || !p.record || (u_adj && !p.u_adj)) {
        free(work);
        free(p.u_adj);
        free(p.record);
        return cri_no_memory(err);
    }
    p.x_adj = work;
    p.before = work + n_x;
    p.x = work + 2 * n_x;
    sim->last = NULL;
    cri_arena_reset(sim->scratch);
    memset(sim->d_adj.block, 0, sizeof(double) * (size_t)sim->d_adj.n_double);
    sim->wants_u = u_adj != NULL;
    sim->wants_p = p_adj != NULL;
    cri_surrogate_begin(sim);
    cr_status status = pull_all(sim, &p, err);
    bool is_finite =
        cri_all_finite((int)n_x, p.x_adj) && cri_all_finite(sim->d_adj.n_double, sim->d_adj.block);
    if (status == CR_OK && !is_finite) {
        status = cri_fail(err, CR_ERR_NUMERIC, 0,
                          "the gradient grew beyond all numbers over %d steps; shorten the run",
                          sim->history.rollout.n_step);
    }
    for (size_t i = 0; status == CR_OK && x0_adj && i < n_x; i++) {
        x0_adj[i] += p.x_adj[i];
    }
    for (size_t i = 0; status == CR_OK && u_adj && i < n_u; i++) {
        u_adj[i] += p.u_adj[i];
    }
    if (status == CR_OK && p_adj) {
        cri_derive_vjp(sim->model, sim->p, &sim->d, &sim->d_adj, p_adj);
        cri_surrogate_end(sim, p_adj);
    }
    free(work);
    free(p.u_adj);
    free(p.record);
    return status;
}

// ---- batches ------------------------------------------------------------------------------------

// Many rollouts of one model on threads.
//
// Each item is run by one thread from its own start with no warm data, so its bits do not depend on
// who runs it; parameter adjoints are kept per item and summed in the items' order.

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
