// SPDX-License-Identifier: MIT
//
// No heap call inside a step, its adjoint or its tangents, once an equal run has been seen. Needs
// WRAP.

#include "alloc_wrap.h"
#include "cr_run.h"
#include "cr_test.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_X = 65, MAX_TANGENT = 60, MAX_U = 30, MAX_P = 120, N_SEED = 3 };

#define HEAD                                                                                       \
    "<mujoco><default><geom friction='0.5'/></default><custom>"                                    \
    "<numeric name='carom:restitution:floor' data='0.4'/></custom><worldbody>"                     \
    "<geom name='floor' type='plane' size='9 9 1'/>"

#define BALL(name, pos)                                                                            \
    "<body name='" name "' pos='" pos "'><freejoint/><geom name='" name "' size='0.1'/></body>"

static const char box_scene[] =
    HEAD "<body name='box'><freejoint/><geom name='box' type='box' size='0.1 0.08 0.05'/></body>"
         "</worldbody><keyframe><key qpos='0 0 0.3 0.95 0.2 0.1 0.1' qvel='0.6 0.2 0 2 1 3'/>"
         "</keyframe></mujoco>";

static const char rolling_scene[] =
    HEAD BALL("ball", "0 0 0.1") "</worldbody><keyframe><key qvel='1.5 0.4 0 0 0 2'/></keyframe>"
                                 "</mujoco>";

static const char heap_scene[] =
    HEAD "<geom name='wall' type='plane' size='9 9 1' zaxis='1 0.2 0.3' pos='-0.3 0 0'/>" BALL(
        "a", "0 0 0.15") BALL("b", "0.05 0.02 0.4") BALL("c", "0.02 0.06 0.65")
        BALL("d", "0.2 0.1 0.3") BALL("e", "-0.1 0.15 0.5") "</worldbody></mujoco>";

static const char bouncing_scene[] =
    "<mujoco><custom><numeric name='carom:restitution:floor' data='0.9'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>" BALL("ball",
                                                          "0 0 0.4") "</worldbody></mujoco>";

// heap calls of one run, by kind of call
typedef struct calls {
    long step, vjp, jac;
} calls;

static calls run_once(cr_run *r, bool has_gradient) {
    static double x[MAX_X], adj[MAX_X], x_adj[MAX_X], u_adj[MAX_U], p_adj[MAX_P];
    static double tan[N_SEED * MAX_TANGENT];
    calls n = {0};
    cr_error err;
    assert_true(r->n.n_x <= MAX_X && r->n.n_p <= MAX_P);
    assert_int_equal(cr_sim_set_params(r->sim, r->p, &err), CR_OK);
    memcpy(x, r->x, sizeof(double) * (size_t)r->n.n_x);
    for (int k = 0; k < r->n_step; k++) {
        long before = cr_alloc_count();
        assert_int_equal(cr_sim_step(r->sim, r->dt, x, r->u, x, &err), CR_OK);
        n.step += cr_alloc_count() - before;
        if (!has_gradient || (cr_sim_report(r->sim)->grad & CR_GRAD_REFUSED)) {
            continue;
        }
        for (int i = 0; i < MAX_X; i++) {
            adj[i] = 0.1 * i;
        }
        for (int i = 0; i < N_SEED * MAX_TANGENT; i++) {
            tan[i] = 0.01 * i;
        }
        before = cr_alloc_count();
        assert_int_equal(cr_sim_step_vjp(r->sim, adj, x_adj, u_adj, p_adj, &err), CR_OK);
        n.vjp += cr_alloc_count() - before;
        before = cr_alloc_count();
        assert_int_equal(cr_sim_step_jac(r->sim, N_SEED, tan, NULL, NULL, tan, &err), CR_OK);
        n.jac += cr_alloc_count() - before;
    }
    return n;
}

static void check_smoothing(const char *scene, const char *stepper, const char *law,
                            double smoothing, int n_step) {
    for (int has_gradient = 0; has_gradient < 2; has_gradient++) {
        cr_sim_options options = {.stepper = stepper,
                                  .law = law,
                                  .eps_gap = 1e-9,
                                  .eps_speed = 1e-4,
                                  .eps_time = 1e-9,
                                  .event_cap = 32,
                                  .use_gradient = has_gradient,
                                  .smoothing = smoothing};
        cr_run r = cr_run_open(scene, &options, n_step, 0.01);
        run_once(&r, has_gradient);
        calls n = run_once(&r, has_gradient);
        CHECK_INT(n.step, 0);
        CHECK_INT(n.vjp, 0);
        CHECK_INT(n.jac, 0);
        cr_run_close(&r);
    }
}

static void check_scene(const char *scene, const char *stepper, const char *law, int n_step) {
    check_smoothing(scene, stepper, law, 0.0, n_step);
}

static void check_all(const char *scene, int n_step) {
    check_scene(scene, "located", "ncp", n_step);
    check_scene(scene, "located", "ncp-poisson", n_step);
    check_scene(scene, "end", "ncp", n_step);
    check_scene(scene, "end", "ncp-poisson", n_step);
}

TEST(a_box_that_tumbles_to_rest_makes_no_heap_call) {
    check_all(box_scene, 200);
}

TEST(a_rolling_ball_makes_no_heap_call) {
    check_all(rolling_scene, 100);
}

TEST(a_bouncing_ball_makes_no_heap_call) {
    check_all(bouncing_scene, 300);
}

TEST(a_heap_of_balls_makes_no_heap_call) {
    check_all(heap_scene, 150);
}

TEST(smoothing_makes_no_heap_call) {
    check_smoothing(box_scene, "located", "cone", 1e-4, 150);
    check_smoothing(box_scene, "end", "cone-reg", 1e-4, 150);
    check_smoothing(heap_scene, "end", "cone", 1e-4, 100);
}

CR_TEST_MAIN(a_box_that_tumbles_to_rest_makes_no_heap_call, a_rolling_ball_makes_no_heap_call,
             a_bouncing_ball_makes_no_heap_call, a_heap_of_balls_makes_no_heap_call,
             smoothing_makes_no_heap_call)
