// SPDX-License-Identifier: MIT
//
// Training by batches. Of a batch with n samples, of which d are dropped,
//
//   slope = 1/(n - d) sum over shards, in their order, of the slope of the summed loss
//
// goes to Adam. The order of an epoch's samples is drawn from the stream of seed and epoch (Fisher
// and Yates), so that a checkpoint needs no state of a generator. All memory is taken at the start.

#include "learned/trainer.h"

#include "base/arena.h"
#include "base/io/checkpoint.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/// Whole numbers of a checkpoint.
enum { EPOCH, BATCH, STEPS, DROPPED, USED, BEST_EPOCH, N_COUNT };

/// Real ones.
enum { LOSS_SUM, LOSS, BEST, N_REAL };

typedef struct run {
    const cri_train_task *task;
    const cri_train_options *options;
    uint64_t problem;
    int n_batch; // of an epoch
    int64_t count[N_COUNT];
    double real[N_REAL];
    cri_adam adam;
    double *w;              // (n_w) the caller's
    double *best;           // (n_w) by validation
    double *safe;           // (n_w) at the start of the epoch
    double *slope;          // (n_w)
    double *parts;          // (n_shard, n_w) slopes of shards
    double *history;        // (n_epoch, 2)
    int *order;             // (n_sample)
    cri_train_shard *shard; // (n_shard)
    bool *has_memory;       // (n_shard)
} run;

cri_train_options cri_train_options_default(void) {
    return (cri_train_options){.n_epoch = 100,
                               .batch = 32,
                               .shard = 32,
                               .n_thread = 1,
                               .rate = {.kind = CRI_RATE_CONSTANT, .rate = 1e-3},
                               .validate_every = 10,
                               .save_every = 50};
}

// ---- one batch ---------------------------------------------------------------------------------

static void shuffle(run *r) {
    cri_random stream = cri_random_of(r->options->seed, (uint64_t)r->count[EPOCH]);
    for (int i = 0; i < r->task->n_sample; i++) {
        r->order[i] = i;
    }
    for (int i = r->task->n_sample - 1; i > 0; i--) {
        int other = cri_random_whole(&stream, 0, i), kept = r->order[i];
        r->order[i] = r->order[other];
        r->order[other] = kept;
    }
}

static void run_shard(run *r, int k, int worker) {
    cri_train_shard *s = &r->shard[k];
    memset(s->w_adj, 0, sizeof *s->w_adj * (size_t)r->task->n_w);
    s->worker = worker;
    s->loss = 0.0;
    s->n_dropped = 0;
    r->has_memory[k] = r->task->loss(r->task->context, s);
}

// all shards of a batch, on threads when there are several
static void run_shards(run *r, int n_shard) {
    int n_thread = r->options->n_thread < n_shard ? r->options->n_thread : n_shard;
    if (n_thread == 1) {
        for (int k = 0; k < n_shard; k++) {
            run_shard(r, k, 0);
        }
        return;
    }
#ifdef _OPENMP
#pragma omp parallel for num_threads(n_thread) schedule(dynamic)
#endif
    for (int k = 0; k < n_shard; k++) {
        int worker = 0;
#ifdef _OPENMP
        worker = omp_get_thread_num();
#endif
        run_shard(r, k, worker);
    }
}

// cuts samples first to last - 1 of the order into shards; how many
static int cut(run *r, int first, int last) {
    int n = 0;
    for (int at = first; at < last; at += r->options->shard, n++) {
        int left = last - at;
        r->shard[n] = (cri_train_shard){.w = r->w,
                                        .n = left < r->options->shard ? left : r->options->shard,
                                        .sample = r->order + at,
                                        .w_adj = r->parts + (size_t)n * (size_t)r->task->n_w};
    }
    return n;
}

/// The sum over the shards of a batch.
typedef struct total {
    double loss;
    int n_used;
    int n_dropped;
    bool has_memory;
} total;

static total sum_shards(run *r, int n_shard) {
    int n_w = r->task->n_w;
    total t = {.has_memory = true};
    memset(r->slope, 0, sizeof *r->slope * (size_t)n_w);
    for (int k = 0; k < n_shard; k++) {
        const cri_train_shard *s = &r->shard[k];
        CR_ASSERT(s->n_dropped >= 0 && s->n_dropped <= s->n);
        t.has_memory = t.has_memory && r->has_memory[k];
        t.loss += s->loss;
        t.n_used += s->n - s->n_dropped;
        t.n_dropped += s->n_dropped;
        for (int i = 0; i < n_w; i++) {
            r->slope[i] += s->w_adj[i];
        }
    }
    return t;
}

// the mean slope, no longer than allowed; false when it is not finite
static bool make_mean(run *r, int n_used) {
    double square = 0.0, limit = r->options->clip, scale = 1.0 / n_used;
    for (int i = 0; i < r->task->n_w; i++) {
        r->slope[i] *= scale;
        square += r->slope[i] * r->slope[i];
    }
    double length = sqrt(square);
    for (int i = 0; limit > 0.0 && length > limit && i < r->task->n_w; i++) {
        r->slope[i] *= limit / length;
    }
    return isfinite(length);
}

static cr_status fail_diverged(run *r, const char *what, cri_train_result *out, cr_error *err) {
    const double *kept = r->count[BEST_EPOCH] >= 0 ? r->best : r->safe;
    memcpy(r->w, kept, sizeof *kept * (size_t)r->task->n_w);
    out->stop = CRI_TRAIN_DIVERGED;
    long long epoch = r->count[EPOCH];
    cri_fail(err, CR_ERR_NUMERIC, 0,
             "training stopped in epoch %lld, batch %lld: %s; the weights of epoch %lld are kept; "
             "try a lower rate than %.3g",
             epoch + 1, (long long)r->count[BATCH] + 1, what,
             r->count[BEST_EPOCH] >= 0 ? (long long)r->count[BEST_EPOCH] : epoch,
             r->options->rate.rate);
    return CR_OK;
}

// one batch and its step; is_over when training ends here
static cr_status step(run *r, bool *is_over, cri_train_result *out, cr_error *err) {
    const cri_train_options *o = r->options;
    int first = (int)r->count[BATCH] * o->batch;
    int left = r->task->n_sample - first;
    int n_shard = cut(r, first, first + (left < o->batch ? left : o->batch));
    run_shards(r, n_shard);
    total t = sum_shards(r, n_shard);
    if (!t.has_memory) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "training: no memory for a batch of %d", o->batch);
    }
    if (t.n_used > 0 && (!isfinite(t.loss) || !make_mean(r, t.n_used))) {
        *is_over = true;
        return fail_diverged(r, "the loss or its slope is not finite", out, err);
    }
    if (t.n_used > 0) {
        long long n_all = (long long)o->n_epoch * r->n_batch;
        long long done = r->count[EPOCH] * (long long)r->n_batch + r->count[BATCH];
        double rate = cri_rate_at(&o->rate, done, n_all);
        r->adam.pull = rate / o->rate.rate;
        cri_adam_step(&r->adam, rate, r->task->n_group, r->task->group, r->slope, r->w);
        r->count[STEPS]++;
    }
    r->real[LOSS_SUM] += t.loss;
    r->count[USED] += t.n_used;
    r->count[DROPPED] += t.n_dropped;
    r->count[BATCH]++;
    return CR_OK;
}

// ---- epochs ------------------------------------------------------------------------------------

static void begin_epoch(run *r) {
    r->real[LOSS_SUM] = 0.0;
    r->count[USED] = 0;
    memcpy(r->safe, r->w, sizeof *r->w * (size_t)r->task->n_w);
}

// counts the epoch and judges it
static void end_epoch(run *r) {
    const cri_train_options *o = r->options;
    int64_t epoch = r->count[EPOCH]++;
    r->count[BATCH] = 0;
    r->real[LOSS] = r->real[LOSS_SUM] / (double)r->count[USED];
    double score = NAN;
    bool is_judged = r->count[EPOCH] % o->validate_every == 0 || r->count[EPOCH] == o->n_epoch;
    if (r->task->validate && is_judged) {
        score = r->task->validate(r->task->context, r->w);
    }
    if (isfinite(score) && !(r->real[BEST] <= score)) {
        r->real[BEST] = score;
        r->count[BEST_EPOCH] = r->count[EPOCH];
        memcpy(r->best, r->w, sizeof *r->w * (size_t)r->task->n_w);
    }
    r->history[2 * epoch] = r->real[LOSS];
    r->history[2 * epoch + 1] = score;
}

static uint64_t mix(uint64_t hash, double value) {
    return cri_hash(hash, &value, sizeof value);
}

// what a checkpoint must agree in
static uint64_t hash_run(const cri_train_task *task, const cri_train_options *o) {
    uint64_t hash = cri_hash(CRI_HASH_START, &task->problem, sizeof task->problem);
    hash = cri_hash(hash, &o->seed, sizeof o->seed);
    const double number[] = {task->n_w,     task->n_sample, task->n_group,    o->n_epoch,
                             o->batch,      o->shard,       o->rate.kind,     o->rate.rate,
                             o->rate.begin, o->clip,        o->validate_every};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        hash = mix(hash, number[i]);
    }
    for (int k = 0; k < task->n_group; k++) {
        const cri_adam_group *g = &task->group[k];
        const double own[] = {g->first, g->n,     g->rate, g->l2,  g->decay,
                              g->lower, g->upper, g->pull, g->home};
        for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
            hash = mix(hash, own[i]);
        }
    }
    return hash;
}

static cr_status use_checkpoint(run *r, bool is_save, cr_error *err) {
    int64_t n = r->task->n_w, n_history = 2 * (int64_t)r->options->n_epoch;
    cri_checkpoint_array array[] = {
        {"counts", NULL, r->count, N_COUNT, N_COUNT},
        {"numbers", r->real, NULL, N_REAL, N_REAL},
        {"steps of Adam", NULL, &r->adam.n_step, 1, 1},
        {"weights", r->w, NULL, n, n},
        {"best", r->best, NULL, n, n},
        {"safe", r->safe, NULL, n, n},
        {"mean", r->adam.mean, NULL, n, n},
        {"square", r->adam.square, NULL, n, n},
        {"history", r->history, NULL, n_history, n_history},
    };
    const int n_array = (int)(sizeof array / sizeof *array);
    const char *path = r->options->checkpoint;
    return is_save ? cri_checkpoint_write(path, r->problem, n_array, array, err)
                   : cri_checkpoint_read(path, r->problem, n_array, array, err);
}

// saves when it is due; false when that fails
static bool save(run *r, bool is_due, cri_train_result *out, cr_error *err) {
    if (!r->options->checkpoint || !is_due || use_checkpoint(r, true, err) == CR_OK) {
        return true;
    }
    out->stop = CRI_TRAIN_UNSAVED;
    return false;
}

// asks whether to go on; false: the run ends here
static bool go_on(run *r, cri_train_result *out, cr_error *err) {
    long long done = r->count[EPOCH] * (long long)r->n_batch + r->count[BATCH];
    double best = r->count[BEST_EPOCH] >= 0 ? r->real[BEST] : r->real[LOSS];
    cri_progress_state state = {"batch", done, (long long)r->options->n_epoch * r->n_batch, best};
    if (cri_progress_tell(r->options->progress, &state)) {
        return true;
    }
    out->stop = CRI_TRAIN_INTERRUPTED;
    save(r, true, out, err);
    return false;
}

static cr_status run_epochs(run *r, cri_train_result *out, cr_error *err) {
    const cri_train_options *o = r->options;
    bool is_over = false;
    while (r->count[EPOCH] < o->n_epoch) {
        if (r->count[BATCH] == 0) {
            begin_epoch(r);
        }
        shuffle(r);
        while (r->count[BATCH] < r->n_batch) {
            if (!go_on(r, out, err)) {
                return CR_OK;
            }
            CR_TRY(step(r, &is_over, out, err));
            if (is_over) {
                return CR_OK;
            }
        }
        if (r->count[USED] == 0) {
            r->count[BATCH]--;
            return fail_diverged(r, "every sample of the epoch failed", out, err);
        }
        end_epoch(r);
        bool is_last = r->count[EPOCH] == o->n_epoch;
        if (!save(r, is_last || r->count[EPOCH] % o->save_every == 0, out, err)) {
            return CR_OK;
        }
    }
    return CR_OK;
}

// ---- the whole ---------------------------------------------------------------------------------

static bool push_all(run *r, double *history, cr_arena *arena) {
    const cri_train_options *o = r->options;
    int n_w = r->task->n_w, n_sample = r->task->n_sample;
    int largest = o->batch < n_sample ? o->batch : n_sample;
    int n_shard = (largest + o->shard - 1) / o->shard;
    r->n_batch = (n_sample + o->batch - 1) / o->batch;
    r->best = CR_PUSH(arena, double, n_w + 1);
    r->safe = CR_PUSH(arena, double, n_w + 1);
    r->slope = CR_PUSH(arena, double, n_w + 1);
    r->parts = CR_PUSH(arena, double, (size_t)n_shard *(size_t)n_w + 1);
    r->order = CR_PUSH(arena, int, n_sample);
    r->shard = CR_PUSH(arena, cri_train_shard, n_shard);
    r->has_memory = CR_PUSH(arena, bool, n_shard);
    r->history = history ? history : CR_PUSH(arena, double, 2 * (size_t)o->n_epoch + 1);
    double *mean = CR_PUSH(arena, double, n_w + 1), *square = CR_PUSH(arena, double, n_w + 1);
    if (cri_arena_has_failed(arena)) {
        return false;
    }
    r->adam = cri_adam_of(n_w, mean, square);
    for (int i = 0; i < 2 * o->n_epoch; i++) {
        r->history[i] = NAN;
    }
    return true;
}

static void conclude(run *r, cri_train_result *out) {
    out->n_epoch = (int)r->count[EPOCH];
    out->n_step = r->count[STEPS];
    out->n_dropped = r->count[DROPPED];
    out->loss = r->real[LOSS];
    out->best = r->real[BEST];
    out->best_epoch = (int)r->count[BEST_EPOCH];
    if (r->options->is_best_kept && out->best_epoch >= 0) {
        memcpy(r->w, r->best, sizeof *r->w * (size_t)r->task->n_w);
    }
}

cr_status cri_train(const cri_train_task *task, const cri_train_options *o, double *w,
                    double *history, cri_train_result *out, cr_error *err) {
    CR_ASSERT(task && task->n_w >= 0 && task->n_sample >= 1 && task->loss && w && out);
    CR_ASSERT(o && o->n_epoch >= 0 && o->batch >= 1 && o->shard >= 1 && o->n_thread >= 1);
    CR_ASSERT(o->validate_every >= 1 && o->save_every >= 1);
    *out = (cri_train_result){.stop = CRI_TRAIN_DONE};
    cr_arena *arena = cri_arena_create(1 << 16);
    run r = {.task = task,
             .options = o,
             .problem = hash_run(task, o),
             .count = {[BEST_EPOCH] = -1},
             .real = {[LOSS] = NAN, [BEST] = NAN},
             .w = w};
    cr_status status = CR_OK;
    if (!arena || !push_all(&r, history, arena)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory to train %d numbers", task->n_w);
    } else if (o->checkpoint && cri_checkpoint_exists(o->checkpoint)) {
        status = use_checkpoint(&r, false, err);
    }
    if (status == CR_OK) {
        status = run_epochs(&r, out, err);
        conclude(&r, out);
    }
    cri_arena_destroy(arena);
    return status;
}
