// SPDX-License-Identifier: MIT
//
// Where theory says that contact laws differ, or that they cannot. Theory is that of
// docs/laws/README.md:
//
//   lift         the convex cone gives what slides v_n = mu |v_t|, Coulomb's law does not
//   octagon      friction acts along the corner nearest to the slip, at an angle a <= 22.5 degrees:
//                along the slip it is weaker by 1 - cos a
//   restitution  Newton's -e b_n and Poisson's e f_c are the same for one contact without friction
//   softness     located steps regularise impacts that leave again, those with a jump at the end
//                everything
//   energy       Newton's restitution can add some where friction turns the slip; Poisson's was
//                never seen to, with one e

#include "optimize/differ.h"

#include "model/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// rigid laws that must agree do so to this, m: solves are good to 1e-10 and a run adds them up
#define AGREE 1e-6

// slip nearer to a corner than this is along it, rad
#define ANGLE_LEAST 1e-6

// energy grew when it did by this part of the run's: integration errors are less
#define GAIN_LEAST 1e-6

static const double degrees = 180.0 / 3.14159265358979323846;

const char *cri_differ_word(cri_differ_kind kind) {
    static const char *const words[] = {"no contact", "frictionless", "stick",       "lift",
                                        "octagon",    "corner",       "restitution", "soft",
                                        "energy",     "averaged",     "end",         "own step"};
    return words[kind];
}

// ---- laws --------------------------------------------------------------------------------------

/// Properties of laws, as bits.
enum {
    POISSON = 1 << 0,
    LIFTING = 1 << 1,
    OCTAGON = 1 << 2,
    SOFT = 1 << 3,
    OWN = 1 << 4, // a step of its own, or nets: theory does not speak of it
};

static bool is_own(const cri_law *law) {
    return law->stepper || law->needs_nets;
}

static int properties(const cri_law *law) {
    return (law->is_poisson ? POISSON : 0) | (law->is_lifting ? LIFTING : 0) |
           (law->is_octagon ? OCTAGON : 0) | (law->is_regularised ? SOFT : 0) |
           (is_own(law) ? OWN : 0);
}

/// Two rows with motions that differ in one property alone, [1] having it.
static bool find_pair(const cri_compare *c, int which, int pair[2]) {
    for (int i = 0; i < c->n_row; i++) {
        for (int j = 0; j < c->n_row; j++) {
            int a = properties(c->row[i].law), b = properties(c->row[j].law);
            if (c->row[i].has_motion && c->row[j].has_motion && !(a & which) && (a | which) == b) {
                pair[0] = i;
                pair[1] = j;
                return true;
            }
        }
    }
    return false;
}

/// Names of the impulse laws with motions whose property is as asked, "a, b and c".
static void list_laws(const cri_compare *c, int which, bool has_it, char names[160]) {
    int n = 0, at[CRI_COMPARE_LIMIT];
    for (int i = 0; i < c->n_row; i++) {
        bool has = (properties(c->row[i].law) & which) != 0;
        if (c->row[i].has_motion && has == has_it && !is_own(c->row[i].law)) {
            at[n++] = i;
        }
    }
    size_t used = 0;
    names[0] = '\0';
    for (int k = 0; k < n && used < 140; k++) {
        const char *between = k == 0 ? "" : k == n - 1 ? " and " : ", ";
        used +=
            (size_t)snprintf(names + used, 160 - used, "%s%.20s", between, c->row[at[k]].law->name);
    }
}

static int count_laws(const cri_compare *c, int which) {
    int n = 0;
    for (int i = 0; i < c->n_row; i++) {
        n += c->row[i].has_motion && !is_own(c->row[i].law) && (properties(c->row[i].law) & which);
    }
    return n;
}

static bool is_rigid(const cri_law *law) {
    return !law->is_regularised && !is_own(law);
}

/// Largest distance of two rigid laws, m; *n_rigid of them ran.
static double rigid_gap(const cri_compare *c, int *n_rigid) {
    double most = 0.0;
    *n_rigid = 0;
    for (int i = 0; i < c->n_row; i++) {
        if (!c->row[i].has_motion || !is_rigid(c->row[i].law)) {
            continue;
        }
        (*n_rigid)++;
        for (int j = 0; j < i; j++) {
            if (c->row[j].has_motion && is_rigid(c->row[j].law)) {
                most = fmax(most, c->gap[i][j].most);
            }
        }
    }
    return most;
}

/// Facts of the first law that ran and has none of these properties, else of the first that ran;
/// NULL: none did.
static const cri_compare_row *reference(const cri_compare *c, int without) {
    const cri_compare_row *first = NULL;
    for (int i = 0; i < c->n_row; i++) {
        const cri_compare_row *row = &c->row[i];
        first = !first && row->has_motion ? row : first;
        if (row->has_motion && !(properties(row->law) & without)) {
            return row;
        }
    }
    return first;
}

// ---- words -------------------------------------------------------------------------------------

typedef struct speaker {
    const cr_model *model;
    const cri_compare *c;
    const cri_compare_row *row; // whose contacts are spoken of
    bool is_end;                // stepper
    cri_differ *out;
} speaker;

__attribute__((format(printf, 3, 4))) static void say(const speaker *s, cri_differ_kind kind,
                                                      const char *format, ...) {
    CR_ASSERT(s->out->n < CRI_DIFFER_LIMIT);
    cri_differ_sentence *sentence = &s->out->sentence[s->out->n++];
    sentence->kind = kind;
    va_list args;
    va_start(args, format);
    vsnprintf(sentence->text, sizeof sentence->text, format, args);
    va_end(args);
}

/// "floor and ball, 0.286 s"
static void put_moment(const speaker *s, const cri_contact_moment *moment, char text[160]) {
    const char *const *name = s->model->geom_name;
    snprintf(text, 160, "%.50s and %.50s, %.4g s", name[moment->geom[0]], name[moment->geom[1]],
             moment->time);
}

/// "ncp and lcp are up to 0.01 m apart, from 0.3 s on"
static void put_gap(const cri_compare *c, const int pair[2], char text[160]) {
    const cri_compare_gap *gap = &c->gap[pair[0]][pair[1]];
    const char *a = c->row[pair[0]].law->name, *b = c->row[pair[1]].law->name;
    if (isnan(gap->from)) {
        snprintf(text, 160, "%.20s and %.20s agree (%.1g m apart)", a, b, gap->most);
    } else {
        snprintf(text, 160, "%.20s and %.20s are up to %.3g m apart, from %.4g s on", a, b,
                 gap->most, gap->from);
    }
}

// ---- where they agree --------------------------------------------------------------------------

static void tell_nothing(const speaker *s) {
    double most = 0.0;
    for (int i = 0; i < s->c->n_row; i++) {
        for (int j = 0; j < i; j++) {
            bool has_own = s->c->row[i].law->stepper || s->c->row[j].law->stepper;
            most = fmax(most, has_own ? 0.0 : s->c->gap[i][j].most);
        }
    }
    say(s, CRI_DIFFER_NOTHING,
        most <= AGREE ? "Nothing touched, so the laws cannot differ here, and do not: they are at "
                        "most %.1g m apart."
                      : "Nothing touched, so the laws cannot differ here, but they are %.3g m "
                        "apart: that is a defect.",
        most);
}

static void tell_agreement(const speaker *s) {
    const cri_contact_facts *f = &s->row->facts;
    int n_rigid = 0;
    double most = rigid_gap(s->c, &n_rigid);
    if (n_rigid < 2) {
        return;
    }
    if (f->n_rough == 0 && f->together.value <= 1.0) {
        say(s, CRI_DIFFER_SMOOTH,
            most <= AGREE ? "Contacts came one at a time, and no friction acted. There the rigid "
                            "laws must agree, and do: they are at most %.1g m apart."
                          : "Contacts came one at a time, and no friction acted. There the rigid "
                            "laws must agree, but they are %.3g m apart: impacts in another order, "
                            "or a defect.",
            most);
    } else if (f->n_sliding == 0 && f->n_bouncing == 0) {
        say(s, CRI_DIFFER_STICK,
            "What touched stuck, and nothing bounced: the rigid laws differ in neither. They are "
            "at most %.1g m apart.",
            most);
    }
}

// ---- where they differ -------------------------------------------------------------------------

static void tell_lift(const speaker *s) {
    int pair[2];
    if (!find_pair(s->c, LIFTING, pair) || s->c->row[pair[0]].facts.n_sliding == 0) {
        return;
    }
    const cri_contact_facts *f = &s->c->row[pair[0]].facts;
    char names[160], when[160], gap[160];
    list_laws(s->c, LIFTING, true, names);
    put_moment(s, &f->lift, when);
    put_gap(s->c, pair, gap);
    const cri_compare_row *a = &s->c->row[pair[0]], *b = &s->c->row[pair[1]];
    const char *verb = count_laws(s->c, LIFTING) == 1 ? "lifts" : "lift";
    if (isnan(s->c->gap[pair[0]][pair[1]].from)) {
        say(s, CRI_DIFFER_LIFT,
            "%s %s what slides by v_n = mu |v_t|, but what slid here (%s) was leaving faster than "
            "that, or had not moved on: %s.",
            names, verb, when, gap);
        return;
    }
    say(s, CRI_DIFFER_LIFT,
        "%s %s what slides by v_n = mu |v_t|, here up to %.2g m/s (%s). %s touched in %d of %d "
        "steps, %s in %d; %s.",
        names, verb, f->lift.value, when, b->law->name, b->facts.n_touched, b->facts.n_step,
        a->law->name, a->facts.n_touched, gap);
}

static void tell_octagon(const speaker *s) {
    int pair[2];
    if (!find_pair(s->c, OCTAGON, pair) || s->c->row[pair[0]].facts.turn.geom[0] < 0) {
        return;
    }
    const cri_contact_facts *f = &s->c->row[pair[0]].facts;
    char names[160], when[160], gap[160];
    list_laws(s->c, OCTAGON, true, names);
    put_gap(s->c, pair, gap);
    put_moment(s, &f->turn, when);
    if (f->turn.value <= ANGLE_LEAST) {
        say(s, CRI_DIFFER_CORNER, "All slip was along a corner of the octagon of %s: %s.", names,
            gap);
        return;
    }
    say(s, CRI_DIFFER_OCTAGON,
        "Friction of %s acts along corners of an octagon, here up to %.1f degrees off the slip "
        "(%s), which is %.1f %% less of it against the slip; %s.",
        names, degrees * f->turn.value, when, 100.0 * (1.0 - cos(f->turn.value)), gap);
}

static void tell_restitution(const speaker *s) {
    int pair[2];
    if (!find_pair(s->c, POISSON, pair) || s->c->row[pair[0]].facts.n_parting == 0) {
        return;
    }
    const cri_contact_facts *f = &s->c->row[pair[0]].facts;
    char newton[160], poisson[160], gap[160];
    list_laws(s->c, POISSON, false, newton);
    list_laws(s->c, POISSON, true, poisson);
    put_gap(s->c, pair, gap);
    say(s, CRI_DIFFER_RESTITUTION,
        "Newton's restitution (%s) and Poisson's (%s) may part where e > 0 meets friction or "
        "several contacts at once, in %d of %d impacts here; %s.",
        newton, poisson, f->n_parting, f->n_impact, gap);
}

static void tell_softness(const speaker *s) {
    int pair[2];
    if (!find_pair(s->c, SOFT, pair) || s->c->row[pair[0]].facts.n_contact == 0) {
        return;
    }
    char gap[160];
    put_gap(s->c, pair, gap);
    const cri_compare_row *a = &s->c->row[pair[0]], *b = &s->c->row[pair[1]];
    if (!s->is_end && isnan(s->c->gap[pair[0]][pair[1]].from)) {
        say(s, CRI_DIFFER_SOFT,
            "With located steps %s is soft only in impacts that leave again, and there were none "
            "to speak of; %s.",
            b->law->name, gap);
        return;
    }
    say(s, CRI_DIFFER_SOFT, "%s is soft: %s; the deepest overlap was %.2g m, that of %s %.2g m.",
        b->law->name, gap, b->max_penetration, a->law->name, a->max_penetration);
}

static void tell_energy(const speaker *s) {
    // a jump at the end of a step opens overlaps, which adds energy under every law
    if (s->c->is_driven || s->is_end) {
        return;
    }
    char list[240] = "", when[160] = "";
    size_t n = 0;
    bool has_poisson = false;
    double most = 0.0;
    for (int i = 0; i < s->c->n_row; i++) {
        const cri_compare_row *row = &s->c->row[i];
        const cri_contact_moment *gain = &row->facts.gain;
        bool is_gain = row->has_motion && !is_own(row->law) && gain->geom[0] >= 0 &&
                       row->facts.n_bouncing > 0 && gain->value > GAIN_LEAST * s->c->energy_scale;
        if (!is_gain || n > 200) {
            continue;
        }
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%.20s %.2g J", n > 0 ? ", " : "",
                              row->law->name, gain->value);
        has_poisson = has_poisson || row->law->is_poisson;
        if (gain->value > most) {
            most = gain->value;
            put_moment(s, gain, when);
        }
    }
    if (n > 0) {
        say(s, CRI_DIFFER_ENERGY, "Energy grew in a step with an impact (%s): %s. %s", when, list,
            has_poisson ? "Newton's restitution can do that with friction; Poisson's should not "
                          "where e is the same for all."
                        : "Newton's restitution can do that with friction, Poisson's did not.");
    }
}

static void tell_averages(const speaker *s) {
    const cri_compare_row *row = NULL;
    char names[160] = "", where[200] = "";
    size_t n = 0;
    for (int i = 0; i < s->c->n_row; i++) {
        const cri_compare_row *own = &s->c->row[i];
        if (own->has_motion && (own->report.grad & CR_GRAD_AVERAGED) && n < 130) {
            row = row ? row : own;
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%.20s", n > 0 ? ", " : "",
                                  own->law->name);
        }
    }
    if (!row) {
        return;
    }
    const cri_contact_moment *most = &row->facts.together;
    if (most->value > 1.0) {
        char when[160];
        put_moment(s, most, when);
        snprintf(where, sizeof where, " (%.0f contacts: %s)", most->value, when);
    }
    say(s, CRI_DIFFER_AVERAGED,
        "Several impacts of linked bodies came at once%s. The motion jumps with their order, so "
        "that the gradient is an average under %s.",
        where, names);
}

static void tell_stepper(const speaker *s) {
    int n_impact = s->row->facts.n_impact;
    if (s->is_end && n_impact > 0) {
        say(s, CRI_DIFFER_END,
            "Contacts act at the ends of steps (%d times): gradients are those of that map, and "
            "lack the change of the times of impacts, under every law.",
            n_impact);
    }
}

// laws whose steps or decisions are their own, beside the one that is spoken of
static void tell_own(const speaker *s) {
    int pair[2] = {(int)(s->row - s->c->row), 0};
    for (int i = 0; i < s->c->n_row && s->out->n < CRI_DIFFER_LIMIT; i++) {
        const cri_compare_row *row = &s->c->row[i];
        if (!row->has_motion || !is_own(row->law) || row == s->row) {
            continue;
        }
        char gap[160];
        pair[1] = i;
        put_gap(s->c, pair, gap);
        say(s, CRI_DIFFER_OWN, "%s %s: %s; its deepest overlap was %.2g m.", row->law->name,
            row->law->needs_nets ? "asks nets, whose training theory does not know"
                                 : "has a step of its own, of first order in flight too",
            gap, row->max_penetration);
    }
}

void cri_differ_tell(const cr_model *model, const cri_compare *compare, const char *stepper,
                     cri_differ *out) {
    CR_ASSERT(model && compare && stepper && out);
    out->n = 0;
    // what slides under a rigid isotropic law without lift is what theory speaks of
    const cri_compare_row *row = reference(compare, LIFTING | OCTAGON | SOFT | OWN);
    if (!row) {
        return;
    }
    speaker s = {model, compare, row, strcmp(stepper, "end") == 0, out};
    int n_contact = 0;
    for (int i = 0; i < compare->n_row; i++) {
        n_contact += compare->row[i].facts.n_contact;
    }
    if (n_contact == 0) {
        tell_nothing(&s);
        tell_own(&s);
        return;
    }
    tell_agreement(&s);
    tell_lift(&s);
    tell_octagon(&s);
    tell_restitution(&s);
    tell_softness(&s);
    tell_energy(&s);
    tell_averages(&s);
    tell_stepper(&s);
    tell_own(&s);
}
