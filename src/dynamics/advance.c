// SPDX-License-Identifier: MIT
//
// q' = q (+) t v, joint by joint:
//
//   numbers        x' = x + t v
//   quaternions    q' = q exp(t w)     theta' = exp(-t w) theta + Jr(t w) (t w_tan + t_tan w)

#include "dynamics/advance.h"

#include "base/base.h"

/// A joint's ordinary numbers and its rotation, in q and v.
typedef struct parts {
    int n_linear; // ordinary numbers
    int q, v;     // first of them
    int quat;     // first of the quaternion, -1: none
    int spin;     // first of the spin
} parts;

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
