// SPDX-License-Identifier: MIT
//
// The implicit step: the next position is where an energy is least (sim/implicit.c), the next
// velocity what belongs to both positions. Its derivatives are those of the condition that the
// gradient g of the energy is zero, with the factor of its second derivatives H that Newton's
// method ends with:
//
//   tangent   q'_tan = -H^-1 (g_q q_tan + g_last last_tan + g_u u_tan + g_p p_tan)
//   adjoint   l = -H^-1 q'_adj,  then the derivatives of the number l . g for all that g reads
//   velocity  v' = (q' - q)/h,  w' = log(R* R')/h:  dt = Jr(t)^-1 d' - Jr(-t)^-1 d,  t = h w'
//   last      R_last = R exp(-h w):  d_last = exp(h w) d - h Jr(-h w) dw
//
// d are rotations in body frames. Contract: derivatives of the time-stepping map (discrete).

#include "sim/implicit.h"

#include "base/math/dense.h"
#include "base/math/lane.h"

#include <math.h>
#include <string.h>

// the motion of each body may not turn further in one step, rad
static const double most_turn = 1.5;

// poles that this part of the way to them, or from them, does not bend
static const double straight = 1e-7;

/// Arrays of one call, in scratch.
typedef struct work {
    double *l;                    // (n_v) the unknown, or the right-hand side
    double *now, *last, *rate;    // (n_v)
    double *motion;               // (n_body, 6) of the next poses
    double *pose_now, *pose_last; // (n_body, 6)
} work;

// ---- the system and its solve -------------------------------------------------------------------

// The energy of an implicit step (long-range contact potential, section 6, in tree coordinates):
//
//   E(q') = sum over bodies of inertia and gravity  (energy/inertial.c)
//         + mu P(q'), and limits of joints          (energy/potential.h)
//         + friction of the motion from q           (energy/slip.c)
//         + springs, drives and damping             (energy/joint_energy.c)
//
// The pose before is not part of the state: q_last = q - h v for linear coordinates, and R_last =
// R exp(-h w), which is exact, since the step returns the velocities that belong to it.

/// mu of the law, or that of the scene.
static double implicit_mu(const cr_sim *sim) {
    return sim->d.mu[0] > 0.0 ? sim->d.mu[0] : sim->world.law->mu;
}

void cri_implicit_retract(const cri_mechanism *mech, const double *q, double part, const double *d,
                          double *q_out) {
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int n_linear = joint->n_q >= 4 ? joint->n_q - 4 : joint->n_q;
        for (int i = 0; i < n_linear; i++) {
            q_out[joint->q + i] = q[joint->q + i] + part * d[joint->v + i];
        }
        if (joint->n_q >= 4) {
            int at = joint->q + n_linear;
            cri_vec3 turn = cri_v3_scale(part, cri_v3_load(d + joint->v + n_linear));
            cri_quat to = cri_quat_mul(cri_q4_load(q + at), cri_quat_exp(turn));
            cri_q4_store(cri_quat_normalise(to), q_out + at);
        }
    }
}

// ---- the problem -------------------------------------------------------------------------------

static void move(void *self, double part, const double *d) {
    cri_implicit *s = self;
    cri_implicit_retract(&s->sim->model->mech, s->q_stand, part, d, s->q_tried);
    cri_frames_set(&s->tried, s->q_tried);
}

static void accept(void *self) {
    cri_implicit *s = self;
    const cri_mechanism *mech = &s->sim->model->mech;
    memcpy(s->q_stand, s->q_tried, sizeof(double) * (size_t)mech->n_q);
    memcpy(s->stand.pose, s->tried.pose, sizeof *s->stand.pose * (size_t)mech->n_body);
    memcpy(s->stand.w, s->tried.w, sizeof *s->stand.w * (size_t)mech->n_v);
    memcpy(s->stand.v, s->tried.v, sizeof *s->stand.v * (size_t)mech->n_v);
    cri_longrange_poles *poles = s->poles[0];
    s->poles[0] = s->poles[1];
    s->poles[1] = poles;
    cri_slip_knees *knees = s->knees[0];
    s->knees[0] = s->knees[1];
    s->knees[1] = knees;
}

// adds the sums over bodies to the gradient
static void pull(cri_implicit *s, double *g) {
    for (int b = 0; b < s->sim->model->mech.n_body; b++) {
        cri_v3_store(cri_affine_torque(s->N + 9 * b), s->force + 6 * b);
        memcpy(s->force + 6 * b + 3, s->F + 3 * b, 3 * sizeof(double));
    }
    cri_frames_pull(&s->tried, s->force, g);
}

static double add_limits(cri_implicit *s, double *g, double *H) {
    const cr_model *m = s->sim->model;
    double sum = 0.0;
    for (int i = 0; i < m->n_limit; i++) {
        cri_joint_term t;
        cri_limit_term_at(m, i, s->q_tried, s->mu, &t);
        sum += t.value;
        cri_joint_term_add(&t, m->mech.n_v, g, H);
    }
    return sum;
}

// everything that is proportional to mu, and then friction, which is not the next position's alone
static double add_contact(cri_implicit *s, double *g, double *H) {
    cri_body_sum sum = {s->F, s->N, H};
    int n_v = s->sim->model->mech.n_v;
    const cri_potential_notes notes = {s->touch, s->poles[1]};
    double value =
        cri_potential_sum(s->sim->potential, &s->tried, s->mu, &sum, &notes, s->sim->scratch);
    if (!isfinite(value)) {
        return value;
    }
    value += add_limits(s, g, H);
    memcpy(s->contact, g, sizeof *g * (size_t)n_v);
    pull(s, s->contact);
    for (int i = 0; i < n_v; i++) {
        s->contact[i] /= s->mu;
    }
    return value + cri_slip_sum(s->sim->potential, &s->slips, &s->tried, &sum, s->knees[1],
                                s->sim->scratch);
}

static cri_inertial_path system_path(const cri_implicit *s, int body) {
    return (cri_inertial_path){&s->tried.pose[body], &s->now.pose[body], &s->last.pose[body],
                               s->sim->d.mech.gravity, s->h};
}

// what the value would change by if the pose were another by its own size: joints round it in other
// ways than the springs that hold the body against F and N
static double rounded(const cri_inertial_force *f, const cri_pose *next) {
    return cri_v3_norm(cri_v3_load(f->F)) * cri_v3_norm(next->pos) + sqrt(cri_dot(9, f->N, f->N));
}

static double add_inertia(cri_implicit *s, double *H, double *size) {
    const cri_mechanism *mech = &s->sim->model->mech;
    double sum = 0.0;
    for (int b = 0; b < mech->n_body; b++) {
        const cri_link_derived *link = &s->sim->d.mech.link[b];
        if (mech->link[b].unit < 0 || link->mass == 0.0) {
            continue;
        }
        cri_inertial_path path = system_path(s, b);
        cri_inertial_force f;
        double block[36];
        cri_inertial_energy(link, &path, &f);
        cri_inertial_hessian(link, path.next, s->h, block);
        cri_frames_add_block(&s->tried, b, b, block, 6, H);
        sum += f.value;
        *size += fabs(f.value) + rounded(&f, path.next);
        cri_add_scaled(3, 1.0, f.F, s->F + 3 * b);
        cri_add_scaled(9, 1.0, f.N, s->N + 9 * b);
    }
    return sum;
}

static cri_joint_step system_joints(const cri_implicit *s) {
    const cr_sim *sim = s->sim;
    return (cri_joint_step){&sim->model->mech,
                            &sim->d.mech,
                            s->q_tried,
                            s->x,
                            s->x + sim->model->sizes.n_q,
                            s->u,
                            s->h};
}

static double value(void *self, double *g, double *H, double *noise) {
    cri_implicit *s = self;
    const cri_mechanism *mech = &s->sim->model->mech;
    size_t n_v = (size_t)mech->n_v, n_body = (size_t)mech->n_body;
    memset(g, 0, sizeof *g * n_v);
    memset(H, 0, sizeof *H * n_v * n_v);
    memset(s->F, 0, sizeof *s->F * 3 * n_body);
    memset(s->N, 0, sizeof *s->N * 9 * n_body);
    double contact = add_contact(s, g, H);
    if (!isfinite(contact)) {
        return contact;
    }
    double size = fabs(contact);
    double inertia = add_inertia(s, H, &size);
    cri_frames_add_curvature(&s->tried, s->F, s->N, s->joint, H);
    pull(s, g);
    cri_joint_step joints = system_joints(s);
    double springs = cri_joint_energy(&joints, g, H, &size);
    *noise = 2.2e-16 * size;
    return contact + inertia + springs;
}

static double limit(void *self, const double *d) {
    cri_implicit *s = self;
    const cr_model *m = s->sim->model;
    double part = cri_limit_part(m, s->q_stand, d);
    cri_frames_motion(&s->stand, d, s->force);
    for (int b = 0; b < m->mech.n_body; b++) {
        double turn = cri_v3_norm(cri_v3_load(s->force + 6 * b));
        part = turn * part > most_turn ? most_turn / turn : part;
    }
    // a tree's way there depends on how far it goes, a free body's does not: what was safe on the
    // way to one pose is so on the way to a nearer one with a little to spare
    for (int i = 0; i < 60; i++) {
        move(self, part, d);
        double room =
            cri_potential_limit(s->sim->potential, s->touch, s->stand.pose, s->tried.pose);
        if (!s->sim->has_tree || room >= 1.0) {
            return part * room;
        }
        part *= (i < 1 ? 0.99 : 0.8) * room;
    }
    return 0.0;
}

/// Sum over the poles of a pair of r(y) - y - bend y^2/2, r(y) = y/(1 - bend y/2): infinite beyond
/// one. Adds to g (12) and to H (12, 12), upper triangle, unless that is NULL.
static double bend_pair(const cri_longrange_poles *poles, const double *motion, double *g,
                        double *H) {
    double sum = 0.0;
    for (int k = 0; k < poles->n; k++) {
        const cri_longrange_pole *pole = &poles->at[k];
        double y = cri_row12_dot(pole->g, motion), b = 0.5 * pole->bend * y, t = 1.0 / (1.0 - b);
        if (b >= 0.999) {
            return INFINITY;
        }
        if (fabs(b) < straight) {
            continue;
        }
        double curve = pole->bend * (t * t * t - 1.0);
        sum += y * b * b * t;
        cri_row12_add(t * t - 1.0 - 2.0 * b, pole->g, g);
        for (int i = 0; H && i < 12; i++) {
            cri_row12_add_upper(i, curve * pole->g[i], pole->g, H);
        }
    }
    return sum;
}

// of pair k, its bodies moving with s->force; nothing but the value is set where that is 0
static void bend_of(const cri_implicit *s, int k, bool has_H, cri_pair_bend *out) {
    const cri_potential *p = s->sim->potential;
    double motion[12];
    int body[2];
    out->value = 0.0;
    if (s->poles[0][k].n == 0 && s->knees[0][k].n == 0) {
        return;
    }
    cri_potential_bodies(p, k, body);
    for (int i = 0; i < 12; i++) {
        motion[i] = body[i / 6] >= 0 ? s->force[6 * body[i / 6] + i % 6] : 0.0;
    }
    memset(out->g, 0, sizeof out->g);
    if (has_H) {
        memset(out->H, 0, sizeof out->H);
    }
    double *H = has_H ? out->H : NULL;
    out->value = bend_pair(&s->poles[0][k], motion, out->g, H);
    if (isfinite(out->value)) {
        out->value += cri_slip_bend(&s->knees[0][k], p->slip, motion, out->g, H);
    }
    for (int i = 0; has_H && i < 144; i++) {
        out->H[i] = i % 12 < i / 12 ? out->H[12 * (i % 12) + i / 12] : out->H[i];
    }
}

static void add_bend(cri_implicit *s, int k, double *H) {
    const cri_pair_bend *one = &s->bent[k];
    int body[2];
    cri_potential_bodies(s->sim->potential, k, body);
    for (int i = 0; i < 12; i++) {
        if (body[i / 6] >= 0) {
            s->force_bent[6 * body[i / 6] + i % 6] += one->g[i];
        }
    }
    if (H) {
        cri_frames_add_block(&s->stand, body[0], body[0], one->H, 12, H);
        cri_frames_add_block(&s->stand, body[1], body[1], one->H + 12 * 6 + 6, 12, H);
        cri_frames_add_block(&s->stand, body[0], body[1], one->H + 6, 12, H);
    }
}

static double bend(void *self, const double *d, double *g, double *H) {
    cri_implicit *s = self;
    const cri_potential *p = s->sim->potential;
    int n_all = p->n_pair + p->n_half;
    double sum = 0.0;
    cri_frames_motion(&s->stand, d, s->force);
    memset(s->force_bent, 0, sizeof *s->force_bent * 6 * (size_t)s->sim->model->mech.n_body);
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) if (H && p->work >= CRI_MUCH_WORK)
#endif
    for (int i = 0; i < n_all; i++) {
        bend_of(s, p->order[i], H != NULL, &s->bent[p->order[i]]);
    }
    for (int k = 0; k < n_all; k++) {
        sum += s->bent[k].value;
    }
    for (int k = 0; isfinite(sum) && k < n_all; k++) {
        if (s->bent[k].value != 0.0) {
            add_bend(s, k, H);
        }
    }
    if (!isfinite(sum)) {
        return INFINITY;
    }
    cri_frames_pull(&s->stand, s->force_bent, g);
    return sum;
}

// inertia of the bodies of joints
static void stiffen(void *self, const double *s_dof, double *H) {
    cri_implicit *s = self;
    const cri_mechanism *mech = &s->sim->model->mech;
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        double factor = 0.0, block[36];
        for (int i = joint->v; i < joint->v + joint->n_v; i++) {
            factor = fmax(factor, s_dof[i]);
        }
        if (factor == 0.0) {
            continue;
        }
        cri_inertial_hessian(&s->sim->d.mech.link[joint->body], &s->stand.pose[joint->body], s->h,
                             block);
        for (int i = 0; i < 36; i++) {
            block[i] *= factor;
        }
        cri_frames_add_block(&s->stand, joint->body, joint->body, block, 6, H);
    }
}

static double size(void *self, const double *d) {
    cri_implicit *s = self;
    double most = 0.0;
    cri_frames_motion(&s->stand, d, s->force);
    for (int b = 0; b < s->sim->model->mech.n_body; b++) {
        const double *m = s->force + 6 * b;
        double own = cri_v3_norm(cri_v3_load(m + 3)) / s->body_size[b];
        most = fmax(most, own + cri_v3_norm(cri_v3_load(m)));
    }
    return most;
}

cri_descent cri_implicit_problem(cri_implicit *step) {
    return (cri_descent){.n = step->sim->model->mech.n_v,
                         .groups = step->groups,
                         .self = step,
                         .move = move,
                         .accept = accept,
                         .value = value,
                         .limit = limit,
                         .stiffen = stiffen,
                         .bend = bend,
                         .size = size,
                         .tolerance = 1e-9,
                         .most = 600}; // a tangle at 40 m/s took more than 200
}

// ---- a step begins -----------------------------------------------------------------------------

static void stand_at_start(cri_implicit *s) {
    memcpy(s->q_stand, s->x, sizeof(double) * (size_t)s->sim->model->sizes.n_q);
    cri_frames_set(&s->stand, s->q_stand);
}

void cri_implicit_guess(cri_implicit *s, bool is_start) {
    const cr_sizes *z = &s->sim->model->sizes;
    stand_at_start(s);
    if (is_start) {
        return;
    }
    for (int i = 0; i < z->n_v; i++) {
        s->step[i] = s->h * s->x[z->n_q + i];
    }
    // what is stopped by a surface is stopped before it: half of the way to a tenth of the gap
    double part = limit(s, s->step);
    move(s, part < 1.0 ? 0.5 * part : 1.0, s->step);
    accept(s);
}

// dofs of one body are a group; joints of a body follow one another
static bool group(const cri_mechanism *mech, cr_arena *scratch, cri_groups *out) {
    int *first = CR_PUSH(scratch, int, mech->n_joint + 1), n = 0;
    for (int j = 0; first && j < mech->n_joint; j++) {
        n += j > 0 && mech->joint[j].body != mech->joint[j - 1].body;
        first[n + 1] = mech->joint[j].v + mech->joint[j].n_v;
    }
    *out = (cri_groups){n + 1, first};
    return first != NULL;
}

static void measure(cri_implicit *s) {
    const cri_potential *p = s->sim->potential;
    for (int b = 0; b < s->sim->model->mech.n_body; b++) {
        s->body_size[b] = 0.0;
    }
    for (int i = 0; i < p->n_mantle; i++) {
        if (p->mantle[i].body >= 0) {
            double *own = &s->body_size[p->mantle[i].body];
            *own = fmax(*own, p->mantle[i].reach);
        }
    }
    for (int b = 0; b < s->sim->model->mech.n_body; b++) {
        s->body_size[b] = s->body_size[b] > 0.0 ? s->body_size[b] : 1.0;
    }
}

bool cri_implicit_begin(cr_sim *sim, const cri_step_record *record, cr_arena *keep,
                        cr_arena *scratch, cri_implicit *s) {
    const cr_sizes *z = &sim->model->sizes;
    size_t n_body = (size_t)z->n_body;
    *s = (cri_implicit){
        .sim = sim, .h = record->h, .mu = implicit_mu(sim), .x = record->x, .u = record->u};
    const cri_potential *p = sim->potential;
    bool is_good = group(&sim->model->mech, scratch, &s->groups) &&
                   cri_frames_push_like(&sim->frames, keep, &s->now) &&
                   cri_frames_push_like(&sim->frames, keep, &s->last) &&
                   cri_frames_push_like(&sim->frames, keep, &s->stand) &&
                   cri_frames_push_like(&sim->frames, scratch, &s->tried);
    s->q_stand = CR_PUSH(scratch, double, 2 * z->n_q);
    s->F = CR_PUSH(scratch, double, 25 * n_body);
    s->joint = CR_PUSH(scratch, double, 12 * sim->model->mech.n_joint);
    s->step = CR_PUSH(scratch, double, z->n_v);
    s->contact = CR_PUSH(keep, double, z->n_v);
    s->touch = CR_PUSH(keep, cri_potential_touch, p->n_pair + p->n_half);
    s->poles[0] = CR_PUSH_RAW(scratch, cri_longrange_poles, p->n_pair + p->n_half);
    s->poles[1] = CR_PUSH_RAW(scratch, cri_longrange_poles, p->n_pair + p->n_half);
    s->bent = CR_PUSH_RAW(scratch, cri_pair_bend, p->n_pair + p->n_half);
    s->knees[0] = CR_PUSH_RAW(scratch, cri_slip_knees, p->n_pair + p->n_half);
    s->knees[1] = CR_PUSH_RAW(scratch, cri_slip_knees, p->n_pair + p->n_half);
    if (!is_good || cri_arena_has_failed(scratch) || cri_arena_has_failed(keep)) {
        return false;
    }
    s->q_tried = s->q_stand + z->n_q;
    s->N = s->F + 3 * n_body;
    s->force = s->N + 9 * n_body;
    s->body_size = s->force + 6 * n_body;
    s->force_bent = s->body_size + n_body;
    measure(s);
    cri_implicit_retract(&sim->model->mech, s->x, -s->h, s->x + z->n_q, s->q_tried);
    cri_frames_set(&s->last, s->q_tried);
    stand_at_start(s);
    cri_frames_set(&s->now, s->q_stand);
    return true;
}

// ---- the step -----------------------------------------------------------------------------------

// ---- what a step may begin with ----------------------------------------------------------------

static cr_status refuse_start(const cr_sim *sim, const cri_implicit *s, cr_error *err) {
    const cr_model *m = sim->model;
    int geom[2];
    for (int i = 0; i < m->n_limit; i++) {
        cri_joint_term t;
        cri_limit_term_at(m, i, s->x, 1.0, &t);
        if (!isfinite(t.value)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "joint %.60s is at or beyond its limit where the step begins; the law "
                            "%.40s needs room",
                            m->joint_name[m->mech.dof_joint[m->limit[i].dof[0]]],
                            sim->world.law->name);
        }
    }
    if (!cri_potential_meet(sim->potential, s->now.pose, geom)) {
        return cri_fail(err, CR_ERR_NUMERIC, 0,
                        "two surfaces are too close for numbers where the step begins");
    }
    const char *name[2];
    bool has_hulls = sim->potential->form == CRI_POTENTIAL_SDRS;
    for (int i = 0; i < 2; i++) {
        int body = m->geom[geom[i]].body;
        name[i] = body >= 0 ? m->body_name[body] : m->geom_name[geom[i]];
    }
    return cri_fail(err, CR_ERR_ARGUMENT, 0,
                    "%.60s and %.60s touch or overlap%s where the step begins; the law %.40s needs "
                    "them apart: move one of them",
                    name[0], name[1], has_hulls ? ", by their hulls," : "", sim->world.law->name);
}

// barriers on distances do not know that surfaces have passed through each other, and none knows
// that one is inside of another
static bool is_overlapping(const cr_sim *sim, const cri_implicit *s) {
    const cri_potential *p = sim->potential;
    int geom[2];
    if (p->form == CRI_POTENTIAL_PENALTY) {
        return false;
    }
    return p->form == CRI_POTENTIAL_LONGRANGE ? cri_potential_nest(p, s->now.pose, geom)
                                              : cri_potential_meet(p, s->now.pose, geom);
}

// ---- the step ----------------------------------------------------------------------------------

// displacements of dofs over the step
static void displacements(const cri_mechanism *mech, const double *q, const double *next,
                          double *turn) {
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int n_linear = joint->n_q >= 4 ? joint->n_q - 4 : joint->n_q, at = joint->q + n_linear;
        for (int i = 0; i < n_linear; i++) {
            turn[joint->v + i] = next[joint->q + i] - q[joint->q + i];
        }
        if (joint->n_q >= 4) {
            cri_quat back = {q[at], -q[at + 1], -q[at + 2], -q[at + 3]};
            cri_vec3 t = cri_quat_log(cri_quat_mul(back, cri_q4_load(next + at)));
            cri_v3_store(t, turn + joint->v + n_linear);
        }
    }
}

static cr_status solve(cr_sim *sim, cri_implicit *s, cri_step_record *record,
                       cri_block_factor *factor, cr_error *err) {
    cri_descent problem = cri_implicit_problem(s);
    cri_descent_report report;
    if (is_overlapping(sim, s)) {
        return refuse_start(sim, s, err);
    }
    cri_potential_forget(sim->potential);
    CR_TRY(cri_slip_find(sim->potential, s->now.pose, s->h, s->mu, sim->tape, sim->scratch,
                         &s->slips, err));
    // a gap near what numbers can tell may be lost on the way to the guess
    for (int i = 0; i < 2; i++) {
        cri_implicit_guess(s, i > 0);
        cri_descent_run(&problem, factor, sim->scratch, &report);
        if (!report.has_memory || report.is_allowed) {
            break;
        }
    }
    if (!report.has_memory) {
        return cri_arena_has_failed(sim->scratch)
                   ? cri_no_memory(err)
                   : cri_fail(err, CR_ERR_NUMERIC, 0,
                              "the energy of the step is no number: a velocity, or mu, length or "
                              "slip of the law %.40s, is out of bounds",
                              sim->world.law->name);
    }
    if (!report.is_allowed) {
        return refuse_start(sim, s, err);
    }
    record->report.n_iteration = report.n_step;
    record->report.residual = report.size;
    record->report.outcome = report.is_solved ? CR_SOLVED : CR_ITERATION_LIMIT;
    record->report.grad = CR_GRAD_DISCRETE | (report.is_solved ? 0 : CR_GRAD_REFUSED) |
                          (sim->world.law->n_descent > 0 ? CR_GRAD_UNROLLED : 0);
    return CR_OK;
}

static cr_status implicit_step(cr_sim *sim, cri_step_record *record, double *x_next,
                               cr_error *err) {
    const cr_sizes *z = &sim->model->sizes;
    size_t n_v = (size_t)z->n_v;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    cri_implicit s;
    cri_implicit_record *data = CR_PUSH(sim->tape, cri_implicit_record, 1);
    double *turn = CR_PUSH(sim->tape, double, n_v);
    cri_block_factor factor, kept = {.n_value = 0};
    if (!data || !turn || !cri_implicit_begin(sim, record, sim->tape, sim->scratch, &s) ||
        !cri_block_factor_push(&s.groups, sim->scratch, &factor)) {
        return cri_no_memory(err);
    }
    cr_status status = solve(sim, &s, record, &factor, err);
    if (status == CR_OK && !cri_block_factor_keep(&factor, sim->tape, &kept)) {
        status = cri_no_memory(err);
    }
    if (status == CR_OK) {
        displacements(&sim->model->mech, s.x, s.q_stand, turn);
        memcpy(x_next, s.q_stand, sizeof *x_next * (size_t)z->n_q);
        for (size_t i = 0; i < n_v; i++) {
            x_next[(size_t)z->n_q + i] = turn[i] / s.h;
        }
    }
    *data = (cri_implicit_record){.mu = s.mu,
                                  .factor = kept,
                                  .now = s.now,
                                  .last = s.last,
                                  .next = s.stand,
                                  .slips = s.slips,
                                  .contact = s.contact,
                                  .turn = turn,
                                  .touch = s.touch,
                                  .potential = sim->potential};
    record->data = data;
    cri_arena_rewind(sim->scratch, mark);
    return status;
}

// ---- derivatives -------------------------------------------------------------------------------

static int turn_of(const cri_joint *joint) {
    return joint->n_q >= 4 ? joint->v + joint->n_v - 3 : -1;
}

static bool push_work(cr_sim *sim, work *w) {
    const cr_sizes *z = &sim->model->sizes;
    w->l = CR_PUSH(sim->scratch, double, 4 * z->n_v);
    w->motion = CR_PUSH(sim->scratch, double, 18 * z->n_body);
    if (!w->l || !w->motion) {
        return false;
    }
    w->now = w->l + z->n_v;
    w->last = w->now + z->n_v;
    w->rate = w->last + z->n_v;
    w->pose_now = w->motion + 6 * z->n_body;
    w->pose_last = w->pose_now + 6 * z->n_body;
    return true;
}

static cri_joint_step joints_of(const cr_sim *sim, const cri_step_record *record) {
    return (cri_joint_step){&sim->model->mech,
                            &sim->d.mech,
                            record->x_next,
                            record->x,
                            record->x + sim->model->sizes.n_q,
                            record->u,
                            record->h};
}

static cri_inertial_path path_of(const cr_sim *sim, const cri_step_record *record, int b) {
    const cri_implicit_record *data = record->data;
    return (cri_inertial_path){&data->next.pose[b], &data->now.pose[b], &data->last.pose[b],
                               sim->d.mech.gravity, record->h};
}

static bool has_inertia(const cr_sim *sim, int b) {
    return sim->model->mech.link[b].unit >= 0 && sim->d.mech.link[b].mass > 0.0;
}

static cri_size_step sizes_of(const cr_sim *sim, const cri_implicit_record *data) {
    return (cri_size_step){sim->potential, &data->slips, &data->next, data->now.pose};
}

// only longrange has derivatives for sizes
static bool has_sizes(const cr_sim *sim) {
    return sim->potential->form == CRI_POTENTIAL_LONGRANGE;
}

// adjoint of the velocities: adds to those of the positions next and now
static void velocities_vjp(const cri_mechanism *mech, const cri_step_record *record,
                           const double *v_adj, double *next_adj, double *now_adj) {
    const cri_implicit_record *data = record->data;
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int turn = turn_of(joint), end = turn >= 0 ? turn : joint->v + joint->n_v;
        for (int i = joint->v; i < end; i++) {
            next_adj[i] += v_adj[i] / record->h;
            now_adj[i] -= v_adj[i] / record->h;
        }
        if (turn >= 0) {
            cri_vec3 t = cri_v3_load(data->turn + turn), back = cri_v3_scale(-1.0, t);
            cri_vec3 a = cri_v3_scale(1.0 / record->h, cri_v3_load(v_adj + turn));
            cri_v3_accumulate(cri_so3_right_inverse(back, a), next_adj + turn);
            cri_vec3 b = cri_so3_right_inverse(t, a);
            cri_v3_accumulate(cri_v3_scale(-1.0, b), now_adj + turn);
        }
    }
}

// adjoint of the positions before: adds to those of positions and velocities now
static void last_vjp(const cri_mechanism *mech, const cri_step_record *record, int n_q,
                     const double *last_adj, double *now_adj, double *v_adj) {
    double h = record->h;
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int turn = turn_of(joint), end = turn >= 0 ? turn : joint->v + joint->n_v;
        for (int i = joint->v; i < end; i++) {
            now_adj[i] += last_adj[i];
            v_adj[i] -= h * last_adj[i];
        }
        if (turn >= 0) {
            cri_vec3 a = cri_v3_load(last_adj + turn);
            cri_vec3 hw = cri_v3_scale(h, cri_v3_load(record->x + n_q + turn));
            cri_so3 forth = cri_so3_of(hw), back = cri_so3_of(cri_v3_scale(-1.0, hw));
            cri_v3_accumulate(cri_so3_unrotate(&forth, a), now_adj + turn);
            cri_v3_accumulate(cri_v3_scale(-h, cri_so3_right_vjp(&back, a)), v_adj + turn);
        }
    }
}

static void inertia_vjp(cr_sim *sim, const cri_step_record *record, const work *w) {
    for (int b = 0; b < sim->model->mech.n_body; b++) {
        if (!has_inertia(sim, b)) {
            continue;
        }
        cri_inertial_path path = path_of(sim, record, b);
        cri_inertial_adj adj;
        memset(&adj, 0, sizeof adj);
        cri_inertial_energy_vjp(&sim->d.mech.link[b], &path, w->motion + 6 * b, &adj);
        cri_add_scaled(6, 1.0, adj.now, w->pose_now + 6 * b);
        cri_add_scaled(6, 1.0, adj.last, w->pose_last + 6 * b);
        cri_add_scaled(3, 1.0, adj.gravity, sim->d_adj.mech.gravity);
        cri_link_derived *link = &sim->d_adj.mech.link[b];
        link->mass += adj.link.mass;
        link->com = cri_v3_add(link->com, adj.link.com);
        cri_add_scaled(6, 1.0, adj.link.J, link->J);
    }
}

// l = -H^-1 l, or what a few steps of descent make of it
static bool unwind(const cr_sim *sim, const cri_implicit_record *data, double *l) {
    int n_v = sim->model->mech.n_v, n_step = sim->world.law->n_descent;
    bool is_good = true;
    if (n_step > 0) {
        is_good = cri_descent_unroll(&data->factor, n_step, l, sim->scratch);
    } else {
        cri_block_factor_solve(&data->factor, l);
    }
    for (int i = 0; i < n_v; i++) {
        l[i] = -l[i];
    }
    return is_good;
}

static cr_status implicit_vjp(cr_sim *sim, const cri_step_record *record, double *y_adj,
                              double *u_adj, cr_error *err) {
    const cri_implicit_record *data = record->data;
    const cri_mechanism *mech = &sim->model->mech;
    int n_v = mech->n_v;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    work w;
    if (!push_work(sim, &w)) {
        return cri_no_memory(err);
    }
    // x_next = (q', velocities)
    memcpy(w.l, y_adj, sizeof *y_adj * (size_t)n_v);
    velocities_vjp(mech, record, y_adj + n_v, w.l, w.now);

    // g(q') = 0
    bool is_good = unwind(sim, data, w.l);
    cri_frames_motion(&data->next, w.l, w.motion);
    inertia_vjp(sim, record, &w);
    cri_joint_step joints = joints_of(sim, record);
    cri_joint_energy_vjp(&joints, w.l, w.now, w.rate, u_adj, &sim->d_adj.mech);
    cri_size_step sizes = sizes_of(sim, data);
    is_good = is_good && cri_slip_sum_vjp(&sizes, w.motion, w.pose_now, sim->d_adj.mu, &sim->d_adj,
                                          sim->scratch);
    sim->d_adj.mu[0] += cri_dot(n_v, w.l, data->contact);
    is_good = is_good && (!has_sizes(sim) || !sim->wants_p ||
                          cri_size_step_vjp(&sizes, w.motion, &sim->d_adj, sim->scratch));

    // poses now and before
    cri_frames_pull(&data->now, w.pose_now, w.now);
    cri_frames_pull(&data->last, w.pose_last, w.last);
    last_vjp(mech, record, sim->model->sizes.n_q, w.last, w.now, w.rate);
    memcpy(y_adj, w.now, sizeof *y_adj * (size_t)n_v);
    memcpy(y_adj + n_v, w.rate, sizeof *y_adj * (size_t)n_v);
    cri_arena_rewind(sim->scratch, mark);
    return is_good ? CR_OK : cri_no_memory(err);
}

static void last_jvp(const cri_mechanism *mech, const cri_step_record *record, int n_q,
                     const double *q_tan, const double *v_tan, double *last_tan) {
    double h = record->h;
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int turn = turn_of(joint), end = turn >= 0 ? turn : joint->v + joint->n_v;
        for (int i = joint->v; i < end; i++) {
            last_tan[i] = q_tan[i] - h * v_tan[i];
        }
        if (turn >= 0) {
            cri_vec3 hw = cri_v3_scale(h, cri_v3_load(record->x + n_q + turn));
            cri_so3 forth = cri_so3_of(hw), back = cri_so3_of(cri_v3_scale(-1.0, hw));
            cri_vec3 a = cri_so3_rotate(&forth, cri_v3_load(q_tan + turn));
            cri_vec3 b = cri_so3_right(&back, cri_v3_load(v_tan + turn));
            cri_v3_store(cri_v3_mad(a, -h, b), last_tan + turn);
        }
    }
}

// in place: y_tan (n_tangent) from q'_tan (n_v) and the tangents of positions now, which it holds
static void velocities_jvp(const cri_mechanism *mech, const cri_step_record *record,
                           const double *next_tan, double *y_tan) {
    const cri_implicit_record *data = record->data;
    double *v_tan = y_tan + mech->n_v;
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int turn = turn_of(joint), end = turn >= 0 ? turn : joint->v + joint->n_v;
        for (int i = joint->v; i < end; i++) {
            v_tan[i] = (next_tan[i] - y_tan[i]) / record->h;
        }
        if (turn >= 0) {
            cri_vec3 t = cri_v3_load(data->turn + turn), back = cri_v3_scale(-1.0, t);
            cri_vec3 a = cri_so3_right_inverse(t, cri_v3_load(next_tan + turn));
            cri_vec3 b = cri_so3_right_inverse(back, cri_v3_load(y_tan + turn));
            cri_v3_store(cri_v3_scale(1.0 / record->h, cri_v3_sub(a, b)), v_tan + turn);
        }
    }
    memcpy(y_tan, next_tan, sizeof *y_tan * (size_t)mech->n_v);
}

// forces (n_body, 6) on the next poses, in w->motion
static void inertia_jvp(const cr_sim *sim, const cri_step_record *record, bool has_params,
                        const work *w) {
    for (int b = 0; b < sim->model->mech.n_body; b++) {
        if (!has_inertia(sim, b)) {
            continue;
        }
        cri_inertial_path path = path_of(sim, record, b);
        cri_inertial_tan tan = {.now = w->pose_now + 6 * b, .last = w->pose_last + 6 * b};
        if (has_params) {
            tan.gravity = sim->d_tan.mech.gravity;
            tan.link = &sim->d_tan.mech.link[b];
        }
        cri_inertial_energy_jvp(&sim->d.mech.link[b], &path, &tan, w->motion + 6 * b);
    }
}

static cr_status implicit_jvp(cr_sim *sim, const cri_step_record *record, double *y_tan,
                              const double *u_tan, cr_error *err) {
    const cri_implicit_record *data = record->data;
    const cri_mechanism *mech = &sim->model->mech;
    int n_v = mech->n_v;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    bool has_params = !sim->is_d_fixed, is_good = true;
    const cri_derived *d_tan = has_params ? &sim->d_tan : NULL;
    work w;
    if (!push_work(sim, &w)) {
        return cri_no_memory(err);
    }
    cri_sim_move_all(sim);

    // poses now and before
    last_jvp(mech, record, sim->model->sizes.n_q, y_tan, y_tan + n_v, w.last);
    cri_frames_motion(&data->now, y_tan, w.pose_now);
    cri_frames_motion(&data->last, w.last, w.pose_last);

    // g(q') = 0
    inertia_jvp(sim, record, has_params, &w);
    cri_size_step sizes = sizes_of(sim, data);
    cri_slip_sum_jvp(&sizes, w.pose_now, d_tan, w.motion);
    if (has_params) {
        is_good = !has_sizes(sim) || cri_size_step_jvp(&sizes, d_tan, w.motion, sim->scratch);
        cri_add_scaled(n_v, d_tan->mu[0], data->contact, w.l);
    }
    cri_frames_pull(&data->next, w.motion, w.l);
    cri_joint_step joints = joints_of(sim, record);
    cri_joint_tan tan = {y_tan, y_tan + n_v, u_tan, d_tan ? &d_tan->mech : NULL};
    cri_joint_energy_jvp(&joints, &tan, w.l);
    is_good = unwind(sim, data, w.l) && is_good;
    velocities_jvp(mech, record, w.l, y_tan);
    cri_arena_rewind(sim->scratch, mark);
    return is_good ? CR_OK : cri_no_memory(err);
}

static int implicit_contacts(const cri_step_record *record, cr_contact *out) {
    const cri_implicit_record *data = record->data;
    const cri_potential *p = data->potential;
    int n = 0;
    for (int k = 0; k < p->n_pair + p->n_half; k++) {
        const cri_potential_touch *t = &data->touch[k];
        const cri_mantle_pair *pair = &p->pair[k];
        cri_vec3 f = cri_v3_load(t->force);
        double length = cri_v3_norm(f);
        if (!isfinite(t->gap) || length == 0.0) {
            continue;
        }
        // on the second geom: a plane, or the lower one, comes first
        double sign = pair->plane >= 0 ? 1.0 : -1.0;
        if (out) {
            int own = p->mantle[pair->mantle[0]].geom;
            int other = pair->plane >= 0 ? pair->plane : p->mantle[pair->mantle[1]].geom;
            out[n] = (cr_contact){.time = record->h, .gap = t->gap};
            out[n].geom[0] = pair->plane >= 0 ? other : own;
            out[n].geom[1] = pair->plane >= 0 ? own : other;
            memcpy(out[n].point, t->point, sizeof t->point);
            cri_v3_store(cri_v3_scale(sign / length, f), out[n].normal);
            cri_v3_store(cri_v3_scale(sign * record->h, f), out[n].impulse);
        }
        n++;
    }
    return n;
}

const cri_stepper cri_stepper_implicit = {
    .name = "implicit",
    .summary = "the next position minimises an energy: for laws that are one",
    .keeps_records = true,
    .step = implicit_step,
    .vjp = implicit_vjp,
    .jvp = implicit_jvp,
    .contacts = implicit_contacts,
};
