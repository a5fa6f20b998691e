// SPDX-License-Identifier: MIT
//
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
// wrong, and looks for another start (restart.c). What remains after that is taken for a fault of
// the model and becomes the measure for the stages to come. Only the last stage, with all samples,
// makes the result.
//
// The scale of a robust loss is that of the residuals where a stage begins. The last stage is
// repeated until it settles.

#include "optimize/horizon.h"

#include <math.h>
#include <string.h>

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

cr_status cri_horizon_stage(cri_horizon *h, int n_sample, int iteration_limit, double flat,
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
        CR_TRY(cri_horizon_stage(h, n_sample, ITERATION_STAGE, FLAT_STAGE, &result, err));
        bool is_hasty = h->n_stage >= STAGE_LIMIT;
        bool is_doubtful = usual_residual(h, &result) > limit && !h->is_stopped;
        if (is_doubtful && !is_hasty && n_good > 0 && n_sample > n_good + 1) {
            memcpy(h->z, z_good, (size_t)h->n * sizeof *z_good);
            n_sample = n_good + (n_sample - n_good) / 2;
            continue;
        }
        if (is_doubtful && !is_hasty && h->use_restart && h->n_restart < RESTART_LIMIT) {
            CR_TRY(cri_horizon_restart(h, n_sample, arena, &result, err));
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
        CR_TRY(cri_horizon_stage(h, n_all, ITERATION_LAST, FLAT_LAST, out, err));
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
    CR_TRY(cri_horizon_restart(h, e->n_longest, arena, &better, err));
    return fit_all(h, out, err);
}

cr_status cri_horizon_fit(cri_horizon *horizon, cr_arena *arena, cri_lsq_result *out,
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
