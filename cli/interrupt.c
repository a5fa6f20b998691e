// SPDX-License-Identifier: MIT
//
// Ctrl-C and a polite kill.

#define _POSIX_C_SOURCE 200809L

#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t has_come;

static void note(int number) {
    (void)number;
    has_come = 1;
}

void cli_interrupt_listen(void) {
    struct sigaction action = {.sa_handler = note};
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool cli_interrupt_came(void) {
    return has_come;
}
