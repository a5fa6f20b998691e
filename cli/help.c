// SPDX-License-Identifier: MIT
//
// carom help: the commands that there are, and what each has to say.

#include "help.h"

#include "commands.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

const cli_command *const cli_commands[] = {
    &cli_simulate,    &cli_gradient, &cli_fit,    &cli_compare, &cli_plan,
    &cli_linearize,   &cli_bench,    &cli_learn,  &cli_shape,   &cli_experiment,
    &cli_experiments, &cli_examples, &cli_params, &cli_laws,    &cli_version,
    &cli_completion,  &cli_man,      &cli_help,   NULL,
};

const char cli_notes[] =
    "A file named - is standard input where it is read and standard output where it is written:\n"
    "'-o -' and '--json -' write there what else goes to a file, and leave the table out. Long\n"
    "work shows its progress on a terminal; Ctrl-C ends it with what it has, a second one at "
    "once.\n"
    "NO_COLOR leaves colours out. With --quiet there is the result and what makes it doubtful,\n"
    "nothing else.\n";

const char cli_exit_codes[] =
    "0 done, 1 a run failed, 2 wrong usage, 130 interrupted (143 by SIGTERM).\n";

const char cli_help_end[] =
    "  --quiet, -q           the result and what makes it doubtful; no progress, no notes\n"
    "  --help, -h            this text\n";

const cli_command *cli_command_find(const char *name) {
    cli_guess guess = {.word = name};
    for (int i = 0; cli_commands[i]; i++) {
        if (strcmp(cli_commands[i]->name, name) == 0) {
            return cli_commands[i];
        }
        cli_guess_try(&guess, cli_commands[i]->name);
    }
    char hint[80];
    cli_usage("unknown command %.60s%s", name,
              guess.best ? cli_guess_text(&guess, hint) : "; 'carom help' lists them");
    return NULL;
}

void cli_help_print(const cli_command *command) {
    printf("carom %s%s%s\n%s\n\n%s%s", command->name, *command->arguments ? " " : "",
           command->arguments, command->summary, command->help, cli_help_end);
}

bool cli_line_next(const char **at, cli_line *out) {
    const char *line = *at;
    if (!*line) {
        return false;
    }
    size_t n = strcspn(line, "\n"), indent = strspn(line, " ");
    *at = line + n + (line[n] == '\n');
    *out = (cli_line){.kind = CLI_LINE_EMPTY, .text = line + indent, .n_text = n - indent};
    if (indent == n) {
        return true;
    }
    // terms begin behind two spaces, and end before two
    out->kind = indent == 0 ? CLI_LINE_PROSE : indent == 2 ? CLI_LINE_TERM : CLI_LINE_MEANING;
    if (out->kind == CLI_LINE_TERM) {
        const char *gap = strstr(out->text, "  ");
        out->term = out->text;
        out->n_term = gap && gap < line + n ? (size_t)(gap - out->text) : out->n_text;
        out->text += out->n_term;
        out->text += strspn(out->text, " ");
        out->n_text = (size_t)(line + n - out->text);
    }
    return true;
}

// ---- command -----------------------------------------------------------------------------------

static int run(const cli_options *options) {
    if (options->n_word > 0) {
        const cli_command *command = cli_command_find(options->word[0]);
        if (command) {
            cli_help_print(command);
        }
        return command ? CLI_DONE : CLI_USAGE;
    }
    puts("carom: differentiable contact simulation\n");
    for (int i = 0; cli_commands[i]; i++) {
        const cli_command *c = cli_commands[i];
        printf("  carom %-11s  %s\n", c->name, c->summary);
    }
    printf("\n'carom help COMMAND' says more, 'carom COMMAND --help' the same.\n%sExit codes: %s",
           cli_notes, cli_exit_codes);
    return CLI_DONE;
}

const cli_command cli_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "the commands, or the options of one",
    .help = "",
    .takes = CLI_TAKES_COMMAND,
    .n_word_least = 0,
    .n_word_most = 1,
    .run = run,
};
