// SPDX-License-Identifier: MIT
//
// A fit of many recordings, made by simulation with noise: a ball thrown onto a floor again and
// again, from another place and with another spin each time. Recorded are position and attitude,
// 100 frames at 100 Hz. Unknown are friction, restitution, radius, inertia and gravity, and of each
// recording all 13 numbers of its initial state.

#include "bench_fit.h"

#include "base/random.h"
#include "cli/scene.h"
#include "optimize/fit.h"

#include <math.h>
#include <time.h>

// frames of a recording, seconds between them, numbers in each
enum { N_FRAME = 100, N_COLUMN = 7, N_STATE = 13 };
#define FRAME 0.01

// noise of positions, m, and of the numbers of quaternions
#define NOISE_POSITION 1e-3
#define NOISE_ATTITUDE 5e-3

static const char scene_text[] =
    "<mujoco><option timestep='0.01'/><custom>"
    "<numeric name='carom:friction:floor:ball' data='0.2'/>"
    "<numeric name='carom:restitution:floor:ball' data='0.6'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/><body name='ball' pos='0 0 .5'><freejoint/>"
    "<inertial pos='0 0 0' mass='1' diaginertia='0.004 0.004 0.004'/>"
    "<geom name='ball' size='.1'/></body></worldbody></mujoco>";

static const char names[] = "floor:ball/friction,floor:ball/restitution,ball/size[0],"
                            "ball/inertia[0]=ball/inertia[1]=ball/inertia[2],gravity[2],x0:ball/*";

// what the recordings are made with
static const double truth[] = {0.15, 0.75, 0.08, 0.003, -9.81};

typedef struct made {
    cli_scene scene;
    cri_selection *selection;
    cri_recording *recording;
    double *x0; // (n_recording, N_STATE) true
} made;

static void draw_start(cri_random *random, double *x) {
    x[0] = cri_random_uniform(random, -0.5, 0.5);
    x[1] = cri_random_uniform(random, -0.5, 0.5);
    x[2] = cri_random_uniform(random, 0.2, 0.5);
    double square = 0.0;
    for (int i = 3; i < 7; i++) {
        x[i] = cri_random_normal(random);
        square += x[i] * x[i];
    }
    for (int i = 3; i < 7; i++) {
        x[i] /= sqrt(square);
    }
    for (int i = 7; i < 10; i++) {
        x[i] = cri_random_uniform(random, -2.0, i < 9 ? 2.0 : 1.0);
    }
    for (int i = 10; i < N_STATE; i++) {
        x[i] = cri_random_uniform(random, -8.0, 8.0);
    }
}

/// Simulates one recording and adds noise.
static int record(const made *m, cr_sim *sim, int k, double *x_path) {
    cri_random random = cri_random_of(20261116, (uint64_t)k);
    double *x0 = m->x0 + (size_t)k * N_STATE;
    draw_start(&random, x0);
    cr_error err = {0};
    const double dt = FRAME;
    cr_rollout rollout = {.n_step = N_FRAME - 1, .dt = &dt, .n_dt = 1};
    if (cr_sim_rollout(sim, &rollout, x0, x_path, NULL, &err) != CR_OK) {
        return cli_error(&err);
    }
    cri_recording *r = &m->recording[k];
    *r = (cri_recording){.n_sample = N_FRAME, .n_column = N_COLUMN, .file = "recording"};
    r->time = CR_PUSH(m->scene.memory, double, N_FRAME);
    r->value = CR_PUSH(m->scene.memory, double, N_FRAME *N_COLUMN);
    r->x_index = CR_PUSH(m->scene.memory, int, N_COLUMN);
    r->sigma = CR_PUSH(m->scene.memory, double, N_COLUMN);
    if (!r->time || !r->value || !r->x_index || !r->sigma) {
        return cli_failed("bench fit: no memory");
    }
    for (int c = 0; c < N_COLUMN; c++) {
        r->x_index[c] = c;
        r->sigma[c] = c < 3 ? NOISE_POSITION : NOISE_ATTITUDE;
    }
    for (int i = 0; i < N_FRAME; i++) {
        r->time[i] = FRAME * i;
        for (int c = 0; c < N_COLUMN; c++) {
            double noise = r->sigma[c] * cri_random_normal(&random);
            r->value[i * N_COLUMN + c] = x_path[i * N_STATE + c] + noise;
        }
    }
    return CLI_DONE;
}

static int make(made *m, int n_recording) {
    static const cli_options none;
    int code = cli_scene_parse("builtin:toss", scene_text, &none, &m->scene);
    cr_error err = {0};
    if (code == CLI_DONE &&
        cri_selection_create(m->scene.model, names, &m->selection, &err) != CR_OK) {
        code = cli_error(&err);
    }
    if (code != CLI_DONE) {
        return code;
    }
    cr_arena *arena = m->scene.memory;
    m->recording = CR_PUSH(arena, cri_recording, n_recording);
    m->x0 = CR_PUSH(arena, double, (size_t)n_recording *N_STATE);
    double *x_path = CR_PUSH(arena, double, N_FRAME *N_STATE);
    cri_point point;
    if (!m->recording || !m->x0 || !x_path ||
        cri_point_push(m->selection, 1, arena, &point, &err) != CR_OK) {
        return cli_failed("bench fit: no memory");
    }
    cli_scene_fill(&m->scene, &point);
    for (int j = 0; j < 5; j++) {
        cri_selection_put(m->selection, j, truth[j], &point);
    }
    cr_sim *sim = NULL;
    code = cli_scene_sim(&m->scene, false, &sim);
    if (code == CLI_DONE && cr_sim_set_params(sim, point.p, &err) != CR_OK) {
        code = cli_error(&err);
    }
    for (int k = 0; k < n_recording && code == CLI_DONE; k++) {
        code = record(m, sim, k, x_path);
    }
    cr_sim_destroy(sim);
    return code;
}

/// Errors of the initial values against the true ones. A quaternion may come with either sign.
static void judge_own(const made *m, const cri_fit *fit, cli_bench_fit_result *out) {
    int n = 0;
    double sum = 0.0;
    int n_covered = 0;
    for (int i = fit->n_shared; i < fit->n_entry; i++) {
        const cri_fit_entry *entry = &fit->entry[i];
        int part = m->selection->variable[entry->variable].place[0].index;
        double own = m->x0[entry->recording * N_STATE + part];
        double error = entry->value - own;
        error = part >= 3 && part < 7 ? fmin(fabs(error), fabs(entry->value + own)) : error;
        double ratio = error / entry->deviation;
        if (isfinite(ratio)) {
            sum += ratio * ratio;
            n_covered += fabs(ratio) <= 2.0;
            n++;
        }
    }
    out->own_spread = sqrt(sum / n);
    out->own_covered = (double)n_covered / n;
}

static int run(const made *m, int n_recording, cli_bench_fit_result *out) {
    cri_fit_problem problem = {.model = m->scene.model,
                               .sim_options = m->scene.sim_options,
                               .selection = m->selection,
                               .n_recording = n_recording,
                               .recording = m->recording,
                               .dt = m->scene.dt,
                               .p = m->scene.p,
                               .x0 = m->scene.x0,
                               .n_thread = cri_ensemble_threads(n_recording)};
    cri_fit fit;
    cr_error err = {0};
    double start = cli_seconds();
    clock_t used = clock();
    if (cri_fit_run(&problem, m->scene.memory, &fit, &err) != CR_OK) {
        return cli_error(&err);
    }
    *out = (cli_bench_fit_result){.n_thread = problem.n_thread,
                                  .seconds = cli_seconds() - start,
                                  .processor = (double)(clock() - used) / CLOCKS_PER_SEC,
                                  .n_iteration = fit.n_iteration,
                                  .rms = fit.rms};
    for (int j = 0; j < fit.n_shared; j++) {
        double ratio = fabs(fit.entry[j].value - truth[j]) / fit.entry[j].deviation;
        out->worst_shared = fmax(out->worst_shared, ratio);
    }
    judge_own(m, &fit, out);
    return CLI_DONE;
}

int cli_bench_fit(int n_recording, cli_bench_fit_result *out) {
    made m = {0};
    int code = make(&m, n_recording);
    if (code == CLI_DONE) {
        code = run(&m, n_recording, out);
    }
    cri_selection_destroy(m.selection);
    cli_scene_close(&m.scene);
    return code;
}
