// SPDX-License-Identifier: MIT
//
// What a plan may change: a selection in which a control may have a value of its own in every step.
//
//     u:NAME[*]     a sequence: one variable a step, or one for each of n_knot equal pieces of the
//                   run, over which the control is held
//
// All other items are those of cri_selection. A sequence takes part in no tie.
//
// Sequences of controls as sums of sines: what a gait is made of.
//
//     u(t) = sum over k of a_k sin(2 pi f_k t + phi_k)
//
// K sines a sequence, three variables each: amplitude in the unit of the control, frequency in Hz,
// phase in rad. They start with amplitude zero, so that nothing moves, at 1/2, 1, 3/2, ... Hz.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/domain.h"
#include "optimize/select.h"

/// Which sequences become waves. Arrays live in the arena that made it.
typedef struct cri_waves {
    int n_sequence;
    int n_step;         // values of a sequence
    int n_sine;         // K
    int n;              // variables, 3 K n_sequence: a, f, phi of the first sine of the first, ...
    const double *time; // (n_step) s, where each step begins
    const char **name;  // (n) such as "u:hip sine 2 frequency"
} cri_waves;

/// For a selection whose variables are sequences with a value every step, and nothing else; dt
/// (n_dt) as in cr_rollout.
CR_MUST_CHECK cr_status cri_waves_create(const cri_selection *selection, int n_step, int n_dt,
                                         const double *dt, int n_sine, cr_arena *arena,
                                         cri_waves *out, cr_error *err);

/// Domains (n) from those of the sequences' values (n_sequence n_step), and the start z (n).
void cri_waves_begin(const cri_waves *waves, const cri_domain *of_values, cri_domain *domain,
                     double *z);

/// The values (n_sequence n_step) of the sequences for z (n).
void cri_waves_write(const cri_waves *waves, const double *z, double *values);

/// Adjoint: adds to z_adj (n).
void cri_waves_write_vjp(const cri_waves *waves, const double *z, const double *values_adj,
                         double *z_adj);

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
