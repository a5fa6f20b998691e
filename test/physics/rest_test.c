// SPDX-License-Identifier: MIT
//
// Bodies that come to rest, stay there, or start where they should not: Zeno sequences, corners,
// friction on a slope, overlaps.

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double g = 9.81;

// one step in place; fails the test when the solve did
static void step(cr_run *r, double *x) {
    cr_error err = {0};
    if (cr_sim_step(r->sim, r->dt, x, r->u, x, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    CHECK_INT(cr_sim_report(r->sim)->outcome, CR_SOLVED);
}

static void steps(cr_run *r, double *x, int n) {
    for (int i = 0; i < n; i++) {
        step(r, x);
    }
}

static double speed_of(const cr_run *r, const double *x) {
    double sum = 0.0;
    for (int i = r->n.n_q; i < r->n.n_x; i++) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}

// ---- one ball -----------------------------------------------------------------------------------

static cr_run open_ball(const char *gravity, double e, double dt) {
    char scene[1024];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='%s'/><custom>"
             "<numeric name='carom:restitution:ball' data='%g'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1' friction='0.5'/>"
             "<geom name='wall' type='plane' size='9 9 1' zaxis='1 0 0' friction='0.5'/>"
             "<body name='ball' pos='3 0 0.3'><freejoint/>"
             "<geom name='ball' size='0.1' friction='0.5'/></body></worldbody></mujoco>",
             gravity, e);
    return cr_run_open(scene, NULL, 1, dt);
}

TEST(a_zeno_sequence_ends_in_rest_and_nothing_sinks) {
    static const double bounce[] = {0.0, 0.3, 0.5, 0.8}, length[] = {0.001, 0.01, 0.1};
    for (int k = 0; k < 12; k++) {
        cr_run r = open_ball("0 0 -9.81", bounce[k % 4], length[k / 4]);
        double x[13];
        memcpy(x, r.x, sizeof x);
        // bounces end after sqrt(2 h/g) (1 + e)/(1 - e)
        double t = sqrt(0.4 / g) * (1.0 + bounce[k % 4]) / (1.0 - bounce[k % 4]);
        steps(&r, x, (int)ceil(1.2 * t / r.dt) + 2);
        CHECK(fabs(x[2] - 0.1) <= 1e-9);
        CHECK(speed_of(&r, x) <= 1e-12);
        steps(&r, x, 1000);
        CHECK(fabs(x[2] - 0.1) <= 1e-8);
        CHECK(speed_of(&r, x) <= 1e-12);
        CHECK(fabs(x[0] - 3.0) <= 1e-12);
        CHECK_INT(cr_sim_report(r.sim)->grad & CR_GRAD_DISCRETE, CR_GRAD_DISCRETE);
        cr_run_close(&r);
    }
}

// deepest overlap with the floor or the wall
static double depth_in_corner(const double *x) {
    return fmax(0.1 - x[2], 0.1 - x[0]);
}

TEST(a_ball_comes_to_rest_between_floor_and_wall) {
    // gravity towards both
    cr_run r = open_ball("-3 0 -9", 0.6, 0.01);
    double x[13], deepest = 0.0;
    memcpy(x, r.x, sizeof x);
    x[0] = 0.5;
    for (int i = 0; i < 2000; i++) {
        step(&r, x);
        deepest = fmax(deepest, depth_in_corner(x));
    }
    CHECK(deepest <= 1e-8);
    CHECK_CLOSE(x[0], 0.1, 1e-8, 0.0);
    CHECK_CLOSE(x[2], 0.1, 1e-8, 0.0);
    CHECK(speed_of(&r, x) <= 1e-9);
    cr_run_close(&r);
}

TEST(a_ball_rolls_along_the_floor_and_bounces_off_the_wall) {
    cr_run r = open_ball("0 0 -9.81", 0.6, 0.01);
    double x[13], deepest = 0.0;
    memcpy(x, r.x, sizeof x);
    x[0] = 0.5;
    x[2] = 0.1;
    x[7] = -1.0;
    x[11] = -10.0;
    double before = cr_sim_energy(r.sim, x), start = before;
    bool has_hit = false;
    for (int i = 0; i < 300; i++) {
        step(&r, x);
        deepest = fmax(deepest, depth_in_corner(x));
        has_hit = has_hit || cr_sim_report(r.sim)->n_event > 0;
        double after = cr_sim_energy(r.sim, x);
        CHECK(after <= before + 1e-12 * start);
        before = after;
    }
    CHECK(has_hit);
    CHECK(deepest <= 1e-8);
    CHECK(x[7] > 0.0);
    cr_run_close(&r);
}

// ---- a box --------------------------------------------------------------------------------------

static cr_run open_box(double slope, double mu) {
    char scene[1024];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='%.17g 0 %.17g'/><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1' friction='%g'/>"
             "<body name='box' pos='0 0 0.05'><freejoint/>"
             "<geom name='box' type='box' size='0.2 0.1 0.05' friction='0'/></body></worldbody>"
             "</mujoco>",
             g * sin(slope), -g * cos(slope), mu);
    return cr_run_open(scene, NULL, 1, 0.01);
}

// how far a box at rest moves in ten seconds
static double creep(double slope, double mu) {
    cr_run r = open_box(slope, mu);
    double x[13], moved = 0.0;
    memcpy(x, r.x, sizeof x);
    steps(&r, x, 1000);
    for (int i = 0; i < 7; i++) {
        moved = fmax(moved, fabs(x[i] - r.x[i]));
    }
    cr_run_close(&r);
    return moved;
}

TEST(a_resting_box_does_not_creep) {
    CHECK(creep(0.0, 0.5) <= 1e-12);
    CHECK(creep(0.0, 0.0) <= 1e-12);
}

TEST(a_box_sticks_below_the_angle_of_friction) {
    const double mu = 0.5, angle = atan(mu);
    CHECK(creep(0.5 * angle, mu) <= 1e-9);
    CHECK(creep(0.99 * angle, mu) <= 1e-9);
    CHECK(creep(-0.99 * angle, mu) <= 1e-9);
}

TEST(a_box_slides_above_the_angle_of_friction) {
    const double mu = 0.3, slope = 0.4;
    cr_run r = open_box(slope, mu);
    double x[13], a = g * (sin(slope) - mu * cos(slope));
    memcpy(x, r.x, sizeof x);
    for (int i = 1; i <= 200; i++) {
        step(&r, x);
        double t = 0.01 * i;
        CHECK_CLOSE(x[7], a * t, 0.0, 1e-11);
        // velocity first: half a step ahead
        CHECK_CLOSE(x[0], 0.5 * a * t * (t + 0.01), 0.0, 1e-11);
        CHECK_CLOSE(x[2], 0.05, 1e-9, 0.0);
    }
    cr_run_close(&r);
}

TEST(a_thrown_box_comes_to_rest_on_a_face) {
    static const double throws[][6] = {
        {0.6, 0.2, 0.0, 2.0, 1.0, 3.0}, {-1.0, 0.5, -2.0, 5.0, -4.0, 1.0}, {0, 0, 0, 0.3, 0.2, 0}};
    for (int k = 0; k < 3; k++) {
        cr_run r = open_box(0.0, 0.5);
        double x[13], deepest = 0.0;
        memcpy(x, r.x, sizeof x);
        memcpy(x + 7, throws[k], sizeof throws[k]);
        x[2] = 0.5;
        for (int i = 0; i < 600; i++) {
            step(&r, x);
            deepest = fmax(deepest, cr_sim_report(r.sim)->penetration);
        }
        // on one of three faces
        double height = fmin(fabs(x[2] - 0.05), fmin(fabs(x[2] - 0.1), fabs(x[2] - 0.2)));
        if (!(height <= 1e-7) || !(speed_of(&r, x) <= 1e-6) || !(deepest <= 1e-5)) {
            cr_test_fail("throw %d: height off by %g, speed %g, overlap %g", k, height,
                         speed_of(&r, x), deepest);
        }
        cr_run_close(&r);
    }
}

// A tilted box whose lowest corner r rests while it turns: its spin about the normal and the turn
// w_t against r_t draw the corner down, k = n.(w x (w x r)) = (n.w)(w_t.r_t) - (n.r) w_t^2 < 0.
static cr_run open_spinning(int n_step, double *k) {
    cr_run r = open_box(0.0, 0.5);
    r.n_step = n_step;
    r.dt = 0.002;
    // R turns about y by b, then about x by a
    const double a = 0.4, b = 0.3, up = 12.0, across = 3.0;
    double ca = cos(a), sa = sin(a), cb = cos(b), sb = sin(b), corner[3] = {0.2, -0.1, -0.05};
    double R[3][3] = {{cb, 0.0, sb}, {sa * sb, ca, -sa * cb}, {-ca * sb, sa, ca * cb}};
    double q[4] = {cos(0.5 * a) * cos(0.5 * b), sin(0.5 * a) * cos(0.5 * b),
                   cos(0.5 * a) * sin(0.5 * b), sin(0.5 * a) * sin(0.5 * b)};
    double arm[3] = {0};
    for (int i = 0; i < 9; i++) {
        arm[i / 3] += R[i / 3][i % 3] * corner[i % 3];
    }
    double size = hypot(arm[0], arm[1]);
    double w[3] = {-across * arm[0] / size, -across * arm[1] / size, up};
    *k = -up * across * size - arm[2] * across * across;
    memcpy(r.x + 3, q, sizeof q);
    r.x[2] = -arm[2];
    // v = -w x r: the corner stands still; spins are in the frame of the box
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, l = (i + 2) % 3;
        r.x[7 + i] = -(w[j] * arm[l] - w[l] * arm[j]);
        r.x[10 + i] = R[0][i] * w[0] + R[1][i] * w[1] + R[2][i] * w[2];
    }
    return r;
}

TEST(a_resting_corner_that_turns_downwards_does_not_sink) {
    double k;
    cr_run r = open_spinning(1, &k);
    int n_impact = 0;
    CHECK(k < -5.0); // a step along its circle is 1e-5 m deep
    for (int i = 0; i < 20; i++) {
        step(&r, r.x);
        CHECK(cr_sim_report(r.sim)->penetration <= 1e-6);
        n_impact += cr_sim_report(r.sim)->n_event;
    }
    CHECK(n_impact <= 1); // what a part leaves approaching rests
    CHECK(r.x[2] < 0.2);  // it has not left the floor
    cr_run_close(&r);
}

#define PLANAR                                                                                     \
    "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"                         \
    "<joint type='hinge' axis='0 1 0'/>"

static const char two_boxes[] =
    "<mujoco><option gravity='0 0 0'/><worldbody><body>" PLANAR
    "<geom type='box' size='0.15 0.05 0.1' mass='2' friction='0.5'/></body><body>" PLANAR
    "<geom type='box' size='0.1 0.05 0.05' mass='1' friction='0.5'/></body></worldbody></mujoco>";

TEST(a_corner_on_a_face_that_turns_does_not_sink) {
    // a box slides over another, whose face turns towards its corner: n'.u counts there, or it
    // would be 2e-4 m deep
    cr_run r = cr_run_open(two_boxes, NULL, 1, 0.002);
    double x[12] = {0.0, 0.0, -2.3272, -0.3984, 0.0356,  0.8953,
                    0.0, 0.0, -0.8982, 2.4529,  -0.0728, -4.0259};
    int n_rest = 0;
    for (int i = 0; i < 400; i++) {
        step(&r, x);
        CHECK(cr_sim_report(r.sim)->penetration <= 1e-6);
        n_rest += (cr_sim_report(r.sim)->grad & CR_GRAD_DISCRETE) != 0;
    }
    CHECK(n_rest > 50);
    cr_run_close(&r);
}

// Two boxes of one depth turn past being parallel: near it the resting corner may be an edge of the
// other box too, of another id, which must not hide the corner that comes down.
TEST(a_face_that_turns_onto_a_sliding_one_is_met) {
    static const double start[12] = {
        0.11479358657517381,  0.033671259893415455, -1.8043591341811462,  -0.019686454262764986,
        -0.04980120899704224, 1.3387180402747054,   0.70503098179207546,  0.17750965359821763,
        3.5175437033681058,   1.0428116384862545,   -0.42786890819582774, -0.12000919555291542,
    };
    for (int k = 8; k <= 20; k++) {
        double x[12];
        cr_run r = cr_run_open(two_boxes, NULL, 1, 1e-4 * k);
        memcpy(x, start, sizeof x);
        step(&r, x);
        CHECK(cr_sim_report(r.sim)->penetration <= 1e-6);
        cr_run_close(&r);
    }
}

// What grazes on its way must not lend its time to what is still 6e-4 m away: an impulse there
// would change the angular momentum.
TEST(no_impact_acts_at_a_distance) {
    cr_run r = cr_run_open(two_boxes, NULL, 1, 0.002);
    double x[12] = {
        0, 0, -0.42376890714597959, -0.15342910443777324, -0.36940426352632,  -0.59934072678324224,
        0, 0, 1.1130329079452146,   0.8799674889973681,   2.1262004885640184, 1.1386068046884779};
    for (int i = 0; i < 60; i++) {
        int n;
        step(&r, x);
        const cr_contact *contact = cr_sim_contacts(r.sim, &n);
        for (int k = 0; k < n; k++) {
            CHECK(contact[k].gap <= 1e-6);
        }
    }
    cr_run_close(&r);
}

TEST(a_step_in_parts_has_the_gradient_of_its_map) {
    double k, seed[13], uncertainty;
    cr_run r = open_spinning(3, &k);
    for (int i = 0; i < 13; i++) {
        seed[i] = sin(1.0 + 2.0 * i);
    }
    cr_run_gradient(&r, seed);
    const char *const name[] = {"box/mass", "floor:box/friction", "gravity[2]"};
    for (int i = 0; i < 9; i++) {
        double *number = i < 6 ? r.x + 7 + i : r.p + cr_run_p(&r, name[i - 6]);
        double found = i < 6 ? r.x_adj[7 + i] : r.p_adj[cr_run_p(&r, name[i - 6])];
        // within 1e-4 m/s of rest
        double want = cr_run_difference(&r, seed, number, 0, 1e-5, &uncertainty);
        if (!(fabs(found - want) <= 1e-6 * (1.0 + fabs(want)))) {
            cr_test_fail("number %d: %.10g, differences %.10g +- %.1g", i, found, want,
                         uncertainty);
        }
    }
    cr_run_close(&r);
}

// ---- overlaps -----------------------------------------------------------------------------------

TEST(an_overlap_at_the_start_opens_without_tunnelling) {
    static const double depth[] = {1e-6, 0.02, 0.15}, speed[] = {-1.0, 0.0, 0.3};
    for (int k = 0; k < 9; k++) {
        cr_run r = open_ball("0 0 -9.81", 0.5, 0.01);
        double d = depth[k % 3], x[13];
        memcpy(x, r.x, sizeof x);
        x[2] = 0.1 - d;
        x[9] = speed[k / 3];
        step(&r, x);
        // an impact that is not located; one at rest or on its way out has no kink
        bool is_one_sided = cr_sim_report(r.sim)->grad & CR_GRAD_ONE_SIDED;
        if (is_one_sided != (speed[k / 3] < 0.0)) {
            cr_test_fail("depth %g, speed %g: the label is %d", d, speed[k / 3],
                         cr_sim_report(r.sim)->grad);
        }
        CHECK_CLOSE(cr_sim_report(r.sim)->penetration, d, 1e-15, 0.0);
        double least = x[2];
        for (int i = 0; i < 500; i++) {
            step(&r, x);
            least = fmin(least, x[2]);
        }
        // up from where it was, and out in the end
        if (!(least >= 0.1 - d - 1e-9) || !(fabs(x[2] - 0.1) <= 1e-8)) {
            cr_test_fail("depth %g, speed %g: lowest %g, at the end %g", d, speed[k / 3],
                         least - 0.1, x[2] - 0.1);
        }
        cr_run_close(&r);
    }
}

CR_TEST_MAIN(a_zeno_sequence_ends_in_rest_and_nothing_sinks,
             a_ball_comes_to_rest_between_floor_and_wall,
             a_ball_rolls_along_the_floor_and_bounces_off_the_wall, a_resting_box_does_not_creep,
             a_box_sticks_below_the_angle_of_friction, a_box_slides_above_the_angle_of_friction,
             a_thrown_box_comes_to_rest_on_a_face,
             a_resting_corner_that_turns_downwards_does_not_sink,
             a_corner_on_a_face_that_turns_does_not_sink,
             a_face_that_turns_onto_a_sliding_one_is_met, no_impact_acts_at_a_distance,
             a_step_in_parts_has_the_gradient_of_its_map,
             an_overlap_at_the_start_opens_without_tunnelling)
