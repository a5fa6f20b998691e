// SPDX-License-Identifier: MIT
//
// 32 free boxes, apart on the floor or in eight stacks of four: 192 dofs. Every step has its full
// transition Jacobian, of 384 x 384 entries.

#define _POSIX_C_SOURCE 200809L

#include "bench_boxes.h"

#include "cli/scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_BOX 32
#define STACK 4

// half a side and the distance of places, m
#define HALF 0.1
#define SPACING 0.5

// steps before the first that counts, which settle the boxes, and those that count
#define N_SETTLE 20
#define N_STEP 100

static void write_scene(FILE *to, cli_boxes kind) {
    int height = kind == CLI_BOXES_STACKS ? STACK : 1;
    fputs("<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='9 9 1'/>", to);
    for (int i = 0; i < N_BOX; i++) {
        int place = i / height, level = i % height, row = place / 8;
        fprintf(to,
                "<body pos='%g %g %g'><freejoint/><geom type='box' size='%g %g %g'/>"
                "</body>",
                SPACING * (place % 8), SPACING * row, HALF * (2 * level + 1), HALF, HALF, HALF);
    }
    fputs("</worldbody></mujoco>", to);
}

/// Steps from where the scene is, with Jacobians into jac (n, n) of the seeds unit (n, n).
static int run(const cli_scene *scene, cr_sim *sim, const double *unit, double *jac,
               cli_bench_boxes_result *out) {
    cr_error err = {0};
    for (int k = 0; k < N_SETTLE + N_STEP; k++) {
        double start = cli_seconds();
        if (cr_sim_step(sim, scene->dt, scene->x0, NULL, scene->x0, &err) != CR_OK) {
            return cli_error(&err);
        }
        double middle = cli_seconds();
        if (cr_sim_step_jac(sim, scene->sizes.n_tangent, unit, NULL, NULL, jac, &err) != CR_OK) {
            return cli_error(&err);
        }
        if (k >= N_SETTLE) {
            out->step = fmin(out->step, middle - start);
            out->jacobian = fmin(out->jacobian, cli_seconds() - start);
        }
    }
    cr_sim_contacts(sim, &out->n_contact);
    return CLI_DONE;
}

static int run_scene(const char *text, cli_bench_boxes_result *out) {
    cli_options options = {.stepper = "end"};
    cli_scene scene;
    cr_sim *sim = NULL;
    int code = cli_scene_parse("boxes", text, &options, &scene);
    if (code == CLI_DONE) {
        code = cli_scene_sim(&scene, true, &sim);
    }
    if (code == CLI_DONE) {
        size_t n = (size_t)scene.sizes.n_tangent;
        double *unit = CR_PUSH(scene.memory, double, n *n);
        double *jac = CR_PUSH(scene.memory, double, n *n);
        for (size_t i = 0; unit && i < n; i++) {
            unit[i * n + i] = 1.0;
        }
        code = unit && jac ? run(&scene, sim, unit, jac, out)
                           : cli_failed("no memory for the benchmark");
    }
    cr_sim_destroy(sim);
    cli_scene_close(&scene);
    return code;
}

int cli_bench_boxes(cli_boxes kind, cli_bench_boxes_result *out) {
    char *text = NULL;
    size_t n_byte = 0;
    FILE *to = open_memstream(&text, &n_byte);
    if (!to) {
        return cli_failed("no memory for the benchmark");
    }
    write_scene(to, kind);
    *out = (cli_bench_boxes_result){.step = INFINITY, .jacobian = INFINITY};
    int code = fclose(to) == 0 ? run_scene(text, out) : cli_failed("no memory for the benchmark");
    free(text);
    return code;
}
