// SPDX-License-Identifier: MIT
//
// Text for the terminal: paragraphs, lists in options, words that were meant, numbers in columns.

#pragma once

#include "base/arena.h"

/// Prints text as a paragraph of at most 100 columns, every line indented so far.
void cli_print_paragraph(int indent, const char *text);

/// What a mistyped word may have been. Begin with the word alone.
typedef struct cli_guess {
    const char *word;
    const char *best; // the nearest so far, NULL: none is near
    int least;        // edits between them
    bool is_exact;    // the word itself is there
} cli_guess;

/// Tries a word that is there, or all words of a list with spaces between, whose best one is kept
/// with the guess up to its space.
void cli_guess_try(cli_guess *guess, const char *candidate);
void cli_guess_list(cli_guess *guess, const char *list);

/// "; did you mean WORD?", or nothing, in text, which is returned.
const char *cli_guess_text(const cli_guess *guess, char text[80]);

/// What a column of a table shows of value where largest is the largest magnitude in it: 0 for what
/// is below 1e-14 of it, which is rounding. Files keep every number.
double cli_shown(double value, double largest);

/// The largest finite magnitude of n numbers, each n_byte behind the last: a member of structs; 0
/// when there is none.
double cli_largest(int n, const double *value, size_t n_byte);

/// Splits text at commas into at most most names on the arena. Returns how many, -1 after a line on
/// stderr.
int cli_split_names(cr_arena *arena, const char *option, const char *text, const char **out,
                    int most);
