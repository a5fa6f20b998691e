// SPDX-License-Identifier: MIT
//
// Training a learner on a recording, by the trainer that knows nothing of it.
//
// w = p | shifts of the first states of all windows (n_window, n_x), when they are fitted. Windows
// that begin at noisy rows make an error in variables: what noise does to q looks like a force that
// does not grow with q, and a body at rest has nothing else. With the shifts free, the loss is the
// squared distance of all rows of a window from a path of the model, noise of one size assumed.

#include "points/learn/learner_train.h"

#include "base/base.h"
#include "base/io/checkpoint.h"

#include <string.h>

typedef struct context {
    const cri_learner_training *training;
    cr_arena *arena;
} context;

static bool loss(void *self, cri_train_shard *shard) {
    context *c = self;
    cri_learner_terms terms = {0};
    cri_learner_batch batch = {
        .data = c->training->data, .n_window = shard->n, .window = shard->sample, .n_mean = 1.0};
    if (c->training->recipe.fits_starts) {
        batch.shift = shard->w + c->training->learner->n_p;
        batch.shift_adj = shard->w_adj + c->training->learner->n_p;
    }
    cri_arena_reset(c->arena);
    if (!cri_learner_loss(c->training->learner, &batch, shard->w, &terms, shard->w_adj, c->arena)) {
        return false;
    }
    shard->loss += terms.motion + terms.touch;
    shard->n_dropped += terms.n_failed;
    return true;
}

// which bodies a contact pushes, and which way
static uint64_t contacts_of(const cri_central *c, uint64_t hash) {
    for (int k = 0; k < c->n_contact; k++) {
        const cri_central_contact *t = &c->touch[k];
        int bodies[] = {t->i, t->j, t->is_round};
        hash = cri_hash(hash, bodies, sizeof bodies);
        if (t->normal) {
            hash = cri_hash(hash, t->normal, (size_t)c->n_dim * sizeof *t->normal);
        }
    }
    return hash;
}

// everything that the loss depends on; p as it is at the start, with the numbers that are given
static uint64_t problem_of(const cri_learner_training *t, const double *p) {
    const cri_touch_data *d = t->data;
    int sizes[] = {(int)t->learner->kind, d->n_q, d->n_touch, d->n_row, d->horizon, d->n_window};
    uint64_t hash = cri_hash(CRI_HASH_START, sizes, sizeof sizes);
    hash = cri_hash(hash, d->x, (size_t)d->n_row * 2 * (size_t)d->n_q * sizeof *d->x);
    hash = cri_hash(hash, d->touch, (size_t)d->n_row * (size_t)d->n_touch * sizeof *d->touch);
    hash = cri_hash(hash, d->window, (size_t)d->n_window * sizeof *d->window);
    int learned[] = {t->learner->learns_restitution, t->learner->learns_damping,
                     t->recipe.fits_starts, t->is_fixed};
    hash = cri_hash(hash, learned, sizeof learned);
    hash = cri_hash(hash, p, (size_t)t->learner->n_p * sizeof *p);
    hash = t->learner->central ? contacts_of(t->learner->central, hash) : hash;
    return cri_hash(hash, &d->dt, sizeof d->dt);
}

static cri_train_options options_of(const cri_learner_training *t) {
    cri_train_options options = cri_train_options_default();
    options.n_epoch = t->n_epoch;
    options.batch = t->batch > 0 ? t->batch : 32;
    options.shard = options.batch;
    options.seed = t->seed;
    options.rate = (cri_rate){.kind = t->recipe.is_annealed ? CRI_RATE_LINEAR : CRI_RATE_CONSTANT,
                              .rate = t->recipe.rate};
    options.checkpoint = t->checkpoint;
    options.progress = t->progress;
    return options;
}

cr_status cri_learner_train(const cri_learner_training *training, double *p, cri_train_result *out,
                            cr_error *err) {
    CR_ASSERT(training->learner && training->data && training->n_epoch > 0);
    int n_p = training->learner->n_p;
    int n_shift =
        training->recipe.fits_starts ? training->data->n_window * 2 * training->data->n_q : 0;
    context c = {training, cri_arena_create((size_t)1 << 20)};
    cr_arena *memory = cri_arena_create((size_t)(n_p + n_shift + 1) * sizeof(double));
    double *w = c.arena && memory ? CR_PUSH(memory, double, n_p + n_shift) : NULL;
    cr_status status = CR_ERR_MEMORY;
    if (w) {
        cri_adam_group group[CRI_LEARNER_GROUP_MOST + 1];
        int n_group = training->is_fixed
                          ? 0
                          : cri_learner_groups(training->learner, training->recipe.l2,
                                               training->recipe.l2_touch, group);
        if (n_shift > 0) {
            group[n_group++] = (cri_adam_group){.first = n_p, .n = n_shift, .rate = 1.0};
        }
        memcpy(w, p, (size_t)n_p * sizeof *p);
        cri_train_task task = {.n_w = n_p + n_shift,
                               .n_group = n_group,
                               .group = group,
                               .n_sample = training->data->n_window,
                               .loss = loss,
                               .context = &c,
                               .problem = problem_of(training, p)};
        cri_train_options options = options_of(training);
        status = cri_train(&task, &options, w, NULL, out, err);
        memcpy(p, w, (size_t)n_p * sizeof *p);
    } else {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory to train");
    }
    cri_arena_destroy(memory);
    cri_arena_destroy(c.arena);
    return status;
}
