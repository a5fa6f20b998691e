// SPDX-License-Identifier: MIT
//
// Runs towards targets: schedule, loss, gradient, and its comparison with differences.

#include "optimize/aim.h"

#include "scene_fixture.h"

#include <math.h>
#include <stdlib.h>

typedef struct fixture {
    cr_model *model;
    cr_sim *sim;   // with gradients
    cr_sim *plain; // without
    cr_arena *arena;
    cri_target target[4];
    cri_aim aim;
} fixture;

static void open_fixture(fixture *f, const char *const *targets, int n_target, int n_step) {
    *f = (fixture){.model = fixture_model(), .arena = cri_arena_create(1 << 14)};
    cr_sim_options options = cr_sim_options_default(f->model);
    options.use_gradient = true;
    assert_int_equal(cr_sim_create(f->model, &options, &f->sim, NULL), CR_OK);
    options.use_gradient = false;
    assert_int_equal(cr_sim_create(f->model, &options, &f->plain, NULL), CR_OK);
    for (int i = 0; i < n_target; i++) {
        assert_int_equal(cri_target_parse(f->model, targets[i], &f->target[i], NULL), CR_OK);
    }
    cri_aim_options aim = {.n_step = n_step};
    assert_int_equal(cri_aim_init(f->model, &aim, n_target, f->target, f->arena, &f->aim, NULL),
                     CR_OK);
}

static void clear(fixture *f) {
    cri_arena_destroy(f->arena);
    cr_sim_destroy(f->sim);
    cr_sim_destroy(f->plain);
    cr_model_destroy(f->model);
}

TEST(a_run_ends_at_steps_or_at_the_last_target_or_after_a_second) {
    static const char *const timed[] = {"ball:0,0,0@0.255", "box:0,0,0", "ball:0,0,0@0.1"};
    fixture f;
    open_fixture(&f, timed, 3, 0);
    CHECK_INT(f.aim.schedule.n_step, 26);
    CHECK(f.aim.target[0].time == 0.1 && f.aim.target[2].time == 0.255);
    CHECK(f.aim.x_path != NULL);
    clear(&f);
    open_fixture(&f, timed + 1, 1, 0);
    CHECK_INT(f.aim.schedule.n_step, 100);
    CHECK(f.aim.x_path == NULL);
    clear(&f);
    open_fixture(&f, timed, 3, 40);
    CHECK(f.aim.target[2].time == 0.4);
    CHECK_INT(f.aim.schedule.step[2], f.aim.schedule.n_step);
    clear(&f);
}

TEST(late_targets_and_empty_runs_are_refused) {
    static const char *const late[] = {"ball:0,0,0@0.5"};
    fixture f;
    open_fixture(&f, late, 1, 0);
    cri_aim aim;
    cr_error err = {0};
    cri_aim_options options = {.n_step = 49};
    CHECK_INT(cri_aim_init(f.model, &options, 1, f.target, f.arena, &aim, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "ends at") != NULL);
    f.target[0].time = 0.0;
    options.n_step = 0;
    CHECK_INT(cri_aim_init(f.model, &options, 1, f.target, f.arena, &aim, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "no steps") != NULL);
    clear(&f);
}

TEST(gradients_of_targets_at_one_and_at_several_times_match_differences) {
    static const char *const targets[] = {"ball:1,0,0.5@0.3", "box:5,1,1@0.3", "ball:2,0,0",
                                          "box:5,0,0@0.2"};
    fixture f;
    open_fixture(&f, targets, 4, 40);
    cri_selection *s = NULL;
    const char *names = "ball/mass,ball/size[0],gravity,floor:ball/*,x0:ball/*,u:ball/force[0],"
                        "u:box/torque[1][7]";
    assert_int_equal(cri_selection_create(f.model, names, &s, NULL), CR_OK);
    cri_point point = {0};
    cri_point adjoint = {0};
    int n_step = f.aim.schedule.n_step;
    CHECK_INT(cri_point_push(s, n_step, f.arena, &point, NULL), CR_OK);
    CHECK_INT(cri_point_push(s, n_step, f.arena, &adjoint, NULL), CR_OK);
    cr_model_defaults(f.model, -1, point.p, point.x0, NULL);
    point.x0[14] = 1.5;
    f.aim.has_control = true;
    double loss = 0.0;
    CHECK_INT(cri_aim_run(&f.aim, f.sim, &point, &loss, NULL), CR_OK);
    CHECK_INT(cri_aim_gradient(&f.aim, f.sim, &adjoint, NULL), CR_OK);
    double *z = calloc(2 * (size_t)s->n_variable, sizeof *z);
    assert_non_null(z);
    double *value = z + s->n_variable;
    cri_selection_read(s, &point, z);
    cri_selection_write_vjp(s, &adjoint, value);
    cri_check check = {.model = f.model,
                       .sim = f.plain,
                       .selection = s,
                       .aim = &f.aim,
                       .point = &point,
                       .scale = cri_aim_scale(&f.aim)};
    for (int i = 0; i < s->n_variable; i++) {
        cri_check_result result = cri_check_entry(&check, i, value[i], z);
        if (!result.is_good) {
            cr_test_fail("%s: %.12g, difference %.12g", s->variable[i].name, value[i],
                         result.difference);
        }
        // a wrong gradient is not confirmed
        double wrong = value[i] + 1e-3 * fmax(fabs(value[i]), 1.0);
        result = cri_check_entry(&check, i, wrong, z);
        CHECK(!result.is_good && result.is_decided);
    }
    free(z);
    cri_selection_destroy(s);
    clear(&f);
}

CR_TEST_MAIN(a_run_ends_at_steps_or_at_the_last_target_or_after_a_second,
             late_targets_and_empty_runs_are_refused,
             gradients_of_targets_at_one_and_at_several_times_match_differences)
