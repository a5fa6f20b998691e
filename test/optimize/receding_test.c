// SPDX-License-Identifier: MIT
//
// Receding horizon: what is carried out, its checkpoints, and linearised steps.

#include "optimize/receding.h"

#include "plan_fixture.h"

#include "optimize/linearise.h"

#include <math.h>

// a cart on a rail with a spring, and a ball that falls onto the floor beside it
static const char scene[] =
    "<mujoco><option timestep='0.02' integrator='RK4'/><worldbody><geom name='floor' type='plane' "
    "size='9 9 1'/>"
    "<body name='cart' pos='0 0 0.5'><joint name='rail' type='slide' axis='1 0 0' stiffness='3'/>"
    "<geom name='cart' size='0.1' mass='2'/></body>"
    "<body name='ball' pos='0 2 0.1'><freejoint/><geom name='ball' size='0.1' mass='1'/></body>"
    "</worldbody><actuator><motor name='push' joint='rail' ctrllimited='true' ctrlrange='-9 9'/>"
    "</actuator></mujoco>";

enum { N_STEP = 60, N_U = 8 };

typedef struct cart {
    plan_task t; // for its model, target and start
    cri_receding_def def;
    double u[N_STEP * N_U];
} cart;

static void open_cart(cart *c) {
    static const char *const target[] = {"cart:0.4,0,0.5@0.6", "cart:0.3,0,0.5", NULL};
    task_open(&c->t, scene, target, "u:push", N_STEP, 0);
    c->t.target[1].time = N_STEP * 0.02;
    c->def = (cri_receding_def){.model = c->t.model,
                                .sim_options = &c->t.sim_options,
                                .controls = "u:push[*]",
                                .p = c->t.point.p,
                                .x = c->t.point.x0,
                                .n_target = 2,
                                .target = c->t.target,
                                .n_step = N_STEP,
                                .dt = 0.02,
                                .horizon = 15,
                                .execute = 4};
    memset(c->u, 0, sizeof c->u);
}

static cri_receding run(cart *c, const cri_plan_options *options) {
    cri_receding out;
    cr_error err = {0};
    task_must(cri_receding_run(&c->def, options, c->u, c->t.arena, &out, &err), &err);
    return out;
}

// where the cart is after n steps of these controls, by the simulator alone
static double carry(const cart *c, int n) {
    cr_sim *sim = NULL;
    assert_int_equal(cr_sim_create(c->t.model, &c->t.sim_options, &sim, NULL), CR_OK);
    double x[64];
    memcpy(x, c->def.x, (size_t)cr_model_sizes(c->t.model).n_x * sizeof *x);
    for (int k = 0; k < n; k++) {
        assert_int_equal(cr_sim_step(sim, 0.02, x, c->u + k * N_U, x, NULL), CR_OK);
    }
    cr_sim_destroy(sim);
    return x[0];
}

TEST(what_is_carried_out_reaches_the_targets_in_the_simulator) {
    cart c;
    open_cart(&c);
    cri_plan_options options = cri_plan_options_default(CRI_METHOD_GAUSS_NEWTON);
    options.iteration_limit = 20;
    options.tolerance = 0.01;
    cri_receding out = run(&c, &options);
    if (!CHECK_INT(out.stop, CRI_PLAN_REACHED)) {
        cr_test_fail("%g m and %g m away", out.distance[0], out.distance[1]);
    }
    CHECK_INT(out.n_done, N_STEP);
    CHECK_INT(out.n_window, 15); // four steps of each
    CHECK_CLOSE(fabs(carry(&c, 30) - 0.4), out.distance[0], 1e-12, 0.0);
    CHECK_CLOSE(fabs(carry(&c, N_STEP) - 0.3), out.distance[1], 1e-12, 0.0);
    for (int k = 0; k < N_STEP; k++) {
        CHECK(fabs(c.u[k * N_U]) <= 9.0 && c.u[k * N_U + 1] == 0.0);
    }
    task_close(&c.t);
}

// a cart that cannot move, between two targets 0.4 and 0.5 m away; one of them is in focus
static void open_still(cart *c, int n_window_step) {
    static const char *const still[] = {"u:push=0:0"};
    open_cart(c);
    for (int i = 0; i < 2; i++) {
        c->t.target[i].time = N_STEP * 0.02;
        c->t.target[i].point[0] = i == 0 ? 0.4 : -0.5;
        c->t.target[i].radius = 0.05;
    }
    c->def.n_focus = 1;
    c->def.horizon = n_window_step;
    c->def.execute = n_window_step;
    c->def.bound = still;
    c->def.n_bound = 1;
}

// one target out of place counts, the farther; the other one's loss begins beyond where it is
TEST(a_focus_counts_the_farthest_alone) {
    for (int n_focus = 0; n_focus < 3; n_focus++) {
        cart c;
        open_still(&c, N_STEP);
        c.t.target[0].is_throughout = c.t.target[1].is_throughout = true;
        c.def.n_focus = n_focus;
        cri_plan_options options = cri_plan_options_default(CRI_METHOD_ADAM);
        cri_receding out = run(&c, &options);
        double near = 0.16 - 0.0025, far = 0.25 - 0.0025;
        CHECK_CLOSE(out.history[0], N_STEP * (n_focus == 1 ? far : near + far), 0.0, 1e-9);
        CHECK_CLOSE(out.distance[0], 0.4, 0.0, 1e-9);
        task_close(&c.t);
    }
}

// beside a focus a target within the tolerance is left where it is, though its own radius is less
TEST(what_is_in_place_does_not_count_beside_a_focus) {
    cart c;
    open_still(&c, N_STEP);
    cri_plan_options options = cri_plan_options_default(CRI_METHOD_ADAM);
    options.tolerance = 0.45;
    cri_receding out = run(&c, &options);
    CHECK_CLOSE(out.history[0], 0.25 - 0.0025, 0.0, 1e-9);
    CHECK_INT(out.stop, CRI_PLAN_MISSED);
    task_close(&c.t);
}

// a target in focus goes on to its own radius behind the tolerance, for as long as windows bring it
// nearer
TEST(a_focus_goes_on_to_the_radius) {
    static const char *const weak[] = {"u:push=-3:3"};
    cart c;
    open_cart(&c);
    c.t.target[0] = c.t.target[1];
    c.t.target[0].order = 0;
    c.t.target[0].time = N_STEP * 0.02;
    c.t.target[0].radius = 0.05;
    c.t.target[0].is_throughout = true;
    c.def.n_target = 1;
    c.def.n_focus = 1;
    c.def.horizon = 20;
    c.def.execute = 5;
    c.def.bound = weak;
    c.def.n_bound = 1;
    cri_plan_options options = cri_plan_options_default(CRI_METHOD_ADAM);
    options.tolerance = 0.25;
    options.minimise.rate = 1.0;
    cri_receding out = run(&c, &options);
    bool has_been_there = false;
    int n_before = 0;
    for (int k = 0; k < out.n_window; k++) {
        has_been_there = has_been_there || fabs(carry(&c, 5 * k) - 0.3) <= 0.05;
        n_before += !has_been_there;
        CHECK((out.history[k] > 0.0) == !has_been_there);
    }
    CHECK(has_been_there);
    CHECK(out.n_iteration >= n_before); // and each of them searches
    task_close(&c.t);
}

// a target that no window brings nearer makes room for the other after four, and comes back after
// it
TEST(a_focus_in_vain_rests) {
    cart c;
    open_still(&c, 6);
    cri_plan_options options = cri_plan_options_default(CRI_METHOD_ADAM);
    cri_receding out = run(&c, &options);
    CHECK_INT(out.n_window, 10);
    for (int k = 0; k < out.n_window; k++) {
        bool is_near = k >= 4 && k < 8;
        CHECK_CLOSE(out.history[k], is_near ? 0.16 - 0.0025 : 0.25 - 0.0025, 0.0, 1e-9);
    }
    task_close(&c.t);
}

static bool count_down(void *context, const cri_progress_state *state) {
    (void)state;
    return (*(int *)context)-- > 0;
}

static bool refuse(void *context, const cri_progress_state *state) {
    *(int *)context += 1;
    return state->done < 16;
}

// within a window as between two: what a window has so far does not count
TEST(an_interrupted_run_goes_on_to_the_same_bits) {
    const char *file = CAROM_BINARY_DIR "/receding_test.ck";
    cart whole, rest;
    open_cart(&whole);
    cri_plan_options options = cri_plan_options_default(CRI_METHOD_LBFGS);
    options.iteration_limit = 5;
    int n_tick = 0;
    options.progress = &(cri_progress){refuse, &n_tick};
    CHECK_INT(run(&whole, &options).n_done, 16);
    CHECK(n_tick > 5); // it is asked within windows too
    options.progress = NULL;
    task_close(&whole.t);
    open_cart(&whole);
    run(&whole, &options);
    for (int left = 0, most = 0; left < n_tick; left += 3) {
        remove(file);
        open_cart(&rest);
        int count = left;
        options.progress = &(cri_progress){count_down, &count};
        options.checkpoint = file;
        cri_receding cut = run(&rest, &options);
        CHECK_INT(cut.stop, CRI_PLAN_INTERRUPTED);
        CHECK(cut.n_done % 4 == 0 && cut.n_done >= most && cut.n_done < 60);
        most = cut.n_done;
        CHECK(isnan(cut.distance[1]));
        CHECK(left == 0 || rest.u[0] != 0.0); // the best so far is shown
        memset(rest.u, 0, sizeof rest.u);
        count = 1000;
        cri_receding done = run(&rest, &options);
        CHECK_INT(done.n_window, 15);
        CHECK(memcmp(whole.u, rest.u, sizeof whole.u) == 0);
        task_close(&rest.t);
    }
    remove(file);
    task_close(&whole.t);
}

TEST(a_linearised_step_is_that_of_differences) {
    plan_task t;
    static const char *const target[] = {"cart:0,0,0", NULL};
    task_open(&t, scene, target, "u:push", 1, 0);
    cr_sim_options options = t.sim_options;
    options.use_gradient = true;
    cr_sim *sim = NULL;
    assert_int_equal(cr_sim_create(t.model, &options, &sim, NULL), CR_OK);
    cr_sizes n = cr_model_sizes(t.model);
    double x[64], u[N_U] = {1.5, 0.0, 0.3, 0.1, 0.2, 0.0, 0.1, 0.0};
    memcpy(x, t.point.x0, (size_t)n.n_x * sizeof *x);
    x[n.n_q] = 0.7; // the cart
    x[3] = 0.6;     // the ball is in the air, and turns
    x[n.n_q + 4] = 2.0;
    cri_linearisation map;
    cr_error err = {0};
    task_must(cri_linearise(t.model, sim, 0.02, x, u, t.arena, &map, &err), &err);
    CHECK_INT(map.n, 14);
    CHECK_INT(map.n_u, N_U);
    CHECK_INT(map.grad, CR_GRAD_EXACT);

    // columns of single numbers: the cart's, the ball's place and velocity; and all controls
    static const int column[][2] = {{0, 0}, {1, 1}, {3, 3}, {7, 8}, {8, 9}, {12, 13}};
    for (int k = 0; k < 6 + N_U; k++) {
        double *number = k < 6 ? &x[column[k][1]] : &u[k - 6];
        double at = *number, end[2][64];
        for (int side = 0; side < 2; side++) {
            *number = at + (side == 0 ? 1e-5 : -1e-5);
            assert_int_equal(cr_sim_step(sim, 0.02, x, u, end[side], NULL), CR_OK);
        }
        *number = at;
        for (int i = 0; i < 14; i++) {
            // rows of quaternions are left out: they are no single numbers of x
            int row = i < 4 ? i : i < 7 ? -1 : i + 1;
            double want = k < 6 ? map.A[i * 14 + column[k][0]] : map.B[i * N_U + k - 6];
            if (row >= 0) {
                CHECK_CLOSE((end[0][row] - end[1][row]) / 2e-5, want, 1e-8, 1e-7);
            }
        }
    }
    char name[64];
    cri_tangent_name(t.model, 0, name, sizeof name);
    CHECK_TEXT(name, "cart/dq[0]");
    cri_tangent_name(t.model, 6, name, sizeof name);
    CHECK_TEXT(name, "ball/dq[5]");
    cri_tangent_name(t.model, 7, name, sizeof name);
    CHECK_TEXT(name, "cart/qvel[0]");
    cr_sim_destroy(sim);
    task_close(&t);
}

CR_TEST_MAIN(what_is_carried_out_reaches_the_targets_in_the_simulator,
             a_focus_counts_the_farthest_alone, what_is_in_place_does_not_count_beside_a_focus,
             a_focus_in_vain_rests, a_focus_goes_on_to_the_radius,
             an_interrupted_run_goes_on_to_the_same_bits, a_linearised_step_is_that_of_differences)
