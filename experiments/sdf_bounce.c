// SPDX-License-Identifier: MIT
//
// A ball between a floor and a wall (paper 004, Table 1): its radius from its path, 1.5 s of it,
// with and without gravity. The paper's constants (gravity 10 along -y, restitution 0.5, friction
// 0.25, radii U(0.4, 2), SGD with rate 0.1, at most 100 iterations, stop at a change of 1e-5).
//
// As a distance field the ball is a mesh in a field among boxes that are fields; with --full a
// tenth of the seeds show that the same comes out. Without the time of contact: the stepper end,
// whose gradient is that of the time-stepping map. It makes its own data, so that its loss can be
// zero.

#include "sdf.h"
#include "sdf_task.h"

#include "base/base.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_SEED = 50, N_QUICK = 5 };

static const double low = 0.4, high = 2.0;

/// Errors of the radius over seeds.
typedef struct errors {
    int n;
    double sum, most, start;
} errors;

static void add(errors *e, double error, double start) {
    e->n++;
    e->sum += error;
    e->start += start;
    e->most = fmax(e->most, error);
}

static cr_status open_task(bool has_gravity, bool is_field, const char *stepper, cri_sdf_task *task,
                           cr_error *err) {
    char scene[1536];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='0 %s 0'/><custom>%s"
             "<text name='carom:inertia:ball' data='shape'/>"
             "<numeric name='carom:restitution:ball' data='0.5'/></custom><worldbody>"
             "<geom name='floor' type='box' size='10 0.5 10' pos='0 -0.5 0' friction='0.25'/>"
             "<geom name='wall' type='box' size='0.5 5 5' pos='5 5 0' friction='0.25'/>"
             "<body name='ball'><freejoint/><geom name='ball' type='sphere' size='1' "
             "friction='0.25'/></body></worldbody>"
             "<keyframe><key qpos='0 5 0 1 0 0 0' qvel='5 0 0 0 0 0'/></keyframe></mujoco>",
             has_gravity ? "-10" : "0",
             is_field ? "<text name='carom:shape:ball' data='sphere 1'/>" : "");
    *task = (cri_sdf_task){.n_step = 45,
                           .dt = 1.0 / 30.0,
                           .n_entry = 3,
                           .weight = 1.0 / 45.0,
                           .lower = {low},
                           .upper = {high},
                           .density = -1,
                           .rate = 0.1,
                           .n_iteration = 100,
                           .rule = CRI_SDF_SGD};
    return cri_sdf_open(task, scene, is_field ? "ball/shape[0]" : "ball/size[0]", "lcp", stepper,
                        err);
}

// one seed: the paper's rule, then the fit
static cr_status run_seed(cri_sdf_task *task, uint64_t seed, errors *rule, errors *fit,
                          cr_error *err) {
    cri_random random = cri_random_of(seed, 0);
    double truth = cri_random_uniform(&random, low, high);
    double start = cri_random_uniform(&random, low, high), value = start;
    cri_sdf_put(task, &truth);
    CR_TRY(cri_sdf_move(task, task->target, err));
    CR_TRY(cri_sdf_descend(task, &value, NULL, err));
    add(rule, fabs(value - truth), fabs(start - truth));
    if (fit) {
        value = start;
        CR_TRY(cri_sdf_fit(task, &value, err));
        add(fit, fabs(value - truth), fabs(start - truth));
    }
    return CR_OK;
}

/// A line of the table.
typedef struct kind {
    const char *name;
    bool has_gravity, is_field;
    const char *stepper;
    double paper; // mean error
} kind;

static const kind kinds[] = {
    {"with gravity", true, false, "located", 0.007},
    {"with gravity, as a distance field", true, true, "located", 0.007},
    {"with gravity, no time of contact", true, false, "end", 0.038},
    {"without gravity", false, false, "located", 0.002},
    {"without gravity, as a distance field", false, true, "located", 0.002},
    {"without gravity, no time of contact", false, false, "end", NAN},
};

static cr_status run_kind(const kind *k, const cri_experiment_options *options,
                          cri_experiment_result *out, cr_error *err) {
    cri_sdf_task task;
    errors rule = {0}, fit = {0};
    bool is_exact = strcmp(k->stepper, "located") == 0;
    int n = options->n_run > 0 ? options->n_run : options->is_full ? N_SEED : N_QUICK;
    // a field takes a hundred times as long, to the same numbers
    n = k->is_field ? (n + 9) / 10 : n;
    cr_status status = open_task(k->has_gravity, k->is_field, k->stepper, &task, err);
    for (int s = 0; s < n && status == CR_OK && !out->is_interrupted; s++) {
        task.report = s == 0 ? options->report : NULL;
        task.title = k->name;
        status = run_seed(&task, options->seed + (uint64_t)s, &rule, is_exact ? &fit : NULL, err);
        cri_progress_state at = {.what = "seed", .done = s + 1, .total = n, .loss = NAN};
        out->is_interrupted = !cri_progress_tell(options->progress, &at);
    }
    cri_sdf_close(&task);
    if (status != CR_OK || rule.n == 0) {
        return status;
    }
    cri_experiment_add(out, "m", "lower", rule.start / rule.n, NAN, "%s: start", k->name);
    cri_experiment_add(out, "m", "lower", rule.sum / rule.n, k->paper,
                       "%s: mean error of the radius", k->name);
    cri_experiment_add(out, "m", "lower", rule.most, NAN, "%s: largest", k->name);
    if (fit.n > 0) {
        cri_experiment_add(out, "m", "lower", fit.sum / fit.n, NAN, "%s: mean error by fit",
                           k->name);
        cri_experiment_add(out, "m", "lower", fit.most, NAN, "%s: largest by fit", k->name);
    }
    return CR_OK;
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    (void)self;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !out->is_interrupted; k++) {
        if (!kinds[k].is_field || options->is_full) {
            CR_TRY(run_kind(&kinds[k], options, out, err));
        }
    }
    return CR_OK;
}

const cri_experiment cri_sdf_bounce = {
    .name = "sdf-bounce",
    .summary = "the radius of a ball from its bounces (paper 004, Table 1)",
    .run = run,
};
