// SPDX-License-Identifier: MIT
//
// What a plan may change: a selection in which a control may have a value of its own in every step.
//
//     u:NAME[*]     a sequence: one variable a step, or one for each of n_knot equal pieces of the
//                   run, over which the control is held
//
// All other items are those of cri_selection. A sequence takes part in no tie.

#pragma once

#include "base/base.h"
#include "optimize/domain.h"
#include "optimize/select.h"

/// Resolves text for a run of n_step steps. n_knot 0: a value every step. Variables of a sequence
/// are named u:NAME[STEP], or u:NAME[FIRST:LAST]. On failure *out is NULL.
CR_MUST_CHECK cr_status cri_controls_create(const cr_model *model, const char *text, int n_step,
                                            int n_knot, cri_selection **out, cr_error *err);

/// domain (n_variable): those of the parameters, and the control ranges of the actuators.
void cri_controls_domain(const cri_selection *selection, const cr_model *model, cri_domain *domain);

/// Narrows the domains of what NAME=LOW:HIGH names; either limit may be left out. A name without a
/// step, or with [*], means all steps. Refuses names that are not in the selection.
CR_MUST_CHECK cr_status cri_controls_bound(const cri_selection *selection, const char *text,
                                           cri_domain *domain, cr_error *err);

/// weight (n_variable): the seconds, summed over its places, for which a variable is a control; 0
/// for all others. dt (n_dt) as in cr_rollout.
void cri_controls_seconds(const cri_selection *selection, int n_step, int n_dt, const double *dt,
                          double *weight);
