// SPDX-License-Identifier: MIT
//
// Rows of the contact Jacobian: relative velocity of the contact point along n, t1, t2.
//
//   J = sign [t', w'],   w = R' (rho x t)        (spin in the body frame)
//
// With R moved by R exp[theta]:  w_tan = R' (rho_tan x t + rho x t_tan) - theta x w.

#include "contact/row.h"

#include <string.h>

static const double sign_of_side[2] = {-1.0, 1.0};

cri_row cri_row_at(const cri_world *w, int feature, const double *x) {
    cri_row row = {.feature = feature, .pair = w->model->feature[feature].pair};
    row.touch = cri_feature_touch(w, feature, x);
    row.frame = cri_frame_of(row.touch.normal);
    for (int s = 0; s < 2; s++) {
        int body = row.body[s] = w->model->pair[row.pair].body[s];
        if (body < 0) {
            continue;
        }
        cri_mat3 R = cri_quat_rotation(cri_q4_load(x + 7 * body + 3));
        for (int r = 0; r < 3; r++) {
            cri_vec3 t = cri_v3_scale(sign_of_side[s], row.frame.axis[r]);
            cri_v3_store(t, row.J[s][r]);
            cri_v3_store(cri_m3_tmul(&R, cri_v3_cross(row.touch.arm[s], t)), row.J[s][r] + 3);
        }
    }
    return row;
}

void cri_row_at_vjp(const cri_world *w, const cri_row *row, const double *x, double J_adj[2][3][6],
                    double *q_adj, const cri_derived *d_adj) {
    cri_frame frame_adj = {0};
    cri_touch touch_adj = {0};
    for (int s = 0; s < 2; s++) {
        if (row->body[s] < 0) {
            continue;
        }
        cri_mat3 R = cri_quat_rotation(cri_q4_load(x + 7 * row->body[s] + 3));
        cri_vec3 rot_adj = {0};
        for (int r = 0; r < 3; r++) {
            cri_vec3 t = cri_v3_scale(sign_of_side[s], row->frame.axis[r]);
            cri_vec3 w_adj = cri_v3_load(J_adj[s][r] + 3);

            // w = R' (arm x t)
            rot_adj = cri_v3_add(rot_adj, cri_v3_cross(w_adj, cri_v3_load(row->J[s][r] + 3)));
            cri_vec3 cross_adj = cri_m3_mul(&R, w_adj);
            touch_adj.arm[s] = cri_v3_add(touch_adj.arm[s], cri_v3_cross(t, cross_adj));
            cri_vec3 t_adj = cri_v3_cross(cross_adj, row->touch.arm[s]);

            // t = sign axis, and it stands in J itself
            t_adj = cri_v3_add(t_adj, cri_v3_load(J_adj[s][r]));
            frame_adj.axis[r] = cri_v3_mad(frame_adj.axis[r], sign_of_side[s], t_adj);
        }
        cri_v3_accumulate(rot_adj, q_adj + 6 * row->body[s] + 3);
    }
    cri_frame_of_vjp(row->touch.normal, &frame_adj, &touch_adj.normal);
    cri_feature_touch_vjp(w, row->feature, x, &touch_adj, q_adj, d_adj);
}

void cri_row_at_jvp(const cri_world *w, const cri_row *row, const double *x, const double *q_tan,
                    const cri_derived *d_tan, double J_tan[2][3][6]) {
    cri_touch touch_tan = cri_feature_touch_jvp(w, row->feature, x, q_tan, d_tan);
    cri_frame frame_tan = cri_frame_of_jvp(row->touch.normal, touch_tan.normal);
    memset(J_tan, 0, sizeof(double) * 36);
    for (int s = 0; s < 2; s++) {
        if (row->body[s] < 0) {
            continue;
        }
        cri_mat3 R = cri_quat_rotation(cri_q4_load(x + 7 * row->body[s] + 3));
        cri_vec3 theta = cri_v3_load(q_tan + 6 * row->body[s] + 3);
        for (int r = 0; r < 3; r++) {
            cri_vec3 t = cri_v3_scale(sign_of_side[s], row->frame.axis[r]);
            cri_vec3 t_tan = cri_v3_scale(sign_of_side[s], frame_tan.axis[r]);
            cri_vec3 cross_tan = cri_v3_add(cri_v3_cross(touch_tan.arm[s], t),
                                            cri_v3_cross(row->touch.arm[s], t_tan));
            cri_vec3 turn = cri_v3_cross(theta, cri_v3_load(row->J[s][r] + 3));
            cri_v3_store(t_tan, J_tan[s][r]);
            cri_v3_store(cri_v3_sub(cri_m3_tmul(&R, cross_tan), turn), J_tan[s][r] + 3);
        }
    }
}
