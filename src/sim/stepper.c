// SPDX-License-Identifier: MIT
//
// The table of steppers, one line each, and what they share: reports and contacts.

#include "sim/sim.h"

#include <math.h>
#include <string.h>

static const cri_stepper *const steppers[] = {
    &cri_stepper_located,
    &cri_stepper_end,
    &cri_stepper_soft,
    &cri_stepper_implicit,
};

const cri_stepper *cri_stepper_at(int i) {
    int n = (int)(sizeof steppers / sizeof steppers[0]);
    return i >= 0 && i < n ? steppers[i] : NULL;
}

const cri_stepper *cri_stepper_find(const char *name) {
    CR_ASSERT(name);
    for (int i = 0; cri_stepper_at(i); i++) {
        if (strcmp(steppers[i]->name, name) == 0) {
            return steppers[i];
        }
    }
    return NULL;
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
        return !name || strcmp(name, own) == 0 ? cri_stepper_find(own) : NULL;
    }
    name = name ? name : cri_stepper_located.name;
    return owner(name) ? NULL : cri_stepper_find(name);
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
