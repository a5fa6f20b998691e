// SPDX-License-Identifier: MIT
//
// The form of task files. Tests are in test/cli/plan_task_test.py.

#include "plan_task_form.h"

#include "base/io/number.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

const cli_task_key cli_task_keys[] = {
    {"law", CLI_TASK_TEXT},          {"stepper", CLI_TASK_TEXT},     {"dt", CLI_TASK_NUMBER},
    {"key", CLI_TASK_TEXT},          {"set", CLI_TASK_VALUES},       {"control", CLI_TASK_PATH},
    {"overlap", CLI_TASK_TEXT},      {"outside", CLI_TASK_TEXT},     {"target", CLI_TASK_REPEATED},
    {"radius", CLI_TASK_NUMBER},     {"tolerance", CLI_TASK_NUMBER}, {"controls", CLI_TASK_COMMAS},
    {"knots", CLI_TASK_NUMBER},      {"sines", CLI_TASK_NUMBER},     {"bound", CLI_TASK_REPEATED},
    {"cost", CLI_TASK_NUMBER},       {"steps", CLI_TASK_NUMBER},     {"method", CLI_TASK_TEXT},
    {"iterations", CLI_TASK_NUMBER}, {"rate", CLI_TASK_NUMBER},      {"beta", CLI_TASK_COMMAS},
    {"halve", CLI_TASK_NUMBER},      {"starts", CLI_TASK_NUMBER},    {"samples", CLI_TASK_NUMBER},
    {"spread", CLI_TASK_NUMBER},     {"seed", CLI_TASK_NUMBER},      {"threads", CLI_TASK_NUMBER},
    {"bundle", CLI_TASK_TEXT},       {"smoothing", CLI_TASK_NUMBER}, {"surrogate", CLI_TASK_TEXT},
    {"horizon", CLI_TASK_NUMBER},    {"execute", CLI_TASK_NUMBER},   {"focus", CLI_TASK_NUMBER},
    {"checkpoint", CLI_TASK_PATH},   {"resume", CLI_TASK_PATH},      {"plan", CLI_TASK_PATH},
    {"output", CLI_TASK_PATH},       {"json", CLI_TASK_PATH},        {"report", CLI_TASK_PATH},
    {"quiet", CLI_TASK_FLAG},        {"save-task", CLI_TASK_NONE},
};

const int cli_task_n_key = (int)(sizeof cli_task_keys / sizeof *cli_task_keys);

int cli_task_find_key(const char *text, size_t n) {
    for (int k = 0; k < cli_task_n_key; k++) {
        if (strlen(cli_task_keys[k].name) == n && strncmp(cli_task_keys[k].name, text, n) == 0) {
            return k;
        }
    }
    return -1;
}

// ---- command lines -----------------------------------------------------------------------------

/// The key of an option whose name are the n bytes of text, with its dashes.
static int key_of(const char *text, size_t n) {
    if (n == 2 && text[1] == 'o') {
        return cli_task_find_key("output", 6);
    }
    if (n == 2 && text[1] == 'q') {
        return cli_task_find_key("quiet", 5);
    }
    return n > 2 && text[1] == '-' ? cli_task_find_key(text + 2, n - 2) : -1;
}

bool cli_task_advance(cli_task_cursor *c) {
    if (c->at < c->n_arg && !c->is_closed && strcmp(c->arg[c->at], "--") == 0) {
        c->is_closed = true;
        c->at++;
    }
    if (c->at >= c->n_arg) {
        return false;
    }
    c->first = c->at;
    const char *text = c->arg[c->at++];
    c->is_word = c->is_closed || text[0] != '-' || text[1] == '\0';
    c->key = -1;
    c->value = text;
    if (c->is_word) {
        return true;
    }

    size_t n = strcspn(text, "=");
    c->key = key_of(text, n);
    c->value = text[n] == '=' ? text + n + 1 : NULL;
    bool is_flag =
        c->key >= 0 ? cli_task_keys[c->key].kind == CLI_TASK_FLAG : strcmp(text, "--help") == 0;
    if (!c->value && !is_flag && c->at < c->n_arg) {
        c->value = c->arg[c->at++];
    }
    return true;
}

// ---- texts -------------------------------------------------------------------------------------

void cli_task_put_number(double value, char text[CLI_NUMBER_ROOM]) {
    for (int n = 15; n <= 17; n++) {
        double back = 0.0;
        snprintf(text, CLI_NUMBER_ROOM, "%.*g", n, value);
        if (cri_number_parse(text, strlen(text), &back) == CRI_NUMBER_OK && back == value) {
            return;
        }
    }
}

char *cli_task_join(cr_arena *memory, const char *a, const char *b, const char *c, const char *d) {
    size_t n = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = CR_PUSH(memory, char, n);
    if (text) {
        snprintf(text, n, "%s%s%s%s", a, b, c, d);
    }
    return text;
}

bool cli_task_is_standard(const char *path) {
    return strcmp(path, "-") == 0;
}

int cli_task_fail_memory(void) {
    return cli_failed("no memory for a task");
}
