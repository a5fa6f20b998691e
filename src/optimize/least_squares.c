// SPDX-License-Identifier: MIT
//
// Bounded nonlinear least squares by Levenberg and Marquardt.
//
//   J'r slope, D diagonal of the largest column norms of J met so far
//   step      (J'J + lambda D^2) delta = -J'r
//   gain      (|r|^2 - |r(z + delta)|^2) / (|r|^2 - |r + J delta|^2), accepted above 1e-4
//   lambda    after Nielsen: times max(1/3, 1 - (2 gain - 1)^3) when accepted, else times 2, 4, 8
//
// The system is solved through the triangular factor of J D^-1 and its singular values, never
// through J'J. Bounds act by projection: an unknown on a bound whose slope points outwards is
// frozen for the iteration; one that a step would carry past a bound, or by more than its own size,
// is pinned there and the others are solved for again. A point where r has no value counts as a
// step to be refused.

#include "optimize/least_squares.h"

#include "math/dense.h"
#include "optimize/singular.h"

#include <string.h>

// stop tests: cosine between r and a column; step relative to the unknown
#define GRADIENT_COSINE 1e-10
#define STEP_RELATIVE 1e-12

// damping at the start, and where a search gives up
#define DAMPING_START 1e-3
#define DAMPING_LIMIT 1e14

// least gain of an accepted step, Marquardt's usual small number
#define GAIN_ACCEPTED 1e-4

// a column below this part of the largest is rounding: exact zeros come out of a run as about 1e-16
#define NULL_RELATIVE 1e-9

// size of an unknown that is zero: for judging columns, and for the longest step
#define SIZE_LEAST 1e-3
#define STEP_LEAST 0.1

typedef enum standing {
    STANDING_FREE,
    STANDING_FROZEN, // does not move in this iteration
    STANDING_PINNED, // moves to its limit
} standing;

typedef struct search {
    const cri_lsq *q;
    cri_lsq_state *state; // NULL: a search of its own
    int n_row;            // of the triangular factor, at least n
    double *z;
    double *r;
    double *J;
    double *z_trial; // (n)
    double *r_trial; // (m)
    double *J_trial; // (n, m)
    double *slope;   // (n) J'r
    double *scale;   // (n) D
    double *factor;  // (n, n_row) of J D^-1
    double *reduced; // (n_row) Q'r
    double *rhs;     // (n)
    double *W;       // (n, n) singular vectors of the free columns, times the values
    double *V;       // (n, n)
    double *s;       // (n)
    double *delta;   // (n)
    bool *is_null;   // (n)
    standing *stand; // (n)
    double loss;
    double damping;
    double growth; // of the damping at the next refusal
} search;

static bool push_work(search *w, cr_arena *arena) {
    size_t n = (size_t)w->q->n;
    size_t m = (size_t)w->q->m;
    w->z_trial = CR_PUSH(arena, double, n);
    w->r_trial = CR_PUSH(arena, double, m);
    w->J_trial = CR_PUSH(arena, double, n *m);
    w->slope = CR_PUSH(arena, double, n);
    w->scale = w->state ? w->state->scale : CR_PUSH(arena, double, n);
    w->factor = CR_PUSH(arena, double, n *(size_t)w->n_row);
    w->reduced = CR_PUSH(arena, double, w->n_row);
    w->rhs = CR_PUSH(arena, double, n);
    w->W = CR_PUSH(arena, double, n *n);
    w->V = CR_PUSH(arena, double, n *n);
    w->s = CR_PUSH(arena, double, n);
    w->delta = CR_PUSH(arena, double, n);
    w->is_null = CR_PUSH(arena, bool, n);
    w->stand = CR_PUSH(arena, standing, n);
    return !cri_arena_has_failed(arena);
}

void cri_lsq_find_null(int n, int m, const double *z, const double *J, bool *is_null) {
    // one unknown alone has no other to be compared with: residuals count from a thousandth of
    // their unit
    double largest = 1e-3 * sqrt((double)m);
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < n; j++) {
            const double *column = J + (size_t)j * (size_t)m;
            double effect = sqrt(cri_dot(m, column, column)) * fmax(fabs(z[j]), SIZE_LEAST);
            largest = fmax(largest, effect);
            is_null[j] = effect <= NULL_RELATIVE * largest;
        }
    }
}

// ---- linear model ------------------------------------------------------------------------------

/// Slope, scales, triangular factor and who may move, at a new point.
static void linearise(search *w) {
    int n = w->q->n;
    int m = w->q->m;
    cri_lsq_find_null(n, m, w->z, w->J, w->is_null);
    memset(w->factor, 0, (size_t)n * (size_t)w->n_row * sizeof *w->factor);
    memset(w->reduced, 0, (size_t)w->n_row * sizeof *w->reduced);
    memcpy(w->reduced, w->r, (size_t)m * sizeof *w->r);
    for (int j = 0; j < n; j++) {
        const double *column = w->J + (size_t)j * (size_t)m;
        double *scaled = w->factor + (size_t)j * (size_t)w->n_row;
        w->slope[j] = cri_dot(m, column, w->r);
        w->scale[j] = fmax(w->scale[j], sqrt(cri_dot(m, column, column)));
        for (int i = 0; i < m && !w->is_null[j]; i++) {
            scaled[i] = column[i] / w->scale[j];
        }
    }
    cri_triangularise(w->n_row, n, w->factor, w->reduced);
}

/// Largest cosine between the residuals and a direction that may be taken.
static double slope_cosine(const search *w) {
    double largest = 0.0;
    for (int j = 0; j < w->q->n; j++) {
        const double *column = w->J + (size_t)j * (size_t)w->q->m;
        double norm = sqrt(cri_dot(w->q->m, column, column)) * sqrt(w->loss);
        bool is_blocked = cri_domain_blocks(&w->q->domain[j], w->z[j], w->slope[j]);
        if (!w->is_null[j] && !is_blocked && norm > 0.0) {
            largest = fmax(largest, fabs(w->slope[j]) / norm);
        }
    }
    return largest;
}

/// delta of the free unknowns, given those of the pinned ones.
static void solve_free(search *w) {
    int n = w->q->n;
    memcpy(w->rhs, w->reduced, (size_t)n * sizeof *w->rhs);
    int n_free = 0;
    for (int j = 0; j < n; j++) {
        const double *column = w->factor + (size_t)j * (size_t)w->n_row;
        if (w->stand[j] == STANDING_FREE) {
            memcpy(w->W + (size_t)(n_free++) * (size_t)n, column, (size_t)n * sizeof *column);
        }
        for (int i = 0; i < n && w->stand[j] == STANDING_PINNED; i++) {
            w->rhs[i] += column[i] * w->scale[j] * w->delta[j];
        }
    }
    cri_singular(n, n_free, w->W, w->V, w->s);

    // delta = -D^-1 V (S^2 + lambda)^-1 W' rhs
    for (int k = 0; k < n_free; k++) {
        w->s[k] =
            -cri_dot(n, w->W + (size_t)k * (size_t)n, w->rhs) / (w->s[k] * w->s[k] + w->damping);
    }
    for (int j = 0, f = 0; j < n; j++) {
        if (w->stand[j] != STANDING_FREE) {
            continue;
        }
        double y = 0.0;
        for (int k = 0; k < n_free; k++) {
            y += w->V[k * n_free + f] * w->s[k];
        }
        w->delta[j] = y / w->scale[j];
        f++;
    }
}

/// Pins the free unknowns whose delta goes past a limit. False when there are none.
static bool pin(search *w) {
    bool is_changed = false;
    for (int j = 0; j < w->q->n; j++) {
        if (w->stand[j] != STANDING_FREE) {
            continue;
        }
        double reach = fmax(fabs(w->z[j]), w->state ? w->state->reach : STEP_LEAST);
        double delta = fmin(fmax(w->delta[j], -reach), reach);
        double to = cri_domain_clamp(&w->q->domain[j], w->z[j], w->z[j] + delta);
        if (delta != w->delta[j] || to != w->z[j] + delta) {
            w->delta[j] = to - w->z[j];
            w->stand[j] = STANDING_PINNED;
            is_changed = true;
        }
    }
    return is_changed;
}

static void solve_step(search *w) {
    for (int j = 0; j < w->q->n; j++) {
        bool is_blocked = cri_domain_blocks(&w->q->domain[j], w->z[j], w->slope[j]);
        w->stand[j] = w->is_null[j] || is_blocked ? STANDING_FROZEN : STANDING_FREE;
        w->delta[j] = 0.0;
    }
    do {
        solve_free(w);
    } while (pin(w));
}

/// |r|^2 - |r + J delta|^2
static double predicted_fall(const search *w) {
    int n = w->q->n;
    double fall = 0.0;
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int j = 0; j < n; j++) {
            sum += w->factor[(size_t)j * (size_t)w->n_row + i] * w->scale[j] * w->delta[j];
        }
        fall -= sum * (2.0 * w->reduced[i] + sum);
    }
    return fall;
}

// ---- search ------------------------------------------------------------------------------------

static bool is_step_small(const search *w) {
    for (int j = 0; j < w->q->n; j++) {
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
    cr_status status = q->residuals(q->context, w->z_trial, w->r_trial, NULL, err);
    if (status == CR_ERR_MEMORY) {
        return status;
    }
    *loss = cri_dot(q->m, w->r_trial, w->r_trial);
    double predicted = predicted_fall(w);
    if (status != CR_OK || !isfinite(*loss) || !(predicted > 0.0)) {
        return CR_OK;
    }
    double ratio = (w->loss - *loss) / predicted;
    if (ratio < GAIN_ACCEPTED) {
        return CR_OK;
    }
    status = q->residuals(q->context, w->z_trial, w->r_trial, w->J_trial, err);
    *gain = status == CR_OK ? ratio : -1.0;
    return status == CR_ERR_MEMORY ? status : CR_OK;
}

static void accept(search *w, double loss, double gain) {
    size_t n = (size_t)w->q->n;
    size_t m = (size_t)w->q->m;
    memcpy(w->z, w->z_trial, n * sizeof *w->z);
    memcpy(w->r, w->r_trial, m * sizeof *w->r);
    memcpy(w->J, w->J_trial, n * m * sizeof *w->J);
    w->loss = loss;
    w->damping *= fmax(1.0 / 3.0, 1.0 - pow(2.0 * gain - 1.0, 3.0));
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
        for (int j = 0; j < w->q->n; j++) {
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

static cr_status run(search *w, cri_lsq_result *out, cr_error *err) {
    const cri_lsq *q = w->q;
    if (!w->state || !w->state->has_values) {
        CR_TRY(q->residuals(q->context, w->z, w->r, w->J, err));
    }
    w->loss = cri_dot(q->m, w->r, w->r);
    bool is_over = false;
    *out = (cri_lsq_result){.stop = CRI_LSQ_ITERATION, .n_trial = 1};
    while (!is_over && out->n_iteration < q->iteration_limit) {
        linearise(w);
        if (slope_cosine(w) <= GRADIENT_COSINE) {
            out->stop = CRI_LSQ_GRADIENT;
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
    CR_ASSERT(problem->n > 0 && problem->m > 0);
    search w = {.q = problem, .state = state, .z = z, .r = r, .J = J};
    w.n_row = problem->m > problem->n ? problem->m : problem->n;
    bool is_begun = state && state->damping > 0.0;
    w.damping = is_begun ? state->damping : DAMPING_START;
    w.growth = is_begun ? state->growth : 2.0;
    cr_arena *arena = cri_arena_create(1 << 16);
    bool has_memory = arena && push_work(&w, arena);
    cr_status status =
        has_memory ? run(&w, out, err)
                   : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d residuals of %d unknowns",
                              problem->m, problem->n);
    if (state) {
        state->damping = w.damping;
        state->growth = w.growth;
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
    }
    return "unknown";
}
