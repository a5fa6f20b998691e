// SPDX-License-Identifier: MIT
//
// Another start for a stage whose fit is in doubt.
//
// Gradients cannot lead out of a region where the motion does not depend on a parameter: a contact
// that sticks, a body that never touches; nor over a jump of the loss, where another corner touches
// first. Random values can: uniform between two bounds, spread over a factor of ten to both sides
// of the user's value when there is one bound, and without bounds around the present value, denser
// near it, as far as the largest of present value, user's value and their distance. Some candidates
// change all of them, the others one alone, in even steps. They are judged by the recordings that
// fit worst, a few of them when there are many. Of those with one and the same loss, which lie on
// one plateau, only one is fitted. The same problem always meets the same candidates.

#include "optimize/horizon.h"

#include "base/math/dense.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// candidates that change one parameter, for each, and those that change all
#define N_SINGLE 16
#define N_JOINT 64

// candidates that are fitted, and how long
#define N_FITTED 8

// recordings that judge candidates
#define N_JUDGE 8

#define ITERATION_LIMIT 20
#define FLAT 1e-6

// losses that agree this well, relative, are one plateau
#define PLATEAU 1e-6

// a loss must fall by this part of it to be worth a change, and by this many times the square of a
// usual residual: noise alone makes another value look better by about one
#define FALL_LEAST 1e-4
#define FALL_SQUARES 10.0

// a parameter that starts at zero on an open side is spread below this value
#define SPREAD_TOP 1.0

typedef struct candidate {
    double loss;
    double *z; // (n)
} candidate;

/// Uniform in [0, 1): splitmix64.
static double next_uniform(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u;
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1.0p-53;
}

/// A random value in the domain.
static double draw(const cri_domain *domain, double start, double now, double uniform) {
    if (isfinite(domain->lower) && isfinite(domain->upper)) {
        return domain->lower + uniform * (domain->upper - domain->lower);
    }
    if (!isfinite(domain->lower) && !isfinite(domain->upper)) {
        double side = 2.0 * uniform - 1.0;
        double reach = fmax(fmax(fabs(now), fabs(start)), fabs(now - start));
        return now + (reach > 0.0 ? reach : SPREAD_TOP) * side * fabs(side);
    }
    bool is_above = isfinite(domain->lower);
    double bound = is_above ? domain->lower : domain->upper;
    double distance = fabs(start - bound);
    // 0.1 to 10 times the distance, or 0.001 to 1 when there is none
    double spread = distance > 0.0 ? distance * pow(10.0, 2.0 * uniform - 1.0)
                                   : SPREAD_TOP * pow(10.0, -3.0 * uniform);
    return is_above ? bound + spread : bound - spread;
}

/// The candidate with all parameters changed.
static void draw_joint(const cri_horizon *h, uint64_t *state, double *z) {
    memcpy(z, h->z, (size_t)h->n * sizeof *z);
    for (int j = 0; j < h->ensemble->arrow.n_shared; j++) {
        if (h->is_drawn[j]) {
            z[j] = draw(&h->domain[j], h->start[j], h->z[j], next_uniform(state));
        }
    }
}

/// The candidate with variable j changed, number k of N_SINGLE.
static void draw_single(const cri_horizon *h, int j, int k, uint64_t *state, double *z) {
    memcpy(z, h->z, (size_t)h->n * sizeof *z);
    z[j] = draw(&h->domain[j], h->start[j], h->z[j], (k + next_uniform(state)) / N_SINGLE);
}

/// Loss of a candidate, infinite where it has none.
static double loss_at(cri_horizon *h, int n_sample, const double *z) {
    double loss = INFINITY;
    cri_ensemble_take(h->ensemble, n_sample);
    cr_status status = cri_ensemble_residuals(h->ensemble, z, h->r, NULL, &loss, NULL);
    return status == CR_OK ? loss : INFINITY;
}

/// The same, where it was not computed before.
static double judge(cri_horizon *h, int n_sample, const double *z) {
    double loss = INFINITY;
    if (!cri_journal_next(h->journal, 1, &loss)) {
        loss = loss_at(h, n_sample, z);
        cri_journal_keep(h->journal, 1, &loss);
    }
    return loss;
}

/// Leaves all but the N_JUDGE recordings with the largest residuals out of losses.
static void choose_judges(cri_horizon *h) {
    cri_ensemble *e = h->ensemble;
    bool is_known = cri_journal_next(h->journal, e->n_replay, h->sorted);
    for (int k = 0; k < e->n_replay && !is_known; k++) {
        const cri_arrow_block *block = &e->arrow.block[k];
        double own = cri_dot(block->m, h->r + block->r, h->r + block->r) / block->m;
        h->sorted[k] = own;
    }
    if (!is_known) {
        cri_journal_keep(h->journal, e->n_replay, h->sorted);
    }
    for (int k = 0; k < e->n_replay; k++) {
        int n_worse = 0;
        for (int l = 0; l < e->n_replay; l++) {
            bool is_before = h->sorted[l] == h->sorted[k] && l < k;
            n_worse += h->sorted[l] > h->sorted[k] || is_before;
        }
        e->is_idle[k] = n_worse >= N_JUDGE;
    }
}

static void call_all(cri_horizon *h) {
    memset(h->ensemble->is_idle, 0, (size_t)h->ensemble->n_replay * sizeof(bool));
}

/// Puts a candidate among the kept ones, which are in order of their losses.
static void keep(const cri_horizon *h, candidate *kept, double loss, const double *z) {
    if (!(loss < kept[N_FITTED - 1].loss)) {
        return;
    }
    for (int i = 0; i < N_FITTED; i++) {
        if (fabs(loss - kept[i].loss) <= PLATEAU * loss) {
            return;
        }
    }
    int i = N_FITTED - 1;
    double *room = kept[i].z;
    for (; i > 0 && loss < kept[i - 1].loss; i--) {
        kept[i] = kept[i - 1];
    }
    memcpy(room, z, (size_t)h->n * sizeof *z);
    kept[i] = (candidate){loss, room};
}

/// Fits the kept candidates and takes over what is better.
static cr_status fit_kept(cri_horizon *h, int n_sample, const candidate *kept, double *z_best,
                          cri_lsq_result *best, cr_error *err) {
    size_t n_byte = (size_t)h->n * sizeof *z_best;
    double fall = fmin(fmax(FALL_LEAST, FALL_SQUARES / h->ensemble->arrow.m), 0.5);
    h->rival = best;
    for (int i = 0; i < N_FITTED && isfinite(kept[i].loss) && !h->is_stopped; i++) {
        cri_lsq_result result = {0};
        memcpy(h->z, kept[i].z, n_byte);
        cr_status status = cri_horizon_stage(h, n_sample, ITERATION_LIMIT, FLAT, &result, err);
        if (status == CR_ERR_MEMORY) {
            return status;
        }
        if (status == CR_OK && result.loss < (1.0 - fall) * best->loss) {
            *best = result;
            memcpy(z_best, h->z, n_byte);
        }
    }
    h->rival = NULL;
    memcpy(h->z, z_best, n_byte);
    // the residuals of the best point, not of the last one tried
    (void)loss_at(h, n_sample, h->z);
    return CR_OK;
}

/// Tells how many candidates were looked at. False: stop.
static bool may_go_on(cri_horizon *h, int n_done) {
    cri_progress_state state = {.what = "other start", .done = n_done, .loss = NAN};
    h->is_stopped = h->is_stopped || !cri_journal_tell(h->journal, h->progress, &state);
    return !h->is_stopped;
}

cr_status cri_horizon_restart(cri_horizon *h, int n_sample, cr_arena *arena, cri_lsq_result *best,
                              cr_error *err) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    size_t n = (size_t)h->n;
    double *memory = CR_PUSH(arena, double, (N_FITTED + 2) * n);
    if (!memory) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to fit %d unknowns", h->n);
    }
    candidate kept[N_FITTED];
    for (int i = 0; i < N_FITTED; i++) {
        kept[i] = (candidate){INFINITY, memory + (size_t)i * n};
    }
    double *z = memory + N_FITTED * n;
    double *z_best = z + n;
    memcpy(z_best, h->z, n * sizeof *z_best);
    choose_judges(h);
    // the present result marks its own plateau
    kept[0].loss = judge(h, n_sample, h->z);
    memcpy(kept[0].z, h->z, n * sizeof *z);
    uint64_t state = (uint64_t)++h->n_restart;
    for (int i = 0; i < N_JOINT && may_go_on(h, i); i++) {
        draw_joint(h, &state, z);
        keep(h, kept, judge(h, n_sample, z), z);
    }
    for (int i = 0; i < h->ensemble->arrow.n_shared * N_SINGLE; i++) {
        int j = i / N_SINGLE;
        if (h->is_drawn[j] && may_go_on(h, N_JOINT + i)) {
            draw_single(h, j, i % N_SINGLE, &state, z);
            keep(h, kept, judge(h, n_sample, z), z);
        }
    }
    call_all(h);
    cr_status status = fit_kept(h, n_sample, kept, z_best, best, err);
    cri_arena_rewind(arena, mark);
    return status;
}
