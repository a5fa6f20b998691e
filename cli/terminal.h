// SPDX-License-Identifier: MIT
//
// Progress of long work on a terminal, and signals that ask it to stop.
//
//     cri_progress progress = cli_terminal_begin(options, "fit");
//     ... work that calls cri_progress_tell(&progress, &state) ...
//     cli_terminal_end();
//
// One line on stderr, redrawn at most ten times a second from half a second on, wiped out at the
// end. None on a pipe, on TERM=dumb, with --quiet, or while another job has the terminal. NO_COLOR
// leaves colours out.
//
// The first SIGINT or SIGTERM makes the next tick return false: the work ends with what it has, the
// command says so (cli_terminal_is_interrupted), and main ends with 128 and the signal's number,
// which is what shells make of a signal. The second ends the process at once. Only the line is ever
// changed, no mode of the terminal, so there is nothing to restore then.

#pragma once

#include "base/progress.h"
#include "options.h"

/// Begins to watch signals and, where there is a terminal, to draw. title is kept until the end.
/// One at a time.
cri_progress cli_terminal_begin(const cli_options *options, const char *title);

/// Wipes the line out and gives the signals back.
void cli_terminal_end(void);

/// Wipes the line out until the next tick, for a message.
void cli_terminal_clear(void);

/// True from the first signal on, also after the end.
bool cli_terminal_is_interrupted(void);

/// The exit code of the process for that of a command: after a signal that reached the work
/// CLI_DONE is not done. One that came after its last tick cut nothing off.
int cli_terminal_code(int code);
