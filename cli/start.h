// SPDX-License-Identifier: MIT
//
// The command as a function, for the program carom and for programs that bring laws of their own.

#pragma once

#include <stdbool.h>

/// Runs the command that argv[1] names. Returns the exit code.
int cli_command_main(int argc, char **argv);
