// SPDX-License-Identifier: MIT
//
// Text for the terminal's width.

#pragma once

#include "base/arena.h"

/// Prints text as a paragraph of at most 100 columns, every line indented so far.
void cli_print_paragraph(int indent, const char *text);

/// Splits text at commas into at most most names on the arena. Returns how many, -1 after a line on
/// stderr.
int cli_split_names(cr_arena *arena, const char *option, const char *text, const char **out,
                    int most);
