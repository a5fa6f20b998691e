// SPDX-License-Identifier: MIT
//
// Text for the terminal: paragraphs, lists in options, words that were meant, numbers in columns.
//
// A word was meant when few edits lead to it (cri_text_slack), or when it begins as typed.

#include "text.h"

#include "base/base.h"
#include "options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 100 };

// letters that tell a beginning from a coincidence
enum { BEGIN_LEAST = 3 };

// a sum of terms of size 1 is rounded by some 1e-16 each; a hundred of them leave this
#define COLUMN_ROUNDING 1e-14

void cli_print_paragraph(int indent, const char *text) {
    while (*text) {
        size_t all = strlen(text), room = (size_t)(COLUMNS - indent), n = all < room ? all : room;
        while (n < all && n > 0 && text[n] != ' ') {
            n--;
        }
        n = n > 0 ? n : all; // one long word
        printf("%*s%.*s\n", indent, "", (int)n, text);
        text += n + strspn(text + n, " ");
    }
}

int cli_split_names(cr_arena *arena, const char *option, const char *text, const char **out,
                    int most) {
    int n = 0;
    char *copy = cri_arena_push_text(arena, text);
    for (char *at = copy; at; n++) {
        char *comma = strchr(at, ',');
        if (comma) {
            *comma++ = '\0';
        }
        if (n == most || *at == '\0') {
            cli_usage("%s %.60s: expected 1 to %d columns with commas between", option, text, most);
            return -1;
        }
        out[n] = at;
        at = comma;
    }
    return n;
}

// ---- words that were meant ---------------------------------------------------------------------

static void guess_span(cli_guess *guess, const char *at, size_t n) {
    char candidate[64];
    snprintf(candidate, sizeof candidate, "%.*s", (int)n, at);
    size_t length = strlen(guess->word);
    int distance = cri_text_distance(guess->word, candidate), slack = cri_text_slack(length);
    bool is_begin = length >= BEGIN_LEAST && strncmp(candidate, guess->word, length) == 0;
    distance = is_begin && distance > slack ? slack : distance;
    // the dashes of an option are no beginning
    bool is_near = distance <= slack && length > strspn(guess->word, "-");
    guess->is_exact = guess->is_exact || distance == 0;
    if (is_near && (!guess->best || distance < guess->least)) {
        guess->best = at;
        guess->least = distance;
    }
}

void cli_guess_try(cli_guess *guess, const char *candidate) {
    guess_span(guess, candidate, strlen(candidate));
}

void cli_guess_list(cli_guess *guess, const char *list) {
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        guess_span(guess, at, n);
        at += n;
    }
}

const char *cli_guess_text(const cli_guess *guess, char text[80]) {
    text[0] = '\0';
    if (guess->best) {
        snprintf(text, 80, "; did you mean %.*s?", (int)strcspn(guess->best, " "), guess->best);
    }
    return text;
}

// ---- columns -----------------------------------------------------------------------------------

double cli_shown(double value, double largest) {
    return fabs(value) < COLUMN_ROUNDING * largest ? 0.0 : value;
}

double cli_largest(int n, const double *value, size_t n_byte) {
    double largest = 0.0;
    for (int i = 0; i < n; i++) {
        double size = fabs(*(const double *)((const char *)value + (size_t)i * n_byte));
        largest = isfinite(size) && size > largest ? size : largest;
    }
    return largest;
}
