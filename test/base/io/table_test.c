// SPDX-License-Identifier: MIT
//
// Tables of numbers from CSV text.

#include "base/io/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static cri_table parse(const char *text) {
    cri_table t;
    cr_error err = {0};
    cr_status status = cri_table_parse(text, strlen(text), "d.csv", &t, &err);
    if (status != CR_OK) {
        print_message("%s\n", err.text);
    }
    assert_int_equal(status, CR_OK);
    return t;
}

// position: line and column of the error
static void expect_error(const char *bytes, size_t n, int line, int column, const char *text) {
    cri_table t = {.n_row = 9};
    cr_error err = {0};
    assert_int_equal(cri_table_parse(bytes, n, "d.csv", &t, &err), CR_ERR_SYNTAX);
    assert_string_equal(err.text, text);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
    assert_int_equal(t.n_row, 0);
    assert_null(t.value);
    assert_int_equal(cri_table_parse(bytes, n, "d.csv", &t, NULL), CR_ERR_SYNTAX);
}

static void expect(const char *csv, int line, int column, const char *text) {
    expect_error(csv, strlen(csv), line, column, text);
}

static void a_plain_table_is_read(void **state) {
    (void)state;
    cri_table t = parse("# made by hand\nt,ball/qpos[0]\n0,1.5\n\n#  noise 0.001 \n0.5,-2e-3\n");
    assert_int_equal(t.n_col, 2);
    assert_int_equal(t.n_row, 2);
    assert_int_equal(t.n_comment, 2);
    assert_string_equal(t.name[0], "t");
    assert_string_equal(t.name[1], "ball/qpos[0]");
    assert_string_equal(t.comment[0], "made by hand");
    assert_string_equal(t.comment[1], "noise 0.001");
    assert_true(t.value[0] == 0.0 && t.value[1] == 1.5);
    assert_true(t.value[2] == 0.5 && t.value[3] == -2e-3);
    assert_int_equal(t.line[0], 3);
    assert_int_equal(t.line[1], 6);
    assert_int_equal(cri_table_find(&t, "ball/qpos[0]"), 1);
    assert_int_equal(cri_table_find(&t, "ball"), -1);
    cri_table_clear(&t);
    assert_int_equal(t.n_col, 0);
}

static void line_ends_spaces_quotes_and_a_byte_order_mark_make_no_difference(void **state) {
    (void)state;
    static const char *const same[] = {
        "a,b\n1,2\n3,4\n",
        "a,b\r\n1,2\r\n3,4\r\n",
        "a,b\n1,2\n3,4",
        "a,b\r\n1,2\r\n3,4",
        " a ,\tb \n 1 , 2 \n3\t,4\n",
        "\"a\",\"b\"\n\"1\",2\n3,\" 4 \"\n",
        "\n\na,b\n\n1,2\n   \n3,4\n\n",
        "\357\273\277a,b\n1,2\n3,4\n",
        "# x\r\na,b\r\n  # y\r\n1,2\r\n3,4\r\n#",
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        cri_table t = parse(same[i]);
        const double value[4] = {1, 2, 3, 4};
        assert_int_equal(t.n_row, 2);
        assert_int_equal(t.n_col, 2);
        assert_string_equal(t.name[0], "a");
        assert_string_equal(t.name[1], "b");
        assert_memory_equal(t.value, value, sizeof value);
        cri_table_clear(&t);
    }
}

static void quoted_names_may_have_commas_and_quotes(void **state) {
    (void)state;
    cri_table t = parse("\"a,b\",\"say \"\"hi\"\"\"\n1,2\n");
    assert_string_equal(t.name[0], "a,b");
    assert_string_equal(t.name[1], "say \"hi\"");
    cri_table_clear(&t);
}

static void many_rows_are_kept_in_order(void **state) {
    (void)state;
    enum { N = 5000 };
    char *csv = malloc(N * 16 + 16);
    assert_non_null(csv);
    int n = sprintf(csv, "t,x\n");
    for (int i = 0; i < N; i++) {
        n += sprintf(csv + n, "%d,%d\n", i, -i);
    }
    cri_table t = parse(csv);
    assert_int_equal(t.n_row, N);
    for (int i = 0; i < N; i++) {
        assert_true(t.value[2 * i] == i && t.value[2 * i + 1] == -i);
        assert_int_equal(t.line[i], i + 2);
    }
    cri_table_clear(&t);
    free(csv);
}

static void a_missing_header_is_reported(void **state) {
    (void)state;
    expect("0,1\n2,3\n", 1, 0,
           "d.csv:1: the header is missing: expected column names, found numbers");
    expect("# c\n\n0\n", 3, 0,
           "d.csv:3: the header is missing: expected column names, found numbers");
}

static void an_empty_table_is_reported(void **state) {
    (void)state;
    static const char *const text =
        "d.csv: is empty: expected a line of column names and rows of numbers";
    expect("", 0, 0, text);
    expect("\n \n", 0, 0, text);
    expect("# only\n# comments", 0, 0, text);
    expect("t,x\n", 1, 0, "d.csv:1: has no data: expected rows of numbers after the header");
    expect("t,x\n\n# c\n", 3, 0, "d.csv:3: has no data: expected rows of numbers after the header");
}

static void a_wrong_number_of_fields_is_reported(void **state) {
    (void)state;
    expect("t,x\n0,1\n2\n4,5\n", 3, 0, "d.csv:3: row has 1 fields, expected 2");
    expect("t,x\n0,1,2\n", 2, 0, "d.csv:2: row has 3 fields, expected 2");
    expect("t,x\n0,1,\n", 2, 0, "d.csv:2: row has 3 fields, expected 2");
}

static void a_cut_off_file_is_suspected(void **state) {
    (void)state;
    expect("t,x\n0,1\n2", 3, 0, "d.csv:3: row has 1 fields, expected 2; the file may be cut off");
    expect("t,x\n0,", 2, 3, "d.csv:2: column 'x': '' is empty, expected a number");
    expect("t,x\n0,1e", 2, 3, "d.csv:2: column 'x': '1e' is not a number, expected a number");
    expect("t,\"x", 1, 3, "d.csv:1: quote opened at character 3 is never closed");
}

static void a_cell_that_is_no_finite_number_is_reported(void **state) {
    (void)state;
    expect("t,x y\n0,1\n2,abc\n", 3, 3,
           "d.csv:3: column 'x y': 'abc' is not a number, expected a number");
    expect("t,x\nnan,1\n", 2, 1, "d.csv:2: column 't': 'nan' is NaN, expected a number");
    expect("t,x\n1,-inf\n", 2, 3, "d.csv:2: column 'x': '-inf' is infinite, expected a number");
    expect("t,x\n1,1e999\n", 2, 3, "d.csv:2: column 'x': '1e999' is infinite, expected a number");
    expect("t,x\n,1\n", 2, 1, "d.csv:2: column 't': '' is empty, expected a number");
    expect("t,x\n1 2,3\n", 2, 1, "d.csv:2: column 't': '1 2' is not a number, expected a number");
    expect("t;x\n1;2\n", 2, 1, "d.csv:2: column 't;x': '1;2' is not a number, expected a number");
}

static void column_names_are_checked(void **state) {
    (void)state;
    expect("t,x,y,x\n", 1, 0, "d.csv:1: two columns have the name 'x'");
    expect("t,,y\n", 1, 3, "d.csv:1: column 2 of the header has no name");
    expect("t,x,\n1,2\n", 1, 5, "d.csv:1: column 3 of the header has no name");
}

static void quotes_are_checked(void **state) {
    (void)state;
    expect("t,x\n1,\"2\n", 2, 3, "d.csv:2: quote opened at character 3 is never closed");
    expect("t,x\n\"1\"3,2\n", 2, 4, "d.csv:2: expected a comma after the quote, found '3'");
}

static void a_nul_byte_is_reported(void **state) {
    (void)state;
    static const char csv[] = "t,x\n0,1\n2,\0003\n";
    expect_error(csv, sizeof csv - 1, 3, 0,
                 "d.csv:3: contains a NUL byte: expected a table as text (CSV)");
}

static void reading_a_missing_file_is_an_error(void **state) {
    (void)state;
    cri_table t;
    cr_error err = {0};
    assert_int_equal(cri_table_read("no_such.csv", &t, &err), CR_ERR_FILE);
    assert_string_equal(err.text, "no_such.csv: no such file");
    assert_int_equal(t.n_col, 0);
}

static void the_example_recording_is_read(void **state) {
    (void)state;
    cri_table t;
    cr_error err = {0};
    cr_status status = cri_table_read(CAROM_SOURCE_DIR "/examples/bounce.csv", &t, &err);
    if (status != CR_OK) {
        print_message("%s\n", err.text);
    }
    assert_int_equal(status, CR_OK);
    assert_int_equal(t.n_col, 4);
    assert_int_equal(t.n_row, 97);
    assert_int_equal(t.n_comment, 5);
    assert_string_equal(t.comment[1], "true floor:ball/friction = 0.12");
    assert_int_equal(cri_table_find(&t, "ball/qpos[2]"), 3);
    cri_table_clear(&t);
}

// xorshift, so that the variants are the same everywhere
static uint32_t next_random(uint32_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

static void a_damaged_table_parses_or_says_why(void **state) {
    (void)state;
    static const char good[] = "# c\nt,\"a,\"\"b\",x\r\n0,1,2\n1,\"2\",-3e5\n2,3,4\n";
    uint32_t seed = 7;
    for (int k = 0; k < 3000; k++) {
        // every length first, then flipped bytes; the exact size lets sanitizers see overruns
        size_t n = k < (int)sizeof good ? (size_t)k : sizeof good - 1;
        char *text = malloc(n + 1);
        assert_non_null(text);
        memcpy(text, good, n);
        for (int flip = 0; k >= (int)sizeof good && flip < 1 + k % 4; flip++) {
            text[next_random(&seed) % n] = (char)next_random(&seed);
        }
        cri_table t;
        cr_error err = {0};
        cr_status status = cri_table_parse(text, n, "d.csv", &t, &err);
        assert_true(status == CR_OK || (status == CR_ERR_SYNTAX && err.text[0]));
        cri_table_clear(&t);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_table_is_read),
        cmocka_unit_test(line_ends_spaces_quotes_and_a_byte_order_mark_make_no_difference),
        cmocka_unit_test(quoted_names_may_have_commas_and_quotes),
        cmocka_unit_test(many_rows_are_kept_in_order),
        cmocka_unit_test(a_missing_header_is_reported),
        cmocka_unit_test(an_empty_table_is_reported),
        cmocka_unit_test(a_wrong_number_of_fields_is_reported),
        cmocka_unit_test(a_cut_off_file_is_suspected),
        cmocka_unit_test(a_cell_that_is_no_finite_number_is_reported),
        cmocka_unit_test(column_names_are_checked),
        cmocka_unit_test(quotes_are_checked),
        cmocka_unit_test(a_nul_byte_is_reported),
        cmocka_unit_test(reading_a_missing_file_is_an_error),
        cmocka_unit_test(the_example_recording_is_read),
        cmocka_unit_test(a_damaged_table_parses_or_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
