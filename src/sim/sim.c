// SPDX-License-Identifier: MIT
//
// The simulator: workspace, parameters, single steps, save and restore.
//
// A step normalises quaternions first, so a radial change of a quaternion has derivative zero.
// Between the raw numbers of x and the tangent coordinates of the steppers (base/math/quat.h):
//
//   x_adj  ->  y_adj     position, velocity as they are, rotation by cri_quat_tangent_vjp at x_next
//   y_adj  ->  x_adj     rotation by cri_quat_normalise_vjp at the raw x

#include "model/ground_nets.h"
#include "model/system.h"
#include "sim/scan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// first blocks: enough for a few bodies, more is chained
enum {
    TAPE_BYTES = 1 << 15,
    SCRATCH_BYTES = 1 << 14,
    OUTPUT_BYTES = 1 << 10,
    LIST_BYTES = 1 << 13
};

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
    CR_TRY(cri_sim_check_options(model, options, err));
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
                             .outside = cri_sim_outside(options->outside)};
    sim->report = cri_report_none();
    cr_model_defaults(model, -1, sim->p, NULL, NULL);
    cr_status status = cr_sim_set_params(sim, sim->p, err);
    if (status == CR_OK && sim->stepper == &cri_stepper_implicit) {
        status = push_potential(sim, err);
    }
    status = status == CR_OK ? cri_surrogate_create(sim, options, err) : status;
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
        cr_status status = cri_surrogate_pull(sim, record, x_next_adj, x_adj, u_adj, &is_done);
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

/// Head of saved bytes: tells this model's from another's.
typedef struct saved_head {
    char magic[8];
    int32_t n_p;
    int32_t n_x;
    int32_t n_geom;
    int32_t n_warm;
} saved_head;

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
