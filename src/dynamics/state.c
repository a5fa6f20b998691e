// SPDX-License-Identifier: MIT
//
// Forward kinematics with velocities, parents first (derivation: trees in MJCF's conventions):
//
//   frame    p = P + R_P pos,  R = R_P R(quat),  v = V + w x (p - P)
//   slide    p += axis (q - ref),  v += w x axis (q - ref) + axis qd
//   hinge    R = R exp(jaxis (q - ref)),  w += axis qd         about the anchor, whose velocity
//   ball     R = R R(q),  w += R qd                            stays that of the frame before
//   free     p = q_x,  R = R(q_r),  v = v_x,  w = R v_r

#include "dynamics/state.h"

#include <string.h>

/// A frame with its velocity, all in the world.
typedef struct moving {
    cri_vec3 p, v, w;
    cri_mat3 R;
} moving;

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
