// SPDX-License-Identifier: MIT
//
// Bounded nonlinear least squares by Levenberg and Marquardt.
//
//   J'r slope, D diagonal of the largest column norms of J met so far
//   step      (J'J + lambda D^2) delta = -J'r
//   gain      (|r|^2 - |r(z + delta)|^2) / (|r|^2 - |r + J delta|^2), accepted above 1e-4
//   lambda    after Nielsen: times max(1/3, 1 - (2 gain - 1)^3) when accepted, else times 2, 4, 8
//
// arrow.c solves the system block by block. Bounds act by projection: an unknown on a bound whose
// slope points outwards is frozen for the iteration; one that a step would carry past a bound, or
// by more than its own size, is pinned there and the others are solved for again. A point where r
// has no value counts as a step to be refused.

#include "optimize/least_squares.h"

#include "base/math/dense.h"

#include <string.h>

// stop tests: cosine between r and a column; step relative to the unknown
#define GRADIENT_COSINE 1e-10
#define STEP_RELATIVE 1e-12

// damping at the start, its least value, which keeps directions without effect at rest, and where a
// search gives up
#define DAMPING_START 1e-3
#define DAMPING_LEAST 1e-12
#define DAMPING_LIMIT 1e14

// least gain of an accepted step, Marquardt's usual small number
#define GAIN_ACCEPTED 1e-4

// a column below this part of the largest is rounding: exact zeros come out of a run as about 1e-16
#define NULL_RELATIVE 1e-9

// size of an unknown that is zero, for judging columns
#define SIZE_LEAST 1e-3

typedef struct search {
    const cri_lsq *q;
    cri_lsq_state *state; // NULL: a search of its own
    double *z;
    double *r;
    double *J;
    double *z_trial; // (n)
    double *r_trial; // (m)
    double *J_trial; // (n_J)
    double *slope;   // (n) J'r
    double *norm;    // (n) of the columns
    double *scale;   // (n) D
    double *delta;   // (n)
    bool *is_null;   // (n)
    bool *is_free;   // (n) else it stays, or moves to a limit
    cri_arrow_model model;
    double loss;
    double damping;
    double growth; // of the damping at the next refusal
} search;

static bool push_work(search *w, cr_arena *arena) {
    size_t n = (size_t)w->q->arrow->n;
    w->z_trial = CR_PUSH(arena, double, n);
    w->r_trial = CR_PUSH(arena, double, w->q->arrow->m);
    w->J_trial = CR_PUSH(arena, double, w->q->arrow->n_J);
    w->slope = CR_PUSH(arena, double, n);
    w->norm = CR_PUSH(arena, double, n);
    w->scale = w->state ? w->state->scale : CR_PUSH(arena, double, n);
    w->delta = CR_PUSH(arena, double, n);
    w->is_null = CR_PUSH(arena, bool, n);
    w->is_free = CR_PUSH(arena, bool, n);
    return !cri_arena_has_failed(arena) && cri_arrow_model_push(w->q->arrow, arena, &w->model);
}

void cri_lsq_find_null(const cri_arrow *arrow, const double *z, const double *J, double *norm,
                       bool *is_null) {
    cri_arrow_norms(arrow, J, norm);
    // one unknown alone has no other to be compared with: residuals count from a thousandth of
    // their unit
    double largest = 1e-3 * sqrt((double)arrow->m);
    for (int j = 0; j < arrow->n; j++) {
        largest = fmax(largest, norm[j] * fmax(fabs(z[j]), SIZE_LEAST));
    }
    for (int j = 0; j < arrow->n; j++) {
        is_null[j] = norm[j] * fmax(fabs(z[j]), SIZE_LEAST) <= NULL_RELATIVE * largest;
    }
}

// ---- linear model ------------------------------------------------------------------------------

/// Slope, scales, triangular factor and who may move, at a new point.
static void linearise(search *w) {
    const cri_arrow *arrow = w->q->arrow;
    cri_lsq_find_null(arrow, w->z, w->J, w->norm, w->is_null);
    cri_arrow_slope(arrow, w->J, w->r, w->slope);
    for (int j = 0; j < arrow->n; j++) {
        w->scale[j] = fmax(w->scale[j], w->norm[j]);
    }
    cri_arrow_linearise(&w->model, w->J, w->r, w->scale, w->is_null);
}

/// Largest cosine between the residuals and a direction that may be taken.
static double slope_cosine(const search *w) {
    double largest = 0.0;
    double length = sqrt(cri_dot(w->q->arrow->m, w->r, w->r));
    for (int j = 0; j < w->q->arrow->n; j++) {
        double norm = w->norm[j] * length;
        bool is_blocked = cri_domain_blocks(&w->q->domain[j], w->z[j], w->slope[j]);
        if (!w->is_null[j] && !is_blocked && norm > 0.0) {
            largest = fmax(largest, fabs(w->slope[j]) / norm);
        }
    }
    return largest;
}

/// Pins the free unknowns whose delta goes past a limit. False when there are none.
static bool pin(search *w) {
    bool is_changed = false;
    for (int j = 0; j < w->q->arrow->n; j++) {
        if (!w->is_free[j]) {
            continue;
        }
        double reach = fmax(fabs(w->z[j]), w->state ? w->state->reach : CRI_LSQ_REACH);
        double delta = fmin(fmax(w->delta[j], -reach), reach);
        double to = cri_domain_clamp(&w->q->domain[j], w->z[j], w->z[j] + delta);
        if (delta != w->delta[j] || to != w->z[j] + delta) {
            w->delta[j] = to - w->z[j];
            w->is_free[j] = false;
            is_changed = true;
        }
    }
    return is_changed;
}

static void solve_step(search *w) {
    for (int j = 0; j < w->q->arrow->n; j++) {
        bool is_blocked = cri_domain_blocks(&w->q->domain[j], w->z[j], w->slope[j]);
        w->is_free[j] = !w->is_null[j] && !is_blocked;
        w->delta[j] = 0.0;
    }
    do {
        cri_arrow_solve(&w->model, w->scale, w->is_free, w->damping, w->delta);
    } while (pin(w));
}

// ---- search ------------------------------------------------------------------------------------

static bool is_step_small(const search *w) {
    for (int j = 0; j < w->q->arrow->n; j++) {
        if (fabs(w->delta[j]) > STEP_RELATIVE * fmax(fabs(w->z[j]), SIZE_LEAST)) {
            return false;
        }
    }
    return true;
}

/// Residuals at the trial point, and their Jacobian when the loss falls enough. *gain is negative
/// when the point is to be refused.
static cr_status try_point(search *w, double *loss, double *gain, cr_error *err) {
    const cri_lsq *q = w->q;
    *gain = -1.0;
    cr_status status = q->residuals(q->context, w->z_trial, w->r_trial, NULL, loss, err);
    if (status == CR_ERR_MEMORY) {
        return status;
    }
    double predicted = cri_arrow_fall(&w->model, w->scale, w->delta);
    if (status != CR_OK || !isfinite(*loss) || !(predicted > 0.0)) {
        return CR_OK;
    }
    double ratio = (w->loss - *loss) / predicted;
    if (ratio < GAIN_ACCEPTED) {
        return CR_OK;
    }
    status = q->residuals(q->context, w->z_trial, w->r_trial, w->J_trial, loss, err);
    *gain = status == CR_OK ? ratio : -1.0;
    return status == CR_ERR_MEMORY ? status : CR_OK;
}

static void accept(search *w, double loss, double gain) {
    const cri_arrow *arrow = w->q->arrow;
    memcpy(w->z, w->z_trial, (size_t)arrow->n * sizeof *w->z);
    memcpy(w->r, w->r_trial, (size_t)arrow->m * sizeof *w->r);
    memcpy(w->J, w->J_trial, arrow->n_J * sizeof *w->J);
    w->loss = loss;
    w->damping *= fmax(1.0 / 3.0, 1.0 - pow(2.0 * gain - 1.0, 3.0));
    w->damping = fmax(w->damping, DAMPING_LEAST);
    w->growth = 2.0;
}

/// Damps harder until a step is accepted. True when the search is over.
static cr_status iterate(search *w, cri_lsq_result *out, bool *is_over, cr_error *err) {
    for (;;) {
        solve_step(w);
        *is_over = is_step_small(w) || w->damping > DAMPING_LIMIT;
        out->stop = CRI_LSQ_STEP;
        if (*is_over) {
            return CR_OK;
        }
        for (int j = 0; j < w->q->arrow->n; j++) {
            w->z_trial[j] = cri_domain_clamp(&w->q->domain[j], w->z[j], w->z[j] + w->delta[j]);
        }
        double loss = 0.0;
        double gain = 0.0;
        CR_TRY(try_point(w, &loss, &gain, err));
        out->n_trial++;
        if (gain >= 0.0) {
            // half of what was predicted makes a flat loss believable
            out->stop = CRI_LSQ_FLAT;
            *is_over = w->loss - loss <= w->q->flat * w->loss && gain > 0.5;
            accept(w, loss, gain);
            out->n_iteration++;
            return CR_OK;
        }
        w->damping *= w->growth;
        w->growth *= 2.0;
    }
}

static void fill_state(const search *w) {
    if (w->state) {
        w->state->damping = w->damping;
        w->state->growth = w->growth;
        w->state->loss = w->loss;
    }
}

/// Tells where the search stands. False: stop.
static bool tell(const search *w, const cri_lsq_result *result) {
    fill_state(w);
    cri_progress_state state = {
        .what = "iteration", .done = w->q->n_before + result->n_iteration, .loss = w->loss};
    return cri_progress_tell(w->q->progress, &state);
}

static cr_status run(search *w, cri_lsq_result *out, cr_error *err) {
    const cri_lsq *q = w->q;
    if (w->state && w->state->has_values) {
        w->loss = w->state->loss;
    } else {
        CR_TRY(q->residuals(q->context, w->z, w->r, w->J, &w->loss, err));
    }
    bool is_over = false;
    *out = (cri_lsq_result){.stop = CRI_LSQ_ITERATION, .n_trial = 1};
    while (!is_over && out->n_iteration < q->iteration_limit) {
        linearise(w);
        if (slope_cosine(w) <= GRADIENT_COSINE) {
            out->stop = CRI_LSQ_GRADIENT;
            is_over = true;
        } else if (!tell(w, out)) {
            out->stop = CRI_LSQ_STOPPED;
            is_over = true;
        } else {
            CR_TRY(iterate(w, out, &is_over, err));
        }
    }
    out->stop = is_over ? out->stop : CRI_LSQ_ITERATION;
    out->loss = w->loss;
    return CR_OK;
}

cr_status cri_lsq_minimise(const cri_lsq *problem, double *z, double *r, double *J,
                           cri_lsq_result *out, cr_error *err) {
    return cri_lsq_advance(problem, NULL, z, r, J, out, err);
}

cr_status cri_lsq_advance(const cri_lsq *problem, cri_lsq_state *state, double *z, double *r,
                          double *J, cri_lsq_result *out, cr_error *err) {
    CR_ASSERT(problem->arrow->n >= 0 && problem->arrow->m > 0);
    search w = {.q = problem, .state = state, .z = z, .r = r, .J = J};
    bool is_begun = state && state->damping > 0.0;
    w.damping = is_begun ? state->damping : DAMPING_START;
    w.growth = is_begun ? state->growth : 2.0;
    cr_arena *arena = cri_arena_create(1 << 16);
    bool has_memory = arena && push_work(&w, arena);
    cr_status status =
        has_memory ? run(&w, out, err)
                   : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d residuals of %d unknowns",
                              problem->arrow->m, problem->arrow->n);
    fill_state(&w);
    if (state) {
        state->has_values = status == CR_OK;
    }
    cri_arena_destroy(arena);
    return status;
}

const char *cri_lsq_stop_text(cri_lsq_stop stop) {
    switch (stop) {
    case CRI_LSQ_GRADIENT:
        return "the gradient vanished";
    case CRI_LSQ_STEP:
        return "the steps became too small to matter";
    case CRI_LSQ_FLAT:
        return "the loss no longer falls";
    case CRI_LSQ_ITERATION:
        return "the iteration limit was reached";
    case CRI_LSQ_STOPPED:
        return "stopped on request";
    }
    return "unknown";
}
