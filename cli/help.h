// SPDX-License-Identifier: MIT
//
// The text of a command's help, taken apart: 'carom man' and 'carom completion' are made of it.
//
//     prose, from the first column on
//       --name VALUE        two spaces, a term, two spaces or more, what it means
//                           more of what it means, far to the right

#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum cli_line_kind {
    CLI_LINE_EMPTY,
    CLI_LINE_PROSE,
    CLI_LINE_TERM,
    CLI_LINE_MEANING,
} cli_line_kind;

/// One line. Texts belong to the help and do not end with it.
typedef struct cli_line {
    cli_line_kind kind;
    const char *term;
    size_t n_term;
    const char *text; // prose, or what the term means
    size_t n_text;
} cli_line;

/// Takes the line at *at apart and moves on to the next one. False at the end.
bool cli_line_next(const char **at, cli_line *out);
