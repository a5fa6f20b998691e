// SPDX-License-Identifier: MIT
//
// What every command about targets begins with.

#include "aim.h"

#include "targets.h"

static int read_selection(const cli_scene *scene, const char *wrt, cli_aim *out) {
    cr_error err = {0};
    int n_step = out->aim.schedule.n_step;
    if (cri_selection_create(scene->model, wrt, &out->selection, &err) != CR_OK ||
        cri_selection_check_steps(out->selection, n_step, &err) != CR_OK ||
        cri_selection_check_law(out->selection, scene->sim_options.law, &err) != CR_OK) {
        return cli_error_in("--wrt", &err);
    }
    int code = cli_scene_point(scene, out->selection, &out->aim.schedule, false, &out->point);
    if (code != CLI_DONE) {
        return code;
    }
    out->z = CR_PUSH(scene->memory, double, out->selection->n_variable);
    if (!out->z) {
        return cli_failed("no memory for %d variables", out->selection->n_variable);
    }
    out->aim.has_control = scene->has_control || cri_selection_has(out->selection, CR_VECTOR_U);
    out->aim.has_no_params = !cri_selection_has(out->selection, CR_VECTOR_P);
    if (cri_selection_check_ties(out->selection, &out->point, &err) != CR_OK) {
        return cli_error_in("--wrt", &err);
    }
    cri_selection_read(out->selection, &out->point, out->z);
    return CLI_DONE;
}

int cli_aim_open(const cli_scene *scene, const cli_options *options, const char *wrt,
                 cli_aim *out) {
    *out = (cli_aim){0};
    int code = cli_targets_read(scene, options, &out->target, &out->aim);
    return code == CLI_DONE ? read_selection(scene, wrt, out) : code;
}

void cli_aim_close(cli_aim *aim) {
    cri_selection_destroy(aim->selection);
    *aim = (cli_aim){0};
}
