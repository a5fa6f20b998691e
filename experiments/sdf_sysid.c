// SPDX-License-Identifier: MIT
//
// Mass, friction and force from a push (paper 004, Table A.3): one of the two animals of
// data/shapes, as the hull of its mesh, which is all that a floor meets, stands 2 mm above a floor
// and is pushed by a constant force for 1 s; gravity 10, restitution 0. Force U(2, 5) along either
// axis, mass U(0.9, 1.1), friction U(0.01, 0.25); what is sought is drawn again for a start. Loss:
// the sum over steps of squares of position errors; SGD with rates 1e-2 (mass), 1e-3 (friction),
// 1e-1 (force), at most 100 iterations, stop at a change of 1e-5. By fit: carom fit on the same
// positions.
//
// Steps of 1/30 s with impacts at their ends: a landing on feet of many corners has more impacts
// within such a step than the stepper located follows, and it refuses a gradient then. The paper
// has 31 steps (30 times 1/30 is less than 1 in its arithmetic) and moves by the velocity after the
// friction of the step. Here that velocity moves the body in the next step, so there are 32. The
// stop rule makes this count: with the loss c e^2 it ends the descent between q s and s, where
//
//   c = sum over k <= 31 of (g h^2 k (k + 1)/2)^2,  q = 1 - 2 rate c,  s^2 = 1e-5/(c (1/q^2 - 1))
//
// for friction: 7e-5 to 1.6e-4, on average 1.2e-4; with 30 steps of ours it would be 2.1e-4.
//
// A force is sought as the acceleration that it gives, which is a gravity along x and y: the rate
// is that of the force divided by the square of the mass, so that the path of the descent is the
// same.

#include "sdf.h"
#include "sdf_space.h"
#include "sdf_task.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_RUN = 50, N_QUICK = 2, N_STEP = 32, MASS = 0, FRICTION, FORCE, N_KIND };

static const struct {
    const char *name, *unit, *sought;
    int n;
    double rate, lower, upper, paper_start, paper;
} kinds[N_KIND] = {
    {"mass", "kg", "b/mass", 1, 1e-2, 0.9, 1.1, 6.6e-2, 2.8e-3},
    {"friction", "1", "floor:b/friction", 1, 1e-3, 0.01, 0.25, 8.3e-2, 1.3e-4},
    {"force", "N", "gravity[0],gravity[1]", 2, 1e-1, 2.0, 5.0, 1.6, 1.5e-2},
};

/// What is drawn: mass, friction, force.
typedef struct push {
    double mass, friction, force[2];
} push;

static push draw(cri_random *random) {
    push p;
    p.mass = cri_random_uniform(random, kinds[MASS].lower, kinds[MASS].upper);
    p.friction = cri_random_uniform(random, kinds[FRICTION].lower, kinds[FRICTION].upper);
    for (int a = 0; a < 2; a++) {
        p.force[a] = cri_random_uniform(random, kinds[FORCE].lower, kinds[FORCE].upper);
    }
    return p;
}

// the numbers that are sought, in the model's terms
static void sought_of(int kind, const push *p, double mass, double value[2]) {
    value[0] = kind == MASS ? p->mass : kind == FRICTION ? p->friction : p->force[0] / mass;
    value[1] = p->force[1] / mass;
}

static cr_status open_task(cri_sdf_space *s, int kind, const push *truth, const double *code,
                           cri_sdf_task *task, cr_error *err) {
    const char *mesh;
    double reach, pull = kind == FORCE ? 1.0 / truth->mass : 0.0;
    CR_TRY(cri_sdf_space_mesh(s, code, &mesh, &reach, err));
    size_t room = strlen(mesh) + 2048;
    char *scene = CR_PUSH_RAW(s->work, char, room);
    if (!scene) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    snprintf(scene, room,
             "<mujoco><option gravity='%.17g %.17g -10'/><custom>"
             "<text name='carom:shape:b' data='hull'/>"
             "<numeric name='carom:friction:floor:b' data='%.17g'/></custom>%s<worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/><body name='b'><freejoint/>"
             "<geom name='b' type='mesh' mesh='m' mass='%.17g'/></body></worldbody>"
             "<keyframe><key qpos='0 0 %.17g 1 0 0 0' qvel='0 0 0 0 0 0'/></keyframe></mujoco>",
             pull * truth->force[0], pull * truth->force[1], truth->friction, mesh, truth->mass,
             reach + 2e-3);
    *task = (cri_sdf_task){.n_step = N_STEP,
                           .dt = 1.0 / 30.0,
                           .n_entry = 3,
                           .weight = 1.0,
                           .density = -1,
                           .eps_gap = 1e-3,
                           .rate = kinds[kind].rate,
                           .n_iteration = 100,
                           .rule = CRI_SDF_SGD};
    task->rate /= kind == FORCE ? truth->mass * truth->mass : 1.0;
    for (int i = 0; i < 2; i++) {
        task->lower[i] = kind == FORCE ? -INFINITY : 1e-3;
        task->upper[i] = INFINITY;
    }
    CR_TRY(cri_sdf_open(task, scene, kinds[kind].sought, "lcp", "end", err));
    task->u = CR_PUSH(task->memory, double, N_STEP * task->n.n_u);
    CR_ASSERT(task->n.n_u == 6);
    for (int k = 0; task->u && kind != FORCE && k < N_STEP; k++) {
        task->u[6 * k] = truth->force[0];
        task->u[6 * k + 1] = truth->force[1];
    }
    return task->u ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

// largest error, in the units of the table
static double error_of(int kind, const double *value, const double *truth, double mass) {
    double one = value[0] - truth[0], two = value[1] - truth[1];
    return kind == FORCE ? mass * sqrt(one * one + two * two) : fabs(one);
}

// errors at the start, by the paper's rule, by fit
static cr_status run_seed(cri_sdf_space *s, int kind, uint64_t seed, cri_report *report,
                          double sum[3], cr_error *err) {
    cri_random random = cri_random_of(seed, (uint64_t)kind);
    push truth = draw(&random), other = draw(&random);
    const double *code = s->space.code + (seed % 2) * (uint64_t)s->space.n_code;
    double target[2], start[2], value[2];
    cri_sdf_task task;
    sought_of(kind, &truth, truth.mass, target);
    sought_of(kind, &other, truth.mass, start);
    cr_status status = open_task(s, kind, &truth, code, &task, err);
    if (status == CR_OK) {
        task.report = report;
        task.title = kinds[kind].name;
        cri_sdf_put(&task, target);
        status = cri_sdf_move(&task, task.target, err);
        sum[0] += error_of(kind, start, target, truth.mass);
    }
    for (int k = 1; k < 3 && status == CR_OK; k++) {
        value[0] = start[0];
        value[1] = start[1];
        status = k == 1 ? cri_sdf_descend(&task, value, NULL, err) : cri_sdf_fit(&task, value, err);
        sum[k] += error_of(kind, value, target, truth.mass);
    }
    cri_sdf_close(&task);
    return status;
}

static cr_status run_kind(int kind, cri_sdf_space *space, const cri_experiment_options *options,
                          cri_experiment_result *out, cr_error *err) {
    int n = options->n_run > 0 ? options->n_run : options->is_full ? N_RUN : N_QUICK, done = 0;
    double sum[3] = {0.0, 0.0, 0.0};
    for (; done < n && !out->is_interrupted; done++) {
        cri_report *report = done == 0 ? options->report : NULL;
        CR_TRY(run_seed(space, kind, options->seed + (uint64_t)done, report, sum, err));
        cri_progress_state at = {kinds[kind].name, done + 1, n, NAN};
        out->is_interrupted = !cri_progress_tell(options->progress, &at);
    }
    if (done > 0) {
        cri_experiment_add(out, kinds[kind].unit, "lower", sum[0] / done, kinds[kind].paper_start,
                           "%s: start", kinds[kind].name);
        cri_experiment_add(out, kinds[kind].unit, "lower", sum[1] / done, kinds[kind].paper,
                           "%s: mean error", kinds[kind].name);
        cri_experiment_add(out, kinds[kind].unit, "lower", sum[2] / done, NAN,
                           "%s: mean error by fit", kinds[kind].name);
    }
    return CR_OK;
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    (void)self;
    cri_sdf_space space;
    cr_status status = cri_sdf_space_open("animals", &space, err);
    for (int k = 0; k < N_KIND && status == CR_OK && !out->is_interrupted; k++) {
        status = run_kind(k, &space, options, out, err);
    }
    cri_sdf_space_close(&space);
    return status;
}

const cri_experiment cri_sdf_sysid = {
    .name = "sdf-sysid",
    .summary = "mass, friction and force from a push (paper 004, Table A.3)",
    .run = run,
};
