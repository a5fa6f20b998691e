// SPDX-License-Identifier: MIT
//
// Options of the commands. --name VALUE and --name=VALUE mean the same; -- ends the options.

#include "options.h"

#include "base/base.h"
#include "base/io/number.h"
#include "commands.h"
#include "terminal.h"
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// the file that every line is about, NULL: none
static const char *about;

void cli_say_about(const char *file) {
    about = file;
}

static void say(const char *format, va_list args) {
    cli_terminal_clear();
    fprintf(stderr, "carom: %s%s", about ? about : "", about ? ": " : "");
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int cli_failed(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return CLI_FAILED;
}

int cli_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return CLI_USAGE;
}

void cli_say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

int cli_warn(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return CLI_DONE;
}

int cli_note(const cli_options *options, const char *format, ...) {
    if (!options->use_quiet) {
        va_list args;
        va_start(args, format);
        say(format, args);
        va_end(args);
    }
    return CLI_DONE;
}

// ---- values ------------------------------------------------------------------------------------

int cli_put_whole(const char *name, const char *value, double least, double most, double *n) {
    bool is_number = cri_number_parse(value, strlen(value), n) == CRI_NUMBER_OK;
    if (!is_number || *n < least || *n > most || *n != floor(*n)) {
        return cli_usage("%s %.40s: expected a whole number from %.0f to %.0f", name, value, least,
                         most);
    }
    return CLI_DONE;
}

static int put_real(const cli_option *option, const char *value, double *out) {
    bool is_number = cri_number_parse(value, strlen(value), out) == CRI_NUMBER_OK;
    bool is_length = option->kind == CLI_LENGTH;
    if (!is_number || !(*out >= 0.0) || (is_length && *out == 0.0)) {
        return cli_usage("%s %.40s: expected a number %s", option->name, value,
                         is_length ? "above 0" : "from 0 on");
    }
    return CLI_DONE;
}

static int put_texts(const cli_option *option, const char *value, cli_options *out) {
    const char **text = (const char **)((char *)out + option->at);
    int *n = (int *)((char *)out + option->n_at);
    if (*n == CLI_REPEAT_LIMIT) {
        return cli_usage("%s comes more than %d times", option->name, CLI_REPEAT_LIMIT);
    }
    text[(*n)++] = value;
    return CLI_DONE;
}

bool cli_is_among(const char *word, const char *list) {
    size_t n = strlen(word);
    for (const char *at = list; n > 0 && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        if (strcspn(at, " ") == n && strncmp(at, word, n) == 0) {
            return true;
        }
    }
    return false;
}

/// "a, b or c" of a list with spaces between.
static void join_words(const char *list, char text[120]) {
    size_t n = 0;
    for (const char *at = list; *at && n < 120; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        const char *between = n == 0 ? "" : strchr(at, ' ') ? ", " : " or ";
        n += (size_t)snprintf(text + n, 120 - n, "%s%.*s", between, (int)length, at);
        at += length;
    }
}

/// Refuses a value that is none of those that there are, as far as the table knows them.
static int check_value(const cli_option *option, const char *value) {
    cli_guess guess = {.word = value};
    char there[160] = "";
    if (option->takes == CLI_TAKES_LAW) {
        for (int i = 0; cli_law_name(i); i++) {
            cli_guess_try(&guess, cli_law_name(i));
        }
        snprintf(there, sizeof there, "unknown contact law; 'carom laws' lists them");
    } else if (option->takes == CLI_TAKES_STEPPER) {
        size_t n = (size_t)snprintf(there, sizeof there, "unknown stepper; there are");
        for (int i = 0; cli_stepper_name(i) && n < sizeof there; i++) {
            cli_guess_try(&guess, cli_stepper_name(i));
            n += (size_t)snprintf(there + n, sizeof there - n, "%s %s", i > 0 ? "," : "",
                                  cli_stepper_name(i));
        }
    } else if (option->kind == CLI_WORD) {
        char words[120];
        cli_guess_list(&guess, option->words);
        join_words(option->words, words);
        snprintf(there, sizeof there, "expected %s", words);
    }
    if (!*there || guess.is_exact) {
        return CLI_DONE;
    }
    char hint[80];
    return cli_usage("%s %.40s: %s%s", option->name, value, there, cli_guess_text(&guess, hint));
}

static int put_value(const cli_option *option, const char *value, cli_options *out) {
    void *to = (char *)out + option->at;
    double n = 0.0;
    int code = check_value(option, value);
    if (code != CLI_DONE) {
        return code;
    }
    switch (option->kind) {
    case CLI_FLAG:
        break;
    case CLI_TEXT:
    case CLI_WORD:
        if (*(const char **)to) {
            return cli_usage("%s comes twice", option->name);
        }
        *(const char **)to = value;
        break;
    case CLI_TEXTS:
        return put_texts(option, value, out);
    case CLI_COUNT:
        code = cli_put_whole(option->name, value, option->least, option->most, &n);
        *(int *)to = code == CLI_DONE ? (int)n : 0;
        break;
    case CLI_SEED:
        code = cli_put_whole(option->name, value, option->least, option->most, &n);
        *(uint64_t *)to = code == CLI_DONE ? (uint64_t)n : 0;
        break;
    case CLI_LENGTH:
    case CLI_AMOUNT:
        return put_real(option, value, to);
    }
    return code;
}

// ---- names -------------------------------------------------------------------------------------

bool cli_option_fits(const cli_option *option, const cli_command *command) {
    return !option->known || (option->known & command->known);
}

static bool is_named(const cli_option *option, const char *name) {
    return strcmp(option->name, name) == 0 || (option->letter && strcmp(option->letter, name) == 0);
}

static const cli_option *find_option(const cli_command *command, const char *name) {
    for (const cli_option *o = cli_option_table; o->name; o++) {
        if (is_named(o, name) && cli_option_fits(o, command)) {
            return o;
        }
    }
    return NULL;
}

/// Says which commands have an option that this one has not, or what it may have been.
static int refuse_option(const cli_command *command, const char *name) {
    char owners[120] = "", hint[80];
    size_t n = 0;
    cli_guess guess = {.word = name};
    for (const cli_option *o = cli_option_table; o->name; o++) {
        if (cli_option_fits(o, command) && !o->is_hidden) {
            cli_guess_try(&guess, o->name);
        }
    }
    for (int i = 0; cli_commands[i]; i++) {
        const cli_option *o = find_option(cli_commands[i], name);
        if (o && !o->is_hidden && n < sizeof owners) {
            n += (size_t)snprintf(owners + n, sizeof owners - n, "%s%s", n > 0 ? ", " : "",
                                  cli_commands[i]->name);
        }
    }
    if (n > 0) {
        return cli_usage("unknown option %.60s of %s; it belongs to %s", name, command->name,
                         owners);
    }
    if (guess.best) {
        return cli_usage("unknown option %.60s%s", name, cli_guess_text(&guess, hint));
    }
    return cli_usage("unknown option %.60s; see 'carom help %s'", name, command->name);
}

/// Takes the option at arg[*i] and moves on past its value.
static int take_option(const cli_command *command, int n_arg, char **arg, int *i,
                       cli_options *out) {
    const char *text = arg[*i];
    size_t n = strcspn(text, "=");
    bool has_equals = text[n] == '=';
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    const cli_option *option = find_option(command, name);
    if (!option) {
        return refuse_option(command, name);
    }
    if (option->kind == CLI_FLAG) {
        *(bool *)((char *)out + option->at) = true;
        return has_equals ? cli_usage("%.60s: %s has no value", text, name) : CLI_DONE;
    }
    const char *value = has_equals ? text + n + 1 : *i + 1 < n_arg ? arg[*i + 1] : NULL;
    if (!value || !*value) {
        return cli_usage("%s needs a value; see 'carom help %s'", name, command->name);
    }
    if (strncmp(value, "--", 2) == 0) {
        return cli_usage("%s needs a value, not the option %.40s; see 'carom help %s'", name, value,
                         command->name);
    }
    *i += has_equals ? 0 : 1;
    return put_value(option, value, out);
}

const char *cli_extension(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? dot : NULL;
}

static int check_report(const cli_options *out) {
    const char *extension = out->report ? cli_extension(out->report) : NULL;
    if (extension && strcmp(extension, ".html") != 0 && strcmp(extension, ".htm") != 0) {
        return cli_usage("--report %.80s: a report is HTML, its name should end in .html",
                         out->report);
    }
    return CLI_DONE;
}

static int check_words(const cli_command *command, const cli_options *out) {
    if (out->n_word < command->n_word_least || out->n_word > command->n_word_most) {
        bool is_few = out->n_word < command->n_word_least;
        return cli_usage("%s; usage: carom %s %s",
                         is_few ? "missing argument" : "too many arguments", command->name,
                         command->arguments);
    }
    // what a benchmark starts itself with has words of its own
    const char *word = out->n_word > 0 && !out->work ? out->word[0] : NULL;
    if (command->words && word && !cli_is_among(word, command->words)) {
        char words[120], hint[80];
        cli_guess guess = {.word = word};
        cli_guess_list(&guess, command->words);
        join_words(command->words, words);
        return cli_usage("%s %.60s: expected %s%s", command->name, word, words,
                         cli_guess_text(&guess, hint));
    }
    return CLI_DONE;
}

int cli_options_parse(const cli_command *command, int n_arg, char **arg, cli_options *out) {
    *out = (cli_options){.command = command->name, .n_arg = n_arg, .arg = arg};
    bool is_open = true; // options may still come
    for (int i = 0; i < n_arg; i++) {
        if (is_open && strcmp(arg[i], "--") == 0) {
            is_open = false;
        } else if (is_open && arg[i][0] == '-' && arg[i][1] != '\0') {
            int code = take_option(command, n_arg, arg, &i, out);
            if (code != CLI_DONE) {
                return code;
            }
        } else if (out->n_word == CLI_WORD_LIMIT) {
            return cli_usage("more than %d arguments", CLI_WORD_LIMIT);
        } else {
            out->word[out->n_word++] = arg[i];
        }
    }
    int code = out->use_help ? CLI_DONE : check_words(command, out);
    return code == CLI_DONE ? check_report(out) : code;
}
