// SPDX-License-Identifier: MIT
//
// Residual nets as steps: s' = s + h net(s), or s' = s + h net(s, c) with touch signals c.
//
// Source: paper 001, (51)-(54). c is thresholded in prediction and constant in the vjp; in training
// it is the measured touched. Smooth where c is constant.

#include "points/learn/baseline.h"

#include "base/base.h"

#include <string.h>

static const char *const laws[] = {"none", NULL};

static bool predict_signal(const cri_baseline *b, const cri_system_batch *batch, double *touched,
                           cr_arena *arena) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    bool is_done = cri_mlp_value(&b->contact_net, batch->p + b->at_contact_net, batch->n_row,
                                 batch->x, touched, NULL, arena);
    for (int k = 0; is_done && k < batch->n_row * b->n_signal; k++) {
        touched[k] = touched[k] > 0.0 ? 1.0 : 0.0;
    }
    cri_arena_rewind(arena, mark);
    return is_done;
}

bool cri_residual_step(const cri_baseline *b, const cri_system_batch *batch, const double *touched,
                       double *x_next, cri_residual_cache *cache, cr_arena *arena) {
    cri_residual_cache own;
    cri_residual_cache *k = cache ? cache : &own;
    size_t n_x = 2 * (size_t)b->n_q;
    size_t n_in = n_x + (size_t)b->n_signal;
    size_t n_row = (size_t)batch->n_row;
    *k = (cri_residual_cache){.n_in = (int)n_in,
                              .in = CR_PUSH_RAW(arena, double, n_row *n_in),
                              .rate = CR_PUSH_RAW(arena, double, n_row *n_x),
                              .touched = CR_PUSH(arena, double, n_row *(size_t)b->n_signal + 1),
                              .is_failed = CR_PUSH(arena, bool, n_row)};
    if (cri_arena_has_failed(arena)) {
        return false;
    }
    if (touched) {
        memcpy(k->touched, touched, n_row * (size_t)b->n_signal * sizeof *touched);
    } else if (b->n_signal > 0 && !predict_signal(b, batch, k->touched, arena)) {
        return false;
    }
    for (size_t row = 0; row < n_row; row++) {
        memcpy(k->in + n_in * row, batch->x + n_x * row, n_x * sizeof *k->in);
        memcpy(k->in + n_in * row + n_x, k->touched + (size_t)b->n_signal * row,
               (size_t)b->n_signal * sizeof *k->in);
    }
    if (!cri_mlp_value(&b->net, batch->p + b->at_net, batch->n_row, k->in, k->rate,
                       cache ? &k->net : NULL, arena)) {
        return false;
    }
    for (size_t row = 0; row < n_row; row++) {
        double *next = x_next + n_x * row;
        for (size_t i = 0; i < n_x; i++) {
            next[i] = batch->x[n_x * row + i] + batch->h * k->rate[n_x * row + i];
        }
        k->is_failed[row] = !cri_all_finite((int)n_x, next);
        if (k->is_failed[row]) {
            memcpy(next, batch->x + n_x * row, n_x * sizeof *next);
        }
    }
    return true;
}

bool cri_residual_step_vjp(const cri_baseline *b, const cri_system_batch *batch,
                           const cri_residual_cache *cache, const double *x_next_adj, double *x_adj,
                           double *p_adj, cr_arena *work) {
    cri_arena_mark mark = cri_arena_get_mark(work);
    size_t n_x = 2 * (size_t)b->n_q;
    size_t n_in = (size_t)cache->n_in;
    size_t n_row = (size_t)batch->n_row;
    double *rate_adj = CR_PUSH(work, double, n_row *n_x);
    double *in_adj = CR_PUSH(work, double, n_row *n_in);
    if (!rate_adj || !in_adj) {
        return false;
    }
    // x_next = x + h rate
    for (size_t k = 0; k < n_row * n_x; k++) {
        rate_adj[k] = cache->is_failed[k / n_x] ? 0.0 : batch->h * x_next_adj[k];
    }
    // rate = net(x, touched)
    if (!cri_mlp_value_vjp(&b->net, batch->p + b->at_net, &cache->net, rate_adj, in_adj,
                           p_adj ? p_adj + b->at_net : NULL, work)) {
        return false;
    }
    for (size_t row = 0; x_adj && row < n_row; row++) {
        for (size_t i = 0; i < n_x && !cache->is_failed[row]; i++) {
            x_adj[n_x * row + i] += x_next_adj[n_x * row + i] + in_adj[n_in * row + i];
        }
    }
    cri_arena_rewind(work, mark);
    return true;
}

// ---- as systems --------------------------------------------------------------------------------

static bool kind_step(const void *self, const cri_system_batch *batch, double *x_next,
                      cri_system_row *row, const void **cache, cr_arena *arena) {
    const cri_baseline *b = self;
    cri_residual_cache *kept = CR_PUSH(arena, cri_residual_cache, 1);
    if (!kept || !cri_residual_step(b, batch, NULL, x_next, kept, arena)) {
        return false;
    }
    for (int k = 0; row && k < batch->n_row; k++) {
        row[k] = (cri_system_row){kept->is_failed[k], 0};
        for (int c = 0; c < b->n_signal; c++) {
            row[k].n_event += kept->touched[k * b->n_signal + c] > 0.0;
        }
    }
    if (cache) {
        *cache = kept;
    }
    return true;
}

static bool kind_vjp(const void *self, const cri_system_batch *batch, const void *cache,
                     const double *x_next_adj, double *x_adj, double *u_adj, double *p_adj,
                     cr_arena *work) {
    (void)u_adj;
    return cri_residual_step_vjp(self, batch, cache, x_next_adj, x_adj, p_adj, work);
}

const cri_system_kind cri_resnet_kind = {
    .name = "resnet", .law = laws, .step = kind_step, .vjp = kind_vjp};

const cri_system_kind cri_resnetcontact_kind = {
    .name = "resnetcontact", .law = laws, .step = kind_step, .vjp = kind_vjp};
