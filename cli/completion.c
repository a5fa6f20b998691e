// SPDX-License-Identifier: MIT
//
// carom completion: scripts that complete commands, options and their values in a shell. They are
// made of the table of options that the parser reads, and of the help, so that they cannot differ.

#include "commands.h"
#include "help.h"

#include "../experiments/experiment.h"

#include <stdio.h>
#include <string.h>

// ---- what is completed -------------------------------------------------------------------------

/// Names of files, or whatever a person types; else words.
typedef enum values {
    VALUES_WORDS,
    VALUES_FILES,
    VALUES_OPEN,
} values;

static values kind_of(cli_takes takes, const char *words) {
    switch (takes) {
    case CLI_TAKES_INPUT:
    case CLI_TAKES_STREAM:
    case CLI_TAKES_FILE:
    case CLI_TAKES_FOLDER:
        return VALUES_FILES;
    case CLI_TAKES_LAW:
    case CLI_TAKES_STEPPER:
    case CLI_TAKES_EXPERIMENT:
    case CLI_TAKES_COMMAND:
        return VALUES_WORDS;
    case CLI_TAKES_NOTHING:
    case CLI_TAKES_VALUE:
        break;
    }
    return words ? VALUES_WORDS : VALUES_OPEN;
}

/// Prints the words that something may be, with spaces between.
static void put_words(cli_takes takes, const char *words) {
    if (takes == CLI_TAKES_LAW) {
        for (int i = 0; cli_law_name(i); i++) {
            printf("%s%s", i > 0 ? " " : "", cli_law_name(i));
        }
    } else if (takes == CLI_TAKES_STEPPER) {
        for (int i = 0; cli_stepper_name(i); i++) {
            printf("%s%s", i > 0 ? " " : "", cli_stepper_name(i));
        }
    } else if (takes == CLI_TAKES_EXPERIMENT) {
        for (int i = 0; cri_experiments[i]; i++) {
            printf("%s%s", i > 0 ? " " : "", cri_experiments[i]->name);
        }
    } else if (takes == CLI_TAKES_COMMAND) {
        for (int i = 0; cli_commands[i]; i++) {
            printf("%s%s", i > 0 ? " " : "", cli_commands[i]->name);
        }
    } else {
        fputs(words ? words : "", stdout);
    }
}

/// Is there a term for the option among those of a line, such as "--rate R, --l2 L"?
static bool names(const cli_line *line, const char *name) {
    size_t n = strlen(name);
    for (const char *at = line->term; at < line->term + line->n_term; at++) {
        bool is_begin = at == line->term || at[-1] == ' ';
        if (is_begin && strncmp(at, name, n) == 0 && strchr(" ,=\n", at[n])) {
            return true;
        }
    }
    return false;
}

/// A clause ends here.
static bool is_break(const char *text) {
    return text[0] == ';' || (text[0] == ':' && strchr(" \n", text[1]));
}

/// What the help says of an option, up to its first break, without what shells would read.
static void put_meaning(const cli_command *command, const cli_option *option) {
    cli_line line;
    const char *at = command->help, *end = cli_help_end;
    while (cli_line_next(&at, &line) || cli_line_next(&end, &line)) {
        bool is_it =
            line.kind == CLI_LINE_TERM && line.n_text > 0 &&
            (names(&line, option->name) || (option->letter && names(&line, option->letter)));
        for (size_t i = 0; is_it && i < line.n_text && !is_break(line.text + i); i++) {
            putchar(strchr("'\"\\[]$`", line.text[i]) ? ' ' : line.text[i]);
        }
        if (is_it) {
            return;
        }
    }
    fputs(option->name + 2, stdout);
}

static bool is_shown(const cli_option *option, const cli_command *command) {
    return cli_option_fits(option, command) && !option->is_hidden;
}

// ---- bash --------------------------------------------------------------------------------------

static void bash_option(const cli_option *o) {
    values kind = kind_of(o->takes, o->words);
    printf("        %s%s%s) ", o->name, o->letter ? "|" : "", o->letter ? o->letter : "");
    if (kind == VALUES_WORDS) {
        fputs("words='", stdout);
        put_words(o->takes, o->words);
        puts("' kind=words ;;");
    } else {
        puts(kind == VALUES_FILES ? "kind=files ;;" : "kind=open ;;");
    }
}

static void bash_command(const cli_command *c) {
    printf("    %s)\n        options='", c->name);
    for (const cli_option *o = cli_option_table; o->name; o++) {
        if (is_shown(o, c)) {
            printf("%s%s%s ", o->name, o->letter ? " " : "", o->letter ? o->letter : "");
        }
    }
    fputs("'\n        first='", stdout);
    put_words(c->takes, c->words);
    printf("'\n        rest=%s\n        case $prev in\n",
           c->takes == CLI_TAKES_INPUT ? "files" : "open");
    for (const cli_option *o = cli_option_table; o->name; o++) {
        if (is_shown(o, c) && o->kind != CLI_FLAG) {
            bash_option(o);
        }
    }
    puts("        esac\n        ;;");
}

static void put_bash(void) {
    puts("# carom completion bash: source <(carom completion bash)\n"
         "_carom() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local options='' first='' rest=open words='' kind='' line\n"
         "    # --name=value comes as three words\n"
         "    if [[ $cur == '=' ]]; then\n"
         "        cur=''\n"
         "    elif [[ $prev == '=' ]]; then\n"
         "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
         "    fi\n"
         "    COMPREPLY=()\n"
         "    case ${COMP_WORDS[1]} in");
    for (int i = 0; cli_commands[i]; i++) {
        bash_command(cli_commands[i]);
    }
    fputs("    esac\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        kind=words words='",
          stdout);
    put_words(CLI_TAKES_COMMAND, NULL);
    puts(" --help --version'\n"
         "    elif [[ -z $kind && $cur == -* ]]; then\n"
         "        kind=words words=$options\n"
         "    elif [[ -z $kind ]]; then\n"
         "        kind=$rest\n"
         "        if ((COMP_CWORD == 2)) && [[ -n $first ]]; then\n"
         "            kind=words words=$first\n"
         "        fi\n"
         "    fi\n"
         "    if [[ $kind == files ]]; then\n"
         "        compopt -o filenames 2>/dev/null\n"
         "        while IFS= read -r line; do COMPREPLY+=(\"$line\"); done"
         " < <(compgen -f -- \"$cur\")\n"
         "    elif [[ $kind == words ]]; then\n"
         "        while IFS= read -r line; do COMPREPLY+=(\"$line\"); done"
         " < <(compgen -W \"$words\" -- \"$cur\")\n"
         "    fi\n"
         "}\n"
         "complete -F _carom carom");
}

// ---- zsh ---------------------------------------------------------------------------------------

static void zsh_values(cli_takes takes, const char *words) {
    switch (kind_of(takes, words)) {
    case VALUES_WORDS:
        fputs("(", stdout);
        put_words(takes, words);
        fputs(")", stdout);
        break;
    case VALUES_FILES:
        fputs("_files", stdout);
        break;
    case VALUES_OPEN:
        break;
    }
}

static void zsh_option(const cli_command *c, const cli_option *o, const char *name) {
    // a long name may have its value behind an equals sign; all but flags may come again
    bool has_value = o->kind != CLI_FLAG;
    printf(" \\\n            '%s%s%s[", o->kind == CLI_TEXTS ? "*" : "", name,
           has_value && name[1] == '-' ? "=" : "");
    put_meaning(c, o);
    fputs("]", stdout);
    if (has_value) {
        printf(":%s:", o->name + 2);
        zsh_values(o->takes, o->words);
    }
    putchar('\'');
}

static void zsh_command(const cli_command *c) {
    printf("    %s)\n        _arguments -s", c->name);
    for (const cli_option *o = cli_option_table; o->name; o++) {
        if (is_shown(o, c)) {
            zsh_option(c, o, o->name);
        }
        if (is_shown(o, c) && o->letter) {
            zsh_option(c, o, o->letter);
        }
    }
    if (c->words || (c->n_word_most > 0 && c->takes != CLI_TAKES_INPUT)) {
        fputs(" \\\n            '1:word:", stdout);
        zsh_values(c->words ? CLI_TAKES_VALUE : c->takes, c->words);
        putchar('\'');
    }
    if (c->takes == CLI_TAKES_INPUT) {
        fputs(" \\\n            '*:file:_files'", stdout);
    }
    puts("\n        ;;");
}

static void put_zsh(void) {
    puts("#compdef carom\n"
         "# carom completion zsh: source <(carom completion zsh), or as _carom in $fpath\n"
         "_carom() {\n"
         "    local -a commands\n"
         "    commands=(");
    for (int i = 0; cli_commands[i]; i++) {
        printf("        '%s:%s'\n", cli_commands[i]->name, cli_commands[i]->summary);
    }
    puts("    )\n"
         "    if ((CURRENT == 2)); then\n"
         "        _describe -t commands command commands\n"
         "        return\n"
         "    fi\n"
         "    local name=$words[2]\n"
         "    shift words\n"
         "    ((CURRENT--))\n"
         "    case $name in");
    for (int i = 0; cli_commands[i]; i++) {
        zsh_command(cli_commands[i]);
    }
    puts("    esac\n"
         "}\n"
         "if [[ $funcstack[1] == _carom ]]; then\n"
         "    _carom \"$@\"\n"
         "elif (($+functions[compdef])); then\n"
         "    compdef _carom carom\n"
         "fi");
}

// ---- fish --------------------------------------------------------------------------------------

static void fish_option(const cli_command *c, const cli_option *o) {
    printf("complete -c carom -n '__carom_is %s' -l %s", c->name, o->name + 2);
    if (o->letter) {
        printf(" -s %s", o->letter + 1);
    }
    if (o->kind != CLI_FLAG) {
        values kind = kind_of(o->takes, o->words);
        fputs(kind == VALUES_FILES ? " -rF" : " -x", stdout);
        if (kind == VALUES_WORDS) {
            fputs(" -a '", stdout);
            put_words(o->takes, o->words);
            putchar('\'');
        }
    }
    fputs(" -d '", stdout);
    put_meaning(c, o);
    puts("'");
}

static void put_fish(void) {
    puts("# carom completion fish: carom completion fish | source\n"
         "function __carom_is\n"
         "    set -l words (commandline -opc)\n"
         "    test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
         "end\n"
         "function __carom_begins\n"
         "    test (count (commandline -opc)) -eq $argv[1]\n"
         "end\n"
         "complete -c carom -f\n"
         "complete -c carom -n '__carom_begins 1' -l help -l version");
    for (int i = 0; cli_commands[i]; i++) {
        const cli_command *c = cli_commands[i];
        printf("complete -c carom -n '__carom_begins 1' -a %s -d '%s'\n", c->name, c->summary);
        if (c->takes == CLI_TAKES_INPUT) {
            printf("complete -c carom -n '__carom_is %s' -F\n", c->name);
        }
        if (c->words || (c->takes != CLI_TAKES_INPUT && c->n_word_most > 0)) {
            printf("complete -c carom -n '__carom_is %s; and __carom_begins 2' -f -a '", c->name);
            put_words(c->words ? CLI_TAKES_VALUE : c->takes, c->words);
            puts("'");
        }
        for (const cli_option *o = cli_option_table; o->name; o++) {
            if (is_shown(o, c)) {
                fish_option(c, o);
            }
        }
    }
}

// ---- command -----------------------------------------------------------------------------------

static int run(const cli_options *options) {
    const char *shell = options->word[0];
    if (strcmp(shell, "bash") == 0) {
        put_bash();
    } else if (strcmp(shell, "zsh") == 0) {
        put_zsh();
    } else {
        put_fish();
    }
    return CLI_DONE;
}

const cli_command cli_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "a script that completes carom in a shell",
    .help = "In bash and zsh, source <(carom completion bash); in fish, carom completion fish |\n"
            "source. With that line in .bashrc, .zshrc or config.fish it lasts.\n\n",
    .takes = CLI_TAKES_VALUE,
    .words = "bash zsh fish",
    .n_word_least = 1,
    .n_word_most = 1,
    .run = run,
};
