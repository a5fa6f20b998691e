// SPDX-License-Identifier: MIT
//
// Friction that differs along two directions. On a floor the first tangent is y and the second x:
// mu1 acts on what slides along y, mu2 along x. N = diag(mu2, mu1) in the coordinates (x, y).

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double g = 9.81;

// a ball that cannot turn, so one contact; or a box that is free, on four
static const char *const pucks[2] = {
    "<body name='puck' pos='0 0 0.05'><joint name='x' type='slide' axis='1 0 0'/>"
    "<joint name='y' type='slide' axis='0 1 0'/><joint name='z' type='slide' axis='0 0 1'/>"
    "<geom name='puck' size='0.05'/></body>",
    "<body name='puck' pos='0 0 0.05'><freejoint/>"
    "<geom name='puck' type='box' size='0.2 0.2 0.05'/></body>",
};

static cr_run open_puck(int kind, const double gravity[3], const char *friction,
                        const char *stepper, const char *law) {
    char scene[2048];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='%.17g %.17g %.17g'/><custom>"
             "<text name='carom:stepper' data='%s'/><text name='carom:law' data='%s'/>"
             "<numeric name='carom:friction:floor:puck' data='%s'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/>%s</worldbody></mujoco>",
             gravity[0], gravity[1], gravity[2], stepper, law, friction, pucks[kind]);
    return cr_run_open(scene, NULL, 1, 1e-3);
}

static const double down[3] = {0.0, 0.0, -9.81};

// one step from the velocity v along the floor; returns the contacts' impulse
static void slide(cr_run *r, const double v[2], double v_next[2], double impulse[3]) {
    int n;
    cr_error err = {0};
    double x[13];
    memcpy(x, r->x, sizeof *x * (size_t)r->n.n_x);
    x[r->n.n_q] = v[0];
    x[r->n.n_q + 1] = v[1];
    if (cr_sim_step(r->sim, r->dt, x, r->u, x, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    CHECK_INT(cr_sim_report(r->sim)->outcome, CR_SOLVED);
    v_next[0] = x[r->n.n_q];
    v_next[1] = x[r->n.n_q + 1];
    memset(impulse, 0, sizeof *impulse * 3);
    const cr_contact *contact = cr_sim_contacts(r->sim, &n);
    CHECK(n > 0);
    for (int k = 0; k < n; k++) {
        CHECK(contact[k].is_sliding);
        for (int i = 0; i < 3; i++) {
            impulse[i] += contact[k].impulse[i];
        }
    }
}

TEST(a_puck_is_slowed_by_the_friction_ellipse) {
    static const char *const steppers[] = {"located", "end"};
    static const double directions[5][2] = {
        {1.0, 0.0}, {0.0, 1.0}, {0.8, 0.6}, {-0.3, 0.9}, {0.95, -0.1}};
    static const double mu[2] = {0.4, 0.1}; // along x, along y
    for (int k = 0; k < 20; k++) {
        cr_run r = open_puck(k % 2, down, "0.1 0.4", steppers[k / 2 % 2], "ncp");
        double next[2], impulse[3], mass = r.p[cr_run_p(&r, "puck/mass")];
        slide(&r, directions[k / 4], next, impulse);
        // the slip is that after the step: m a = -f_n N^2 v/|N v|, with f_n = m g on a level floor
        double Nv = hypot(mu[0] * next[0], mu[1] * next[1]);
        for (int i = 0; i < 2; i++) {
            double gain = mass * (next[i] - directions[k / 4][i]);
            double ratio = -mu[i] * mu[i] * next[i] / Nv;
            // rounding of velocities and the solver's residual; impulses are physical
            CHECK_CLOSE(gain, ratio * impulse[2], 1e-13 * mass, 1e-10);
            CHECK_CLOSE(impulse[i], gain, 1e-13 * mass, 1e-10);
        }
        // at the end of a step the other stepper also takes back the fall within it
        if (k / 2 % 2 == 0) {
            CHECK_CLOSE(impulse[2], mass * g * r.dt, 0.0, 1e-10);
        }
        cr_run_close(&r);
    }
}

TEST(other_laws_slow_a_puck_along_the_axes) {
    static const char *const laws[] = {"lcp", "cone", "ncp-poisson"};
    for (int k = 0; k < 12; k++) {
        int axis = k % 2;
        cr_run r = open_puck(k / 2 % 2, down, "0.1 0.4", "located", laws[k / 4]);
        double v[2] = {0.0, 0.0}, next[2], impulse[3];
        v[axis] = 1.0;
        slide(&r, v, next, impulse);
        double mu = axis == 0 ? 0.4 : 0.1;
        // a convex cone lifts what slides (u_n = mu |u_t|), so its impulse is not m g h; but its
        // ratio holds in every law
        CHECK_CLOSE(impulse[axis], -mu * impulse[2], 0.0, 1e-9);
        CHECK_CLOSE(impulse[1 - axis], 0.0, 1e-12, 0.0);
        CHECK_CLOSE(next[1 - axis], 0.0, 1e-12, 0.0);
        cr_run_close(&r);
    }
}

TEST(a_direction_may_have_no_friction) {
    for (int k = 0; k < 4; k++) {
        cr_run r = open_puck(k % 2, down, k / 2 ? "0.3 0" : "0 0.3", "located", "ncp");
        int rough = k / 2 ? 1 : 0;
        double v[2] = {1.0, 1.0}, next[2], impulse[3];
        slide(&r, v, next, impulse);
        CHECK_CLOSE(next[1 - rough], 1.0, 1e-12, 0.0);
        CHECK_CLOSE(next[rough], 1.0 - 0.3 * g * r.dt, 1e-12, 0.0);
        // what stays put across moves along
        v[rough] = 0.0;
        slide(&r, v, next, impulse);
        CHECK_CLOSE(next[1 - rough], 1.0, 1e-12, 0.0);
        CHECK_CLOSE(next[rough], 0.0, 1e-12, 0.0);
        CHECK(cr_sim_report(r.sim)->grad & CR_GRAD_ONE_SIDED);
        // and none at all
        r.p[cr_run_p(&r, "floor:puck/friction")] = 0.0;
        r.p[cr_run_p(&r, "floor:puck/friction2")] = 0.0;
        cr_run_value(&r, NULL);
        slide(&r, (double[]){0.7, 0.5}, next, impulse);
        CHECK_CLOSE(next[0], 0.7, 1e-12, 0.0);
        CHECK_CLOSE(next[1], 0.5, 1e-12, 0.0);
        cr_run_close(&r);
    }
}

TEST(a_box_sticks_along_one_direction_of_a_slope_and_slides_along_the_other) {
    // tan(slope) = 0.2 lies between 0.1 and 0.4
    double sine = sin(atan(0.2)), cosine = cos(atan(0.2));
    for (int axis = 0; axis < 2; axis++) {
        double gravity[3] = {0.0, 0.0, -g * cosine};
        gravity[axis] = g * sine;
        cr_run r = open_puck(1, gravity, "0.1 0.4", "located", "ncp");
        r.n_step = 500;
        cr_run_value(&r, NULL);
        double t = r.n_step * r.dt, a = axis == 0 ? 0.0 : g * (sine - 0.1 * cosine);
        const double *v = r.x_end + r.n.n_q;
        CHECK_CLOSE(v[axis], a * t, 1e-9, 0.0);
        CHECK_CLOSE(v[1 - axis], 0.0, 1e-9, 0.0);
        CHECK_CLOSE(r.x_end[1 - axis], 0.0, 1e-9, 0.0);
        // 0.5 a t^2, and what velocities of steps add, 0.5 a t dt
        CHECK_CLOSE(r.x_end[axis], 0.5 * a * t * t, 0.5 * a * t * r.dt + 1e-9, 0.0);
        cr_run_close(&r);
    }
}

// ---- gradients ---------------------------------------------------------------------------------

// a ball that bounces, spins and slides down a slope
static const char bouncing[] =
    "<mujoco><option gravity='0.5 0.3 -9.81'/><custom>"
    "<numeric name='carom:friction:floor:ball' data='0.1 0.25'/>"
    "<numeric name='carom:restitution:floor:ball' data='0.4'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1' zaxis='0.1 -0.2 1'/>"
    "<body name='ball' pos='0 0 0.4'><freejoint/><geom name='ball' size='0.1' mass='0.5'/></body>"
    "</worldbody><keyframe><key qpos='0 0 0.4 1 0 0 0' qvel='2 3 -1 4 -3 2'/></keyframe></mujoco>";

// a box that slides on its face from the first step on
static const char sliding[] =
    "<mujoco><option gravity='0.5 0.3 -9.81'/><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='ball' pos='0 0 0.1'><freejoint/>"
    "<geom name='ball' type='box' size='0.3 0.3 0.1' mass='0.5'/></body></worldbody>"
    "<contact><pair geom1='floor' geom2='ball' friction='0.1 0.25 0.005 0.001 0.001'/></contact>"
    "<keyframe><key qpos='0 0 0.1 1 0 0 0' qvel='2 3 0 0 0 0'/></keyframe></mujoco>";

static cr_run open_law(const char *scene, const char *law) {
    cr_sim_options options = {.stepper = "located",
                              .law = law,
                              .eps_gap = 1e-9,
                              .eps_speed = 1e-9,
                              .eps_time = 1e-9,
                              .event_cap = 32,
                              .use_gradient = true};
    return cr_run_open(scene, &options, 40, 0.01);
}

static void check_number(cr_run *r, const double *seed, double *number, double gradient,
                         const char *what) {
    double uncertainty, difference = cr_run_difference(r, seed, number, 0, 1e-4, &uncertainty);
    if (!(fabs(gradient - difference) <= 1e-6 * fmax(1.0, fabs(difference)) + uncertainty)) {
        cr_test_fail("%s: %.12g instead of %.12g, uncertain by %.1e", what, gradient, difference,
                     uncertainty);
    }
    CHECK(uncertainty <= 1e-6 * fmax(1.0, fabs(difference)));
}

TEST(rollouts_have_the_gradients_of_both_coefficients) {
    static const char *const laws[] = {"ncp", "ncp-poisson", "lcp", "cone", "cone-reg"};
    static const char *const names[] = {"floor:ball/friction", "floor:ball/friction2", "ball/mass",
                                        "gravity[0]"};
    static const char *const states[] = {"ball/qvel[0]", "ball/qvel[1]", "ball/qvel[5]"};
    for (int k = 0; k < 10; k++) {
        cr_run r = open_law(k % 2 ? sliding : bouncing, laws[k / 2]);
        double seed[13] = {0};
        seed[0] = 1.0;
        seed[1] = -0.7;
        seed[r.n.n_q] = 0.5;
        seed[r.n.n_q + 1] = 0.3;
        cr_run_gradient(&r, seed);
        CHECK(fabs(r.p_adj[cr_run_p(&r, names[0])]) > 0.01);
        CHECK(fabs(r.p_adj[cr_run_p(&r, names[1])]) > 0.01);
        for (int i = 0; i < 4; i++) {
            int at = cr_run_p(&r, names[i]);
            check_number(&r, seed, &r.p[at], r.p_adj[at], names[i]);
        }
        for (int i = 0; i < 3; i++) {
            int at = cr_run_x(&r, states[i]);
            check_number(&r, seed, &r.x[at], r.x_adj[at], states[i]);
        }
        int size = cr_run_p(&r, "ball/size[0]");
        check_number(&r, seed, &r.p[size], r.p_adj[size], "ball/size[0]");
        cr_run_close(&r);
    }
}

TEST(equal_coefficients_are_one) {
    static const char *const laws[] = {"ncp", "ncp-poisson", "cone", "cone-reg"};
    char one[sizeof bouncing];
    const char *two = "data='0.1 0.25'/>", *at = strstr(bouncing, two);
    snprintf(one, sizeof one, "%.*sdata='0.2'/>%s", (int)(at - bouncing), bouncing,
             at + strlen(two));
    for (int k = 0; k < 4; k++) {
        cr_run a = open_law(bouncing, laws[k]), b = open_law(one, laws[k]);
        int first = cr_run_p(&a, "floor:ball/friction"),
            second = cr_run_p(&a, "ball:floor/friction2");
        int both = cr_run_p(&b, "floor:ball/friction");
        double seed[13] = {1.0, -0.7};
        a.p[first] = a.p[second] = 0.2;
        // frames differ, and with them rounding
        CHECK_CLOSE(cr_run_gradient(&a, seed), cr_run_gradient(&b, seed), 1e-11, 0.0);
        CHECK_CLOSE(a.p_adj[first] + a.p_adj[second], b.p_adj[both], 1e-9, 1e-9);
        // no kink, but for the law that depends on the scale of rows
        bool is_one_sided = cr_sim_report(a.sim)->grad & CR_GRAD_ONE_SIDED;
        CHECK_INT(is_one_sided, strcmp(laws[k], "cone-reg") == 0);
        if (!is_one_sided) {
            check_number(&a, seed, &a.p[first], a.p_adj[first], "first of equals");
            check_number(&a, seed, &a.p[second], a.p_adj[second], "second of equals");
        }
        cr_run_close(&a);
        cr_run_close(&b);
    }
}

CR_TEST_MAIN(a_puck_is_slowed_by_the_friction_ellipse, other_laws_slow_a_puck_along_the_axes,
             a_direction_may_have_no_friction,
             a_box_sticks_along_one_direction_of_a_slope_and_slides_along_the_other,
             rollouts_have_the_gradients_of_both_coefficients, equal_coefficients_are_one)
