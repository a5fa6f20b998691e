// SPDX-License-Identifier: MIT
//
// What must be conserved is conserved, and what has a closed form matches it: free bodies, impacts,
// sliding and rolling. Rest is in rest_test.c.

#include "cr_run.h"
#include "cr_test.h"

#include "base/math/vec3.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double g = 9.81;

static cr_sim_options options_of(const char *stepper) {
    return (cr_sim_options){.stepper = stepper,
                            .law = "ncp",
                            .eps_gap = 1e-9,
                            .eps_speed = 1e-6,
                            .eps_time = 1e-9,
                            .event_cap = 32,
                            .use_gradient = true};
}

// one step in place; fails the test when the solve did
static void step(cr_run *r, double *x) {
    cr_error err = {0};
    if (cr_sim_step(r->sim, r->dt, x, r->u, x, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    CHECK_INT(cr_sim_report(r->sim)->outcome, CR_SOLVED);
}

// a turned by the unit quaternion q: a + 2 w (u x a) + 2 u x (u x a)
static cri_vec3 turned(const double *q, cri_vec3 a) {
    cri_vec3 u = cri_v3_load(q + 1), c = cri_v3_cross(u, a);
    return cri_v3_add(cri_v3_mad(a, 2.0 * q[0], c), cri_v3_scale(2.0, cri_v3_cross(u, c)));
}

// m v and m x cross v + R I w, about the origin, summed over bodies
static void momenta(const cr_run *r, const double *x, double linear[3], double angular[3]) {
    cri_vec3 p = {0}, L = {0};
    for (int b = 0; b < r->n.n_body; b++) {
        char name[32];
        const double *v = x + r->n.n_q + 6 * b;
        snprintf(name, sizeof name, "b%d/mass", b);
        double m = r->p[cr_run_p(r, name)];
        snprintf(name, sizeof name, "b%d/inertia[0]", b);
        cri_vec3 I = cri_v3_load(r->p + cr_run_p(r, name));
        cri_vec3 mv = cri_v3_scale(m, cri_v3_load(v));
        cri_vec3 own = turned(x + 7 * b + 3, cri_v3_mul(I, cri_v3_load(v + 3)));
        p = cri_v3_add(p, mv);
        L = cri_v3_add(L, cri_v3_add(own, cri_v3_cross(cri_v3_load(x + 7 * b), mv)));
    }
    cri_v3_store(p, linear);
    cri_v3_store(L, angular);
}

static double distance3(const double *a, const double *b) {
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

// ---- free motion --------------------------------------------------------------------------------

// errors after one second: angular momentum (relative), energy (relative), attitude against the
// finest run
static void tumble(int n_step, double error[2], double quat[4]) {
    static const char scene[] =
        "<mujoco><option gravity='0 0 0'/><worldbody><body name='b0'><freejoint/>"
        "<inertial pos='0 0 0' mass='1.2' diaginertia='0.025 0.02 0.013'/>"
        "<geom name='b0' type='box' size='0.1 0.15 0.2'/></body></worldbody>"
        "<keyframe><key qpos='0 0 0 0.8 0.3 -0.4 0.2' qvel='0 0 0 4 -3 6'/></keyframe>"
        "</mujoco>";
    cr_run r = cr_run_open(scene, NULL, n_step, 1.0 / n_step);
    double linear[3], L0[3], L1[3], zero[3] = {0};
    cr_run_value(&r, NULL);
    momenta(&r, r.x, linear, L0);
    momenta(&r, r.x_end, linear, L1);
    double E0 = cr_sim_energy(r.sim, r.x), E1 = cr_sim_energy(r.sim, r.x_end);
    error[0] = distance3(L0, L1) / distance3(L0, zero);
    error[1] = fabs(E1 - E0) / E0;
    memcpy(quat, r.x_end + 3, 4 * sizeof *quat);
    cr_run_close(&r);
}

TEST(a_free_box_keeps_momentum_and_energy_to_fourth_order) {
    double last[2] = {0}, error[2], quat[5][4];
    for (int k = 0; k < 5; k++) {
        tumble(25 << k, error, quat[k]);
        // energy may do better than the method
        for (int i = 0; k > 0 && i < 2; i++) {
            double order = log2(last[i] / error[i]);
            if (!(order > 3.8 && order < 5.3)) {
                cr_test_fail("number %d, refinement %d: order %g (%g)", i, k, order, error[i]);
            }
        }
        memcpy(last, error, sizeof last);
    }
    CHECK(last[0] < 1e-7 && last[1] < 1e-7);
    for (int k = 0; k < 3; k++) {
        double coarse = 0.0, fine = 0.0;
        for (int i = 0; i < 4; i++) {
            coarse = fmax(coarse, fabs(quat[k][i] - quat[k + 1][i]));
            fine = fmax(fine, fabs(quat[k + 1][i] - quat[k + 2][i]));
        }
        double order = log2(coarse / fine);
        if (!(order > 3.8 && order < 4.3)) {
            cr_test_fail("attitude, refinement %d: order %g", k, order);
        }
    }
}

// ---- two balls ----------------------------------------------------------------------------------

TEST(two_balls_conserve_momentum) {
    static const char scene[] =
        "<mujoco><option gravity='0 0 0'/><custom>"
        "<numeric name='carom:restitution:b0:b1' data='0.7'/></custom><worldbody>"
        "<body name='b0'><freejoint/><geom name='b0' size='0.1' friction='0.2'/></body>"
        "<body name='b1'><freejoint/><geom name='b1' size='0.07' friction='0.2'/></body>"
        "</worldbody><keyframe><key qpos='0 0 0 1 0 0 0 0.5 0.05 0.03 0.9 0.1 0.2 0.3' "
        "qvel='1 0 0 3 -5 2 -1 0 0.1 0 4 7'/></keyframe></mujoco>";
    static const char *const steppers[] = {"located", "end"};
    for (int k = 0; k < 2; k++) {
        cr_sim_options options = options_of(steppers[k]);
        cr_run r = cr_run_open(scene, &options, 50, 0.01);
        double x[26], p0[3], L0[3], p1[3], L1[3];
        int n_event = 0;
        memcpy(x, r.x, sizeof x);
        momenta(&r, x, p0, L0);
        double size = r.p[cr_run_p(&r, "b0/mass")];
        for (int i = 0; i < r.n_step; i++) {
            step(&r, x);
            n_event += cr_sim_report(r.sim)->n_event;
            momenta(&r, x, p1, L1);
            CHECK(distance3(p0, p1) <= 1e-14 * size);
            // balls that overlap push at two points, a gap apart
            CHECK(k == 1 || distance3(L0, L1) <= 1e-14 * size);
        }
        CHECK(n_event > 0);
        cr_run_close(&r);
    }
}

// ---- a bouncing ball ----------------------------------------------------------------------------

static cr_run open_ball(double e, double mu, double dt, int n_step) {
    char scene[1024];
    snprintf(scene, sizeof scene,
             "<mujoco><custom><numeric name='carom:restitution:floor:ball' data='%g'/>"
             "<numeric name='carom:friction:floor:ball' data='%g'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/><body name='ball' pos='0 0 0.6'>"
             "<freejoint/><geom name='ball' size='0.1'/></body></worldbody></mujoco>",
             e, mu);
    cr_sim_options options = options_of("located");
    return cr_run_open(scene, &options, n_step, dt);
}

static void throw_ball(double *x) {
    static const double v[6] = {1.0, 0.3, 0.5, 3.0, -8.0, 5.0};
    memcpy(x + 7, v, sizeof v);
}

TEST(energy_never_grows) {
    static const double bounce[] = {0.0, 0.5, 0.9, 1.0}, friction[] = {0.0, 0.2, 1.0};
    for (int k = 0; k < 12; k++) {
        double e = bounce[k % 4], mu = friction[k / 4], x[13];
        cr_run r = open_ball(e, mu, 0.013, 300);
        memcpy(x, r.x, sizeof x);
        throw_ball(x);
        double start = cr_sim_energy(r.sim, x), before = start;
        for (int i = 0; i < r.n_step; i++) {
            step(&r, x);
            double after = cr_sim_energy(r.sim, x);
            // rounding of one step
            if (!(after <= before + 1e-13 * start)) {
                cr_test_fail("e %g, mu %g: step %d adds %g of %g", e, mu, i, after - before, start);
            }
            before = after;
        }
        if (e == 1.0 && mu == 0.0) {
            CHECK_CLOSE(before, start, 0.0, 1e-12);
        }
        cr_run_close(&r);
    }
}

TEST(heights_of_bounces_fall_by_the_square_of_restitution) {
    // the bounces would end after 2.9 s
    cr_run r = open_ball(0.8, 0.0, 0.05, 55);
    double x[13], height = 0.5;
    int n_bounce = 0;
    memcpy(x, r.x, sizeof x);
    for (int i = 0; i < r.n_step; i++) {
        step(&r, x);
        int n = cr_sim_report(r.sim)->n_event;
        n_bounce += n;
        for (; n > 0; n--) {
            height *= 0.64;
        }
        // highest point of this flight, over that of the ball at rest
        double top = x[2] + x[9] * x[9] / (2.0 * g) - 0.1;
        CHECK_CLOSE(top, height, 1e-14, 1e-11);
    }
    CHECK(n_bounce >= 8);
    cr_run_close(&r);
}

TEST(a_bouncing_ball_does_not_depend_on_the_step) {
    static const double length[] = {0.001, 0.1, 1.0};
    double end[3][13];
    for (int k = 0; k < 3; k++) {
        cr_run r = open_ball(0.8, 0.3, length[k], (int)round(1.0 / length[k]));
        throw_ball(r.x);
        cr_run_value(&r, NULL);
        CHECK_INT(cr_sim_report(r.sim)->n_event, 2);
        CHECK_INT(cr_sim_report(r.sim)->grad, CR_GRAD_EXACT);
        memcpy(end[k], r.x_end, sizeof end[k]);
        cr_run_close(&r);
    }
    for (int i = 0; i < 13; i++) {
        CHECK_CLOSE(end[0][i], end[1][i], 1e-12, 1e-12);
        CHECK_CLOSE(end[0][i], end[2][i], 1e-12, 1e-12);
    }
}

// ---- several impacts in a step ------------------------------------------------------------------

TEST(a_ball_between_two_planes_bounces_many_times_in_a_step) {
    static const char scene[] =
        "<mujoco><option gravity='0 0 0'/><default><geom friction='0.4'/></default><custom>"
        "<numeric name='carom:restitution:ball' data='1'/></custom><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1'/>"
        "<geom name='ceiling' type='plane' size='9 9 1' zaxis='0 0 -1' pos='0 0 0.22'/>"
        "<body name='ball' pos='0 0 0.105'><freejoint/><geom name='ball' size='0.1'/></body>"
        "</worldbody><keyframe><key qvel='0.5 0 3 0 0 0'/></keyframe></mujoco>";
    cr_sim_options options = options_of("located");
    cr_run r = cr_run_open(scene, &options, 20, 0.1);
    double x[13];
    int n_event = 0;
    memcpy(x, r.x, sizeof x);
    for (int i = 1; i <= r.n_step; i++) {
        step(&r, x);
        // free height 0.02: fold the straight path into it
        double path = 0.005 + 3.0 * 0.1 * i, folded = fmod(path, 0.04);
        double expected = folded <= 0.02 ? folded : 0.04 - folded;
        n_event += cr_sim_report(r.sim)->n_event;
        CHECK_CLOSE(x[2], 0.1 + expected, 1e-12, 0.0);
        CHECK_CLOSE(fabs(x[9]), 3.0, 0.0, 1e-13);
        CHECK_INT(n_event, (int)floor(path / 0.02));
        int n;
        cr_sim_contacts(r.sim, &n);
        CHECK_INT(n, cr_sim_report(r.sim)->n_event);
        CHECK_INT(cr_sim_report(r.sim)->n_capped, 0);
    }
    cr_run_close(&r);
}

// ---- sliding and rolling ------------------------------------------------------------------------

TEST(a_sliding_ball_ends_rolling_at_five_sevenths_of_its_speed) {
    cr_run r = open_ball(0.0, 0.3, 0.01, 200);
    double x[13];
    memcpy(x, r.x, sizeof x);
    x[2] = 0.1;
    x[7] = 1.4;
    bool was_sliding = false;
    for (int i = 0; i < r.n_step; i++) {
        step(&r, x);
        int n;
        const cr_contact *contact = cr_sim_contacts(r.sim, &n);
        CHECK_INT(n, 1);
        was_sliding = was_sliding || (contact && contact->is_sliding);
        // v + 2/5 r w is the angular momentum about the floor's line, over m r
        CHECK_CLOSE(x[7] + 0.4 * 0.1 * x[11], 1.4, 0.0, 1e-12);
    }
    CHECK(was_sliding);
    CHECK_CLOSE(x[7], 1.0, 0.0, 1e-12);
    CHECK_CLOSE(0.1 * x[11], 1.0, 0.0, 1e-12);
    // sliding lasts (2/7) v/(mu g); rolling from there: first order in the step
    double t = 2.0 / 7.0 * 1.4 / (0.3 * g);
    CHECK_CLOSE(x[0], 1.4 * t - 0.5 * 0.3 * g * t * t + (2.0 - t), 5e-3, 0.0);
    cr_run_close(&r);
}

// ---- the contact report -------------------------------------------------------------------------

TEST(reported_impulses_are_the_change_of_momentum) {
    cr_run r = open_ball(0.6, 0.25, 0.02, 60);
    double x[13], y[13], mass = r.p[cr_run_p(&r, "ball/mass")];
    int n_impact = 0;
    memcpy(x, r.x, sizeof x);
    throw_ball(x);
    for (int i = 0; i < r.n_step; i++) {
        int n;
        memcpy(y, x, sizeof y);
        step(&r, y);
        const cr_contact *c = cr_sim_contacts(r.sim, &n);
        double sum[3] = {0.0, 0.0, -mass * g * r.dt};
        for (int k = 0; k < n; k++) {
            n_impact += c[k].is_impact;
            CHECK(c[k].time >= 0.0 && c[k].time <= r.dt);
            CHECK(c[k].geom[0] == 0 && c[k].geom[1] == 1);
            CHECK(c[k].normal[0] == 0.0 && c[k].normal[1] == 0.0 && c[k].normal[2] == 1.0);
            CHECK_CLOSE(c[k].point[2], 0.0, 1e-9, 0.0);
            // below the ball, which flies straight on
            CHECK_CLOSE(c[k].point[1], x[1] + c[k].time * x[8], 1e-2, 0.0);
            CHECK(hypot(c[k].impulse[0], c[k].impulse[1]) <= 0.25 * c[k].impulse[2] * (1.0 + 1e-9));
            for (int j = 0; j < 3; j++) {
                sum[j] += c[k].impulse[j];
            }
        }
        for (int j = 0; j < 3; j++) {
            CHECK_CLOSE(sum[j], mass * (y[7 + j] - x[7 + j]), 1e-12 * mass, 1e-12);
        }
        memcpy(x, y, sizeof x);
    }
    CHECK(n_impact >= 2);
    cr_run_close(&r);
}

TEST(a_box_on_its_face_reports_its_four_corners) {
    static const char scene[] =
        "<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1'/>"
        "<body name='box' pos='0.3 0.2 0.05'><freejoint/>"
        "<geom name='box' type='box' size='0.2 0.1 0.05'/></body></worldbody></mujoco>";
    cr_run r = cr_run_open(scene, NULL, 1, 0.01);
    double x[13], weight = 0.0, mass = r.p[cr_run_p(&r, "box/mass")], moment[2] = {0};
    int n;
    memcpy(x, r.x, sizeof x);
    step(&r, x);
    const cr_contact *c = cr_sim_contacts(r.sim, &n);
    CHECK_INT(n, 4);
    for (int k = 0; k < n; k++) {
        weight += c[k].impulse[2];
        moment[0] += c[k].impulse[2] * (c[k].point[0] - 0.3);
        moment[1] += c[k].impulse[2] * (c[k].point[1] - 0.2);
        CHECK(!c[k].is_impact && !c[k].is_sliding);
        CHECK_CLOSE(fabs(c[k].point[0] - 0.3), 0.2, 1e-14, 0.0);
        CHECK_CLOSE(fabs(c[k].point[1] - 0.2), 0.1, 1e-14, 0.0);
    }
    CHECK_CLOSE(weight, mass * g * 0.01, 0.0, 1e-12);
    CHECK_CLOSE(moment[0], 0.0, 1e-13, 0.0);
    CHECK_CLOSE(moment[1], 0.0, 1e-13, 0.0);
    cr_run_close(&r);
}

TEST(values_that_two_geoms_share_have_one_sided_gradients) {
    // restitution from both geoms; friction from both, sliding, under both laws
    static const char *const law[] = {"ncp", "ncp-poisson"};
    static const char *const scene[] = {
        "<mujoco><custom><numeric name='carom:restitution:floor' data='0.5'/><numeric "
        "name='carom:restitution:ball' data='0.5'/></custom><worldbody><geom name='floor' "
        "type='plane' size='9 9 1' friction='.1'/><body pos='0 0 .2'><freejoint/><geom name='ball' "
        "size='0.1' friction='.2'/></body></worldbody></mujoco>",
        "<mujoco><custom><numeric name='carom:restitution:ball' data='0.5'/></custom><worldbody>"
        "<geom type='plane' size='9 9 1' friction='.2'/><body pos='0 0 .2'><freejoint/><geom "
        "name='ball' size='0.1' friction='.2'/></body></worldbody><keyframe><key qvel='5 0 0 0 0 "
        "0'/>"
        "</keyframe></mujoco>"};
    for (int k = 0; k < 4; k++) {
        cr_run r = cr_run_open(scene[k / 2], NULL, 1, 0.2);
        cr_sim_options options = r.options;
        options.law = law[k % 2];
        cr_run_close(&r);
        r = cr_run_open(scene[k / 2], &options, 1, 0.2);
        cr_run_value(&r, NULL);
        CHECK_INT(cr_sim_report(r.sim)->n_event, 1);
        CHECK((cr_sim_report(r.sim)->grad & CR_GRAD_ONE_SIDED) != 0);
        cr_run_close(&r);
    }
}

CR_TEST_MAIN(values_that_two_geoms_share_have_one_sided_gradients,
             a_free_box_keeps_momentum_and_energy_to_fourth_order, two_balls_conserve_momentum,
             energy_never_grows, heights_of_bounces_fall_by_the_square_of_restitution,
             a_bouncing_ball_does_not_depend_on_the_step,
             a_ball_between_two_planes_bounces_many_times_in_a_step,
             a_sliding_ball_ends_rolling_at_five_sevenths_of_its_speed,
             reported_impulses_are_the_change_of_momentum,
             a_box_on_its_face_reports_its_four_corners)
