// SPDX-License-Identifier: MIT
//
// q' = q (+) t v, joint by joint:
//
//   numbers        x' = x + t v
//   quaternions    q' = q exp(t w)     theta' = exp(-t w) theta + Jr(t w) (t w_tan + t_tan w)

#include "dynamics/unit.h"

#include "base/arena.h"
#include "base/base.h"
#include "dynamics/tree.h"
#include "model/derived.h"
#include "model/mechanism.h"
#include "model/model.h"

#include <string.h>

/// What goes back along the path; NULL x_adj: nothing.
typedef struct pull {
    cri_vec3 end;
    cri_vec3 adj;
    double *x_adj;
} pull;

/// A frame with its velocity, all in the world.
typedef struct moving {
    cri_vec3 p, v, w;
    cri_mat3 R;
} moving;

/// Stages of the spin, replayed by the derivatives.
typedef struct stages {
    cri_vec3 w[4];
    cri_vec3 k[4];
    cri_vec3 turn; // Om
} stages;

/// A joint's ordinary numbers and its rotation, in q and v.
typedef struct parts {
    int n_linear; // ordinary numbers
    int q, v;     // first of them
    int quat;     // first of the quaternion, -1: none
    int spin;     // first of the spin
} parts;

// ---- positions ----------------------------------------------------------------------------------

// Kinematics along the path from the root to one body. A joint that turns by a small world rotation
// theta about its anchor a moves the end e of the path by theta x (e - a):
//
//   hinge, ball    theta_adj = (e - a) x e_adj,  taken along the axis or into the child's frame
//   slide          q_adj = axis . e_adj
//   free           x_adj = e_adj,  theta_adj = R'((e - p) x e_adj)

// adjoint of a rotation in the frame R about anchor, raw quaternion at q
static void quat_vjp(const pull *p, const cri_mat3 *R, cri_vec3 anchor, const double *q,
                     double *q_adj) {
    cri_vec3 turn = cri_v3_cross(cri_v3_sub(p->end, anchor), p->adj);
    cri_quat_normalise_vjp(cri_q4_load(q), cri_m3_tmul(R, turn), q_adj);
}

static void place_joint(const cri_joint *j, const double *x, cri_pose *f, const pull *p) {
    const double *q = x + j->q;
    double *q_adj = p->x_adj ? p->x_adj + j->q : NULL;
    cri_vec3 anchor = cri_v3_add(f->pos, cri_m3_mul(&f->R, j->pos));
    cri_vec3 axis = cri_m3_mul(&f->R, j->axis);
    cri_mat3 turn;
    switch (j->kind) {
    case CRI_JOINT_FREE:
        f->pos = cri_v3_load(q);
        f->R = cri_quat_rotation(cri_quat_normalise(cri_q4_load(q + 3)));
        if (q_adj) {
            cri_v3_accumulate(p->adj, q_adj);
            quat_vjp(p, &f->R, f->pos, q + 3, q_adj + 3);
        }
        return;
    case CRI_JOINT_SLIDE:
        f->pos = cri_v3_mad(f->pos, q[0] - j->ref, axis);
        if (q_adj) {
            q_adj[0] += cri_v3_dot(axis, p->adj);
        }
        return;
    case CRI_JOINT_BALL:
        turn = cri_quat_rotation(cri_quat_normalise(cri_q4_load(q)));
        f->R = cri_m3_product(&f->R, &turn);
        if (q_adj) {
            quat_vjp(p, &f->R, anchor, q, q_adj);
        }
        break;
    case CRI_JOINT_HINGE:
        turn = cri_quat_rotation(cri_quat_exp(cri_v3_scale(q[0] - j->ref, j->axis)));
        f->R = cri_m3_product(&f->R, &turn);
        if (q_adj) {
            q_adj[0] += cri_v3_dot(axis, cri_v3_cross(cri_v3_sub(p->end, anchor), p->adj));
        }
        break;
    }
    f->pos = cri_v3_sub(anchor, cri_m3_mul(&f->R, j->pos));
}

static cri_pose walk(const cr_model *m, int body, const double *x, const pull *p) {
    if (body < 0) {
        return cri_model_static_pose(m, -1);
    }
    const cri_link *link = &m->mech.link[body];
    cri_pose f = walk(m, link->parent, x, p);
    cri_mat3 turn = cri_quat_rotation(link->quat);
    f.pos = cri_v3_add(f.pos, cri_m3_mul(&f.R, link->pos));
    f.R = cri_m3_product(&f.R, &turn);
    for (int k = 0; k < link->n_joint; k++) {
        place_joint(&m->mech.joint[link->first_joint + k], x, &f, p);
    }
    return f;
}

cri_vec3 cri_body_position(const cr_model *m, int body, cri_vec3 point, const double *x) {
    CR_ASSERT(body >= -1 && body < m->mech.n_body);
    cri_pose f = walk(m, body, x, &(pull){.x_adj = NULL});
    return cri_v3_add(f.pos, cri_m3_mul(&f.R, point));
}

void cri_body_position_vjp(const cr_model *m, int body, cri_vec3 point, const double *x,
                           cri_vec3 pos_adj, double *x_adj) {
    CR_ASSERT(body >= -1 && body < m->mech.n_body);
    CR_ASSERT(x_adj);
    pull p = {.end = cri_body_position(m, body, point, x), .adj = pos_adj, .x_adj = x_adj};
    walk(m, body, x, &p);
}

// ---- where bodies are ---------------------------------------------------------------------------

// Forward kinematics with velocities, parents first (derivation: trees in MJCF's conventions):
//
//   frame    p = P + R_P pos,  R = R_P R(quat),  v = V + w x (p - P)
//   slide    p += axis (q - ref),  v += w x axis (q - ref) + axis qd
//   hinge    R = R exp(jaxis (q - ref)),  w += axis qd         about the anchor, whose velocity
//   ball     R = R R(q),  w += R qd                            stays that of the frame before
//   free     p = q_x,  R = R(q_r),  v = v_x,  w = R v_r

size_t cri_state_bytes(const cr_model *model) {
    return (size_t)model->mech.n_body * (sizeof(cri_pose) + 6 * sizeof(double)) +
           (size_t)model->mech.n_unit * sizeof(cri_tree *) + 128;
}

void cri_state_push(const cr_model *model, const double *x, cri_state *state, cr_arena *arena) {
    CR_ASSERT(x && state && arena);
    int n_body = model->mech.n_body;
    *state = (cri_state){.x = x};
    state->pose = CR_PUSH_RAW(arena, cri_pose, n_body);
    state->motion = CR_PUSH_RAW(arena, double, 6 * n_body);
    state->tree = CR_PUSH(arena, cri_tree *, model->mech.n_unit);
    for (int b = 0; b < n_body; b++) {
        if (model->mech.link[b].unit < 0) {
            state->pose[b] = model->static_pose[b];
            memset(state->motion + 6 * b, 0, 6 * sizeof(double));
        }
    }
}

// turns the frame about its anchor, with an additional spin
static void turn_about(moving *f, cri_vec3 local, cri_vec3 anchor, const cri_mat3 *R,
                       cri_vec3 spin) {
    cri_vec3 at = cri_v3_add(f->v, cri_v3_cross(f->w, cri_v3_sub(anchor, f->p)));
    f->R = *R;
    f->w = cri_v3_add(f->w, spin);
    cri_vec3 arm = cri_m3_mul(R, local);
    f->p = cri_v3_sub(anchor, arm);
    f->v = cri_v3_sub(at, cri_v3_cross(f->w, arm));
}

static void apply_joint(const cri_joint *j, const double *q, const double *v, moving *f) {
    q += j->q;
    v += j->v;
    cri_vec3 anchor = cri_v3_add(f->p, cri_m3_mul(&f->R, j->pos));
    cri_vec3 axis = cri_m3_mul(&f->R, j->axis);
    cri_mat3 turn, R;
    switch (j->kind) {
    case CRI_JOINT_FREE:
        f->p = cri_v3_load(q);
        f->R = cri_quat_rotation(cri_q4_load(q + 3));
        f->v = cri_v3_load(v);
        f->w = cri_m3_mul(&f->R, cri_v3_load(v + 3));
        break;
    case CRI_JOINT_BALL:
        turn = cri_quat_rotation(cri_q4_load(q));
        R = cri_m3_product(&f->R, &turn);
        turn_about(f, j->pos, anchor, &R, cri_m3_mul(&R, cri_v3_load(v)));
        break;
    case CRI_JOINT_HINGE:
        turn = cri_quat_rotation(cri_quat_exp(cri_v3_scale(q[0] - j->ref, j->axis)));
        R = cri_m3_product(&f->R, &turn);
        turn_about(f, j->pos, anchor, &R, cri_v3_scale(v[0], axis));
        break;
    case CRI_JOINT_SLIDE: {
        cri_vec3 shift = cri_v3_scale(q[0] - j->ref, axis);
        f->p = cri_v3_add(f->p, shift);
        f->v = cri_v3_add(f->v, cri_v3_mad(cri_v3_cross(f->w, shift), v[0], axis));
        break;
    }
    }
}

static moving frame_of(const cr_model *m, const cri_state *state, int body) {
    moving f = {.R = {{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}}};
    if (body >= 0) {
        const double *motion = state->motion + 6 * body;
        f.p = state->pose[body].pos;
        f.R = state->pose[body].R;
        if (m->mech.link[body].unit >= 0) {
            f.v = cri_v3_load(motion);
            f.w = cri_m3_mul(&f.R, cri_v3_load(motion + 3));
        }
    }
    return f;
}

static void set_tree(const cr_model *m, cri_state *state, const cri_unit *u) {
    const double *q = state->x, *v = state->x + m->sizes.n_q;
    for (int b = u->first_body; b < u->first_body + u->n_body; b++) {
        const cri_link *link = &m->mech.link[b];
        if (link->unit < 0) {
            continue;
        }
        moving f = frame_of(m, state, link->parent);
        cri_vec3 shift = cri_m3_mul(&f.R, link->pos);
        cri_mat3 turn = cri_quat_rotation(link->quat);
        f.p = cri_v3_add(f.p, shift);
        f.v = cri_v3_add(f.v, cri_v3_cross(f.w, shift));
        f.R = cri_m3_product(&f.R, &turn);
        for (int k = 0; k < link->n_joint; k++) {
            apply_joint(&m->mech.joint[link->first_joint + k], q, v, &f);
        }
        state->pose[b] = (cri_pose){f.p, f.R};
        cri_v3_store(f.v, state->motion + 6 * b);
        cri_v3_store(cri_m3_tmul(&f.R, f.w), state->motion + 6 * b + 3);
    }
}

void cri_state_set_unit(const cr_model *m, cri_state *state, int unit) {
    CR_ASSERT(unit >= 0 && unit < m->mech.n_unit);
    const cri_unit *u = &m->mech.unit[unit];
    state->tree[unit] = NULL;
    if (!u->is_free_body) {
        set_tree(m, state, u);
        return;
    }
    const double *q = state->x + u->first_q;
    state->pose[u->first_body] = (cri_pose){cri_v3_load(q), cri_quat_rotation(cri_q4_load(q + 3))};
    memcpy(state->motion + 6 * u->first_body, state->x + m->sizes.n_q + u->first_v,
           6 * sizeof(double));
}

void cri_state_set(const cr_model *m, cri_state *state) {
    for (int u = 0; u < m->mech.n_unit; u++) {
        cri_state_set_unit(m, state, u);
    }
}

void cri_state_copy(const cr_model *m, const cri_state *from, cri_state *to) {
    CR_ASSERT(from && to && from != to);
    memcpy((double *)to->x, from->x, sizeof(double) * (size_t)m->sizes.n_x);
    memcpy(to->pose, from->pose, sizeof *to->pose * (size_t)m->mech.n_body);
    memcpy(to->motion, from->motion, sizeof(double) * 6 * (size_t)m->mech.n_body);
}

cri_tree *cri_state_tree(const cr_model *m, const cri_derived *d, cri_state *state, int unit,
                         cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(unit >= 0 && !m->mech.unit[unit].is_free_body);
    if (!state->tree[unit]) {
        size_t room = cri_tree_scratch_bytes(&m->mech, unit);
        cri_tree *tree = cri_tree_push(&m->mech, unit, &d->mech, keep);
        if (!tree || !cri_arena_reserve(scratch, room)) {
            return NULL;
        }
        cri_tree_set(tree, state->x, scratch);
        state->tree[unit] = tree;
    }
    return state->tree[unit];
}

void cri_state_pose_vjp(const cr_model *m, const cri_state *state, int body, cri_vec3 pos_adj,
                        cri_vec3 rot_adj, double *q_adj) {
    CR_ASSERT(body < m->mech.n_body);
    int unit = body >= 0 ? m->mech.link[body].unit : -1;
    if (unit < 0) {
        return;
    }
    const cri_unit *u = &m->mech.unit[unit];
    if (u->is_free_body) {
        cri_v3_accumulate(pos_adj, q_adj + u->first_v);
        cri_v3_accumulate(rot_adj, q_adj + u->first_v + 3);
        return;
    }
    double force[6];
    cri_v3_store(pos_adj, force);
    cri_v3_store(rot_adj, force + 3);
    CR_ASSERT(state->tree[unit]);
    cri_tree_pull_body(state->tree[unit], body, force, q_adj);
}

void cri_state_motion(const cr_model *m, const cri_state *state, const bool *is_moved,
                      const double *q_tan, double *body_tan) {
    for (int k = 0; k < m->mech.n_unit; k++) {
        const cri_unit *u = &m->mech.unit[k];
        if (is_moved && !is_moved[k]) {
            memset(body_tan + 6 * u->first_body, 0, 6 * sizeof(double) * (size_t)u->n_body);
        } else if (u->is_free_body) {
            memcpy(body_tan + 6 * u->first_body, q_tan + u->first_v, 6 * sizeof(double));
        } else if (state->tree[k]) {
            cri_tree_motion(state->tree[k], q_tan, body_tan);
        }
    }
}

// ---- a free body --------------------------------------------------------------------------------

// Smooth motion of one free rigid body, force (world) and torque (body) constant:
//
//   x' = v,   v' = g + F/m,   I w' = tau - w x I w,   q' = 1/2 q o (0, w)
//
// Translation is exact. Spin: classical Runge-Kutta on w, and the Magnus expansion on its stages
// for q (right multiplication, hence the plus sign of the commutator):
//
//   k_i = a(w_i),  w_2 = w + t/2 k_1,  w_3 = w + t/2 k_2,  w_4 = w + t k_3
//   w(t) = w + t/6 (k_1 + 2 k_2 + 2 k_3 + k_4)
//   Om   = t/6 (w + 2 w_2 + 2 w_3 + w_4) + t^2/12 w x w_4,      q(t) = q exp(Om)
//
// The term w x I w can be left out, for comparison with engines that have none; w is constant then
// where there is no torque. Local error O(t^5). With equal moments and no torque all w_i agree, and
// the motion is exact: a ball has no integration error at all. q stays a unit quaternion to
// rounding.
//
// Tangents: q(t) moves by  exp(Om)' theta + Jr(Om) Om_tan.  Smooth everywhere.

// tau - w x I w, written so that equal moments give no rounding noise
static cri_vec3 moment_of(const cri_drive *drive, cri_vec3 w) {
    cri_vec3 I = drive->body->inertia, tau = cri_v3_load(drive->wrench + 3);
    if (drive->omits_gyro) {
        return tau;
    }
    return cri_v3(tau.x + (I.y - I.z) * (w.y * w.z), tau.y + (I.z - I.x) * (w.z * w.x),
                  tau.z + (I.x - I.y) * (w.x * w.y));
}

// a(w) = (tau - w x I w)/I
static cri_vec3 angular_rate(const cri_drive *drive, cri_vec3 w) {
    return cri_v3_mul(drive->body->inv_inertia, moment_of(drive, w));
}

static void angular_rate_vjp(const cri_drive *drive, cri_vec3 w, cri_vec3 a_adj, cri_vec3 *w_adj,
                             const cri_drive_adj *adj) {
    const cri_body_derived *d = drive->body;
    cri_vec3 I = d->inertia;

    // a = inv_inertia * moment
    cri_vec3 moment = moment_of(drive, w);
    cri_vec3 m = cri_v3_mul(d->inv_inertia, a_adj);
    adj->body->inv_inertia = cri_v3_add(adj->body->inv_inertia, cri_v3_mul(a_adj, moment));

    // moment = tau + ((I_y - I_z) w_y w_z, ...)
    cri_v3_accumulate(m, adj->wrench + 3);
    if (drive->omits_gyro) {
        return;
    }
    cri_vec3 c = cri_v3(m.x * (w.y * w.z), m.y * (w.z * w.x), m.z * (w.x * w.y));
    adj->body->inertia = cri_v3_add(adj->body->inertia, cri_v3(c.z - c.y, c.x - c.z, c.y - c.x));
    w_adj->x += m.y * (I.z - I.x) * w.z + m.z * (I.x - I.y) * w.y;
    w_adj->y += m.x * (I.y - I.z) * w.z + m.z * (I.x - I.y) * w.x;
    w_adj->z += m.x * (I.y - I.z) * w.y + m.y * (I.z - I.x) * w.x;
}

static cri_vec3 angular_rate_jvp(const cri_drive *drive, cri_vec3 w, cri_vec3 w_tan,
                                 const cri_drive *tan) {
    const cri_body_derived *d = drive->body;
    cri_vec3 I = d->inertia, J = tan->body->inertia;
    cri_vec3 moment = moment_of(drive, w), t = cri_v3_load(tan->wrench + 3);
    cri_vec3 moment_tan =
        cri_v3(t.x + (J.y - J.z) * (w.y * w.z) + (I.y - I.z) * (w_tan.y * w.z + w.y * w_tan.z),
               t.y + (J.z - J.x) * (w.z * w.x) + (I.z - I.x) * (w_tan.z * w.x + w.z * w_tan.x),
               t.z + (J.x - J.y) * (w.x * w.y) + (I.x - I.y) * (w_tan.x * w.y + w.x * w_tan.y));
    moment_tan = drive->omits_gyro ? t : moment_tan;
    return cri_v3_add(cri_v3_mul(tan->body->inv_inertia, moment),
                      cri_v3_mul(d->inv_inertia, moment_tan));
}

static cri_vec3 linear_rate(const cri_drive *drive) {
    cri_vec3 g = cri_v3_load(drive->gravity), F = cri_v3_load(drive->wrench);
    return cri_v3_mad(g, drive->body->inv_mass, F);
}

static void linear_rate_vjp(const cri_drive *drive, cri_vec3 a_adj, const cri_drive_adj *adj) {
    // a = g + F/m
    cri_v3_accumulate(a_adj, adj->gravity);
    cri_v3_accumulate(cri_v3_scale(drive->body->inv_mass, a_adj), adj->wrench);
    adj->body->inv_mass += cri_v3_dot(a_adj, cri_v3_load(drive->wrench));
}

static cri_vec3 linear_rate_jvp(const cri_drive *drive, const cri_drive *tan) {
    cri_vec3 g_tan = cri_v3_load(tan->gravity), F_tan = cri_v3_load(tan->wrench);
    cri_vec3 a_tan = cri_v3_mad(g_tan, drive->body->inv_mass, F_tan);
    return cri_v3_mad(a_tan, tan->body->inv_mass, cri_v3_load(drive->wrench));
}

void cri_acceleration(const cri_drive *drive, cri_vec3 spin, cri_vec3 *linear, cri_vec3 *angular) {
    *linear = linear_rate(drive);
    *angular = angular_rate(drive, spin);
}

void cri_acceleration_vjp(const cri_drive *drive, cri_vec3 spin, cri_vec3 linear_adj,
                          cri_vec3 angular_adj, cri_vec3 *spin_adj, const cri_drive_adj *adj) {
    angular_rate_vjp(drive, spin, angular_adj, spin_adj, adj);
    linear_rate_vjp(drive, linear_adj, adj);
}

void cri_acceleration_jvp(const cri_drive *drive, cri_vec3 spin, cri_vec3 spin_tan,
                          const cri_drive *tan, cri_vec3 *linear_tan, cri_vec3 *angular_tan) {
    *linear_tan = linear_rate_jvp(drive, tan);
    *angular_tan = angular_rate_jvp(drive, spin, spin_tan, tan);
}

// a + 2 b + 2 c + d
static cri_vec3 simpson(const cri_vec3 a[4]) {
    cri_vec3 middle = cri_v3_add(a[1], a[2]);
    return cri_v3_mad(cri_v3_add(a[0], a[3]), 2.0, middle);
}

static stages run_stages(const cri_drive *drive, cri_vec3 spin, double t) {
    stages s;
    s.w[0] = spin;
    s.k[0] = angular_rate(drive, s.w[0]);
    s.w[1] = cri_v3_mad(spin, 0.5 * t, s.k[0]);
    s.k[1] = angular_rate(drive, s.w[1]);
    s.w[2] = cri_v3_mad(spin, 0.5 * t, s.k[1]);
    s.k[2] = angular_rate(drive, s.w[2]);
    s.w[3] = cri_v3_mad(spin, t, s.k[2]);
    s.k[3] = angular_rate(drive, s.w[3]);
    cri_vec3 commutator = cri_v3_cross(s.w[0], s.w[3]);
    s.turn = cri_v3_mad(cri_v3_scale(t / 6.0, simpson(s.w)), t * t / 12.0, commutator);
    return s;
}

cri_body_state cri_flow(const cri_drive *drive, const cri_body_state *s, double t) {
    CR_VALIDATE(isfinite(t));
    CR_VALIDATE(drive->body->inv_mass > 0.0);
    cri_vec3 a = linear_rate(drive);
    stages st = run_stages(drive, s->spin, t);
    return (cri_body_state){
        .pos = cri_v3_mad(cri_v3_mad(s->pos, t, s->vel), 0.5 * t * t, a),
        .quat = cri_quat_mul(s->quat, cri_quat_exp(st.turn)),
        .vel = cri_v3_mad(s->vel, t, a),
        .spin = cri_v3_mad(s->spin, t / 6.0, simpson(st.k)),
    };
}

// adjoint of run_stages for seeds on the turn and on the sum of the k
static void run_stages_vjp(const cri_drive *drive, const stages *s, double t, cri_vec3 turn_adj,
                           cri_vec3 sum_k_adj, cri_vec3 *spin_adj, double *t_adj,
                           const cri_drive_adj *adj) {
    static const double weight[4] = {1.0, 2.0, 2.0, 1.0};
    cri_vec3 w_adj[4], k_adj[4];

    // turn = t/6 (w_1 + 2 w_2 + 2 w_3 + w_4) + t^2/12 w_1 x w_4
    cri_vec3 half = cri_v3_scale(t * t / 12.0, turn_adj);
    cri_vec3 commutator = cri_v3_cross(s->w[0], s->w[3]);
    *t_adj +=
        cri_v3_dot(turn_adj, simpson(s->w)) / 6.0 + t / 6.0 * cri_v3_dot(turn_adj, commutator);
    for (int i = 0; i < 4; i++) {
        w_adj[i] = cri_v3_scale(weight[i] * t / 6.0, turn_adj);
        k_adj[i] = cri_v3_scale(weight[i], sum_k_adj);
    }
    w_adj[0] = cri_v3_add(w_adj[0], cri_v3_cross(s->w[3], half));
    w_adj[3] = cri_v3_add(w_adj[3], cri_v3_cross(half, s->w[0]));

    // k_i = a(w_i), w_i = w + c_i t k_{i-1}, last stage first
    for (int i = 3; i >= 0; i--) {
        angular_rate_vjp(drive, s->w[i], k_adj[i], &w_adj[i], adj);
        *spin_adj = cri_v3_add(*spin_adj, w_adj[i]);
        if (i > 0) {
            double c = i == 3 ? 1.0 : 0.5;
            k_adj[i - 1] = cri_v3_mad(k_adj[i - 1], c * t, w_adj[i]);
            *t_adj += c * cri_v3_dot(w_adj[i], s->k[i - 1]);
        }
    }
}

void cri_flow_vjp(const cri_drive *drive, const cri_body_state *s, double t,
                  const cri_body_tangent *out_adj, cri_body_tangent *s_adj, double *t_adj,
                  const cri_drive_adj *adj) {
    CR_ASSERT(s_adj && t_adj && adj->body && adj->gravity && adj->wrench);
    stages st = run_stages(drive, s->spin, t);
    cri_so3 turn = cri_so3_of(st.turn);

    // spin(t) = spin + t/6 sum k
    s_adj->spin = cri_v3_add(s_adj->spin, out_adj->spin);
    *t_adj += cri_v3_dot(out_adj->spin, simpson(st.k)) / 6.0;
    cri_vec3 sum_k_adj = cri_v3_scale(t / 6.0, out_adj->spin);

    // q(t) = q exp(turn)
    s_adj->rot = cri_v3_add(s_adj->rot, cri_so3_rotate(&turn, out_adj->rot));
    cri_vec3 turn_adj = cri_so3_right_vjp(&turn, out_adj->rot);
    run_stages_vjp(drive, &st, t, turn_adj, sum_k_adj, &s_adj->spin, t_adj, adj);

    // v(t) = v + t a,  x(t) = x + t v + t^2/2 a
    cri_vec3 a = linear_rate(drive);
    cri_vec3 v_end = cri_v3_mad(s->vel, t, a);
    s_adj->pos = cri_v3_add(s_adj->pos, out_adj->pos);
    s_adj->vel = cri_v3_add(s_adj->vel, cri_v3_mad(out_adj->vel, t, out_adj->pos));
    *t_adj += cri_v3_dot(out_adj->vel, a) + cri_v3_dot(out_adj->pos, v_end);
    cri_vec3 a_adj = cri_v3_mad(cri_v3_scale(t, out_adj->vel), 0.5 * t * t, out_adj->pos);
    linear_rate_vjp(drive, a_adj, adj);
}

// tangents of the turn and of t/6 (sum of the k)
static void run_stages_jvp(const cri_drive *drive, const stages *s, double t, cri_vec3 spin_tan,
                           double t_tan, const cri_drive *tan, cri_vec3 *turn_tan,
                           cri_vec3 *gain_tan) {
    cri_vec3 w_tan[4], k_tan[4];
    for (int i = 0; i < 4; i++) {
        double c = i == 3 ? 1.0 : 0.5;
        w_tan[i] = spin_tan;
        if (i > 0) {
            w_tan[i] =
                cri_v3_mad(cri_v3_mad(spin_tan, c * t, k_tan[i - 1]), c * t_tan, s->k[i - 1]);
        }
        k_tan[i] = angular_rate_jvp(drive, s->w[i], w_tan[i], tan);
    }
    *gain_tan = cri_v3_mad(cri_v3_scale(t / 6.0, simpson(k_tan)), t_tan / 6.0, simpson(s->k));

    cri_vec3 commutator = cri_v3_cross(s->w[0], s->w[3]);
    cri_vec3 commutator_tan =
        cri_v3_add(cri_v3_cross(w_tan[0], s->w[3]), cri_v3_cross(s->w[0], w_tan[3]));
    *turn_tan = cri_v3_mad(cri_v3_scale(t / 6.0, simpson(w_tan)), t_tan / 6.0, simpson(s->w));
    *turn_tan = cri_v3_mad(*turn_tan, t * t / 12.0, commutator_tan);
    *turn_tan = cri_v3_mad(*turn_tan, t * t_tan / 6.0, commutator);
}

cri_body_tangent cri_flow_jvp(const cri_drive *drive, const cri_body_state *s, double t,
                              const cri_body_tangent *s_tan, double t_tan, const cri_drive *tan) {
    CR_VALIDATE(isfinite(t));
    stages st = run_stages(drive, s->spin, t);
    cri_so3 turn = cri_so3_of(st.turn);
    cri_vec3 turn_tan, gain_tan;
    run_stages_jvp(drive, &st, t, s_tan->spin, t_tan, tan, &turn_tan, &gain_tan);

    cri_vec3 a = linear_rate(drive), a_tan = linear_rate_jvp(drive, tan);
    cri_vec3 v_end = cri_v3_mad(s->vel, t, a);
    cri_vec3 pos_tan = cri_v3_mad(cri_v3_mad(s_tan->pos, t, s_tan->vel), 0.5 * t * t, a_tan);
    return (cri_body_tangent){
        .pos = cri_v3_mad(pos_tan, t_tan, v_end),
        .rot = cri_v3_add(cri_so3_unrotate(&turn, s_tan->rot), cri_so3_right(&turn, turn_tan)),
        .vel = cri_v3_mad(cri_v3_mad(s_tan->vel, t, a_tan), t_tan, a),
        .spin = cri_v3_add(s_tan->spin, gain_tan),
    };
}

cri_body_tangent cri_flow_rate(const cri_drive *drive, const cri_body_state *s, double t) {
    CR_VALIDATE(isfinite(t));
    static const cri_body_tangent still;
    static const cri_body_derived no_change;
    static const double zero[6];
    cri_drive tan = {.body = &no_change, .gravity = zero, .wrench = zero};
    return cri_flow_jvp(drive, s, t, &still, 1.0, &tan);
}

// ---- all units ----------------------------------------------------------------------------------

static parts parts_of(const cri_joint *j) {
    switch (j->kind) {
    case CRI_JOINT_FREE:
        return (parts){3, j->q, j->v, j->q + 3, j->v + 3};
    case CRI_JOINT_BALL:
        return (parts){0, j->q, j->v, j->q, j->v};
    case CRI_JOINT_HINGE:
    case CRI_JOINT_SLIDE:
        break;
    }
    return (parts){1, j->q, j->v, -1, -1};
}

void cri_advance(const cri_mechanism *mech, int unit, const double *q, const double *v, double t,
                 double *q_out) {
    CR_ASSERT(unit >= 0 && unit < mech->n_unit);
    CR_VALIDATE(isfinite(t));
    const cri_unit *u = &mech->unit[unit];
    for (int j = u->first_joint; j < u->first_joint + u->n_joint; j++) {
        parts p = parts_of(&mech->joint[j]);
        for (int i = 0; i < p.n_linear; i++) {
            q_out[p.q + i] = q[p.q + i] + t * v[p.v + i];
        }
        if (p.quat >= 0) {
            cri_quat turn = cri_quat_exp(cri_v3_scale(t, cri_v3_load(v + p.spin)));
            cri_q4_store(cri_quat_mul(cri_q4_load(q + p.quat), turn), q_out + p.quat);
        }
    }
}

double cri_advance_vjp(const cri_mechanism *mech, int unit, const double *v, double t,
                       double *q_adj, double *v_adj) {
    CR_ASSERT(unit >= 0 && unit < mech->n_unit);
    const cri_unit *u = &mech->unit[unit];
    double t_adj = 0.0;
    for (int j = u->first_joint; j < u->first_joint + u->n_joint; j++) {
        parts p = parts_of(&mech->joint[j]);
        for (int i = 0; i < p.n_linear; i++) {
            // x' = x + t v
            t_adj += q_adj[p.v + i] * v[p.v + i];
            v_adj[p.v + i] += t * q_adj[p.v + i];
        }
        if (p.quat >= 0) {
            // q' = q exp(t w)
            cri_vec3 w = cri_v3_load(v + p.spin), out_adj = cri_v3_load(q_adj + p.spin);
            cri_so3 turn = cri_so3_of(cri_v3_scale(t, w));
            cri_vec3 turn_adj = cri_so3_right_vjp(&turn, out_adj);
            t_adj += cri_v3_dot(turn_adj, w);
            cri_v3_accumulate(cri_v3_scale(t, turn_adj), v_adj + p.spin);
            cri_v3_store(cri_so3_rotate(&turn, out_adj), q_adj + p.spin);
        }
    }
    return t_adj;
}

void cri_advance_jvp(const cri_mechanism *mech, int unit, const double *v, const double *v_tan,
                     double t, double t_tan, double *q_tan) {
    CR_ASSERT(unit >= 0 && unit < mech->n_unit);
    const cri_unit *u = &mech->unit[unit];
    for (int j = u->first_joint; j < u->first_joint + u->n_joint; j++) {
        parts p = parts_of(&mech->joint[j]);
        for (int i = 0; i < p.n_linear; i++) {
            q_tan[p.v + i] += t * v_tan[p.v + i] + t_tan * v[p.v + i];
        }
        if (p.quat >= 0) {
            cri_vec3 w = cri_v3_load(v + p.spin), w_tan = cri_v3_load(v_tan + p.spin);
            cri_so3 turn = cri_so3_of(cri_v3_scale(t, w));
            cri_vec3 turn_tan = cri_v3_mad(cri_v3_scale(t, w_tan), t_tan, w);
            cri_vec3 theta = cri_so3_unrotate(&turn, cri_v3_load(q_tan + p.spin));
            cri_v3_store(cri_v3_add(theta, cri_so3_right(&turn, turn_tan)), q_tan + p.spin);
        }
    }
}
