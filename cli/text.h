// SPDX-License-Identifier: MIT
//
// Text for the terminal's width.

#pragma once

/// Prints text as a paragraph of at most 100 columns, every line indented so far.
void cli_print_paragraph(int indent, const char *text);
