// SPDX-License-Identifier: MIT
//
// Forces on trees: actuators, limits, damping, springs and weight, each against its formula.

#include "dynamics/tree_bench.h"

// force (n_v) = M (a(u) - a(0)): what u adds on the dofs
static void added_force(const double *u, double *force) {
    double a[2][64] = {0}, zero[64] = {0}, change[64] = {0};
    memset(force, 0, 64 * sizeof *force);
    cri_tree_accel(b.tree, b.f.v, zero, 0.0, a[0], b.scratch);
    cri_tree_accel(b.tree, b.f.v, u, 0.0, a[1], b.scratch);
    for (int i = 0; i < b.f.mech.n_v; i++) {
        change[i] = a[1][i] - a[0][i];
    }
    cri_tree_multiply(b.tree, change, force);
}

// g += K' of a force and torque (world axes) at a site
static void pull_site(int site, cri_vec3 force, cri_vec3 torque, double *g) {
    int body = b.f.site[site].body;
    cri_pose pose = cri_tree_pose(b.tree, body);
    cri_vec3 arm = cri_m3_mul(&pose.R, b.f.site[site].pos);
    cri_vec3 moment = cri_v3_add(torque, cri_v3_cross(arm, force));
    double wrench[6];
    cri_v3_store(force, wrench);
    cri_v3_store(cri_m3_tmul(&pose.R, moment), wrench + 3);
    cri_tree_pull_body(b.tree, body, wrench, g);
}

// what actuator i does to the dofs at u_i = 1, by its formula
static void expected_force(int i, double *g) {
    const cri_actuator *act = b.f.actuator + i;
    const cri_actuator_derived *d = b.f.d.actuator + i;
    if (act->kind == CRI_DRIVE_BALL) {
        for (int k = 0; k < b.f.joint[act->joint].n_v; k++) {
            g[b.f.joint[act->joint].v + k] = d->gain * d->gear[k];
        }
    } else if (act->kind == CRI_DRIVE_DOFS && act->joint >= 0) {
        g[b.f.joint[act->joint].v] = d->gain * d->gear[0];
    } else if (act->kind == CRI_DRIVE_DOFS) {
        const cri_tendon *t = b.f.tendon + act->tendon;
        for (int k = 0; k < t->n; k++) {
            g[b.f.joint[t->joint[k]].v] = d->gain * d->gear[0] * t->coef[k];
        }
    } else {
        int frame = act->ref_site >= 0 ? act->ref_site : act->site;
        const cri_site *site = b.f.site + frame;
        cri_vec3 force = cri_v3_load(d->gear), torque = cri_v3_load(d->gear + 3);
        cri_mat3 turn = cri_quat_rotation(site->quat);
        cri_mat3 R = site->body >= 0 ? cri_tree_pose(b.tree, site->body).R
                                     : (cri_mat3){{1, 0, 0, 0, 1, 0, 0, 0, 1}};
        force = cri_m3_mul(&R, cri_m3_mul(&turn, cri_v3_scale(d->gain, force)));
        torque = cri_m3_mul(&R, cri_m3_mul(&turn, cri_v3_scale(d->gain, torque)));
        pull_site(act->site, force, torque, g);
        if (act->ref_site >= 0 && site->body >= 0) {
            pull_site(frame, cri_v3_scale(-1.0, force), cri_v3_scale(-1.0, torque), g);
        }
    }
}

TEST(actuators_push_as_their_gears_say) {
    open_zoo(false);
    int n_checked = 0;
    for (int i = 0; i < b.f.mech.n_actuator; i++) {
        double u[64] = {0}, force[64], expected[64] = {0};
        u[i] = 1.0;
        added_force(u, force);
        bool is_limited = isfinite(b.f.actuator[i].ctrl[1]) || isfinite(b.f.actuator[i].force[0]);
        if (!is_limited) {
            expected_force(i, expected);
            n_checked++;
        }
        // beyond a limit u changes nothing; accelerations of order 100 are rounded in between
        check_all(b.f.mech.n_v, force, expected, 1e-12);
    }
    CHECK_INT(n_checked, 8);
    end();
}

TEST(servos_and_limits_follow_length_and_speed) {
    open_reference();
    cri_actuator_derived *d = b.f.d.actuator;
    double still[64], servo[64], change[64] = {0}, force[64] = {0};
    b.f.u[0] = 0.0;
    cri_tree_accel(b.tree, b.f.v, b.f.u, 0.0, still, b.scratch);
    *d = (cri_actuator_derived){.gain = 1.5, .bias = {0.2, -3.0, -0.4}, .gear = {2.0}};
    b.f.actuator[0].ctrl[1] = 0.5;
    b.f.u[0] = 4.0;
    // gear 2, u 0.5, length 2 x 0.3, rate 2 x 0.7
    double f = 1.5 * 0.5 + 0.2 - 3.0 * 0.6 - 0.4 * 1.4;
    for (int is_limited = 0; is_limited < 2; is_limited++) {
        b.f.actuator[0].force[0] = is_limited ? -1.0 : -INFINITY;
        cri_tree_accel(b.tree, b.f.v, b.f.u, 0.0, servo, b.scratch);
        for (int i = 0; i < 7; i++) {
            change[i] = servo[i] - still[i];
        }
        cri_tree_multiply(b.tree, change, force);
        CHECK_CLOSE(force[6], 2.0 * (is_limited ? -1.0 : f), 1e-12, 1e-12);
        CHECK_CLOSE(force[0], 0.0, 1e-12, 0.0);
    }
    CHECK(f < -1.0);
    end();
}

TEST(implicit_damping_is_part_of_the_mass) {
    open_zoo(false);
    b.f.mech.has_implicit_drives = false;
    double explicit_a[64] = {0}, a[64] = {0}, left[64] = {0}, right[64] = {0};
    cri_tree_accel(b.tree, b.f.v, b.f.u, 0.0, explicit_a, b.scratch);
    cri_tree_accel(b.tree, b.f.v, b.f.u, 0.1, a, b.scratch);
    cri_tree_multiply(b.tree, explicit_a, right);
    cri_tree_multiply(b.tree, a, left);
    for (int i = 6; i < b.f.mech.n_v; i++) {
        double D = b.f.d.joint[b.f.dof_joint[i]].damping;
        CHECK_CLOSE(left[i] + 0.1 * D * a[i], right[i], 1e-11, 1e-12);
    }
    end();
}

TEST(a_still_mechanism_feels_springs_and_weight_alone) {
    // force of rest = -d(energy)/dq, by differences of the energy along each dof
    open_zoo(false);
    static const double h = 1e-5;
    double a[64] = {0}, force[64] = {0}, still[64] = {0};
    // actuators off: no gear
    for (int i = 0; i < b.f.mech.n_actuator; i++) {
        memset(b.f.d.actuator[i].gear, 0, sizeof b.f.d.actuator[i].gear);
    }
    memset(b.f.u, 0, sizeof b.f.u);
    cri_tree_accel(b.tree, still, b.f.u, 0.0, a, b.scratch);
    cri_tree_multiply(b.tree, a, force);
    for (int i = 6; i < b.f.mech.n_v; i++) {
        const cri_joint *joint = b.f.joint + b.f.dof_joint[i];
        int k = i - joint->v, n = joint->n_v == 1 ? 1 : joint->n_v - 3;
        double energy[2];
        for (int side = 0; side < 2; side++) {
            double q[64], step = side == 0 ? -h : h;
            memcpy(q, b.f.q, sizeof q);
            if (k < n) {
                q[joint->q + k] += step;
            } else {
                double turn[3] = {0};
                turn[k - n] = step;
                cri_quat moved =
                    cri_quat_mul(cri_q4_load(q + joint->q + n), cri_quat_exp(cri_v3_load(turn)));
                cri_q4_store(moved, q + joint->q + n);
            }
            cri_tree_set(b.tree, q, b.scratch);
            energy[side] = cri_tree_energy(b.tree, still);
        }
        // h^2, and rounding of 20 J over h
        CHECK_CLOSE(force[i], (energy[0] - energy[1]) / (2.0 * h), 1e-8, 1e-8);
    }
    end();
}

TEST(adjoints_that_are_not_wanted_are_left_out) {
    open_zoo(true);
    double a[64] = {0}, a_adj[64] = {0}, q_adj[2][64] = {0}, v_adj[2][64] = {0};
    double u_adj[64] = {0}, h_adj = 0.0, block[FIXTURE_NUMBERS] = {0};
    cri_mech_derived d_adj;
    fixture_map(&b.f, block, &d_adj);
    for (int i = 6; i < b.f.mech.n_v; i++) {
        a_adj[i] = fixture_random(&b.f);
    }
    cri_tree_accel(b.tree, b.f.v, b.f.u, 0.1, a, b.scratch);
    cri_tree_accel_vjp(b.tree, a_adj, q_adj[0], v_adj[0], u_adj, &h_adj, &d_adj, b.scratch);
    cri_tree_accel_vjp(b.tree, a_adj, q_adj[1], v_adj[1], NULL, NULL, NULL, b.scratch);
    CHECK(memcmp(q_adj[0], q_adj[1], sizeof q_adj[0]) == 0);
    CHECK(memcmp(v_adj[0], v_adj[1], sizeof v_adj[0]) == 0);
    CHECK(h_adj != 0.0);
    end();
}

CR_TEST_MAIN(actuators_push_as_their_gears_say, servos_and_limits_follow_length_and_speed,
             implicit_damping_is_part_of_the_mass, a_still_mechanism_feels_springs_and_weight_alone,
             adjoints_that_are_not_wanted_are_left_out)
