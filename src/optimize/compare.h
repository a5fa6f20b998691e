// SPDX-License-Identifier: MIT
//
// Every contact law on one scene: same start, same controls, same targets.
//
// The laws run side by side, a step each in turn, so that their distance is known at every time.
// Then each gradient is compared with differences, and times are taken in rounds over all laws, so
// that what disturbs the machine disturbs them alike; the least of a law's times counts.
//
// What a run's contacts were like, as far as contact laws differ over it.
//
// Laws part where something slides (the convex cone lifts it, an octagon turns its friction), where
// an impact with e > 0 has friction or neighbours (Newton and Poisson), where energy grows. These
// facts say whether that happened, how often, and when it was strongest.

#pragma once

#include "base/base.h"
#include "base/progress.h"
#include "contact/law.h"
#include "dynamics/unit.h"
#include "optimize/aim.h"

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

// more laws than there will be
enum { CRI_COMPARE_LIMIT = 16 };

/// What is compared. Everything is borrowed.
typedef struct cri_compare_def {
    const cr_model *model;
    cr_sim_options options; // but for the law and use_gradient
    cri_aim *aim;
    cri_point *point;
    const cri_selection *selection; // of the gradient
    double check_longest;           // s, for the differences of one law; 0: whatever it takes
    const cri_progress *progress;   // NULL: nobody listens
    double (*seconds)(void);        // a clock that only runs forwards; NULL: no times are taken
} cri_compare_def;

/// One law. Numbers that there are none of are NAN.
typedef struct cri_compare_row {
    const cri_law *law;
    bool has_motion;   // else reason says why not
    bool has_gradient; // likewise
    char reason[240];
    cr_step_report report;  // of all steps
    double loss;            // m^2
    double max_penetration; // m
    double energy_change;   // J, from the start to the end
    double gradient_norm;   // of the selected entries, as they are
    double gradient_error;  // largest |value - difference| of the entries that differences could
                            // judge, relative to the largest entry of either
    int n_checked;          // entries that differences looked at, spread over all
    int n_undecided;        // of these: differences were too unsure
    int n_wrong;            // of these: differences contradict
    double step_us;         // a step without gradient, us
    double gradient_us;     // the way back through a step, us
    double *target;         // (n_target, 3) where the targets' bodies were at their times, m
    cri_contact_facts facts;
} cri_compare_row;

/// Two laws.
typedef struct cri_compare_gap {
    double most; // largest distance of a body's two origins at any time, m
    double end;  // at the end, m
    double from; // s, when it first was more than rounding; NAN: never
} cri_compare_gap;

typedef struct cri_compare {
    int n_row;
    cri_compare_row row[CRI_COMPARE_LIMIT];
    cri_compare_gap gap[CRI_COMPARE_LIMIT][CRI_COMPARE_LIMIT]; // both ways the same
    double energy_scale;                                       // J, what a change is measured by
    bool is_driven;  // controls or actuators may add energy
    bool is_stopped; // told to stop: later parts are missing
} cri_compare;

/// Compares all laws of the table. A law that fails, or does not take the options, has a row that
/// says so. arena must outlive out. Fails for lack of memory alone.
CR_MUST_CHECK cr_status cri_compare_run(const cri_compare_def *def, cr_arena *arena,
                                        cri_compare *out, cr_error *err);
