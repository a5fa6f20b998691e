// SPDX-License-Identifier: MIT
//
// How long work tells its caller where it stands, and asks whether to go on.
//
// The library never prints and catches no signal: what is shown, and what makes a run stop, is the
// caller's. Work that is told to stop keeps its best result and says that it was interrupted.

#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/// Where the work stands.
typedef struct cri_progress_state {
    const char *what; // "iteration", "recording": what done counts
    long long done;
    long long total; // 0: not known
    double loss;     // the best so far, NaN: there is none
} cri_progress_state;

/// Returns false to stop. Called between iterations, from one thread at a time.
typedef bool cri_progress_tick(void *context, const cri_progress_state *state);

typedef struct cri_progress {
    cri_progress_tick *tick; // NULL: nobody listens
    void *context;
} cri_progress;

/// Tells progress, which may be NULL. Returns false when the work should stop.
static inline bool cri_progress_tell(const cri_progress *progress,
                                     const cri_progress_state *state) {
    return !progress || !progress->tick || progress->tick(progress->context, state);
}
