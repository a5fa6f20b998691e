// SPDX-License-Identifier: MIT
//
// The energy of an implicit step (long-range contact potential, section 6, in tree coordinates):
//
//   E(q') = sum over bodies of inertia and gravity  (energy/inertial.c)
//         + mu P(q'), and limits of joints          (energy/potential.h)
//         + friction of the motion from q           (energy/slip.c)
//         + springs, drives and damping             (energy/joint_energy.c)
//
// The pose before is not part of the state: q_last = q - h v for linear coordinates, and R_last =
// R exp(-h w), which is exact, since the step returns the velocities that belong to it.

#include "sim/implicit.h"

#include "base/math/dense.h"
#include "base/math/lane.h"

#include <math.h>
#include <string.h>

double cri_implicit_mu(const cr_sim *sim) {
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

static cri_inertial_path path_of(const cri_implicit *s, int body) {
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
        cri_inertial_path path = path_of(s, b);
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

static cri_joint_step joints_of(const cri_implicit *s) {
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
    cri_joint_step joints = joints_of(s);
    double springs = cri_joint_energy(&joints, g, H, &size);
    *noise = 2.2e-16 * size;
    return contact + inertia + springs;
}

// the motion of each body may not turn further in one step, rad
static const double most_turn = 1.5;

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

// poles that this part of the way to them, or from them, does not bend
static const double straight = 1e-7;

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
        .sim = sim, .h = record->h, .mu = cri_implicit_mu(sim), .x = record->x, .u = record->u};
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
