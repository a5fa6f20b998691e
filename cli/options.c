// SPDX-License-Identifier: MIT
//
// Options of the commands. --name VALUE and --name=VALUE mean the same; -- ends the options.

#include "options.h"

#include "base/base.h"
#include "io/number.h"
#include "terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// largest count of steps that a run takes
#define STEPS_LIMIT 2e9

// largest count of runs of an experiment
#define RUNS_LIMIT 64

// largest count of passes over a recording
#define EPOCHS_LIMIT 1e7

// largest count of problems, and largest seed that a double holds with room to count on
#define PROBLEMS_LIMIT 1e8
#define SEED_LIMIT 1e15

static void say(const char *format, va_list args) {
    cli_terminal_clear();
    fputs("carom: ", stderr);
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

int cli_warn(const cli_options *options, const char *format, ...) {
    if (!options->use_quiet) {
        va_list args;
        va_start(args, format);
        say(format, args);
        va_end(args);
    }
    return CLI_DONE;
}

/// An option that stands for text.
typedef struct text_option {
    const char *name;
    int known;
    const char **single; // where one value goes
    const char **many;   // where repeated values go
    int *n_many;
} text_option;

static int put_text(const text_option *option, const char *value) {
    if (option->many) {
        if (*option->n_many == CLI_REPEAT_LIMIT) {
            return cli_usage("%s comes more than %d times", option->name, CLI_REPEAT_LIMIT);
        }
        option->many[(*option->n_many)++] = value;
        return CLI_DONE;
    }
    if (*option->single) {
        return cli_usage("%s comes twice", option->name);
    }
    *option->single = value;
    return CLI_DONE;
}

int cli_put_whole(const char *name, const char *value, double least, double most, double *n) {
    bool is_number = cri_number_parse(value, strlen(value), n) == CRI_NUMBER_OK;
    if (!is_number || *n < least || *n > most || *n != floor(*n)) {
        return cli_usage("%s %.40s: expected a whole number from %.0f to %.0f", name, value, least,
                         most);
    }
    return CLI_DONE;
}

static int put_count(const char *name, const char *value, cli_options *out) {
    double n = 0.0;
    if (strcmp(name, "--runs") == 0 || strcmp(name, "--epochs") == 0) {
        bool is_runs = name[2] == 'r';
        int code = cli_put_whole(name, value, 1.0, is_runs ? RUNS_LIMIT : EPOCHS_LIMIT, &n);
        *(is_runs ? &out->n_run : &out->n_epoch) = (int)n;
        return code;
    }
    bool is_seed = strcmp(name, "--seed") == 0;
    bool is_at = strcmp(name, "--at-step") == 0;
    bool is_steps = is_at || strcmp(name, "--steps") == 0;
    double most = is_seed ? SEED_LIMIT : is_steps ? STEPS_LIMIT : PROBLEMS_LIMIT;
    int code = cli_put_whole(name, value, is_seed || is_at ? 0.0 : 1.0, most, &n);
    if (code == CLI_DONE && is_seed) {
        out->seed = (uint64_t)n;
    } else if (code == CLI_DONE) {
        *(is_at ? &out->at_step : is_steps ? &out->n_step : &out->n_problem) = (int)n;
    }
    return code;
}

static int put_dt(const char *value, cli_options *out) {
    double dt = 0.0;
    bool is_number = cri_number_parse(value, strlen(value), &dt) == CRI_NUMBER_OK;
    if (!is_number || !(dt > 0.0)) {
        return cli_usage("--dt %.40s: expected a number of seconds above 0", value);
    }
    out->dt = dt;
    return CLI_DONE;
}

static int put_smoothing(const char *value, cli_options *out) {
    bool is_number = cri_number_parse(value, strlen(value), &out->smoothing) == CRI_NUMBER_OK;
    if (!is_number || !(out->smoothing >= 0.0)) {
        return cli_usage("--smoothing %.40s: expected 0 (exact) or a positive number", value);
    }
    return CLI_DONE;
}

/// Takes the option when it is one of n. *is_known stays false when it is none of them.
static int take_from(const cli_command *command, const char *name, const char *value, int n,
                     const text_option *texts, cli_options *out, bool *is_known) {
    CR_ASSERT(texts && out && is_known);
    for (int i = 0; i < n; i++) {
        const text_option *option = &texts[i];
        if (strcmp(option->name, name) != 0 ||
            (option->known && !(option->known & command->known))) {
            continue;
        }
        *is_known = true;
        if (!value || !*value) {
            return cli_usage("%s needs a value; see 'carom help %s'", name, command->name);
        }
        if (strncmp(value, "--", 2) == 0) {
            return cli_usage("%s needs a value, not the option %.40s; see 'carom help %s'", name,
                             value, command->name);
        }
        if (option->known == CLI_DT) {
            return put_dt(value, out);
        }
        if (option->known == CLI_SMOOTHING) {
            return put_smoothing(value, out);
        }
        bool is_text = option->single || option->many;
        return is_text ? put_text(option, value) : put_count(name, value, out);
    }
    return CLI_DONE;
}

/// Options of data and of what is learned from them.
static int take_data(const cli_command *command, const char *name, const char *value,
                     cli_options *out, bool *is_known) {
    const text_option texts[] = {
        {"--touch", CLI_LEARN, NULL, out->touch, &out->n_touch},
        {"--touch-held", CLI_LEARN, &out->touch_held, NULL, NULL},
        {"--starts", CLI_LEARN, &out->starts, NULL, NULL},
        {"--q", CLI_LEARN, &out->q, NULL, NULL},
        {"--v", CLI_LEARN, &out->v, NULL, NULL},
        {"--time", CLI_LEARN, &out->time, NULL, NULL},
        {"--rate", CLI_LEARN | CLI_SHAPE, &out->rate, NULL, NULL},
        {"--l2", CLI_LEARN, &out->l2, NULL, NULL},
        {"--static", CLI_LEARN, &out->mu_static, NULL, NULL},
        {"--restitution", CLI_LEARN, &out->restitution, NULL, NULL},
        {"--epsilon", CLI_LEARN, &out->epsilon, NULL, NULL},
        {"--damping", CLI_LEARN, &out->damping, NULL, NULL},
        {"--epochs", CLI_LEARN | CLI_SHAPE | CLI_EXPERIMENT, NULL, NULL, NULL},
        {"--codes", CLI_SHAPE, &out->n_code, NULL, NULL},
        {"--net", CLI_SHAPE, &out->net, NULL, NULL},
        {"--code", CLI_SHAPE, &out->code, NULL, NULL},
        {"--depth", CLI_FIT, NULL, out->depth, &out->n_depth},
        {"--points", CLI_FIT, &out->n_point, NULL, NULL},
    };
    return take_from(command, name, value, (int)(sizeof texts / sizeof *texts), texts, out,
                     is_known);
}

/// Takes an option with its value. *is_known stays false when it is none of them.
static int take_value(const cli_command *command, const char *name, const char *value,
                      cli_options *out, bool *is_known) {
    const text_option texts[] = {
        {"--law", CLI_LAW, &out->law, NULL, NULL},
        {"--stepper", CLI_STEPPER, &out->stepper, NULL, NULL},
        {"--key", CLI_KEY, &out->key, NULL, NULL},
        {"--wrt", CLI_WRT, &out->wrt, NULL, NULL},
        {"--json", 0, &out->json, NULL, NULL},
        {"--report", CLI_REPORT, &out->report, NULL, NULL},
        {"--output", CLI_OUTPUT, &out->output, NULL, NULL},
        {"-o", CLI_OUTPUT, &out->output, NULL, NULL},
        {"--work", CLI_WORK, &out->work, NULL, NULL},
        {"--overlap", CLI_OVERLAP, &out->overlap, NULL, NULL},
        {"--outside", CLI_LAW, &out->outside, NULL, NULL},
        {"--set", CLI_SET, NULL, out->set, &out->n_set},
        {"--target", CLI_TARGET, NULL, out->target, &out->n_target},
        {"--noise", CLI_FIT, NULL, out->noise, &out->n_noise},
        {"--prior", CLI_FIT, NULL, out->prior, &out->n_prior},
        {"--bound", CLI_FIT | CLI_PLAN, NULL, out->bound, &out->n_bound},
        {"--robust", CLI_FIT, &out->robust, NULL, NULL},
        {"--holdout", CLI_FIT | CLI_LEARN, &out->holdout, NULL, NULL},
        {"--steps", CLI_STEPS, NULL, NULL, NULL},
        {"--dt", CLI_DT, NULL, NULL, NULL},
        {"--smoothing", CLI_SMOOTHING, NULL, NULL, NULL},
        {"--surrogate", CLI_TARGET, &out->surrogate, NULL, NULL},
        {"--control", CLI_CONTROL, &out->control, NULL, NULL},
        {"--checkpoint", CLI_CHECKPOINT, &out->plan.checkpoint, NULL, NULL},
        {"--at-step", CLI_AT_STEP, NULL, NULL, NULL},
        {"--keep", CLI_PROBLEMS, &out->keep, NULL, NULL},
        {"--problems", CLI_PROBLEMS, NULL, NULL, NULL},
        {"--seed", CLI_PROBLEMS | CLI_EXPERIMENT | CLI_LEARN | CLI_SHAPE, NULL, NULL, NULL},
        {"--runs", CLI_EXPERIMENT, NULL, NULL, NULL},
        {"--model", CLI_EXPERIMENT | CLI_LEARN, &out->model, NULL, NULL},
        {"--start", CLI_EXPERIMENT, &out->start, NULL, NULL},
    };
    int code =
        take_from(command, name, value, (int)(sizeof texts / sizeof *texts), texts, out, is_known);
    if (!*is_known) {
        code = take_data(command, name, value, out, is_known);
    }
    if (!*is_known && (command->known & CLI_PLAN)) {
        code = cli_plan_take(name, value, &out->plan, is_known);
    }
    return code;
}

/// Takes the option at arg[*i] and moves on past its value.
static int take_option(const cli_command *command, int n_arg, char **arg, int *i,
                       cli_options *out) {
    char *text = arg[*i];
    if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
        out->use_help = true;
        return CLI_DONE;
    }
    if (strcmp(text, "--quiet") == 0 || strcmp(text, "-q") == 0) {
        out->use_quiet = true;
        return CLI_DONE;
    }
    if (strcmp(text, "--check") == 0 && (command->known & CLI_CHECK)) {
        out->use_check = true;
        return CLI_DONE;
    }
    if (strcmp(text, "--place") == 0 && (command->known & CLI_LEARN)) {
        out->use_place = true;
        return CLI_DONE;
    }
    if (strcmp(text, "--families") == 0 && (command->known & CLI_PROBLEMS)) {
        out->use_families = true;
        return CLI_DONE;
    }
    if ((command->known & CLI_EXPERIMENT) &&
        (strcmp(text, "--quick") == 0 || strcmp(text, "--full") == 0)) {
        *(text[2] == 'q' ? &out->is_quick : &out->is_full) = true;
        return CLI_DONE;
    }
    char name[32];
    size_t n = strcspn(text, "=");
    bool has_equals = text[n] == '=';
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    const char *value = has_equals ? text + n + 1 : *i + 1 < n_arg ? arg[*i + 1] : NULL;
    bool is_known = false;
    int code = take_value(command, name, value, out, &is_known);
    if (!is_known) {
        return cli_usage("unknown option %.60s; see 'carom help %s'", text, command->name);
    }
    *i += has_equals ? 0 : 1;
    return code;
}

static int check_overlap(const cli_options *out) {
    const char *word = out->overlap;
    if (word && strcmp(word, "warn") != 0 && strcmp(word, "refuse") != 0) {
        return cli_usage("--overlap %.40s: expected warn or refuse", word);
    }
    return CLI_DONE;
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
    code = code == CLI_DONE ? check_overlap(out) : code;
    return code == CLI_DONE ? check_report(out) : code;
}
