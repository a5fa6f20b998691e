// SPDX-License-Identifier: MIT
//
// Options of the commands, and how a command says what went wrong.

#pragma once

#include "carom/carom.h"

#include "plan_options.h"

#include <stdint.h>

// how often an option may be repeated, and how many words a command takes
#define CLI_REPEAT_LIMIT 256
#define CLI_WORD_LIMIT 4096

// exit codes
#define CLI_DONE 0
#define CLI_FAILED 1
#define CLI_USAGE 2

/// Which options a command knows. --json, --quiet and --help are for all.
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
    CLI_OUTPUT = 1 << 9,
    CLI_WORK = 1 << 10,     // what a benchmark starts itself with
    CLI_PROBLEMS = 1 << 11, // --problems, --seed, --keep, --families
    CLI_OVERLAP = 1 << 12,
    CLI_SMOOTHING = 1 << 13,
    CLI_CONTROL = 1 << 14,
    CLI_PLAN = 1 << 15,    // all of plan_options.h, and --bound
    CLI_AT_STEP = 1 << 16, // --at-step
    CLI_CHECKPOINT = 1 << 17,
    CLI_REPORT = 1 << 18,
    CLI_FIT = 1 << 19,        // --noise, --robust, --prior, --bound, --holdout, --depth
    CLI_EXPERIMENT = 1 << 20, // --quick, --full, --seed, --model, --start, --runs
    CLI_LEARN = 1 << 21,      // --touch, --q, --v, --time, --epochs, --rate, --l2, ...
    CLI_SHAPE = 1 << 22,      // --codes, --net, --code, --epochs, --rate, --seed
    CLI_RUN = CLI_OVERLAP | CLI_LAW | CLI_STEPPER | CLI_DT | CLI_SET | CLI_KEY,
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
    bool use_quiet; // no progress, no warnings
} cli_options;

/// One command.
typedef struct cli_command {
    const char *name;
    const char *arguments; // for the usage line
    const char *summary;   // one line
    const char *help;      // more lines, each ended
    int known;             // cli_known bits
    int n_word_least;
    int n_word_most;
    int (*run)(const cli_options *options); // returns the exit code
} cli_command;

/// Takes apart what follows a command's name. Returns CLI_DONE, or CLI_USAGE after a line on
/// stderr.
int cli_options_parse(const cli_command *command, int n_arg, char **arg, cli_options *out);

/// Reads a whole number between least and most; CLI_USAGE after a line on stderr when it is none.
int cli_put_whole(const char *name, const char *value, double least, double most, double *n);

/// Extension of a file's name with its dot; NULL when there is none, as for a device.
const char *cli_extension(const char *path);

/// One line on stderr, "carom: ...". Returns CLI_FAILED and CLI_USAGE.
int cli_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// The same line for what is neither.
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// As cli_say, for what is no error: nothing with --quiet. Returns CLI_DONE.
int cli_warn(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
