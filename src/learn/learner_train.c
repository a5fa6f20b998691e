// SPDX-License-Identifier: MIT
//
// Training a learner on a recording, by the trainer that knows nothing of it.

#include "learn/learner_train.h"

#include "base/base.h"
#include "io/checkpoint.h"

typedef struct context {
    const cri_learner_training *training;
    cr_arena *arena;
} context;

static bool loss(void *self, cri_train_shard *shard) {
    context *c = self;
    cri_learner_terms terms = {0};
    cri_learner_batch batch = {c->training->data, shard->n, shard->sample, 1.0};
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
    int learned[] = {t->learner->learns_restitution, t->learner->learns_damping};
    hash = cri_hash(hash, learned, sizeof learned);
    hash = cri_hash(hash, p, (size_t)t->learner->n_p * sizeof *p);
    hash = t->learner->central ? contacts_of(t->learner->central, hash) : hash;
    return cri_hash(hash, &d->dt, sizeof d->dt);
}

cr_status cri_learner_train(const cri_learner_training *training, double *p, cri_train_result *out,
                            cr_error *err) {
    CR_ASSERT(training->learner && training->data && training->n_epoch > 0);
    context c = {training, cri_arena_create((size_t)1 << 20)};
    if (!c.arena) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to train");
    }
    cri_adam_group group[CRI_LEARNER_GROUP_MOST];
    cri_train_task task = {.n_w = training->learner->n_p,
                           .n_group =
                               cri_learner_groups(training->learner, training->recipe.l2, group),
                           .group = group,
                           .n_sample = training->data->n_window,
                           .loss = loss,
                           .context = &c,
                           .problem = problem_of(training, p)};
    cri_train_options options = cri_train_options_default();
    options.n_epoch = training->n_epoch;
    options.batch = training->batch > 0 ? training->batch : 32;
    options.shard = options.batch;
    options.seed = training->seed;
    options.rate =
        (cri_rate){.kind = training->recipe.is_annealed ? CRI_RATE_LINEAR : CRI_RATE_CONSTANT,
                   .rate = training->recipe.rate};
    options.checkpoint = training->checkpoint;
    options.progress = training->progress;
    cr_status status = cri_train(&task, &options, p, NULL, out, err);
    cri_arena_destroy(c.arena);
    return status;
}
