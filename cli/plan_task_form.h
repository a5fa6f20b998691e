// SPDX-License-Identifier: MIT
//
// The form of task files: their keys, and the command lines that say the same.
//
//     {"carom-task": 1, "command": "plan", "scene": "throw.xml", "steps": 20, "set": ["u:a=1"]}
//     throw.xml --set=u:a=1 --steps=20

#pragma once

#include "base/arena.h"

#include <stdbool.h>

// what "carom-task" says of the files that are read and written here
#define CLI_TASK_VERSION 1

// room for a number as text: 17 digits, sign, point and exponent
#define CLI_NUMBER_ROOM 32

/// What a key's value is.
typedef enum cli_task_kind {
    CLI_TASK_TEXT,
    CLI_TASK_NUMBER,
    CLI_TASK_PATH,     // relative to the folder of the file
    CLI_TASK_REPEATED, // a list: an option for each item
    CLI_TASK_VALUES,   // as CLI_TASK_REPEATED, or {"NAME": VALUE}
    CLI_TASK_COMMAS,   // a list: one option, commas between the items
    CLI_TASK_FLAG,     // true or false
    CLI_TASK_NONE,     // an option that no file has
} cli_task_kind;

/// A key: the long name of an option without its dashes.
typedef struct cli_task_key {
    const char *name;
    cli_task_kind kind;
} cli_task_key;

/// All options of the command, in the order in which they are saved.
extern const cli_task_key cli_task_keys[];
extern const int cli_task_n_key;

/// What a task file brought.
struct cli_plan_task {
    cr_arena *memory;        // of the command line
    const char *description; // NULL: none
};

/// Index of the key whose name are the n bytes of text, -1: none.
int cli_task_find_key(const char *text, size_t n);

/// A command line, an option or word at a time.
typedef struct cli_task_cursor {
    int n_arg;
    char **arg;
    int at;         // the next argument
    int first;      // of the option or word
    bool is_closed; // -- was there
    bool is_word;
    int key;           // of an option, -1: a word, or an option without a key
    const char *value; // the word, or what the option is given; NULL: nothing
} cli_task_cursor;

/// Goes on to the next option or word; false at the end.
bool cli_task_advance(cli_task_cursor *cursor);

/// The fewest digits that bring value back.
void cli_task_put_number(double value, char text[CLI_NUMBER_ROOM]);

/// Four texts in one, on the arena; NULL when there is no memory.
char *cli_task_join(cr_arena *memory, const char *a, const char *b, const char *c, const char *d);

/// Is this "-"?
bool cli_task_is_standard(const char *path);

/// Says that there is no memory. Returns CLI_FAILED.
int cli_task_fail_memory(void);
