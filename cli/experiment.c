// SPDX-License-Identifier: MIT
//
// carom experiment: a table or figure of the papers, ours beside theirs.

#include "commands.h"

#include "../experiments/experiment.h"
#include "base/io/checkpoint.h"
#include "report.h"
#include "report/result.h"
#include "scene.h"
#include "terminal.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static int count_threads(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

static int list(const cli_options *options) {
    enum { MOST = 256 };
    const char *row[MOST][2];
    int n = 0;
    for (; cri_experiments[n] && n < MOST; n++) {
        row[n][0] = cri_experiments[n]->name;
        row[n][1] = cri_experiments[n]->summary;
        printf("%-20s %s\n", row[n][0], row[n][1]);
    }
    cr_error err = {0};
    return !options->json || cri_result_names(options->json, "experiments", n, row, &err) == CR_OK
               ? CLI_DONE
               : cli_error(&err);
}

// one of the words of a list, or not given
static int check_word(const char *option, const char *word, const char *experiment,
                      const char *list) {
    if (!word) {
        return CLI_DONE;
    }
    const char *words = list ? list : "";
    if (cli_is_among(word, words)) {
        return CLI_DONE;
    }
    return cli_usage("%s %.60s: %s has %s", option, word, experiment, *words ? words : "none");
}

static int find(const cli_options *options, const cri_experiment **out) {
    const char *name = options->word[0];
    *out = cri_experiment_find(name);
    if (!*out) {
        cli_guess guess = {.word = name};
        for (int k = 0; cri_experiments[k]; k++) {
            cli_guess_try(&guess, cri_experiments[k]->name);
        }
        char hint[80];
        return cli_usage("unknown experiment %.60s%s", name,
                         guess.best ? cli_guess_text(&guess, hint)
                                    : "; 'carom experiments' lists them");
    }
    cr_error err = {0};
    if (cri_experiment_check_parts(*out, options->model, &err) != CR_OK) {
        return cli_error(&err);
    }
    if (options->is_quick && options->is_full) {
        return cli_usage("--quick and --full exclude one another");
    }
    if (options->plan.checkpoint && !cri_experiment_keeps_runs(*out)) {
        return cli_usage("--checkpoint: %s keeps no runs; leave it out", name);
    }
    if (options->n_epoch > 0 && !cri_experiment_has_epochs(*out)) {
        return cli_usage("--epochs: %s has lengths of its own; leave it out", name);
    }
    int code = check_word("--model", options->model, name, (*out)->models);
    return code != CLI_DONE
               ? code
               : check_word("--start", options->start, name, cri_experiment_starts(*out));
}

static void put_number(double value) {
    if (isnan(value)) {
        printf("  %10s", "-");
    } else {
        printf("  %10.4g", value);
    }
}

/// The largest of our values in the rows with a unit: they are one column.
static double largest_of(const cri_experiment_result *result, const char *unit) {
    double largest = 0.0;
    for (int k = 0; k < result->n_row; k++) {
        bool is_same = strcmp(result->row[k].unit, unit) == 0;
        largest = is_same ? fmax(largest, fabs(result->row[k].value)) : largest;
    }
    return largest;
}

static void print(const cri_experiment_result *result) {
    double largest = cli_largest(result->n_row, &result->row->value, sizeof *result->row);
    printf("%-64s  %10s  %10s  %s\n", "", "ours", "paper", "better");
    for (int k = 0; k < result->n_row; k++) {
        const cri_experiment_row *row = &result->row[k];
        printf("%-64s", row->name);
        // few values are small enough to ask for the rows of their unit
        bool is_small = cli_shown(row->value, largest) != row->value;
        put_number(is_small ? cli_shown(row->value, largest_of(result, row->unit)) : row->value);
        put_number(row->paper);
        printf("  %-6s %s\n", row->better, row->unit);
    }
}

// the rows as a table
static void report_rows(cri_report *report, const cri_experiment_result *result) {
    static const cri_report_column column[] = {
        {.name = "what"},
        {.name = "ours", .kind = CRI_COLUMN_NUMBER, .digits = 4},
        {.name = "paper", .kind = CRI_COLUMN_NUMBER, .digits = 4},
        {.name = "unit"},
        {.name = "better"}};
    cri_report_table(report, "Ours beside the paper's", 5, column);
    for (int k = 0; k < result->n_row; k++) {
        const cri_experiment_row *row = &result->row[k];
        cri_report_row(report, (cri_report_cell[]){{.text = row->name},
                                                   {.value = row->value},
                                                   {.value = row->paper},
                                                   {.text = row->unit},
                                                   {.text = row->better}});
    }
}

static int write_json(const cli_options *options, const cri_experiment *experiment, double seconds,
                      const cri_experiment_result *result) {
    cr_error err = {0};
    cri_experiment_file file = {.experiment = experiment->name,
                                .mode = options->is_full ? "full" : "quick",
                                .seed = (double)options->seed,
                                .seconds = seconds,
                                .n_row = result->n_row,
                                .row = result->row};
    return !options->json || cri_result_experiment(options->json, &file, &err) == CR_OK
               ? CLI_DONE
               : cli_error(&err);
}

static int run_one(const cli_options *options, const cri_experiment *experiment, cri_report *report,
                   cri_experiment_result *result) {
    cri_progress progress = cli_terminal_begin(options, experiment->name);
    cri_experiment_options o = {.is_full = options->is_full,
                                .seed = options->seed,
                                .model = options->model,
                                .start = options->start,
                                .n_run = options->n_run,
                                .n_epoch = options->n_epoch,
                                .n_thread = count_threads(),
                                .checkpoint = options->plan.checkpoint,
                                .report = report,
                                .progress = &progress};
    cr_error err = {0};
    double begin = cli_seconds();
    cr_status status = experiment->run(experiment, &o, result, &err);
    double seconds = cli_seconds() - begin;
    cli_terminal_end();
    if (status != CR_OK) {
        return cli_error(&err);
    }
    if (result->is_interrupted) {
        const char *file = options->plan.checkpoint;
        cli_say("interrupted: the rows are of what was done%s",
                file && cri_checkpoint_exists(file)     ? "; give the same options to go on"
                : file                                  ? "; no run has ended that could be kept"
                : cri_experiment_keeps_runs(experiment) ? "; --checkpoint FILE would let it go on"
                                                        : "");
    }
    cri_report_fact(report, "seconds", "%.1f", seconds);
    report_rows(report, result);
    print(result);
    if (!options->use_quiet) {
        printf("%.1f s\n", seconds);
    }
    return write_json(options, experiment, seconds, result);
}

static int run(const cli_options *options) {
    if (options->n_word == 0) {
        return list(options);
    }
    const cri_experiment *experiment = NULL;
    int code = find(options, &experiment);
    if (code != CLI_DONE) {
        return code;
    }
    char title[120];
    (void)snprintf(title, sizeof title, "Experiment %.80s", experiment->name);
    cri_report *report = NULL;
    code = cli_report_open(options, title, NULL, &report);
    cri_experiment_result *result = calloc(1, sizeof *result);
    if (code == CLI_DONE && !result) {
        code = cli_failed("no memory for an experiment");
    } else if (code == CLI_DONE && result) {
        code = run_one(options, experiment, report, result);
    }
    free(result);
    return cli_report_close(options, report, code);
}

const cli_command cli_experiment = {
    .name = "experiment",
    .arguments = "[NAME] [--quick|--full]",
    .summary = "a table of the papers, ours beside theirs",
    .help = "Without a name: what there is. Rows say which way is better; a dash stands for what\n"
            "the paper does not give.\n\n"
            "  --quick               the trend, in seconds; the default\n"
            "  --full                the paper's size, in minutes\n"
            "  --seed K              of noise and first weights, else 0\n"
            "  --model M             one of its models, else all\n"
            "  --start S             one of its starts (lrc- tasks), else all\n"
            "  --runs N              runs that differ by their seed\n"
            "  --epochs N            shorter or longer trainings (dcs- tasks and studies)\n"
            "  --checkpoint FILE     keeps finished runs, and goes on from them\n"
            "  --json FILE           all rows as JSON\n"
            "  --report FILE.html    a page with tables and charts\n",
    .known = CLI_JSON | CLI_EXPERIMENT | CLI_REPORT | CLI_CHECKPOINT,
    .takes = CLI_TAKES_EXPERIMENT,
    .n_word_least = 0,
    .n_word_most = 1,
    .run = run,
};

const cli_command cli_experiments = {
    .name = "experiments",
    .arguments = "",
    .summary = "the experiments that there are",
    .help = "  --json FILE           the list as JSON\n",
    .known = CLI_JSON,
    .n_word_least = 0,
    .n_word_most = 0,
    .run = list,
};
