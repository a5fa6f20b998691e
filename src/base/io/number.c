// SPDX-License-Identifier: MIT
//
// Decimal numbers from text, the same in every locale.
//
// The grammar is checked here, and strtod only converts: it rounds correctly, but reads the decimal
// point of the current locale, which belongs to the application. The point is therefore replaced by
// the locale's own before the call.

#include "base/io/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// longest number read; 17 digits say all that a double holds
#define DIGITS_LIMIT 400

// longest decimal point of a locale, bytes
#define POINT_LIMIT 8

bool cri_number_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t skip_digits(const char *text, size_t n, size_t i) {
    while (i < n && is_digit(text[i])) {
        i++;
    }
    return i;
}

// true when all of text is a number; *point is the place of its point, n when it has none
static bool match_grammar(const char *text, size_t n, size_t *point) {
    size_t i = text[0] == '+' || text[0] == '-' ? 1 : 0;
    size_t whole = i;
    i = skip_digits(text, n, i);
    size_t n_digit = i - whole;
    *point = n;
    if (i < n && text[i] == '.') {
        *point = i;
        size_t fraction = i + 1;
        i = skip_digits(text, n, fraction);
        n_digit += i - fraction;
    }
    if (n_digit == 0) {
        return false;
    }
    if (i < n && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        if (i < n && (text[i] == '+' || text[i] == '-')) {
            i++;
        }
        size_t exponent = i;
        i = skip_digits(text, n, exponent);
        if (i == exponent) {
            return false;
        }
    }
    return i == n;
}

// true when text, after its sign, is word in any case
static bool match_word(const char *text, size_t n, const char *word) {
    if (n > 0 && (text[0] == '+' || text[0] == '-')) {
        text++;
        n--;
    }
    if (n != strlen(word)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        char lower = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
        if (lower != word[i]) {
            return false;
        }
    }
    return true;
}

cri_number_kind cri_number_parse(const char *text, size_t n_byte, double *value) {
    if (n_byte == 0) {
        return CRI_NUMBER_EMPTY;
    }
    if (match_word(text, n_byte, "nan")) {
        return CRI_NUMBER_NAN;
    }
    if (match_word(text, n_byte, "inf") || match_word(text, n_byte, "infinity")) {
        return CRI_NUMBER_INFINITE;
    }
    size_t point = n_byte;
    if (n_byte > DIGITS_LIMIT || !match_grammar(text, n_byte, &point)) {
        return CRI_NUMBER_GARBAGE;
    }

    // the same digits around the point that strtod expects
    const char *mark = localeconv()->decimal_point;
    size_t n_mark = strlen(mark);
    if (n_mark == 0 || n_mark > POINT_LIMIT) {
        mark = ".";
        n_mark = 1;
    }
    char copy[DIGITS_LIMIT + POINT_LIMIT + 1];
    memcpy(copy, text, point);
    size_t n = point;
    if (point < n_byte) {
        memcpy(copy + n, mark, n_mark);
        n += n_mark;
        memcpy(copy + n, text + point + 1, n_byte - point - 1);
        n += n_byte - point - 1;
    }
    copy[n] = '\0';

    char *end = NULL;
    double result = strtod(copy, &end);
    if (end != copy + n) {
        return CRI_NUMBER_GARBAGE;
    }
    if (!isfinite(result)) {
        return CRI_NUMBER_INFINITE;
    }
    *value = result;
    return CRI_NUMBER_OK;
}

const char *cri_number_text(cri_number_kind kind) {
    switch (kind) {
    case CRI_NUMBER_OK:
        return "is a number";
    case CRI_NUMBER_EMPTY:
        return "is empty";
    case CRI_NUMBER_NAN:
        return "is NaN";
    case CRI_NUMBER_INFINITE:
        return "is infinite";
    case CRI_NUMBER_GARBAGE:
        return "is not a number";
    }
    return "is not a number";
}
