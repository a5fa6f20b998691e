// SPDX-License-Identifier: MIT
//
// Trains the models of a case by two recipes, several runs each.
//
//   annealed   Adam, rate 1e-2 falling to 0, a tenth of that L2 (without noise a thousandth)
//   paper      Adam, rate 1e-3, L2 of the published program (5e-3, cradle 5e-6)
//
// Every model gets both recipes, the same epochs and the same recordings: that is its tuning
// budget. L2 of 0.05, which the program had when the paper was written, makes gravity 7 % too small
// whatever the model does, and is left out. Runs differ in noise, first weights and order of
// windows.

#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "cdl_study.h"

#include "base/base.h"
#include "learn/propose.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { HORIZON = 10 };

// seconds of this thread's work
static double thread_clock(void) {
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0
               ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec
               : NAN;
}

static bool stop_tick(void *context, const cri_progress_state *state) {
    (void)state;
    const cdl_study *s = context;
    return !s->is_stopped;
}

static cr_status train(cdl_study *s, cdl_job *j, const cri_learner *learner,
                       const cri_touch_data *data, cr_arena *arena, cr_error *err) {
    uint64_t seed = s->options->seed + 1000 * (uint64_t)j->run;
    double *p = CR_PUSH(arena, double, learner->n_p);
    if (!p || !cri_learner_start(learner, seed, p, arena)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    cri_progress progress = {stop_tick, s};
    cri_train_result result;
    double begin = thread_clock();
    CR_TRY(cri_learner_train(&(cri_learner_training){.learner = learner,
                                                     .data = data,
                                                     .recipe = s->recipe[j->recipe],
                                                     .n_epoch = s->n_epoch[j->recipe],
                                                     .seed = seed,
                                                     .progress = &progress},
                             p, &result, err));
    if (result.stop == CRI_TRAIN_INTERRUPTED) {
        return CR_OK;
    }
    j->score.seconds = thread_clock() - begin;
    if (!cri_cdl_score(s->c, learner, p, &j->score, arena)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    if (j->p) {
        memcpy(j->p, p, (size_t)learner->n_p * sizeof *p);
    }
    j->is_done = true;
    return CR_OK;
}

// the touches that jumps of the noisy velocity propose, instead of the measured ones
static bool propose(const cdl_case *c, cri_touch_data *data, cr_arena *arena) {
    signed char *jump = CR_PUSH(arena, signed char, data->n_row * c->n_q);
    double *touch = CR_PUSH(arena, double, data->n_row * c->n_contact);
    if (!jump || !touch) {
        return false;
    }
    for (int k = 0; k < c->n_train; k++) {
        int first = k * c->n_row;
        if (!cri_touch_jumps(c->n_row, c->n_q, data->x + (size_t)(first * 2 * c->n_q),
                             jump + first * c->n_q, arena)) {
            return false;
        }
    }
    for (int k = 0; k < data->n_row * c->n_contact; k++) {
        const cri_central_contact *t = &c->touch[k % c->n_contact];
        touch[k] = jump[k / c->n_contact * c->n_q + t->i] > 0 ? 1.0 : 0.0;
    }
    data->touch = touch;
    return true;
}

static cr_status prepare(cdl_study *s, cdl_job *j, cr_arena *arena, cr_error *err) {
    cri_touch_data data;
    cri_learner learner = {0};
    cr_status status = CR_OK;
    uint64_t seed = s->options->seed + 1000 * (uint64_t)j->run;
    if (!arena || !cri_cdl_record(s->c, seed, HORIZON, &data, arena) ||
        (s->c->variant[j->variant].has_no_signal && !propose(s->c, &data, arena)) ||
        !cri_cdl_learner(s->c, &s->c->variant[j->variant], &learner)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    } else {
        status = train(s, j, &learner, &data, arena, err);
    }
    cri_learner_clear(&learner);
    return status;
}

static void work(cdl_study *s, cdl_job *j, cr_error *err) {
    cr_arena *arena = cri_arena_create((size_t)1 << 18);
    cr_error own = {0};
    j->status = prepare(s, j, arena, &own);
    cri_arena_destroy(arena);
#pragma omp critical(cdl_progress)
    {
        if (j->status != CR_OK) {
            *err = own;
            s->is_stopped = true;
        }
        s->n_done++;
        if (!cri_progress_tell(s->options->progress,
                               &(cri_progress_state){"training", s->n_done, s->n_job, NAN})) {
            s->is_stopped = true;
        }
    }
}

static cr_status work_all(cdl_study *s, cr_error *err) {
    cr_error first = {0};
    int n_thread = s->options->n_thread;
#pragma omp parallel for schedule(dynamic) num_threads(n_thread)
    for (int k = 0; k < s->n_job; k++) {
        if (!s->is_stopped) {
            work(s, &s->job[k], &first);
        }
    }
    for (int k = 0; k < s->n_job; k++) {
        if (s->job[k].status != CR_OK) {
            return cri_fail(err, s->job[k].status, 0, "%s", first.text);
        }
    }
    return CR_OK;
}

static bool is_wanted(const cdl_study *s, int variant) {
    const char *model = s->options->model;
    return !model || strcmp(model, s->c->variant[variant].name) == 0;
}

static void add_job(cdl_study *s, int variant, int recipe, int run) {
    cdl_job *j = &s->job[s->n_job++];
    *j = (cdl_job){.variant = variant, .recipe = recipe, .run = run};
    cri_learner learner = {0};
    bool is_shown = s->options->report && recipe == 0 && run == 0;
    if (is_shown && cri_cdl_learner(s->c, &s->c->variant[variant], &learner)) {
        j->p = CR_PUSH(s->memory, double, learner.n_p);
        cri_learner_clear(&learner);
    }
}

static bool plan(cdl_study *s) {
    const cdl_case *c = s->c;
    const cri_experiment_options *o = s->options;
    s->recipe[0] = (cri_learner_recipe){"annealed", 1e-2, true, c->l2_annealed};
    s->recipe[1] = (cri_learner_recipe){"paper", 1e-3, false, c->l2_paper};
    s->n_epoch[0] = o->is_full ? c->epoch_annealed : c->epoch_quick;
    s->n_epoch[1] = c->epoch_paper;
    s->n_recipe = o->is_full ? 2 : 1;
    s->n_run = o->n_run > 0 ? o->n_run : o->is_full ? 5 : 1;
    s->job = CR_PUSH(s->memory, cdl_job, c->n_variant * s->n_recipe * s->n_run);
    // the long ones first
    for (int recipe = s->n_recipe - 1; s->job && recipe >= 0; recipe--) {
        for (int k = 0; k < c->n_variant * s->n_run; k++) {
            if (is_wanted(s, k / s->n_run)) {
                add_job(s, k / s->n_run, recipe, k % s->n_run);
            }
        }
    }
    return !cri_arena_has_failed(s->memory);
}

cr_status cri_cdl_run(const cdl_case *c, const cri_experiment_options *options,
                      cri_experiment_result *out, cr_error *err) {
    CR_ASSERT(options->n_run <= CDL_RUN_MOST && options->n_thread > 0);
    cdl_study s = {.c = c, .options = options, .memory = cri_arena_create(1 << 16)};
    if (!s.memory || !plan(&s)) {
        cri_arena_destroy(s.memory);
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    cr_status status = work_all(&s, err);
    out->is_interrupted = s.is_stopped;
    if (status == CR_OK) {
        status = cri_cdl_tell(&s, out, err);
    }
    cri_arena_destroy(s.memory);
    return status;
}
