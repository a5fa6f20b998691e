// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: losses, and variables written to the vectors of a run.

#include "cr_test.h"

#include "optimize/aim.h"
#include "optimize/controls.h"
#include "optimize/scene_fixture.h"
#include "optimize/select.h"

#include <string.h>

// ---- target ------------------------------------------------------------------------------------

// a hand behind every kind of joint
static const char arm[] =
    "<mujoco><worldbody><body name='base'><freejoint/><geom size='0.1'/>"
    "<body name='upper' pos='0.1 0.2 0.3'><joint type='ball' pos='0.1 0 0.2'/><geom size='0.1'/>"
    "<body name='hand' pos='0.3 -0.2 0.1'><joint axis='1 2 3' pos='0.1 0.2 0'/>"
    "<joint type='slide' axis='0 1 1'/><geom size='0.1'/>"
    "<site name='tip' pos='0.2 -0.1 0.3' euler='10 20 30'/></body></body></body>"
    "<body name='ball'><freejoint/><geom size='0.1'/><site name='mark' pos='0 0.1 0.2'/>"
    "</body></worldbody></mujoco>";

enum { N_ARM_X = 20 + 17 };

static cri_target target;

static void target_forward(const double *x, double *y, void *cache) {
    (void)cache;
    y[0] = cri_target_loss(&target, x);
}

static void target_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_target_loss_vjp(&target, x, y_adj[0], x_adj);
}

static void check_target(const cr_model *model, const char *text, const double *points, int n) {
    assert_int_equal(cri_target_parse(model, text, &target, NULL), CR_OK);
    cr_test_vjp(&(cr_vjp_case){.name = text,
                               .vjp_name = "cri_target_loss_vjp",
                               .n_in = N_ARM_X,
                               .n_out = 1,
                               .forward = target_forward,
                               .vjp = target_vjp,
                               .points = points,
                               .n_points = n});
}

TEST(target_loss_has_its_gradient) {
    cr_model *model = NULL;
    cr_error err = {0};
    if (cr_model_parse(arm, strlen(arm), "arm", &model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(cr_model_sizes(model).n_x, N_ARM_X);
    // the ball somewhere else, and on the target; quaternions of any length
    static const double points[2 * N_ARM_X] = {
        0.5,  -0.4, 1.2, 0.5,  -0.1, 0.7,  0.5, 0.8,
        0.3,  -0.4, 0.7, 0.7,  -0.3, //
        1.0,  2.0,  3.0, 0.9,  0.2,  -0.1, 0.6, [N_ARM_X] = 0.5,
        -0.4, 1.2,  0.5, -0.1, 0.7,  0.5,  0.8, 0.3,
        -0.4, 0.7,  0.7, -0.3, //
        0.3,  -0.4, 1.5, 0.9,  0.2,  -0.1, 0.6};
    check_target(model, "ball:0.3,-0.4,1.5", points, 2);
    check_target(model, "base:0.3,-0.4,1.5", points, 1);
    check_target(model, "upper:0.3,-0.4,1.5", points, 1);
    check_target(model, "hand:0.3,-0.4,1.5", points, 1);
    check_target(model, "tip:0.3,-0.4,1.5", points, 1);
    check_target(model, "mark:0.3,-0.4,1.5", points, 1);
    // outside of a radius and within it, where there is no loss
    for (int k = 0; k < 2; k++) {
        assert_int_equal(cri_target_parse(model, "hand:0.3,-0.4,1.5", &target, NULL), CR_OK);
        target.radius = k ? 100.0 : 0.1;
        CHECK(k == (cri_target_loss(&target, points) == 0.0));
        cr_test_vjp(&(cr_vjp_case){.name = "target with a radius",
                                   .vjp_name = "cri_target_loss_vjp",
                                   .n_in = N_ARM_X,
                                   .n_out = 1,
                                   .forward = target_forward,
                                   .vjp = target_vjp,
                                   .points = points,
                                   .n_points = 1});
    }
    cr_model_destroy(model);
}

// ---- selection ---------------------------------------------------------------------------------

enum { N_VARIABLE = 4, N_ROW = 3, N_P_LIMIT = 64, N_X = 26, N_U = 12 };

/// What the functions of a row cannot be handed.
static struct {
    cri_selection *selection;
    int n_p;
} chosen;

/// y holds p, x0 and u in a row.
static cri_point point_over(double *y) {
    return (cri_point){y, y + chosen.n_p, y + chosen.n_p + N_X, N_ROW};
}

static void write_forward(const double *z, double *y, void *cache) {
    (void)cache;
    memset(y, 0, (size_t)(chosen.n_p + N_X + N_ROW * N_U) * sizeof *y);
    cri_point point = point_over(y);
    cri_selection_write(chosen.selection, z, &point);
}

static void write_vjp(const double *z, const void *cache, const double *y_adj, double *z_adj) {
    (void)z;
    (void)cache;
    double copy[N_P_LIMIT + N_X + N_ROW * N_U];
    memcpy(copy, y_adj, (size_t)(chosen.n_p + N_X + N_ROW * N_U) * sizeof *copy);
    cri_point point = point_over(copy);
    cri_selection_write_vjp(chosen.selection, &point, z_adj);
}

TEST(writing_a_selection_has_its_adjoint) {
    cr_model *model = fixture_model();
    cr_sizes sizes = cr_model_sizes(model);
    assert_true(sizes.n_p <= N_P_LIMIT && sizes.n_x == N_X && sizes.n_u == N_U);
    chosen.n_p = sizes.n_p;
    // a tie, a state, a control over the run, a control of one step
    const char *text = "ball/mass=box/mass,x0:box/qvel[0],u:ball/force[0],u:ball/force[1][2]";
    assert_int_equal(cri_selection_create(model, text, &chosen.selection, NULL), CR_OK);
    static const double points[] = {1.0, 2.0, 3.0, 4.0};
    cr_test_vjp(&(cr_vjp_case){.name = "selection_write",
                               .vjp_name = "cri_selection_write_vjp",
                               .n_in = N_VARIABLE,
                               .n_out = sizes.n_p + N_X + N_ROW * N_U,
                               .forward = write_forward,
                               .vjp = write_vjp,
                               .points = points,
                               .n_points = 1});
    cri_selection_destroy(chosen.selection);
    cr_model_destroy(model);
}

// ---- waves -------------------------------------------------------------------------------------

static const double wave_time[5] = {0.0, 0.1, 0.2, 0.35, 0.5};
static const cri_waves waves = {2, 5, 2, 12, wave_time, NULL};

static void waves_forward(const double *z, double *y, void *cache) {
    (void)cache;
    cri_waves_write(&waves, z, y);
}

static void waves_vjp(const double *z, const void *cache, const double *y_adj, double *z_adj) {
    (void)cache;
    cri_waves_write_vjp(&waves, z, y_adj, z_adj);
}

TEST(waves_have_their_adjoint) {
    // amplitude, frequency, phase; some amplitudes are zero, as at the start
    static const double points[] = {0.7, 0.5, 0.1, -0.4, 1.3, 2.0, 0.0, 0.5, -0.3, 0.0, 1.0, 0.0,
                                    0.0, 0.5, 0.0, 0.0,  1.0, 0.0, 0.0, 0.5, 0.0,  0.0, 1.0, 0.0};
    cr_test_vjp(&(cr_vjp_case){.name = "waves_write",
                               .vjp_name = "cri_waves_write_vjp",
                               .n_in = 12,
                               .n_out = 10,
                               .forward = waves_forward,
                               .vjp = waves_vjp,
                               .points = points,
                               .n_points = 2});
}

CR_TEST_MAIN(target_loss_has_its_gradient, writing_a_selection_has_its_adjoint,
             waves_have_their_adjoint)
