// SPDX-License-Identifier: MIT
//
// The command carom: picks a command and runs it.
//
// Results go to standard output, messages to standard error, one line each. Exit codes: 0 done,
// 1 a run failed, 2 wrong usage, 128 + N interrupted by signal N.

#include "commands.h"

#include "start.h"
#include "terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {
    &cli_simulate,    &cli_gradient, &cli_fit,    &cli_compare, &cli_plan,
    &cli_linearize,   &cli_bench,    &cli_learn,  &cli_shape,   &cli_experiment,
    &cli_experiments, &cli_examples, &cli_params, &cli_laws,
};

#define N_COMMAND ((int)(sizeof commands / sizeof *commands))

static const cli_command *find(const char *name) {
    for (int i = 0; i < N_COMMAND; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static void print_overview(void) {
    puts("carom: differentiable contact simulation\n");
    for (int i = 0; i < N_COMMAND; i++) {
        printf("  carom %-9s %-31s %s\n", commands[i]->name, commands[i]->arguments,
               commands[i]->summary);
    }
    puts("\n'carom help COMMAND' says more. All commands take --json FILE for results as JSON,\n"
         "and --quiet. Long work shows its progress on a terminal; Ctrl-C ends it with what it\n"
         "has, a second one at once. NO_COLOR leaves colours out.\n"
         "Exit codes: 0 done, 1 a run failed, 2 wrong usage, 130 interrupted (143 by SIGTERM).");
}

static void print_help(const cli_command *command) {
    printf("carom %s %s\n%s\n\n%s%s", command->name, command->arguments, command->summary,
           command->help,
           "  --quiet, -q           no progress and no warnings; errors are always said\n");
}

static int help(const char *name) {
    const cli_command *command = name ? find(name) : NULL;
    if (name && !command) {
        return cli_usage("unknown command %.60s; 'carom help' lists them", name);
    }
    if (command) {
        print_help(command);
    } else {
        print_overview();
    }
    return CLI_DONE;
}

/// A file whose folder is not there, or not ours to write to, is told before the work is done.
static int check_folder(const char *path) {
    char folder[4096];
    if (!path) {
        return CLI_DONE;
    }
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash - path) + 1 : 0, path);
    return access(folder, W_OK) == 0
               ? CLI_DONE
               : cli_failed("%s: cannot be written: %s", path, strerror(errno));
}

static int check_folders(const cli_options *options) {
    const char *const path[] = {options->json, options->report, options->output, options->plan.file,
                                options->plan.checkpoint};
    int code = CLI_DONE;
    for (size_t i = 0; i < sizeof path / sizeof *path && code == CLI_DONE; i++) {
        code = check_folder(path[i]);
    }
    return code;
}

static int run_command(int n_arg, char **arg) {
    const cli_command *command = find(arg[0]);
    if (!command) {
        return cli_usage("unknown command %.60s; 'carom help' lists them", arg[0]);
    }
    cli_options options;
    int code = cli_options_parse(command, n_arg - 1, arg + 1, &options);
    if (code == CLI_DONE && options.use_help) {
        print_help(command);
        return CLI_DONE;
    }
    code = code == CLI_DONE ? check_folders(&options) : code;
    return code == CLI_DONE ? cli_terminal_code(command->run(&options)) : code;
}

int cli_command_main(int argc, char **argv) {
    if (argc < 2) {
        return cli_usage("which command? 'carom help' lists them");
    }
    const char *first = argv[1];
    int code = CLI_DONE;
    if (strcmp(first, "--version") == 0) {
        puts("carom " CR_VERSION);
    } else if (strcmp(first, "help") == 0 || strcmp(first, "--help") == 0 ||
               strcmp(first, "-h") == 0) {
        code = help(argc > 2 ? argv[2] : NULL);
    } else {
        code = run_command(argc - 1, argv + 1);
    }
    // a full disk or a closed pipe must not pass for success
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_DONE) {
        code = cli_failed("standard output cannot be written");
    }
    return code;
}
