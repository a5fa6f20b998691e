// SPDX-License-Identifier: MIT
//
// Kinematics along the path from the root to one body. A joint that turns by a small world rotation
// theta about its anchor a moves the end e of the path by theta x (e - a):
//
//   hinge, ball    theta_adj = (e - a) x e_adj,  taken along the axis or into the child's frame
//   slide          q_adj = axis . e_adj
//   free           x_adj = e_adj,  theta_adj = R'((e - p) x e_adj)

#include "dynamics/body_position.h"

#include "base/base.h"

/// What goes back along the path; NULL x_adj: nothing.
typedef struct pull {
    cri_vec3 end;
    cri_vec3 adj;
    double *x_adj;
} pull;

// adjoint of a rotation in the frame R about anchor, raw quaternion at q
static void quat_vjp(const pull *p, const cri_mat3 *R, cri_vec3 anchor, const double *q,
                     double *q_adj) {
    cri_vec3 turn = cri_v3_cross(cri_v3_sub(p->end, anchor), p->adj);
    cri_quat_normalise_vjp(cri_q4_load(q), cri_m3_tmul(R, turn), q_adj);
}

static void apply_joint(const cri_joint *j, const double *x, cri_pose *f, const pull *p) {
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
        apply_joint(&m->mech.joint[link->first_joint + k], x, &f, p);
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
