// SPDX-License-Identifier: MIT
//
// Which touches make up an impact, and when exactly it happens.

#pragma once

#include "sim/event.h"

/// An impact in the making. Lists of features are in the scan: hit and group; the rates of the
/// hits' gaps are in its roots.
typedef struct cri_impact {
    double t; // s after the start of the sub-step
    int n_hit;
    int n_group;
    double G_rate;
} cri_impact;

/// Resting features at the start of a motion, into scan->rest; returns how many.
int cri_impact_resting(cr_sim *sim, const cri_motion *motion);

/// Features that touch and approach at the start: the island of the first, into scan->hit; 0 when
/// there are none.
int cri_impact_now(cr_sim *sim, const cri_motion *motion);

/// Hits of a located event: within eps_time of t, in the island of first; into scan->hit.
int cri_impact_hits(cr_sim *sim, double t, int first);

/// The feature that had the touch scan->now[f] at the start; -1: none had.
int cri_impact_start(const cr_sim *sim, int f);

/// From hits and a first guess of t to the whole impact: leaves the state in sim->y, its rate in
/// sim->y_rate, poses in sim->work, touches in scan->now. False for lack of memory.
CR_MUST_CHECK bool cri_impact_locate(cr_sim *sim, cri_motion *motion, double T, bool is_now,
                                     cri_impact *impact);
