// SPDX-License-Identifier: MIT
//
// The targets of a command line.

#include "targets.h"

int cli_targets_read(const cli_scene *scene, const cli_options *options, cri_target **target,
                     cri_aim *aim) {
    *target = CR_PUSH(scene->memory, cri_target, options->n_target);
    if (!*target) {
        return cli_failed("no memory for %d targets", options->n_target);
    }
    cr_error err = {0};
    for (int i = 0; i < options->n_target; i++) {
        if (cri_target_parse(scene->model, options->target[i], &(*target)[i], &err) != CR_OK) {
            return cli_error_in("--target", &err);
        }
        (*target)[i].order = i;
        (*target)[i].radius = options->plan.radius;
    }
    cri_aim_options run = {.n_step = options->n_step, .dt = scene->dt};
    if (cri_aim_init(scene->model, &run, options->n_target, *target, scene->memory, aim, &err) !=
        CR_OK) {
        return cli_error_in("--target", &err);
    }
    return CLI_DONE;
}
