// SPDX-License-Identifier: MIT
//
// Sentences for what recordings leave open.
//
// A number without effect is told with its reason where contacts show it: a friction whose geoms
// never touch, or only stick; a restitution without an impact; a mass in a motion that gravity
// alone makes; an inertia that nothing turns. The contacts are those of the motions at the result.

#include "optimize/fit_parts.h"

#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// what a pair of geoms did
enum { DID_TOUCH = 1, DID_IMPACT = 2, DID_SLIDE = 4 };

typedef struct deeds {
    int n_geom;
    unsigned char *pair; // (n_geom, n_geom) bits, both orders
} deeds;

static void watch(void *context, cr_sim *sim) {
    deeds *d = context;
    int n = 0;
    const cr_contact *contact = cr_sim_contacts(sim, &n);
    for (int i = 0; i < n; i++) {
        int a = contact[i].geom[0], b = contact[i].geom[1];
        if (a < 0 || b < 0 || a >= d->n_geom || b >= d->n_geom) {
            continue;
        }
        unsigned char bits = (unsigned char)(DID_TOUCH | (contact[i].is_impact ? DID_IMPACT : 0) |
                                             (contact[i].is_sliding ? DID_SLIDE : 0));
        d->pair[(size_t)a * (size_t)d->n_geom + (size_t)b] |= bits;
        d->pair[(size_t)b * (size_t)d->n_geom + (size_t)a] |= bits;
    }
}

/// The geom of that name, -1: none.
static int find_geom(const cr_model *model, const char *name, size_t n) {
    for (int g = 0; g < model->sizes.n_geom; g++) {
        const char *own = model->geom_name[g];
        if (own && strlen(own) == n && strncmp(own, name, n) == 0) {
            return g;
        }
    }
    return -1;
}

/// What the geoms before the slash of a name did, of a pair or of one with all others; -1: no
/// geoms.
static int deeds_of(const cr_model *model, const deeds *d, const char *name) {
    size_t n = strcspn(name, "/");
    size_t first = strcspn(name, ":");
    if (first < n) {
        int a = find_geom(model, name, first);
        int b = find_geom(model, name + first + 1, n - first - 1);
        return a < 0 || b < 0 ? -1 : d->pair[(size_t)a * (size_t)d->n_geom + (size_t)b];
    }
    int a = find_geom(model, name, n);
    int bits = 0;
    for (int b = 0; a >= 0 && b < d->n_geom; b++) {
        bits |= d->pair[(size_t)a * (size_t)d->n_geom + (size_t)b];
    }
    return a < 0 ? -1 : bits;
}

/// What the geoms of a body did with others.
static int deeds_of_body(const cr_model *model, const deeds *d, const char *name) {
    size_t n = strcspn(name, "/");
    int bits = 0;
    for (int g = 0; g < d->n_geom; g++) {
        int body = model->geom[g].body;
        const char *own = body >= 0 ? model->body_name[body] : NULL;
        for (int b = 0; own && strlen(own) == n && strncmp(own, name, n) == 0 && b < d->n_geom;
             b++) {
            bits |= d->pair[(size_t)g * (size_t)d->n_geom + (size_t)b];
        }
    }
    return bits;
}

static bool is_about(const char *name, const char *what) {
    const char *slash = strrchr(name, '/');
    return slash && strncmp(slash + 1, what, strlen(what)) == 0;
}

/// Why parameter i has no effect, in words.
static const char *reason(const cr_model *model, const deeds *d, int i) {
    const char *name = cr_model_name(model, CR_VECTOR_P, i);
    if (is_about(name, "friction")) {
        int bits = deeds_of(model, d, name);
        if (bits == 0) {
            return "there is no contact that it is about";
        }
        if (bits > 0 && !(bits & DID_SLIDE)) {
            return "the contact sticks all the time, and any larger friction does the same";
        }
    } else if (is_about(name, "restitution")) {
        int bits = deeds_of(model, d, name);
        if (bits >= 0 && !(bits & DID_IMPACT)) {
            return "there is no impact that it is about";
        }
    } else if (is_about(name, "mass")) {
        return deeds_of_body(model, d, name) == 0
                   ? "it flies freely, where every mass moves the same"
                   : "nothing in this motion tells a heavy body from a light one";
    } else if (is_about(name, "inertia")) {
        return deeds_of_body(model, d, name) == 0
                   ? "no contact turns it"
                   : "no contact turns it: a head-on bounce does not";
    }
    return "changing it moves no sample";
}

// ---- sentences ---------------------------------------------------------------------------------

static const char *name_of_unknown(const cri_fit_work *w, int unknown) {
    const cri_unknowns *unknowns = &w->unknowns;
    const cri_variable *variable = unknowns->selection->variable;
    if (unknown < 0) {
        return "others";
    }
    if (unknown < unknowns->n_shared) {
        return variable[unknowns->shared[unknown]].name;
    }
    int i = (unknown - unknowns->n_shared) % unknowns->n_own;
    int j = unknowns->own[i];
    for (int t = 0; j < 0 && t < unknowns->n_turn; t++) {
        const cri_turn *turn = &unknowns->turn[t];
        j = i >= turn->own && i < turn->own + 3 ? turn->variable[0] : j;
    }
    return variable[j].name;
}

/// The unknown behind an entry that is open.
static int open_unknown(const cri_fit_work *w, const cri_verdict *verdict,
                        const cri_fit_entry *entry) {
    const cri_unknowns *unknowns = &w->unknowns;
    for (int i = 0; i < unknowns->n_shared; i++) {
        if (unknowns->shared[i] == entry->variable) {
            return i;
        }
    }
    int first = w->ensemble.arrow.block[entry->recording].z;
    int plain = cri_unknowns_find(unknowns, entry->variable);
    if (plain >= 0) {
        return first + plain;
    }
    int own = unknowns->turn[cri_unknowns_find_turn(unknowns, entry->variable)].own;
    for (int a = 0; a < 2; a++) {
        if (verdict->identity[first + own + a].is_identifiable) {
            own++;
        }
    }
    return first + own;
}

static void explain_open(const cri_fit_work *w, const cri_verdict *verdict, const deeds *d,
                         cri_fit_entry *entry) {
    const cri_variable_place *place = w->unknowns.selection->variable[entry->variable].place;
    const cri_identity *identity = &verdict->identity[open_unknown(w, verdict, entry)];
    if (identity->is_null) {
        bool is_parameter = place->vector == CR_VECTOR_P;
        snprintf(entry->why, sizeof entry->why,
                 "the data do not depend on %.80s near the result: %s", entry->name,
                 is_parameter ? reason(w->problem->model, d, place->index)
                              : "changing it moves no sample");
        return;
    }
    snprintf(entry->why, sizeof entry->why,
             "the data leave %.60s open: it can change together with %.60s without moving a sample",
             entry->name, name_of_unknown(w, identity->partner));
}

/// A positive number whose error is larger than itself.
static bool is_weak(const cri_fit_work *w, const cri_fit_entry *entry) {
    cri_domain domain =
        cri_selection_domain(w->unknowns.selection, w->problem->model, entry->variable);
    return entry->recording < 0 && domain.lower == 0.0 && entry->value > 0.0 &&
           entry->deviation > entry->value;
}

cr_status cri_fit_explain(const cri_fit_work *w, const cri_verdict *verdict, cri_fit *fit,
                          cr_error *err) {
    const cri_ensemble *e = &w->ensemble;
    size_t n_geom = (size_t)w->problem->model->sizes.n_geom;
    deeds d = {.n_geom = (int)n_geom, .pair = CR_PUSH(w->arena, unsigned char, n_geom *n_geom)};
    if (!d.pair) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the contacts of %zu geoms", n_geom);
    }
    bool is_open = false;
    for (int i = 0; i < fit->n_entry; i++) {
        is_open = is_open || !fit->entry[i].is_identifiable;
    }
    for (int k = 0; k < e->n_replay && is_open; k++) {
        cri_values values = cri_ensemble_values(e, w->horizon.z, k);
        CR_TRY(cri_replay_look(&e->replay[k], w->sim[0], &values, watch, &d, err));
    }
    for (int i = 0; i < fit->n_entry; i++) {
        cri_fit_entry *entry = &fit->entry[i];
        if (!entry->is_identifiable) {
            explain_open(w, verdict, &d, entry);
        } else if (is_weak(w, entry)) {
            snprintf(entry->why, sizeof entry->why,
                     "the data hardly tell %.80s: its standard error is larger than itself",
                     entry->name);
        }
    }
    return CR_OK;
}
