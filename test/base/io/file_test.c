// SPDX-License-Identifier: MIT
//
// Whole files in memory, and the form of error texts.

#include "base/io/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const scratch = "file_test.tmp";

static void write_scratch(const char *bytes, size_t n) {
    FILE *f = fopen(scratch, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void expect_failure(const char *path, const char *text) {
    char *bytes = (char *)1;
    size_t n = 1;
    cr_error err = {0};
    assert_int_equal(cri_file_read(path, &bytes, &n, &err), CR_ERR_FILE);
    assert_null(bytes);
    assert_int_equal(err.status, CR_ERR_FILE);
    assert_int_equal(err.line, 0);
    assert_string_equal(err.text, text);
    assert_int_equal(cri_file_read(path, &bytes, &n, NULL), CR_ERR_FILE);
}

static void a_file_comes_back_byte_for_byte(void **state) {
    (void)state;
    // more than one piece, with NUL bytes
    size_t n = 300000;
    char *bytes = malloc(n);
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)(i * 7 % 251);
    }
    write_scratch(bytes, n);
    char *text;
    size_t n_read;
    assert_int_equal(cri_file_read(scratch, &text, &n_read, NULL), CR_OK);
    assert_int_equal(n_read, n);
    assert_memory_equal(text, bytes, n);
    assert_int_equal(text[n], '\0');
    free(text);
    free(bytes);
    remove(scratch);
}

static void an_empty_file_is_an_empty_text(void **state) {
    (void)state;
    write_scratch("", 0);
    char *text;
    size_t n;
    assert_int_equal(cri_file_read(scratch, &text, &n, NULL), CR_OK);
    assert_int_equal(n, 0);
    assert_string_equal(text, "");
    free(text);
    remove(scratch);
}

static void a_missing_file_is_named(void **state) {
    (void)state;
    expect_failure("no/such/scene.xml", "no/such/scene.xml: no such file");
}

static void a_directory_is_named(void **state) {
    (void)state;
    expect_failure(".", ".: is a directory, expected a file");
}

static void an_unreadable_file_is_named(void **state) {
    (void)state;
    if (geteuid() == 0) {
        print_message("SKIP: the superuser may read every file\n");
        skip();
    }
    write_scratch("x", 1);
    assert_int_equal(chmod(scratch, 0), 0);
    expect_failure(scratch, "file_test.tmp: may not be read: check its permissions");
    remove(scratch);
}

static void a_file_above_the_limit_is_refused(void **state) {
    (void)state;
    // a hole of that size takes no room on the disk
    FILE *f = fopen(scratch, "wb");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)CRI_FILE_LIMIT, SEEK_SET), 0);
    assert_int_equal(fputc('x', f), 'x');
    fclose(f);
    expect_failure(scratch, "file_test.tmp: is larger than 256 MiB");
    remove(scratch);
}

static void a_text_begins_with_file_and_line(void **state) {
    (void)state;
    cr_error err;
    cr_status status = cri_file_fail(&err, CR_ERR_SYNTAX, "a/b.xml", 12, "%s %d", "found", 3);
    assert_int_equal(status, CR_ERR_SYNTAX);
    assert_int_equal(err.line, 12);
    assert_string_equal(err.text, "a/b.xml:12: found 3");
}

static void a_long_path_keeps_its_end(void **state) {
    (void)state;
    char path[400];
    memset(path, 'd', sizeof path);
    strcpy(path + 350, "/folder/scene.xml");
    cr_error err;
    cri_file_fail(&err, CR_ERR_SYNTAX, path, 1, "bad");
    assert_string_equal(err.text, "folder/scene.xml:1: bad");

    // without a '/' to cut at
    memset(path, 'd', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    cri_file_fail(&err, CR_ERR_SYNTAX, path, 1, "bad");
    assert_int_equal(strlen(err.text), 64 + strlen(":1: bad"));
}

static void a_text_is_one_printable_line(void **state) {
    (void)state;
    cr_error err;
    cri_file_fail(&err, CR_ERR_SYNTAX, "f", 1,
                  "a\nb\tc\x1b"
                  "d\x7f");
    assert_string_equal(err.text, "f:1: a?b?c?d?");
    cri_file_fail(&err, CR_ERR_SYNTAX, "f", 1, "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x8e\xb1");
    assert_string_equal(err.text, "f:1: \xc3\xa4 \xe2\x82\xac \xf0\x9f\x8e\xb1");
    cri_file_fail(&err, CR_ERR_SYNTAX, "f", 1, "\xc3 \xe2\x82 \xff \x80 \xc0\xaf");
    assert_string_equal(err.text, "f:1: ? ?? ? ? ??");
}

static void a_text_too_long_is_cut(void **state) {
    (void)state;
    char message[1000];
    memset(message, 'm', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    cr_error err;
    cri_file_fail(&err, CR_ERR_SYNTAX, "f", 1, "%s", message);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

int main(void) {
#ifdef CAROM_BINARY_DIR
    // scratch files belong there, under a short name
    if (chdir(CAROM_BINARY_DIR) != 0) {
        return 1;
    }
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_comes_back_byte_for_byte),
        cmocka_unit_test(an_empty_file_is_an_empty_text),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_directory_is_named),
        cmocka_unit_test(an_unreadable_file_is_named),
        cmocka_unit_test(a_file_above_the_limit_is_refused),
        cmocka_unit_test(a_text_begins_with_file_and_line),
        cmocka_unit_test(a_long_path_keeps_its_end),
        cmocka_unit_test(a_text_is_one_printable_line),
        cmocka_unit_test(a_text_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
