// SPDX-License-Identifier: MIT
//
// What may touch during a sub-step: candidates, their touches and rates.

#pragma once

#include "sim/motion.h"

/// What does not depend on the state: pairs of few geoms, bounding balls. False for lack of memory.
CR_MUST_CHECK bool cri_scan_prepare(cr_sim *sim);

/// Finds everything that may touch within T from the start of the motion, whose poses are set: all
/// of sim->scan but touches, gaps and speeds. False for lack of memory.
CR_MUST_CHECK bool cri_scan_find(cr_sim *sim, const cri_motion *motion, double T);

/// The same with touches, gaps and speeds at the start.
CR_MUST_CHECK bool cri_scan_start(cr_sim *sim, const cri_motion *motion, double T);

/// What touches at a state, into scan->now: with candidates for this state alone.
CR_MUST_CHECK bool cri_scan_here(cr_sim *sim, const cri_motion *motion, const cri_state *state);

/// Touches of all features at another state, into scan->now.
void cri_scan_now(cr_sim *sim, const cri_state *state);

/// The two geoms that overlap most.
typedef struct cri_overlap {
    int geom[2];
    double depth; // m, 0: no overlap, and then no geoms
    int n_pair;   // pairs that overlap by more than the least depth
} cri_overlap;

/// Looks for overlaps deeper than least (m) at the state x (n_x), by the parameters that are set.
/// The last step or rollout stays valid.
CR_MUST_CHECK cr_status cri_scan_overlap(cr_sim *sim, const double *x, double least,
                                         cri_overlap *out, cr_error *err);

/// The near of a feature, and its slot.
static inline const cri_near *cri_scan_near(const cri_scan *scan, int feature) {
    return &scan->near[scan->near_of[feature]];
}

static inline int cri_scan_slot(const cri_scan *scan, int feature) {
    return feature - scan->near[scan->near_of[feature]].first;
}
