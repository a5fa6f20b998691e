// SPDX-License-Identifier: MIT
//
// What a plan may change, by name: constants, sequences, bounds; and controls from tables.

#include "optimize/controls.h"

#include "cr_test.h"
#include "optimize/control_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char scene[] =
    "<mujoco><worldbody><body name='arm'><joint name='hinge' type='hinge'/>"
    "<geom name='arm' size='0.1'/></body>"
    "<body name='ball' pos='2 0 0'><freejoint/><geom name='ball' size='0.1'/></body></worldbody>"
    "<actuator><motor name='turn' joint='hinge' ctrllimited='true' ctrlrange='-2 3'/>"
    "<motor name='free' joint='hinge'/></actuator></mujoco>";

static cr_model *load(void) {
    cr_model *model = NULL;
    assert_int_equal(cr_model_parse(scene, strlen(scene), "scene", &model, NULL), CR_OK);
    return model;
}

static cri_selection *make(const cr_model *model, const char *text, int n_step, int n_knot) {
    cri_selection *selection = NULL;
    cr_error err = {0};
    if (cri_controls_create(model, text, n_step, n_knot, &selection, &err) != CR_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    assert_non_null(selection);
    return selection;
}

TEST(sequences_have_a_variable_a_step_or_a_piece) {
    cr_model *model = load();
    cri_selection *s = make(model, "x0:ball/qvel[0], u:turn[*],u:free", 5, 0);
    CHECK_INT(s->n_variable, 7);
    CHECK_TEXT(s->variable[0].name, "x0:ball/qvel[0]");
    CHECK_TEXT(s->variable[3].name, "u:turn[2]");
    CHECK_INT(s->variable[3].place[0].step, 2);
    CHECK_TEXT(s->variable[6].name, "u:free");
    CHECK_INT(s->variable[6].place[0].step, -1);
    cri_selection_destroy(s);

    // 5 steps in 2 pieces: 0 1 2 and 3 4
    s = make(model, "u:turn[*]", 5, 2);
    CHECK_INT(s->n_variable, 2);
    CHECK_TEXT(s->variable[0].name, "u:turn[0:2]");
    CHECK_TEXT(s->variable[1].name, "u:turn[3:4]");
    CHECK_INT(s->variable[0].n_place, 3);
    CHECK_INT(s->variable[1].place[1].step, 4);
    double seconds[2];
    cri_controls_seconds(s, 5, 1, (double[]){0.1}, seconds);
    CHECK_CLOSE(seconds[0], 0.3, 1e-15, 0.0);
    CHECK_CLOSE(seconds[1], 0.2, 1e-15, 0.0);
    cri_selection_destroy(s);

    s = make(model, "u:ball/force[2][*],u:ball/torque[*]", 4, 0);
    CHECK_INT(s->n_variable, 4 + 3);
    CHECK_TEXT(s->variable[4].name, "u:ball/torque[0]");
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

static void check_refused(const cr_model *model, const char *text, int n_knot, const char *part) {
    cri_selection *selection = NULL;
    cr_error err = {0};
    CHECK_INT(cri_controls_create(model, text, 5, n_knot, &selection, &err), CR_ERR_ARGUMENT);
    CHECK(selection == NULL);
    if (!CHECK(strstr(err.text, part) != NULL)) {
        cr_test_fail("%s: %s", text, err.text);
    }
}

TEST(wrong_controls_are_refused) {
    cr_model *model = load();
    check_refused(model, "u:trun[*]", 0, "turn");
    check_refused(model, "u:turn[*],u:turn", 0, "twice");
    check_refused(model, "u:turn[*]=u:free[*]", 0, "tied");
    check_refused(model, "u:turn[*]", 6, "6 knots");
    check_refused(model, "u:turn[7]", 0, "5 steps");
    check_refused(model, "u:turn,,u:free", 0, "missing");
    cr_model_destroy(model);
}

TEST(bounds_come_from_the_scene_and_are_narrowed_by_name) {
    cr_model *model = load();
    cri_selection *s = make(model, "u:turn[*],u:free,x0:ball/qvel[0]", 3, 0);
    cri_domain d[5];
    cri_controls_domain(s, model, d);
    CHECK(d[0].lower == -2.0 && d[2].upper == 3.0);
    CHECK(isinf(d[3].lower) && isinf(d[4].upper));
    cr_error err = {0};
    CHECK_INT(cri_controls_bound(s, "u:turn=-5:1", d, &err), CR_OK);
    CHECK(d[1].lower == -2.0 && d[1].upper == 1.0);
    CHECK_INT(cri_controls_bound(s, "u:turn[2]=0:", d, &err), CR_OK);
    CHECK(d[1].lower == -2.0 && d[2].lower == 0.0 && d[2].upper == 1.0);
    CHECK_INT(cri_controls_bound(s, "u:turn[*]=:0.5", d, &err), CR_OK);
    CHECK(d[0].upper == 0.5 && d[2].upper == 0.5);
    CHECK_INT(cri_controls_bound(s, "x0:ball/qvel[*]=-1:1", d, &err), CR_OK);
    CHECK(d[4].lower == -1.0 && isinf(d[3].lower));
    static const char *const wrong[][2] = {
        {"u:turn", "NAME=LOW:HIGH"},     {"u:turn=1", "NAME=LOW:HIGH"},
        {"u:turn=a:b", "NAME=LOW:HIGH"}, {"u:turn=2:1", "above"},
        {"u:turn=4:5", "is left"},       {"x0:ball/qvel[1]=0:1", "not among"},
        {"u:tun=0:1", "did you mean"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(cri_controls_bound(s, wrong[i][0], d, &err), CR_ERR_ARGUMENT);
        if (!CHECK(strstr(err.text, wrong[i][1]) != NULL)) {
            cr_test_fail("%s", err.text);
        }
    }
    cri_selection_destroy(s);
    cr_model_destroy(model);
}

// ---- tables ------------------------------------------------------------------------------------

#define TABLE CAROM_BINARY_DIR "/controls_test.csv"

static cr_status read_table(const cr_model *model, const char *text, cri_control_table *out,
                            cr_error *err) {
    FILE *file = fopen(TABLE, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    cr_status status = cri_control_read(model, TABLE, out, err);
    remove(TABLE);
    return status;
}

TEST(a_row_of_a_table_holds_until_the_next) {
    cr_model *model = load();
    cri_control_table table;
    cr_error err = {0};
    CHECK_INT(read_table(model, "t,free,turn\n0.1,1,2\n0.2,3,4\n0.3,5,6\n", &table, &err), CR_OK);
    double u[9] = {0};
    cri_control_at(&table, 0.0, u);
    CHECK(u[1] == 1.0 && u[0] == 2.0 && u[2] == 0.0);
    cri_control_at(&table, 0.19, u);
    CHECK(u[1] == 1.0);
    cri_control_at(&table, 0.1 + 0.1, u);
    CHECK(u[1] == 3.0);
    cri_control_at(&table, 3 * 0.1, u); // rounds above 0.3
    CHECK(u[1] == 5.0);
    cri_control_at(&table, 0.1 * 2.9999999999999996, u); // and below
    CHECK(u[1] == 5.0);
    cri_control_at(&table, 9.0, u);
    CHECK(u[0] == 6.0);
    double rows[3 * 9] = {0};
    cri_control_rows(&table, 3, 1, (double[]){0.15}, rows);
    CHECK(rows[1] == 1.0 && rows[9 + 1] == 1.0 && rows[18 + 1] == 5.0);
    cri_control_rows(&table, 3, 3, (double[]){0.15, 0.1, 1.0}, rows);
    CHECK(rows[18 + 1] == 3.0);
    cri_control_clear(&table);
    cr_model_destroy(model);
}

TEST(wrong_tables_are_refused) {
    static const char *const wrong[][2] = {
        {"free\n1\n", "one beside t"},
        {"free,turn\n1,2\n", "no column t"},
        {"t,fre\n0,1\n", "did you mean free"},
        {"t,free\n0,1\n0,1\n", ":3: t does not increase"},
        {"t,free\n", "no data"},
    };
    cr_model *model = load();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cri_control_table table;
        cr_error err = {0};
        CHECK(read_table(model, wrong[i][0], &table, &err) != CR_OK);
        CHECK(table.time == NULL);
        if (!CHECK(strstr(err.text, wrong[i][1]) != NULL)) {
            cr_test_fail("%s", err.text);
        }
    }
    cr_model_destroy(model);
}

CR_TEST_MAIN(sequences_have_a_variable_a_step_or_a_piece, wrong_controls_are_refused,
             bounds_come_from_the_scene_and_are_narrowed_by_name,
             a_row_of_a_table_holds_until_the_next, wrong_tables_are_refused)
