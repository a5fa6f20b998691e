// SPDX-License-Identifier: MIT
//
// Three tasks with closed forms, after those of Zhong, Han and Brikis 2022 (Differentiable physics
// simulations with contacts: do they have correct gradients w.r.t. position, velocity and
// control?). No tangential forces; R radius, e restitution, T the end, all gradients to 1e-9 for
// every law that meets closed forms, whatever the step.
//
// Bounce height. A ball at height h with vertical speed v (up) falls, bounces once:
//   w = sqrt(v^2 + 2 g (h - R)),  t1 = (v + w)/g,  s = T - t1,  z = R + e w s - g s^2/2
//   dz = e s dw - (e w - g s) dt1 + s w de
//   dw/dv = v/w, dw/dh = g/w;  dt1/dv = (1 + v/w)/g, dt1/dh = 1/w
//
// Wall. Besides, it flies along x with speed u and meets a wall whose face is at X + R:
//   x = X - c (u T - (X - x0)), c the wall's restitution:  dx/du = -c T, dx/dx0 = -c,
//   dx/dc = -(u T - (X - x0)); x and z do not mix.
//
// Two balls. Ball 1 at p with velocity V meets ball 2 at rest at b, all in a plane, D = R1 + R2:
//   |b - p - V t1| = D,  n = (b - p - V t1)/D,  a = V n,  K = (1 + e) m1/(m1 + m2)
//   q = b + K a n s  is where ball 2 ends
//   dt1 = -(n (dp + t1 dV))/a,  dn = -(dp + t1 dV + V dt1)/D
//   dq = K ((dV n + V dn) n s + a s dn - a n dt1),  dq/de = K/(1 + e) a n s
//
// The end-of-step mode has no event-time term: its map moves z by 1 for a unit of h, whatever the
// bounce does, and says discrete.

#include "golden_laws.h"

#include "cr_run.h"
#include "optimize/plan_fixture.h"

#include <math.h>

static const int step_counts[] = {1, 7, 40};
enum { N_STEP_COUNT = sizeof step_counts / sizeof step_counts[0] };

// rounding beside numbers of size one, and 1e-9 relative
#define CLOSE(a, b) CHECK_CLOSE(a, b, 1e-10, 1e-9)

static const double g = 9.81, R = 0.1, e = 0.7, T = 0.8;

// ---- bounce height -----------------------------------------------------------------------------

static const char bounce_scene[] =
    "<mujoco><option timestep='0.02' gravity='0 0 -9.81'/><custom>"
    "<numeric name='carom:restitution:floor:ball' data='0.7'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='ball' pos='0 0 1'><freejoint/><geom name='ball' size='0.1' mass='1'/></body>"
    "</worldbody></mujoco>";

typedef struct height {
    double z, dv, dh, de;
} height;

static height bounce_height(double h, double v) {
    double w = sqrt(v * v + 2.0 * g * (h - R));
    double t1 = (v + w) / g;
    double s = T - t1;
    double rate = e * w - g * s;
    return (height){.z = R + e * w * s - 0.5 * g * s * s,
                    .dv = e * s * v / w - rate * (1.0 + v / w) / g,
                    .dh = e * s * g / w - rate / w,
                    .de = s * w};
}

TEST(bounce_height_has_the_closed_gradient_for_every_law) {
    for (int law = 0; hard_law(law); law++) {
        for (int k = 0; k < N_STEP_COUNT; k++) {
            cr_sim_options options = options_of("located", hard_law(law));
            cr_run r = cr_run_open(bounce_scene, &options, step_counts[k], T / step_counts[k]);
            r.x[cr_run_x(&r, "ball/qvel[2]")] = -1.5;
            height want = bounce_height(1.0, -1.5);
            CLOSE(cr_run_gradient(&r, (double[13]){[2] = 1.0}), want.z);
            CLOSE(r.x_adj[cr_run_x(&r, "ball/qvel[2]")], want.dv);
            CLOSE(r.x_adj[cr_run_x(&r, "ball/qpos[2]")], want.dh);
            CLOSE(r.p_adj[cr_run_p(&r, "floor:ball/restitution")], want.de);
            CHECK_INT(cr_sim_report(r.sim)->grad, CR_GRAD_EXACT);
            cr_run_close(&r);
        }
    }
}

TEST(bounce_height_at_the_end_of_steps_has_the_known_wrong_gradient) {
    for (int law = 0; hard_law(law); law++) {
        cr_sim_options options = options_of("end", hard_law(law));
        cr_run r = cr_run_open(bounce_scene, &options, 800, T / 800);
        r.x[cr_run_x(&r, "ball/qvel[2]")] = -1.5;
        height want = bounce_height(1.0, -1.5);
        // the motion is near, to about a step
        CHECK_CLOSE(cr_run_gradient(&r, (double[13]){[2] = 1.0}), want.z, 0.02, 0.0);
        CLOSE(r.x_adj[cr_run_x(&r, "ball/qpos[2]")], 1.0);
        CHECK(fabs(want.dh - 1.0) > 0.1);
        CHECK_INT(cr_sim_report(r.sim)->grad, CR_GRAD_DISCRETE);
        cr_run_close(&r);
    }
}

// ---- wall --------------------------------------------------------------------------------------

static const char wall_scene[] =
    "<mujoco><option timestep='0.02' gravity='0 0 -9.81'/><custom>"
    "<numeric name='carom:restitution:floor:ball' data='0.7'/>"
    "<numeric name='carom:restitution:wall:ball' data='0.6'/>"
    "<numeric name='carom:friction:floor:ball' data='0'/>"
    "<numeric name='carom:friction:wall:ball' data='0'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>"
    "<geom name='wall' type='plane' size='9 9 1' pos='1.1 0 0' zaxis='-1 0 0'/>"
    "<body name='ball' pos='0 0 1'><freejoint/><geom name='ball' size='0.1' mass='1'/></body>"
    "</worldbody></mujoco>";

static const double X = 1.0, c = 0.6;

// u 2: the wall comes after the floor; u 4: before it
static void check_wall(const char *law, double u, int n_step) {
    cr_sim_options options = options_of("located", law);
    cr_run r = cr_run_open(wall_scene, &options, n_step, T / n_step);
    r.x[cr_run_x(&r, "ball/qvel[0]")] = u;
    r.x[cr_run_x(&r, "ball/qvel[2]")] = -1.5;
    CLOSE(cr_run_gradient(&r, (double[13]){[0] = 1.0}), X - c * (u * T - X));
    CLOSE(r.x_adj[cr_run_x(&r, "ball/qvel[0]")], -c * T);
    CLOSE(r.x_adj[cr_run_x(&r, "ball/qpos[0]")], -c);
    CLOSE(r.x_adj[cr_run_x(&r, "ball/qvel[2]")], 0.0);
    CLOSE(r.p_adj[cr_run_p(&r, "wall:ball/restitution")], -(u * T - X));
    height want = bounce_height(1.0, -1.5);
    CLOSE(cr_run_gradient(&r, (double[13]){[2] = 1.0}), want.z);
    CLOSE(r.x_adj[cr_run_x(&r, "ball/qvel[2]")], want.dv);
    CLOSE(r.x_adj[cr_run_x(&r, "ball/qvel[0]")], 0.0);
    CHECK_INT(cr_sim_report(r.sim)->grad, CR_GRAD_EXACT);
    CHECK_INT(cr_sim_report(r.sim)->n_event, 2);
    cr_run_close(&r);
}

TEST(bounce_with_a_wall_has_the_closed_gradient_for_every_law) {
    for (int law = 0; hard_law(law); law++) {
        for (int k = 0; k < N_STEP_COUNT; k++) {
            check_wall(hard_law(law), 2.0, step_counts[k]);
            check_wall(hard_law(law), 4.0, step_counts[k]);
        }
    }
}

// ---- two balls ---------------------------------------------------------------------------------

static const char balls_scene[] =
    "<mujoco><option timestep='0.02' gravity='0 0 0'/><custom>"
    "<numeric name='carom:restitution:one:two' data='0.7'/>"
    "<numeric name='carom:friction:one:two' data='0'/></custom><worldbody>"
    "<body name='one'><freejoint/><geom name='one' size='0.1' mass='1'/></body>"
    "<body name='two' pos='0.6 0.1 0'><freejoint/><geom name='two' size='0.15' mass='2'/></body>"
    "</worldbody></mujoco>";

static double dot2(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1];
}

// where ball 2 ends, and how that changes with (dp, dV)
static void two_balls(const double V[2], const double dp[2], const double dV[2], double q[2],
                      double dq[2], double dq_de[2]) {
    const double b[2] = {0.6, 0.1};
    double D = 0.25;
    double K = (1.0 + e) / 3.0;
    double VV = dot2(V, V);
    double bV = dot2(b, V);
    double t1 = (bV - sqrt(bV * bV - VV * (dot2(b, b) - D * D))) / VV;
    double s = T - t1;
    double n[2], dn[2], shift[2];
    for (int i = 0; i < 2; i++) {
        n[i] = (b[i] - V[i] * t1) / D;
        shift[i] = dp[i] + t1 * dV[i];
    }
    double a = dot2(V, n);
    double dt1 = -dot2(n, shift) / a;
    for (int i = 0; i < 2; i++) {
        dn[i] = -(shift[i] + V[i] * dt1) / D;
    }
    for (int i = 0; i < 2; i++) {
        q[i] = b[i] + K * a * n[i] * s;
        dq[i] = K * ((dot2(dV, n) + dot2(V, dn)) * n[i] * s + a * s * dn[i] - a * n[i] * dt1);
        dq_de[i] = K / (1.0 + e) * a * n[i] * s;
    }
}

// the row of coordinate i of ball 2
static void check_balls(cr_run *r, int i) {
    static const char *const names[] = {"one/qpos[0]", "one/qpos[1]", "one/qvel[0]", "one/qvel[1]"};
    const double V[2] = {1.2, 0.1};
    double seed[26] = {0};
    seed[cr_run_x(r, i == 0 ? "two/qpos[0]" : "two/qpos[1]")] = 1.0;
    double value = cr_run_gradient(r, seed);
    for (int j = 0; j < 4; j++) {
        double d[4] = {0.0};
        double q[2], dq[2], dq_de[2];
        d[j] = 1.0;
        two_balls(V, d, d + 2, q, dq, dq_de);
        CLOSE(value, q[i]);
        CLOSE(r->x_adj[cr_run_x(r, names[j])], dq[i]);
        CLOSE(r->p_adj[cr_run_p(r, "one:two/restitution")], dq_de[i]);
    }
    CHECK_INT(cr_sim_report(r->sim)->grad, CR_GRAD_EXACT);
}

TEST(two_balls_have_the_closed_gradient_for_every_law) {
    for (int law = 0; hard_law(law); law++) {
        for (int k = 0; k < N_STEP_COUNT; k++) {
            cr_sim_options options = options_of("located", hard_law(law));
            cr_run r = cr_run_open(balls_scene, &options, step_counts[k], T / step_counts[k]);
            r.x[cr_run_x(&r, "one/qvel[0]")] = 1.2;
            r.x[cr_run_x(&r, "one/qvel[1]")] = 0.1;
            check_balls(&r, 0);
            check_balls(&r, 1);
            cr_run_close(&r);
        }
    }
}

// ---- planning ----------------------------------------------------------------------------------

/// Plans a task by one method from start (n_variable) and checks that it comes within 1e-7 m.
static void check_plan(const char *scene, const char *target, const char *controls,
                       const double *start, cri_method method) {
    plan_task t;
    task_open(&t, scene, (const char *const[]){target, NULL}, controls, 40, 0);
    memcpy(t.z, start, (size_t)t.selection->n_variable * sizeof *t.z);
    cri_plan_options options = cri_plan_options_default(method);
    options.tolerance = 1e-7;
    options.iteration_limit = 50;
    cri_plan plan = task_solve(&t, &options);
    if (!CHECK(plan.stop == CRI_PLAN_REACHED && plan.distance[0] <= 1e-7)) {
        cr_test_fail("%s by %s: %s, %g m away after %d iterations", target, cri_method_text(method),
                     cri_plan_stop_word(plan.stop), plan.distance[0], plan.n_iteration);
    }
    CHECK_INT(plan.grad, CR_GRAD_EXACT);
    task_close(&t);
}

TEST(all_three_tasks_are_planned_in_under_50_iterations) {
    static const cri_method methods[] = {CRI_METHOD_LBFGS, CRI_METHOD_GAUSS_NEWTON};
    const double rest[3] = {0.0, 0.0, 0.0};
    const double slow[2] = {1.0, 0.1};
    double q[2], dq[2], dq_de[2];
    two_balls((double[]){1.2, 0.1}, rest, rest, q, dq, dq_de);
    char height_target[64], wall_target[64], ball_target[64];
    snprintf(height_target, 64, "ball:0,0,%.17g", bounce_height(1.0, -1.5).z);
    snprintf(wall_target, 64, "ball:%.17g,0,%.17g", X - c * (2.0 * T - X),
             bounce_height(1.0, -1.5).z);
    snprintf(ball_target, 64, "two:%.17g,%.17g,0", q[0], q[1]);
    for (int i = 0; i < 2; i++) {
        check_plan(bounce_scene, height_target, "x0:ball/qvel[2]", rest, methods[i]);
        // the wall must be met: a ball that hardly moves knows nothing of it
        check_plan(wall_scene, wall_target, "x0:ball/qvel[0],x0:ball/qvel[2]", (double[]){1.5, 0.0},
                   methods[i]);
        check_plan(balls_scene, ball_target, "x0:one/qvel[0],x0:one/qvel[1]", slow, methods[i]);
    }
}

CR_TEST_MAIN(bounce_height_has_the_closed_gradient_for_every_law,
             bounce_height_at_the_end_of_steps_has_the_known_wrong_gradient,
             bounce_with_a_wall_has_the_closed_gradient_for_every_law,
             two_balls_have_the_closed_gradient_for_every_law,
             all_three_tasks_are_planned_in_under_50_iterations)
