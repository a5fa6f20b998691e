// SPDX-License-Identifier: MIT
//
// Selections, runs, fits and plans when the heap gives out: every allocation fails once. Needs
// WRAP.

#include "scene_fixture.h"

#include "alloc_wrap.h"
#include "optimize/aim.h"
#include "optimize/controls.h"
#include "optimize/fit.h"
#include "optimize/linearise.h"
#include "optimize/plan.h"
#include "optimize/receding.h"

/// What the calls work on; not part of what is counted.
typedef struct setting {
    cr_model *model;
    cr_sim *sim;
    double p[64];
    double x0[64];
} setting;

/// Calls that allocate, release everything again and return what became of it.
typedef cr_status call(const setting *s, cr_error *err);

static void fail_every_allocation(call *f) {
    setting s = {.model = fixture_model()};
    cr_sim_options options = cr_sim_options_default(s.model);
    options.use_gradient = true;
    cr_sizes sizes = cr_model_sizes(s.model);
    assert_true(sizes.n_p <= 64 && sizes.n_x <= 64);
    cr_model_defaults(s.model, -1, s.p, s.x0, NULL);
    assert_int_equal(cr_sim_create(s.model, &options, &s.sim, NULL), CR_OK);

    // twice, so that the workspace of the sim has its final size
    cr_error err = {0};
    assert_int_equal(f(&s, &err), CR_OK);
    assert_int_equal(f(&s, &err), CR_OK);
    long live = cr_alloc_live();
    int n_failed = 0;
    for (long k = 1;; k++) {
        cr_alloc_fail_at(k);
        err = (cr_error){0};
        cr_status status = f(&s, &err);
        bool has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK_INT(cr_alloc_live(), live);
        if (!has_failed) {
            CHECK_INT(status, CR_OK);
            break;
        }
        // what is only an estimate may do without; what fails must say so
        if (status != CR_OK) {
            CHECK_INT(status, CR_ERR_MEMORY);
            CHECK(err.text[0] != '\0');
            n_failed++;
        }
    }
    CHECK(n_failed > 1);
    cr_sim_destroy(s.sim);
    cr_model_destroy(s.model);
}

static cr_status select_names(const setting *s, cr_error *err) {
    cri_selection *selection = NULL;
    const char *names = "ball/mass=box/mass,gravity,x0:*,u:ball/force[0][1],floor:ball/*";
    cr_status status = cri_selection_create(s->model, names, &selection, err);
    CHECK((status == CR_OK) == (selection != NULL));
    cri_selection_destroy(selection);
    return status;
}

/// A run with its gradient, in an arena that chains blocks.
static cr_status run_in(const setting *s, const cri_selection *selection, cr_arena *arena,
                        cr_error *err) {
    cri_target target[2] = {{0}};
    CR_TRY(cri_target_parse(s->model, "ball:1,0,0@0.2", &target[0], err));
    CR_TRY(cri_target_parse(s->model, "box:1,0,0", &target[1], err));
    cri_aim aim;
    cri_aim_options options = {.n_step = 30};
    CR_TRY(cri_aim_init(s->model, &options, 2, target, arena, &aim, err));
    cri_point point;
    cri_point gradient;
    CR_TRY(cri_point_push(selection, 30, arena, &point, err));
    CR_TRY(cri_point_push(selection, 30, arena, &gradient, err));
    cr_model_defaults(s->model, -1, point.p, point.x0, NULL);
    double loss = 0.0;
    CR_TRY(cri_aim_run(&aim, s->sim, &point, &loss, err));
    return cri_aim_gradient(&aim, s->sim, &gradient, err);
}

static bool count_down(void *context, const cri_progress_state *state) {
    (void)state;
    int *left = context;
    return (*left)-- > 0;
}

/// A fit of a ball that falls freely and of its first bounce, interrupted, and the rest of it.
static cr_status fit_in(const setting *s, const cri_selection *selection, cr_arena *arena,
                        cr_error *err) {
    double time[24];
    double value[24];
    int x_index = 2;
    for (int i = 0; i < 24; i++) {
        time[i] = 0.025 * i;
        value[i] = 1.0 - 0.5 * 9.81 * time[i] * time[i];
    }
    cri_recording recording = {
        .n_sample = 16, .n_column = 1, .time = time, .value = value, .x_index = &x_index};
    cri_recording all[3] = {recording, recording, recording};
    const cri_prior prior = {0, -9.81, 1.0};
    cri_fit_problem problem = {.model = s->model,
                               .sim_options = cr_sim_options_default(s->model),
                               .selection = selection,
                               .n_recording = 3,
                               .recording = all,
                               .dt = 0.01,
                               .p = s->p,
                               .x0 = s->x0,
                               .n_prior = 1,
                               .prior = &prior,
                               .loss = CRI_LOSS_HUBER,
                               .n_held_out = 1,
                               .n_thread = 1};
    const cri_journal_def checkpoint = {CAROM_BINARY_DIR "/memory_test.ck", "a with b", {1, 2, 3}};
    remove(checkpoint.file);
    int left = 8;
    cri_progress progress = {count_down, &left};
    problem.checkpoint = &checkpoint;
    problem.progress = &progress;
    cri_fit fit;
    CR_TRY(cri_fit_run(&problem, arena, &fit, err));
    problem.progress = NULL;
    return cri_fit_run(&problem, arena, &fit, err);
}

/// A plan by each method, the last one with a bundle.
static cr_status plan_in(const setting *s, const cri_selection *selection, cr_arena *arena,
                         cr_error *err) {
    cri_target target = {0};
    CR_TRY(cri_target_parse(s->model, "ball:1,0,0.4@0.2", &target, err));
    cri_point point;
    CR_TRY(cri_point_push(selection, 20, arena, &point, err));
    cr_model_defaults(s->model, -1, point.p, point.x0, NULL);
    cri_domain domain[2] = {{-9.0, 9.0, false}, {-9.0, 9.0, false}};
    cr_sim_options sim_options = cr_sim_options_default(s->model);
    cri_shot_def def = {.model = s->model,
                        .sim_options = &sim_options,
                        .selection = selection,
                        .domain = domain,
                        .start = &point,
                        .n_target = 1,
                        .target = &target};
    for (int method = CRI_N_METHOD - 1; method >= 0; method--) {
        cri_plan_options options = cri_plan_options_default((cri_method)method);
        options.iteration_limit = 2;
        options.n_start = 2;
        options.bundle = (cri_bundle_options){method == 0 ? 2 : 0, 0.1, false, 1};
        cri_plan plan;
        CR_TRY(cri_plan_solve(&def, &options, (double[]){0.0, 0.0}, arena, &plan, err));
    }
    return CR_OK;
}

/// Two windows of a receding horizon, and a linearised step.
static cr_status recede_in(const setting *s, const cri_selection *selection, cr_arena *arena,
                           cr_error *err) {
    cri_target target = {0};
    CR_TRY(cri_target_parse(s->model, "ball:0.1,0,0.8@0.06", &target, err));
    cri_point point;
    CR_TRY(cri_point_push(selection, 6, arena, &point, err));
    cr_model_defaults(s->model, -1, point.p, point.x0, NULL);
    cr_sim_options sim_options = cr_sim_options_default(s->model);
    cri_receding_def def = {.model = s->model,
                            .sim_options = &sim_options,
                            .controls = "u:ball/force[0][*]",
                            .p = point.p,
                            .x = point.x0,
                            .n_target = 1,
                            .target = &target,
                            .n_step = 6,
                            .dt = 0.01,
                            .horizon = 4,
                            .execute = 3};
    cri_plan_options options = cri_plan_options_default(CRI_METHOD_LBFGS);
    options.iteration_limit = 1;
    cri_receding out;
    double u[6 * 12] = {0.0};
    CR_TRY(cri_receding_run(&def, &options, u, arena, &out, err));
    cri_linearisation map;
    return cri_linearise(s->model, s->sim, 0.01, point.x0, NULL, arena, &map, err);
}

/// Runs a function that needs a selection and an arena.
static cr_status with_selection(const setting *s, const char *names,
                                cr_status (*f)(const setting *, const cri_selection *, cr_arena *,
                                               cr_error *),
                                cr_error *err) {
    cri_selection *selection = NULL;
    CR_TRY(cri_selection_create(s->model, names, &selection, err));
    cr_arena *arena = cri_arena_create(256);
    cr_status status = arena ? f(s, selection, arena, err)
                             : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an arena");
    cri_arena_destroy(arena);
    cri_selection_destroy(selection);
    return status;
}

static cr_status run_aim(const setting *s, cr_error *err) {
    return with_selection(s, "ball/mass,u:ball/force[0][3]", run_in, err);
}

static cr_status run_fit(const setting *s, cr_error *err) {
    return with_selection(s, "gravity[2],floor:ball/restitution,x0:ball/qvel[2]", fit_in, err);
}

static cr_status run_plan(const setting *s, cr_error *err) {
    return with_selection(s, "x0:ball/qvel[0],x0:ball/qvel[2]", plan_in, err);
}

static cr_status run_receding(const setting *s, cr_error *err) {
    return with_selection(s, "gravity[2]", recede_in, err);
}

static cr_status select_controls(const setting *s, cr_error *err) {
    cri_selection *selection = NULL;
    const char *names = "x0:ball/qvel[*],u:ball/force[2][*],u:box/torque";
    cr_status status = cri_controls_create(s->model, names, 200, 50, &selection, err);
    CHECK((status == CR_OK) == (selection != NULL));
    cri_selection_destroy(selection);
    return status;
}

TEST(controls_survive_a_full_heap) {
    fail_every_allocation(select_controls);
}

TEST(a_plan_survives_a_full_heap) {
    fail_every_allocation(run_plan);
}

TEST(a_receding_horizon_survives_a_full_heap) {
    fail_every_allocation(run_receding);
}

TEST(a_selection_survives_a_full_heap) {
    fail_every_allocation(select_names);
}

TEST(a_run_survives_a_full_heap) {
    fail_every_allocation(run_aim);
}

TEST(a_fit_survives_a_full_heap) {
    fail_every_allocation(run_fit);
}

CR_TEST_MAIN(controls_survive_a_full_heap, a_plan_survives_a_full_heap,
             a_receding_horizon_survives_a_full_heap, a_selection_survives_a_full_heap,
             a_run_survives_a_full_heap, a_fit_survives_a_full_heap)
