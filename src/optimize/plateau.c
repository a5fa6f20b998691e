// SPDX-License-Identifier: MIT
//
// Values at the edge of a plateau.
//
// Friction that makes a contact stick and any larger one give the same motion. A fit that comes
// from below ends at the edge, where the loss still has a slope on one side, and a small standard
// error. So each positive parameter is doubled and halved once. Where the loss rises by next to
// nothing of what its Jacobian promises, the other unknowns are fitted again; when the loss then
// stays within the noise, the value is a bound and no estimate.

#include "optimize/fit_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// changes of this many standard errors must show; less than this part of what the Jacobian promises
// is suspicious; a rise by this many times the variance is none: three standard errors
#define PROMISED 20.0
#define SUSPICIOUS 0.01
#define NO_RISE 9.0

// iterations of the fit of the others, and the fall of the loss that ends it
#define ITERATION_LIMIT 10
#define FLAT 1e-4

/// Scratch for the fits of the others.
typedef struct probe {
    cri_fit_work *w;
    double *z;          // (n)
    cri_domain *domain; // (n)
    double *norm;       // (n) of the columns at the result
    double loss;
    double variance;
} probe;

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
                       .iteration_limit = ITERATION_LIMIT,
                       .flat = FLAT,
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
static bool may_go_on(cri_horizon *h, int j) {
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
        if (!may_go_on(h, j)) {
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

cr_status cri_fit_probe(cri_fit_work *w, double loss, double variance, cri_fit *fit,
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
