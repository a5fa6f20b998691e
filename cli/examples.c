// SPDX-License-Identifier: MIT
//
// carom examples: copies the examples, so that the tour works from any folder.
//
// All names are looked at before the first file is written: a file of the user's that differs is
// never overwritten, and one that is equal is left as it is, so that the command may be repeated.

#define _POSIX_C_SOURCE 200809L

#include "commands.h"

#include "../experiments/shipped.h"
#include "base/io/file.h"
#include "scene.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// more files than there will be
enum { FILE_LIMIT = 200 };

typedef struct copy {
    char name[64];
    char *text; // owned
    size_t n_byte;
    bool is_there; // with the same bytes
} copy;

typedef struct task {
    char from[CRI_SHIPPED_LIMIT];
    const char *to;
    copy file[FILE_LIMIT];
    int n_file;
} task;

static int join(char path[CRI_SHIPPED_LIMIT], const char *folder, const char *name) {
    int n = snprintf(path, CRI_SHIPPED_LIMIT, "%s/%s", folder, name);
    return n < CRI_SHIPPED_LIMIT ? CLI_DONE : cli_failed("%.80s...: too long a path", folder);
}

static int compare(const void *a, const void *b) {
    return strcmp(((const copy *)a)->name, ((const copy *)b)->name);
}

/// Lists the names of the shipped examples, in order.
static int list(task *t) {
    DIR *folder = opendir(t->from);
    if (!folder) {
        return cli_failed("%.150s: cannot be read: %s", t->from, strerror(errno));
    }
    for (struct dirent *entry = readdir(folder); entry && t->n_file < FILE_LIMIT;
         entry = readdir(folder)) {
        bool is_example = entry->d_name[0] != '.' && strcmp(entry->d_name, "CMakeLists.txt") != 0;
        if (is_example && strlen(entry->d_name) < sizeof t->file[0].name) {
            memcpy(t->file[t->n_file++].name, entry->d_name, strlen(entry->d_name) + 1);
        }
    }
    closedir(folder);
    qsort(t->file, (size_t)t->n_file, sizeof *t->file, compare);
    return CLI_DONE;
}

/// Reads an example and looks at what stands where it goes.
static int look(task *t, copy *file) {
    char path[CRI_SHIPPED_LIMIT];
    cr_error err = {0};
    int code = join(path, t->from, file->name);
    if (code == CLI_DONE && cri_file_read(path, &file->text, &file->n_byte, &err) != CR_OK) {
        code = cli_error(&err);
    }
    code = code == CLI_DONE ? join(path, t->to, file->name) : code;
    if (code != CLI_DONE || access(path, F_OK) != 0) {
        return code;
    }
    char *old = NULL;
    size_t n_old = 0;
    if (cri_file_read(path, &old, &n_old, &err) != CR_OK) {
        return cli_error(&err);
    }
    file->is_there = n_old == file->n_byte && memcmp(old, file->text, n_old) == 0;
    free(old);
    return file->is_there
               ? CLI_DONE
               : cli_failed(
                     "%.150s is there and differs from the example; nothing was copied, take "
                     "another folder",
                     path);
}

static int write_file(const task *t, const copy *file) {
    char path[CRI_SHIPPED_LIMIT];
    cri_atomic_file out;
    cr_error err = {0};
    int code = join(path, t->to, file->name);
    if (code != CLI_DONE || file->is_there) {
        return code;
    }
    if (cri_atomic_open(path, &out, &err) != CR_OK) {
        return cli_error(&err);
    }
    fwrite(file->text, 1, file->n_byte, out.stream); // a short write shows at the commit
    return cri_atomic_commit(&out, &err) == CR_OK ? CLI_DONE : cli_error(&err);
}

static int make_folder(const char *path) {
    struct stat info;
    if (mkdir(path, 0777) == 0) {
        return CLI_DONE;
    }
    int reason = errno;
    bool is_folder = reason == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    return is_folder ? CLI_DONE
                     : cli_failed("%.150s: cannot be made: %s", path,
                                  strerror(reason == EEXIST ? ENOTDIR : reason));
}

static int copy_all(task *t) {
    int code = list(t);
    for (int i = 0; i < t->n_file && code == CLI_DONE; i++) {
        code = look(t, &t->file[i]);
    }
    code = code == CLI_DONE ? make_folder(t->to) : code;
    for (int i = 0; i < t->n_file && code == CLI_DONE; i++) {
        code = write_file(t, &t->file[i]);
    }
    for (int i = 0; i < t->n_file; i++) {
        free(t->file[i].text);
    }
    return code;
}

static int run(const cli_options *options) {
    task *t = calloc(1, sizeof *t);
    cr_error err = {0};
    if (!t) {
        return cli_failed("no memory for the examples");
    }
    t->to = options->word[0];
    if (strcmp(t->to, "-") == 0 || *t->to == '\0') {
        free(t);
        return cli_usage("examples '%s': give the name of a folder", options->word[0]);
    }
    int code = cri_shipped_path("examples", t->from, &err) == CR_OK ? copy_all(t) : cli_error(&err);
    if (code == CLI_DONE && !options->use_quiet) {
        printf("%d examples in %s\n", t->n_file, t->to);
    }
    free(t);
    return code;
}

const cli_command cli_examples = {
    .name = "examples",
    .arguments = "DIR",
    .summary = "copy the examples to a folder",
    .help = "The folder is made when it is not there. 'carom examples examples' makes the tour\n"
            "(docs/tour.md) work from where you are. Files that are there and differ are not\n"
            "overwritten: then nothing is copied.\n\n",
    .takes = CLI_TAKES_FOLDER,
    .n_word_least = 1,
    .n_word_most = 1,
    .run = run,
};
