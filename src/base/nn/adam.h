// SPDX-License-Identifier: MIT
//
// Adam and AdamW over groups of numbers, with bounds and schedules of the rate.

#pragma once

#include <stdint.h>

#include "base/base.h"

/// Numbers w[first] to w[first + n - 1] and how they are trained.
typedef struct cri_adam_group {
    int first, n;
    double rate;  // factor of the common rate
    double l2;    // l2 |w|^2 is added to the loss: its slope 2 l2 w goes through Adam
    double decay; // AdamW's: w -= rate decay w beside Adam's step
    double lower; // bounds of every number, by which a slope that points outside counts as 0;
    double upper; // both 0: none
    double pull;  // w -= rate pull (w - home), at most rate pull, times that of adam: out of where
    double home;  // there is no slope
} cri_adam_group;

typedef enum cri_rate_kind {
    CRI_RATE_CONSTANT,
    CRI_RATE_LINEAR, // constant, then linearly to 0
} cri_rate_kind;

typedef struct cri_rate {
    cri_rate_kind kind;
    double rate;
    double begin; // part of the run after which a linear one falls, in [0, 1)
} cri_rate;

/// The rate of step number done of n_step.
double cri_rate_at(const cri_rate *rate, long long done, long long n_step);

/// State over n numbers; what a checkpoint keeps.
typedef struct cri_adam {
    double beta1, beta2, eps; // 0.9, 0.999, 1e-8
    int n;
    int64_t n_step;
    double pull;           // of all groups towards their homes, a factor; cri_adam_of: 0
    double *mean, *square; // (n) the caller's, zero at the start
} cri_adam;

/// mean and square (n) are zeroed.
cri_adam cri_adam_of(int n, double *mean, double *square);

/// One step of w (n) along the slope w_adj (n), which is left with its penalties and projections.
/// Numbers of no group stay as they are.
void cri_adam_step(cri_adam *adam, double rate, int n_group, const cri_adam_group *group,
                   double *w_adj, double *w);
