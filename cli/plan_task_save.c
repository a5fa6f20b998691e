// SPDX-License-Identifier: MIT
//
// Saves the task that carom plan runs: its command line, written as a task file. Paths become
// relative to the folder of the file, as they are read. Tests are in test/cli/plan_task_test.py.

#define _XOPEN_SOURCE 700

#include "plan_task.h"

#include "base/io/file.h"
#include "base/io/number.h"
#include "plan_task_form.h"
#include "scene.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_plan_task_check(const cli_options *options) {
    const char *file = options->plan.save_task;
    if (!file) {
        return CLI_DONE;
    }
    const char *extension = cli_extension(file);
    if (cli_task_is_standard(file) || (extension && strcmp(extension, ".json") != 0)) {
        return cli_usage("--save-task %.80s: a task is JSON, its name should end in .json", file);
    }
    const char *input = cli_task_is_standard(options->word[0])                       ? "scene"
                        : options->control && cli_task_is_standard(options->control) ? "--control"
                                                                                     : NULL;
    return input ? cli_usage("--save-task %.80s: the %s comes from standard input, which a task "
                             "cannot name; save that to a file first",
                             file, input)
                 : CLI_DONE;
}

/// A task on its way to a file.
typedef struct writer {
    FILE *stream;
    cr_arena *memory;
    const char *name;   // of the file
    const char *folder; // of the file, real
    const char *here;   // working folder, real
} writer;

/// The real folder of a file, on the arena; NULL when it is not there.
static char *folder_of(cr_arena *memory, const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = cri_arena_push_text(memory, slash ? path : "./");
    char *copy = NULL;
    if (folder) {
        folder[slash ? slash - path + 1 : 2] = '\0';
        char *real = realpath(folder, NULL);
        copy = real ? cri_arena_push_text(memory, real) : NULL;
        free(real);
    }
    return copy;
}

/// A path from folder to the folder other, "" when they are one, else with a slash at its end;
/// other itself when they share nothing. Both are real paths.
static char *way_between(cr_arena *memory, const char *folder, const char *other) {
    size_t n_same = 0; // bytes of the folders that both are in
    size_t n = 0;
    for (; folder[n] && folder[n] == other[n]; n++) {
        n_same = other[n] == '/' ? n : n_same;
    }
    bool is_folder_end = folder[n] == '\0' && (other[n] == '/' || other[n] == '\0');
    bool is_other_end = other[n] == '\0' && (folder[n] == '/' || folder[n] == '\0');
    n_same = is_folder_end || is_other_end ? n : n_same;
    if (n_same <= 1) {
        return cli_task_join(memory, other, other[1] ? "/" : "", "", "");
    }
    char *way = cri_arena_push_text(memory, "");
    for (const char *c = folder + n_same; *c && way; c++) {
        way = *c == '/' ? cli_task_join(memory, way, "../", "", "") : way;
    }
    const char *rest = other + n_same + (other[n_same] == '/' ? 1 : 0);
    return way ? cli_task_join(memory, way, rest, *rest ? "/" : "", "") : NULL;
}

/// Writes text in quotes.
static int put_text(const writer *w, const char *text) {
    json_t *value = json_string(text);
    char *dump = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    if (!dump) {
        return cli_failed("--save-task %.80s: JSON is UTF-8, and this is not: %.80s", w->name,
                          text);
    }
    fputs(dump, w->stream);
    free(dump);
    return CLI_DONE;
}

/// Writes a path of the command line as the file has it.
static int put_path(const writer *w, const char *path) {
    bool is_here = strcmp(w->folder, w->here) == 0 && !strstr(path, "../");
    if (path[0] == '/' || is_here || cli_task_is_standard(path)) {
        return put_text(w, path);
    }
    const char *slash = strrchr(path, '/');
    char *folder = folder_of(w->memory, path);
    char *way = folder ? way_between(w->memory, w->folder, folder) : NULL;
    char *all = way ? cli_task_join(w->memory, way, slash ? slash + 1 : path, "", "") : NULL;
    return all ? put_text(w, all)
               : cli_failed("--save-task %.80s: there is no folder of %.80s", w->name, path);
}

/// Writes a number as a number, all else in quotes.
static int put_item(const writer *w, const char *text) {
    double value = 0.0;
    char room[CLI_NUMBER_ROOM];
    if (cri_number_parse(text, strlen(text), &value) != CRI_NUMBER_OK) {
        return put_text(w, text);
    }
    cli_task_put_number(value, room);
    fputs(room, w->stream);
    return CLI_DONE;
}

/// Writes a list, an item a line.
static int put_list(const writer *w, int n, const char *const *item, bool has_numbers) {
    int code = CLI_DONE;
    for (int i = 0; i < n && code == CLI_DONE; i++) {
        fputs(i == 0 ? "[\n    " : ",\n    ", w->stream);
        code = has_numbers ? put_item(w, item[i]) : put_text(w, item[i]);
    }
    fputs("\n  ]", w->stream);
    return code;
}

/// Writes a list of what stands between the commas of text.
static int put_commas(const writer *w, const char *text) {
    char *copy = cri_arena_push_text(w->memory, text);
    const char **item = CR_PUSH(w->memory, const char *, strlen(text) + 1);
    int n = 0;
    if (!copy || !item) {
        return cli_task_fail_memory();
    }
    for (char *at = copy; at;) {
        char *comma = strchr(at, ',');
        item[n++] = at;
        at = comma ? comma + 1 : NULL;
        if (comma) {
            *comma = '\0';
        }
    }
    return put_list(w, n, item, true);
}

static int put_value(const writer *w, cli_task_kind kind, int n, const char *const *value) {
    switch (kind) {
    case CLI_TASK_REPEATED:
    case CLI_TASK_VALUES:
        return put_list(w, n, value, false);
    case CLI_TASK_COMMAS:
        return put_commas(w, value[0]);
    case CLI_TASK_NUMBER:
        return put_item(w, value[0]);
    case CLI_TASK_PATH:
        return put_path(w, value[0]);
    case CLI_TASK_FLAG:
        fputs("true", w->stream);
        return CLI_DONE;
    case CLI_TASK_TEXT:
    case CLI_TASK_NONE:
        break;
    }
    return put_text(w, value[0]);
}

/// Values of an option (CLI_REPEAT_LIMIT) as the command line has them. Returns how many.
static int values_of(const cli_options *options, int k, const char **value) {
    cli_task_cursor c = {.n_arg = options->n_arg, .arg = options->arg};
    int n = 0;
    while (cli_task_advance(&c)) {
        if (c.key == k && n < CLI_REPEAT_LIMIT) {
            value[n++] = c.value;
        }
    }
    return n;
}

static int put_task(const writer *w, const cli_options *options) {
    const cli_plan_task *task = options->plan.task;
    const char *value[CLI_REPEAT_LIMIT];
    fprintf(w->stream, "{\n  \"carom-task\": %d,\n  \"command\": \"plan\"", CLI_TASK_VERSION);
    int code = CLI_DONE;
    if (task && task->description) {
        fputs(",\n  \"description\": ", w->stream);
        code = put_text(w, task->description);
    }
    fputs(",\n  \"scene\": ", w->stream);
    code = code == CLI_DONE ? put_path(w, options->word[0]) : code;
    for (int k = 0; k < cli_task_n_key && code == CLI_DONE; k++) {
        int n = cli_task_keys[k].kind == CLI_TASK_NONE ? 0 : values_of(options, k, value);
        if (n > 0) {
            fprintf(w->stream, ",\n  \"%s\": ", cli_task_keys[k].name);
            code = put_value(w, cli_task_keys[k].kind, n, value);
        }
    }
    fputs("\n}\n", w->stream);
    return code;
}

/// Refuses an option that the file would lose.
static int check_complete(const cli_options *options) {
    cli_task_cursor c = {.n_arg = options->n_arg, .arg = options->arg};
    while (cli_task_advance(&c)) {
        if (!c.is_word && c.key < 0) {
            return cli_usage("--save-task: task files have no key for %.60s", c.arg[c.first]);
        }
    }
    return CLI_DONE;
}

int cli_plan_task_save(const cli_options *options) {
    writer w = {.name = options->plan.save_task};
    cr_error err = {0};
    int code = w.name ? check_complete(options) : CLI_DONE;
    if (!w.name || code != CLI_DONE) {
        return code;
    }
    w.memory = cri_arena_create(1 << 12);
    if (!w.memory) {
        return cli_task_fail_memory();
    }
    // whole or not at all
    w.folder = folder_of(w.memory, w.name);
    w.here = folder_of(w.memory, "");
    cri_atomic_file file;
    if (!w.folder || !w.here) {
        code = cli_failed("--save-task %.80s: %s", w.name, strerror(errno));
    } else if (cri_atomic_open(w.name, &file, &err) != CR_OK) {
        code = cli_error(&err);
    } else {
        w.stream = file.stream;
        code = put_task(&w, options);
        if (code != CLI_DONE) {
            cri_atomic_cancel(&file);
        } else if (cri_atomic_commit(&file, &err) != CR_OK) {
            code = cli_error(&err);
        }
    }
    cri_arena_destroy(w.memory);
    return code;
}
