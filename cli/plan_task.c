// SPDX-License-Identifier: MIT
//
// Task files of carom plan.
//
//     {"carom-task": 1, "command": "plan", "scene": "throw.xml",
//      "target": ["ball:2.5,0.5,0.15@1.1"], "controls": ["x0:ball/qvel[0]", "x0:ball/qvel[1]"]}
//
// Every option has its long name without dashes as a key. A file becomes a command line,
//
//     throw.xml --target=ball:2.5,0.5,0.15@1.1 --controls=x0:ball/qvel[0],x0:ball/qvel[1]
//
// which the parser of all commands takes apart, so that each check has one place. What the real
// command line gives comes behind it, and the file's options of the same name are left out.
// --save-task goes the other way: from the command line that is run to a file.
//
// Paths in a file are relative to the folder of the file. Tests are in test/cli/plan_task_test.py.

#define _POSIX_C_SOURCE 200809L

#include "plan_task.h"

#include "base/io/file.h"
#include "base/io/number.h"
#include "plan_task_form.h"
#include "scene.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// largest file, bytes: every option at its longest takes less
#define TASK_LIMIT ((size_t)1 << 20)

// keys that are no options: those that every task has, and one for its readers
static const char *const needed[] = {"carom-task", "command", "scene"};
#define DESCRIPTION "description"

// ---- which word is a task ----------------------------------------------------------------------

/// The first byte of a file that is not blank, EOF when there is none.
static int first_byte(FILE *stream) {
    int c = getc(stream);
    while (c != EOF && cri_number_is_space((char)c)) {
        c = getc(stream);
    }
    return c;
}

/// Is this a task file, by its name or else by its first byte? Pipes have only their name: what is
/// read from them is gone.
static bool is_task(const char *path) {
    const char *extension = cli_extension(path);
    struct stat about;
    if (cli_task_is_standard(path)) {
        int c = first_byte(stdin);
        ungetc(c, stdin);
        return c == '{';
    }
    if (extension && strcmp(extension, ".json") == 0) {
        return true;
    }
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) {
        return false;
    }
    FILE *stream = fopen(path, "rb");
    bool is_object = stream && first_byte(stream) == '{';
    if (stream) {
        fclose(stream);
    }
    return is_object;
}

/// The task file among the words, *path NULL: none, or help was asked for.
static int find_task(int n_arg, char **arg, const char **path) {
    cli_task_cursor c = {.n_arg = n_arg, .arg = arg};
    const char *word[2] = {NULL, NULL};
    int n_word = 0;
    *path = NULL;
    while (cli_task_advance(&c)) {
        const char *text = arg[c.first];
        if (!c.is_word && (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)) {
            return CLI_DONE;
        }
        if (c.is_word && n_word < 2) {
            word[n_word++] = c.value;
        }
    }
    for (int i = 0; i < n_word && !*path; i++) {
        *path = is_task(word[i]) ? word[i] : NULL;
    }
    return *path && n_word > 1 ? cli_usage("%.80s and %.80s: a task file has the scene in it; give "
                                           "one of the two",
                                           word[0], word[1])
                               : CLI_DONE;
}

// ---- reading -----------------------------------------------------------------------------------

/// A task file on its way to a command line.
typedef struct reader {
    const char *file;   // for messages
    const char *folder; // with its slash at the end, "": the working folder
    char *text;
    json_t *root;
    cr_arena *memory;
    char **arg; // the scene, and the options
    int *key;   // of each
    int n_arg;
} reader;

/// Line of a key of the outermost object in text, which is JSON; 0 when it is spelt otherwise.
static int line_of(const char *text, const char *key) {
    size_t n = strlen(key);
    int line = 1;
    int depth = 0;
    for (const char *c = text; *c; c++) {
        line += *c == '\n';
        depth += (*c == '{' || *c == '[') - (*c == '}' || *c == ']');
        if (*c != '"') {
            continue;
        }
        const char *end = c + 1;
        while (*end != '"') {
            end += *end == '\\' ? 2 : 1;
        }
        bool is_name = end[1 + strspn(end + 1, " \t\r\n")] == ':';
        if (depth == 1 && is_name && (size_t)(end - c) == n + 1 && strncmp(c + 1, key, n) == 0) {
            return line;
        }
        c = end;
    }
    return 0;
}

/// One line on stderr about a key of the file. Returns CLI_USAGE.
static int refuse(const reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int refuse(const reader *r, const char *key, const char *format, ...) {
    char message[160];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    cr_error err = {0};
    cri_file_fail(&err, CR_ERR_SYNTAX, r->file, line_of(r->text, key), "\"%.40s\": %s", key,
                  message);
    return cli_usage("%s", err.text);
}

/// All of standard input, or of a file.
static cr_status read_text(const char *path, char **text, size_t *n_byte, cr_error *err) {
    struct stat about;
    *text = NULL;
    if (!cli_task_is_standard(path)) {
        bool is_large = stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
                        (uint64_t)about.st_size > TASK_LIMIT;
        *n_byte = TASK_LIMIT + 1;
        return is_large ? CR_OK : cri_file_read(path, text, n_byte, err);
    }
    *text = malloc(TASK_LIMIT + 2);
    if (!*text) {
        return cri_file_fail_memory(err, "standard input");
    }
    *n_byte = fread(*text, 1, TASK_LIMIT + 1, stdin);
    (*text)[*n_byte] = '\0';
    return ferror(stdin) ? cri_file_fail(err, CR_ERR_FILE, "standard input", 0, "cannot be read")
                         : CR_OK;
}

/// Fills text and root.
static int read_json(const char *path, reader *r) {
    cr_error err = {0};
    size_t n_byte = 0;
    if (read_text(path, &r->text, &n_byte, &err) != CR_OK) {
        return cli_error(&err);
    }
    if (n_byte > TASK_LIMIT) {
        return cli_failed("%s: is larger than %zu MiB, which no task is", r->file,
                          TASK_LIMIT >> 20);
    }
    json_error_t where;
    r->root = json_loadb(r->text, n_byte, JSON_REJECT_DUPLICATES, &where);
    if (!r->root) {
        bool is_empty = r->text[strspn(r->text, " \t\r\n")] == '\0';
        cri_file_fail(&err, CR_ERR_SYNTAX, r->file, where.line, "wrong JSON at column %d: %.100s",
                      where.column, is_empty ? "there is nothing in it" : where.text);
        return cli_error(&err);
    }
    return json_is_object(r->root)
               ? CLI_DONE
               : cli_failed("%s: is no task: expected an object, {\"carom-task\": %d, ...}",
                            r->file, CLI_TASK_VERSION);
}

/// True for text that a message shows on one line.
static bool is_plain(const char *text) {
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            return false;
        }
    }
    return true;
}

/// Checks that the file has the keys that it needs, and none that is unknown.
static int check_keys(const reader *r) {
    // none that is unknown
    const char *key;
    json_t *value;
    json_object_foreach(r->root, key, value) {
        bool is_known = strcmp(key, DESCRIPTION) == 0;
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
            is_known = is_known || strcmp(key, needed[i]) == 0;
        }
        int k = cli_task_find_key(key, strlen(key));
        if (!is_known && (k < 0 || cli_task_keys[k].kind == CLI_TASK_NONE)) {
            return refuse(r, key,
                          "a task has no such key; keys are the options in 'carom help "
                          "plan' without dashes");
        }
    }
    // all that it needs
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!json_object_get(r->root, needed[i])) {
            return refuse(r, needed[i],
                          "is missing; a task has \"carom-task\": %d, \"command\": "
                          "\"plan\" and \"scene\"",
                          CLI_TASK_VERSION);
        }
    }
    return CLI_DONE;
}

/// Checks the values that are no options.
static int check_heads(const reader *r) {
    const json_t *version = json_object_get(r->root, "carom-task");
    if (json_number_value(version) != CLI_TASK_VERSION) {
        return refuse(r, "carom-task",
                      "expected %d, the only version of task files that this "
                      "carom reads",
                      CLI_TASK_VERSION);
    }
    const char *command = json_string_value(json_object_get(r->root, "command"));
    if (!command || strcmp(command, "plan") != 0) {
        return refuse(r, "command", "expected \"plan\"%s%.40s",
                      command ? "; this task is for carom " : "", command ? command : "");
    }
    const json_t *description = json_object_get(r->root, DESCRIPTION);
    if (description && !json_is_string(description)) {
        return refuse(r, DESCRIPTION, "expected text in quotes");
    }
    const char *scene = json_string_value(json_object_get(r->root, "scene"));
    return scene && *scene && is_plain(scene)
               ? CLI_DONE
               : refuse(r, "scene", "expected the name of a scene's file in quotes");
}

/// What stands for value on a command line, valid as long as room and the file; NULL when it is
/// neither a text for one line nor, where has_numbers, a number.
static const char *text_of(const json_t *value, bool has_numbers, char room[CLI_NUMBER_ROOM]) {
    const char *text = json_string_value(value);
    if (!text && has_numbers && json_is_integer(value)) {
        snprintf(room, CLI_NUMBER_ROOM, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return room;
    }
    if (!text && has_numbers && json_is_real(value)) {
        cli_task_put_number(json_real_value(value), room);
        return room;
    }
    return text && is_plain(text) ? text : NULL;
}

/// A path of the file, from the working folder.
static char *path_from(const reader *r, const char *path) {
    bool is_whole = path[0] == '/' || cli_task_is_standard(path);
    // a name must not pass for an option
    const char *here = !is_whole && r->folder[0] == '\0' && path[0] == '-' ? "./" : "";
    return cli_task_join(r->memory, is_whole ? "" : r->folder, here, path, "");
}

static int push_arg(reader *r, int k, const char *value) {
    char *arg =
        cli_task_join(r->memory, "--", cli_task_keys[k].name, value ? "=" : "", value ? value : "");
    if (!arg) {
        return cli_task_fail_memory();
    }
    r->key[r->n_arg] = k;
    r->arg[r->n_arg++] = arg;
    return CLI_DONE;
}

static int refuse_kind(const reader *r, int k) {
    switch (cli_task_keys[k].kind) {
    case CLI_TASK_NUMBER:
        return refuse(r, cli_task_keys[k].name, "expected a number");
    case CLI_TASK_FLAG:
        return refuse(r, cli_task_keys[k].name, "expected true or false");
    case CLI_TASK_REPEATED:
    case CLI_TASK_COMMAS:
        return refuse(r, cli_task_keys[k].name,
                      "expected a list of texts, [\"...\", ...], one or more");
    case CLI_TASK_VALUES:
        return refuse(r, cli_task_keys[k].name,
                      "expected {\"NAME\": VALUE, ...} or [\"NAME=VALUE\", ...]");
    case CLI_TASK_PATH:
        return refuse(r, cli_task_keys[k].name, "expected the name of a file in quotes");
    case CLI_TASK_TEXT:
    case CLI_TASK_NONE:
        break;
    }
    return refuse(r, cli_task_keys[k].name, "expected text in quotes, on one line");
}

/// An option for each item of a list.
static int take_repeated(reader *r, int k, const json_t *list) {
    char room[CLI_NUMBER_ROOM];
    int code = CLI_DONE;
    for (size_t i = 0; i < json_array_size(list) && code == CLI_DONE; i++) {
        const char *text = text_of(json_array_get(list, i), false, room);
        code = text ? push_arg(r, k, text) : refuse_kind(r, k);
    }
    return code;
}

/// One option for all items of a list.
static int take_commas(reader *r, int k, const json_t *list) {
    char room[CLI_NUMBER_ROOM];
    size_t n_item = json_array_size(list);
    size_t n_byte = 1;
    for (size_t i = 0; i < n_item; i++) {
        const char *text = text_of(json_array_get(list, i), true, room);
        if (!text) {
            return refuse_kind(r, k);
        }
        n_byte += strlen(text) + 1;
    }
    char *all = CR_PUSH(r->memory, char, n_byte);
    if (!all) {
        return cli_task_fail_memory();
    }
    char *end = all;
    for (size_t i = 0; i < n_item; i++) {
        const char *text = text_of(json_array_get(list, i), true, room);
        *end = ',';
        end = stpcpy(i > 0 ? end + 1 : end, text);
    }
    return n_item > 0 ? push_arg(r, k, all) : refuse_kind(r, k);
}

/// An option NAME=VALUE for each member of an object.
static int take_members(reader *r, int k, json_t *object) {
    char room[CLI_NUMBER_ROOM];
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        const char *text = is_plain(name) ? text_of(value, true, room) : NULL;
        char *both = text ? cli_task_join(r->memory, name, "=", text, "") : NULL;
        int code = !text ? refuse_kind(r, k) : both ? push_arg(r, k, both) : cli_task_fail_memory();
        if (code != CLI_DONE) {
            return code;
        }
    }
    return CLI_DONE;
}

/// Turns the value of a key into options.
static int take_key(reader *r, int k, json_t *value) {
    cli_task_kind kind = cli_task_keys[k].kind;
    if (kind == CLI_TASK_FLAG) {
        return json_is_true(value)    ? push_arg(r, k, NULL)
               : json_is_false(value) ? CLI_DONE
                                      : refuse_kind(r, k);
    }
    if (json_is_array(value) && kind == CLI_TASK_COMMAS) {
        return take_commas(r, k, value);
    }
    if (json_array_size(value) > 0 && (kind == CLI_TASK_REPEATED || kind == CLI_TASK_VALUES)) {
        return take_repeated(r, k, value);
    }
    if (json_is_object(value) && kind == CLI_TASK_VALUES) {
        return take_members(r, k, value);
    }

    // one value
    char room[CLI_NUMBER_ROOM];
    const char *text = text_of(value, kind == CLI_TASK_NUMBER, room);
    if (!text || !*text) {
        return refuse_kind(r, k);
    }
    const char *path = kind == CLI_TASK_PATH ? path_from(r, text) : text;
    return path ? push_arg(r, k, path) : cli_task_fail_memory();
}

/// Fills the command line, which has room for what comes behind it.
static int take_all(reader *r, int n_more) {
    const char *scene = json_string_value(json_object_get(r->root, "scene"));
    size_t n = 1 + (size_t)n_more;
    for (int k = 0; k < cli_task_n_key; k++) {
        const json_t *value = json_object_get(r->root, cli_task_keys[k].name);
        n += 1 + json_array_size(value) + json_object_size(value);
    }

    // the scene, then options in the order of the keys
    r->arg = CR_PUSH(r->memory, char *, n);
    r->key = CR_PUSH(r->memory, int, n);
    char *path = path_from(r, scene);
    if (!r->arg || !r->key || !path) {
        return cli_task_fail_memory();
    }
    r->key[0] = -1;
    r->arg[r->n_arg++] = path;
    int code = CLI_DONE;
    for (int k = 0; k < cli_task_n_key && code == CLI_DONE; k++) {
        json_t *value = json_object_get(r->root, cli_task_keys[k].name);
        code = value ? take_key(r, k, value) : CLI_DONE;
    }
    return code;
}

/// Does the command line give the option of key k?
static bool is_given(int n_arg, char **arg, int k) {
    cli_task_cursor c = {.n_arg = n_arg, .arg = arg};
    while (cli_task_advance(&c)) {
        if (c.key == k && k >= 0) {
            return true;
        }
    }
    return false;
}

/// Drops what the real command line replaces, and appends it without its word.
static void put_behind(reader *r, int n_arg, char **arg) {
    int n = 0;
    for (int i = 0; i < r->n_arg; i++) {
        if (!is_given(n_arg, arg, r->key[i])) {
            r->arg[n++] = r->arg[i];
        }
    }
    cli_task_cursor c = {.n_arg = n_arg, .arg = arg};
    while (cli_task_advance(&c)) {
        for (int i = c.first; i < c.at && !c.is_word; i++) {
            r->arg[n++] = arg[i];
        }
    }
    r->n_arg = n;
}

/// From a task file to options: those of the file are checked by themselves, so that a complaint
/// names it, and then with those of the command line.
static int parse_file(const cli_command *command, const char *path, int n_arg, char **arg,
                      cli_options *out, cli_plan_task *task) {
    bool is_input = cli_task_is_standard(path);
    const char *slash = strrchr(path, '/');
    reader r = {.file = is_input ? "standard input" : path, .memory = task->memory};
    char *folder = cri_arena_push_text(task->memory, slash ? path : "");
    if (!folder) {
        return cli_task_fail_memory();
    }
    folder[slash ? slash - path + 1 : 0] = '\0';
    r.folder = folder;

    // the file becomes a command line
    int code = read_json(path, &r);
    code = code == CLI_DONE ? check_keys(&r) : code;
    code = code == CLI_DONE ? check_heads(&r) : code;
    code = code == CLI_DONE ? take_all(&r, n_arg) : code;
    // which must be right by itself
    if (code == CLI_DONE) {
        cli_say_about(r.file);
        code = cli_options_parse(command, r.n_arg, r.arg, out);
        cli_say_about(NULL);
    }
    // what was typed comes behind it
    if (code == CLI_DONE) {
        const char *text = json_string_value(json_object_get(r.root, DESCRIPTION));
        task->description = text ? cri_arena_push_text(task->memory, text) : NULL;
        put_behind(&r, n_arg, arg);
        code = cli_options_parse(command, r.n_arg, r.arg, out);
    }
    json_decref(r.root);
    free(r.text);
    return code;
}

int cli_plan_task_parse(const cli_command *command, int n_arg, char **arg, cli_options *out) {
    const char *path = NULL;
    out->plan.task = NULL;
    int code = command->known & CLI_PLAN ? find_task(n_arg, arg, &path) : CLI_DONE;
    if (code != CLI_DONE || !path) {
        return code == CLI_DONE ? cli_options_parse(command, n_arg, arg, out) : code;
    }
    cli_plan_task *task = calloc(1, sizeof *task);
    if (!task || !(task->memory = cri_arena_create(1 << 12))) {
        free(task);
        return cli_task_fail_memory();
    }
    code = parse_file(command, path, n_arg, arg, out, task);
    out->plan.task = task;
    out->plan.task_file = path;
    return code;
}

void cli_plan_task_free(cli_options *options) {
    if (options->plan.task) {
        cri_arena_destroy(options->plan.task->memory);
        free(options->plan.task);
        options->plan.task = NULL;
    }
}
