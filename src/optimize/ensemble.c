// SPDX-License-Identifier: MIT
//
// Many recordings as one least-squares problem.
//
// A robust loss is made least by weights that follow the residuals: r and J are multiplied by the
// root of the weight, so that J'r is half the slope of the loss and J'J bounds its curvature.

#include "optimize/ensemble.h"

#include <math.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static bool is_shared(const cri_unknowns *unknowns, int variable, int *index) {
    for (int i = 0; i < unknowns->n_shared; i++) {
        if (unknowns->shared[i] == variable) {
            *index = i;
            return true;
        }
    }
    *index = cri_unknowns_find(unknowns, variable);
    return false;
}

static int count_shared_priors(const cri_ensemble_def *def) {
    int n = 0;
    for (int i = 0; i < def->n_prior; i++) {
        int index = 0;
        n += is_shared(def->unknowns, def->prior[i].variable, &index);
        CR_ASSERT(index >= 0 && def->prior[i].sigma > 0.0);
    }
    return n;
}

cr_status cri_ensemble_push(const cri_ensemble_def *def, cr_arena *arena, cri_ensemble *out,
                            cr_error *err) {
    CR_ASSERT(def->n_recording > 0 && def->n_sim > 0);
    int n_shared_prior = count_shared_priors(def);
    int n_block = def->n_recording + (n_shared_prior > 0 ? 1 : 0);
    cri_ensemble e = {.unknowns = def->unknowns,
                      .n_replay = def->n_recording,
                      .n_sim = def->n_sim,
                      .sim = def->sim,
                      .n_prior = def->n_prior,
                      .prior = def->prior,
                      .n_shared_prior = n_shared_prior,
                      .robust = {.scale = INFINITY},
                      .arrow = {.n_shared = def->unknowns->n_shared, .n_block = n_block}};
    e.replay = CR_PUSH(arena, cri_replay, def->n_recording);
    e.n_limit = CR_PUSH(arena, int, def->n_recording);
    e.arrow.block = CR_PUSH(arena, cri_arrow_block, n_block);
    e.is_idle = CR_PUSH(arena, bool, n_block);
    e.loss = CR_PUSH(arena, double, n_block);
    e.status = CR_PUSH(arena, cr_status, n_block);
    e.error = CR_PUSH(arena, cr_error, n_block);
    bool has_blocks = e.arrow.block && e.is_idle && e.loss && e.status && e.error;
    if (!e.replay || !e.n_limit || !has_blocks) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d recordings", def->n_recording);
    }
    for (int k = 0; k < def->n_recording; k++) {
        const cri_recording *recording = &def->recording[k];
        CR_TRY(cri_replay_init(def->model, def->unknowns, recording, def->dt, arena, &e.replay[k],
                               err));
        e.n_limit[k] = recording->n_sample;
        e.n_longest = recording->n_sample > e.n_longest ? recording->n_sample : e.n_longest;
    }
    cri_ensemble_take(&e, e.n_longest);
    *out = e;
    return CR_OK;
}

void cri_ensemble_take(cri_ensemble *e, int n) {
    int n_own_prior = e->n_prior - e->n_shared_prior;
    e->n_data = 0;
    for (int k = 0; k < e->n_replay; k++) {
        double part = (double)n / e->n_longest;
        int n_sample = (int)ceil(part * e->n_limit[k] - 1e-9);
        n_sample = n_sample < 1 ? 1 : n_sample < e->n_limit[k] ? n_sample : e->n_limit[k];
        e->replay[k].n_sample = n_sample;
        int m = n_sample * e->replay[k].recording->n_column;
        e->arrow.block[k] = (cri_arrow_block){.n = e->unknowns->n_own, .m = m + n_own_prior};
        e->n_data += m;
    }
    if (e->n_shared_prior > 0) {
        e->arrow.block[e->n_replay] = (cri_arrow_block){.m = e->n_shared_prior};
    }
    cri_arrow_place(&e->arrow);
}

int cri_ensemble_threads(int most) {
    int n = 1;
#ifdef _OPENMP
    n = omp_get_max_threads();
#endif
    return n < most ? n : most;
}

cri_values cri_ensemble_values(const cri_ensemble *e, const double *z, int replay) {
    return (cri_values){z, z + e->arrow.block[replay].z};
}

// ---- residuals ---------------------------------------------------------------------------------

/// Weights m residuals, rows of a block's n columns of height. Returns their loss.
static double weigh(const cri_ensemble *e, int k, int m, double *r, double *J) {
    const cri_arrow_block *block = &e->arrow.block[k];
    double loss = 0.0;
    for (int i = 0; i < m; i++) {
        double weight = 1.0;
        loss += cri_robust_loss(&e->robust, r[i], &weight);
        if (weight == 1.0) {
            continue;
        }
        double root = sqrt(weight);
        r[i] *= root;
        for (int c = 0; J && c < e->arrow.n_shared + block->n; c++) {
            J[(size_t)c * (size_t)block->m + (size_t)i] *= root;
        }
    }
    return loss;
}

/// Rows of the priors of one kind from row first on. Returns their loss.
static double add_priors(const cri_ensemble *e, int k, bool for_shared, const double *z, int first,
                         double *r, double *J) {
    const cri_arrow_block *block = &e->arrow.block[k];
    double loss = 0.0;
    for (int i = 0; i < e->n_prior; i++) {
        const cri_prior *prior = &e->prior[i];
        int index = 0;
        if (is_shared(e->unknowns, prior->variable, &index) != for_shared) {
            continue;
        }
        int c = for_shared ? index : e->arrow.n_shared + index;
        r[first] = (z[cri_arrow_unknown(&e->arrow, k, c)] - prior->mean) / prior->sigma;
        for (int j = 0; J && j < e->arrow.n_shared + block->n; j++) {
            J[(size_t)j * (size_t)block->m + (size_t)first] = j == c ? 1.0 / prior->sigma : 0.0;
        }
        loss += r[first] * r[first];
        first++;
    }
    return loss;
}

/// Moves columns of m_data rows apart, so that each has m.
static void spread_columns(int n, int m_data, int m, double *J) {
    for (int c = n - 1; c > 0 && m_data < m; c--) {
        memmove(J + (size_t)c * (size_t)m, J + (size_t)c * (size_t)m_data,
                (size_t)m_data * sizeof *J);
    }
}

static cr_status run_block(cri_ensemble *e, cr_sim *sim, int k, const double *z, double *r,
                           double *J) {
    const cri_arrow_block *block = &e->arrow.block[k];
    double *r_own = r + block->r;
    double *J_own = J ? J + block->J : NULL;
    if (e->is_idle[k] && !J) {
        e->loss[k] = 0.0;
        return CR_OK;
    }
    if (k == e->n_replay) {
        e->loss[k] = add_priors(e, k, true, z, 0, r_own, J_own);
        return CR_OK;
    }
    cri_replay *replay = &e->replay[k];
    cri_values values = cri_ensemble_values(e, z, k);
    CR_TRY(cri_replay_residuals(replay, sim, &values, r_own, J_own, &e->error[k]));
    int m = replay->n_sample * replay->recording->n_column;
    if (J) {
        spread_columns(e->arrow.n_shared + block->n, m, block->m, J_own);
    }
    e->loss[k] = weigh(e, k, m, r_own, J_own);
    e->loss[k] += add_priors(e, k, false, z, m, r_own, J_own);
    return CR_OK;
}

static void run_blocks(cri_ensemble *e, const double *z, double *r, double *J) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(e->n_sim) schedule(dynamic) if (e->n_sim > 1)
#endif
    for (int k = 0; k < e->arrow.n_block; k++) {
        int thread = 0;
#ifdef _OPENMP
        thread = omp_get_thread_num();
#endif
        e->status[k] = run_block(e, e->sim[thread], k, z, r, J);
    }
}

cr_status cri_ensemble_residuals(void *context, const double *z, double *r, double *J, double *loss,
                                 cr_error *err) {
    cri_ensemble *e = context;
    run_blocks(e, z, r, J);
    cr_status worst = CR_OK;
    *loss = 0.0;
    for (int k = 0; k < e->arrow.n_block; k++) {
        *loss += e->loss[k];
        // memory ends a search, everything else refuses a point
        if (e->status[k] != CR_OK && (worst == CR_OK || e->status[k] == CR_ERR_MEMORY)) {
            const char *file = e->replay[k].recording->file;
            worst = cri_fail(err, e->status[k], 0, "%.80s: %.150s", file ? file : "data",
                             e->error[k].text);
        }
    }
    return worst;
}

// ---- size of things ----------------------------------------------------------------------------

static double rms_over(const cri_ensemble *e, double (*of)(const cri_recording *)) {
    double sum = 0.0;
    double n = 0.0;
    for (int k = 0; k < e->n_replay; k++) {
        const cri_recording *recording = e->replay[k].recording;
        double value = of(recording);
        double m = (double)recording->n_sample * recording->n_column;
        if (isfinite(value)) {
            sum += m * value * value;
            n += m;
        }
    }
    return n > 0.0 ? sqrt(sum / n) : INFINITY;
}

double cri_ensemble_noise(const cri_ensemble *e) {
    return rms_over(e, cri_recording_noise);
}

double cri_ensemble_spread(const cri_ensemble *e) {
    return rms_over(e, cri_recording_spread);
}
