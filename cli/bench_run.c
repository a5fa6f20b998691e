// SPDX-License-Identifier: MIT
//
// What a benchmark measures inside one process. Times are least times: on a shared machine they
// repeat to a few per cent, where means do not.

#define _POSIX_C_SOURCE 200809L

#include "bench_run.h"

#include "bench_scenes.h"
#include "scene.h"

#include <math.h>
#include <sys/resource.h>

static int open_scene(const char *name, cli_scene *out) {
    const cli_options none = {0};
    const cli_bench_scene *scene = cli_bench_scene_find(name);
    return scene ? cli_scene_parse(name, scene->text, &none, out)
                 : cli_scene_open(name, &none, out);
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
    *out = (cli_bench_times){INFINITY, INFINITY, INFINITY};
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

int cli_bench_steps(const char *name, int n_step) {
    cli_scene scene;
    cr_sim *sim = NULL;
    cr_error err = {0};
    int code = open_scene(name, &scene);
    if (code == CLI_DONE) {
        code = cli_scene_sim(&scene, false, &sim);
    }
    for (int k = 0; k < n_step && code == CLI_DONE; k++) {
        if (cr_sim_step(sim, scene.dt, scene.x0, NULL, scene.x0, &err) != CR_OK) {
            code = cli_error(&err);
        }
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
