// SPDX-License-Identifier: MIT
//
// Trains the models of a case by two or three recipes, several runs each.
//
//   fitted     annealed, and first states of windows are fitted too (learner.c); where a case
//              has it
//   annealed   Adam, rate 1e-2 falling to 0, a tenth of that L2 (without noise a thousandth)
//   paper      Adam, rate 1e-3, L2 of the published program (5e-3, cradle 5e-6)
//   whole      fitted, then 1000 steps of Adam, rate 1e-3 falling to 0, on whole recordings, each
//              one window whose first state is fitted; where a case has it
//
// An impact that is decided by less than the noise is not told by ten rows in front of it. The path
// through all rows tells it: impacts put the bodies at known places, and their speed, which all
// rows measure, says when they meet again.
//
// Every model has the same tuning budget: it is trained once by each recipe on a recording that is
// no run's, and the one is taken whose loss is lower on windows of another recording, from a start
// that neither runs nor tests have. The truth has no say. Where a case has the recipe fitted, first
// states of these windows are fitted to each model before its loss is taken, whatever its recipe
// was: from noisy rows a force that is too small predicts best. Where it has the recipe whole, that
// recording is one window, first state fitted. A quick experiment takes the first recipe.
// Runs differ in noise, first weights and order of windows. L2 of 0.05, which the program had when
// the paper was written, makes gravity 7 % too small whatever the model does, and is left out.

#define _POSIX_C_SOURCE 200809L // clock_gettime

#include "cdl_study.h"

#include "base/base.h"
#include "learned/propose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { HORIZON = 10, KEY_MOST = 160, N_SCORE = (int)(sizeof(cdl_score) / sizeof(double)) };

// seconds of this thread's work
static double thread_clock(void) {
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0
               ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec
               : NAN;
}

// asks within a training too, so that an interruption does not wait for its end
static bool stop_tick(void *context, const cri_progress_state *state) {
    (void)state;
    cdl_study *s = context;
    bool is_going;
#pragma omp critical(cdl_progress)
    {
        cri_progress_state whole = {"training", s->n_done, s->n_all, NAN};
        s->is_stopped = s->is_stopped || !cri_progress_tell(s->options->progress, &whole);
        is_going = !s->is_stopped;
    }
    return is_going;
}

// windows of all steps of a recording: one each
static int whole_horizon(const cdl_case *c) {
    return c->n_row - 2;
}

// noise, first weights and order of windows
static uint64_t seed_of(const cdl_study *s, const cdl_job *j) {
    return s->options->seed + (j->run == CDL_TUNING ? 999 : 1000 * (uint64_t)j->run);
}

// ---- one training ------------------------------------------------------------------------------

// the touches that jumps of the noisy velocity propose, instead of the measured ones
static bool propose(const cdl_case *c, cri_touch_data *data, cr_arena *arena) {
    signed char *jump = CR_PUSH(arena, signed char, data->n_row * c->n_q);
    double *touch = CR_PUSH(arena, double, data->n_row * c->n_contact);
    if (!jump || !touch) {
        return false;
    }
    for (int first = 0; first < data->n_row; first += c->n_row) {
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

static bool record(const cdl_study *s, const cdl_job *j, int horizon, cri_touch_data *out,
                   cr_arena *arena) {
    const cdl_case *c = s->c;
    return cri_cdl_record(c, c->n_train, c->train, seed_of(s, j), horizon, out, arena) &&
           (!c->variant[j->variant].has_no_signal || propose(c, out, arena));
}

// the recording that recipes are chosen by. Noise of seed + 1 is that of run 1 too, of another
// motion: where no table was chosen by it, it is not.
static bool record_held(const cdl_study *s, const cdl_job *j, cri_touch_data *out,
                        cr_arena *arena) {
    const cdl_case *c = s->c;
    int horizon = c->follows_whole ? whole_horizon(c) : HORIZON;
    uint64_t seed = seed_of(s, j) + (c->follows_whole ? 2 : 1);
    return cri_cdl_record(c, 1, c->hold, seed, horizon, out, arena) &&
           (!c->variant[j->variant].has_no_signal || propose(c, out, arena));
}

static cr_status no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
}

// the same with first states fitted to the model, which stays as it is
static cr_status judge_fitted(const cdl_study *s, const cri_learner *learner,
                              const cri_touch_data *data, double *p, double *out, cr_error *err) {
    enum { N_EPOCH = 40, N_WHOLE = 200 };
    cri_train_result result;
    cr_error unused = {0};
    cr_status status = cri_learner_train(
        &(cri_learner_training){.learner = learner,
                                .data = data,
                                .recipe = {"fitted", 1e-2, true, 0.0, 0.0, true},
                                .n_epoch = s->c->follows_whole ? N_WHOLE : N_EPOCH,
                                .is_fixed = true,
                                .seed = s->options->seed},
        p, &result, &unused);
    bool is_good = status == CR_OK && result.stop == CRI_TRAIN_DONE && result.n_dropped == 0;
    *out = is_good ? result.loss : INFINITY;
    return status == CR_ERR_MEMORY ? no_memory(err) : CR_OK;
}

// mean loss of the windows of a recording that was not trained on
static cr_status judge(const cdl_study *s, const cdl_job *j, const cri_learner *learner, double *p,
                       double *out, cr_arena *arena, cr_error *err) {
    cri_touch_data data;
    if (!record_held(s, j, &data, arena)) {
        return no_memory(err);
    }
    if (s->c->fits_starts || s->c->follows_whole) {
        return judge_fitted(s, learner, &data, p, out, err);
    }
    cri_learner_terms terms = {0};
    for (int k = 0; k < data.n_window; k++) {
        cri_learner_batch batch = {.data = &data, .n_window = 1, .window = &k, .n_mean = 1.0};
        if (!cri_learner_loss(learner, &batch, p, &terms, NULL, arena)) {
            return no_memory(err);
        }
    }
    *out = terms.n_failed > 0 ? INFINITY : (terms.motion + terms.touch) / data.n_window;
    return CR_OK;
}

// over windows, then over whole recordings, when the recipe says so
static cr_status train_stages(cdl_study *s, const cdl_job *j, const cri_learner *learner, double *p,
                              bool *is_done, cr_arena *arena, cr_error *err) {
    const cdl_recipe *recipe = &s->recipe[j->recipe];
    const cri_learner_recipe whole = {"whole", 1e-3, true, recipe->windows.l2, 0.0, true};
    cri_progress progress = {stop_tick, s};
    *is_done = true;
    for (int stage = 0; *is_done && stage < (recipe->n_whole > 0 ? 2 : 1); stage++) {
        cri_touch_data data;
        if (!record(s, j, stage == 0 ? HORIZON : whole_horizon(s->c), &data, arena)) {
            return no_memory(err);
        }
        cri_train_result result;
        CR_TRY(cri_learner_train(
            &(cri_learner_training){.learner = learner,
                                    .data = &data,
                                    .recipe = stage == 0 ? recipe->windows : whole,
                                    .n_epoch = stage == 0 ? recipe->n_epoch : recipe->n_whole,
                                    .seed = seed_of(s, j),
                                    .progress = &progress},
            p, &result, err));
        *is_done = result.stop != CRI_TRAIN_INTERRUPTED;
    }
    return CR_OK;
}

static cr_status train(cdl_study *s, cdl_job *j, const cri_learner *learner, double *p,
                       cr_arena *arena, cr_error *err) {
    if (!cri_learner_start(learner, seed_of(s, j), p, arena)) {
        return no_memory(err);
    }
    double begin = thread_clock();
    bool is_done;
    CR_TRY(train_stages(s, j, learner, p, &is_done, arena, err));
    if (!is_done) {
        return CR_OK;
    }
    double seconds = thread_clock() - begin;
    if (!cri_cdl_score(s->c, learner, p, &j->score, arena)) {
        return no_memory(err);
    }
    if (j->run == CDL_TUNING) {
        CR_TRY(judge(s, j, learner, p, &j->score.held_out, arena, err));
    }
    j->score.seconds = seconds;
    j->is_done = true;
    return CR_OK;
}

// ---- what was done before ----------------------------------------------------------------------

// all that the numbers of a training depend on
static void name_job(const cdl_study *s, const cdl_job *j, const char *what, char key[KEY_MOST]) {
    const cdl_recipe *recipe = &s->recipe[j->recipe];
    const cri_learner_recipe *r = &recipe->windows;
    int length = snprintf(
        key, KEY_MOST, "%s of %s %s run %d seed %llu, %d epochs, rate %g, l2 %g%s", what,
        s->c->variant[j->variant].name, r->name, j->run, (unsigned long long)s->options->seed,
        recipe->n_epoch, r->rate, r->l2, s->c->fits_starts ? ", first states fitted" : "");
    if (s->c->follows_whole) {
        (void)snprintf(key + length, KEY_MOST - (size_t)length, ", whole %d", recipe->n_whole);
    }
}

static bool recall(cdl_study *s, cdl_job *j, int n_p) {
    char key[2][KEY_MOST];
    double score[N_SCORE];
    name_job(s, j, "score", key[0]);
    name_job(s, j, "weights", key[1]);
    bool is_kept = cri_kept_find(&s->kept, key[0], N_SCORE, score) &&
                   (!j->p || cri_kept_find(&s->kept, key[1], (size_t)n_p, j->p));
    if (is_kept) {
        memcpy(&j->score, score, sizeof score);
        j->is_done = true;
    }
    return is_kept;
}

static cr_status keep(cdl_study *s, const cdl_job *j, int n_p, cr_error *err) {
    char key[KEY_MOST];
    double score[N_SCORE];
    memcpy(score, &j->score, sizeof score);
    if (j->p) {
        name_job(s, j, "weights", key);
        CR_TRY(cri_kept_add(&s->kept, key, (size_t)n_p, j->p, err));
    }
    name_job(s, j, "score", key);
    return cri_kept_add(&s->kept, key, N_SCORE, score, err);
}

// ---- all trainings -----------------------------------------------------------------------------

static cr_status work_with(cdl_study *s, cdl_job *j, const cri_learner *learner, cr_arena *arena,
                           cr_error *err) {
    bool is_known;
#pragma omp critical(cdl_kept)
    is_known = recall(s, j, learner->n_p);
    double *p = CR_PUSH(arena, double, learner->n_p);
    if (is_known || !p) {
        return p ? CR_OK : no_memory(err);
    }
    CR_TRY(train(s, j, learner, p, arena, err));
    if (!j->is_done) {
        return CR_OK;
    }
    if (j->p) {
        memcpy(j->p, p, (size_t)learner->n_p * sizeof *p);
    }
    cr_status status;
#pragma omp critical(cdl_kept)
    status = keep(s, j, learner->n_p, err);
    return status;
}

static void work(cdl_study *s, cdl_job *j, cr_error *err) {
    cr_arena *arena = cri_arena_create((size_t)1 << 18);
    cr_error own = {0};
    cri_learner learner = {0};
    j->status = arena && cri_cdl_learner(s->c, &s->c->variant[j->variant], &learner)
                    ? work_with(s, j, &learner, arena, &own)
                    : no_memory(&own);
    cri_learner_clear(&learner);
    cri_arena_destroy(arena);
#pragma omp critical(cdl_progress)
    {
        if (j->status != CR_OK) {
            *err = own;
            s->is_stopped = true;
        }
        s->n_done++;
        if (!cri_progress_tell(s->options->progress,
                               &(cri_progress_state){"training", s->n_done, s->n_all, NAN})) {
            s->is_stopped = true;
        }
    }
}

// jobs from first on
static cr_status work_all(cdl_study *s, int first, cr_error *err) {
    cr_error worst = {0};
#pragma omp parallel for schedule(dynamic) num_threads(s->options->n_thread)
    for (int k = first; k < s->n_job; k++) {
        if (!s->is_stopped) {
            work(s, &s->job[k], &worst);
        }
    }
    for (int k = first; k < s->n_job; k++) {
        if (s->job[k].status != CR_OK) {
            return cri_fail(err, s->job[k].status, 0, "%s", worst.text);
        }
    }
    return CR_OK;
}

// ---- plan --------------------------------------------------------------------------------------

static bool is_wanted(const cdl_study *s, int variant) {
    const char *model = s->options->model;
    return !model || strcmp(model, s->c->variant[variant].name) == 0;
}

static void add_job(cdl_study *s, int variant, int recipe, int run) {
    cdl_job *j = &s->job[s->n_job++];
    *j = (cdl_job){.variant = variant, .recipe = recipe, .run = run};
    cri_learner learner = {0};
    bool is_shown = run == 0 && (s->options->report || s->kept.file);
    if (is_shown && cri_cdl_learner(s->c, &s->c->variant[variant], &learner)) {
        j->p = CR_PUSH(s->memory, double, learner.n_p);
        cri_learner_clear(&learner);
    }
}

static bool plan(cdl_study *s) {
    const cdl_case *c = s->c;
    const cri_experiment_options *o = s->options;
    enum { N_WHOLE = 1000 };
    int annealed = o->is_full ? c->epoch_annealed : c->epoch_quick;
    const cdl_recipe recipe[] = {
        {{"fitted", 1e-2, true, c->l2_annealed, 0.0, true}, annealed, 0},
        {{"annealed", 1e-2, true, c->l2_annealed, 0.0, false}, annealed, 0},
        {{"paper", 1e-3, false, c->l2_paper, 0.0, false}, c->epoch_paper, 0},
        {{"whole", 1e-2, true, c->l2_annealed, 0.0, true}, annealed, N_WHOLE},
    };
    int first = c->fits_starts ? 0 : 1;
    int last = c->follows_whole ? 3 : 2;
    s->n_recipe = o->is_full ? last - first + 1 : 1;
    CR_ASSERT(s->n_recipe <= CDL_RECIPE_MOST);
    memcpy(s->recipe, recipe + first, (size_t)s->n_recipe * sizeof *recipe);
    s->n_run = o->n_run > 0 ? o->n_run : o->is_full ? 5 : 1;
    s->job = CR_PUSH(s->memory, cdl_job, c->n_variant * (s->n_recipe + s->n_run));
    int n_tuning = s->n_recipe > 1 ? s->n_recipe : 0;
    for (int k = 0; k < c->n_variant; k++) {
        s->chosen[k] = n_tuning == 0 && is_wanted(s, k) ? 0 : -1;
        s->n_all += is_wanted(s, k) ? n_tuning + s->n_run : 0;
    }
    return s->job != NULL;
}

// each model by each recipe, the long ones first, and the better one
static cr_status tune(cdl_study *s, cr_error *err) {
    for (int recipe = s->n_recipe - 1; recipe >= 0; recipe--) {
        for (int k = 0; k < s->c->n_variant; k++) {
            if (is_wanted(s, k)) {
                add_job(s, k, recipe, CDL_TUNING);
            }
        }
    }
    CR_TRY(work_all(s, 0, err));
    for (int k = 0; k < s->c->n_variant; k++) {
        double best = NAN;
        int n_known = 0;
        for (int i = 0; i < s->n_job; i++) {
            const cdl_job *j = &s->job[i];
            if (j->variant == k && j->is_done) {
                n_known++;
                s->chosen[k] = best <= j->score.held_out ? s->chosen[k] : j->recipe;
                best = fmin(best, j->score.held_out);
            }
        }
        s->chosen[k] = n_known == s->n_recipe ? s->chosen[k] : -1;
    }
    return CR_OK;
}

static cr_status run_all(cdl_study *s, cr_error *err) {
    if (!plan(s)) {
        return no_memory(err);
    }
    if (s->n_recipe > 1) {
        CR_TRY(tune(s, err));
    }
    int first = s->n_job;
    for (int k = 0; k < s->c->n_variant * s->n_run; k++) {
        int variant = k / s->n_run;
        if (s->chosen[variant] >= 0) {
            add_job(s, variant, s->chosen[variant], k % s->n_run);
        }
    }
    return cri_arena_has_failed(s->memory) ? no_memory(err) : work_all(s, first, err);
}

cr_status cri_cdl_run(const cdl_case *c, const char *name, const cri_experiment_options *options,
                      cri_experiment_result *out, cr_error *err) {
    CR_ASSERT(options->n_run <= CDL_RUN_MOST && options->n_thread > 0);
    cdl_study s = {.c = c, .options = options, .memory = cri_arena_create(1 << 16)};
    cr_status status =
        s.memory ? cri_kept_open(options->checkpoint, name, &s.kept, err) : no_memory(err);
    if (status == CR_OK) {
        status = run_all(&s, err);
    }
    out->is_interrupted = s.is_stopped;
    if (status == CR_OK) {
        status = cri_cdl_tell(&s, out, err);
    }
    cri_kept_clear(&s.kept);
    cri_arena_destroy(s.memory);
    return status;
}
