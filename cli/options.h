// SPDX-License-Identifier: MIT
//
// Options of the commands, and how a command says what went wrong.

#pragma once

#include "carom/carom.h"

#include "plan_options.h"

#include <stddef.h>
#include <stdint.h>

// how often an option may be repeated, and how many words a command takes
#define CLI_REPEAT_LIMIT 256
#define CLI_WORD_LIMIT 4096

// exit codes
#define CLI_DONE 0
#define CLI_FAILED 1
#define CLI_USAGE 2

/// Which options a command knows. --quiet and --help are for all.
typedef enum cli_known {
    CLI_LAW = 1 << 0,
    CLI_STEPPER = 1 << 1,
    CLI_STEPS = 1 << 2,
    CLI_DT = 1 << 3,
    CLI_SET = 1 << 4,
    CLI_KEY = 1 << 5,
    CLI_TARGET = 1 << 6,
    CLI_WRT = 1 << 7,
    CLI_CHECK = 1 << 8,
    CLI_OUTPUT = 1 << 9,    // -o of text, which may go to standard output
    CLI_WORK = 1 << 10,     // what a benchmark starts itself with
    CLI_PROBLEMS = 1 << 11, // --problems, --seed, --keep, --families
    CLI_OVERLAP = 1 << 12,
    CLI_SMOOTHING = 1 << 13,
    CLI_CONTROL = 1 << 14,
    CLI_PLAN = 1 << 15,    // all of plan_options.h, and --bound
    CLI_AT_STEP = 1 << 16, // --at-step, --print
    CLI_CHECKPOINT = 1 << 17,
    CLI_REPORT = 1 << 18,
    CLI_FIT = 1 << 19,        // --noise, --robust, --prior, --bound, --holdout, --depth
    CLI_EXPERIMENT = 1 << 20, // --quick, --full, --seed, --model, --start, --runs
    CLI_LEARN = 1 << 21,      // --touch, --q, --v, --time, --epochs, --rate, --l2, ...
    CLI_SHAPE = 1 << 22,      // --codes, --net, --code, --epochs, --rate, --seed
    CLI_OUTSIDE = 1 << 23,
    CLI_SURROGATE = 1 << 24,
    CLI_JSON = 1 << 25,
    CLI_OUTPUT_FILE = 1 << 26, // -o of what needs a file: weights, pictures
    CLI_RUN = CLI_OVERLAP | CLI_LAW | CLI_OUTSIDE | CLI_STEPPER | CLI_DT | CLI_SET | CLI_KEY,
} cli_known;

/// A command line, taken apart. Strings belong to argv.
typedef struct cli_options {
    const char *command;              // its name
    char **arg;                       // (n_arg) all that stood behind the name
    const char *word[CLI_WORD_LIMIT]; // what is no option
    const char *law;
    const char *stepper;
    const char *key;
    const char *wrt;
    const char *json;
    const char *report; // page to write, NULL: none
    const char *output;
    const char *work;
    const char *outside; // nets beyond their training, NULL: not given
    const char *overlap; // warn or refuse, NULL: not given
    const char *set[CLI_REPEAT_LIMIT];
    const char *target[CLI_REPEAT_LIMIT];
    const char *noise[CLI_REPEAT_LIMIT];
    const char *prior[CLI_REPEAT_LIMIT];
    const char *bound[CLI_REPEAT_LIMIT];
    const char *robust;
    const char *holdout;
    const char *keep;    // folder
    const char *control; // file of controls over time
    const char *model;   // that learns, NULL: not given
    const char *start;   // of an experiment, NULL: not given
    const char *touch[CLI_REPEAT_LIMIT];
    const char *touch_held;  // "each" or "first": rows of a touch that lasts
    const char *starts;      // "rows" or "fitted": first states of windows
    const char *q;           // columns of positions
    const char *v;           // columns of velocities
    const char *time;        // column of times
    const char *rate;        // of training
    const char *l2;          // on weights
    const char *mu_static;   // of what lies still
    const char *restitution; // known, NULL: learned
    const char *damping;     // known, or "learn"; NULL: none
    const char *epsilon;     // of the law cone-reg, or "learn"; NULL: as it is
    const char *n_code;      // numbers of a code
    const char *net;         // layers and width
    const char *code;        // of one shape
    const char *depth[CLI_REPEAT_LIMIT];
    const char *n_point; // of a frame
    double dt;           // s, 0: not given
    double smoothing;    // of gradients, 0: none
    const char *surrogate;
    uint64_t seed; // 0: not given
    cli_plan_options plan;
    int n_arg;
    int n_word;
    int n_set;
    int n_target;
    int n_noise;
    int n_prior;
    int n_bound;
    int n_depth;
    int n_step;    // 0: not given
    int n_problem; // 0: not given
    int at_step;   // 0: not given
    int n_run;     // 0: not given
    int n_touch;
    int n_epoch;       // 0: not given
    bool use_families; // a row for each
    bool use_check;
    bool is_quick;
    bool is_full;
    bool use_place; // where on a surface is an input
    bool use_help;
    bool use_print; // matrices too
    bool use_quiet; // results and what makes them doubtful, nothing else
} cli_options;

/// What a word or an option's value is.
typedef enum cli_takes {
    CLI_TAKES_NOTHING,
    CLI_TAKES_VALUE,      // a name or a number
    CLI_TAKES_INPUT,      // a file that is read; - is standard input
    CLI_TAKES_STREAM,     // a file that is written; - is standard output
    CLI_TAKES_FILE,       // a file that is written and needs a name
    CLI_TAKES_FOLDER,     // a folder that is written to
    CLI_TAKES_LAW,        // a contact law
    CLI_TAKES_STEPPER,    // a stepper
    CLI_TAKES_EXPERIMENT, // an experiment
    CLI_TAKES_COMMAND,    // a command
} cli_takes;

/// How an option's value is read, and what it becomes.
typedef enum cli_kind {
    CLI_FLAG,   // bool, no value
    CLI_TEXT,   // const char *
    CLI_WORD,   // const char *, one of the option's words
    CLI_TEXTS,  // const char *[CLI_REPEAT_LIMIT] and how many
    CLI_COUNT,  // int
    CLI_SEED,   // uint64_t
    CLI_LENGTH, // double, above 0
    CLI_AMOUNT, // double, from 0 on
} cli_kind;

/// One option of one or several commands. Two with the same name belong to different commands.
typedef struct cli_option {
    const char *name;   // with its dashes
    const char *letter; // its short name with a dash, NULL: none
    int known;          // cli_known bits of the commands that have it, 0: all
    cli_kind kind;
    size_t at;         // where it goes in cli_options
    size_t n_at;       // CLI_TEXTS: where their number is
    const char *words; // what it may be, with spaces between; but for CLI_WORD it may be more
    double least;      // of a count
    double most;
    cli_takes takes;
    bool is_hidden; // no help names it
} cli_option;

/// All options, one behind the other; the last one has no name.
extern const cli_option cli_option_table[];

struct cli_command;

/// Does the command have the option?
bool cli_option_fits(const cli_option *option, const struct cli_command *command);

/// One command.
typedef struct cli_command {
    const char *name;
    const char *arguments; // for the usage line
    const char *summary;   // one line
    const char *help;      // more lines, each ended
    int known;             // cli_known bits
    cli_takes takes;       // what its words are, for completion
    const char *words;     // what the first one may be, with spaces between; NULL: as takes says
    int n_word_least;
    int n_word_most;
    int (*run)(const cli_options *options); // returns the exit code
} cli_command;

/// Takes apart what follows a command's name. Returns CLI_DONE, or CLI_USAGE after a line on
/// stderr.
int cli_options_parse(const cli_command *command, int n_arg, char **arg, cli_options *out);

/// Reads a whole number between least and most; CLI_USAGE after a line on stderr when it is none.
int cli_put_whole(const char *name, const char *value, double least, double most, double *n);

/// Is word one of a list with spaces between?
bool cli_is_among(const char *word, const char *list);

/// Extension of a file's name with its dot; NULL when there is none, as for a device.
const char *cli_extension(const char *path);

/// From now on each line begins with the file that it is about, until NULL.
void cli_say_about(const char *file);

/// One line on stderr, "carom: ...". Returns CLI_FAILED and CLI_USAGE.
int cli_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// The same line for an interruption, which is no failure.
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// The same line for what makes a result doubtful. Returns CLI_DONE.
int cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// The same line for what is only good to know: nothing with --quiet. Returns CLI_DONE.
int cli_note(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
