// SPDX-License-Identifier: MIT
//
// What a benchmark measures from outside: this program, started again.

#pragma once

#include "cli/options.h"

// room for what a measured process prints
#define CLI_PROCESS_TEXT 65536

/// Runs argument[0], searched in PATH, with arguments up to NULL; what it prints on both streams
/// goes to text. Returns false when it cannot start or does not exit with 0.
bool cli_process_run(const char *const *argument, char text[CLI_PROCESS_TEXT]);

/// Path of this program. False when the system does not tell.
bool cli_process_self(char *path, size_t n_byte);

/// Milliseconds from the start of a process to the end of its first gradient, least of several.
int cli_bench_start(double *milliseconds);

/// True when instructions can be counted.
bool cli_bench_has_valgrind(void);

/// What callgrind counts.
typedef struct cli_bench_count {
    const char *work; // as of carom bench --work
    const char *scene;
    const char *stepper; // NULL: the scene's
    const char *law;     // NULL: the scene's
    int n_before;        // counted and taken off, 0: a few
    int n_step;
} cli_bench_count;

/// Instructions a step over n_step steps, by callgrind; n_refused, if not NULL, of them had no
/// derivative. CLI_FAILED with a line on stderr when valgrind is not there.
int cli_bench_instructions(const cli_bench_count *count, double *instructions, int *n_refused);
