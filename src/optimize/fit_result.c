// SPDX-License-Identifier: MIT
//
// Entries of a fit: values, standard errors and correlations.
//
// An entry e has the derivative g for the unknowns of its recording, (shared, own): a one at its
// own unknown, or for a number of a quaternion the change with the rotation vector. With the
// covariance C of these unknowns var e = g'Cg, and the correlation of two is g'Ch over both
// standard errors.

#include "optimize/fit_parts.h"

#include "base/math/dense.h"
#include "optimize/tangent.h"

#include <math.h>
#include <string.h>

/// The unknowns of one recording together.
typedef struct joint {
    int n;          // n_shared + n_own
    double *C;      // (n, n)
    double *g;      // (n_row, n), one row an entry
    double *Cg;     // (n)
    double *x0_tan; // (n, n_tangent)
} joint;

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

static void fill_covariance(const cri_fit_work *w, const cri_verdict *verdict, double variance,
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
static void fill_entry(const cri_fit_work *w, const cri_verdict *verdict, const joint *both, int k,
                       int i, cri_fit_entry *out) {
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

cr_status cri_fit_fill(const cri_fit_work *w, const cri_verdict *verdict, double variance,
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
