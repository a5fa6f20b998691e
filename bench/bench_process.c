// SPDX-License-Identifier: MIT
//
// What a benchmark measures from outside: this program, started again.
//
// Instructions a step are the difference of two runs of different length, divided by the difference
// of their steps, so that start and end of the process cancel.

#define _POSIX_C_SOURCE 200809L

#include "bench_process.h"

#include "bench_scenes.h"
#include "cli/scene.h"

#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// steps that both runs of an instruction count have in common: caches are warm by then
#define STEPS_BEFORE 100

// starts of the process that are timed
#define N_START 10

extern char **environ;

bool cli_process_self(char *path, size_t n_byte) {
    ssize_t n = readlink("/proc/self/exe", path, n_byte - 1);
    path[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/// Reads all that comes, keeps what fits.
static void drain(int descriptor, char text[CLI_PROCESS_TEXT]) {
    size_t used = 0;
    char rest[1024];
    for (;;) {
        bool is_full = used + 1 >= CLI_PROCESS_TEXT;
        char *to = is_full ? rest : text + used;
        size_t room = is_full ? sizeof rest : CLI_PROCESS_TEXT - 1 - used;
        ssize_t n = read(descriptor, to, room);
        if (n <= 0) {
            break;
        }
        used += is_full ? 0 : (size_t)n;
    }
    text[used] = '\0';
}

static bool spawn(const char *const *argument, int output, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    bool is_good =
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO) == 0 &&
        posix_spawnp(pid, argument[0], &actions, NULL, (char *const *)argument, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return is_good;
}

bool cli_process_run(const char *const *argument, char text[CLI_PROCESS_TEXT]) {
    int ends[2];
    pid_t pid = 0;
    text[0] = '\0';
    if (pipe(ends) != 0) {
        return false;
    }
    bool is_started = spawn(argument, ends[1], &pid);
    close(ends[1]);
    if (is_started) {
        drain(ends[0], text);
    }
    close(ends[0]);
    int status = 0;
    return is_started && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

// ---- start -------------------------------------------------------------------------------------

/// Writes the scene of a ball to a temporary file.
static bool write_scene(char *path) {
    const char *text = cli_bench_scene_at(0)->text;
    int descriptor = mkstemp(path);
    FILE *stream = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!stream) {
        return false;
    }
    bool is_good = fputs(text, stream) >= 0;
    return fclose(stream) == 0 && is_good;
}

int cli_bench_start(double *milliseconds) {
    char self[4096];
    char scene[] = "/tmp/carom-bench-XXXXXX";
    static char text[CLI_PROCESS_TEXT];
    if (!cli_process_self(self, sizeof self) || !write_scene(scene)) {
        return cli_failed("bench start: cannot find this program or write to /tmp");
    }
    const char *const argument[] = {self,    "gradient", scene,     "--target", "ball:1,0,0",
                                    "--wrt", "*",        "--steps", "100",      NULL};
    double least = INFINITY;
    bool is_good = true;
    for (int i = 0; i < N_START && is_good; i++) {
        double start = cli_seconds();
        is_good = cli_process_run(argument, text);
        least = fmin(least, 1e3 * (cli_seconds() - start));
    }
    unlink(scene);
    if (!is_good) {
        return cli_failed("bench start: %.200s", text);
    }
    *milliseconds = least;
    return CLI_DONE;
}

// ---- instructions ------------------------------------------------------------------------------

/// Instructions of a run of so many steps, from callgrind's closing lines.
static bool run_counted(const char *self, const cli_bench_count *c, int n_step,
                        double *instructions, int *n_refused) {
    char steps[16];
    static char text[CLI_PROCESS_TEXT];
    snprintf(steps, sizeof steps, "%d", n_step);
    const char *argument[16] = {"valgrind",
                                "--tool=callgrind",
                                "--callgrind-out-file=/dev/null",
                                self,
                                "bench",
                                "--work",
                                c->work,
                                c->scene,
                                steps};
    int n = 9;
    if (c->stepper) {
        argument[n++] = "--stepper";
        argument[n++] = c->stepper;
    }
    if (c->law) {
        argument[n++] = "--law";
        argument[n++] = c->law;
    }
    if (!cli_process_run(argument, text)) {
        return false;
    }
    const char *line = strstr(text, "Collected : "), *refused = strstr(text, "refused: ");
    *instructions = line ? strtod(line + strlen("Collected : "), NULL) : 0.0;
    *n_refused = refused ? (int)strtol(refused + strlen("refused: "), NULL, 10) : 0;
    return *instructions > 0.0;
}

bool cli_bench_has_valgrind(void) {
    // of this very program: one built with sanitizers does not run under it
    static char text[CLI_PROCESS_TEXT];
    char self[4096];
    const char *const probe[] = {"valgrind", "--tool=none", "-q", self, "--version", NULL};
    return cli_process_self(self, sizeof self) && cli_process_run(probe, text);
}

int cli_bench_instructions(const cli_bench_count *count, double *instructions, int *n_refused) {
    char self[4096];
    if (!cli_process_self(self, sizeof self) || !cli_bench_has_valgrind()) {
        return cli_failed("no instruction counts: valgrind is not installed");
    }
    double less = 0.0;
    double more = 0.0;
    int n_before = 0;
    int n_after = 0;
    int before = count->n_before > 0 ? count->n_before : STEPS_BEFORE;
    if (!run_counted(self, count, before, &less, &n_before) ||
        !run_counted(self, count, before + count->n_step, &more, &n_after)) {
        return cli_failed("instruction counts: valgrind could not run %.80s", count->scene);
    }
    *instructions = (more - less) / count->n_step;
    if (n_refused) {
        *n_refused = n_after - n_before;
    }
    return CLI_DONE;
}
