// SPDX-License-Identifier: MIT
//
// What every command about targets begins with.

#include "aim.h"

static int read_targets(const cli_scene *scene, const cli_options *options, cli_aim *out) {
    out->target = CR_PUSH(scene->memory, cri_target, options->n_target);
    if (!out->target) {
        return cli_failed("no memory for %d targets", options->n_target);
    }
    cr_error err = {0};
    for (int i = 0; i < options->n_target; i++) {
        if (cri_target_parse(scene->model, options->target[i], &out->target[i], &err) != CR_OK) {
            return cli_error_in("--target", &err);
        }
    }
    cri_aim_options aim = {.n_step = options->n_step, .dt = scene->dt};
    if (cri_aim_init(scene->model, &aim, options->n_target, out->target, scene->memory, &out->aim,
                     &err) != CR_OK) {
        return cli_error_in("--target", &err);
    }
    return CLI_DONE;
}

static int read_selection(const cli_scene *scene, const char *wrt, cli_aim *out) {
    cr_error err = {0};
    int n_step = out->aim.schedule.n_step;
    if (cri_selection_create(scene->model, wrt, &out->selection, &err) != CR_OK ||
        cri_selection_check_steps(out->selection, n_step, &err) != CR_OK) {
        return cli_error_in("--wrt", &err);
    }
    if (cri_point_push(out->selection, n_step, scene->memory, &out->point, &err) != CR_OK) {
        return cli_error(&err);
    }
    out->z = CR_PUSH(scene->memory, double, out->selection->n_variable);
    if (!out->z) {
        return cli_failed("no memory for %d variables", out->selection->n_variable);
    }
    out->aim.has_control = scene->has_control || cri_selection_has(out->selection, CR_VECTOR_U);
    cli_scene_fill(scene, &out->point);
    if (cri_selection_check_ties(out->selection, &out->point, &err) != CR_OK) {
        return cli_error_in("--wrt", &err);
    }
    cri_selection_read(out->selection, &out->point, out->z);
    return CLI_DONE;
}

int cli_aim_open(const cli_scene *scene, const cli_options *options, const char *wrt,
                 cli_aim *out) {
    *out = (cli_aim){0};
    int code = read_targets(scene, options, out);
    return code == CLI_DONE ? read_selection(scene, wrt, out) : code;
}

void cli_aim_close(cli_aim *aim) {
    cri_selection_destroy(aim->selection);
    *aim = (cli_aim){0};
}
