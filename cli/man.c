// SPDX-License-Identifier: MIT
//
// carom man: the manual in the language of man pages, made of the same texts as 'carom help'.
//
// A term of the help becomes .TP, prose a paragraph, prose of one line that ends with a colon .SS.

#include "commands.h"
#include "help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/// Text in which no character means anything to roff.
static void put(const char *text, size_t n) {
    if (n > 0 && (text[0] == '.' || text[0] == '\'')) {
        fputs("\\&", stdout);
    }
    for (size_t i = 0; i < n; i++) {
        const char *escape = text[i] == '\\'   ? "\\e"
                             : text[i] == '-'  ? "\\-"
                             : text[i] == '\'' ? "\\(aq"
                             : text[i] == '^'  ? "\\(ha"
                             : text[i] == '~'  ? "\\(ti"
                                               : NULL;
        if (escape) {
            fputs(escape, stdout);
        } else {
            putchar(text[i]);
        }
    }
}

static void put_line(const char *text) {
    put(text, strlen(text));
    putchar('\n');
}

/// A term in bold, behind .TP.
static void put_term(const char *text, size_t n) {
    fputs("\\fB", stdout);
    put(text, n);
    fputs("\\fR\n", stdout);
}

static void put_head(const char *name, const char *summary) {
    fputs(".TH ", stdout);
    for (const char *c = name; *c; c++) {
        putchar(toupper((unsigned char)*c));
    }
    fputs(" 1 \"\" \"carom " CR_VERSION "\" \"Carom\"\n.SH NAME\n", stdout);
    put_line(name);
    fputs("\\- ", stdout);
    put_line(summary);
}

static void put_end(bool is_whole) {
    printf(".SH EXIT STATUS\n%s.SH SEE ALSO\n", cli_exit_codes);
    if (!is_whole) {
        puts(".BR carom (1)");
        return;
    }
    for (int i = 0; cli_commands[i]; i++) {
        printf(".BR carom\\-%s (1)%s\n", cli_commands[i]->name, cli_commands[i + 1] ? "," : "");
    }
}

/// Where a page is while its lines are written.
typedef struct page {
    bool has_options;  // .SH OPTIONS stands there
    bool is_begun;     // of a paragraph
    bool is_term_bare; // the last term has no meaning yet
} page;

static void put_text_line(page *p, const cli_line *line, bool is_alone) {
    if (is_alone && line->n_text > 0 && line->text[line->n_text - 1] == ':') {
        fputs(".SS ", stdout);
        put(line->text, line->n_text - 1);
        putchar('\n');
        return;
    }
    if (!p->is_begun) {
        puts(".PP");
    }
    p->is_begun = true;
    put(line->text, line->n_text);
    putchar('\n');
}

static void put_term_line(page *p, const cli_line *line) {
    if (!p->has_options) {
        puts(line->term[0] == '-' ? ".SH OPTIONS" : ".SH COMMANDS");
        p->has_options = line->term[0] == '-';
    }
    puts(p->is_term_bare ? ".TQ" : ".TP");
    put_term(line->term, line->n_term);
    p->is_term_bare = line->n_text == 0;
    p->is_begun = false;
    if (line->n_text > 0) {
        put(line->text, line->n_text);
        putchar('\n');
    }
}

static void put_help(page *p, const char *help) {
    cli_line line, next;
    bool was_empty = true;
    for (const char *at = help; cli_line_next(&at, &line);) {
        const char *ahead = at;
        bool is_alone = was_empty && (!cli_line_next(&ahead, &next) || next.kind != CLI_LINE_PROSE);
        was_empty = line.kind == CLI_LINE_EMPTY;
        switch (line.kind) {
        case CLI_LINE_EMPTY:
            p->is_begun = false;
            break;
        case CLI_LINE_PROSE:
            put_text_line(p, &line, is_alone);
            break;
        case CLI_LINE_TERM:
            put_term_line(p, &line);
            break;
        case CLI_LINE_MEANING:
            put(line.text, line.n_text);
            putchar('\n');
            p->is_term_bare = false;
            break;
        }
    }
}

/// The usage of a command, a line for each of its forms.
static void put_synopsis(const cli_command *c) {
    puts(".SH SYNOPSIS");
    for (const char *at = c->arguments;;) {
        const char *bar = strstr(at, " | ");
        printf("\\fBcarom %s\\fR%s", c->name, *at ? " " : "");
        put(at, bar ? (size_t)(bar - at) : strlen(at));
        putchar('\n');
        if (!bar) {
            break;
        }
        puts(".br");
        at = bar + 3;
    }
}

static void put_command(const cli_command *c) {
    char name[40];
    (void)snprintf(name, sizeof name, "carom-%s", c->name);
    put_head(name, c->summary);
    put_synopsis(c);
    puts(".SH DESCRIPTION");
    page p = {.is_begun = true};
    // prose says what the command does; a help without says no more than its summary
    if (c->help[0] == ' ' || c->help[0] == '\0') {
        printf("%c%s.\n", toupper((unsigned char)c->summary[0]), c->summary + 1);
    }
    put_help(&p, c->help);
    put_help(&p, cli_help_end);
    put_end(false);
}

static void put_overview(void) {
    put_head("carom", "differentiable contact simulation");
    puts(".SH SYNOPSIS\n\\fBcarom\\fR COMMAND [ARGUMENT]... [OPTION]...\n.SH DESCRIPTION");
    page p = {.is_begun = true};
    put_help(&p, cli_notes);
    puts(".SH COMMANDS");
    for (int i = 0; cli_commands[i]; i++) {
        const cli_command *c = cli_commands[i];
        puts(".TP");
        char usage[200];
        (void)snprintf(usage, sizeof usage, "carom %s%s%s", c->name, *c->arguments ? " " : "",
                       c->arguments);
        put_term(usage, strlen(usage));
        put_line(c->summary);
    }
    put_end(true);
}

static int run(const cli_options *options) {
    if (options->n_word == 0) {
        put_overview();
        return CLI_DONE;
    }
    const cli_command *command = cli_command_find(options->word[0]);
    if (command) {
        put_command(command);
    }
    return command ? CLI_DONE : CLI_USAGE;
}

const cli_command cli_man = {
    .name = "man",
    .arguments = "[COMMAND]",
    .summary = "the manual as a man page",
    .help =
        "The page of carom, or of one of its commands, for man: 'carom man fit | man -l -'.\n\n",
    .takes = CLI_TAKES_COMMAND,
    .n_word_least = 0,
    .n_word_most = 1,
    .run = run,
};
