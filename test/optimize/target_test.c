// SPDX-License-Identifier: MIT
//
// Targets are read, and their loss is the squared distance.

#include "optimize/aim.h"

#include "scene_fixture.h"

static void check_refused(const cr_model *model, const char *text, const char *expected) {
    cri_target target;
    cr_error err = {0};
    CHECK_INT(cri_target_parse(model, text, &target, &err), CR_ERR_ARGUMENT);
    if (!strstr(err.text, expected)) {
        cr_test_fail("%s: \"%s\" lacks \"%s\"", text, err.text, expected);
    }
}

TEST(targets_are_read_with_and_without_a_time) {
    cr_model *model = fixture_model();
    cri_target target = {0};
    CHECK_INT(cri_target_parse(model, "ball:1,-2.5,3e-1", &target, NULL), CR_OK);
    CHECK(target.point[0] == 1.0 && target.point[1] == -2.5 && target.point[2] == 0.3);
    CHECK(!target.has_time);
    CHECK_INT(target.body, 0);
    CHECK_INT(cri_target_parse(model, "box:0,0,0@0.25", &target, NULL), CR_OK);
    CHECK(target.has_time && target.time == 0.25);
    CHECK_INT(target.body, 1);
    cr_model_destroy(model);
}

TEST(wrong_targets_are_refused_by_name) {
    cr_model *model = fixture_model();
    check_refused(model, "", "expected BODY:X,Y,Z");
    check_refused(model, "ball", "expected BODY:X,Y,Z");
    check_refused(model, ":1,2,3", "expected BODY:X,Y,Z");
    check_refused(model, "ball:1,2", "expected BODY:X,Y,Z");
    check_refused(model, "ball:1,2,3,4", "expected BODY:X,Y,Z");
    check_refused(model, "ball:1,2@3,4", "expected BODY:X,Y,Z");
    check_refused(model, "ball:1,2,nan", "expected BODY:X,Y,Z");
    check_refused(model, "ball:1,,2", "expected BODY:X,Y,Z");
    check_refused(model, "ball:1,2,3@", "time");
    check_refused(model, "ball:1,2,3@-1", "time");
    check_refused(model, "ball:1,2,3@1x", "time");
    check_refused(model, "bal:1,2,3", "did you mean ball?");
    check_refused(model, "qwertyuiopasdfghjkl:1,2,3", "unknown body");
    cr_model_destroy(model);
}

TEST(the_loss_is_the_squared_distance_without_a_half) {
    cr_model *model = fixture_model();
    cri_target target = {0};
    CHECK_INT(cri_target_parse(model, "box:5,3,5", &target, NULL), CR_OK);
    double x[26] = {0};
    cr_model_defaults(model, -1, NULL, x, NULL);
    // the box is at 5 0 1
    CHECK_CLOSE(cri_target_loss(&target, x), 25.0, 0.0, 1e-15);
    double x_adj[26] = {0};
    x_adj[7] = 1.0;
    cri_target_loss_vjp(&target, x, 2.0, x_adj);
    CHECK(x_adj[7] == 1.0);
    CHECK_CLOSE(x_adj[8], 2.0 * 2.0 * -3.0, 0.0, 1e-15);
    CHECK_CLOSE(x_adj[9], 2.0 * 2.0 * -4.0, 0.0, 1e-15);
    CHECK(x_adj[0] == 0.0);
    cr_model_destroy(model);
}

TEST(a_site_is_meant_where_no_body_has_the_name) {
    static const char text[] =
        "<mujoco><worldbody><site name='corner' pos='1 2 3'/><body name='arm' pos='0 0 1'>"
        "<joint name='turn' axis='0 0 1'/><geom size='.1'/><site name='tip' pos='.5 0 0'/>"
        "<site name='arm' pos='9 9 9'/></body></worldbody></mujoco>";
    cr_model *model = NULL;
    assert_int_equal(cr_model_parse(text, strlen(text), "text", &model, NULL), CR_OK);
    cri_target target = {0};
    // a quarter of a turn takes the tip to 0 0.5 1
    const double x[2] = {0.5 * 3.14159265358979323846, 0.0};
    CHECK_INT(cri_target_parse(model, "tip:0,0.5,3", &target, NULL), CR_OK);
    CHECK_CLOSE(cri_target_loss(&target, x), 4.0, 0.0, 1e-15);
    CHECK_INT(cri_target_parse(model, "arm:0,0,0", &target, NULL), CR_OK);
    CHECK_CLOSE(cri_target_loss(&target, x), 1.0, 0.0, 1e-15);
    CHECK_INT(cri_target_parse(model, "corner:1,2,0", &target, NULL), CR_OK);
    CHECK_CLOSE(cri_target_loss(&target, x), 9.0, 0.0, 1e-15);
    double x_adj[2] = {0};
    cri_target_loss_vjp(&target, x, 1.0, x_adj);
    CHECK(x_adj[0] == 0.0 && x_adj[1] == 0.0);
    check_refused(model, "top:1,2,3", "unknown body or site");
    cr_model_destroy(model);
}

CR_TEST_MAIN(targets_are_read_with_and_without_a_time, wrong_targets_are_refused_by_name,
             the_loss_is_the_squared_distance_without_a_half,
             a_site_is_meant_where_no_body_has_the_name)
