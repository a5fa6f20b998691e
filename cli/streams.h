// SPDX-License-Identifier: MIT
//
// Files of the command line: which of them are standard input and output, and whether the others
// can be written.

#pragma once

#include "options.h"

/// Looks at every file that the options name, before any work. A folder that cannot be written to
/// is told, and what - cannot stand for. Where - stands for standard output, the result alone goes
/// there: its name becomes /dev/fd/N, and all that is printed is dropped. Returns an exit code.
int cli_streams_open(const cli_command *command, cli_options *options);

/// Is path such a name?
bool cli_is_stream(const char *path);
