// SPDX-License-Identifier: MIT
//
// Text for the terminal's width.

#include "text.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 100 };

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
