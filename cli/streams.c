// SPDX-License-Identifier: MIT
//
// Files of the command line: which of them are standard input and output, and whether the others
// can be written.
//
// Readers take the name - themselves (base/io/file.h). Writers take the name of an open descriptor
// (base/io/file.h): results that are printed for people share descriptor 1 with the file
// that - stands for, and must not mix with it.

#define _POSIX_C_SOURCE 200809L

#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char folder_of_streams[] = "/dev/fd/";

bool cli_is_stream(const char *path) {
    return strncmp(path, folder_of_streams, sizeof folder_of_streams - 1) == 0;
}

/// What was found on a command line.
typedef struct usage {
    int n_input;          // that are standard input
    const char **output;  // that is standard output, NULL: none
    const char *out_name; // of its option
} usage;

static const char *name_of(const cli_option *option) {
    return option->letter ? option->letter : option->name;
}

/// A file whose folder is not there, or not ours to write to, is told before the work is done.
static int check_folder(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash - path) + 1 : 0, path);
    return access(folder, W_OK) == 0
               ? CLI_DONE
               : cli_failed("%s: cannot be written: %s", path, strerror(errno));
}

static int look_at(const cli_option *option, const char **path, usage *found) {
    bool is_stream = strcmp(*path, "-") == 0;
    if (option->takes == CLI_TAKES_INPUT) {
        // a part of a value too: GEOM=-
        size_t n = strlen(*path);
        found->n_input += is_stream || (n > 2 && strcmp(*path + n - 2, "=-") == 0);
    } else if (option->takes == CLI_TAKES_FILE && is_stream) {
        return cli_usage("%s -: this cannot go to standard output; give it the name of a file",
                         name_of(option));
    } else if (option->takes == CLI_TAKES_STREAM && is_stream && found->output) {
        return cli_usage("%s - and %s -: standard output takes one of them; give the other a file",
                         found->out_name, name_of(option));
    } else if (option->takes == CLI_TAKES_STREAM && is_stream) {
        found->output = path;
        found->out_name = name_of(option);
    } else if (option->takes == CLI_TAKES_FILE || option->takes == CLI_TAKES_STREAM) {
        return check_folder(*path);
    }
    return CLI_DONE;
}

// ---- files that are named twice ----------------------------------------------------------------

/// A file that the command line names.
typedef struct named {
    const char *path;
    const char *option; // NULL: a word, which is read
    bool is_output;
} named;

/// Files of a command line, as many as are looked at.
typedef struct named_list {
    named file[CLI_REPEAT_LIMIT];
    int n;
} named_list;

static void add_named(named_list *list, const char *path, const char *option, bool is_output) {
    // behind GEOM= there is a file too
    const char *equals = is_output || access(path, F_OK) == 0 ? NULL : strchr(path, '=');
    if (list->n < CLI_REPEAT_LIMIT && strcmp(path, "-") != 0) {
        list->file[list->n++] = (named){equals ? equals + 1 : path, option, is_output};
    }
}

/// Is it one plain file, or one name of a file that is yet to be made?
static bool is_same(const named *a, const named *b) {
    struct stat one, two;
    bool has_one = stat(a->path, &one) == 0, has_two = stat(b->path, &two) == 0;
    if (!has_one && !has_two) {
        return a->is_output && b->is_output && strcmp(a->path, b->path) == 0;
    }
    return has_one && has_two && S_ISREG(one.st_mode) && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

/// Refuses an output that would replace what is read, or another output.
static int check_named(const named_list *list) {
    for (int i = 0; i < list->n; i++) {
        for (int k = 0; k < list->n; k++) {
            const named *out = &list->file[i], *other = &list->file[k];
            bool is_pair = out->is_output && (other->is_output ? k < i : k != i);
            // a task is read as a whole before it is saved again
            bool is_task = !other->is_output && other->option && out->option &&
                           strcmp(out->option, "--save-task") == 0;
            if (!is_pair || is_task || !is_same(out, other)) {
                continue;
            }
            return other->is_output
                       ? cli_usage("%s %s: %s writes that file too; give one of them another name",
                                   out->option, out->path, other->option)
                       : cli_usage("%s %s: this file is read and would be overwritten; give the "
                                   "output another name",
                                   out->option, out->path);
        }
    }
    return CLI_DONE;
}

// ---- all of them -------------------------------------------------------------------------------

static void list_named(const cli_option *option, const char *path, named_list *list) {
    // a run that goes on reads and writes its checkpoint
    bool is_resume = strcmp(option->name, "--resume") == 0;
    bool is_output = option->takes == CLI_TAKES_FILE || option->takes == CLI_TAKES_STREAM;
    if (!is_resume && (is_output || option->takes == CLI_TAKES_INPUT)) {
        add_named(list, path, name_of(option), is_output);
    }
}

static int look_at_all(const cli_command *command, cli_options *options, usage *found) {
    named_list list = {.n = 0};
    for (int i = 0; i < options->n_word; i++) {
        found->n_input += strcmp(options->word[i], "-") == 0;
        add_named(&list, options->word[i], NULL, false);
    }
    if (options->plan.task_file) {
        add_named(&list, options->plan.task_file, "a task", false);
    }
    int code = CLI_DONE;
    for (const cli_option *o = cli_option_table; o->name && code == CLI_DONE; o++) {
        bool has_path =
            (o->kind == CLI_TEXT || o->kind == CLI_TEXTS) && cli_option_fits(o, command);
        const char **path = (const char **)((char *)options + o->at);
        int n = !has_path              ? 0
                : o->kind == CLI_TEXTS ? *(int *)((char *)options + o->n_at)
                                       : *path != NULL;
        for (int k = 0; k < n && code == CLI_DONE; k++) {
            code = look_at(o, &path[k], found);
            list_named(o, path[k], &list);
        }
    }
    return code == CLI_DONE ? check_named(&list) : code;
}

/// Keeps standard output for the file, and drops what is printed.
static int divert(const char **path) {
    static char name[sizeof folder_of_streams + 16];
    int data = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool is_good = data >= 0 && nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0;
    if (nowhere >= 0) {
        (void)close(nowhere);
    }
    if (!is_good) {
        return cli_failed("standard output cannot be written: %s", strerror(errno));
    }
    (void)snprintf(name, sizeof name, "%s%d", folder_of_streams, data);
    *path = name;
    return CLI_DONE;
}

int cli_streams_open(const cli_command *command, cli_options *options) {
    usage found = {0};
    int code = look_at_all(command, options, &found);
    if (code == CLI_DONE && found.n_input > 1) {
        return cli_usage("standard input (-) is named %d times and can be read once; give all but "
                         "one the name of a file",
                         found.n_input);
    }
    if (code == CLI_DONE && found.n_input > 0 &&
        (options->plan.checkpoint || options->plan.resume)) {
        return cli_usage("%s: a run that goes on reads its files again; give - the name of a file",
                         options->plan.checkpoint ? "--checkpoint" : "--resume");
    }
    return code == CLI_DONE && found.output ? divert(found.output) : code;
}
