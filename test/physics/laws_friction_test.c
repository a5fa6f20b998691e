// SPDX-License-Identifier: MIT
//
// Friction under each law: a block on an incline, creep, directions, rolling after an impact. The
// incline is a tilt of gravity.
//
//   sticks      while tan a <= mu
//   slides      with g (sin a - mu cos a) along the fall line (ncp, ncp-poisson; lcp along a corner
//               of its octagon)
//   lcp         else turns away from the nearest corner, up to the normal of the side
//   cone        lifts what slides, v_n = mu |v_t|, and so it hops; friction takes mu times the
//               normal impulse all the same, and each landing gives back what the hop needs
//
// What `end` adds by itself: a step falls freely for h, then stops. A block at rest hangs 4 g h^2
// cos a in the floor and creeps by g sin a h^2/2 a step, whatever the law.

#include "laws_scene.h"

#include <stdio.h>

static const double g = 9.81, pi = 3.14159265358979323846;

// a square block on four corners, gravity along (cos yaw, sin yaw) by slope; 1 kg
static cr_run open_block(const char *law, const char *stepper, double slope, double yaw, double mu,
                         double dt) {
    char scene[1024];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='%.17g %.17g %.17g'/><custom>"
             "<numeric name='carom:friction:floor:block' data='%.17g'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/>"
             "<body name='block' pos='0 0 0.05'><freejoint/>"
             "<geom name='block' type='box' size='0.1 0.1 0.05' mass='1'/></body></worldbody>"
             "</mujoco>",
             g * sin(slope) * cos(yaw), g * sin(slope) * sin(yaw), -g * cos(slope), mu);
    return laws_open(scene, law, stepper, dt);
}

// farthest that a position moves in n steps
static double moved_in(cr_run *r, double *x, int n) {
    double moved = 0.0;
    memcpy(x, r->x, sizeof(double) * (size_t)r->n.n_x);
    for (int i = 0; i < n; i++) {
        laws_step(r, x);
    }
    for (int i = 0; i < 3; i++) {
        moved = fmax(moved, fabs(x[i] - r->x[i]));
    }
    return moved;
}

// ---- sticking -----------------------------------------------------------------------------------

TEST(a_block_inside_its_cone_does_not_creep_in_a_minute) {
    // laws without softness; the bound is the task's, rounding leaves 1e-14 m
    static const law_index hard[] = {NCP, NCP_POISSON, CONE, LCP};
    const double mu = 0.5;
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 3; i++) {
            // lcp: the octagon's sides are nearer than its corners by cos 22.5 degrees
            double part = i == 0 ? 0.5 : 0.9, yaw = i == 2 ? pi / 8.0 : 0.0, x[13];
            cr_run r = open_block(law_names[hard[k]], "located", part * atan(mu), yaw, mu, 0.01);
            laws_near(&r, "creep", moved_in(&r, x, 6000), 0.0, 1e-9);
            cr_run_close(&r);
        }
    }
}

TEST(at_the_end_of_steps_a_block_creeps_by_its_free_fall) {
    const double mu = 0.5, slope = 0.2, h = 0.005;
    for (int k = 0; k < N_LAW; k++) {
        if (k == CONE_REG) {
            continue;
        }
        cr_run r = open_block(law_names[k], "end", slope, 0.0, mu, h);
        double x[13];
        moved_in(&r, x, 400);
        // the block is still sinking in the first few steps, but creeps as fast then
        laws_near(&r, "creep", x[0], 400 * 0.5 * g * sin(slope) * h * h, 1e-9);
        // the target lifts it by depth/8 in a step, and gravity takes that back
        laws_near(&r, "depth", 0.05 - x[2], 4.0 * g * cos(slope) * h * h, 1e-9);
        cr_run_close(&r);
    }
}

// a block that cannot tip: its corners move as one point
static cr_run open_plate(const char *law, const char *stepper, double slope, double mu, double mass,
                         double dt) {
    char scene[1024];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='%.17g 0 %.17g'/><custom>"
             "<numeric name='carom:friction:floor:block' data='%g'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/><body name='block' pos='0 0 0.05'>"
             "<freejoint/><inertial pos='0 0 0' mass='%g' diaginertia='1e9 1e9 1e9'/>"
             "<geom name='block' type='box' size='0.1 0.1 0.05'/></body></worldbody></mujoco>",
             g * sin(slope), -g * cos(slope), mu, mass);
    return laws_open(scene, law, stepper, dt);
}

TEST(a_regularised_block_creeps) {
    // four corners share the impulse, so a solve with A + eps 1 leaves q = (eps m/4)/(1 + eps m/4)
    // of a velocity; restitution finds nothing left to do. A step adds G = g sin a h:
    // v = q (v + G), and the motion adds v h + G h/2 in a step
    const double slope = 0.2, h = 0.005, eps = 0.01, mass = 20.0;
    cr_run r = open_plate("cone-reg", "end", slope, 0.5, mass, h);
    double x[13], y[13], q = 0.25 * eps * mass / (1.0 + 0.25 * eps * mass);
    double gain = g * sin(slope) * h, v = q * gain / (1.0 - q);
    moved_in(&r, x, 400);
    memcpy(y, x, sizeof y);
    laws_step(&r, y);
    laws_near(&r, "speed", x[7], v, 1e-9);
    laws_near(&r, "creep", y[0] - x[0], v * h + 0.5 * gain * h, 1e-9);
    cr_run_close(&r);
}

// ---- sliding ------------------------------------------------------------------------------------

TEST(a_block_slides_down_by_coulomb) {
    static const law_index exact[] = {NCP, NCP_POISSON, LCP};
    const double mu = 0.3, slope = 0.4, h = 0.01, a = g * (sin(slope) - mu * cos(slope));
    for (int k = 0; k < 3; k++) {
        for (int s = 0; s < N_STEPPER; s++) {
            cr_run r = open_block(law_names[exact[k]], stepper_names[s], slope, 0.0, mu, h);
            double x[13], v = 0.0, worst = 0.0;
            memcpy(x, r.x, sizeof x);
            for (int i = 1; i <= 300; i++) {
                laws_step(&r, x);
                // end: the first steps build up the depth; then the acceleration is the same
                worst = i > 150 ? fmax(worst, fabs((x[7] - v) / h - a)) : 0.0;
                v = x[7];
            }
            laws_near(&r, "acceleration", a + worst, a, 1e-9);
            if (s == 0) {
                laws_near(&r, "speed", x[7], 3.0 * a, 1e-10);
                // velocity first: half a step ahead
                laws_near(&r, "path", x[0], 0.5 * a * 3.0 * (3.0 + h), 1e-9);
                laws_near(&r, "height", x[2], 0.05, 1e-9);
            }
            cr_run_close(&r);
        }
    }
}

// acceleration and direction of a block from rest in an octagon of friction. Near a corner friction
// pulls along that corner, and the block turns away from it, but no further than the normal of the
// side; then it follows that normal
static double octagon_speed(double slope, double yaw, double mu, double *way) {
    double corner = pi / 4.0 * round(yaw / (pi / 4.0)), y = yaw - corner, edge = pi / 8.0;
    double along = sin(slope) * cos(y) - mu * cos(slope), across = sin(slope) * sin(y);
    double turn = atan2(across, along);
    if (fabs(turn) <= edge) {
        *way = corner + turn;
        return g * hypot(along, across);
    }
    double side = copysign(edge, y);
    *way = corner + side;
    return g * (sin(slope) * cos(y - side) - mu * cos(slope) * cos(edge));
}

TEST(friction_is_isotropic_but_under_lcp) {
    // the same incline in sixteen directions: speed and direction after a second
    const double mu = 0.3, slope = 0.4, T = 1.0, a = g * (sin(slope) - mu * cos(slope));
    double turned = 0.0, fastest = 0.0;
    for (int k = 0; k < N_LAW; k++) {
        for (int i = 0; i < 16 && (k == NCP || k == NCP_POISSON || k == LCP); i++) {
            double yaw = pi * i / 32.0, x[13], way = yaw;
            cr_run r = open_block(law_names[k], "located", slope, yaw, mu, 0.01);
            moved_in(&r, x, 100);
            double speed = k == LCP ? octagon_speed(slope, yaw, mu, &way) : a;
            laws_near(&r, "speed", hypot(x[7], x[8]), speed * T, 1e-9);
            laws_near(&r, "direction", atan2(x[8], x[7]), way, 1e-9);
            turned = fmax(turned, fabs(atan2(x[8], x[7]) - yaw));
            fastest = fmax(fastest, hypot(x[7], x[8]));
            cr_run_close(&r);
        }
    }
    // what that comes to on this incline: a block 12 degrees off, and faster by a fifth
    CHECK_CLOSE(turned, 0.2324, 1e-4, 0.0);
    CHECK_CLOSE(fastest / (a * T), 1.0 + mu * cos(slope) * (1.0 - cos(pi / 8.0)) * g / a, 0.0,
                1e-9);
}

TEST(the_convex_cone_is_isotropic_in_an_impact) {
    // a ball without spin, so far from rolling that it slides: the tangential velocity keeps its
    // direction
    for (int k = CONE; k <= CONE_REG; k++) {
        double first = 0.0;
        for (int i = 0; i < 16; i++) {
            double yaw = pi * i / 32.0, x[13];
            static const char scene[] =
                "<mujoco><option gravity='0 0 0'/><custom>"
                "<numeric name='carom:friction:floor:ball' data='0.2'/></custom><worldbody>"
                "<geom name='floor' type='plane' size='9 9 1'/><body name='ball' pos='0 0 0.11'>"
                "<freejoint/><geom name='ball' size='0.1' mass='1'/></body></worldbody></mujoco>";
            cr_run r = laws_open(scene, law_names[k], "located", 0.02);
            memcpy(x, r.x, sizeof x);
            x[7] = 5.0 * cos(yaw);
            x[8] = 5.0 * sin(yaw);
            x[9] = -1.0;
            laws_step(&r, x);
            double speed = hypot(x[7], x[8]);
            first = i == 0 ? speed : first;
            CHECK(first < 4.9);
            laws_near(&r, "speed", speed, first, 1e-12);
            laws_near(&r, "direction", atan2(x[8], x[7]), yaw, 1e-12);
            cr_run_close(&r);
        }
    }
}

// ---- the lift of the convex cone ----------------------------------------------------------------

TEST(the_convex_cone_lifts_what_slides) {
    // KKT of the sliding class: v_n = mu |v_t| at the contact
    static const double friction[] = {0.1, 0.3, 0.8};
    for (int i = 0; i < 3 * N_LAW; i++) {
        int k = i % N_LAW;
        double mu = friction[i / N_LAW], x[13];
        cr_run r = open_plate(law_names[k], "located", 0.0, mu, 1.0, 0.001);
        memcpy(x, r.x, sizeof x);
        x[7] = 2.0;
        laws_step(&r, x);
        // cone-reg: eps m/4 of the impulse is missing, 1/400
        double lift = k == CONE || k == CONE_REG ? mu * x[7] : 0.0;
        laws_near(&r, "lift", x[9], lift, k == CONE_REG ? 0.01 * lift : 1e-9);
        cr_run_close(&r);
    }
}

// ---- rolling after an impact --------------------------------------------------------------------

// a round body (sphere: c = 2/5, cylinder: c = 1/2) hits the floor at (v, -w) without spin; e = 0.5
static cr_run open_round(const char *law, const char *stepper, const char *geom, double mu) {
    char scene[1024];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='0 0 0'/><custom>"
             "<numeric name='carom:friction:floor:round' data='%g'/>"
             "<numeric name='carom:restitution:floor:round' data='0.5'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/><body name='round' pos='0 0 0.105'>"
             "<freejoint/><geom name='round' mass='1' %s/></body></worldbody></mujoco>",
             mu, geom);
    return laws_open(scene, law, stepper, 0.01);
}

static const char ball[] = "type='sphere' size='0.1'";
static const char roller[] = "type='cylinder' size='0.1 0.15' euler='90 0 0'";

TEST(what_is_round_sticks_in_an_impact_and_rolls) {
    // sticks when mu (1 + e) w >= v c/(1 + c); then v' = v/(1 + c), r omega = v'
    const double v = 1.0, w = 1.5, mu = 0.5;
    for (int k = 0; k < N_LAW; k++) {
        for (int s = 0; s < N_STEPPER && k != CONE_REG; s++) {
            for (int is_roller = 0; is_roller < 2; is_roller++) {
                cr_run r =
                    open_round(law_names[k], stepper_names[s], is_roller ? roller : ball, mu);
                double c = is_roller ? 0.5 : 0.4, x[13];
                memcpy(x, r.x, sizeof x);
                x[7] = v;
                x[9] = -w;
                laws_step(&r, x);
                laws_near(&r, "bounce", x[9], 0.5 * w, 1e-9);
                laws_near(&r, "speed", x[7], v / (1.0 + c), 1e-9);
                laws_near(&r, "rim speed", 0.1 * x[11], v / (1.0 + c), 1e-9);
                cr_run_close(&r);
            }
        }
    }
}

TEST(what_is_round_slides_in_an_impact_when_it_is_fast) {
    // v' = v - mu (1 + e) w under the laws that stay down; the octagon has a corner along x.
    // cone: compression ends with u_n = mu |u_t|, so its impulse f_c solves f_c = w + mu |u_t|,
    // u_t = v - (1 + 1/c) mu f_c; the whole is (1 + e) f_c
    const double v = 5.0, w = 1.5, mu = 0.2;
    for (int k = 0; k < N_LAW; k++) {
        for (int s = 0; s < N_STEPPER && k != CONE_REG; s++) {
            for (int is_roller = 0; is_roller < 2; is_roller++) {
                cr_run r =
                    open_round(law_names[k], stepper_names[s], is_roller ? roller : ball, mu);
                double c = is_roller ? 0.5 : 0.4, x[13];
                double own = (w + mu * v) / (1.0 + mu * mu * (1.0 + 1.0 / c));
                double f = 1.5 * (k == CONE ? own : w);
                memcpy(x, r.x, sizeof x);
                x[7] = v;
                x[9] = -w;
                laws_step(&r, x);
                laws_near(&r, "bounce", x[9], f - w, 1e-9);
                laws_near(&r, "speed", x[7], v - mu * f, 1e-9);
                laws_near(&r, "rim speed", 0.1 * x[11], mu * f / c, 1e-9);
                cr_run_close(&r);
            }
        }
    }
}

CR_TEST_MAIN(a_block_inside_its_cone_does_not_creep_in_a_minute,
             at_the_end_of_steps_a_block_creeps_by_its_free_fall, a_regularised_block_creeps,
             a_block_slides_down_by_coulomb, friction_is_isotropic_but_under_lcp,
             the_convex_cone_is_isotropic_in_an_impact, the_convex_cone_lifts_what_slides,
             what_is_round_sticks_in_an_impact_and_rolls,
             what_is_round_slides_in_an_impact_when_it_is_fast)
