// SPDX-License-Identifier: MIT
//
// When the next impact of a sub-step happens.

#pragma once

#include "sim/motion.h"

/// What does not depend on the state: pairs of few geoms, bounding balls. False for lack of memory.
CR_MUST_CHECK bool cri_scan_prepare(cr_sim *sim);

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

/// The touch of a general pair that comes next at a state while those with the ids skip (n_skip)
/// rest; false: none is near.
bool cri_event_next(const cr_sim *sim, const cri_near *near, const cri_state *state, int n_skip,
                    const int *skip, cri_narrow_touch *out);

/// First impact in (0, T] along the motion, over all features but the resting ones. Fills the
/// scan's roots and returns the time of the earliest, infinite when there is none; ties go to the
/// lower feature, in *feature. *has_memory false: no memory for a solve.
double cri_event_search(cr_sim *sim, cri_motion *motion, double T, int n_rest, const int *rest,
                        int *feature, bool *has_memory);

/// The longest of T, T/2, ... T/32 at whose end nothing but the resting touches of units that have
/// had their share of impacts overlaps by more than 1e-4 of the smaller geom's radius, or by a
/// tenth more than at the start; T/32 when there is none.
double cri_event_cut(cr_sim *sim, cri_motion *motion, double T, int n_rest, const int *rest,
                     bool *has_memory);
