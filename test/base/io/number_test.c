// SPDX-License-Identifier: MIT
//
// Decimal numbers from text.

#include "base/io/number.h"

#include <float.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static cri_number_kind parse(const char *text, double *value) {
    return cri_number_parse(text, strlen(text), value);
}

static void numbers_are_read_to_the_last_bit(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0.0},
        {"-1", -1.0},
        {"+2.5", 2.5},
        {".5", 0.5},
        {"5.", 5.0},
        {"1e3", 1e3},
        {"1E-3", 1e-3},
        {"-1.25e+2", -125.0},
        {"0.1", 0.1},
        {"1e-400", 0.0},
        {"007", 7.0},
        {"2.2250738585072014e-308", DBL_MIN},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
        {"1.7976931348623157e308", DBL_MAX},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double value = -7.0;
        assert_int_equal(parse(good[i].text, &value), CRI_NUMBER_OK);
        assert_memory_equal(&value, &good[i].value, sizeof value);
    }
}

static void what_is_no_finite_decimal_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        cri_number_kind kind;
    } bad[] = {
        {"", CRI_NUMBER_EMPTY},
        {"nan", CRI_NUMBER_NAN},
        {"-NaN", CRI_NUMBER_NAN},
        {"inf", CRI_NUMBER_INFINITE},
        {"-Infinity", CRI_NUMBER_INFINITE},
        {"1e999", CRI_NUMBER_INFINITE},
        {"abc", CRI_NUMBER_GARBAGE},
        {"1.2.3", CRI_NUMBER_GARBAGE},
        {"0x10", CRI_NUMBER_GARBAGE},
        {"1e", CRI_NUMBER_GARBAGE},
        {"1e+", CRI_NUMBER_GARBAGE},
        {".", CRI_NUMBER_GARBAGE},
        {"-", CRI_NUMBER_GARBAGE},
        {"+-1", CRI_NUMBER_GARBAGE},
        {"1,5", CRI_NUMBER_GARBAGE},
        {" 1", CRI_NUMBER_GARBAGE},
        {"1 ", CRI_NUMBER_GARBAGE},
        {"nan(0)", CRI_NUMBER_GARBAGE},
        {"1d5", CRI_NUMBER_GARBAGE},
        {"e5", CRI_NUMBER_GARBAGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double value = -7.0;
        assert_int_equal(parse(bad[i].text, &value), bad[i].kind);
        assert_true(value == -7.0);
    }
}

static void only_the_given_bytes_are_read(void **state) {
    (void)state;
    double value = 0.0;
    assert_int_equal(cri_number_parse("1.5,9", 3, &value), CRI_NUMBER_OK);
    assert_true(value == 1.5);
}

static void a_number_of_a_thousand_digits_is_refused(void **state) {
    (void)state;
    char text[1001];
    memset(text, '1', 1000);
    text[1000] = '\0';
    double value;
    assert_int_equal(parse(text, &value), CRI_NUMBER_GARBAGE);
}

static void the_decimal_point_does_not_follow_the_locale(void **state) {
    (void)state;
    static const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool has_locale = false;
    for (size_t i = 0; i < sizeof comma / sizeof comma[0] && !has_locale; i++) {
        has_locale = setlocale(LC_NUMERIC, comma[i]) != NULL;
    }
    if (!has_locale) {
        print_message("SKIP: no locale with a decimal comma is installed\n");
        skip();
    }
    double value = 0.0;
    cri_number_kind kind = parse("-12.5e1", &value);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(kind, CRI_NUMBER_OK);
    assert_true(value == -125.0);
}

static void every_kind_has_a_text(void **state) {
    (void)state;
    assert_string_equal(cri_number_text(CRI_NUMBER_OK), "is a number");
    assert_string_equal(cri_number_text(CRI_NUMBER_EMPTY), "is empty");
    assert_string_equal(cri_number_text(CRI_NUMBER_NAN), "is NaN");
    assert_string_equal(cri_number_text(CRI_NUMBER_INFINITE), "is infinite");
    assert_string_equal(cri_number_text(CRI_NUMBER_GARBAGE), "is not a number");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_to_the_last_bit),
        cmocka_unit_test(what_is_no_finite_decimal_is_refused),
        cmocka_unit_test(only_the_given_bytes_are_read),
        cmocka_unit_test(a_number_of_a_thousand_digits_is_refused),
        cmocka_unit_test(the_decimal_point_does_not_follow_the_locale),
        cmocka_unit_test(every_kind_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
