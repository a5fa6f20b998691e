// SPDX-License-Identifier: MIT
//
// Identification by least squares over a growing part of the recording.
//
// The loss of a bouncing motion has many minima when the start values are off: a wrong restitution
// or size shifts every later impact, and half a bounce of delay looks like any other. A short
// beginning of the recording has only a few impacts and hardly any wrong minimum. So the first
// eighth is fitted first, and each result is the start of the next, longer stage, until all samples
// are in. A stage that fits clearly worse than the one before has probably jumped over an impact:
// it is taken back and the horizon grows by half as much. Only the last stage, with all samples,
// makes the result.

#include "optimize/fit.h"

#include "optimize/identify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// the first stage has this part of the samples, and each next one grows by this factor
#define FIRST_PART 8
#define GROWTH 1.4

// a stage whose rms is this many times that of the one before is taken back
#define WORSE 2.0

// stages before the horizon simply jumps to the end
#define STAGE_LIMIT 60

// iterations and relative fall of the loss that end a stage, and the last one
#define ITERATION_STAGE 30
#define ITERATION_LAST 100
#define FLAT_STAGE 1e-6
#define FLAT_LAST 1e-14

typedef struct work {
    cri_replay *replay;
    int n; // variables
    cri_domain *domain;
    double *z;
    double *z_before; // result of the last good stage
    double *r;        // (m) of all samples
    double *J;        // (n, m)
} work;

static cr_status push_work(const cr_model *model, cri_replay *replay, cr_arena *arena, work *w,
                           cr_error *err) {
    const cri_selection *selection = replay->selection;
    size_t n = (size_t)selection->n_variable;
    size_t m = (size_t)replay->recording->n_sample * (size_t)replay->recording->n_column;
    *w = (work){.replay = replay, .n = selection->n_variable};
    w->domain = CR_PUSH(arena, cri_domain, n);
    w->z = CR_PUSH(arena, double, n);
    w->z_before = CR_PUSH(arena, double, n);
    w->r = CR_PUSH(arena, double, m);
    w->J = CR_PUSH(arena, double, n *m);
    if (!w->domain || !w->z || !w->z_before || !w->r || !w->J) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to fit %d variables", w->n);
    }
    for (int j = 0; j < w->n; j++) {
        w->domain[j] = cri_selection_domain(selection, model, j);
    }
    cri_selection_read(selection, &replay->point, w->z);
    return CR_OK;
}

// ---- stages ------------------------------------------------------------------------------------

static cr_status fit_stage(work *w, int n_sample, cri_lsq_result *out, cr_error *err) {
    bool is_last = n_sample == w->replay->recording->n_sample;
    w->replay->n_sample = n_sample;
    cri_lsq problem = {.n = w->n,
                       .m = n_sample * w->replay->recording->n_column,
                       .residuals = cri_replay_residuals,
                       .context = w->replay,
                       .domain = w->domain,
                       .iteration_limit = is_last ? ITERATION_LAST : ITERATION_STAGE,
                       .flat = is_last ? FLAT_LAST : FLAT_STAGE};
    return cri_lsq_minimise(&problem, w->z, w->r, w->J, out, err);
}

/// Samples of the first stage: enough to determine all variables, were they all at work.
static int first_samples(const work *w) {
    const cri_recording *recording = w->replay->recording;
    int enough = 2 + 2 * w->n / recording->n_column;
    int part = recording->n_sample / FIRST_PART;
    int n = enough > part ? enough : part;
    return n < recording->n_sample ? n : recording->n_sample;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

static cr_status fit_stages(work *w, cri_fit *fit, cri_lsq_result *result, cr_error *err) {
    int n_all = w->replay->recording->n_sample;
    int n_good = 0; // samples of the last good stage
    int n_sample = first_samples(w);
    double rms_good = 0.0;
    for (;;) {
        memcpy(w->z_before, w->z, (size_t)w->n * sizeof *w->z);
        CR_TRY(fit_stage(w, n_sample, result, err));
        fit->n_stage++;
        fit->n_iteration += result->n_iteration;
        double rms = sqrt(result->loss / (n_sample * w->replay->recording->n_column));
        int increment = n_sample - n_good;
        bool is_worse = n_good > 0 && rms > WORSE * rms_good;
        if (is_worse && increment > 1 + n_all / 64 && fit->n_stage < STAGE_LIMIT) {
            memcpy(w->z, w->z_before, (size_t)w->n * sizeof *w->z);
            n_sample = n_good + increment / 2;
            continue;
        }
        if (n_sample == n_all) {
            return CR_OK;
        }
        n_good = n_sample;
        rms_good = rms;
        int grown = 1 + (int)(GROWTH * n_sample);
        n_sample = fit->n_stage < STAGE_LIMIT ? least(grown, n_all) : n_all;
    }
}

// ---- result ------------------------------------------------------------------------------------

static void explain(const cri_fit *fit, const cri_identity *identity, cri_fit_entry *entry) {
    if (identity->is_null) {
        snprintf(entry->why, sizeof entry->why,
                 "the recording does not depend on %.60s near the result: changing it moves no "
                 "sample",
                 entry->name);
        return;
    }
    snprintf(entry->why, sizeof entry->why,
             "the recording leaves %.60s open: it can change together with %.60s without moving a "
             "sample",
             entry->name, identity->partner >= 0 ? fit->entry[identity->partner].name : "others");
}

static cr_status fill_entries(const work *w, const double *start, cr_arena *arena, cri_fit *fit,
                              cr_error *err) {
    const cri_selection *selection = w->replay->selection;
    cri_identity *identity = CR_PUSH(arena, cri_identity, w->n);
    fit->entry = CR_PUSH(arena, cri_fit_entry, w->n);
    if (!identity || !fit->entry) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d results", w->n);
    }
    CR_TRY(cri_identify(w->n, fit->n_residual, w->z, w->J, fit->loss, identity, err));
    fit->n_entry = w->n;
    for (int j = 0; j < w->n; j++) {
        const cri_domain *domain = &w->domain[j];
        double z = w->z[j];
        fit->entry[j] = (cri_fit_entry){.name = selection->variable[j].name,
                                        .start = start[j],
                                        .value = z,
                                        .deviation = identity[j].deviation,
                                        .is_identifiable = identity[j].is_identifiable,
                                        .is_at_bound = z <= domain->lower || z >= domain->upper};
    }
    for (int j = 0; j < w->n; j++) {
        if (!identity[j].is_identifiable) {
            explain(fit, &identity[j], &fit->entry[j]);
        }
    }
    return CR_OK;
}

cr_status cri_fit_run(const cr_model *model, cri_replay *replay, cr_arena *arena, cri_fit *out,
                      cr_error *err) {
    work w;
    CR_TRY(push_work(model, replay, arena, &w, err));
    double *start = CR_PUSH(arena, double, w.n);
    if (!start) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to fit %d variables", w.n);
    }
    memcpy(start, w.z, (size_t)w.n * sizeof *start);

    cri_fit fit = {.n_residual = replay->recording->n_sample * replay->recording->n_column};
    cri_lsq_result result = {0};
    CR_TRY(fit_stages(&w, &fit, &result, err));
    fit.loss = result.loss;
    fit.rms = sqrt(result.loss / fit.n_residual);
    fit.stop = result.stop;
    cri_selection_write(replay->selection, w.z, &replay->point);
    CR_TRY(fill_entries(&w, start, arena, &fit, err));
    *out = fit;
    return CR_OK;
}
