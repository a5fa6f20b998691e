// SPDX-License-Identifier: MIT
//
// Plans: gradients of what is minimised, reasons to stop, several starts, costs, checkpoints.

#include "plan_fixture.h"

#include "optimize/plan.h"

#include <math.h>
#include <unistd.h>

static const char throw_scene[] =
    "<mujoco><option timestep='0.02'/><custom>"
    "<numeric name='carom:restitution:floor:ball' data='0.7'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='ball' pos='0 0 1'><freejoint/><geom name='ball' size='0.1' mass='1'/></body>"
    "<body name='other' pos='0 3 1'><freejoint/><geom name='other' size='0.1' mass='1'/></body>"
    "</worldbody></mujoco>";

// a cart on a rail, without gravity along it
static const char cart_scene[] =
    "<mujoco><option timestep='0.05' integrator='RK4'/><worldbody><body name='cart'>"
    "<joint name='rail' type='slide' axis='1 0 0'/><geom name='cart' size='0.1' mass='2'/>"
    "</body></worldbody><actuator><motor name='push' joint='rail' ctrllimited='true' "
    "ctrlrange='-6 6'/></actuator></mujoco>";

static const char *const ball_target[] = {"ball:1,0.2,0.5@0.6", "ball:1.4,0.3,0.7", NULL};
static const char *const cart_target[] = {"cart:1,0,0", NULL};

static cri_plan_options options_of(cri_method method) {
    return cri_plan_options_default(method);
}

TEST(residuals_and_gradient_are_those_of_the_loss) {
    plan_task t;
    task_open(&t, throw_scene, ball_target, "x0:ball/qvel[*],u:ball/force[2][*]", 40, 4);
    t.def.cost = 0.3;
    cri_shot shot;
    assert_int_equal(cri_shot_init(&t.def, t.arena, &shot, NULL), CR_OK);
    const cri_objective *o = &shot.objective;
    CHECK_INT(o->n, 10);
    CHECK_INT(o->m, 6 + 10);
    double z[10] = {1.0, 0.1, 0.5, 0.2, -0.1, 0.3, 1.0, -1.0, 0.5, 2.0};
    double r[16], J[160], g[10], loss = 0.0, sum_loss = 0.0;
    assert_int_equal(o->loss(o->context, z, &loss, g, NULL), CR_OK);
    assert_int_equal(o->residuals(o->context, z, r, J, &sum_loss, NULL), CR_OK);
    double sum = 0.0;
    for (int i = 0; i < 16; i++) {
        sum += r[i] * r[i];
    }
    CHECK_CLOSE(sum, loss, 0.0, 1e-14);
    CHECK_CLOSE(sum_loss, sum, 0.0, 1e-14);
    // cost: 0.3 times 10 steps of 0.02 s for each of four forces
    CHECK_CLOSE(cri_shot_cost(&shot, z), 0.3 * 0.2 * (1.0 + 1.0 + 0.25 + 4.0), 0.0, 1e-14);
    for (int j = 0; j < 10; j++) {
        double slope = 0.0;
        for (int i = 0; i < 16; i++) {
            slope += 2.0 * J[j * 16 + i] * r[i];
        }
        CHECK_CLOSE(slope, g[j], 1e-12, 1e-10);
        double at = z[j], f[2];
        for (int side = 0; side < 2; side++) {
            z[j] = at + (side == 0 ? 1e-5 : -1e-5);
            assert_int_equal(o->loss(o->context, z, &f[side], NULL, NULL), CR_OK);
        }
        z[j] = at;
        CHECK_CLOSE((f[0] - f[1]) / 2e-5, g[j], 1e-8, 1e-6); // plain differences
    }
    cri_shot_clear(&shot);
    task_close(&t);
}

TEST(a_run_at_the_same_variables_is_made_once) {
    plan_task t;
    task_open(&t, cart_scene, cart_target, "u:push", 20, 0);
    cri_shot shot;
    assert_int_equal(cri_shot_init(&t.def, t.arena, &shot, NULL), CR_OK);
    double z = 0.5, same = 0.5, first = 0.0, again = 0.0, g[3] = {0.0};
    assert_int_equal(cri_shot_run(&shot, &z, &first, NULL), CR_OK);
    assert_int_equal(cri_shot_pull(&shot, &g[0], NULL), CR_OK);
    double kept = shot.aim.x_end[0];
    shot.aim.x_end[0] = 77.0; // where another run would leave its own
    assert_int_equal(cri_shot_run(&shot, &same, &again, NULL), CR_OK);
    CHECK(again == first && shot.aim.x_end[0] == 77.0);
    shot.aim.x_end[0] = kept;
    assert_int_equal(cri_shot_pull(&shot, &g[1], NULL), CR_OK);
    same = 0.75;
    assert_int_equal(cri_shot_run(&shot, &same, &again, NULL), CR_OK);
    CHECK(again != first && shot.aim.x_end[0] != kept);
    assert_int_equal(cri_shot_run(&shot, &z, &again, NULL), CR_OK);
    assert_int_equal(cri_shot_pull(&shot, &g[2], NULL), CR_OK);
    CHECK(again == first && shot.aim.x_end[0] == kept);
    CHECK(g[0] != 0.0 && g[1] == g[0] && g[2] == g[0]);
    cri_shot_clear(&shot);
    task_close(&t);
}

// constant force F over T moves 2 kg by F T^2/4; the cheapest way to 1 m ends with no force
TEST(a_cart_is_pushed_to_its_target_by_every_method) {
    for (int method = 0; method < CRI_N_METHOD; method++) {
        plan_task t;
        task_open(&t, cart_scene, cart_target, "u:push", 20, 0);
        cri_plan_options options = options_of((cri_method)method);
        options.tolerance = 1e-5;
        cri_plan plan = task_solve(&t, &options);
        CHECK_INT(plan.stop, CRI_PLAN_REACHED);
        CHECK_CLOSE(plan.z[0], 4.0, 1e-4, 0.0);
        CHECK(plan.history[plan.n_history - 1] < plan.history[0]);
        CHECK_INT(plan.n_history, plan.n_iteration + 1);
        task_close(&t);
    }
}

TEST(a_cost_trades_distance_for_control_and_converges) {
    double distance[2];
    for (int method = 1; method < CRI_N_METHOD; method++) {
        plan_task t;
        task_open(&t, cart_scene, cart_target, "u:push[*]", 20, 0);
        t.def.cost = 1e-3;
        cri_plan_options options = options_of((cri_method)method);
        cri_plan plan = task_solve(&t, &options);
        CHECK(plan.stop == CRI_PLAN_CONVERGED || plan.stop == CRI_PLAN_STALLED);
        CHECK(plan.distance[0] > 1e-3 && plan.distance[0] < 0.1);
        CHECK(plan.z[0] > plan.z[10] && plan.z[10] > plan.z[18]); // early pushes count longer
        CHECK(plan.z[0] < 6.0);
        distance[method - 1] = plan.distance[0];
        task_close(&t);
    }
    CHECK_CLOSE(distance[0], distance[1], 1e-5, 0.0);
}

// within the radius nothing is left to do, and the search stops at its border
TEST(a_radius_is_reached_at_its_border) {
    plan_task t;
    task_open(&t, cart_scene, cart_target, "u:push", 20, 0);
    t.target[0].radius = 0.25;
    cri_plan_options options = options_of(CRI_METHOD_LBFGS);
    cri_plan plan = task_solve(&t, &options);
    CHECK_INT(plan.stop, CRI_PLAN_REACHED);
    CHECK(plan.loss == 0.0 && plan.distance[0] <= 0.25 && plan.distance[0] > 0.0);
    task_close(&t);
}

static const char *const throughout[] = {"cart:1,0,0@all", NULL};

// what counts after every step pushes earlier than what counts at the end
TEST(a_target_throughout_the_run_has_its_gradient) {
    plan_task t;
    task_open(&t, cart_scene, throughout, "u:push[*]", 20, 0);
    t.target[0].radius = 0.1;
    cri_shot shot;
    cr_error err = {0};
    task_must(cri_shot_init(&t.def, t.arena, &shot, &err), &err);
    const cri_objective *o = &shot.objective;
    CHECK(o->residuals == NULL);
    double g[20], loss = 0.0, sum = 0.0;
    for (int j = 0; j < 20; j++) {
        t.z[j] = 3.0 - 0.4 * j;
    }
    assert_int_equal(o->loss(o->context, t.z, &loss, g, NULL), CR_OK);
    for (int k = 1; k <= 20; k++) {
        sum += cri_target_loss(&t.target[0], shot.aim.x_path + (size_t)k * 2);
    }
    CHECK_CLOSE(loss, sum, 0.0, 1e-14);
    for (int j = 0; j < 20; j++) {
        double at = t.z[j], f[2];
        for (int side = 0; side < 2; side++) {
            t.z[j] = at + (side == 0 ? 1e-5 : -1e-5);
            assert_int_equal(o->loss(o->context, t.z, &f[side], NULL, NULL), CR_OK);
        }
        t.z[j] = at;
        CHECK_CLOSE((f[0] - f[1]) / 2e-5, g[j], 1e-8, 1e-6);
    }
    cri_shot_clear(&shot);
    task_close(&t);
}

TEST(sines_bring_a_cart_to_its_target) {
    plan_task t;
    task_open(&t, cart_scene, cart_target, "u:push[*]", 20, 0);
    cr_error err = {0};
    double dt = 0.05, z[6];
    cri_domain domain[6];
    cri_waves waves;
    task_must(cri_waves_create(t.selection, 20, 1, &dt, 2, t.arena, &waves, &err), &err);
    CHECK_INT(waves.n, 6);
    CHECK_TEXT(waves.name[4], "u:push sine 2 frequency");
    cri_waves_begin(&waves, t.domain, domain, z);
    CHECK(z[0] == 0.0 && z[1] == 0.5 && z[4] == 1.0 && domain[0].upper == 6.0);
    t.def.waves = &waves;
    t.def.domain = domain;
    t.z = z;
    cri_plan_options options = options_of(CRI_METHOD_LBFGS);
    cri_plan plan = task_solve(&t, &options);
    CHECK_INT(plan.stop, CRI_PLAN_REACHED);
    CHECK(plan.z[0] != 0.0);
    task_close(&t);
    task_open(&t, cart_scene, cart_target, "u:push", 20, 0);
    CHECK_INT(cri_waves_create(t.selection, 20, 1, &dt, 2, t.arena, &waves, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "u:push is no sequence") != NULL);
    task_close(&t);
}

// of draws between the bounds -6 and 6 the nearest to 4
TEST(a_search_begins_at_the_best_of_its_samples) {
    double start[2];
    for (int k = 0; k < 2; k++) {
        plan_task t;
        task_open(&t, cart_scene, cart_target, "u:push", 20, 0);
        cri_plan_options options = options_of(CRI_METHOD_LBFGS);
        options.n_sample = k ? 256 : 0;
        options.seed = 3;
        cri_plan plan = task_solve(&t, &options);
        CHECK_INT(plan.stop, CRI_PLAN_REACHED);
        start[k] = plan.start[0];
        task_close(&t);
    }
    CHECK(start[0] == 0.0);
    CHECK_CLOSE(start[1], 4.0, 0.2, 0.0);
}

TEST(a_target_out_of_reach_keeps_the_best_plan) {
    static const char *const far[] = {"cart:5,0,0", NULL};
    for (int method = 1; method < CRI_N_METHOD; method++) {
        plan_task t;
        task_open(&t, cart_scene, far, "u:push[*]", 20, 0);
        cri_plan_options options = options_of((cri_method)method);
        cri_plan plan = task_solve(&t, &options);
        CHECK(plan.stop == CRI_PLAN_CONVERGED || plan.stop == CRI_PLAN_STALLED);
        CHECK_CLOSE(plan.distance[0], 3.5, 1e-6, 0.0); // full force reaches 1.5 m
        for (int k = 0; k < 20; k++) {
            CHECK_CLOSE(plan.z[k], 6.0, 1e-9, 0.0);
        }
        task_close(&t);
    }
}

TEST(a_body_that_no_control_moves_is_said) {
    static const char *const other[] = {"other:1,3,1", NULL};
    for (int method = 0; method < CRI_N_METHOD; method++) {
        plan_task t;
        task_open(&t, throw_scene, other, "x0:ball/qvel[0]", 10, 0);
        cri_plan_options options = options_of((cri_method)method);
        cri_plan plan = task_solve(&t, &options);
        CHECK_INT(plan.stop, CRI_PLAN_NO_EFFECT);
        CHECK_INT(plan.n_iteration, 0);
        CHECK(plan.distance[0] > 0.9);
        task_close(&t);
    }
}

static bool count_down(void *context, const cri_progress_state *state) {
    int *left = context;
    CHECK_TEXT(state->what, "iteration");
    CHECK(isfinite(state->loss) && state->total == 200);
    return (*left)-- > 0;
}

static bool count_draws(void *context, const cri_progress_state *state) {
    int *count = context; // told, and how many may be
    return strcmp(state->what, "draw") != 0 || ++count[0] < count[1];
}

// what was drawn so far is the plan; nothing is saved, since another run has to draw all
TEST(a_plan_can_be_interrupted_while_it_draws) {
    const char *file = CAROM_BINARY_DIR "/plan_draw_test.ck";
    for (int n_thread = 1; n_thread <= 2; n_thread++) {
        plan_task t;
        task_open(&t, cart_scene, cart_target, "u:push", 20, 0);
        cri_plan_options options = options_of(CRI_METHOD_LBFGS);
        options.n_sample = 64;
        options.n_start = 2;
        options.n_thread = n_thread;
        options.seed = 3;
        cri_plan whole = task_solve(&t, &options);
        CHECK_INT(whole.stop, CRI_PLAN_REACHED);

        remove(file);
        int count[2] = {0, 5};
        cri_progress progress = {count_draws, count};
        options.checkpoint = file;
        options.progress = &progress;
        cri_plan cut = task_solve(&t, &options);
        CHECK_INT(cut.stop, CRI_PLAN_INTERRUPTED);
        CHECK_INT(cut.n_iteration, 0);
        CHECK_INT(count[0], 5);
        CHECK(isfinite(cut.loss) && cut.loss > whole.loss);
        CHECK(access(file, F_OK) != 0);
        count[1] = 1000;
        cri_plan rest = task_solve(&t, &options);
        CHECK_INT(rest.stop, CRI_PLAN_REACHED);
        CHECK(rest.z[0] == whole.z[0] && rest.start[0] == whole.start[0]);
        CHECK_INT(count[0], 5 + 2 * 65);
        remove(file);
        task_close(&t);
    }
}

TEST(an_interrupted_plan_is_kept_and_goes_on_to_the_same_bits) {
    const char *file = CAROM_BINARY_DIR "/plan_test.ck";
    for (int method = 0; method < CRI_N_METHOD; method++) {
        plan_task t;
        task_open(&t, throw_scene, ball_target, "x0:ball/qvel[*],u:ball/force[2][*]", 40, 3);
        t.def.cost = 1e-4;
        cri_plan_options options = options_of((cri_method)method);
        options.n_start = 2;
        options.seed = 5;
        options.iteration_limit = 200;
        options.minimise.patience = method == CRI_METHOD_ADAM ? 10 : 5;
        cri_plan whole = task_solve(&t, &options);
        CHECK(whole.n_iteration > 4);

        remove(file);
        int left = 3;
        cri_progress progress = {count_down, &left};
        options.checkpoint = file;
        options.problem = 77;
        options.progress = &progress;
        cri_plan cut = task_solve(&t, &options);
        CHECK_INT(cut.stop, CRI_PLAN_INTERRUPTED);
        CHECK_INT(cut.n_iteration, 3);
        CHECK(cut.loss + cut.cost >= whole.loss + whole.cost);
        left = 1000;
        cri_plan rest = task_solve(&t, &options);
        size_t n = (size_t)t.selection->n_variable;
        CHECK_INT(rest.stop, whole.stop);
        CHECK_INT(rest.n_iteration, whole.n_iteration);
        CHECK_INT(rest.n_evaluation, whole.n_evaluation);
        CHECK_INT(rest.n_history, whole.n_history);
        CHECK(memcmp(rest.z, whole.z, n * sizeof *rest.z) == 0);
        CHECK(memcmp(rest.start, whole.start, n * sizeof *rest.z) == 0);
        CHECK(memcmp(rest.history, whole.history, (size_t)rest.n_history * sizeof *rest.z) == 0);

        cr_error err = {0};
        cri_plan other;
        options.problem = 78;
        CHECK_INT(cri_plan_solve(&t.def, &options, t.z, t.arena, &other, &err), CR_ERR_ARGUMENT);
        CHECK(strstr(err.text, "another scene") != NULL);
        remove(file);
        task_close(&t);
    }
}

TEST(a_checkpoint_that_cannot_be_written_keeps_the_plan) {
    plan_task t;
    task_open(&t, cart_scene, cart_target, "u:push", 20, 0);
    cri_plan_options options = options_of(CRI_METHOD_LBFGS);
    options.checkpoint = "/nowhere/at/all";
    options.save_every = 1;
    cri_plan plan;
    cr_error err = {0};
    CHECK_INT(cri_plan_solve(&t.def, &options, t.z, t.arena, &plan, &err), CR_OK);
    CHECK_INT(plan.stop, CRI_PLAN_UNSAVED);
    CHECK(strstr(err.text, "/nowhere/at/all") != NULL);
    CHECK(plan.distance[0] <= 1.0);
    task_close(&t);
}

TEST(starts_give_the_same_bits_on_one_and_on_four_threads) {
    double z[2][3];
    for (int i = 0; i < 2; i++) {
        plan_task t;
        task_open(&t, throw_scene, ball_target, "x0:ball/qvel[0],x0:ball/qvel[1],x0:ball/qvel[2]",
                  40, 0);
        for (int j = 0; j < 3; j++) {
            t.domain[j] = (cri_domain){-4.0, 4.0, false};
        }
        cri_plan_options options = options_of(CRI_METHOD_LBFGS);
        options.n_start = 7;
        options.seed = 11;
        options.n_thread = i == 0 ? 1 : 4;
        cri_plan plan = task_solve(&t, &options);
        CHECK_INT(plan.n_start, 7);
        CHECK(plan.best_start >= 0 && plan.best_start < 7);
        memcpy(z[i], plan.z, sizeof z[i]);
        task_close(&t);
    }
    CHECK(memcmp(z[0], z[1], sizeof z[0]) == 0);
}

// ball 1 misses ball 2 at the start: only losses of moved throws show a slope
TEST(a_bundle_of_losses_finds_what_gradients_cannot) {
    static const char scene[] =
        "<mujoco><option timestep='0.02' gravity='0 0 0'/><worldbody>"
        "<body name='one'><freejoint/><geom name='one' size='0.1' mass='1'/></body>"
        "<body name='two' pos='1 0.3 0'><freejoint/><geom name='two' size='0.1' mass='1'/></body>"
        "</worldbody></mujoco>";
    static const char *const target[] = {"two:1.4,0.4,0", NULL};
    for (int bundled = 0; bundled < 2; bundled++) {
        plan_task t;
        task_open(&t, scene, target, "x0:one/qvel[0],x0:one/qvel[1]", 50, 0);
        t.z[0] = 2.0;
        cri_plan_options options = options_of(CRI_METHOD_ADAM);
        options.tolerance = 0.05;
        options.iteration_limit = 100;
        options.bundle = (cri_bundle_options){bundled ? 20 : 0, 0.3, true, 1};
        cri_plan plan = task_solve(&t, &options);
        CHECK_INT(plan.stop, bundled ? CRI_PLAN_REACHED : CRI_PLAN_NO_EFFECT);
        task_close(&t);
    }
}

CR_TEST_MAIN(residuals_and_gradient_are_those_of_the_loss, a_run_at_the_same_variables_is_made_once,
             a_cart_is_pushed_to_its_target_by_every_method,
             a_cost_trades_distance_for_control_and_converges, a_radius_is_reached_at_its_border,
             a_target_throughout_the_run_has_its_gradient, sines_bring_a_cart_to_its_target,
             a_search_begins_at_the_best_of_its_samples, a_target_out_of_reach_keeps_the_best_plan,
             a_body_that_no_control_moves_is_said, a_plan_can_be_interrupted_while_it_draws,
             an_interrupted_plan_is_kept_and_goes_on_to_the_same_bits,
             a_checkpoint_that_cannot_be_written_keeps_the_plan,
             starts_give_the_same_bits_on_one_and_on_four_threads,
             a_bundle_of_losses_finds_what_gradients_cannot)
