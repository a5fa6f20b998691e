// SPDX-License-Identifier: MIT
//
// Identification: horizon.c finds the values, identify.c says how well they are known.
//
// The variance of a residual is |r|^2/(m - rank). Where the noise is given, it is at least one, so
// that a model that explains too much does not look better known than the noise allows. A robust
// loss has its own formula (robust.h).

#include "optimize/fit_parts.h"

#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cr_status no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the fit");
}

// ---- start -------------------------------------------------------------------------------------

/// The first row's value for entry i of x. False when it is not observed.
static bool find_observed(const cri_recording *recording, int i, double *value) {
    for (int c = 0; c < recording->n_column; c++) {
        if (recording->x_index[c] == i) {
            *value = recording->value[c];
            return true;
        }
    }
    return false;
}

/// Lets an own variable start from the first row.
static void start_variable(const cri_fit_problem *problem, int j, cri_replay *replay) {
    const cri_variable *variable = &problem->selection->variable[j];
    for (int k = 0; k < variable->n_place; k++) {
        double value = 0.0;
        int i = variable->place[k].index;
        bool is_given = problem->is_x0_given && problem->is_x0_given[i];
        if (!is_given && find_observed(replay->recording, i, &value)) {
            cri_selection_put(problem->selection, j, value, &replay->point);
            return;
        }
    }
}

/// Lets a quaternion start from the first row, when all of it is there.
static void start_turn(const cri_fit_problem *problem, const cri_turn *turn, cri_replay *replay,
                       double *base) {
    double *q = replay->point.x0 + turn->quat;
    double seen[4];
    bool is_seen = true;
    double square = 0.0;
    for (int k = 0; k < 4; k++) {
        bool is_given = problem->is_x0_given && problem->is_x0_given[turn->quat + k];
        is_seen =
            is_seen && !is_given && find_observed(replay->recording, turn->quat + k, &seen[k]);
        square += is_seen ? seen[k] * seen[k] : 0.0;
    }
    memcpy(base, is_seen && square > 0.0 ? seen : q, sizeof seen);
}

static cr_status fill_replay(const cri_fit_work *w, cri_replay *replay, cr_error *err) {
    const cri_fit_problem *problem = w->problem;
    const cr_sizes *sizes = &replay->sizes;
    cri_point *point = &replay->point;
    memcpy(point->p, problem->p, (size_t)sizes->n_p * sizeof *point->p);
    memcpy(point->x0, problem->x0, (size_t)sizes->n_x * sizeof *point->x0);
    for (int row = 0; problem->u && row < point->n_u_row; row++) {
        memcpy(point->u + (size_t)row * (size_t)sizes->n_u, problem->u,
               (size_t)sizes->n_u * sizeof *point->u);
    }
    replay->has_control = replay->has_control || problem->u;
    CR_TRY(cri_selection_check_ties(problem->selection, point, err));
    for (int i = 0; i < w->unknowns.n_own; i++) {
        if (w->unknowns.own[i] >= 0) {
            start_variable(problem, w->unknowns.own[i], replay);
        }
    }
    if (cri_model_normalise(replay->model, point->x0) >= 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a quaternion of the initial state is zero");
    }
    for (int t = 0; t < w->unknowns.n_turn; t++) {
        start_turn(problem, &w->unknowns.turn[t], replay, replay->base + 4 * t);
    }
    return CR_OK;
}

static cri_domain domain_of(const cri_fit_problem *problem, int variable) {
    cri_domain domain = cri_selection_domain(problem->selection, problem->model, variable);
    if (problem->bound) {
        const cri_domain *bound = &problem->bound[variable];
        domain.is_open = domain.is_open && domain.lower >= bound->lower;
        domain.lower = fmax(domain.lower, bound->lower);
        domain.upper = fmin(domain.upper, bound->upper);
    }
    return domain;
}

/// Domains and start values of all unknowns.
static void fill_start(const cri_fit_work *w, cri_domain *domain, double *z) {
    const cri_unknowns *unknowns = &w->unknowns;
    const cri_ensemble *e = &w->ensemble;
    for (int i = 0; i < unknowns->n_shared; i++) {
        domain[i] = domain_of(w->problem, unknowns->shared[i]);
    }
    for (int k = 0; k < e->n_replay; k++) {
        int first = e->arrow.block[k].z;
        cri_unknowns_read(unknowns, &e->replay[k].point, z, z + first);
        for (int i = 0; i < unknowns->n_own; i++) {
            int variable = unknowns->own[i];
            domain[first + i] = variable >= 0 ? domain_of(w->problem, variable)
                                              : (cri_domain){-INFINITY, INFINITY, false};
            z[first + i] =
                fmin(fmax(z[first + i], domain[first + i].lower), domain[first + i].upper);
        }
    }
}

/// An ensemble of recordings, its start, and room for its residuals.
static cr_status push_horizon(cri_fit_work *w, int n_recording, const cri_recording *recording,
                              cr_error *err) {
    const cri_fit_problem *problem = w->problem;
    cri_ensemble_def def = {.model = problem->model,
                            .unknowns = &w->unknowns,
                            .n_recording = n_recording,
                            .recording = recording,
                            .dt = problem->dt,
                            .n_sim = problem->n_thread,
                            .sim = w->sim,
                            .n_prior = problem->n_prior,
                            .prior = problem->prior};
    CR_TRY(cri_ensemble_push(&def, w->arena, &w->ensemble, err));
    w->ensemble.robust.kind = problem->loss;
    w->ensemble.robust.tuning = problem->tuning;
    for (int k = 0; k < n_recording; k++) {
        CR_TRY(fill_replay(w, &w->ensemble.replay[k], err));
    }
    const cri_arrow *arrow = &w->ensemble.arrow;
    cri_domain *domain = CR_PUSH(w->arena, cri_domain, arrow->n);
    double *start = CR_PUSH(w->arena, double, arrow->n);
    cri_horizon h = {.n = arrow->n,
                     .domain = domain,
                     .start = start,
                     .is_drawn = CR_PUSH(w->arena, bool, arrow->n),
                     .z = CR_PUSH(w->arena, double, arrow->n),
                     .r = CR_PUSH(w->arena, double, arrow->m),
                     .J = CR_PUSH(w->arena, double, arrow->n_J),
                     .norm = CR_PUSH(w->arena, double, arrow->n),
                     .sorted = CR_PUSH(w->arena, double, arrow->m),
                     .progress = problem->progress,
                     .journal = w->journal,
                     .use_restart = true};
    if (!domain || !start || !h.is_drawn || !h.z || !h.r || !h.J || !h.norm || !h.sorted) {
        return no_memory(err);
    }
    fill_start(w, domain, start);
    memcpy(h.z, start, (size_t)arrow->n * sizeof *h.z);
    h.ensemble = &w->ensemble;
    w->horizon = h;
    return CR_OK;
}

// ---- result ------------------------------------------------------------------------------------

/// Sum of squares of all residuals of samples from first on, of one recording.
static double sum_squares(const cri_ensemble *e, const double *r, int k, int first, int *n) {
    const cri_replay *replay = &e->replay[k];
    const double *own = r + e->arrow.block[k].r;
    int n_column = replay->recording->n_column;
    double sum = 0.0;
    for (int i = first * n_column; i < replay->n_sample * n_column; i++) {
        sum += own[i] * own[i];
        ++*n;
    }
    return sum;
}

static cr_status measure(cri_fit_work *w, cri_fit *fit, cr_error *err) {
    cri_ensemble *e = &w->ensemble;
    cri_horizon *h = &w->horizon;
    // as they are, not as a robust loss weighs them
    double loss = 0.0;
    cri_robust robust = e->robust;
    e->robust.kind = CRI_LOSS_SQUARES;
    CR_TRY(cri_ensemble_residuals(e, h->z, h->r, h->J, &loss, err));
    fit->rms_of = CR_PUSH(w->arena, double, e->n_replay);
    if (!fit->rms_of) {
        return no_memory(err);
    }
    double sum = 0.0;
    fit->n_residual = 0;
    for (int k = 0; k < e->n_replay; k++) {
        int n = 0;
        double own = sum_squares(e, h->r, k, 0, &n);
        fit->rms_of[k] = sqrt(own / n);
        fit->n_residual += n;
        sum += own;
    }
    fit->rms = sqrt(sum / fit->n_residual);
    fit->usual = robust.kind == CRI_LOSS_SQUARES ? fit->rms : robust.scale;

    cri_verdict verdict = {0};
    CR_TRY(cri_identify(&e->arrow, h->z, h->J, w->arena, &verdict, err));
    double variance = cri_robust_variance(&robust, e->arrow.m, verdict.rank, h->r);
    bool has_noise = w->problem->recording[0].sigma != NULL;
    variance = has_noise ? fmax(variance, 1.0) : variance;
    CR_TRY(cri_fit_fill(w, &verdict, variance, fit, err));
    CR_TRY(cri_fit_explain(w, &verdict, fit, err));
    if (h->is_stopped) {
        e->robust = robust;
        return CR_OK;
    }
    CR_TRY(cri_fit_probe(w, loss, variance, fit, err));
    e->robust = robust;
    return CR_OK;
}

// ---- what is held out --------------------------------------------------------------------------

/// The samples of the only recording that the fit did not see.
static cr_status predict(cri_fit_work *w, cri_fit *fit, cr_error *err) {
    cri_ensemble *e = &w->ensemble;
    int n_seen = e->n_limit[0];
    e->n_limit[0] = e->n_longest = e->replay[0].recording->n_sample;
    cri_ensemble_take(e, e->n_longest);
    e->robust.kind = CRI_LOSS_SQUARES;
    double loss = 0.0;
    CR_TRY(cri_ensemble_residuals(e, w->horizon.z, w->horizon.r, NULL, &loss, err));
    double sum = sum_squares(e, w->horizon.r, 0, n_seen, &fit->n_held_out);
    fit->held_out = sqrt(sum / fit->n_held_out);
    return CR_OK;
}

/// Recordings that the fit did not see: their own initial values are fitted, nothing else.
static cr_status fit_others(const cri_fit_work *fitted, const cri_recording *recording, int n,
                            bool *is_stopped, cri_fit *fit, cr_error *err) {
    cri_fit_work w = *fitted;
    CR_TRY(push_horizon(&w, n, recording, err));
    cri_domain *domain = CR_PUSH(w.arena, cri_domain, w.horizon.n);
    if (!domain) {
        return no_memory(err);
    }
    memcpy(domain, w.horizon.domain, (size_t)w.horizon.n * sizeof *domain);
    for (int i = 0; i < w.unknowns.n_shared; i++) {
        double value = fitted->horizon.z[i];
        w.horizon.z[i] = value;
        domain[i] = (cri_domain){value, value, false};
    }
    w.horizon.domain = domain;
    w.horizon.use_restart = false;
    w.ensemble.robust.scale = fitted->ensemble.robust.scale;
    cri_lsq_result result;
    CR_TRY(cri_horizon_fit(&w.horizon, w.arena, &result, err));
    if (w.horizon.is_stopped) {
        *is_stopped = true;
        return CR_OK;
    }
    double loss = 0.0;
    w.ensemble.robust.kind = CRI_LOSS_SQUARES;
    CR_TRY(cri_ensemble_residuals(&w.ensemble, w.horizon.z, w.horizon.r, NULL, &loss, err));
    double sum = 0.0;
    for (int k = 0; k < n; k++) {
        sum += sum_squares(&w.ensemble, w.horizon.r, k, 0, &fit->n_held_out);
    }
    fit->held_out = sqrt(sum / fit->n_held_out);
    return CR_OK;
}

static cr_status hold_out(cri_fit_work *w, cri_fit *fit, cr_error *err) {
    const cri_fit_problem *problem = w->problem;
    fit->held_out = NAN;
    // what was stopped says nothing about others
    if (problem->n_held_out == 0 || w->horizon.is_stopped) {
        return CR_OK;
    }
    if (problem->n_recording == 1) {
        return predict(w, fit, err);
    }
    int first = problem->n_recording - problem->n_held_out;
    return fit_others(w, problem->recording + first, problem->n_held_out, &w->horizon.is_stopped,
                      fit, err);
}

// ---- run ---------------------------------------------------------------------------------------

static cr_status run(cri_fit_work *w, cri_fit *fit, cr_error *err) {
    const cri_fit_problem *problem = w->problem;
    cr_sim_options options = problem->sim_options;
    options.use_gradient = true;
    CR_TRY(cri_selection_check_law(problem->selection, options.law, err));
    for (int t = 0; t < problem->n_thread; t++) {
        CR_TRY(cr_sim_create(problem->model, &options, &w->sim[t], err));
    }
    CR_TRY(cri_unknowns_push(problem->selection, w->arena, &w->unknowns, err));
    bool is_single = problem->n_recording == 1;
    int n = problem->n_recording - (is_single ? 0 : problem->n_held_out);
    CR_TRY(push_horizon(w, n, problem->recording, err));
    cri_fit_history *history = CR_PUSH(w->arena, cri_fit_history, 1);
    if (!history) {
        return no_memory(err);
    }
    history->every = 1;
    w->horizon.history = history;
    if (problem->checkpoint) {
        CR_TRY(cri_journal_open(problem->checkpoint, history, w->journal, err));
    }
    cri_ensemble *e = &w->ensemble;
    if (is_single) {
        e->n_limit[0] -= problem->n_held_out;
        e->n_longest = e->n_limit[0];
        cri_ensemble_take(e, e->n_longest);
    }
    cri_lsq_result result = {0};
    CR_TRY(cri_horizon_fit(&w->horizon, w->arena, &result, err));
    *fit = (cri_fit){.n_recording = n,
                     .loss = result.loss,
                     .noise =
                         fmax(cri_ensemble_noise(e), CRI_RECORDING_FLOOR * cri_ensemble_spread(e)),
                     .stop = result.stop,
                     .n_iteration = w->horizon.n_iteration,
                     .n_stage = w->horizon.n_stage,
                     .n_restart = w->horizon.n_restart,
                     .n_history = history->n,
                     .history_every = history->every,
                     .history = history->value};
    CR_TRY(measure(w, fit, err));
    CR_TRY(hold_out(w, fit, err));
    CR_TRY(cri_journal_finish(w->journal, err));
    fit->is_interrupted = w->horizon.is_stopped;
    if (w->journal->status != CR_OK) {
        fit->unsaved = w->journal->err;
    }
    return CR_OK;
}

cr_status cri_fit_run(const cri_fit_problem *problem, cr_arena *arena, cri_fit *out,
                      cr_error *err) {
    CR_ASSERT(problem->n_recording > 0 && problem->n_thread > 0);
    CR_ASSERT(problem->n_held_out >= 0);
    cri_journal journal = {0};
    cri_fit_work w = {.problem = problem, .arena = arena, .journal = &journal};
    w.sim = calloc((size_t)problem->n_thread, sizeof(cr_sim *));
    cr_status status = w.sim ? run(&w, out, err) : no_memory(err);
    cri_journal_clear(&journal);
    for (int t = 0; w.sim && t < problem->n_thread; t++) {
        cr_sim_destroy(w.sim[t]);
    }
    free(w.sim);
    return status;
}
