// SPDX-License-Identifier: MIT
//
// Identification: horizon.c finds the values, identify.c says how well they are known.

#include "optimize/fit.h"

#include "optimize/horizon.h"
#include "optimize/identify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static cr_status push_horizon(const cr_model *model, cri_replay *replay, cr_arena *arena,
                              cri_horizon *out, cr_error *err) {
    const cri_selection *selection = replay->selection;
    size_t n = (size_t)selection->n_variable;
    size_t m = (size_t)replay->recording->n_sample * (size_t)replay->recording->n_column;
    cri_domain *domain = CR_PUSH(arena, cri_domain, n);
    bool *is_drawn = CR_PUSH(arena, bool, n);
    double *start = CR_PUSH(arena, double, n);
    double *z = CR_PUSH(arena, double, n);
    double *r = CR_PUSH(arena, double, m);
    double *J = CR_PUSH(arena, double, n *m);
    if (!domain || !is_drawn || !start || !z || !r || !J) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to fit %d variables",
                        selection->n_variable);
    }
    for (int j = 0; j < selection->n_variable; j++) {
        domain[j] = cri_selection_domain(selection, model, j);
    }
    cri_selection_read(selection, &replay->point, z);
    memcpy(start, z, n * sizeof *start);
    *out = (cri_horizon){.replay = replay,
                         .n = selection->n_variable,
                         .domain = domain,
                         .start = start,
                         .is_drawn = is_drawn,
                         .z = z,
                         .r = r,
                         .J = J};
    return CR_OK;
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

static cr_status fill_entries(const cri_horizon *h, cr_arena *arena, cri_fit *fit, cr_error *err) {
    const cri_selection *selection = h->replay->selection;
    cri_identity *identity = CR_PUSH(arena, cri_identity, h->n);
    fit->entry = CR_PUSH(arena, cri_fit_entry, h->n);
    if (!identity || !fit->entry) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d results", h->n);
    }
    CR_TRY(cri_identify(h->n, fit->n_residual, h->z, h->J, fit->loss, identity, err));
    fit->n_entry = h->n;
    for (int j = 0; j < h->n; j++) {
        const cri_domain *domain = &h->domain[j];
        double z = h->z[j];
        fit->entry[j] = (cri_fit_entry){.name = selection->variable[j].name,
                                        .start = h->start[j],
                                        .value = z,
                                        .deviation = identity[j].deviation,
                                        .is_identifiable = identity[j].is_identifiable,
                                        .is_at_bound = z <= domain->lower || z >= domain->upper};
    }
    for (int j = 0; j < h->n; j++) {
        if (!identity[j].is_identifiable) {
            explain(fit, &identity[j], &fit->entry[j]);
        }
    }
    return CR_OK;
}

cr_status cri_fit_run(const cr_model *model, cri_replay *replay, cr_arena *arena, cri_fit *out,
                      cr_error *err) {
    cri_horizon horizon;
    cri_lsq_result result = {0};
    CR_TRY(push_horizon(model, replay, arena, &horizon, err));
    CR_TRY(cri_horizon_fit(&horizon, arena, &result, err));
    cri_fit fit = {.n_residual = replay->recording->n_sample * replay->recording->n_column,
                   .loss = result.loss,
                   .noise = fmax(cri_recording_noise(replay->recording),
                                 CRI_RECORDING_FLOOR * cri_recording_spread(replay->recording)),
                   .stop = result.stop,
                   .n_iteration = horizon.n_iteration,
                   .n_stage = horizon.n_stage,
                   .n_restart = horizon.n_restart};
    fit.rms = sqrt(result.loss / fit.n_residual);
    cri_selection_write(replay->selection, horizon.z, &replay->point);
    CR_TRY(fill_entries(&horizon, arena, &fit, err));
    *out = fit;
    return CR_OK;
}
