// SPDX-License-Identifier: MIT
//
// A planning task from scene text, targets and names: everything aborts the test on failure.

#pragma once

#include "cr_test.h"
#include "optimize/controls.h"
#include "optimize/plan.h"

#include <stdio.h>
#include <string.h>

typedef struct plan_task {
    cr_model *model;
    cr_sim_options sim_options;
    cr_arena *arena;
    cri_selection *selection;
    cri_target target[4];
    cri_domain *domain;
    cri_point point;
    double *z; // (n_variable) the start
    cri_shot_def def;
} plan_task;

static inline void task_must(cr_status status, const cr_error *err) {
    if (status != CR_OK) {
        fprintf(stderr, "%s\n", err->text);
    }
    assert_int_equal(status, CR_OK);
}

/// Prepares a task of n_step steps of the scene's length; targets end with NULL.
static inline void task_open(plan_task *t, const char *scene, const char *const *targets,
                             const char *controls, int n_step, int n_knot) {
    *t = (plan_task){.arena = cri_arena_create(1 << 14)};
    cr_error err = {0};
    task_must(cr_model_parse(scene, strlen(scene), "task.xml", &t->model, &err), &err);
    t->sim_options = cr_sim_options_default(t->model);
    int n = 0;
    for (; targets[n]; n++) {
        task_must(cri_target_parse(t->model, targets[n], &t->target[n], &err), &err);
        t->target[n].order = n;
    }
    task_must(cri_controls_create(t->model, controls, n_step, n_knot, &t->selection, &err), &err);
    t->domain = CR_PUSH(t->arena, cri_domain, t->selection->n_variable);
    t->z = CR_PUSH(t->arena, double, t->selection->n_variable);
    task_must(cri_point_push(t->selection, n_step, t->arena, &t->point, &err), &err);
    cri_controls_domain(t->selection, t->model, t->domain);
    cr_model_defaults(t->model, -1, t->point.p, t->point.x0, NULL);
    cri_selection_read(t->selection, &t->point, t->z);
    t->def = (cri_shot_def){.model = t->model,
                            .sim_options = &t->sim_options,
                            .selection = t->selection,
                            .domain = t->domain,
                            .start = &t->point,
                            .has_control = cri_selection_has(t->selection, CR_VECTOR_U),
                            .n_target = n,
                            .target = t->target,
                            .aim = {.n_step = n_step}};
}

static inline void task_close(plan_task *t) {
    cri_selection_destroy(t->selection);
    cri_arena_destroy(t->arena);
    cr_model_destroy(t->model);
}

/// Plans, from the task's start.
static inline cri_plan task_solve(plan_task *t, const cri_plan_options *options) {
    cri_plan plan;
    cr_error err = {0};
    task_must(cri_plan_solve(&t->def, options, t->z, t->arena, &plan, &err), &err);
    return plan;
}
