// SPDX-License-Identifier: MIT
//
// What a run's contacts were like.
//
//   slip     v_t = (1 - n n') (v_1 - v_0),  v_i = v + R (w x R'(point - origin)) of the two bodies
//            at the end of the step
//   lift     mu |v_t|, what the convex cone gives a sliding contact as v_n (docs/laws/cone.md)
//   turn     angle of the tangential impulse to the nearest of the directions 45 k degrees from the
//            first tangent, at most 22.5 degrees (docs/laws/lcp.md); friction of an isotropic law
//            points against the slip

#include "optimize/contact_facts.h"

#include "contact/island.h"
#include "sim/sim.h"

#include <math.h>

// tangential impulses below this part of the normal one are rounding
#define TANGENT_LEAST 1e-9

// contacts that belong to one impact act within this part of a second
#define TIME_LEAST 1e-12

static const double pi = 3.14159265358979323846;

cri_contact_facts cri_contact_facts_none(void) {
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

void cri_contact_facts_add(cri_contact_facts *facts, cr_sim *sim, const cri_state *state,
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
