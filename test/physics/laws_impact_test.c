// SPDX-License-Identifier: MIT
//
// Impacts under each law: heights of bounces, two balls, Newton's cradle, Kane's double pendulum;
// and a body that needs no law, Dzhanibekov's nut.
//
// Without friction all laws but cone-reg agree on one contact, v' = -e v. They part where contacts
// act together or where friction changes direction during the impact.

#include "laws_scene.h"

#include <stdio.h>

static const double g = 9.81;

// cone-reg with one contact of A = 1/m, eps = 0.01/kg, before restitution by e: v' = -(this) v.
// Compression leaves part q of v, restitution adds e f_c
static double regularised_bounce(double e, double mass) {
    double q = 0.01 * mass / (1.0 + 0.01 * mass);
    return (1.0 + e) * (1.0 - q) - 1.0;
}

// ---- one ball -----------------------------------------------------------------------------------

TEST(a_drop_comes_back_to_e_squared_of_its_height) {
    static const double bounce[] = {0.3, 0.5, 0.8, 1.0};
    for (int i = 0; i < 4 * N_LAW * N_STEPPER; i++) {
        int k = i % N_LAW, s = i / N_LAW % N_STEPPER;
        double e = bounce[i / (N_LAW * N_STEPPER)], mass = 2.0, x[13];
        char scene[1024];
        snprintf(scene, sizeof scene,
                 "<mujoco><custom><numeric name='carom:restitution:floor:ball' data='%g'/></custom>"
                 "<worldbody><geom name='floor' type='plane' size='9 9 1'/><body pos='0 0 0.6'>"
                 "<freejoint/><geom name='ball' size='0.1' mass='%g'/></body></worldbody></mujoco>",
                 e, mass);
        cr_run r = laws_open(scene, law_names[k], stepper_names[s], 0.01);
        memcpy(x, r.x, sizeof x);
        // 0.32 s to the floor; the next impact is later than 0.32 (1 + 2 e)
        for (int n = 0; n < 34; n++) {
            laws_step(&r, x);
        }
        // end: the jump is where the step before 0.32 s ends, below the floor; heights count from
        // there
        double fall = s == 0 ? sqrt(2.0 * 0.5 / g) : 0.01 * ceil(sqrt(2.0 * 0.5 / g) / 0.01);
        double down = 0.5 * g * fall * fall, start = 0.6 - down;
        double ratio = k == CONE_REG ? regularised_bounce(e, mass) : e;
        double top = x[2] + x[9] * x[9] / (2.0 * g) - start;
        laws_near(&r, "height", top / down, ratio * ratio, 1e-9);
        cr_run_close(&r);
    }
}

// ---- balls in a row -----------------------------------------------------------------------------

// n balls of 1 kg, radius 0.1, in a row with gaps; the first has 1 m/s; no gravity, no friction
static cr_run open_row(const char *law, const char *stepper, int n, double gap, double e,
                       double dt) {
    char scene[4096];
    int at = snprintf(scene, sizeof scene,
                      "<mujoco><option gravity='0 0 0'/><default><geom friction='0'/></default>"
                      "<custom>");
    for (int i = 0; i < n; i++) {
        at += snprintf(scene + at, sizeof scene - (size_t)at,
                       "<numeric name='carom:restitution:b%d' data='%g'/>", i, e);
    }
    at += snprintf(scene + at, sizeof scene - (size_t)at, "</custom><worldbody>");
    for (int i = 0; i < n; i++) {
        double x = 0.2 * i + gap * (i > 0 ? i - 1 : 0) - (i == 0 ? 0.005 : 0.0);
        at += snprintf(scene + at, sizeof scene - (size_t)at,
                       "<body pos='%.17g 0 0'><freejoint/><geom name='b%d' size='0.1' mass='1'/>"
                       "</body>",
                       x, i);
    }
    snprintf(scene + at, sizeof scene - (size_t)at, "</worldbody></mujoco>");
    cr_run r = laws_open(scene, law, stepper, dt);
    r.x[r.n.n_q] = 1.0;
    return r;
}

TEST(two_balls_exchange_their_velocities) {
    static const double bounce[] = {0.2, 0.6, 1.0};
    for (int i = 0; i < 3 * N_LAW * N_STEPPER; i++) {
        int k = i % N_LAW, s = i / N_LAW % N_STEPPER;
        double e = bounce[i / (N_LAW * N_STEPPER)], x[26];
        cr_run r = open_row(law_names[k], stepper_names[s], 2, 0.0, e, 0.004);
        memcpy(x, r.x, sizeof x);
        for (int n = 0; n < 4; n++) {
            laws_step(&r, x);
        }
        // A = 1/m + 1/m: as one ball of half the mass
        double back = k == CONE_REG ? regularised_bounce(e, 0.5) : e;
        laws_near(&r, "speed of the first", x[14], 0.5 * (1.0 - back), 1e-12);
        laws_near(&r, "speed of the second", x[20], 0.5 * (1.0 + back), 1e-12);
        cr_run_close(&r);
    }
}

TEST(a_row_with_gaps_passes_the_velocity_to_its_end) {
    for (int i = 0; i < N_LAW * N_STEPPER; i++) {
        int k = i % N_LAW, s = i / N_LAW;
        if (k == CONE_REG) {
            continue;
        }
        cr_run r = open_row(law_names[k], stepper_names[s], 5, 1e-4, 1.0, 0.001);
        double x[65];
        memcpy(x, r.x, sizeof x);
        for (int n = 0; n < 20; n++) {
            laws_step(&r, x);
        }
        // one impact after the other; the chance of rounding is in the normals
        for (int b = 0; b < 5; b++) {
            laws_near(&r, "speed of a ball", x[35 + 6 * b], b == 4 ? 1.0 : 0.0, 1e-12);
        }
        cr_run_close(&r);
    }
}

TEST(a_row_that_touches_moves_as_one_problem) {
    // one solve for all contacts: compression brings n balls to 1/n of the speed, restitution with
    // e = 1 does as much again, so the first has 2/n - 1 and the others 2/n. Newton's law asks for
    // the same: the first contact opens with 1 m/s, the others stay closed. Energy is kept, and the
    // cradle of the toy shop is not
    for (int n = 3; n <= 4; n++) {
        for (int k = 0; k < N_LAW; k++) {
            if (k == CONE_REG) {
                continue;
            }
            cr_run r = open_row(law_names[k], "located", n, 0.0, 1.0, 0.01);
            double x[65];
            memcpy(x, r.x, sizeof(double) * (size_t)r.n.n_x);
            double before = cr_sim_energy(r.sim, x);
            laws_step(&r, x);
            for (int b = 0; b < n; b++) {
                double speed = 2.0 / n - (b == 0 ? 1.0 : 0.0);
                laws_near(&r, "speed of a ball", x[r.n.n_q + 6 * b], speed, 1e-11);
            }
            laws_near(&r, "energy", cr_sim_energy(r.sim, x), before, 1e-11);
            cr_run_close(&r);
        }
    }
}

TEST(a_hanging_cradle_swings_on_the_other_side) {
    char scene[4096];
    int at = snprintf(scene, sizeof scene,
                      "<mujoco><compiler angle='radian'/><option integrator='RK4'/><default>"
                      "<geom friction='0'/></default><custom>");
    for (int i = 0; i < 5; i++) {
        at += snprintf(scene + at, sizeof scene - (size_t)at,
                       "<numeric name='carom:restitution:b%d' data='1'/>", i);
    }
    at += snprintf(scene + at, sizeof scene - (size_t)at, "</custom><worldbody>");
    for (int i = 0; i < 5; i++) {
        at += snprintf(scene + at, sizeof scene - (size_t)at,
                       "<body pos='%.17g 0 1'><joint name='j%d' axis='0 -1 0'/>"
                       "<geom name='b%d' size='0.05' mass='1' pos='0 0 -1'/></body>",
                       0.10001 * i, i, i);
    }
    snprintf(scene + at, sizeof scene - (size_t)at, "</worldbody></mujoco>");
    for (int k = 0; k < N_LAW; k++) {
        if (k == CONE_REG) {
            continue;
        }
        cr_run r = laws_open(scene, law_names[k], "located", 0.005);
        double x[10], top = 0.0, left = 0.0;
        memcpy(x, r.x, sizeof x);
        x[0] = -0.5;
        double before = cr_sim_energy(r.sim, x);
        // half a period is 1.02 s: the last ball is near its height then
        for (int n = 0; n < 210; n++) {
            laws_step(&r, x);
            top = fmax(top, x[4]);
            left = n > 120 ? fmax(left, fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[3])))) : 0.0;
        }
        // gaps of 1e-5 m and turned normals leave a little with the others
        laws_near(&r, "highest angle", top, 0.5, 1e-3);
        laws_near(&r, "angle of the others", left, 0.0, 1e-3);
        laws_near(&r, "energy", cr_sim_energy(r.sim, x), before, 1e-6);
        cr_run_close(&r);
    }
}

// ---- Kane's double pendulum ---------------------------------------------------------------------

/// Two rods of 1 m and 1 kg that hang from each other, absolute angles from below; the tip, a ball,
/// is about to touch the floor.
typedef struct pendulum {
    double angle[2], rate[2];
    double e, mu;
} pendulum;

static const double tip_radius = 0.01;

static cr_run open_pendulum(const pendulum *p, const char *law, const char *stepper) {
    char scene[2048];
    static const char rod[] =
        "<inertial pos='0 0 -.5' mass='1' diaginertia='.083333333333333333 .083333333333333333 "
        ".001'/>";
    double height = cos(p->angle[0]) + cos(p->angle[1]) + tip_radius + 1e-7;
    snprintf(scene, sizeof scene,
             "<mujoco><compiler angle='radian'/><option gravity='0 0 0' integrator='RK4'/><custom>"
             "<numeric name='carom:restitution:floor:tip' data='%.17g'/>"
             "<numeric name='carom:friction:floor:tip' data='%.17g'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/><body pos='0 0 %.17g'>"
             "<joint axis='0 -1 0'/>%s<body pos='0 0 -1'><joint axis='0 -1 0'/>%s"
             "<geom name='tip' pos='0 0 -1' size='%g'/></body></body></worldbody></mujoco>",
             p->e, p->mu, height, rod, rod, tip_radius);
    cr_run r = laws_open(scene, law, stepper, 1e-5);
    r.x[0] = p->angle[0];
    r.x[1] = p->angle[1] - p->angle[0];
    r.x[2] = p->rate[0];
    r.x[3] = p->rate[1] - p->rate[0];
    return r;
}

// how fast the tip falls
static double approach(const pendulum *p) {
    return -(sin(p->angle[0]) * p->rate[0] + sin(p->angle[1]) * p->rate[1]);
}

// energy after the step over that before it
static double energy_ratio(const pendulum *p, const char *law, const char *stepper) {
    cr_run r = open_pendulum(p, law, stepper);
    double x[4], before = cr_sim_energy(r.sim, r.x);
    memcpy(x, r.x, sizeof x);
    laws_step(&r, x);
    CHECK(cr_sim_report(r.sim)->n_event >= 1);
    double ratio = cr_sim_energy(r.sim, x) / before;
    cr_run_close(&r);
    return ratio;
}

// the same by hand, for Newton's hypothesis when the tip sticks or slides with the friction of its
// slip before: M of two rods, rows of the tip, f = A^-1 (u - b)
static double energy_ratio_by_newton(const pendulum *p) {
    double M12 = 0.5 * cos(p->angle[0] - p->angle[1]), M11 = 4.0 / 3.0, M22 = 1.0 / 3.0;
    double det = M11 * M22 - M12 * M12;
    double J[2][2] = {{sin(p->angle[0]), sin(p->angle[1])},
                      {cos(p->angle[0]), cos(p->angle[1]) + tip_radius}};
    double b[2], A[2][2], W[2][2] = {{M22 / det, -M12 / det}, {-M12 / det, M11 / det}};
    for (int i = 0; i < 2; i++) {
        b[i] = J[i][0] * p->rate[0] + J[i][1] * p->rate[1];
        for (int j = 0; j < 2; j++) {
            A[i][j] = J[i][0] * (W[0][0] * J[j][0] + W[0][1] * J[j][1]) +
                      J[i][1] * (W[1][0] * J[j][0] + W[1][1] * J[j][1]);
        }
    }
    double want[2] = {-(1.0 + p->e) * b[0], -b[1]}, area = A[0][0] * A[1][1] - A[0][1] * A[1][0];
    double f[2] = {(A[1][1] * want[0] - A[0][1] * want[1]) / area,
                   (A[0][0] * want[1] - A[1][0] * want[0]) / area};
    if (fabs(f[1]) > p->mu * f[0]) {
        double pull = copysign(p->mu, f[1]);
        f[0] = want[0] / (A[0][0] + pull * A[0][1]);
        f[1] = pull * f[0];
    }
    // 2 (E' - E) = f.(u + u') with u' = b + A f
    double work = 0.0, before = 0.0;
    for (int i = 0; i < 2; i++) {
        work += f[i] * (2.0 * b[i] + A[i][0] * f[0] + A[i][1] * f[1]);
    }
    before = M11 * p->rate[0] * p->rate[0] + 2.0 * M12 * p->rate[0] * p->rate[1] +
             M22 * p->rate[1] * p->rate[1];
    return 1.0 + work / before;
}

TEST(kanes_pendulum_gains_energy_under_newton_alone) {
    // 20 and 30 degrees, -0.1 and -0.2 rad/s, e = 0.5, mu = 0.5: Kane and Levinson's case
    const pendulum p = {
        .angle = {0.349065850398866, 0.523598775598299}, .rate = {-0.1, -0.2}, .e = 0.5, .mu = 0.5};
    double by_hand = energy_ratio_by_newton(&p);
    CHECK(by_hand > 1.5);
    for (int s = 0; s < N_STEPPER; s++) {
        // 1e-5 s move the tip by 1e-6 m; and end opens the overlap
        double tolerance = s == 0 ? 1e-6 : 1e-4;
        CHECK_CLOSE(energy_ratio(&p, "ncp", stepper_names[s]), by_hand, tolerance, 0.0);
        // in a plane the octagon has a corner along the slip
        CHECK_CLOSE(energy_ratio(&p, "lcp", stepper_names[s]), by_hand, tolerance, 0.0);
        CHECK(energy_ratio(&p, "ncp-poisson", stepper_names[s]) < 0.6);
        CHECK(energy_ratio(&p, "cone", stepper_names[s]) < 0.6);
        CHECK(energy_ratio(&p, "cone-reg", stepper_names[s]) < 0.6);
    }
}

TEST(no_pendulum_gains_energy_under_poisson) {
    cr_test_rng rng = cr_test_rng_of(5);
    int n_gain = 0, n_case = 0;
    while (n_case < 300) {
        pendulum p;
        for (int i = 0; i < 2; i++) {
            p.angle[i] = cr_test_uniform(&rng, -1.2, 1.2);
            p.rate[i] = cr_test_uniform(&rng, -2.0, 2.0);
        }
        p.e = cr_test_uniform(&rng, 0.0, 1.0);
        p.mu = cr_test_uniform(&rng, 0.0, 1.2);
        if (approach(&p) < 0.1) {
            continue;
        }
        n_case++;
        n_gain += energy_ratio(&p, "ncp", "located") > 1.0 + 1e-9;
        for (int k = NCP_POISSON; k <= CONE_REG; k++) {
            double ratio = energy_ratio(&p, law_names[k], "located");
            if (!(ratio <= 1.0 + 1e-12)) {
                cr_test_fail("%s: case %d gains %g", law_names[k], n_case, ratio - 1.0);
            }
        }
    }
    // 30 of the 300
    CHECK(n_gain > 10);
}

TEST(a_thrown_box_gains_no_energy_under_poisson) {
    static const char scene[] =
        "<mujoco><custom><numeric name='carom:restitution:floor:box' data='0.6'/>"
        "<numeric name='carom:friction:floor:box' data='0.4'/></custom><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1'/><body pos='0 0 0.6'><freejoint/>"
        "<geom name='box' type='box' size='0.2 0.1 0.05'/></body></worldbody></mujoco>";
    static const double throws[][6] = {
        {0.6, 0.2, 0.0, 2.0, 1.0, 3.0}, {-1.0, 0.5, -2.0, 5.0, -4.0, 1.0}, {2, 0, 0, 0.3, 9, 0}};
    for (int i = 0; i < 6; i++) {
        cr_run r = laws_open(scene, law_names[i % 2 ? CONE : NCP_POISSON], "located", 0.005);
        double x[13];
        memcpy(x, r.x, sizeof x);
        memcpy(x + 7, throws[i / 2], sizeof throws[i / 2]);
        double start = cr_sim_energy(r.sim, x), before = start;
        for (int n = 0; n < 300; n++) {
            laws_step(&r, x);
            double after = cr_sim_energy(r.sim, x);
            // the flow of a spinning box keeps energy to fourth order: 1e-8 a step here
            if (!(after <= before + 1e-7 * start)) {
                cr_test_fail("%s, throw %d: step %d adds %g of %g", r.options.law, i / 2, n,
                             after - before, start);
            }
            before = after;
        }
        CHECK(before < 0.5 * start);
        cr_run_close(&r);
    }
}

// ---- Dzhanibekov --------------------------------------------------------------------------------

// complete elliptic integral K(k) by the arithmetic-geometric mean
static double elliptic(double k2) {
    double a = 1.0, b = sqrt(1.0 - k2);
    for (int i = 0; i < 12; i++) {
        double mean = 0.5 * (a + b);
        b = sqrt(a * b);
        a = mean;
    }
    return 1.5707963267948966 / a;
}

TEST(a_nut_turns_over_in_time) {
    // I1 < I2 < I3 about x, y, z; spin about y, the middle one. Landau and Lifshitz, Mechanics 37:
    // with 2E = sum I w^2, M^2 = sum (I w)^2, here M^2 > 2E I2,
    // rate = sqrt((I3 - I2)(M^2 - 2E I1)/(I1 I2 I3)),
    // k^2 = (I2 - I1)(2E I3 - M^2)/((I3 - I2)(M^2 - 2E I1)), w2 changes sign every 2 K/rate
    static const char scene[] =
        "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='0.01 0.02 0.027'/>"
        "<geom size='0.1' contype='0' conaffinity='0'/></body></worldbody></mujoco>";
    const double I[3] = {0.01, 0.02, 0.027}, w[3] = {0.0, 6.0, 0.02};
    double E2 = 0.0, M2 = 0.0;
    for (int i = 0; i < 3; i++) {
        E2 += I[i] * w[i] * w[i];
        M2 += I[i] * I[i] * w[i] * w[i];
    }
    double rate = sqrt((I[2] - I[1]) * (M2 - E2 * I[0]) / (I[0] * I[1] * I[2]));
    double k2 = (I[1] - I[0]) * (E2 * I[2] - M2) / ((I[2] - I[1]) * (M2 - E2 * I[0]));
    double interval = 2.0 * elliptic(k2) / rate;
    for (int s = 0; s < N_STEPPER; s++) {
        cr_run r = laws_open(scene, "ncp", stepper_names[s], 0.002);
        double x[13], at[4] = {0}, last = w[1];
        int n_turn = 0;
        memcpy(x, r.x, sizeof x);
        memcpy(x + 10, w, sizeof w);
        double before = cr_sim_energy(r.sim, x);
        for (int n = 0; n < 10000 && n_turn < 4; n++) {
            laws_step(&r, x);
            if (last * x[11] < 0.0) {
                at[n_turn++] = (n + last / (last - x[11])) * r.dt;
            }
            last = x[11];
        }
        CHECK_INT(n_turn, 4);
        // w2 has no curvature at its zero: the interpolation errs by the cube of the step
        for (int i = 1; i < n_turn; i++) {
            laws_near(&r, "time between turns", at[i] - at[i - 1], interval, 1e-5);
        }
        laws_near(&r, "energy", cr_sim_energy(r.sim, x), before, 1e-9 * before);
        cr_run_close(&r);
    }
}

CR_TEST_MAIN(a_drop_comes_back_to_e_squared_of_its_height, two_balls_exchange_their_velocities,
             a_row_with_gaps_passes_the_velocity_to_its_end,
             a_row_that_touches_moves_as_one_problem, a_hanging_cradle_swings_on_the_other_side,
             kanes_pendulum_gains_energy_under_newton_alone, no_pendulum_gains_energy_under_poisson,
             a_thrown_box_gains_no_energy_under_poisson, a_nut_turns_over_in_time)
