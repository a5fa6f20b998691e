// SPDX-License-Identifier: MIT
//
// Windows of four steps, as the models of DCS (paper 000) are trained on: states are drawn, run for
// a while, and then every window is timed with and without its contacts. What the potential of a
// learned model costs is not in it.

#include "bench_points.h"

#include "cli/scene.h"
#include "points/contact/points_step.h"

#include <math.h>
#include <string.h>

// windows that settle the states, and those that count
enum { N_SETTLE = 1, N_TIMED = 6, N_WINDOW = 4, N_REPEAT = 3 };

typedef struct bench {
    cri_points_scene *scene;
    int B;
    cr_arena *memory, *keep, *scratch;
    double *x;   // (N_WINDOW + 1, B, n_x)
    double *adj; // (2, B, n_x)
    double *p_adj;
    long n_contact;
} bench;

static bool open_bench(bench *b) {
    size_t n = (size_t)b->B * (size_t)b->scene->n_x;
    b->memory = cri_arena_create(1 << 16);
    b->keep = cri_arena_create(1 << 20);
    b->scratch = cri_arena_create(1 << 20);
    if (!b->memory || !b->keep || !b->scratch) {
        return false;
    }
    b->x = CR_PUSH(b->memory, double, (N_WINDOW + 1) * n);
    b->adj = CR_PUSH(b->memory, double, 2 * n);
    b->p_adj = CR_PUSH(b->memory, double, b->scene->n_p);
    cri_random r = cri_random_of(1, 0);
    bool is_well = b->x && b->adj && b->p_adj;
    for (int i = 0; is_well && i < b->B; i++) {
        is_well = cri_points_sample(b->scene, &r, b->x + (size_t)i * (size_t)b->scene->n_x);
    }
    return is_well;
}

// a window forward and back from x[0]; seconds, negative when there is no memory
static double run_window(bench *b) {
    const cri_points_scene *sc = b->scene;
    const cri_points_tape *tape[N_WINDOW];
    size_t n = (size_t)b->B * (size_t)sc->n_x;
    cri_arena_reset(b->keep);
    b->n_contact = 0;
    double start = cli_seconds();
    for (int t = 0; t < N_WINDOW; t++) {
        double *x = b->x + (size_t)t * n;
        tape[t] = cri_points_step(sc, sc->p, b->B, x, x + n, NULL, b->keep, b->scratch);
        if (!tape[t]) {
            return -1.0;
        }
        b->n_contact += tape[t]->n_contact;
    }
    for (size_t i = 0; i < n; i++) {
        b->adj[i] = 1.0;
    }
    for (int t = N_WINDOW - 1; t >= 0; t--) {
        memset(b->adj + n, 0, sizeof(double) * n);
        if (!cri_points_step_vjp(sc, sc->p, tape[t], b->adj, b->adj + n, b->p_adj, b->scratch)) {
            return -1.0;
        }
        memcpy(b->adj, b->adj + n, sizeof(double) * n);
    }
    return cli_seconds() - start;
}

// least seconds of a window with or without contacts; negative when there is no memory
static double least(bench *b, bool has_contact) {
    double best = INFINITY;
    b->scene->has_contact = has_contact;
    for (int k = 0; k < N_REPEAT && best >= 0.0; k++) {
        best = fmin(best, run_window(b));
    }
    b->scene->has_contact = true;
    return best;
}

static int run(bench *b, cli_bench_points_result *out) {
    size_t n = (size_t)b->B * (size_t)b->scene->n_x;
    double smooth = 0.0, whole = 0.0, n_contact = 0.0;
    for (int k = 0; k < N_SETTLE + N_TIMED; k++) {
        double without = least(b, false), with = least(b, true);
        if (without < 0.0 || with < 0.0) {
            return cli_failed("no memory for the benchmark");
        }
        if (k >= N_SETTLE) {
            smooth += without / N_TIMED;
            whole += with / N_TIMED;
            n_contact += (double)b->n_contact / (N_TIMED * N_WINDOW * b->B);
        }
        memcpy(b->x, b->x + N_WINDOW * n, sizeof(double) * n);
    }
    *out = (cli_bench_points_result){.smooth = smooth,
                                     .contact = fmax(0.0, whole - smooth),
                                     .per_row = n_contact,
                                     .n_dof = b->scene->s.n_dof};
    return CLI_DONE;
}

int cli_bench_points(const char *system, int n, int B, cli_bench_points_result *out) {
    bench b = {.B = B};
    cr_error err = {0};
    if (cri_points_scene_create(system, n, &b.scene, &err) != CR_OK) {
        return cli_error(&err);
    }
    int code = open_bench(&b) ? run(&b, out) : cli_failed("no memory for the benchmark");
    cri_arena_destroy(b.memory);
    cri_arena_destroy(b.keep);
    cri_arena_destroy(b.scratch);
    cri_points_scene_destroy(b.scene);
    return code;
}
