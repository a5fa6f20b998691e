// SPDX-License-Identifier: MIT
//
// Every contact law on one scene.

#include "optimize/compare.h"

#include "base/base.h"
#include "contact/island.h"
#include "dynamics/unit.h"
#include "model/model.h"
#include "optimize/aim.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// tangential impulses below this part of the normal one are rounding
#define TANGENT_LEAST 1e-9

// contacts that belong to one impact act within this part of a second
#define TIME_LEAST 1e-12

static const double pi = 3.14159265358979323846;

// distances of origins from here on are no rounding, m: solves are good to 1e-10
#define GAP_LEAST 1e-8

// rounds of timing, unless they take longer, s
#define N_ROUND 5
#define ROUNDS_LONGEST 2.0

/// One law at work.
typedef struct runner {
    cr_sim *plain; // without gradients
    cr_sim *sim;   // with them
    double *x;     // (n_x)
    cri_state state;
    double energy;       // J, now
    double first_energy; // J
    double energy_low;   // J, least of the run
    double energy_high;  // J
} runner;

typedef struct work {
    const cri_compare_def *def;
    cri_compare *out;
    runner run[CRI_COMPARE_LIMIT];
    int target; // the next one to be reached
    cr_arena *arena;
} work;

/// Who listens to the differences of one law, and how long there is time for them.
typedef struct listener {
    const work *w;
    double deadline; // s, infinite: none
    bool is_late;
} listener;

// ---- facts of contacts --------------------------------------------------------------------------

// What a run's contacts were like.
//
//   slip     v_t = (1 - n n') (v_1 - v_0),  v_i = v + R (w x R'(point - origin)) of the two bodies
//            at the end of the step
//   lift     mu |v_t|, what the convex cone gives a sliding contact as v_n (docs/laws/cone.md)
//   turn     angle of the tangential impulse to the nearest of the directions 45 k degrees from the
//            first tangent, at most 22.5 degrees (docs/laws/lcp.md); friction of an isotropic law
//            points against the slip

/// Facts of no step.
static cri_contact_facts contact_facts_none(void) {
    cri_contact_moment none = {.geom = {-1, -1}};
    return (cri_contact_facts){
        .first = none, .together = none, .lift = none, .turn = none, .gain = none};
}

static void take_largest(cri_contact_moment *moment, double value, double time,
                         const cr_contact *contact) {
    if (moment->geom[0] < 0 || value > moment->value) {
        *moment = (cri_contact_moment){value, time, {contact->geom[0], contact->geom[1]}};
    }
}

static cri_vec3 velocity_at(const cri_state *state, int body, cri_vec3 point) {
    if (body < 0) {
        return cri_v3(0.0, 0.0, 0.0);
    }
    const cri_pose *pose = &state->pose[body];
    const double *motion = state->motion + 6 * body;
    cri_vec3 arm = cri_m3_tmul(&pose->R, cri_v3_sub(point, pose->pos));
    cri_vec3 turn = cri_m3_mul(&pose->R, cri_v3_cross(cri_v3_load(motion + 3), arm));
    return cri_v3_add(cri_v3_load(motion), turn);
}

static double slip_speed(const cr_sim *sim, const cri_state *state, const cr_contact *contact) {
    cri_vec3 point = cri_v3_load(contact->point), n = cri_v3_load(contact->normal);
    const cri_geom *geom = sim->model->geom;
    cri_vec3 v = cri_v3_sub(velocity_at(state, geom[contact->geom[1]].body, point),
                            velocity_at(state, geom[contact->geom[0]].body, point));
    return cri_v3_norm(cri_v3_mad(v, -cri_v3_dot(n, v), n));
}

/// Angle of the tangential impulse to the nearest corner, rad; NAN when there is none.
static double corner_angle(const cr_contact *contact) {
    cri_frame frame = cri_frame_of(cri_v3_load(contact->normal));
    cri_vec3 f = cri_v3_load(contact->impulse);
    double f_n = cri_v3_dot(frame.axis[0], f);
    double a = cri_v3_dot(frame.axis[1], f), b = cri_v3_dot(frame.axis[2], f);
    if (hypot(a, b) <= TANGENT_LEAST * f_n) {
        return NAN;
    }
    return fabs(remainder(atan2(b, a), 0.25 * pi));
}

/// Contacts of the same impact on a unit of contact k, itself too.
static int count_together(const cr_model *model, int n, const cr_contact *contact, int k) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        bool is_same_time =
            contact[i].is_impact && fabs(contact[i].time - contact[k].time) <= TIME_LEAST;
        bool is_linked = false;
        for (int s = 0; s < 4 && !is_linked; s++) {
            int unit = model->geom[contact[k].geom[s / 2]].unit;
            is_linked = unit >= 0 && unit == model->geom[contact[i].geom[s % 2]].unit;
        }
        count += is_same_time && is_linked;
    }
    return count;
}

static void add_impact(cri_contact_facts *facts, const cr_sim *sim, int n,
                       const cr_contact *contact, int k, double restitution, double time) {
    int n_together = count_together(sim->model, n, contact, k);
    bool has_friction = !isnan(corner_angle(&contact[k]));
    facts->n_impact++;
    facts->n_bouncing += restitution > 0.0;
    facts->n_parting += restitution > 0.0 && (has_friction || n_together > 1);
    take_largest(&facts->together, n_together, time, &contact[k]);
}

static void add_contact(cri_contact_facts *facts, const cr_sim *sim, const cri_state *state, int n,
                        const cr_contact *contact, int k, double start) {
    const cr_contact *c = &contact[k];
    double time = start + c->time;
    int pair = -1;
    // a touch that happened was allowed
    cri_model_may_collide(sim->model, c->geom[0], c->geom[1], &pair);
    cri_near near = cri_near_geoms(sim->model, c->geom[0], c->geom[1], pair);
    cri_coefficients own = cri_near_coefficients(&sim->world, &near);
    facts->n_contact++;
    double turn = corner_angle(c);
    facts->n_rough += !isnan(turn);
    if (facts->first.geom[0] < 0) {
        take_largest(&facts->first, c->gap, time, c);
    }
    if (c->is_impact) {
        add_impact(facts, sim, n, contact, k, own.restitution, time);
    }
    if (!c->is_sliding || own.friction <= 0.0) {
        return;
    }
    facts->n_sliding++;
    take_largest(&facts->lift, own.friction * slip_speed(sim, state, c), time, c);
    if (!near.has_two_frictions && !isnan(turn)) {
        take_largest(&facts->turn, turn, time, c);
    }
}

/// Adds the last step of sim, which began at time s and ended in state; energy_rise of that step in
/// J.
static void contact_facts_add(cri_contact_facts *facts, cr_sim *sim, const cri_state *state,
                              double time, double energy_rise) {
    CR_ASSERT(facts && sim && state);
    int n = 0, n_impact = facts->n_impact;
    const cr_contact *contact = cr_sim_contacts(sim, &n);
    facts->n_step++;
    facts->n_touched += n > 0;
    for (int k = 0; k < n; k++) {
        add_contact(facts, sim, state, n, contact, k, time);
    }
    for (int k = 0; k < n && facts->n_impact > n_impact; k++) {
        if (contact[k].is_impact) {
            take_largest(&facts->gain, energy_rise, time + contact[k].time, &contact[k]);
            break;
        }
    }
}

// ---- laws side by side -------------------------------------------------------------------------

static void fail_row(cri_compare_row *row, const char *place, const cr_error *err) {
    snprintf(row->reason, sizeof row->reason, "%.30s%.200s", place, err->text);
    row->has_gradient = false;
}

static cr_status open_sims(work *w, int i, cr_error *err) {
    const cri_compare_def *def = w->def;
    runner *r = &w->run[i];
    cr_sim_options options = def->options;
    options.law = w->out->row[i].law->name;
    options.stepper = w->out->row[i].law->stepper ? NULL : options.stepper;
    options.use_gradient = false;
    CR_TRY(cr_sim_create(def->model, &options, &r->plain, err));
    options.use_gradient = true;
    if (def->selection) {
        CR_TRY(cri_selection_check_law(def->selection, options.law, err));
    }
    CR_TRY(cr_sim_create(def->model, &options, &r->sim, err));
    return cr_sim_set_params(r->plain, def->point->p, err);
}

/// A law that does not take the scene or the options has a row that says so.
static cr_status open_law(work *w, int i, cr_error *err) {
    const cri_compare_def *def = w->def;
    cri_compare_row *row = &w->out->row[i];
    runner *r = &w->run[i];
    size_t n_x = (size_t)def->aim->sizes.n_x;
    r->x = CR_PUSH(w->arena, double, n_x);
    row->target = CR_PUSH(w->arena, double, 3 * (size_t)def->aim->n_target);
    if (!r->x || !row->target || !cri_arena_reserve(w->arena, cri_state_bytes(def->model))) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to compare the laws");
    }
    memcpy(r->x, def->point->x0, n_x * sizeof *r->x);
    cri_state_push(def->model, r->x, &r->state, w->arena);
    cr_error own = {0};
    if (open_sims(w, i, &own) != CR_OK) {
        if (own.status == CR_ERR_MEMORY) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "%s", own.text);
        }
        fail_row(row, "", &own);
        row->has_motion = false;
        return CR_OK;
    }
    r->energy = r->first_energy = r->energy_low = r->energy_high = cr_sim_energy(r->plain, r->x);
    return CR_OK;
}

static void step_law(work *w, int i, int k, double dt, double time) {
    const cri_compare_def *def = w->def;
    cri_compare_row *row = &w->out->row[i];
    runner *r = &w->run[i];
    const double *u = NULL;
    if (def->aim->has_control) {
        int line = def->point->n_u_row > 1 ? k : 0;
        u = def->point->u + (size_t)line * (size_t)def->aim->sizes.n_u;
    }
    cr_error err = {0};
    if (cr_sim_step(r->plain, dt, r->x, u, r->x, &err) != CR_OK) {
        char place[32];
        snprintf(place, sizeof place, "step %d: ", k);
        fail_row(row, place, &err);
        row->has_motion = false;
        return;
    }
    cri_report_add(&row->report, cr_sim_report(r->plain));
    double before = r->energy;
    r->energy = cr_sim_energy(r->plain, r->x); // leaves the contacts of the step
    cri_state_set(def->model, &r->state);
    contact_facts_add(&row->facts, r->plain, &r->state, time, r->energy - before);
    r->energy_low = fmin(r->energy_low, r->energy);
    r->energy_high = fmax(r->energy_high, r->energy);
}

/// Largest distance of a body's origins in two states, m.
static double distance(const cr_model *model, const cri_state *a, const cri_state *b) {
    CR_ASSERT(model->sizes.n_body == 0 || (a->pose && b->pose));
    double most = 0.0;
    for (int k = 0; k < model->sizes.n_body; k++) {
        most = fmax(most, cri_v3_norm(cri_v3_sub(a->pose[k].pos, b->pose[k].pos)));
    }
    return most;
}

static void measure_gaps(work *w, double time) {
    cri_compare *out = w->out;
    for (int i = 0; i < out->n_row; i++) {
        for (int j = 0; j < i; j++) {
            if (!out->row[i].has_motion || !out->row[j].has_motion) {
                continue;
            }
            cri_compare_gap *gap = &out->gap[i][j];
            gap->end = distance(w->def->model, &w->run[i].state, &w->run[j].state);
            gap->most = fmax(gap->most, gap->end);
            gap->from = isnan(gap->from) && gap->end > GAP_LEAST ? time : gap->from;
            out->gap[j][i] = *gap;
        }
    }
}

/// Takes loss and place of the targets that are due after k steps.
static void judge_targets(work *w, int k) {
    cri_aim *aim = w->def->aim;
    for (; w->target < aim->n_target && aim->schedule.step[w->target] == k; w->target++) {
        const cri_target *target = &aim->target[w->target];
        for (int i = 0; i < w->out->n_row; i++) {
            cri_compare_row *row = &w->out->row[i];
            const double *x = w->run[i].x;
            row->loss += cri_target_loss(target, x);
            cri_v3_store(cri_target_place(target, x), row->target + 3 * w->target);
        }
    }
}

static void settle_motion(work *w) {
    cri_compare *out = w->out;
    for (int i = 0; i < out->n_row; i++) {
        cri_compare_row *row = &out->row[i];
        const runner *r = &w->run[i];
        row->has_motion = row->has_motion && !out->is_stopped;
        if (row->has_motion && !isfinite(row->loss)) {
            cr_error none = {.text = "the loss is not a finite number; shorten the run, or bring "
                                     "its numbers to scale"};
            fail_row(row, "", &none);
            row->has_motion = false;
        }
        if (!row->has_motion) {
            row->loss = NAN;
            for (int k = 0; k < 3 * w->def->aim->n_target; k++) {
                row->target[k] = NAN;
            }
            continue;
        }
        row->max_penetration = row->report.penetration;
        row->energy_change = r->energy - r->first_energy;
        out->energy_scale = fmax(out->energy_scale, r->energy_high - r->energy_low);
        out->energy_scale = fmax(out->energy_scale, fabs(r->first_energy));
    }
}

static void run_motion(work *w) {
    const cri_schedule *schedule = &w->def->aim->schedule;
    double time = 0.0;
    judge_targets(w, 0);
    for (int k = 0; k < schedule->n_step && !w->out->is_stopped; k++) {
        double dt = schedule->dt[schedule->n_dt > 1 ? k : 0];
        for (int i = 0; i < w->out->n_row; i++) {
            if (w->out->row[i].has_motion) {
                step_law(w, i, k, dt, time);
            }
        }
        time += dt;
        measure_gaps(w, time);
        judge_targets(w, k + 1);
        cri_progress_state state = {"step", k + 1, schedule->n_step, NAN};
        w->out->is_stopped = !cri_progress_tell(w->def->progress, &state);
    }
    settle_motion(w);
}

// ---- gradients ---------------------------------------------------------------------------------

/// Runs law i with its gradient, which is added to adjoint.
static cr_status pull_back(const work *w, int i, cri_point *adjoint, cr_error *err) {
    double loss = 0.0;
    CR_TRY(cri_aim_run(w->def->aim, w->run[i].sim, w->def->point, &loss, err));
    return cri_aim_gradient(w->def->aim, w->run[i].sim, adjoint, err);
}

static bool listen(void *context, const cri_progress_state *state) {
    listener *l = context;
    const cri_compare_def *def = l->w->def;
    l->w->out->is_stopped = l->w->out->is_stopped || !cri_progress_tell(def->progress, state);
    l->is_late = l->is_late || (isfinite(l->deadline) && def->seconds() > l->deadline);
    return !l->is_late && !l->w->out->is_stopped;
}

/// The k-th entry of n in an order whose beginnings are spread over all: multiples of the golden
/// section of n, modulo n, once the stride has no divisor in common with it.
static int spread(int k, int n) {
    CR_ASSERT(n > 0);
    int stride = (int)(0.6180339887498949 * n);
    for (int a = stride, b = n; stride > 1; a = --stride, b = n) {
        while (b != 0) {
            int rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) {
            break;
        }
    }
    return (int)((long long)k * (stride > 1 ? stride : 1) % n);
}

static void check_gradient(work *w, int i, const double *value, double *z) {
    const cri_compare_def *def = w->def;
    cri_compare_row *row = &w->out->row[i];
    int n = def->selection->n_variable;
    bool is_limited = def->check_longest > 0.0 && def->seconds;
    listener ear = {w, is_limited ? def->seconds() + def->check_longest : INFINITY, false};
    cri_progress progress = {listen, &ear};
    cri_check check = {.model = def->model,
                       .sim = w->run[i].plain,
                       .selection = def->selection,
                       .aim = def->aim,
                       .point = def->point,
                       .scale = cri_aim_scale(def->aim),
                       .is_one_sided = (row->report.grad & CR_GRAD_ONE_SIDED) != 0,
                       .is_difference = (row->report.grad & CR_GRAD_DIFFERENCES) != 0,
                       .progress = &progress};
    double size = 0.0, gap = NAN;
    for (int k = 0; k < n; k++) {
        size = fmax(size, fabs(value[k]));
    }
    for (int k = 0; k < n; k++) {
        int entry = spread(k, n);
        check.where = (cri_progress_state){row->law->name, k, n, NAN};
        cri_check_result found = cri_check_entry(&check, entry, value[entry], z);
        if (ear.is_late || w->out->is_stopped) {
            return;
        }
        row->n_checked++;
        row->n_undecided += !found.is_good && !found.is_decided;
        row->n_wrong += !found.is_good && found.is_decided;
        if (found.is_good || found.is_decided) {
            // fmax passes over the NAN that stands there before the first
            gap = fmax(gap, fabs(value[entry] - found.difference));
            size = fmax(size, fabs(found.difference));
        }
        row->gradient_error = size > 0.0 ? gap / size : gap;
    }
}

static cr_status run_gradient(work *w, int i, cri_point *adjoint, cr_error *err) {
    const cri_compare_def *def = w->def;
    cri_compare_row *row = &w->out->row[i];
    size_t n = (size_t)def->selection->n_variable;
    double *value = CR_PUSH(w->arena, double, n), *z = CR_PUSH(w->arena, double, n);
    if (!value || !z) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the gradients");
    }
    cr_error own = {0};
    if (pull_back(w, i, adjoint, &own) != CR_OK) {
        fail_row(row, "", &own);
        return CR_OK;
    }
    row->report.grad |= cr_sim_report(w->run[i].sim)->grad;
    cri_selection_write_vjp(def->selection, adjoint, value);
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        sum = hypot(sum, value[k]);
    }
    if (!isfinite(sum)) {
        snprintf(own.text, sizeof own.text, "the gradient is not a finite number; shorten the run");
        fail_row(row, "", &own);
        return CR_OK;
    }
    row->has_gradient = true;
    row->gradient_norm = sum;
    cri_selection_read(def->selection, def->point, z);
    check_gradient(w, i, value, z);
    return CR_OK;
}

// ---- times -------------------------------------------------------------------------------------

static void time_law(work *w, int i, cri_point *adjoint) {
    cri_compare_row *row = &w->out->row[i];
    const cri_compare_def *def = w->def;
    double to_us = 1e6 / def->aim->schedule.n_step, loss = 0.0;
    double start = def->seconds();
    if (cri_aim_run(def->aim, w->run[i].plain, def->point, &loss, NULL) == CR_OK) {
        row->step_us = fmin(row->step_us, to_us * (def->seconds() - start));
    }
    if (!row->has_gradient ||
        cri_aim_run(def->aim, w->run[i].sim, def->point, &loss, NULL) != CR_OK) {
        return;
    }
    start = def->seconds();
    if (cri_aim_gradient(def->aim, w->run[i].sim, adjoint, NULL) == CR_OK) {
        row->gradient_us = fmin(row->gradient_us, to_us * (def->seconds() - start));
    }
}

static void run_times(work *w, cri_point *adjoint) {
    double start = w->def->seconds();
    for (int k = 0; k < N_ROUND && !w->out->is_stopped; k++) {
        if (k > 0 && w->def->seconds() - start > ROUNDS_LONGEST) {
            break;
        }
        for (int i = 0; i < w->out->n_row && !w->out->is_stopped; i++) {
            if (w->out->row[i].has_motion) {
                time_law(w, i, adjoint);
            }
            cri_progress_state state = {"round", k, N_ROUND, NAN};
            w->out->is_stopped = !cri_progress_tell(w->def->progress, &state);
        }
    }
}

// ---- the whole ---------------------------------------------------------------------------------

static cr_status run_all(work *w, cr_error *err) {
    const cri_compare_def *def = w->def;
    for (int i = 0; i < w->out->n_row; i++) {
        CR_TRY(open_law(w, i, err));
    }
    run_motion(w);
    for (int i = 0; i < w->out->n_row && !w->out->is_stopped; i++) {
        cri_point adjoint = {0};
        CR_TRY(cri_point_push_rows(def->selection, def->point->n_u_row, w->arena, &adjoint, err));
        if (w->out->row[i].has_motion) {
            CR_TRY(run_gradient(w, i, &adjoint, err));
        }
    }
    cri_point adjoint = {0};
    CR_TRY(cri_point_push_rows(def->selection, def->point->n_u_row, w->arena, &adjoint, err));
    if (def->seconds) {
        run_times(w, &adjoint);
    }
    return CR_OK;
}

static void add_row(cri_compare *out, const cri_law *law) {
    CR_ASSERT(out->n_row < CRI_COMPARE_LIMIT);
    for (int j = 0; j < CRI_COMPARE_LIMIT; j++) {
        out->gap[out->n_row][j].from = NAN;
    }
    out->row[out->n_row++] = (cri_compare_row){.law = law,
                                               .has_motion = true,
                                               .report = cri_report_none(),
                                               .max_penetration = NAN,
                                               .energy_change = NAN,
                                               .gradient_norm = NAN,
                                               .gradient_error = NAN,
                                               .step_us = NAN,
                                               .gradient_us = NAN,
                                               .facts = contact_facts_none()};
}

cr_status cri_compare_run(const cri_compare_def *def, cr_arena *arena, cri_compare *out,
                          cr_error *err) {
    CR_ASSERT(def->model && def->aim && def->point && def->selection && arena && out);
    *out = (cri_compare){.is_driven = def->aim->has_control || def->model->mech.n_actuator > 0};
    work w = {.def = def, .out = out, .arena = arena};
    for (int i = 0; cri_law_at(i); i++) {
        add_row(out, cri_law_at(i));
    }
    // energies need bodies that are apart, which a scene's start seldom is
    for (int i = 0; cri_law_stepped_at(i) && !cri_law_stepped_at(i)->is_energy; i++) {
        add_row(out, cri_law_stepped_at(i));
    }
    // nets are those of one law, the scene's own
    const cri_law *own = def->model->law[0] ? cri_law_find(def->model->law) : NULL;
    if (own && own->needs_nets) {
        add_row(out, own);
    }
    cr_status status = run_all(&w, err);
    for (int i = 0; i < out->n_row; i++) {
        cr_sim_destroy(w.run[i].plain);
        cr_sim_destroy(w.run[i].sim);
    }
    return status;
}
