// SPDX-License-Identifier: MIT
//
// Recordings as users write them: good ones, and each fault with its row.

#include "points/learn/windows.h"

#include "cr_test.h"

#include <stdio.h>
#include <string.h>

static const char *const values[] = {"y", "v"};
static const char *const flags[] = {"touch"};
static const cri_series_def plain = {
    .n_value = 2, .value = values, .n_flag = 1, .flag = flags, .n_row_least = 3};

static cr_arena *arena;

static cr_status take(const char *text, cri_series *out, cr_error *err) {
    cri_table table;
    *err = (cr_error){0};
    if (!arena) {
        arena = cri_arena_create(1 << 12);
    }
    cri_arena_reset(arena);
    CHECK_INT(cri_table_parse(text, strlen(text), "ball.csv", &table, err), CR_OK);
    cr_status status = cri_series_push(&plain, &table, "ball.csv", arena, out, err);
    cri_table_clear(&table);
    return status;
}

TEST(columns_are_taken_by_name) {
    cri_series s;
    cr_error err;
    CHECK_INT(take("touch,v,t,other,y\n0,1,0,9,2\n1,3,0.033,9,4\n0,5,0.0663,9,6\n", &s, &err),
              CR_OK);
    CHECK_TEXT(err.text, "");
    CHECK_INT(s.n_row, 3);
    static const double expected[6] = {2.0, 1.0, 4.0, 3.0, 6.0, 5.0};
    CHECK(memcmp(s.value, expected, sizeof expected) == 0);
    CHECK(s.flag[0] == 0.0 && s.flag[1] == 1.0 && s.flag[2] == 0.0);
    CHECK_CLOSE(s.dt, 0.03315, 1e-15, 0.0);
}

TEST(each_fault_is_told_with_its_row) {
    static const struct {
        const char *text, *says;
    } row[] = {
        {"t,y,v,touch\n0,1,2,0\n", "ball.csv: has 1 row, at least 3 are needed"},
        {"t,y,v,touch\n0,1,2,0\n1,1,2,0\n", "ball.csv: has 2 rows, at least 3 are needed"},
        {"t,y,v,touch\n0,1,2,0\n1,1,2,0\n1,1,2,0\n",
         "ball.csv:4: row 3: time does not increase, 1 s after 1 s"},
        {"t,y,v,touch\n0,1,2,0\n1,1,2,0\n# a pause\n5,1,2,0\n6,1,2,0\n7,1,2,0\n",
         "ball.csv:5: row 3: a gap, 3 rows are missing before 5 s"},
        {"t,y,v,touch\n0,1,2,0\n1,1,2,0\n2.3,1,2,0\n3,1,2,0\n4,1,2,0\n",
         "ball.csv:4: row 3: unequal time steps, 1.3 s here, 1 s elsewhere"},
        {"t,y,v,touch\n0,1,2,0\n1,1,2,1\n2,1,2,0.5\n",
         "ball.csv:4: row 3: column 'touch' is 0.5, expected 0 or 1"},
        {"t,y,v,touhc\n0,1,2,0\n1,1,2,1\n2,1,2,0\n",
         "ball.csv: there is no column 'touch'; did you mean 'touhc'? the first ones are t, y, "
         "v, touhc"},
        {"time,y,v,touch\n0,1,2,0\n1,1,2,1\n2,1,2,0\n",
         "ball.csv: there is no column 't'; the first ones are time, y, v, touch"},
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        cri_series s;
        cr_error err;
        CHECK_INT(take(row[k].text, &s, &err), CR_ERR_ARGUMENT);
        if (!CHECK(strncmp(err.text, row[k].says, strlen(row[k].says)) == 0)) {
            CHECK_TEXT(err.text, row[k].says);
        }
    }
}

TEST(numbers_that_are_not_finite_are_told_with_their_line) {
    cri_table table;
    cr_error err = {0};
    const char *text = "t,y\n0,1\n1,nan\n";
    CHECK(cri_table_parse(text, strlen(text), "ball.csv", &table, &err) != CR_OK);
    CHECK(strstr(err.text, "ball.csv:3"));

    // a table that was made otherwise
    double value[6] = {0.0, 1.0, 1.0, 1.0 / 0.0, 2.0, 1.0};
    char t[] = "t", y[] = "y";
    int line[3] = {0};
    table =
        (cri_table){.n_row = 3, .n_col = 2, .name = (char *[]){t, y}, .value = value, .line = line};
    cri_series s;
    const cri_series_def def = {.n_value = 1, .value = values, .n_row_least = 2};
    CHECK_INT(cri_series_push(&def, &table, "run.h5", arena, &s, &err), CR_ERR_ARGUMENT);
    CHECK_TEXT(err.text, "run.h5: row 2: column 'y' is no finite number");
    // finite, but its square is not
    value[3] = -1e308;
    CHECK_INT(cri_series_push(&def, &table, "run.h5", arena, &s, &err), CR_ERR_ARGUMENT);
    CHECK_TEXT(err.text,
               "run.h5: row 2: column 'y' is -1e+308, too large to learn from: its square "
               "must be a number; choose other units");
}

TEST(files_are_read) {
    const char *path = "windows_test.csv";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("t,y,v,touch\n0,1,2,0\n1,1,2,0\n2,1,2,1\n", file);
    fclose(file);
    cri_series s;
    cr_error err = {0};
    CHECK_INT(cri_series_read(&plain, path, arena, &s, &err), CR_OK);
    CHECK(s.n_row == 3 && s.dt == 1.0);
    remove(path);
    CHECK_INT(cri_series_read(&plain, path, arena, &s, &err), CR_ERR_FILE);
}

TEST(recordings_must_agree_in_their_step) {
    cri_series s[3] = {{.file = "a", .dt = 0.01}, {.file = "b", .dt = 0.01001}, {.file = "c"}};
    double dt = 0.0;
    cr_error err = {0};
    s[2].dt = 0.01;
    CHECK_INT(cri_series_check_dt(3, s, &dt, &err), CR_OK);
    CHECK(dt == 0.01);
    s[2].dt = 0.02;
    CHECK_INT(cri_series_check_dt(3, s, &dt, &err), CR_ERR_ARGUMENT);
    CHECK(strncmp(err.text, "c: has time steps of 0.02 s, the others 0.01 s", 46) == 0);
}

static int count(int n, double part, uint64_t seed) {
    bool is_validating[40];
    int sum = 0;
    cri_series_split(n, part, seed, is_validating);
    for (int i = 0; i < n; i++) {
        sum += is_validating[i];
    }
    return sum;
}

TEST(recordings_are_split_as_wholes) {
    CHECK_INT(count(10, 0.3, 1), 3);
    CHECK_INT(count(10, 0.01, 1), 1);
    CHECK_INT(count(10, 0.99, 1), 9);
    CHECK_INT(count(10, 0.0, 1), 0);
    CHECK_INT(count(10, 1.0, 1), 10);
    CHECK_INT(count(1, 0.3, 1), 0);
    bool a[40], b[40];
    cri_series_split(40, 0.5, 1, a);
    cri_series_split(40, 0.5, 2, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
}

TEST(windows_stay_within_their_recordings) {
    const cri_series s[3] = {{.n_row = 5}, {.n_row = 3}, {.n_row = 6}};
    const bool is_chosen[3] = {true, true, false};
    int n = 0;
    cri_window *w = cri_windows_push(3, s, NULL, 3, 1, arena, &n);
    CHECK_INT(n, 2 + 0 + 3);
    CHECK(w[1].series == 0 && w[1].row == 1 && w[2].series == 2 && w[2].row == 0);
    w = cri_windows_push(3, s, is_chosen, 1, 2, arena, &n);
    CHECK_INT(n, 2 + 1);
    CHECK(w[1].row == 2 && w[2].series == 1);
    cri_arena_destroy(arena);
    arena = NULL;
}

CR_TEST_MAIN(columns_are_taken_by_name, each_fault_is_told_with_its_row,
             numbers_that_are_not_finite_are_told_with_their_line, files_are_read,
             recordings_must_agree_in_their_step, recordings_are_split_as_wholes,
             windows_stay_within_their_recordings)
