// SPDX-License-Identifier: MIT
//
// Least squares over a growing part of a recording.
//
// The loss of a motion with impacts has many minima. A wrong restitution or size shifts every later
// impact, and half a bounce of delay looks like any other; a friction that is too high makes a
// contact stick, where the motion does not depend on friction at all. A short beginning of the
// recording has only a few impacts and hardly any wrong minimum. So the first eighth of the samples
// is fitted first, and each result is the start of the next, longer stage, until all samples are
// in.
//
// A stage is in doubt when its residuals are clearly above those of the stages before, or above the
// noise that the recording itself shows. It is then taken back, and the horizon grows by half as
// much, in the end by one sample. A stage that is still in doubt is where the motion first goes
// wrong, and looks for another start (restart.c). What remains after that is taken for a fault of
// the model and becomes the measure for the stages to come. Only the last stage, with all samples,
// makes the result.

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

cr_status cri_horizon_stage(cri_horizon *horizon, int n_sample, int iteration_limit, double flat,
                            cri_lsq_result *out, cr_error *err) {
    horizon->replay->n_sample = n_sample;
    cri_lsq problem = {.n = horizon->n,
                       .m = n_sample * horizon->replay->recording->n_column,
                       .residuals = cri_replay_residuals,
                       .context = horizon->replay,
                       .domain = horizon->domain,
                       .iteration_limit = iteration_limit,
                       .flat = flat};
    CR_TRY(cri_lsq_minimise(&problem, horizon->z, horizon->r, horizon->J, out, err));
    horizon->n_stage++;
    horizon->n_iteration += out->n_iteration;
    return CR_OK;
}

/// Samples of the first stage: enough to determine all variables, were they all at work.
static int first_samples(const cri_horizon *horizon) {
    const cri_recording *recording = horizon->replay->recording;
    int enough = 2 + 2 * horizon->n / recording->n_column;
    int part = recording->n_sample / FIRST_PART;
    int n = enough > part ? enough : part;
    return n < recording->n_sample ? n : recording->n_sample;
}

static double rms_of(const cri_horizon *horizon, int n_sample, const cri_lsq_result *result) {
    return sqrt(result->loss / (n_sample * horizon->replay->recording->n_column));
}

static int grown(int n_sample, int n_all) {
    int n = 1 + (int)(GROWTH * n_sample);
    return n < n_all ? n : n_all;
}

/// The stages up to the one with all samples.
static cr_status fit_stages(cri_horizon *h, double *z_good, cr_arena *arena, cr_error *err) {
    int n_all = h->replay->recording->n_sample;
    double least = CRI_RECORDING_FLOOR * cri_recording_spread(h->replay->recording);
    double limit = fmax(DOUBT_NOISE * cri_recording_noise(h->replay->recording), least);
    int n_good = 0; // samples of the last good stage
    int n_sample = first_samples(h);
    for (;;) {
        cri_lsq_result result = {0};
        memcpy(z_good, h->z, (size_t)h->n * sizeof *z_good);
        CR_TRY(cri_horizon_stage(h, n_sample, ITERATION_STAGE, FLAT_STAGE, &result, err));
        bool is_hasty = h->n_stage >= STAGE_LIMIT;
        bool is_doubtful = rms_of(h, n_sample, &result) > limit;
        if (is_doubtful && !is_hasty && n_good > 0 && n_sample > n_good + 1) {
            memcpy(h->z, z_good, (size_t)h->n * sizeof *z_good);
            n_sample = n_good + (n_sample - n_good) / 2;
            continue;
        }
        if (is_doubtful && !is_hasty && h->n_restart < RESTART_LIMIT) {
            CR_TRY(cri_horizon_restart(h, n_sample, arena, &result, err));
        }
        double rms = rms_of(h, n_sample, &result);
        limit = rms > limit ? DOUBT_STAGE * rms : fmin(limit, fmax(DOUBT_STAGE * rms, least));
        if (n_sample == n_all) {
            return CR_OK;
        }
        n_good = n_sample;
        n_sample = is_hasty ? n_all : grown(n_sample, n_all);
    }
}

/// Lets the parameters with a bounded domain take part in restarts; with is_null, only those in it.
/// False when there are none.
static bool choose_drawn(cri_horizon *h, const bool *is_null) {
    bool is_any = false;
    for (int j = 0; j < h->n; j++) {
        bool is_bounded = isfinite(h->domain[j].lower) || isfinite(h->domain[j].upper);
        h->is_drawn[j] = is_bounded && (!is_null || is_null[j]);
        is_any = is_any || h->is_drawn[j];
    }
    return is_any;
}

/// The last stage. Variables that show no effect at its result may have one elsewhere: they are
/// drawn once more.
static cr_status fit_last(cri_horizon *h, bool *is_null, cr_arena *arena, cri_lsq_result *out,
                          cr_error *err) {
    int n_all = h->replay->recording->n_sample;
    int m = n_all * h->replay->recording->n_column;
    CR_TRY(cri_horizon_stage(h, n_all, ITERATION_LAST, FLAT_LAST, out, err));
    cri_lsq_find_null(h->n, m, h->z, h->J, is_null);
    bool is_exact = rms_of(h, n_all, out) <= EXACT * cri_recording_spread(h->replay->recording);
    if (is_exact || !choose_drawn(h, is_null)) {
        return CR_OK;
    }
    cri_lsq_result better = *out;
    CR_TRY(cri_horizon_restart(h, n_all, arena, &better, err));
    return cri_horizon_stage(h, n_all, ITERATION_LAST, FLAT_LAST, out, err);
}

cr_status cri_horizon_fit(cri_horizon *horizon, cr_arena *arena, cri_lsq_result *out,
                          cr_error *err) {
    double *z_good = CR_PUSH(arena, double, horizon->n);
    bool *is_null = CR_PUSH(arena, bool, horizon->n);
    if (!z_good || !is_null) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to fit %d variables", horizon->n);
    }
    choose_drawn(horizon, NULL);
    CR_TRY(fit_stages(horizon, z_good, arena, err));
    return fit_last(horizon, is_null, arena, out, err);
}
