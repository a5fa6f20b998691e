// SPDX-License-Identifier: MIT
//
// Decimal numbers from text, the same in every locale.

#pragma once

#include <stdbool.h>
#include <stddef.h>

/// What a piece of text turned out to be.
typedef enum cri_number_kind {
    CRI_NUMBER_OK,
    CRI_NUMBER_EMPTY,
    CRI_NUMBER_NAN,      // some spelling of not-a-number
    CRI_NUMBER_INFINITE, // some spelling of infinity, or too large for a double
    CRI_NUMBER_GARBAGE,  // anything else
} cri_number_kind;

/// Reads all n_byte bytes of text as one decimal number: sign, digits with an optional point,
/// optional exponent. No spaces, no hexadecimal. *value is set on CRI_NUMBER_OK only, then it is
/// finite.
cri_number_kind cri_number_parse(const char *text, size_t n_byte, double *value);

/// What is wrong, for a message: "is not a number", "is NaN", "is infinite", "is empty".
const char *cri_number_text(cri_number_kind kind);

/// True for the white space that separates numbers: space, tab, line ends.
bool cri_number_is_space(char c);
