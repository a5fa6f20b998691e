// SPDX-License-Identifier: MIT
//
// Losses of the iterations of a fit.

#pragma once

/// Losses of iterations that are kept: when there are more, every second one, every fourth, ...
#define CRI_HISTORY_LIMIT 512

/// sqrt(loss / residuals) after each iteration, of the samples that its stage compared; during a
/// restart the best so far.
typedef struct cri_fit_history {
    int n;
    int every;      // iterations from one value to the next
    long long last; // iteration that was told last
    double value[CRI_HISTORY_LIMIT];
} cri_fit_history;

/// Keeps value for iteration i, counted from 1; one that does not come after the last is left out.
/// every is 1 in a new history, all else zero.
void cri_history_keep(cri_fit_history *history, long long i, double value);
