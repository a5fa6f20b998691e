// SPDX-License-Identifier: MIT
//
// The command carom: picks a command and runs it.
//
// Results go to standard output, messages to standard error, one line each. Exit codes: 0 done,
// 1 a run failed, 2 wrong usage, 128 + N interrupted by signal N.

#include "commands.h"

#include "base/io/hdf5_file.h"
#include "plan_task.h"
#include "start.h"
#include "streams.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>

/// What this build lacks is told before the work is done, for every file that is named.
static int check_parts(const cli_options *options) {
    const char *const named[] = {options->output, options->holdout, options->control};
    int n_named = (int)(sizeof named / sizeof *named);
    for (int i = 0; i < n_named + options->n_word; i++) {
        const char *path = i < n_named ? named[i] : options->word[i - n_named];
        cr_error err = {0};
        if (path && cri_hdf5_is_name(path) && cri_hdf5_check(path, &err) != CR_OK) {
            return cli_failed("%s", err.text);
        }
    }
    return CLI_DONE;
}

static int run_command(int n_arg, char **arg) {
    const cli_command *command = cli_command_find(arg[0]);
    if (!command) {
        return CLI_USAGE;
    }
    cli_options options;
    int code = cli_plan_task_parse(command, n_arg - 1, arg + 1, &options);
    if (code == CLI_DONE && options.use_help) {
        cli_help_print(command);
        return CLI_DONE;
    }
    code = code == CLI_DONE ? check_parts(&options) : code;
    code = code == CLI_DONE ? cli_streams_open(command, &options) : code;
    code = code == CLI_DONE ? cli_terminal_code(command->run(&options)) : code;
    cli_plan_task_free(&options);
    return code;
}

int cli_command_main(int argc, char **argv) {
    if (argc < 2) {
        return cli_usage("which command? 'carom help' lists them");
    }
    char help[] = "help";
    int code = CLI_DONE;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        argv[1] = help;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("carom " CR_VERSION);
    } else {
        code = run_command(argc - 1, argv + 1);
    }
    // a full disk or a closed pipe must not pass for success
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_DONE) {
        code = cli_failed("standard output cannot be written");
    }
    return code;
}
