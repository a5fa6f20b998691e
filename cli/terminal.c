// SPDX-License-Identifier: MIT
//
// Progress of long work on a terminal, and signals that ask it to stop.

#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE // struct winsize

#include "terminal.h"

#include "scene.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// nothing is drawn before, s: a line that comes and goes at once is a flicker
#define FIRST_DRAW 0.5

// least time between two lines, s
#define DRAW_EVERY 0.1

// columns where the terminal does not say
#define COLUMNS_DEFAULT 80

// exit codes of signals begin here, as shells count
#define SIGNAL_BASE 128

static volatile sig_atomic_t caught; // the first signal, 0: none came
static bool is_heard;                // the work was told of it, and so did not come to its end

static const int signals[] = {SIGINT, SIGTERM};

#define N_SIGNAL ((int)(sizeof signals / sizeof *signals))

/// The one terminal of the process.
static struct {
    bool is_begun;
    bool is_shown; // lines may be drawn
    bool has_color;
    bool has_line; // one stands there now
    const char *title;
    const char *what;        // of the last state
    long long last_done;     // likewise
    long long first_done;    // where the rate is counted from
    double start;            // s, of the whole
    double phase;            // s, when first_done was
    double drawn;            // s, of the last line
    struct sigaction old[2]; // to give back
} terminal;

// once: the next signal, whichever of them, is the system's
static void on_signal(int number) {
    caught = number;
    for (int i = 0; i < N_SIGNAL; i++) {
        signal(signals[i], SIG_DFL);
    }
}

// ---- the line ----------------------------------------------------------------------------------

/// Hours, minutes and seconds in at most 15 characters.
static void put_time(double seconds, char text[32]) {
    double s = fmin(floor(seconds), 359999999.0);
    long long whole = s > 0.0 ? (long long)s : 0;
    int h = (int)(whole / 3600), m = (int)(whole / 60 % 60), sec = (int)(whole % 60);
    if (h > 0) {
        snprintf(text, 32, "%d:%02d:%02d", h, m, sec);
    } else {
        snprintf(text, 32, "%d:%02d", m, sec);
    }
}

/// The line of a state after so many seconds, in at most n_column columns: parts that do not fit
/// are left out, from the right. rate: done a second, 0: not known.
static void put_line(const cri_progress_state *state, double seconds, double rate, int n_column,
                     char text[256]) {
    char part[5][64] = {{0}}, clock[32];
    snprintf(part[0], sizeof part[0], "%.40s", terminal.title);
    if (state->total > 0) {
        snprintf(part[1], sizeof part[1], ": %.16s %lld of %lld", state->what, state->done,
                 state->total);
    } else {
        snprintf(part[1], sizeof part[1], ": %.16s %lld", state->what, state->done);
    }
    if (rate > 0.0) {
        snprintf(part[2], sizeof part[2], rate < 1000.0 ? ", %.3g/s" : ", %.0f/s", rate);
    }
    if (isfinite(state->loss)) {
        snprintf(part[3], sizeof part[3], ", loss %.4g", state->loss);
    }
    bool has_left = state->total > 0 && rate > 0.0;
    put_time(has_left ? (double)(state->total - state->done) / rate : seconds, clock);
    snprintf(part[4], sizeof part[4], has_left ? ", %s left" : ", %s", clock);

    int room = n_column < 255 ? n_column : 255;
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < 5; i++) {
        size_t length = strlen(part[i]);
        if (n + length > (size_t)(room > 0 ? room : 0)) {
            break;
        }
        memcpy(text + n, part[i], length + 1);
        n += length;
    }
}

// ---- drawing -----------------------------------------------------------------------------------

static int count_columns(void) {
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *text = getenv("COLUMNS");
    long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 && n < 10000 ? (int)n : COLUMNS_DEFAULT;
}

// another job has the terminal; where it is not ours to ask, none has
static bool is_background(void) {
    pid_t group = tcgetpgrp(STDERR_FILENO);
    return group >= 0 && group != getpgrp();
}

void cli_terminal_clear(void) {
    if (terminal.has_line) {
        fputs("\r\033[K", stderr); // start of the line, clear the rest
        fflush(stderr);
        terminal.has_line = false;
    }
}

static void draw(const cri_progress_state *state, double now) {
    double seconds = now - terminal.phase;
    double rate = seconds > 0.0 ? (double)(state->done - terminal.first_done) / seconds : 0.0;
    char text[256];
    // the last column stays free: some terminals wrap as soon as it is filled
    put_line(state, now - terminal.start, rate, count_columns() - 1, text);
    size_t n_title = strcspn(text, ":");
    if (terminal.has_color) {
        fprintf(stderr, "\r\033[1m%.*s\033[0m%s\033[K", (int)n_title, text, text + n_title);
    } else {
        fprintf(stderr, "\r%s\033[K", text);
    }
    fflush(stderr);
    terminal.has_line = true;
}

static bool tick(void *context, const cri_progress_state *state) {
    (void)context;
    if (terminal.is_shown) {
        double now = cli_seconds();
        bool is_new = !terminal.what || strcmp(terminal.what, state->what) != 0 ||
                      state->done < terminal.last_done;
        if (is_new) {
            terminal.what = state->what;
            terminal.first_done = state->done;
            terminal.phase = now;
        }
        terminal.last_done = state->done;
        bool is_due = now - terminal.start >= FIRST_DRAW && now - terminal.drawn >= DRAW_EVERY;
        if (is_due && !is_background()) {
            terminal.drawn = now;
            draw(state, now);
        }
    }
    return !cli_terminal_is_interrupted();
}

// ---- begin and end -----------------------------------------------------------------------------

static void watch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_SIGNAL; i++) {
        sigaction(signals[i], NULL, &terminal.old[i]);
        // who started us with nohup, or behind a shell's &, meant it
        if (terminal.old[i].sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && *value;
}

cri_progress cli_terminal_begin(const cli_options *options, const char *title) {
    CR_ASSERT(!terminal.is_begun && title);
    const char *term = getenv("TERM");
    bool is_drawable = term && *term && strcmp(term, "dumb") != 0;
    memset(&terminal, 0, sizeof terminal);
    terminal.is_begun = true;
    terminal.is_shown = !options->use_quiet && is_drawable && isatty(STDERR_FILENO);
    terminal.has_color = !is_set("NO_COLOR");
    terminal.title = title;
    terminal.start = cli_seconds();
    watch_signals();
    return (cri_progress){.tick = tick};
}

void cli_terminal_end(void) {
    CR_ASSERT(terminal.is_begun);
    cli_terminal_clear();
    for (int i = 0; i < N_SIGNAL; i++) {
        sigaction(signals[i], &terminal.old[i], NULL);
    }
    terminal.is_begun = false;
}

bool cli_terminal_is_interrupted(void) {
    is_heard = is_heard || caught != 0;
    return is_heard;
}

int cli_terminal_code(int code) {
    return code == CLI_DONE && is_heard ? SIGNAL_BASE + (int)caught : code;
}
