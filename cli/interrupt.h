// SPDX-License-Identifier: MIT
//
// Ctrl-C and a polite kill: long work ends between two iterations and keeps what it has.

#pragma once

#include <stdbool.h>

/// From now on SIGINT and SIGTERM are noted; the second one ends the program as usual.
void cli_interrupt_listen(void);

/// True when one has come.
bool cli_interrupt_came(void);
