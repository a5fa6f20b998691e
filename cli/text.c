// SPDX-License-Identifier: MIT
//
// Text for the terminal's width, and lists in options.

#include "text.h"

#include "options.h"

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
