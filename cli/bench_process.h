// SPDX-License-Identifier: MIT
//
// What a benchmark measures from outside: this program, started again.

#pragma once

#include "options.h"

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

/// Instructions of one unit of work: 'carom bench --work WORK WORD N' is counted for n_before and
/// n_before + n units. CLI_FAILED with a line on stderr when valgrind is not there.
int cli_bench_count(const char *work, const char *text, int n_before, int n, double *instructions);

/// Instructions a step over n_step steps, by callgrind. CLI_FAILED with a line on stderr when
/// valgrind is not there.
int cli_bench_instructions(const char *scene, int n_step, double *instructions);
