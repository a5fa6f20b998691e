// SPDX-License-Identifier: MIT
//
// The simulator: workspace, parameters, single steps, save and restore.
//
// A step normalises quaternions first, so a radial change of a quaternion has derivative zero.
// Between the raw numbers of x and the tangent coordinates of the steppers (base/math/quat.h):
//
//   x_adj  ->  y_adj     position, velocity as they are, rotation by cri_quat_tangent_vjp at x_next
//   y_adj  ->  x_adj     rotation by cri_quat_normalise_vjp at the raw x

#include "sim/sim.h"

#include "base/base.h"
#include "contact/augmented.h"
#include "contact/impulse.h"
#include "contact/law.h"
#include "energy/potential.h"
#include "energy/soft.h"
#include "model/ground_nets.h"
#include "model/system.h"
#include "sim/search.h"
#include "solvers/powell.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const outside_word[] = {"net", "analytic", "stop"};

static const cri_stepper *const steppers[] = {
    &cri_stepper_located,
    &cri_stepper_end,
    &cri_stepper_soft,
    &cri_stepper_implicit,
};

static const cri_law *const laws[] = {
    &cri_law_ncp, &cri_law_ncp_poisson, &cri_law_cone, &cri_law_cone_reg, &cri_law_lcp,
};

static const cri_law *const learned[] = {&cri_law_augmented, &cri_law_regressed};

static const cri_law *const stepped[] = {
    &cri_law_soft, &cri_law_longrange, &cri_law_ipc,     &cri_law_ipc_descent,
    &cri_law_sdrs, &cri_law_rough,     &cri_law_penalty,
};

// first blocks: enough for a few bodies, more is chained
enum {
    TAPE_BYTES = 1 << 15,
    SCRATCH_BYTES = 1 << 14,
    OUTPUT_BYTES = 1 << 10,
    LIST_BYTES = 1 << 13
};

/// Head of saved bytes: tells this model's from another's.
typedef struct saved_head {
    char magic[8];
    int32_t n_p;
    int32_t n_x;
    int32_t n_geom;
    int32_t n_warm;
} saved_head;

// ---- options ------------------------------------------------------------------------------------

// Options of a simulator: defaults, and what is wrong with a choice.

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

static const cri_stepper *stepper_find(const char *name) {
    CR_ASSERT(name);
    for (int i = 0; cri_stepper_at(i); i++) {
        if (strcmp(steppers[i]->name, name) == 0) {
            return steppers[i];
        }
    }
    return NULL;
}

static cr_status check_choice(const cr_model *m, const cr_sim_options *o, cr_error *err) {
    char names[120] = "";
    if (o->stepper && !stepper_find(o->stepper)) {
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

/// The word of cr_sim_options; what is none counts as net.
static cri_outside sim_outside(const char *word) {
    for (int i = 0; word && i < 3; i++) {
        if (strcmp(word, outside_word[i]) == 0) {
            return (cri_outside)i;
        }
    }
    return CRI_OUTSIDE_NET;
}

static cr_status check_outside(const cr_sim_options *o, cr_error *err) {
    const char *word = o->outside;
    if (word && strcmp(word, outside_word[sim_outside(word)]) != 0) {
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

/// Every choice one that there is, every number in its range; else a message that names it.
static cr_status sim_check_options(const cr_model *m, const cr_sim_options *o, cr_error *err) {
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

// ---- surrogates of gradients --------------------------------------------------------------------

// Gradients of another law: every step goes forward by the sim's own law, and its adjoint is pulled
// back through the step of the surrogate from the same state and control,
//
//   x_adj += (d step_surrogate / d x)(x_k, u_k)' x_next_adj,   likewise for u and p
//
// so that a body feels surfaces that it has not touched. The result is no derivative of the motion
// and says so: CR_GRAD_SURROGATE. Where the surrogate has no step, because surfaces touch at the
// start as those of bodies at rest do, the step's own derivative takes its place.

/// The sim whose steps are pulled back through, when options ask for one (sim/sim.c).
static cr_status surrogate_create(cr_sim *sim, const cr_sim_options *options, cr_error *err) {
    if (!options->surrogate || !options->use_gradient) {
        return CR_OK;
    }
    cr_sim_options own = *options;
    own.law = options->surrogate;
    own.stepper = NULL;
    own.surrogate = NULL;
    own.smoothing = 0.0;
    cr_error why = {0};
    cr_status status = cr_sim_create(sim->model, &own, &sim->surrogate, &why);
    return status == CR_OK ? CR_OK
                           : cri_fail(err, status, 0, "the surrogate %.40s: %.200s",
                                      options->surrogate, why.text);
}

void cri_surrogate_begin(cr_sim *sim) {
    cr_sim *own = sim->surrogate;
    if (own) {
        memset(own->d_adj.block, 0, sizeof(double) * (size_t)own->d_adj.n_double);
        own->wants_u = sim->wants_u;
        own->wants_p = sim->wants_p;
    }
}

/// As cri_sim_step_vjp, through the surrogate's step; *is_done false: it has none from there.
static cr_status surrogate_pull(cr_sim *sim, const cri_step_record *record,
                                const double *x_next_adj, double *x_adj, double *u_adj,
                                bool *is_done) {
    cr_sim *own = sim->surrogate;
    cri_step_record *step = NULL;
    cr_error err = {0};
    *is_done = false;
    cri_arena_reset(own->tape);
    cri_arena_reset(own->scratch);
    double *next = CR_PUSH(own->tape, double, sim->model->sizes.n_x);
    if (!next) {
        return CR_ERR_MEMORY;
    }
    cr_status status = cri_sim_step(own, record->h, record->raw, record->u, next, &step, &err);
    // touching at the start, or no solution: the step's own derivative
    if (status != CR_OK || (step->report.grad & CR_GRAD_REFUSED)) {
        return status == CR_ERR_MEMORY ? status : CR_OK;
    }
    *is_done = true;
    return cri_sim_step_vjp(own, step, x_next_adj, x_adj, u_adj, &err);
}

void cri_surrogate_end(cr_sim *sim, double *p_adj) {
    cr_sim *own = sim->surrogate;
    if (own && p_adj) {
        cri_derive_vjp(own->model, own->p, &own->d, &own->d_adj, p_adj);
    }
}

// ---- steppers -----------------------------------------------------------------------------------

// The table of steppers, one line each, and what they share: reports and contacts.

const cri_stepper *cri_stepper_at(int i) {
    int n = (int)(sizeof steppers / sizeof steppers[0]);
    return i >= 0 && i < n ? steppers[i] : NULL;
}

// the law whose own stepper this is, NULL: that of any impulse law
static const cri_law *owner(const char *stepper) {
    for (int i = 0; cri_law_stepped_at(i); i++) {
        if (strcmp(cri_law_stepped_at(i)->stepper, stepper) == 0) {
            return cri_law_stepped_at(i);
        }
    }
    return NULL;
}

const cri_stepper *cri_stepper_of(const char *law, const char *name) {
    const cri_law *found = law ? cri_law_find_any(law) : NULL;
    const char *own = found ? found->stepper : NULL;
    if (own) {
        return !name || strcmp(name, own) == 0 ? stepper_find(own) : NULL;
    }
    name = name ? name : cri_stepper_located.name;
    return owner(name) ? NULL : stepper_find(name);
}

cr_step_report cri_report_none(void) {
    return (cr_step_report){.least_speed = INFINITY, .slip_margin = 1.0};
}

void cri_report_add(cr_step_report *sum, const cr_step_report *step) {
    CR_ASSERT(sum && step);
    sum->outcome = step->outcome > sum->outcome ? step->outcome : sum->outcome;
    sum->grad |= step->grad;
    sum->n_event += step->n_event;
    sum->n_capped += step->n_capped;
    sum->n_iteration += step->n_iteration;
    sum->residual = fmax(sum->residual, step->residual);
    sum->least_speed = fmin(sum->least_speed, step->least_speed);
    // one that is not known leaves the deepest one unknown
    sum->penetration =
        isnan(step->penetration) ? step->penetration : fmax(sum->penetration, step->penetration);
    sum->slip_margin = fmin(sum->slip_margin, step->slip_margin);
    sum->n_outside += step->n_outside;
    sum->n_joint_force += step->n_joint_force;
}

void cri_report_jump(const cr_sim *sim, const cri_jump *jump, cr_step_report *report) {
    const cri_law_report *r = &jump->report;
    report->outcome = r->outcome > report->outcome ? r->outcome : report->outcome;
    report->n_iteration += r->n_iteration;
    report->residual = fmax(report->residual, r->residual);
    report->slip_margin = fmin(report->slip_margin, r->margin);
    report->n_outside += r->is_outside;
    report->n_joint_force += r->n_evaluation;
    report->grad |= r->is_one_sided ? CR_GRAD_ONE_SIDED : 0;
    report->grad |= r->is_smoothed ? CR_GRAD_SMOOTHED : 0;
    report->grad |= r->outcome == CR_SOLVED && !r->is_refused ? 0 : CR_GRAD_REFUSED;
    for (int k = 0; k < jump->n; k++) {
        cri_coefficients c = cri_near_coefficients(&sim->world, &jump->row[k].near);
        bool is_kink = (c.is_friction_tied && (jump->is_sliding[k] || r->is_smoothed)) ||
                       (c.is_restitution_tied && jump->has_e[k] && jump->e[k] > 0.0);
        report->grad |= is_kink ? CR_GRAD_ONE_SIDED : 0;
    }
}

cr_status cri_refuse_gradient(const cr_sim *sim, const cr_step_report *report, cr_error *err) {
    CR_ASSERT(report->grad & CR_GRAD_REFUSED);
    if (report->outcome == CR_SOLVED && sim->world.law->needs_nets) {
        return cri_fail(err, CR_ERR_NUMERIC, 0,
                        "the law %s has no gradient while a linked body slides; take one of the "
                        "analytic laws",
                        sim->world.law->name);
    }
    if (report->outcome == CR_SOLVED) {
        return cri_fail(err, CR_ERR_NUMERIC, 0,
                        "no smoothed derivative was found at smoothing %g; there is no gradient, "
                        "choose a larger one, or 0",
                        sim->world.smoothing);
    }
    return cri_fail(err, CR_ERR_NUMERIC, 0,
                    "a contact solve did not converge (residual %.2g of its tolerance); there is "
                    "no gradient",
                    report->residual);
}

static void describe(const cri_jump *jump, int k, cr_contact *out) {
    const cri_row *row = &jump->row[k];
    const double *f = jump->f + 3 * k;
    cri_vec3 impulse = {0};
    out->geom[0] = row->near.geom[0];
    out->geom[1] = row->near.geom[1];
    out->gap = row->touch.gap;
    out->is_sliding = jump->is_sliding[k];
    for (int r = 0; r < 3; r++) {
        impulse = cri_v3_mad(impulse, f[r] * row->ellipse.scale[r], row->frame.axis[r]);
    }
    cri_v3_store(row->touch.point[1], out->point);
    cri_v3_store(row->touch.normal, out->normal);
    cri_v3_store(impulse, out->impulse);
}

int cri_contacts_of(const cri_jump *jump, double time, bool is_impact, cr_contact *out) {
    CR_ASSERT(jump->n > 0);
    int n = 0;
    for (int k = 0; k < jump->n; k++) {
        if (jump->f[3 * k] <= 0.0 || jump->row[k].near.kind == CRI_NEAR_LIMIT) {
            continue;
        }
        if (out) {
            out[n] = (cr_contact){.time = time, .is_impact = is_impact};
            describe(jump, k, &out[n]);
        }
        n++;
    }
    return n;
}

// ---- laws ---------------------------------------------------------------------------------------

// The table of contact laws: one line each.

const cri_law *cri_law_at(int i) {
    int n = (int)(sizeof laws / sizeof laws[0]);
    return i >= 0 && i < n ? laws[i] : NULL;
}

const cri_law *cri_law_learned_at(int i) {
    int n = (int)(sizeof learned / sizeof learned[0]);
    return i >= 0 && i < n ? learned[i] : NULL;
}

const cri_law *cri_law_find(const char *name) {
    CR_ASSERT(name);
    for (int i = 0; cri_law_at(i); i++) {
        if (strcmp(laws[i]->name, name) == 0) {
            return laws[i];
        }
    }
    for (int i = 0; cri_law_learned_at(i); i++) {
        if (strcmp(learned[i]->name, name) == 0) {
            return learned[i];
        }
    }
    return NULL;
}

const cri_law *cri_law_stepped_at(int i) {
    int n = (int)(sizeof stepped / sizeof stepped[0]);
    return i >= 0 && i < n ? stepped[i] : NULL;
}

const cri_law *cri_law_find_any(const char *name) {
    CR_ASSERT(name);
    for (int i = 0; cri_law_stepped_at(i); i++) {
        if (strcmp(stepped[i]->name, name) == 0) {
            return stepped[i];
        }
    }
    return cri_law_find(name);
}

// ---- simulators ---------------------------------------------------------------------------------

// every array that lives as long as the sim
static bool allocate(cr_sim *sim) {
    const cr_model *m = sim->model;
    const cr_sizes *z = &m->sizes;
    cr_arena *a = sim->memory;
    sim->p = CR_PUSH(a, double, z->n_p);
    sim->d = cri_derived_push(m, a);
    sim->d_adj = cri_derived_push(m, a);
    sim->d_tan = cri_derived_push(m, a);
    sim->zero_u = CR_PUSH(a, double, z->n_u);
    sim->u_adj = CR_PUSH(a, double, z->n_u);
    sim->y = CR_PUSH(a, double, z->n_x);
    sim->y_rate = CR_PUSH(a, double, z->n_tangent);
    sim->y_adj = CR_PUSH(a, double, z->n_tangent);
    sim->body_tan = CR_PUSH(a, double, 6 * z->n_body);
    sim->time_of = CR_PUSH(a, double, m->mech.n_unit);
    sim->reach = CR_PUSH(a, double, z->n_geom);
    sim->ball = CR_PUSH(a, double, z->n_geom);
    sim->width = CR_PUSH(a, double, z->n_geom);
    sim->unit_mark = CR_PUSH(a, int, m->mech.n_unit);
    sim->n_unit_event = CR_PUSH(a, int, m->mech.n_unit);
    sim->is_moved = CR_PUSH(a, bool, m->mech.n_unit);
    sim->soft.body = CR_PUSH(a, double, z->n_body);
    sim->soft.limit = CR_PUSH(a, double, m->n_limit);
    sim->d.mech.plan = CR_PUSH(a, struct cri_tree_plan *, m->mech.n_unit);
    for (int u = 0; u < m->mech.n_unit && sim->d.mech.plan; u++) {
        bool is_tree = !m->mech.unit[u].is_free_body;
        sim->d.mech.plan[u] = is_tree ? cri_tree_plan_push(&m->mech, u, a) : NULL;
        sim->has_tree = sim->has_tree || is_tree;
        sim->has_euler = sim->has_euler || (is_tree && cri_unit_is_euler(&m->mech, u));
    }
    if (cri_arena_has_failed(a) || !cri_arena_reserve(a, cri_state_bytes(m))) {
        return false;
    }
    cri_state_push(m, sim->y, &sim->work, a);
    return !cri_arena_has_failed(a);
}

// surfaces of a law that is an energy
static cr_status push_potential(cr_sim *sim, cr_error *err) {
    const cr_model *m = sim->model;
    CR_TRY(cri_joint_energy_check(&m->mech, err));
    for (int i = 0; i < m->n_limit; i++) {
        if (m->limit[i].ball >= 0) {
            return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                            "the law %.40s has no limits of ball joints; remove the range",
                            sim->world.law->name);
        }
    }
    sim->potential = CR_PUSH(sim->memory, cri_potential, 1);
    if (!sim->potential || !cri_frames_push(m, sim->memory, &sim->frames)) {
        return cri_no_memory(err);
    }
    return cri_potential_push(m, (cri_potential_form)sim->world.law->form, &sim->d, sim->memory,
                              sim->potential, err);
}

cr_status cr_sim_create(const cr_model *model, const cr_sim_options *options, cr_sim **out,
                        cr_error *err) {
    CR_ASSERT(model && options && out);
    *out = NULL;
    CR_TRY(sim_check_options(model, options, err));
    cr_sim *sim = calloc(1, sizeof *sim);
    if (!sim) {
        return cri_no_memory(err);
    }
    sim->model = model;
    sim->stepper =
        model->system_kind ? &cri_stepper_system : cri_stepper_of(options->law, options->stepper);
    sim->system_law =
        model->system_kind ? cri_system_find_law(model->system_kind, options->law) : -1;
    sim->eps_gap = options->eps_gap;
    sim->eps_speed = options->eps_speed;
    sim->eps_time = options->eps_time;
    sim->event_cap = options->event_cap;
    sim->use_gradient = options->use_gradient;
    sim->has_cache = options->use_gradient;
    sim->checkpoint_every = options->checkpoint_every;
    sim->memory = cri_arena_create(8192);
    sim->tape = cri_arena_create(TAPE_BYTES);
    sim->scratch = cri_arena_create(SCRATCH_BYTES);
    sim->output = cri_arena_create(OUTPUT_BYTES);
    sim->list = cri_arena_create(LIST_BYTES);
    sim->narrow = cri_arena_create(LIST_BYTES);
    bool has_memory = sim->memory && sim->tape && sim->scratch && sim->output && sim->list &&
                      sim->narrow && allocate(sim) && cri_forms_begin(model, &sim->forms[0]) &&
                      cri_forms_begin(model, &sim->forms[1]);
    if (!has_memory) {
        cr_sim_destroy(sim);
        return cri_no_memory(err);
    }
    cri_sim_move_all(sim);
    sim->world = (cri_world){.model = model,
                             .d = &sim->d,
                             .scratch = sim->narrow,
                             .law = cri_law_find_any(options->law),
                             .smoothing = options->use_gradient ? options->smoothing : 0.0,
                             .outside = sim_outside(options->outside)};
    sim->report = cri_report_none();
    cr_model_defaults(model, -1, sim->p, NULL, NULL);
    cr_status status = cr_sim_set_params(sim, sim->p, err);
    if (status == CR_OK && sim->stepper == &cri_stepper_implicit) {
        status = push_potential(sim, err);
    }
    status = status == CR_OK ? surrogate_create(sim, options, err) : status;
    if (status != CR_OK) {
        cr_sim_destroy(sim);
        return status;
    }
    *out = sim;
    return CR_OK;
}

void cr_sim_destroy(cr_sim *sim) {
    if (sim) {
        cr_sim_destroy(sim->surrogate);
        cri_arena_destroy(sim->memory);
        cri_arena_destroy(sim->tape);
        cri_arena_destroy(sim->scratch);
        cri_arena_destroy(sim->output);
        cri_arena_destroy(sim->list);
        cri_arena_destroy(sim->narrow);
        cri_forms_clear(&sim->forms[0]);
        cri_forms_clear(&sim->forms[1]);
        cri_history_clear(&sim->history);
        free(sim->warm.entry);
        free(sim);
    }
}

static void forget(cr_sim *sim) {
    sim->last = NULL;
    sim->history.is_valid = false;
    sim->report = cri_report_none();
}

cr_status cr_sim_set_params(cr_sim *sim, const double *p, cr_error *err) {
    CR_ASSERT(sim && p);
    CR_TRY(cri_params_check(sim->model, p, err));
    // new forms stand beside the old ones until all is well
    bool is_same = cri_forms_are_of(sim->model, p, &sim->forms[sim->which_forms]);
    int which = is_same ? sim->which_forms : 1 - sim->which_forms;
    CR_TRY(cri_forms_make(sim->model, p, &sim->forms[which], err));
    sim->d_tan.forms = sim->model->n_form > 0 ? &sim->forms[which] : NULL;
    cri_derive(sim->model, p, &sim->d_tan);
    CR_TRY(cri_derived_check(sim->model, &sim->d_tan, err));
    memmove(sim->p, p, sizeof *p * (size_t)sim->model->sizes.n_p);
    sim->d.forms = sim->d_tan.forms;
    sim->which_forms = which;
    cri_derive(sim->model, sim->p, &sim->d);
    cri_warm_clear(&sim->warm);
    forget(sim);
    bool is_good = sim->model->system_kind || cri_scan_prepare(sim);
    if (is_good && sim->potential) {
        cri_potential_fit(sim->potential);
    }
    if (is_good && sim->stepper == &cri_stepper_soft) {
        cri_arena_reset(sim->scratch);
        is_good = cri_soft_weigh(sim->model, &sim->d, &sim->soft, sim->scratch);
    }
    if (is_good && sim->surrogate) {
        return cr_sim_set_params(sim->surrogate, p, err);
    }
    return is_good ? CR_OK : cri_no_memory(err);
}

cr_status cri_sim_check_state(const cr_sim *sim, const double *x, cr_error *err) {
    CR_ASSERT(sim && x);
    const cr_sizes *z = &sim->model->sizes;
    for (int i = 0; i < z->n_x; i++) {
        if (!isfinite(x[i])) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "state %s is %g; give a finite number",
                            sim->model->x_name[i], x[i]);
        }
    }
    for (int j = 0; j < sim->model->mech.n_joint; j++) {
        const cri_joint *joint = &sim->model->mech.joint[j];
        if (joint->n_q < 4) {
            continue;
        }
        const double *q = x + joint->q + joint->n_q - 4;
        double length2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        // anything that can be normalised without overflow
        if (!(length2 > 1e-200 && length2 < 1e200)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "the quaternion of body %s has no direction; give it length one",
                            sim->model->body_name[joint->body]);
        }
    }
    return CR_OK;
}

cr_status cri_sim_check_control(const cr_sim *sim, const double *u, cr_error *err) {
    for (int i = 0; u && i < sim->model->sizes.n_u; i++) {
        if (!isfinite(u[i])) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "control %s is %g; give a finite number",
                            sim->model->u_name[i], u[i]);
        }
    }
    return CR_OK;
}

cr_status cri_sim_check_dt(double dt, cr_error *err) {
    if (!(dt > 0.0 && isfinite(dt))) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "the step length is %g; it must be positive", dt);
    }
    return CR_OK;
}

cr_status cri_sim_step(cr_sim *sim, double dt, const double *x, const double *u, double *x_next,
                       cri_step_record **out, cr_error *err) {
    CR_ASSERT(dt > 0.0 && x && x_next);
    const cr_sizes *z = &sim->model->sizes;
    cri_step_record *record = CR_PUSH_RAW(sim->tape, cri_step_record, 1);
    double *keep = CR_PUSH_RAW(sim->tape, double, 3 * z->n_x + z->n_u);
    if (!record || !keep) {
        return cri_no_memory(err);
    }
    double *unit = keep + z->n_x, *end = unit + z->n_x, *control = end + z->n_x;
    memcpy(keep, x, sizeof *x * (size_t)z->n_x);
    memcpy(unit, x, sizeof *x * (size_t)z->n_x);
    memcpy(control, u ? u : sim->zero_u, sizeof *x * (size_t)z->n_u);
    cri_model_normalise(sim->model, unit);
    *record = (cri_step_record){
        .h = dt, .raw = keep, .x = unit, .u = control, .x_next = end, .report = cri_report_none()};
    CR_TRY(sim->stepper->step(sim, record, end, err));
    // Euler's motion is its own, not that of the bodies
    record->report.grad |= sim->has_euler ? CR_GRAD_DISCRETE : 0;
    record->report.grad |= sim->surrogate || sim->model->has_normal_rule ? CR_GRAD_SURROGATE : 0;
    if (sim->world.outside == CRI_OUTSIDE_STOP && record->report.n_outside > 0) {
        return cri_fail(err, CR_ERR_NUMERIC, 0,
                        "a contact is outside what the nets of body %.40s were trained for; train "
                        "them on a wider range, or go on with analytic or net outside",
                        sim->model->nets->body);
    }
    if (!cri_all_finite(z->n_x, end)) {
        return cri_fail(err, CR_ERR_NUMERIC, 0,
                        "the motion left all bounds; check speeds, sizes and the step length");
    }
    memcpy(x_next, end, sizeof *x * (size_t)z->n_x);
    *out = record;
    return CR_OK;
}

cr_status cr_sim_step(cr_sim *sim, double dt, const double *x, const double *u, double *x_next,
                      cr_error *err) {
    CR_ASSERT(sim && x && x_next);
    CR_TRY(cri_sim_check_dt(dt, err));
    CR_TRY(cri_sim_check_state(sim, x, err));
    CR_TRY(cri_sim_check_control(sim, u, err));
    forget(sim);
    sim->has_cache = sim->use_gradient;
    cri_arena_reset(sim->tape);
    cri_arena_reset(sim->scratch);
    cri_step_record *record = NULL;
    CR_TRY(cri_sim_step(sim, dt, x, u, x_next, &record, err));
    sim->last = record;
    sim->report = record->report;
    return CR_OK;
}

cr_status cri_sim_step_vjp(cr_sim *sim, const cri_step_record *record, const double *x_next_adj,
                           double *x_adj, double *u_adj, cr_error *err) {
    CR_ASSERT(record && x_next_adj);
    const cr_sizes *z = &sim->model->sizes;
    double *y_adj = sim->y_adj;
    const cri_mechanism *mech = &sim->model->mech;
    bool is_done = false;
    if (sim->surrogate) {
        cr_status status = surrogate_pull(sim, record, x_next_adj, x_adj, u_adj, &is_done);
        if (status != CR_OK) {
            return cri_no_memory(err);
        }
    }
    if (is_done) {
        return CR_OK;
    }
    memcpy(y_adj + z->n_v, x_next_adj + z->n_q, sizeof(double) * (size_t)z->n_v);
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        bool has_quat = joint->n_q >= 4;
        int n_linear = has_quat ? joint->n_q - 4 : joint->n_q, at = joint->q + n_linear;
        memcpy(y_adj + joint->v, x_next_adj + joint->q, sizeof(double) * (size_t)n_linear);
        if (has_quat) {
            cri_quat q = cri_q4_load(record->x_next + at);
            cri_v3_store(cri_quat_tangent_vjp(q, x_next_adj + at), y_adj + joint->v + n_linear);
        }
    }
    CR_TRY(sim->stepper->vjp(sim, record, y_adj, u_adj, err));
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        bool has_quat = joint->n_q >= 4;
        int n_linear = has_quat ? joint->n_q - 4 : joint->n_q, at = joint->q + n_linear;
        for (int i = 0; i < n_linear; i++) {
            x_adj[joint->q + i] += y_adj[joint->v + i];
        }
        if (has_quat) {
            cri_quat_normalise_vjp(cri_q4_load(record->raw + at),
                                   cri_v3_load(y_adj + joint->v + n_linear), x_adj + at);
        }
    }
    for (int i = 0; i < z->n_v; i++) {
        x_adj[z->n_q + i] += y_adj[z->n_v + i];
    }
    return CR_OK;
}

// may the last step be differentiated?
static cr_status check_last(const cr_sim *sim, cr_error *err) {
    if (!sim->last) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "there is no last step to differentiate");
    }
    if (!sim->use_gradient) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "gradients are off; create the sim with use_gradient");
    }
    if (sim->last->report.grad & CR_GRAD_REFUSED) {
        return cri_refuse_gradient(sim, &sim->last->report, err);
    }
    return CR_OK;
}

cr_status cr_sim_step_vjp(cr_sim *sim, const double *x_next_adj, double *x_adj, double *u_adj,
                          double *p_adj, cr_error *err) {
    CR_ASSERT(sim && x_next_adj);
    const cr_sizes *z = &sim->model->sizes;
    CR_TRY(check_last(sim, err));
    if (!cri_all_finite(z->n_x, x_next_adj)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "the adjoint of the state is not finite");
    }
    cri_arena_reset(sim->scratch);
    double *work = CR_PUSH(sim->scratch, double, z->n_x);
    if (!work) {
        return cri_no_memory(err);
    }
    memset(sim->d_adj.block, 0, sizeof(double) * (size_t)sim->d_adj.n_double);
    memset(sim->u_adj, 0, sizeof(double) * (size_t)z->n_u);
    sim->wants_u = u_adj != NULL;
    sim->wants_p = p_adj != NULL;
    cri_surrogate_begin(sim);
    CR_TRY(cri_sim_step_vjp(sim, sim->last, x_next_adj, work, sim->u_adj, err));
    for (int i = 0; x_adj && i < z->n_x; i++) {
        x_adj[i] += work[i];
    }
    for (int i = 0; u_adj && i < z->n_u; i++) {
        u_adj[i] += sim->u_adj[i];
    }
    if (p_adj) {
        cri_derive_vjp(sim->model, sim->p, &sim->d, &sim->d_adj, p_adj);
        cri_surrogate_end(sim, p_adj);
    }
    return CR_OK;
}

static bool has_entry(int n, const double *a) {
    for (int i = 0; i < n; i++) {
        if (a[i] != 0.0) {
            return true;
        }
    }
    return false;
}

void cri_sim_mark_moved(cr_sim *sim, const double *y_tan, const double *u_tan, bool has_params) {
    CR_ASSERT(y_tan && u_tan);
    const cri_mechanism *mech = &sim->model->mech;
    bool has_u = u_tan != sim->zero_u;
    bool is_any = has_params || (has_u && has_entry(mech->n_actuator, u_tan));
    const double *force = u_tan + mech->n_actuator;
    for (int k = 0; k < mech->n_unit; k++) {
        int at = mech->unit[k].first_v, n = mech->unit[k].n_v;
        sim->is_moved[k] = is_any || has_entry(n, y_tan + at) ||
                           has_entry(n, y_tan + mech->n_v + at) ||
                           (has_u && has_entry(n, force + at));
    }
}

void cri_sim_move_all(cr_sim *sim) {
    for (int k = 0; k < sim->model->mech.n_unit; k++) {
        sim->is_moved[k] = true;
    }
}

bool cri_sim_spread(cr_sim *sim, const cri_jump *jump) {
    bool is_any = false;
    for (int k = 0; k < jump->n_unit; k++) {
        is_any = is_any || sim->is_moved[jump->unit[k]];
    }
    for (int k = 0; is_any && k < jump->n_unit; k++) {
        sim->is_moved[jump->unit[k]] = true;
    }
    return is_any;
}

// seeds one by one
static cr_status push_seeds(cr_sim *sim, int n_seed, const double *x_tan, const double *u_tan,
                            const double *p_tan, double *x_next_tan, cr_error *err) {
    const cr_sizes *z = &sim->model->sizes;
    size_t n_tangent = (size_t)z->n_tangent;
    // memory can fail in the first seed alone, before anything has been written
    double *y = CR_PUSH_RAW(sim->scratch, double, n_tangent);
    if (!y) {
        return cri_no_memory(err);
    }
    for (int s = 0; s < n_seed; s++) {
        size_t row = (size_t)s;
        const double *u = u_tan ? u_tan + row * (size_t)z->n_u : sim->zero_u;
        memset(y, 0, sizeof *y * n_tangent);
        if (x_tan) {
            memcpy(y, x_tan + row * n_tangent, sizeof *y * n_tangent);
        }
        if (p_tan) {
            memset(sim->d_tan.block, 0, sizeof(double) * (size_t)sim->d_tan.n_double);
            cri_derive_jvp(sim->model, sim->p, &sim->d, p_tan + row * (size_t)z->n_p, &sim->d_tan);
        }
        cri_sim_mark_moved(sim, y, u, p_tan != NULL);
        CR_TRY(sim->stepper->jvp(sim, sim->last, y, u, err));
        memcpy(x_next_tan + row * n_tangent, y, sizeof *y * n_tangent);
    }
    return CR_OK;
}

cr_status cr_sim_step_jac(cr_sim *sim, int n_seed, const double *x_tan, const double *u_tan,
                          const double *p_tan, double *x_next_tan, cr_error *err) {
    CR_ASSERT(sim && n_seed >= 0 && x_next_tan);
    CR_TRY(check_last(sim, err));
    if (sim->surrogate) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "surrogate gradients are adjoints only; leave the surrogate out");
    }
    cri_arena_reset(sim->scratch);
    memset(sim->d_tan.block, 0, sizeof(double) * (size_t)sim->d_tan.n_double);
    sim->system_jac = NULL;
    sim->is_d_fixed = !p_tan;
    bool is_state = sim->stepper->jac && x_tan && !u_tan && !p_tan;
    cr_status status = is_state ? sim->stepper->jac(sim, sim->last, n_seed, x_tan, x_next_tan, err)
                                : push_seeds(sim, n_seed, x_tan, u_tan, p_tan, x_next_tan, err);
    sim->is_d_fixed = false;
    cri_sim_move_all(sim);
    return status;
}

const cr_step_report *cr_sim_report(const cr_sim *sim) {
    CR_ASSERT(sim);
    return &sim->report;
}

const cr_contact *cr_sim_contacts(cr_sim *sim, int *n_contact) {
    CR_ASSERT(sim && n_contact);
    *n_contact = 0;
    if (!sim->last) {
        return NULL;
    }
    int n = sim->stepper->contacts(sim->last, NULL);
    cri_arena_reset(sim->output);
    cr_contact *contact = n > 0 ? CR_PUSH(sim->output, cr_contact, n) : NULL;
    if (contact) {
        *n_contact = sim->stepper->contacts(sim->last, contact);
    }
    return contact;
}

double cr_sim_energy(cr_sim *sim, const double *x) {
    CR_ASSERT(sim && x);
    const cri_mechanism *mech = &sim->model->mech;
    double sum = 0.0;
    cri_arena_reset(sim->scratch);
    if (sim->model->system_kind) {
        const cri_system_kind *kind = sim->model->system_kind;
        return kind->energy ? kind->energy(sim->model->system_self, sim->p, x, sim->scratch) : 0.0;
    }
    for (int k = 0; k < mech->n_unit; k++) {
        const cri_unit *u = &mech->unit[k];
        if (!u->is_free_body) {
            cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
            cri_tree *tree = cri_tree_push(mech, k, &sim->d.mech, sim->scratch);
            size_t room = cri_tree_scratch_bytes(mech, k);
            if (!tree || !cri_arena_reserve(sim->scratch, room)) {
                return NAN;
            }
            cri_tree_set(tree, x, sim->scratch);
            sum += cri_tree_energy(tree, x + mech->n_q);
            cri_arena_rewind(sim->scratch, mark);
            continue;
        }
        cri_body_state s = cri_state_load(sim, x, u);
        const cri_link_derived *d = &sim->d.mech.link[u->first_body];
        cri_vec3 L = cri_v3_mul(cri_v3_load(d->J), s.spin);
        sum += 0.5 * d->mass * cri_v3_dot(s.vel, s.vel) + 0.5 * cri_v3_dot(L, s.spin);
        sum -= d->mass * cri_v3_dot(cri_v3_load(sim->d.mech.gravity), s.pos);
    }
    return sum;
}

static saved_head head_of(const cr_sim *sim) {
    const cr_sizes *z = &sim->model->sizes;
    return (saved_head){.magic = "carom 2",
                        .n_p = z->n_p,
                        .n_x = z->n_x,
                        .n_geom = z->n_geom,
                        .n_warm = sim->warm.n};
}

size_t cr_sim_save_bytes(const cr_sim *sim) {
    CR_ASSERT(sim);
    return sizeof(saved_head) + sizeof(double) * (size_t)sim->model->sizes.n_p +
           sizeof(cri_warm) * (size_t)sim->warm.n;
}

void cr_sim_save(const cr_sim *sim, void *bytes) {
    CR_ASSERT(bytes);
    saved_head head = head_of(sim);
    size_t n_p = sizeof(double) * (size_t)sim->model->sizes.n_p;
    char *at = bytes;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, sim->p, n_p);
    if (sim->warm.n > 0) {
        memcpy(at + sizeof head + n_p, sim->warm.entry, sizeof(cri_warm) * (size_t)sim->warm.n);
    }
}

// may the entry have been saved from a sim of this model?
static bool is_sound(const cr_sim *sim, const cri_warm *w) {
    bool is_limit = w->key[0] == -1 && w->key[1] >= 0 && w->key[1] < sim->model->n_limit;
    int n_geom = sim->model->sizes.n_geom;
    bool is_pair = w->key[0] >= 0 && w->key[0] < n_geom && w->key[1] >= 0 && w->key[1] < n_geom;
    return (is_limit || is_pair) && cri_all_finite(3, w->f);
}

cr_status cr_sim_restore(cr_sim *sim, const void *bytes, size_t n_byte, cr_error *err) {
    CR_ASSERT(sim && bytes);
    saved_head head = head_of(sim), saved;
    size_t n_p = sizeof(double) * (size_t)sim->model->sizes.n_p;
    bool is_ours = n_byte >= sizeof head;
    if (is_ours) {
        memcpy(&saved, bytes, sizeof saved);
        head.n_warm = saved.n_warm;
        is_ours = memcmp(&saved, &head, sizeof head) == 0 && saved.n_warm >= 0 &&
                  n_byte == sizeof head + n_p + sizeof(cri_warm) * (size_t)saved.n_warm;
    }
    if (!is_ours) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "these bytes were not saved from a sim of this model");
    }
    cri_arena_reset(sim->scratch);
    cri_warm_list warm = {.n = saved.n_warm};
    double *p = cri_arena_push_raw(sim->scratch, n_p);
    warm.entry = CR_PUSH_RAW(sim->scratch, cri_warm, saved.n_warm);
    if (!p || !warm.entry) {
        return cri_no_memory(err);
    }
    const char *at = (const char *)bytes + sizeof head;
    memcpy(p, at, n_p);
    memcpy(warm.entry, at + n_p, sizeof(cri_warm) * (size_t)warm.n);
    for (int k = 0; k < warm.n; k++) {
        if (!is_sound(sim, &warm.entry[k])) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "the saved bytes are damaged");
        }
    }
    CR_TRY(cr_sim_set_params(sim, p, err));
    return cri_warm_copy(&warm, &sim->warm) ? CR_OK : cri_no_memory(err);
}
