// SPDX-License-Identifier: MIT
//
// From a feature number to the primitive pair of geometry/collide.h, and back for the derivatives.
//
// The rate of the gap is n . (velocity of the contact point of geom 1 - that of geom 0); a sphere's
// spin moves its contact point across the normal only.

#include "contact/feature.h"

/// The numbers of one feature, unpacked.
typedef struct view {
    const cri_pair *pair;
    int corner;
    const double *size[2]; // of the two geoms
    cri_vec3 normal;       // plane
    cri_vec3 pos[2];
    cri_quat quat; // of body 1
} view;

static view unpack(const cri_world *w, int feature, const double *x) {
    CR_VALIDATE(feature >= 0 && feature < w->model->n_feature);
    const cri_feature *f = &w->model->feature[feature];
    const cri_pair *pair = &w->model->pair[f->pair];
    view v = {.pair = pair, .corner = f->corner};
    for (int s = 0; s < 2; s++) {
        v.size[s] = w->d->geom[pair->geom[s]].size;
        if (pair->body[s] >= 0) {
            v.pos[s] = cri_v3_load(x + 7 * pair->body[s]);
        }
    }
    v.normal = w->model->geom[pair->geom[0]].normal;
    v.quat = cri_q4_load(x + 7 * pair->body[1] + 3);
    return v;
}

cri_touch cri_feature_touch(const cri_world *w, int feature, const double *x) {
    view v = unpack(w, feature, x);
    switch (v.pair->kind) {
    case CRI_PAIR_PLANE_SPHERE:
        return cri_plane_sphere(v.normal, v.size[0][0], v.pos[1], v.size[1][0]);
    case CRI_PAIR_PLANE_BOX: {
        cri_mat3 R = cri_quat_rotation(v.quat);
        return cri_plane_box(v.normal, v.size[0][0], v.pos[1], &R,
                             cri_box_corner(v.size[1], v.corner));
    }
    case CRI_PAIR_SPHERE_SPHERE:
        break;
    }
    return cri_sphere_sphere(cri_v3_sub(v.pos[1], v.pos[0]), v.size[0][0], v.size[1][0]);
}

void cri_feature_touch_vjp(const cri_world *w, int feature, const double *x, const cri_touch *adj,
                           double *q_adj, const cri_derived *d_adj) {
    view v = unpack(w, feature, x);
    double *size_adj[2] = {d_adj->geom[v.pair->geom[0]].size, d_adj->geom[v.pair->geom[1]].size};
    double *q1_adj = q_adj + 6 * v.pair->body[1];
    cri_vec3 pos_adj = {0}, rot_adj = {0};
    switch (v.pair->kind) {
    case CRI_PAIR_PLANE_SPHERE:
        cri_plane_sphere_vjp(v.normal, adj, &pos_adj, size_adj[0], size_adj[1]);
        break;
    case CRI_PAIR_PLANE_BOX: {
        cri_mat3 R = cri_quat_rotation(v.quat);
        cri_plane_box_vjp(v.normal, &R, v.corner, v.size[1], adj, &pos_adj, &rot_adj, size_adj);
        cri_v3_accumulate(rot_adj, q1_adj + 3);
        break;
    }
    case CRI_PAIR_SPHERE_SPHERE: {
        // delta = pos_1 - pos_0
        cri_vec3 delta = cri_v3_sub(v.pos[1], v.pos[0]);
        cri_sphere_sphere_vjp(delta, v.size[0][0], v.size[1][0], adj, &pos_adj, size_adj[0],
                              size_adj[1]);
        cri_v3_accumulate(cri_v3_scale(-1.0, pos_adj), q_adj + 6 * v.pair->body[0]);
        break;
    }
    }
    cri_v3_accumulate(pos_adj, q1_adj);
}

cri_touch cri_feature_touch_jvp(const cri_world *w, int feature, const double *x,
                                const double *q_tan, const cri_derived *d_tan) {
    view v = unpack(w, feature, x);
    const double *size_tan[2] = {d_tan->geom[v.pair->geom[0]].size,
                                 d_tan->geom[v.pair->geom[1]].size};
    const double *q1_tan = q_tan + 6 * v.pair->body[1];
    cri_vec3 pos_tan = cri_v3_load(q1_tan);
    switch (v.pair->kind) {
    case CRI_PAIR_PLANE_SPHERE:
        return cri_plane_sphere_jvp(v.normal, pos_tan, size_tan[0][0], size_tan[1][0]);
    case CRI_PAIR_PLANE_BOX: {
        cri_mat3 R = cri_quat_rotation(v.quat);
        return cri_plane_box_jvp(v.normal, &R, v.corner, v.size[1], pos_tan,
                                 cri_v3_load(q1_tan + 3), size_tan[0][0], size_tan[1]);
    }
    case CRI_PAIR_SPHERE_SPHERE:
        break;
    }
    cri_vec3 delta = cri_v3_sub(v.pos[1], v.pos[0]);
    cri_vec3 delta_tan = cri_v3_sub(pos_tan, cri_v3_load(q_tan + 6 * v.pair->body[0]));
    return cri_sphere_sphere_jvp(delta, v.size[0][0], v.size[1][0], delta_tan, size_tan[0][0],
                                 size_tan[1][0]);
}

double cri_feature_speed(const cri_world *w, int feature, const cri_touch *touch, const double *x,
                         const double *v) {
    const cri_feature *f = &w->model->feature[feature];
    const cri_pair *pair = &w->model->pair[f->pair];
    const double *v1 = v + 6 * pair->body[1];
    cri_vec3 velocity = cri_v3_load(v1);
    if (pair->body[0] >= 0) {
        velocity = cri_v3_sub(velocity, cri_v3_load(v + 6 * pair->body[0]));
    }
    if (pair->kind == CRI_PAIR_PLANE_BOX) {
        cri_mat3 R = cri_quat_rotation(cri_q4_load(x + 7 * pair->body[1] + 3));
        cri_vec3 corner = cri_box_corner(w->d->geom[pair->geom[1]].size, f->corner);
        cri_vec3 turn = cri_v3_cross(cri_v3_load(v1 + 3), corner);
        velocity = cri_v3_add(velocity, cri_m3_mul(&R, turn));
    }
    return cri_v3_dot(touch->normal, velocity);
}
