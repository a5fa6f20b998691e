// SPDX-License-Identifier: MIT
//
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

#include "dynamics/flow.h"

/// Stages of the spin, replayed by the derivatives.
typedef struct stages {
    cri_vec3 w[4];
    cri_vec3 k[4];
    cri_vec3 turn; // Om
} stages;

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
