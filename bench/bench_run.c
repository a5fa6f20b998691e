// SPDX-License-Identifier: MIT
//
// What a benchmark measures inside one process. Times are least times: on a shared machine they
// repeat to a few per cent, where means do not.

#define _POSIX_C_SOURCE 200809L

#include "bench_run.h"

#include "bench_scenes.h"
#include "cli/scene.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

static int open_with(const cli_options *options, const char *name, cli_scene *out) {
    const cli_bench_scene *scene = cli_bench_scene_find(name);
    return scene ? cli_scene_parse(name, scene->text, options, out)
                 : cli_scene_open(name, options, out);
}

static int open_scene(const char *name, cli_scene *out) {
    const cli_options none = {0};
    return open_with(&none, name, out);
}

static int run_rollout(const cli_scene *scene, cr_sim *sim, int n_step, double *x_end,
                       double *seconds) {
    cr_rollout rollout = {.n_step = n_step, .dt = &scene->dt, .n_dt = 1};
    cr_error err = {0};
    double start = cli_seconds();
    if (cr_sim_rollout(sim, &rollout, scene->x0, NULL, x_end, &err) != CR_OK) {
        return cli_error(&err);
    }
    *seconds = fmin(*seconds, cli_seconds() - start);
    return CLI_DONE;
}

/// Adjoint of the last rollout for the height and place of the first body.
static int run_gradient(cr_sim *sim, int n_step, double *x_adj, double *x0_adj, double *p_adj,
                        double *seconds) {
    cr_error err = {0};
    for (int i = 0; i < 3; i++) {
        x_adj[i] = 1.0;
    }
    cr_seed seed = {n_step, x_adj};
    double start = cli_seconds();
    if (cr_sim_rollout_vjp(sim, 1, &seed, x0_adj, NULL, p_adj, &err) != CR_OK) {
        return cli_error(&err);
    }
    *seconds = fmin(*seconds, cli_seconds() - start);
    return CLI_DONE;
}

static int repeat(const cli_scene *scene, cr_sim *plain, cr_sim *recording, int n_step,
                  int n_repeat, cli_bench_times *out) {
    size_t n_x = (size_t)scene->sizes.n_x;
    double *x_end = CR_PUSH(scene->memory, double, n_x);
    double *x_adj = CR_PUSH(scene->memory, double, n_x);
    double *x0_adj = CR_PUSH(scene->memory, double, n_x);
    double *p_adj = CR_PUSH(scene->memory, double, scene->sizes.n_p);
    if (!x_end || !x_adj || !x0_adj || !p_adj) {
        return cli_failed("no memory for the benchmark");
    }
    int code = CLI_DONE;
    for (int i = 0; i < n_repeat && code == CLI_DONE; i++) {
        code = run_rollout(scene, plain, n_step, x_end, &out->forward);
        if (code == CLI_DONE) {
            code = run_rollout(scene, recording, n_step, x_end, &out->recorded);
        }
        if (code == CLI_DONE) {
            code = run_gradient(recording, n_step, x_adj, x0_adj, p_adj, &out->gradient);
        }
    }
    return code;
}

int cli_bench_rollout(const char *name, int n_step, int n_repeat, cli_bench_times *out) {
    *out = (cli_bench_times){INFINITY, INFINITY, INFINITY, 0.0};
    cli_scene scene;
    cr_sim *plain = NULL;
    cr_sim *recording = NULL;
    int code = open_scene(name, &scene);
    if (code == CLI_DONE) {
        code = cli_scene_sim(&scene, false, &plain);
    }
    if (code == CLI_DONE) {
        code = cli_scene_sim(&scene, true, &recording);
    }
    out->dt = scene.dt;
    if (code == CLI_DONE) {
        code = repeat(&scene, plain, recording, n_step, n_repeat, out);
    }
    cr_sim_destroy(plain);
    cr_sim_destroy(recording);
    cli_scene_close(&scene);
    return code;
}

int cli_bench_load(const char *name, int n_repeat, double *seconds) {
    int code = CLI_DONE;
    *seconds = INFINITY;
    for (int i = 0; i < n_repeat && code == CLI_DONE; i++) {
        cli_scene scene;
        double start = cli_seconds();
        code = open_scene(name, &scene);
        *seconds = fmin(*seconds, cli_seconds() - start);
        cli_scene_close(&scene);
    }
    return code;
}

/// Arrays of the derivatives of a step.
typedef struct derivative {
    double *seed;   // (n_x) ones
    double *adj;    // (n_x + n_u + n_p)
    double *tan;    // (n_tangent, n_tangent) the unit matrix
    double *result; // (n_tangent, n_tangent)
} derivative;

static bool derivative_push(const cli_scene *scene, cli_bench_work work, derivative *out) {
    const cr_sizes *z = &scene->sizes;
    size_t n = work == CLI_WORK_JACOBIAN ? (size_t)z->n_tangent : 0;
    out->seed = CR_PUSH(scene->memory, double, z->n_x);
    out->adj = CR_PUSH(scene->memory, double, z->n_x + z->n_u + z->n_p);
    out->tan = CR_PUSH(scene->memory, double, n *n);
    out->result = CR_PUSH(scene->memory, double, n *n);
    if (!out->seed || !out->adj || !out->tan || !out->result) {
        return false;
    }
    for (int i = 0; i < z->n_x; i++) {
        out->seed[i] = 1.0;
    }
    for (size_t i = 0; i < n; i++) {
        out->tan[i * n + i] = 1.0;
    }
    return true;
}

/// The derivative of the last step, if it has one.
static cr_status differentiate(const cli_scene *scene, cr_sim *sim, cli_bench_work work,
                               const derivative *d, cr_error *err) {
    const cr_sizes *z = &scene->sizes;
    if (work == CLI_WORK_GRADIENT) {
        double *u_adj = d->adj + z->n_x;
        return cr_sim_step_vjp(sim, d->seed, d->adj, u_adj, u_adj + z->n_u, err);
    }
    return cr_sim_step_jac(sim, z->n_tangent, d->tan, NULL, NULL, d->result, err);
}

int cli_bench_steps(const cli_options *options, const char *name, int n_step, cli_bench_work work) {
    cli_scene scene;
    cr_sim *sim = NULL;
    cr_error err = {0};
    derivative d = {0};
    int n_refused = 0;
    int code = open_with(options, name, &scene);
    if (code == CLI_DONE) {
        code = cli_scene_sim(&scene, work != CLI_WORK_STEP, &sim);
    }
    if (code == CLI_DONE && !derivative_push(&scene, work, &d)) {
        code = cli_failed("no memory for the benchmark");
    }
    for (int k = 0; k < n_step && code == CLI_DONE; k++) {
        if (cr_sim_step(sim, scene.dt, scene.x0, scene.u, scene.x0, &err) != CR_OK) {
            code = cli_error(&err);
        } else if (work != CLI_WORK_STEP) {
            n_refused += differentiate(&scene, sim, work, &d, &err) != CR_OK;
        }
    }
    if (n_refused > 0) {
        printf("refused: %d\n", n_refused);
    }
    cr_sim_destroy(sim);
    cli_scene_close(&scene);
    return code;
}

double cli_bench_peak_mb(void) {
    struct rusage usage;
    // ru_maxrss counts KiB on Linux
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss / 1024.0 : NAN;
}
