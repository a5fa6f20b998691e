// SPDX-License-Identifier: MIT
//
// Options of a simulator: defaults, and what is wrong with a choice.

#include "contact/augmented.h"
#include "model/ground_nets.h"
#include "model/system.h"
#include "sim/sim.h"
#include "solvers/powell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

cr_sim_options cr_sim_options_default(const cr_model *model) {
    CR_ASSERT(model);
    return (cr_sim_options){
        // NULL: that of the law
        .stepper = model->stepper[0] ? model->stepper : NULL,
        .law = model->law[0] ? model->law : "ncp",
        .eps_gap = 1e-9,
        // a hop at this speed is 5e-10 m high, within eps_gap
        .eps_speed = 1e-4,
        .eps_time = 1e-9,
        .event_cap = 32,
        .use_gradient = true,
    };
}

// appends one more name to a list in a text of n_byte
static void list_name(char *text, size_t n_byte, const char *name) {
    size_t used = strlen(text);
    snprintf(text + used, n_byte - used, "%s%s", used > 0 ? ", " : "", name);
}

// "no KIND is named WORD; there are ...", with the place when the scene file asked for it
static cr_status fail_choice(const char *kind, const char *word, cri_place place, const char *names,
                             cr_error *err) {
    word = word ? word : "(null)";
    if (place.line > 0) {
        return cri_fail(err, CR_ERR_SYNTAX, place.line,
                        "%.80s:%d: no %s is named %.40s; there are %s", place.file, place.line,
                        kind, word, names);
    }
    return cri_fail(err, CR_ERR_ARGUMENT, 0, "no %s is named %.40s; there are %s", kind, word,
                    names);
}

static cr_status check_smoothing(const cr_sim_options *o, cr_error *err) {
    char names[120] = "";
    if (!(o->smoothing >= 0.0 && isfinite(o->smoothing))) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "smoothing is %g; give 0 for the exact gradient, or a positive number",
                        o->smoothing);
    }
    if (o->smoothing == 0.0 || cri_law_find_any(o->law)->n_byte_smooth) {
        return CR_OK;
    }
    for (int i = 0; cri_law_at(i); i++) {
        if (cri_law_at(i)->n_byte_smooth) {
            list_name(names, sizeof names, cri_law_at(i)->name);
        }
    }
    return cri_fail(err, CR_ERR_ARGUMENT, 0,
                    "the contact law %.40s has no smoothed gradient; set smoothing to 0, or choose "
                    "a law that has one: %s",
                    o->law, names);
}

// a system has one stepper and laws of its own
static cr_status check_system(const cr_model *m, const cr_sim_options *o, cr_error *err) {
    char names[120] = "";
    if (!o->stepper || strcmp(o->stepper, m->system_kind->name) != 0) {
        return fail_choice("stepper of this system", o->stepper, (cri_place){0},
                           m->system_kind->name, err);
    }
    if (!o->law || cri_system_find_law(m->system_kind, o->law) < 0) {
        for (int i = 0; m->system_kind->law[i]; i++) {
            list_name(names, sizeof names, m->system_kind->law[i]);
        }
        return fail_choice("contact law of this system", o->law, (cri_place){0}, names, err);
    }
    if (o->smoothing != 0.0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "a system such as %.40s has no smoothed gradient; set smoothing to 0",
                        m->system_kind->name);
    }
    return CR_OK;
}

static cr_status check_law(const cr_model *m, const cr_sim_options *o, cr_error *err) {
    char names[200] = "";
    if (o->law && cri_law_find_any(o->law)) {
        return CR_OK;
    }
    for (int i = 0; cri_law_at(i); i++) {
        list_name(names, sizeof names, cri_law_at(i)->name);
    }
    for (int i = 0; cri_law_stepped_at(i); i++) {
        list_name(names, sizeof names, cri_law_stepped_at(i)->name);
    }
    for (int i = 0; cri_law_learned_at(i); i++) {
        list_name(names, sizeof names, cri_law_learned_at(i)->name);
    }
    cri_place place = o->law == m->law ? m->law_place : (cri_place){0};
    return fail_choice("contact law", o->law, place, names, err);
}

static cr_status check_choice(const cr_model *m, const cr_sim_options *o, cr_error *err) {
    char names[120] = "";
    if (o->stepper && !cri_stepper_find(o->stepper)) {
        for (int i = 0; cri_stepper_at(i); i++) {
            list_name(names, sizeof names, cri_stepper_at(i)->name);
        }
        cri_place place = o->stepper == m->stepper ? m->stepper_place : (cri_place){0};
        return fail_choice("stepper", o->stepper, place, names, err);
    }
    CR_TRY(check_law(m, o, err));
    const cri_law *law = cri_law_find_any(o->law);
    if (!cri_stepper_of(o->law, o->stepper)) {
        const char *own = law->stepper;
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the stepper %.40s does not have the contact law %.40s; %s%s", o->stepper,
                        o->law, own ? "leave the stepper out, or take " : "take located or end",
                        own ? own : "");
    }
    if (m->mech.omits_gyro && cri_stepper_of(o->law, o->stepper) == &cri_stepper_implicit) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "the stepper implicit has no carom:gyroscopic off: its energy is that of "
                        "whole bodies; remove the entry, or take another contact law");
    }
    if (law->needs_nets && !m->nets) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the contact law %.40s needs trained nets; train them with carom learn "
                        "augmented, and name their file in the scene's carom:weights",
                        o->law);
    }
    if (law->needs_nets && m->nets->is_regressed != (law == &cri_law_regressed)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the weights of body %.40s are those of the law %s, not of %.40s; train "
                        "them with carom learn augmented --model %.40s",
                        m->nets->body, m->nets->is_regressed ? "regressed" : "augmented", o->law,
                        o->law);
    }
    if (law->needs_nets && m->nets->has_applied &&
        (!o->stepper || strcmp(o->stepper, "end") != 0)) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "the nets of body %.40s take the forces of a step, which the stepper end "
                        "alone has in one piece; take --stepper end",
                        m->nets->body);
    }
    if (law->needs_nets && m->nets->is_linked && !cri_powell_exists()) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "body %.40s hangs on a joint, whose force under the law %.40s needs "
                        "cminpack; install libcminpack-dev and build again, or choose another law",
                        m->nets->body, o->law);
    }
    return check_smoothing(o, err);
}

static const char *const outside_word[] = {"net", "analytic", "stop"};

cri_outside cri_sim_outside(const char *word) {
    for (int i = 0; word && i < 3; i++) {
        if (strcmp(word, outside_word[i]) == 0) {
            return (cri_outside)i;
        }
    }
    return CRI_OUTSIDE_NET;
}

static cr_status check_outside(const cr_sim_options *o, cr_error *err) {
    const char *word = o->outside;
    if (word && strcmp(word, outside_word[cri_sim_outside(word)]) != 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "outside is %.40s; expected net, analytic or stop",
                        word);
    }
    return CR_OK;
}

static cr_status check_surrogate(const cr_model *m, const cr_sim_options *o, cr_error *err) {
    if (!o->surrogate) {
        return CR_OK;
    }
    if (strcmp(o->surrogate, "longrange") != 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "no surrogate is named %.40s; there is longrange",
                        o->surrogate);
    }
    if (m->system_kind || cri_law_find_any(o->law)->is_energy) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the law %.40s has no surrogate gradients: they are for laws of impulses",
                        o->law);
    }
    return CR_OK;
}

cr_status cri_sim_check_options(const cr_model *m, const cr_sim_options *o, cr_error *err) {
    CR_ASSERT(m && o);
    if (!(o->eps_gap > 0.0) || !(o->eps_speed > 0.0) || !(o->eps_time > 0.0) || o->event_cap < 1 ||
        o->checkpoint_every < 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "eps_gap, eps_speed, eps_time and event_cap must be positive, "
                        "checkpoint_every not negative");
    }
    CR_TRY(check_outside(o, err));
    CR_TRY(m->system_kind ? check_system(m, o, err) : check_choice(m, o, err));
    return check_surrogate(m, o, err);
}
