// SPDX-License-Identifier: MIT
//
// Training by batches: shuffled epochs, Adam, a schedule of the rate. It knows nothing of what it
// trains: a task brings numbers w, samples by their index, and a loss.
//
// A batch is cut into shards of a fixed size, which threads take; their slopes are summed in the
// shards' order. So the bits of a training depend on neither threads nor interruptions.

#pragma once

#include "base/nn/adam.h"
#include "base/progress.h"

/// Samples of one call of the loss. Calls on several threads at a time differ in their worker.
typedef struct cri_train_shard {
    int worker;        // 0 to n_thread - 1: index of scratch memory that the task keeps
    const double *w;   // (n_w)
    int n;             // samples
    const int *sample; // (n) their indices
    double *w_adj;     // (n_w) the slope of the summed loss is added
    double loss;       // 0 at the call: the sum over the samples is added
    int n_dropped;     // 0 at the call: samples that failed, which add neither loss nor slope
} cri_train_shard;

/// False for lack of memory.
typedef bool cri_train_loss(void *context, cri_train_shard *shard);

/// How good w is on other samples: less is better, NaN is worst. Called by one thread.
typedef double cri_train_validate(void *context, const double *w);

typedef struct cri_train_task {
    int n_w;
    int n_group;
    const cri_adam_group *group; // (n_group) numbers of no group are constant
    int n_sample;                // at least 1
    cri_train_loss *loss;
    cri_train_validate *validate; // NULL: none
    void *context;
    uint64_t problem; // a hash of everything that the loss depends on; see base/io/checkpoint.h
} cri_train_task;

typedef struct cri_train_options {
    int n_epoch;
    int batch; // samples of a step, at least 1; the last one of an epoch has what is left
    int shard; // samples of a call, at least 1
    int n_thread;
    uint64_t seed; // of the order of samples
    cri_rate rate;
    double clip;            // largest length of a batch's slope, 0: any
    int validate_every;     // epochs, at least 1; after the last one too
    bool is_best_kept;      // the result is the best by validation, else the last
    const char *checkpoint; // file, NULL: none. Goes on from it when it is there
    int save_every;         // epochs between checkpoints, at least 1
    const cri_progress *progress;
} cri_train_options;

/// 100 epochs of batches of 32 in shards of 32, one thread, rate 1e-3, validation every 10 epochs.
cri_train_options cri_train_options_default(void);

typedef enum cri_train_stop {
    CRI_TRAIN_DONE,
    CRI_TRAIN_INTERRUPTED, // by progress; the checkpoint, if there is one, is written
    CRI_TRAIN_UNSAVED,     // the checkpoint could not be written; err says why
    CRI_TRAIN_DIVERGED,    // a loss or slope that is not finite, or only samples that fail; err
} cri_train_stop;

typedef struct cri_train_result {
    cri_train_stop stop;
    int n_epoch; // whole ones
    long long n_step;
    long long n_dropped; // samples, over all epochs
    double loss;         // mean over the samples of the last whole epoch, NaN: there is none
    double best;         // score, NaN: there is none
    int best_epoch;      // whole epochs before it, -1: there is none
} cri_train_result;

/// Trains w (n_w) from where it stands. history (n_epoch, 2), NULL: not wanted, gets mean loss and
/// score of each epoch, NaN where there is none. After CRI_TRAIN_DIVERGED w is the best by
/// validation, or what it was before the last whole epoch. Fails for lack of memory and for a
/// checkpoint that cannot be gone on from.
CR_MUST_CHECK cr_status cri_train(const cri_train_task *task, const cri_train_options *options,
                                  double *w, double *history, cri_train_result *out, cr_error *err);
