// SPDX-License-Identifier: MIT
//
// Many recordings as one least-squares problem: a block for each, with its initial values as
// unknowns of its own, and a last block for what is known beforehand of the shared unknowns.
//
//     block     weighted residuals of the samples, then (z - mean)/sigma for priors of own unknowns
//     loss      sum over samples of rho(r), rho = r^2 unless a robust loss is chosen, and of priors
//
// Blocks are simulated on threads, each with a sim of its own; sums run in the order of the blocks,
// so that bits do not depend on the number of threads.

#pragma once

#include "optimize/least_squares.h"
#include "optimize/replay.h"
#include "optimize/robust.h"

/// What is known of a variable beforehand.
typedef struct cri_prior {
    int variable; // of the selection
    double mean;
    double sigma; // above 0
} cri_prior;

typedef struct cri_ensemble {
    const cri_unknowns *unknowns;
    int n_replay;
    cri_replay *replay; // (n_replay)
    int *n_limit;       // (n_replay) samples that may be compared
    int n_longest;      // the largest n_limit
    int n_sim;
    cr_sim **sim; // (n_sim) with gradients, one a thread
    int n_prior;
    const cri_prior *prior;
    int n_shared_prior;
    cri_robust robust;
    cri_arrow arrow;   // of the samples that are compared now
    int n_data;        // residuals of samples among arrow.m
    bool *is_idle;     // (n_block) left out of losses without Jacobian; none at first
    double *loss;      // (n_block)
    cr_status *status; // (n_block)
    cr_error *error;   // (n_block)
} cri_ensemble;

/// What an ensemble is made of. Everything is borrowed.
typedef struct cri_ensemble_def {
    const cr_model *model;
    const cri_unknowns *unknowns;
    int n_recording;
    const cri_recording *recording;
    double dt; // longest step
    int n_sim;
    cr_sim **sim;
    int n_prior;
    const cri_prior *prior;
} cri_ensemble_def;

/// Makes the replays, all samples compared. Their points are zero and for the caller to fill.
CR_MUST_CHECK cr_status cri_ensemble_push(const cri_ensemble_def *def, cr_arena *arena,
                                          cri_ensemble *out, cr_error *err);

/// Compares the first n of the longest recording's samples, and of every other one the same part.
void cri_ensemble_take(cri_ensemble *ensemble, int n);

/// Threads that this machine and its settings (OMP_NUM_THREADS) offer, at most so many.
int cri_ensemble_threads(int most);

/// A cri_residuals with a cri_ensemble as context.
CR_MUST_CHECK cr_status cri_ensemble_residuals(void *ensemble, const double *z, double *r,
                                               double *J, double *loss, cr_error *err);

/// The values of one recording within z.
cri_values cri_ensemble_values(const cri_ensemble *ensemble, const double *z, int replay);

/// Noise and spread of all recordings, rms (recording.h).
double cri_ensemble_noise(const cri_ensemble *ensemble);
double cri_ensemble_spread(const cri_ensemble *ensemble);
