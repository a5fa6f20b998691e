// SPDX-License-Identifier: MIT
//
// Tasks of paper 002: a scene, targets and options of carom plan, run under several laws.

#pragma once

#include "experiment.h"

/// What `carom plan` would be given.
typedef struct lrc_task {
    const char *scene; // file of experiments/scenes, without its ending
    const char *controls;
    const char *bound[4]; // NULL behind the last
    const char *target[12];
    double radius;   // m
    double rate;     // of Adam
    int n_iteration; // the paper's; of a window of a receding horizon
    int n_step[2];   // quick and full
    int horizon[2];  // 0: the whole run at once
    int execute;     // steps of a window that are carried out
    int n_sine;      // of each control, 0: a value every step
    int n_quick;     // iterations of a quick run
    double spread;   // of sampled starts

    // a start in contact, which every law must solve; NULL: none
    const char *contact_target;
    double contact_place; // first number of the state there
    double contact_push;  // first control, held
} lrc_task;

/// Scene text by name, NULL: there is none.
const char *lrc_scene(const char *name);

/// The run of every experiment that is a task; `self->name` less "lrc-" says which.
cr_status lrc_task_run(const cri_experiment *self, const cri_experiment_options *options,
                       cri_experiment_result *out, cr_error *err);
