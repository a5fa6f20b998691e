// SPDX-License-Identifier: MIT
//
// Tables become recordings, and what does not fit is refused by name and place.

#include "optimize/recording.h"

#include "scene_fixture.h"

/// Reads text as a recording. The table is gone afterwards, as in the command.
static cr_status read_text(const cr_model *model, const char *text, cr_arena *arena,
                           cri_recording *out, cr_error *err) {
    cri_table table;
    CR_TRY(cri_table_parse(text, strlen(text), "data.csv", &table, err));
    cr_status status = cri_recording_push(model, &table, "data.csv", arena, out, err);
    cri_table_clear(&table);
    return status;
}

static void check_refused(const cr_model *model, const char *text, const char *expected) {
    cr_arena *arena = cri_arena_create(1024);
    cri_recording recording;
    cr_error err = {0};
    CHECK(read_text(model, text, arena, &recording, &err) != CR_OK);
    if (!strstr(err.text, expected) || strncmp(err.text, "data.csv", 8) != 0) {
        cr_test_fail("\"%s\" lacks \"%s\"", err.text, expected);
    }
    cri_arena_destroy(arena);
}

TEST(columns_in_any_order_are_taken_with_times_from_the_first) {
    cr_model *model = fixture_model();
    cr_arena *arena = cri_arena_create(1024);
    cri_recording recording = {0};
    const char *text = "box/qpos[2], t, ball/qvel[0]\n1, 0.5, 2\n3, 0.75, 4\n5, 1.5, 6\n";
    CHECK_INT(read_text(model, text, arena, &recording, NULL), CR_OK);
    CHECK(recording.time && recording.value && recording.x_index);
    if (!recording.time || !recording.value || !recording.x_index) {
        return;
    }
    CHECK_INT(recording.n_sample, 3);
    CHECK_INT(recording.n_column, 2);
    CHECK(recording.time[0] == 0.0 && recording.time[1] == 0.25 && recording.time[2] == 1.0);
    CHECK_INT(recording.x_index[0], 9);
    CHECK_INT(recording.x_index[1], 14);
    for (int i = 0; i < 6; i++) {
        CHECK(recording.value[i] == i + 1.0);
    }
    cri_arena_destroy(arena);
    cr_model_destroy(model);
}

TEST(true_values_are_found_under_every_name_of_a_place) {
    cr_model *model = fixture_model();
    cr_arena *arena = cri_arena_create(1024);
    cri_recording recording = {0};
    const char *text = "# true ball:floor/friction = 0.25\n# true x0:ball/qpos[2]=1.5 m\n"
                       "# true nothing = 3\n# made by hand\n# true ball/mass = heavy\n"
                       "t,ball/qpos[0]\n0,0\n1,0\n";
    CHECK_INT(read_text(model, text, arena, &recording, NULL), CR_OK);
    CHECK_INT(recording.n_truth, 2);
    cri_selection *s = NULL;
    CHECK_INT(
        cri_selection_create(model, "floor:ball/friction,x0:ball/qpos[2],ball/mass", &s, NULL),
        CR_OK);
    double value = 0.0;
    CHECK(cri_recording_truth(&recording, &s->variable[0], &value) && value == 0.25);
    CHECK(cri_recording_truth(&recording, &s->variable[1], &value) && value == 1.5);
    CHECK(!cri_recording_truth(&recording, &s->variable[2], &value));
    cri_selection_destroy(s);
    cri_arena_destroy(arena);
    cr_model_destroy(model);
}

TEST(what_does_not_fit_is_refused_with_its_place) {
    cr_model *model = fixture_model();
    check_refused(model, "t,ball/qps[0]\n0,0\n1,0\n", "did you mean ball/qpos[0]?");
    check_refused(model, "t,somethingelse\n0,0\n1,0\n", "ball/qpos[0] to box/qvel[5]");
    check_refused(model, "t,ball/mass\n0,0\n1,0\n", "column ball/mass");
    check_refused(model, "time,ball/qpos[0]\n0,0\n1,0\n", "column t");
    check_refused(model, "t\n0\n1\n", "nothing beside t");
    check_refused(model, "t,ball/qpos[0]\n0,0\n", "at least 2 rows");
    check_refused(model, "t,ball/qpos[0]\n", "no data");
    check_refused(model, "t,ball/qpos[0]\n0,0\n1,0\n1,0\n", "data.csv:4: t is 1 after 1");
    check_refused(model, "t,ball/qpos[0]\n0,0\n1,0\n0.5,0\n", "data.csv:4");
    check_refused(model, "t,ball/qpos[0],ball/qpos[0]\n0,0,0\n1,0,0\n", "two columns");
    check_refused(model, "t,ball/qpos[0]\n0,0\n1,nan\n", "data.csv:3");
    cr_model_destroy(model);
}

CR_TEST_MAIN(columns_in_any_order_are_taken_with_times_from_the_first,
             true_values_are_found_under_every_name_of_a_place,
             what_does_not_fit_is_refused_with_its_place)
