// SPDX-License-Identifier: MIT
//
// What a run's contacts were like, as far as contact laws differ over it.
//
// Laws part where something slides (the convex cone lifts it, an octagon turns its friction), where
// an impact with e > 0 has friction or neighbours (Newton and Poisson), where energy grows. These
// facts say whether that happened, how often, and when it was strongest.

#pragma once

#include "base/base.h"
#include "dynamics/unit.h"

/// A number with its contact. geom[0] -1: it never was.
typedef struct cri_contact_moment {
    double value;
    double time; // s after the start of the run
    int geom[2];
} cri_contact_moment;

typedef struct cri_contact_facts {
    int n_step;
    int n_touched;  // steps with a contact
    int n_contact;  // contacts, summed over the steps
    int n_rough;    // on which friction acted
    int n_sliding;  // that slid in some phase
    int n_impact;   // impacts
    int n_bouncing; // with e > 0
    int n_parting;  // and with a tangential impulse, or others on the same unit at once: where
                    // Newton's and Poisson's restitution may differ
    cri_contact_moment first;    // contact; value: its gap, m
    cri_contact_moment together; // most contacts of one impact on one unit; value: how many
    cri_contact_moment lift;     // largest friction times slip speed of what slides, m/s
    cri_contact_moment turn;     // largest angle of friction to a corner of the octagon, rad; only
                                 // of pairs with one coefficient
    cri_contact_moment gain;     // largest rise of the energy in a step with an impact, J
} cri_contact_facts;

/// Facts of no step.
cri_contact_facts cri_contact_facts_none(void);

/// Adds the last step of sim, which began at time s and ended in state; energy_rise of that step in
/// J.
void cri_contact_facts_add(cri_contact_facts *facts, cr_sim *sim, const cri_state *state,
                           double time, double energy_rise);
