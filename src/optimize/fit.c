// SPDX-License-Identifier: MIT
//
// Identification: stages find the values; other starts, edges of plateaus and the covariance
// (least_squares.h) say how well they are known.
//
// The variance of a residual is |r|^2/(m - rank). Where the noise is given, it is at least one, so
// that a model that explains too much does not look better known than the noise allows. A robust
// loss has its own formula (robust.h).

#include "optimize/fit.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/math/dense.h"
#include "model/model.h"
#include "optimize/ensemble.h"
#include "optimize/journal.h"
#include "optimize/least_squares.h"
#include "optimize/select.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cri_horizon {
    cri_ensemble *ensemble;
    int n;                        // unknowns
    const cri_domain *domain;     // (n)
    const double *start;          // (n) values that the user gave
    bool *is_drawn;               // (n) takes part in a restart
    double *z;                    // (n) the best so far
    double *r;                    // (m of all samples)
    double *J;                    // (n_J of all samples)
    double *norm;                 // (n) scratch
    double *sorted;               // (m) scratch
    const cri_progress *progress; // may be NULL
    cri_fit_history *history;     // may be NULL
    cri_journal *journal;         // what is known already
    const cri_lsq_result *rival;  // what a restart has to beat, NULL: there is none
    bool use_restart;             // may look for other starts
    bool is_stopped;              // progress asked for it
    int n_stage;                  // fits made, all stages and restarts
    int n_iteration;              // of all of them
    int n_restart;                // searches for another start
} cri_horizon;

/// A fit at work.
typedef struct cri_fit_work {
    const cri_fit_problem *problem;
    cr_arena *arena;
    cri_unknowns unknowns;
    cri_ensemble ensemble;
    cri_horizon horizon;
    cri_journal *journal;
    cr_sim **sim; // (n_thread)
} cri_fit_work;

// candidates that change one parameter, for each, and those that change all
#define N_SINGLE 16
#define N_JOINT 64

// candidates that are fitted, and how long
#define N_FITTED 8

// recordings that judge candidates
#define N_JUDGE 8
#define RESTART_ITERATIONS 20
#define RESTART_FLAT 1e-6

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

// the first stage has this part of the samples, and each next one grows by this factor
#define FIRST_PART 8
#define GROWTH 1.4

// in doubt: this many times the least rms so far, or the noise of the recording
#define DOUBT_STAGE 1.5
#define DOUBT_NOISE 2.0

// part of the recording's spread below which a fit is as good as exact
#define EXACT 1e-7

// fits before the horizon simply jumps to the end, and searches for another start
#define STAGE_LIMIT 120
#define RESTART_LIMIT 8

// iterations and relative fall of the loss that end a stage, and the last one
#define ITERATION_STAGE 30
#define ITERATION_LAST 100
#define FLAT_STAGE 1e-6
#define FLAT_LAST 1e-14

// the scale of a robust loss has settled: relative change, and fits at most
#define SCALE_SETTLED 0.01
#define SCALE_LIMIT 10

// changes of this many standard errors must show; less than this part of what the Jacobian promises
// is suspicious; a rise by this many times the variance is none: three standard errors
#define PROMISED 20.0
#define SUSPICIOUS 0.01
#define NO_RISE 9.0

// iterations of the fit of the others, and the fall of the loss that ends it
#define PROBE_ITERATIONS 10
#define PROBE_FLAT 1e-4

/// Scratch for the fits of the others.
typedef struct probe {
    cri_fit_work *w;
    double *z;          // (n)
    cri_domain *domain; // (n)
    double *norm;       // (n) of the columns at the result
    double loss;
    double variance;
} probe;

// what a pair of geoms did
enum { DID_TOUCH = 1, DID_IMPACT = 2, DID_SLIDE = 4 };

typedef struct deeds {
    int n_geom;
    unsigned char *pair; // (n_geom, n_geom) bits, both orders
} deeds;

/// The unknowns of one recording together.
typedef struct joint {
    int n;          // n_shared + n_own
    double *C;      // (n, n)
    double *g;      // (n_row, n), one row an entry
    double *Cg;     // (n)
    double *x0_tan; // (n, n_tangent)
} joint;

// ---- other starts -------------------------------------------------------------------------------

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

/// Keeps the loss after iteration i, counted from 1 over all stages.
static void keep_loss(const cri_horizon *h, long long i, double loss) {
    if (h->history) {
        double best = h->rival ? fmin(loss, h->rival->loss) : loss;
        cri_history_keep(h->history, i, sqrt(best / h->ensemble->n_data));
    }
}

/// Passes on where a stage stands.
static bool hear(void *context, const cri_progress_state *state) {
    cri_horizon *h = context;
    keep_loss(h, state->done, state->loss);
    return cri_progress_tell(h->progress, state);
}

/// Fits z to the first n_sample samples of the longest recording and the same part of the others,
/// from where it stands. Counts as a stage.
static cr_status horizon_stage(cri_horizon *h, int n_sample, int iteration_limit, double flat,
                               cri_lsq_result *out, cr_error *err) {
    cri_ensemble_take(h->ensemble, n_sample);
    cri_progress progress = {hear, h};
    cri_lsq problem = {.arrow = &h->ensemble->arrow,
                       .residuals = cri_ensemble_residuals,
                       .context = h->ensemble,
                       .domain = h->domain,
                       .iteration_limit = iteration_limit,
                       .flat = flat,
                       .progress = &progress,
                       .n_before = h->n_iteration};
    CR_TRY(cri_journal_minimise(h->journal, &problem, h->z, h->r, h->J, out, err));
    // most ends are told by no iteration after them
    keep_loss(h, h->n_iteration + out->n_iteration, out->loss);
    h->n_stage++;
    h->n_iteration += out->n_iteration;
    h->is_stopped = h->is_stopped || out->stop == CRI_LSQ_STOPPED;
    return CR_OK;
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
        cr_status status =
            horizon_stage(h, n_sample, RESTART_ITERATIONS, RESTART_FLAT, &result, err);
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
static bool may_try(cri_horizon *h, int n_done) {
    cri_progress_state state = {.what = "other start", .done = n_done, .loss = NAN};
    h->is_stopped = h->is_stopped || !cri_journal_tell(h->journal, h->progress, &state);
    return !h->is_stopped;
}

/// Looks for a better start of the stage with n_sample samples, whose result is *best: many random
/// values of the parameters with a bounded domain, the most promising of which are fitted. z, r and
/// *best become those of the best point found.
static cr_status horizon_restart(cri_horizon *h, int n_sample, cr_arena *arena,
                                 cri_lsq_result *best, cr_error *err) {
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
    for (int i = 0; i < N_JOINT && may_try(h, i); i++) {
        draw_joint(h, &state, z);
        keep(h, kept, judge(h, n_sample, z), z);
    }
    for (int i = 0; i < h->ensemble->arrow.n_shared * N_SINGLE; i++) {
        int j = i / N_SINGLE;
        if (h->is_drawn[j] && may_try(h, N_JOINT + i)) {
            draw_single(h, j, i % N_SINGLE, &state, z);
            keep(h, kept, judge(h, n_sample, z), z);
        }
    }
    call_all(h);
    cr_status status = fit_kept(h, n_sample, kept, z_best, best, err);
    cri_arena_rewind(arena, mark);
    return status;
}

// ---- stages -------------------------------------------------------------------------------------

// Least squares over a growing part of the recordings.
//
// The loss of a motion with impacts has many minima. A wrong restitution or size shifts every later
// impact, and half a bounce of delay looks like any other; a friction that is too high makes a
// contact stick, where the motion does not depend on friction at all. A short beginning of the
// recording has only a few impacts and hardly any wrong minimum. So the first eighth of the samples
// of each recording is fitted first, and each result is the start of the next, longer stage, until
// all samples are in.
//
// A stage is in doubt when its residuals are clearly above those of the stages before, or above the
// noise that the recording itself shows. It is then taken back, and the horizon grows by half as
// much, in the end by one sample. A stage that is still in doubt is where the motion first goes
// wrong, and looks for another start (above). What remains after that is taken for a fault of
// the model and becomes the measure for the stages to come. Only the last stage, with all samples,
// makes the result.
//
// The scale of a robust loss is that of the residuals where a stage begins. The last stage is
// repeated until it settles.

/// The residual that counts as usual: rms, or from the median when the loss is robust.
static double usual_residual(const cri_horizon *h, const cri_lsq_result *result) {
    const cri_ensemble *e = h->ensemble;
    if (e->robust.kind == CRI_LOSS_SQUARES) {
        return sqrt(result->loss / e->n_data);
    }
    double scale = 0.0;
    if (!cri_journal_next(h->journal, 1, &scale)) {
        memcpy(h->sorted, h->r, (size_t)e->arrow.m * sizeof *h->sorted);
        scale = cri_robust_scale(e->arrow.m, h->sorted);
        cri_journal_keep(h->journal, 1, &scale);
    }
    return scale;
}

/// Takes the scale of a robust loss from the residuals at z.
static cr_status set_scale(cri_horizon *h, cr_error *err) {
    cri_ensemble *e = h->ensemble;
    if (e->robust.kind == CRI_LOSS_SQUARES) {
        return CR_OK;
    }
    double scale = 0.0;
    if (!cri_journal_next(h->journal, 1, &scale)) {
        double loss = 0.0;
        e->robust.scale = INFINITY;
        CR_TRY(cri_ensemble_residuals(e, h->z, h->r, NULL, &loss, err));
        scale = cri_robust_scale(e->arrow.m, h->r);
        cri_journal_keep(h->journal, 1, &scale);
    }
    e->robust.scale = fmax(scale, EXACT * cri_ensemble_spread(e));
    return CR_OK;
}

/// Samples of the first stage: enough to determine all variables, were they all at work.
static int first_samples(const cri_horizon *h) {
    const cri_ensemble *e = h->ensemble;
    int n_column = e->n_data / e->n_replay / e->n_longest;
    int n_unknown = e->unknowns->n_own + e->unknowns->n_shared / e->n_replay + 1;
    int enough = 2 + 2 * n_unknown / (n_column > 0 ? n_column : 1);
    int part = e->n_longest / FIRST_PART;
    int n = enough > part ? enough : part;
    return n < e->n_longest ? n : e->n_longest;
}

static int grown(int n_sample, int n_all) {
    int n = 1 + (int)(GROWTH * n_sample);
    return n < n_all ? n : n_all;
}

/// The stages up to the one with all samples.
static cr_status fit_stages(cri_horizon *h, double *z_good, cr_arena *arena, cr_error *err) {
    int n_all = h->ensemble->n_longest;
    double least = CRI_RECORDING_FLOOR * cri_ensemble_spread(h->ensemble);
    double limit = fmax(DOUBT_NOISE * cri_ensemble_noise(h->ensemble), least);
    int n_good = 0; // samples of the last good stage
    int n_sample = first_samples(h);
    while (!h->is_stopped) {
        cri_lsq_result result = {0};
        memcpy(z_good, h->z, (size_t)h->n * sizeof *z_good);
        cri_ensemble_take(h->ensemble, n_sample);
        CR_TRY(set_scale(h, err));
        CR_TRY(horizon_stage(h, n_sample, ITERATION_STAGE, FLAT_STAGE, &result, err));
        bool is_hasty = h->n_stage >= STAGE_LIMIT;
        bool is_doubtful = usual_residual(h, &result) > limit && !h->is_stopped;
        if (is_doubtful && !is_hasty && n_good > 0 && n_sample > n_good + 1) {
            memcpy(h->z, z_good, (size_t)h->n * sizeof *z_good);
            n_sample = n_good + (n_sample - n_good) / 2;
            continue;
        }
        if (is_doubtful && !is_hasty && h->use_restart && h->n_restart < RESTART_LIMIT) {
            CR_TRY(horizon_restart(h, n_sample, arena, &result, err));
        }
        double usual = usual_residual(h, &result);
        limit = usual > limit ? DOUBT_STAGE * usual : fmin(limit, fmax(DOUBT_STAGE * usual, least));
        if (n_sample == n_all) {
            return CR_OK;
        }
        n_good = n_sample;
        n_sample = is_hasty ? n_all : grown(n_sample, n_all);
    }
    return CR_OK;
}

/// Lets the parameters that are not fixed take part in restarts; with is_null, only those in it.
/// False when there are none.
static bool choose_drawn(cri_horizon *h, const bool *is_null) {
    bool is_any = false;
    for (int j = 0; j < h->ensemble->arrow.n_shared; j++) {
        const cri_domain *domain = &h->domain[j];
        h->is_drawn[j] = domain->lower != domain->upper && (!is_null || is_null[j]);
        is_any = is_any || h->is_drawn[j];
    }
    return is_any;
}

/// The stage with all samples, until the scale of a robust loss has settled.
static cr_status fit_all(cri_horizon *h, cri_lsq_result *out, cr_error *err) {
    int n_all = h->ensemble->n_longest;
    cri_ensemble_take(h->ensemble, n_all);
    double before = 0.0;
    for (int i = 0; i < SCALE_LIMIT; i++) {
        CR_TRY(set_scale(h, err));
        double scale = h->ensemble->robust.scale;
        CR_TRY(horizon_stage(h, n_all, ITERATION_LAST, FLAT_LAST, out, err));
        bool is_settled = isinf(scale) || fabs(scale - before) <= SCALE_SETTLED * scale;
        if (is_settled || h->is_stopped) {
            return CR_OK;
        }
        before = scale;
    }
    return CR_OK;
}

/// Marks the unknowns without effect at the result of the last stage.
static void find_null(const cri_horizon *h, bool *is_null) {
    if (!cri_journal_next(h->journal, h->n, h->norm)) {
        cri_lsq_find_null(&h->ensemble->arrow, h->z, h->J, h->norm, is_null);
        for (int j = 0; j < h->n; j++) {
            h->norm[j] = is_null[j] ? 1.0 : 0.0;
        }
        cri_journal_keep(h->journal, h->n, h->norm);
    }
    for (int j = 0; j < h->n; j++) {
        is_null[j] = h->norm[j] != 0.0;
    }
}

/// The last stage. Variables that show no effect at its result may have one elsewhere: they are
/// drawn once more.
static cr_status fit_last(cri_horizon *h, bool *is_null, cr_arena *arena, cri_lsq_result *out,
                          cr_error *err) {
    CR_TRY(fit_all(h, out, err));
    cri_ensemble *e = h->ensemble;
    find_null(h, is_null);
    // by all residuals: the better half of them is exact while the others take a wrong value for
    // outliers
    bool is_exact = sqrt(out->loss / e->n_data) <= EXACT * cri_ensemble_spread(e);
    if (is_exact || h->is_stopped || !h->use_restart || !choose_drawn(h, is_null)) {
        return CR_OK;
    }
    cri_lsq_result better = *out;
    CR_TRY(horizon_restart(h, e->n_longest, arena, &better, err));
    return fit_all(h, out, err);
}

/// Fits z to the whole recordings, stage by stage. r, J and *out are those of the last one.
static cr_status horizon_fit(cri_horizon *horizon, cr_arena *arena, cri_lsq_result *out,
                             cr_error *err) {
    double *z_good = CR_PUSH(arena, double, horizon->n);
    bool *is_null = CR_PUSH(arena, bool, horizon->n);
    if (!z_good || !is_null) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to fit %d unknowns", horizon->n);
    }
    choose_drawn(horizon, NULL);
    CR_TRY(fit_stages(horizon, z_good, arena, err));
    return fit_last(horizon, is_null, arena, out, err);
}

// ---- edges of plateaus --------------------------------------------------------------------------

// Values at the edge of a plateau.
//
// Friction that makes a contact stick and any larger one give the same motion. A fit that comes
// from below ends at the edge, where the loss still has a slope on one side, and a small standard
// error. So each positive parameter is doubled and halved once. Where the loss rises by next to
// nothing of what its Jacobian promises, the other unknowns are fitted again; when the loss then
// stays within the noise, the value is a bound and no estimate.

/// The loss at q->z, infinite where there is none.
static cr_status loss_there(const probe *q, double *loss, cr_error *err) {
    const cri_horizon *h = &q->w->horizon;
    if (cri_journal_next(h->journal, 1, loss)) {
        return CR_OK;
    }
    cr_status status = cri_ensemble_residuals(h->ensemble, q->z, h->r, NULL, loss, err);
    if (status == CR_ERR_MEMORY) {
        return status;
    }
    *loss = status == CR_OK ? *loss : INFINITY;
    cri_journal_keep(h->journal, 1, loss);
    return CR_OK;
}

/// The loss with parameter j at a value, the others fitted again when that is worth it. Infinite
/// where there is none, or when progress asked to stop.
static cr_status loss_with(const probe *q, int j, double value, double *loss, cr_error *err) {
    cri_horizon *h = &q->w->horizon;
    memcpy(q->z, h->z, (size_t)h->n * sizeof *q->z);
    memcpy(q->domain, h->domain, (size_t)h->n * sizeof *q->domain);
    q->z[j] = value;
    q->domain[j] = (cri_domain){value, value, false};
    CR_TRY(loss_there(q, loss, err));
    double promised = q->norm[j] * (value - h->z[j]);
    if (isinf(*loss) || *loss - q->loss > SUSPICIOUS * promised * promised) {
        return CR_OK;
    }
    cri_lsq problem = {.arrow = &h->ensemble->arrow,
                       .residuals = cri_ensemble_residuals,
                       .context = h->ensemble,
                       .domain = q->domain,
                       .iteration_limit = PROBE_ITERATIONS,
                       .flat = PROBE_FLAT,
                       .progress = h->progress,
                       .n_before = h->n_iteration};
    cri_lsq_result result = {.loss = INFINITY};
    cr_status status = cri_journal_minimise(h->journal, &problem, q->z, h->r, h->J, &result, err);
    h->is_stopped = status == CR_OK && result.stop == CRI_LSQ_STOPPED;
    *loss = status == CR_OK && !h->is_stopped ? result.loss : INFINITY;
    return status == CR_ERR_MEMORY ? status : CR_OK;
}

static void mark(cri_fit_entry *entry, bool is_least) {
    entry->is_identifiable = false;
    entry->deviation = NAN;
    snprintf(entry->why, sizeof entry->why,
             "the data only say that %.80s is at %s about %.4g: %s values fit as well", entry->name,
             is_least ? "least" : "most", entry->value, is_least ? "larger" : "smaller");
}

/// Tells which parameter is next. False: stop.
static bool may_probe(cri_horizon *h, int j) {
    cri_progress_state state = {"parameter", j, h->ensemble->arrow.n_shared,
                                NAN}; // whether it is only a bound
    h->is_stopped = h->is_stopped || !cri_journal_tell(h->journal, h->progress, &state);
    return !h->is_stopped;
}

/// Tries one parameter, up and down.
static cr_status probe_entry(const probe *q, int j, cri_fit_entry *entry, cr_error *err) {
    static const double factor[2] = {2.0, 0.5};
    cri_horizon *h = &q->w->horizon;
    const cri_domain *domain = &h->domain[j];
    for (int i = 0; i < 2 && entry->is_identifiable && domain->lower == 0.0; i++) {
        double to = fmin(fmax(factor[i] * entry->value, domain->lower), domain->upper);
        if (!(fabs(to - entry->value) > PROMISED * entry->deviation)) {
            continue;
        }
        if (!may_probe(h, j)) {
            return CR_OK;
        }
        double loss = INFINITY;
        CR_TRY(loss_with(q, j, to, &loss, err));
        if (loss < q->loss + NO_RISE * q->variance) {
            mark(entry, i == 0);
        }
    }
    return CR_OK;
}

/// Finds shared values at the edge of a plateau, which are no more than bounds. loss is that of the
/// residuals as they are, with that variance; the ensemble's loss is plain squares. Overwrites
/// residuals and Jacobian of the horizon. Told to stop, it leaves the rest as it is.
static cr_status fit_probe(cri_fit_work *w, double loss, double variance, cri_fit *fit,
                           cr_error *err) {
    const cri_horizon *h = &w->horizon;
    probe q = {.w = w, .loss = loss, .variance = variance};
    q.z = CR_PUSH(w->arena, double, h->n);
    q.domain = CR_PUSH(w->arena, cri_domain, h->n);
    q.norm = CR_PUSH(w->arena, double, h->n);
    if (!q.z || !q.domain || !q.norm) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d unknowns", h->n);
    }
    cri_arrow_norms(&h->ensemble->arrow, h->J, q.norm);
    for (int j = 0; j < fit->n_shared; j++) {
        CR_TRY(probe_entry(&q, j, &fit->entry[j], err));
    }
    return CR_OK;
}

// ---- what is not known, and why -----------------------------------------------------------------

// Sentences for what recordings leave open.
//
// A number without effect is told with its reason where contacts show it: a friction whose geoms
// never touch, or only stick; a restitution without an impact; a mass in a motion that gravity
// alone makes; an inertia that nothing turns. The contacts are those of the motions at the result.

static void watch(void *context, cr_sim *sim) {
    deeds *d = context;
    int n = 0;
    const cr_contact *contact = cr_sim_contacts(sim, &n);
    for (int i = 0; i < n; i++) {
        int a = contact[i].geom[0], b = contact[i].geom[1];
        if (a < 0 || b < 0 || a >= d->n_geom || b >= d->n_geom) {
            continue;
        }
        unsigned char bits = (unsigned char)(DID_TOUCH | (contact[i].is_impact ? DID_IMPACT : 0) |
                                             (contact[i].is_sliding ? DID_SLIDE : 0));
        d->pair[(size_t)a * (size_t)d->n_geom + (size_t)b] |= bits;
        d->pair[(size_t)b * (size_t)d->n_geom + (size_t)a] |= bits;
    }
}

/// The geom of that name, -1: none.
static int find_geom(const cr_model *model, const char *name, size_t n) {
    for (int g = 0; g < model->sizes.n_geom; g++) {
        const char *own = model->geom_name[g];
        if (own && strlen(own) == n && strncmp(own, name, n) == 0) {
            return g;
        }
    }
    return -1;
}

/// What the geoms before the slash of a name did, of a pair or of one with all others; -1: no
/// geoms.
static int deeds_of(const cr_model *model, const deeds *d, const char *name) {
    size_t n = strcspn(name, "/");
    size_t first = strcspn(name, ":");
    if (first < n) {
        int a = find_geom(model, name, first);
        int b = find_geom(model, name + first + 1, n - first - 1);
        return a < 0 || b < 0 ? -1 : d->pair[(size_t)a * (size_t)d->n_geom + (size_t)b];
    }
    int a = find_geom(model, name, n);
    int bits = 0;
    for (int b = 0; a >= 0 && b < d->n_geom; b++) {
        bits |= d->pair[(size_t)a * (size_t)d->n_geom + (size_t)b];
    }
    return a < 0 ? -1 : bits;
}

/// What the geoms of a body did with others.
static int deeds_of_body(const cr_model *model, const deeds *d, const char *name) {
    size_t n = strcspn(name, "/");
    int bits = 0;
    for (int g = 0; g < d->n_geom; g++) {
        int body = model->geom[g].body;
        const char *own = body >= 0 ? model->body_name[body] : NULL;
        for (int b = 0; own && strlen(own) == n && strncmp(own, name, n) == 0 && b < d->n_geom;
             b++) {
            bits |= d->pair[(size_t)g * (size_t)d->n_geom + (size_t)b];
        }
    }
    return bits;
}

static bool is_about(const char *name, const char *what) {
    const char *slash = strrchr(name, '/');
    return slash && strncmp(slash + 1, what, strlen(what)) == 0;
}

/// Why parameter i has no effect, in words.
static const char *reason(const cr_model *model, const deeds *d, int i) {
    const char *name = cr_model_name(model, CR_VECTOR_P, i);
    if (is_about(name, "friction")) {
        int bits = deeds_of(model, d, name);
        if (bits == 0) {
            return "there is no contact that it is about";
        }
        if (bits > 0 && !(bits & DID_SLIDE)) {
            return "the contact sticks all the time, and any larger friction does the same";
        }
    } else if (is_about(name, "restitution")) {
        int bits = deeds_of(model, d, name);
        if (bits >= 0 && !(bits & DID_IMPACT)) {
            return "there is no impact that it is about";
        }
    } else if (is_about(name, "mass")) {
        return deeds_of_body(model, d, name) == 0
                   ? "it flies freely, where every mass moves the same"
                   : "nothing in this motion tells a heavy body from a light one";
    } else if (is_about(name, "inertia")) {
        return deeds_of_body(model, d, name) == 0
                   ? "no contact turns it"
                   : "no contact turns it: a head-on bounce does not";
    }
    return "changing it moves no sample";
}

// ---- sentences ---------------------------------------------------------------------------------

static const char *name_of_unknown(const cri_fit_work *w, int unknown) {
    const cri_unknowns *unknowns = &w->unknowns;
    const cri_variable *variable = unknowns->selection->variable;
    if (unknown < 0) {
        return "others";
    }
    if (unknown < unknowns->n_shared) {
        return variable[unknowns->shared[unknown]].name;
    }
    int i = (unknown - unknowns->n_shared) % unknowns->n_own;
    int j = unknowns->own[i];
    for (int t = 0; j < 0 && t < unknowns->n_turn; t++) {
        const cri_turn *turn = &unknowns->turn[t];
        j = i >= turn->own && i < turn->own + 3 ? turn->variable[0] : j;
    }
    return variable[j].name;
}

/// The unknown behind an entry that is open.
static int open_unknown(const cri_fit_work *w, const cri_lsq_verdict *verdict,
                        const cri_fit_entry *entry) {
    const cri_unknowns *unknowns = &w->unknowns;
    for (int i = 0; i < unknowns->n_shared; i++) {
        if (unknowns->shared[i] == entry->variable) {
            return i;
        }
    }
    int first = w->ensemble.arrow.block[entry->recording].z;
    int plain = cri_unknowns_find(unknowns, entry->variable);
    if (plain >= 0) {
        return first + plain;
    }
    int own = unknowns->turn[cri_unknowns_find_turn(unknowns, entry->variable)].own;
    for (int a = 0; a < 2; a++) {
        if (verdict->identity[first + own + a].is_identifiable) {
            own++;
        }
    }
    return first + own;
}

static void explain_open(const cri_fit_work *w, const cri_lsq_verdict *verdict, const deeds *d,
                         cri_fit_entry *entry) {
    const cri_variable_place *place = w->unknowns.selection->variable[entry->variable].place;
    const cri_identity *identity = &verdict->identity[open_unknown(w, verdict, entry)];
    if (identity->is_null) {
        bool is_parameter = place->vector == CR_VECTOR_P;
        snprintf(entry->why, sizeof entry->why,
                 "the data do not depend on %.80s near the result: %s", entry->name,
                 is_parameter ? reason(w->problem->model, d, place->index)
                              : "changing it moves no sample");
        return;
    }
    snprintf(entry->why, sizeof entry->why,
             "the data leave %.60s open: it can change together with %.60s without moving a sample",
             entry->name, name_of_unknown(w, identity->partner));
}

/// A positive number whose error is larger than itself.
static bool is_weak(const cri_fit_work *w, const cri_fit_entry *entry) {
    cri_domain domain =
        cri_selection_domain(w->unknowns.selection, w->problem->model, entry->variable);
    return entry->recording < 0 && domain.lower == 0.0 && entry->value > 0.0 &&
           entry->deviation > entry->value;
}

/// Sentences for what the recordings leave open.
static cr_status fit_explain(const cri_fit_work *w, const cri_lsq_verdict *verdict, cri_fit *fit,
                             cr_error *err) {
    const cri_ensemble *e = &w->ensemble;
    size_t n_geom = (size_t)w->problem->model->sizes.n_geom;
    deeds d = {.n_geom = (int)n_geom, .pair = CR_PUSH(w->arena, unsigned char, n_geom *n_geom)};
    if (!d.pair) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the contacts of %zu geoms", n_geom);
    }
    bool is_open = false;
    for (int i = 0; i < fit->n_entry; i++) {
        is_open = is_open || !fit->entry[i].is_identifiable;
    }
    for (int k = 0; k < e->n_replay && is_open; k++) {
        cri_values values = cri_ensemble_values(e, w->horizon.z, k);
        CR_TRY(cri_replay_look(&e->replay[k], w->sim[0], &values, watch, &d, err));
    }
    for (int i = 0; i < fit->n_entry; i++) {
        cri_fit_entry *entry = &fit->entry[i];
        if (!entry->is_identifiable) {
            explain_open(w, verdict, &d, entry);
        } else if (is_weak(w, entry)) {
            snprintf(entry->why, sizeof entry->why,
                     "the data hardly tell %.80s: its standard error is larger than itself",
                     entry->name);
        }
    }
    return CR_OK;
}

// ---- what is told of the result ---------------------------------------------------------------

// Entries of a fit: values, standard errors and correlations.
//
// An entry e has the derivative g for the unknowns of its recording, (shared, own): a one at its
// own unknown, or for a number of a quaternion the change with the rotation vector. With the
// covariance C of these unknowns var e = g'Cg, and the correlation of two is g'Ch over both
// standard errors.

static bool push_joint(const cri_fit_work *w, joint *out) {
    const cri_unknowns *unknowns = &w->unknowns;
    size_t n = (size_t)unknowns->n_shared + (size_t)unknowns->n_own;
    size_t n_row = (size_t)unknowns->n_shared + (size_t)unknowns->n_own_variable;
    out->n = (int)n;
    out->C = CR_PUSH(w->arena, double, n *n);
    out->g = CR_PUSH(w->arena, double, n_row *n);
    out->Cg = CR_PUSH(w->arena, double, n);
    out->x0_tan = CR_PUSH(w->arena, double, n *(size_t)w->ensemble.replay[0].sizes.n_tangent);
    return out->C && out->g && out->Cg && out->x0_tan;
}

static void fill_covariance(const cri_fit_work *w, const cri_lsq_verdict *verdict, double variance,
                            int k, joint *out) {
    int n_shared = w->unknowns.n_shared, n_own = w->unknowns.n_own, n = out->n;
    const double *own = verdict->own + verdict->at_own[k];
    const double *cross = verdict->cross + verdict->at_cross[k];
    for (int i = 0; i < n_shared; i++) {
        for (int j = 0; j < n_shared; j++) {
            out->C[i * n + j] = variance * verdict->shared[i * n_shared + j];
        }
    }
    for (int i = 0; i < n_own; i++) {
        double *row = out->C + (n_shared + i) * n;
        for (int j = 0; j < n_own; j++) {
            row[n_shared + j] = variance * own[i * n_own + j];
        }
        for (int j = 0; j < n_shared; j++) {
            row[j] = variance * cross[i * n_shared + j];
            out->C[j * n + n_shared + i] = row[j];
        }
    }
}

/// Derivatives of a recording's own entries, behind those of the shared ones.
static void fill_derivatives(const cri_fit_work *w, int k, joint *out) {
    const cri_unknowns *unknowns = &w->unknowns;
    const cri_replay *replay = &w->ensemble.replay[k];
    const double *own = w->horizon.z + w->ensemble.arrow.block[k].z;
    int n_shared = unknowns->n_shared, n = out->n;
    size_t n_row = (size_t)n_shared + (size_t)unknowns->n_own_variable;
    memset(out->g, 0, n_row * (size_t)n * sizeof *out->g);
    for (int i = 0; i < n_shared; i++) {
        out->g[i * n + i] = 1.0;
    }
    cri_unknowns_x0_tan(unknowns, own, replay->point.x0, out->x0_tan);
    for (int i = 0; i < unknowns->n_own_variable; i++) {
        int variable = unknowns->own_variable[i];
        int plain = cri_unknowns_find(unknowns, variable);
        double *g = out->g + (n_shared + i) * n;
        if (plain >= 0) {
            g[n_shared + plain] = 1.0;
            continue;
        }
        const cri_turn *turn = &unknowns->turn[cri_unknowns_find_turn(unknowns, variable)];
        int entry = unknowns->selection->variable[variable].place[0].index;
        for (int a = n_shared + turn->own; a < n_shared + turn->own + 3; a++) {
            const double *x_tan = out->x0_tan + (size_t)a * (size_t)replay->sizes.n_tangent;
            g[a] = cri_entry_of_tangent(replay->model, replay->point.x0, entry, x_tan);
        }
    }
}

/// g'Ch of two entries.
static double covariance(const joint *w, int i, int j) {
    const double *h = w->g + j * w->n;
    for (int a = 0; a < w->n; a++) {
        w->Cg[a] = cri_dot(w->n, w->C + a * w->n, h);
    }
    return cri_dot(w->n, w->g + i * w->n, w->Cg);
}

// ---- entries -----------------------------------------------------------------------------------

/// The unknowns behind row i of a recording's entries: one, or three of a turn.
static int unknown_of(const cri_fit_work *w, int k, int i, int *n) {
    const cri_unknowns *unknowns = &w->unknowns;
    *n = 1;
    if (i < unknowns->n_shared) {
        return i;
    }
    int variable = unknowns->own_variable[i - unknowns->n_shared];
    int plain = cri_unknowns_find(unknowns, variable);
    int first = w->ensemble.arrow.block[k].z;
    if (plain >= 0) {
        return first + plain;
    }
    *n = 3;
    return first + unknowns->turn[cri_unknowns_find_turn(unknowns, variable)].own;
}

static double start_of(const cri_fit_work *w, int k, int variable, int unknown) {
    int t = cri_unknowns_find_turn(&w->unknowns, variable);
    if (t < 0) {
        return w->horizon.start[unknown];
    }
    const double *base = w->ensemble.replay[k].base + 4 * t;
    int part = w->unknowns.selection->variable[variable].place[0].index - w->unknowns.turn[t].quat;
    return base[part] / sqrt(cri_dot(4, base, base));
}

/// Entry i of recording k.
static void fill_entry(const cri_fit_work *w, const cri_lsq_verdict *verdict, const joint *both,
                       int k, int i, cri_fit_entry *out) {
    const cri_unknowns *unknowns = &w->unknowns;
    bool is_shared = i < unknowns->n_shared;
    int variable = is_shared ? unknowns->shared[i] : unknowns->own_variable[i - unknowns->n_shared];
    int n = 0;
    int unknown = unknown_of(w, k, i, &n);
    const cri_domain *domain = &w->horizon.domain[unknown];
    double value = cri_selection_value(unknowns->selection, variable, &w->ensemble.replay[k].point);
    *out = (cri_fit_entry){.name = unknowns->selection->variable[variable].name,
                           .variable = variable,
                           .recording = is_shared ? -1 : k,
                           .start = start_of(w, k, variable, unknown),
                           .value = value,
                           .is_identifiable = true,
                           .is_at_bound =
                               n == 1 && (value <= domain->lower || value >= domain->upper)};
    for (int a = 0; a < n; a++) {
        out->is_identifiable =
            out->is_identifiable && verdict->identity[unknown + a].is_identifiable;
    }
    out->deviation = out->is_identifiable ? sqrt(covariance(both, i, i)) : NAN;
}

static void fill_correlation(const joint *both, cri_fit *fit) {
    int n = fit->n_correlated;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double scale = fit->entry[i].deviation * fit->entry[j].deviation;
            double value = scale > 0.0 ? covariance(both, i, j) / scale : NAN;
            fit->correlation[i * n + j] = i == j && scale > 0.0 ? 1.0 : value;
        }
    }
}

/// Values, standard errors and correlations at the result, for residuals of that variance.
static cr_status fit_fill(const cri_fit_work *w, const cri_lsq_verdict *verdict, double variance,
                          cri_fit *fit, cr_error *err) {
    const cri_unknowns *unknowns = &w->unknowns;
    int n_shared = unknowns->n_shared, n_own = unknowns->n_own_variable;
    int n_replay = w->ensemble.n_replay;
    fit->n_shared = n_shared;
    fit->n_entry = n_shared + n_replay * n_own;
    fit->n_correlated = n_replay == 1 ? n_shared + n_own : n_shared;
    fit->entry = CR_PUSH(w->arena, cri_fit_entry, fit->n_entry);
    fit->correlation = CR_PUSH(w->arena, double, (size_t)fit->n_correlated * fit->n_correlated);
    joint both = {0};
    if (!fit->entry || !fit->correlation || !push_joint(w, &both)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d results", fit->n_entry);
    }
    for (int k = 0; k < n_replay; k++) {
        fill_covariance(w, verdict, variance, k, &both);
        fill_derivatives(w, k, &both);
        for (int i = k == 0 ? 0 : n_shared; i < n_shared + n_own; i++) {
            int at = i < n_shared ? i : n_shared + k * n_own + i - n_shared;
            fill_entry(w, verdict, &both, k, i, &fit->entry[at]);
        }
        if (k == 0) {
            fill_correlation(&both, fit);
        }
    }
    return CR_OK;
}

// ---- the fit ------------------------------------------------------------------------------------

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

    cri_lsq_verdict verdict = {0};
    CR_TRY(cri_identify(&e->arrow, h->z, h->J, w->arena, &verdict, err));
    double variance = cri_robust_variance(&robust, e->arrow.m, verdict.rank, h->r);
    bool has_noise = w->problem->recording[0].sigma != NULL;
    variance = has_noise ? fmax(variance, 1.0) : variance;
    CR_TRY(fit_fill(w, &verdict, variance, fit, err));
    CR_TRY(fit_explain(w, &verdict, fit, err));
    if (h->is_stopped) {
        e->robust = robust;
        return CR_OK;
    }
    CR_TRY(fit_probe(w, loss, variance, fit, err));
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
    CR_TRY(horizon_fit(&w.horizon, w.arena, &result, err));
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
    CR_TRY(horizon_fit(&w->horizon, w->arena, &result, err));
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
