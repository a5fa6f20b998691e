// SPDX-License-Identifier: MIT
//
// A gas of equal elastic spheres in a box of six planes, 10 x 10 x n_layer on a grid at the start,
// with random velocities. Nothing rests, so a step is the search for pairs that may meet and
// flight. Impacts come after the first steps; behind each the search begins anew, so that their
// share of a step grows with n^2.

#define _POSIX_C_SOURCE 200809L

#include "bench_gas.h"

#include "cli/scene.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// spheres of a row, their radius and distance, m
#define N_ROW 10
#define RADIUS 0.01
#define SPACING 0.1

// steps before the first impact, at 1 m/s along each axis, and steps behind them
#define N_FLIGHT 20
#define N_STEP 50
#define N_REPEAT 3

// linear congruences of Knuth's MMIX; uniform in [-1, 1)
static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1.0;
}

static void write_walls(FILE *to, double height) {
    double side = N_ROW * SPACING;
    const double end[3] = {side, side, height};
    for (int i = 0; i < 6; i++) {
        double at[3] = {0.0, 0.0, 0.0};
        double normal[3] = {0.0, 0.0, 0.0};
        at[i / 2] = i % 2 ? end[i / 2] : 0.0;
        normal[i / 2] = i % 2 ? -1.0 : 1.0;
        fprintf(to, "<geom name='w%d' type='plane' size='9 9 1' pos='%g %g %g' zaxis='%g %g %g'/>",
                i, at[0], at[1], at[2], normal[0], normal[1], normal[2]);
    }
}

static void write_scene(FILE *to, int n_layer) {
    int n = N_ROW * N_ROW * n_layer;
    uint64_t random = 1;
    fputs("<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom friction='0'/>"
          "</default><worldbody>",
          to);
    write_walls(to, n_layer * SPACING);
    for (int i = 0; i < n; i++) {
        int column = i / N_ROW % N_ROW, layer = i / N_ROW / N_ROW;
        fprintf(to, "<body pos='%g %g %g'><freejoint/><geom name='s%d' size='%g' mass='1'/></body>",
                SPACING * (i % N_ROW + 0.5), SPACING * (column + 0.5), SPACING * (layer + 0.5), i,
                RADIUS);
    }
    fputs("</worldbody><custom>", to);
    for (int i = 0; i < n; i++) {
        fprintf(to, "<numeric name='carom:restitution:s%d' data='1'/>", i);
    }
    fputs("</custom><keyframe><key qvel='", to);
    for (int i = 0; i < n; i++) {
        double x = uniform(&random);
        double y = uniform(&random);
        fprintf(to, "%.3f %.3f %.3f 0 0 0 ", x, y, uniform(&random));
    }
    fputs("'/></keyframe></mujoco>", to);
}

/// n_step steps from where the scene is: the seconds and the impacts of one.
static int run(const cli_scene *scene, cr_sim *sim, int n_step, double *seconds, double *impact) {
    cr_error err = {0};
    int n_impact = 0;
    double start = cli_seconds();
    for (int k = 0; k < n_step; k++) {
        if (cr_sim_step(sim, scene->dt, scene->x0, NULL, scene->x0, &err) != CR_OK) {
            return cli_error(&err);
        }
        n_impact += cr_sim_report(sim)->n_event;
    }
    *seconds = fmin(*seconds, (cli_seconds() - start) / n_step);
    *impact = (double)n_impact / n_step;
    return CLI_DONE;
}

static int run_both(const cli_scene *scene, cli_bench_gas_result *out) {
    cr_sim *sim = NULL;
    int code = cli_scene_sim(scene, false, &sim);
    if (code == CLI_DONE) {
        code = run(scene, sim, N_FLIGHT, &out->flight, &out->impact);
    }
    if (code == CLI_DONE && out->impact > 0.0) {
        code = cli_failed("bench gas: an impact where there should be none");
    }
    if (code == CLI_DONE) {
        code = run(scene, sim, N_STEP, &out->step, &out->impact);
    }
    cr_sim_destroy(sim);
    return code;
}

int cli_bench_gas(int n_layer, cli_bench_gas_result *out) {
    char *text = NULL;
    size_t n_byte = 0;
    FILE *to = open_memstream(&text, &n_byte);
    if (!to) {
        return cli_failed("no memory for the benchmark");
    }
    write_scene(to, n_layer);
    if (fclose(to) != 0) {
        free(text);
        return cli_failed("no memory for the benchmark");
    }
    *out = (cli_bench_gas_result){.load = INFINITY, .flight = INFINITY, .step = INFINITY};
    int code = CLI_DONE;
    for (int i = 0; i < N_REPEAT && code == CLI_DONE; i++) {
        const cli_options none = {0};
        cli_scene scene;
        double start = cli_seconds();
        code = cli_scene_parse("gas", text, &none, &scene);
        out->load = fmin(out->load, cli_seconds() - start);
        if (code == CLI_DONE) {
            code = run_both(&scene, out);
        }
        cli_scene_close(&scene);
    }
    free(text);
    return code;
}
