// SPDX-License-Identifier: MIT
//
// Rows of the contact Jacobian: relative velocity of the witness points along n, t1, t2.
//
//   J = sign s [t', w'],   w = R' (rho x t),   rho = point - origin       (spin in the body frame)
//
// With R moved by R exp[theta]:  w_tan = R' (rho_tan x t + rho x t_tan) - theta x w. The scale s is
// 1 but for friction that differs along the tangents (contact/ellipse.h); then the frame is the
// aligned one. Which it is, the pair of geoms says.

#include "contact/row.h"

#include <string.h>

static const double sign_of_side[2] = {-1.0, 1.0};

static cri_vec3 arm_of(const cri_row *row, const cri_state *state, int side) {
    return cri_v3_sub(row->touch.point[side], state->pose[row->near.body[side]].pos);
}

// an axis of the frame as it stands in J
static cri_vec3 scaled_axis(const cri_row *row, int side, int r) {
    return cri_v3_scale(sign_of_side[side] * row->ellipse.scale[r], row->frame.axis[r]);
}

void cri_row_at(const cri_world *w, const cri_near *near, const cri_narrow_touch *touch,
                const cri_state *state, cri_row *row) {
    CR_ASSERT(near && touch && state && row);
    row->near = *near;
    row->touch = *touch;
    row->ellipse = cri_ellipse_round(1.0);
    if (near->kind == CRI_NEAR_LIMIT) {
        memset(&row->frame, 0, sizeof row->frame);
        return;
    }
    if (near->has_two_frictions) {
        const cri_pair_derived *pair = &w->d->pair[near->pair];
        row->ellipse = cri_ellipse_of(pair->friction, pair->friction2);
        row->frame = cri_frame_aligned(touch->normal);
    } else {
        row->frame = cri_frame_of(touch->normal);
    }
    for (int s = 0; s < 2; s++) {
        if (near->unit[s] < 0) {
            continue;
        }
        const cri_mat3 *R = &state->pose[near->body[s]].R;
        cri_vec3 arm = arm_of(row, state, s);
        for (int r = 0; r < 3; r++) {
            cri_vec3 t = scaled_axis(row, s, r);
            cri_v3_store(t, row->J[s][r]);
            cri_v3_store(cri_m3_tmul(R, cri_v3_cross(arm, t)), row->J[s][r] + 3);
        }
    }
}

void cri_row_at_vjp(const cri_world *w, const cri_row *row, const cri_state *state,
                    double J_adj[2][3][6], double *q_adj, const cri_derived *d_adj) {
    CR_ASSERT(row && state);
    if (row->near.kind == CRI_NEAR_LIMIT) {
        return;
    }
    cri_frame frame_adj = {0};
    cri_ellipse ellipse_adj = {0};
    cri_touch_diff touch_adj = {0};
    for (int s = 0; s < 2; s++) {
        if (row->near.unit[s] < 0) {
            continue;
        }
        const cri_mat3 *R = &state->pose[row->near.body[s]].R;
        cri_vec3 arm = arm_of(row, state, s), rot_adj = {0}, arm_adj = {0};
        for (int r = 0; r < 3; r++) {
            cri_vec3 t = scaled_axis(row, s, r);
            cri_vec3 w_adj = cri_v3_load(J_adj[s][r] + 3);

            // w = R' (arm x t)
            rot_adj = cri_v3_add(rot_adj, cri_v3_cross(w_adj, cri_v3_load(row->J[s][r] + 3)));
            cri_vec3 cross_adj = cri_m3_mul(R, w_adj);
            arm_adj = cri_v3_add(arm_adj, cri_v3_cross(t, cross_adj));
            cri_vec3 t_adj = cri_v3_cross(cross_adj, arm);

            // t = sign scale axis, and it stands in J itself
            t_adj = cri_v3_scale(sign_of_side[s], cri_v3_add(t_adj, cri_v3_load(J_adj[s][r])));
            frame_adj.axis[r] = cri_v3_mad(frame_adj.axis[r], row->ellipse.scale[r], t_adj);
            ellipse_adj.scale[r] += cri_v3_dot(row->frame.axis[r], t_adj);
        }
        // arm = point - origin
        touch_adj.point[s] = arm_adj;
        cri_state_pose_vjp(w->model, state, row->near.body[s], cri_v3_scale(-1.0, arm_adj), rot_adj,
                           q_adj);
    }
    if (row->near.has_two_frictions) {
        cri_pair_derived *pair_adj = &d_adj->pair[row->near.pair];
        cri_ellipse_of_vjp(&row->ellipse, &ellipse_adj, &pair_adj->friction, &pair_adj->friction2);
        cri_frame_aligned_vjp(row->touch.normal, &frame_adj, &touch_adj.normal);
    } else {
        cri_frame_of_vjp(row->touch.normal, &frame_adj, &touch_adj.normal);
    }
    cri_near_touch_vjp(w, &row->near, &row->touch, state, &touch_adj, q_adj, d_adj);
}

double cri_row_at_jvp(const cri_world *w, const cri_row *row, const cri_state *state,
                      const double *q_tan, const double *body_tan, const cri_derived *d_tan,
                      double J_tan[2][3][6]) {
    CR_ASSERT(row && state);
    memset(J_tan, 0, sizeof(double) * 36);
    cri_touch_diff touch_tan =
        cri_near_touch_jvp(w, &row->near, &row->touch, state, q_tan, body_tan, d_tan);
    if (row->near.kind == CRI_NEAR_LIMIT) {
        return touch_tan.gap;
    }
    cri_ellipse ellipse_tan = {0};
    cri_frame frame_tan;
    if (row->near.has_two_frictions) {
        const cri_pair_derived *pair_tan = &d_tan->pair[row->near.pair];
        ellipse_tan = cri_ellipse_of_jvp(&row->ellipse, pair_tan->friction, pair_tan->friction2);
        frame_tan = cri_frame_aligned_jvp(row->touch.normal, touch_tan.normal);
    } else {
        frame_tan = cri_frame_of_jvp(row->touch.normal, touch_tan.normal);
    }
    for (int s = 0; s < 2; s++) {
        if (row->near.unit[s] < 0) {
            continue;
        }
        const double *tan = body_tan + 6 * row->near.body[s];
        const cri_mat3 *R = &state->pose[row->near.body[s]].R;
        cri_vec3 theta = cri_v3_load(tan + 3), arm = arm_of(row, state, s);
        cri_vec3 arm_tan = cri_v3_sub(touch_tan.point[s], cri_v3_load(tan));
        for (int r = 0; r < 3; r++) {
            cri_vec3 t = scaled_axis(row, s, r);
            cri_vec3 t_tan =
                cri_v3_scale(sign_of_side[s] * row->ellipse.scale[r], frame_tan.axis[r]);
            t_tan = cri_v3_mad(t_tan, sign_of_side[s] * ellipse_tan.scale[r], row->frame.axis[r]);
            cri_vec3 cross_tan = cri_v3_add(cri_v3_cross(arm_tan, t), cri_v3_cross(arm, t_tan));
            cri_vec3 turn = cri_v3_cross(theta, cri_v3_load(row->J[s][r] + 3));
            cri_v3_store(t_tan, J_tan[s][r]);
            cri_v3_store(cri_v3_sub(cri_m3_tmul(R, cross_tan), turn), J_tan[s][r] + 3);
        }
    }
    return touch_tan.gap;
}
