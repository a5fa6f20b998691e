// SPDX-License-Identifier: MIT
//
// Tasks of paper 002, each under every law with the same iterations and rates, from a start where
// nothing moves and from the best of some draws.
//
// A run is what `carom plan experiments/scenes/NAME.xml` does with the options of the table below:
// Adam (0.3, 0.5), the loss max(0, d^2 - radius^2) summed over the objects, for a receding horizon
// over the steps of a window too. Seeds move the targets by up to 0.05 m. Laws that a build does
// not have are passed over.

#include "lrc_task.h"

#include "base/random.h"
#include "contact/law.h"
#include "lrc.h"
#include "optimize/controls.h"
#include "optimize/plan.h"
#include "optimize/receding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// of targets by seed, m
#define SHIFT 0.05

// draws of a sampled start (experiments of paper 002: best of 64)
enum { N_SAMPLE = 64, N_SAMPLE_QUICK = 4, MOST_TARGET = 12 };

static const lrc_task tasks[] = {
    {.scene = "billiards",
     .controls = "x0:cue/qpos[0],x0:cue/qpos[1],x0:cue/qvel[0],x0:cue/qvel[1]",
     .bound = {"x0:cue/qpos[0]=0:5", "x0:cue/qpos[1]=1.2:5", "x0:cue/qvel[*]=-6:6"},
     .target = {"b40:-0.6,-4.6,0", "b44:5,-4.6,0"},
     .radius = 0.25,
     .rate = 0.03,
     .n_iteration = 400,
     .n_quick = 4,
     .n_step = {12, 100},
     .spread = 1.0},
    {.scene = "push",
     .controls = "u:rod_x[*],u:rod_y[*],u:rod_turn[*]",
     .bound = {"u:rod_x=-1:2", "u:rod_y=-1:1", "u:rod_turn=-1.5:1.5"},
     .target = {"box:0.6,0.1,0.15@all"},
     .radius = 0.05,
     .rate = 0.01,
     .n_iteration = 50,
     .n_quick = 12,
     .n_step = {24, 200},
     .horizon = {12, 48},
     .execute = 12,
     .spread = 0.3,
     .contact_target = "box:0.1,0,0.15@all",
     .contact_place = 0.295,
     .contact_push = 0.35},
    {.scene = "gather",
     .controls = "u:rod_x[*],u:rod_y[*],u:rod_turn[*]",
     .bound = {"u:rod_x=-1:4", "u:rod_y=-2:2", "u:rod_turn=-3:3"},
     .target = {"c0:0.6,0,0.1@all", "c1:0.6,0,0.1@all", "c2:0.6,0,0.1@all", "c3:0.6,0,0.1@all",
                "c4:0.6,0,0.1@all", "c5:0.6,0,0.1@all", "c6:0.6,0,0.1@all", "c7:0.6,0,0.1@all",
                "c8:0.6,0,0.1@all", "c9:0.6,0,0.1@all"},
     .radius = 0.5,
     .rate = 0.01,
     .n_iteration = 60,
     .n_quick = 2,
     .n_step = {6, 300},
     .horizon = {6, 32},
     .execute = 6,
     .spread = 0.3},
    {.scene = "sort",
     .controls = "u:rod_x[*],u:rod_y[*],u:rod_turn[*]",
     .bound = {"u:rod_x=-1:4", "u:rod_y=-2:2", "u:rod_turn=-3:3"},
     .target = {"c0:0,0.7,0.1@all", "c1:0,-0.7,0.1@all", "c2:0,0.7,0.1@all", "c3:0,-0.7,0.1@all",
                "c4:0,0.7,0.1@all", "c5:0,-0.7,0.1@all", "c6:0,0.7,0.1@all", "c7:0,-0.7,0.1@all",
                "c8:0,0.7,0.1@all", "c9:0,-0.7,0.1@all"},
     .radius = 0.5,
     .rate = 0.01,
     .n_iteration = 100,
     .n_quick = 2,
     .n_step = {6, 700},
     .horizon = {6, 16},
     .execute = 4,
     .spread = 0.3},
    {.scene = "ant",
     .controls = "u:swing0[*],u:raise0[*],u:bend0[*],u:swing1[*],u:raise1[*],u:bend1[*],"
                 "u:swing2[*],u:raise2[*],u:bend2[*],u:swing3[*],u:raise3[*],u:bend3[*]",
     .target = {"box:1.2,0,0.15@all"},
     .radius = 0.05,
     .rate = 0.03,
     .n_iteration = 100,
     .n_quick = 3,
     .n_step = {12, 240},
     .n_sine = 4,
     .spread = 0.3},
};

/// A contestant: a law, and how its gradient is had.
typedef struct rival {
    const char *name;
    const char *law;
    double mu; // of a law that is an energy, 0: that of the scene
    cri_bundle_options bundle;
} rival;

static const rival rivals[] = {
    {"longrange", "longrange", 0.0, {0}},
    {"ipc", "ipc", 10.0, {0}},
    {"sdrs", "sdrs", 1e-4, {0}},
    {"soft", "soft", 0.0, {0}},
    // of losses alone: where nothing touches, gradients of every draw are zero as well
    {"bundle", "soft", 0.0, {.n = 32, .sigma = 0.1, .is_zeroth = true}},
};

enum { N_RIVAL = sizeof rivals / sizeof rivals[0], N_TASK = sizeof tasks / sizeof tasks[0] };

typedef enum start_kind {
    START_TRIVIAL, // nothing moves
    START_SAMPLED, // the best of some draws
    START_CONTACT, // in contact, with a target near by
} start_kind;

/// One run of a task.
typedef struct run {
    const lrc_task *task;
    const cri_experiment_options *o;
    const rival *rival;
    double rate;
    start_kind start;
    uint64_t seed;
    cr_arena *arena;
    cr_model *model;
    cr_sim_options sim_options;
    int n_target;
    cri_target target[MOST_TARGET];
    // what came out
    cri_plan_stop stop;
    double worst; // m, largest distance
    double loss;  // of the last window or of the whole
    int n_iteration;
    double *history;
    int n_history;
} run;

// ---- one run -----------------------------------------------------------------------------------

static cr_status read_targets(run *r, double end, cr_error *err) {
    cri_random draw = cri_random_of(r->seed, 0x7461736bu);
    const char *only[2] = {r->task->contact_target, NULL};
    const char *const *text = r->start == START_CONTACT ? only : r->task->target;
    for (r->n_target = 0; text[r->n_target]; r->n_target++) {
        cri_target *t = &r->target[r->n_target];
        CR_TRY(cri_target_parse(r->model, text[r->n_target], t, err));
        t->order = r->n_target;
        // near by is nearer than usual
        t->radius = (r->start == START_CONTACT ? 0.5 : 1.0) * r->task->radius;
        for (int i = 0; i < 2 && r->seed > 0 && r->start != START_CONTACT; i++) {
            t->point[i] += cri_random_uniform(&draw, -SHIFT, SHIFT);
        }
        t->has_time = t->has_time || t->is_throughout;
        t->time = t->is_throughout ? end : t->time;
    }
    return CR_OK;
}

static cri_plan_options plan_options(const run *r) {
    bool is_full = r->o->is_full;
    cri_plan_options options = cri_plan_options_default(CRI_METHOD_ADAM);
    options.minimise.rate = r->rate;
    options.minimise.beta[0] = 0.3;
    options.minimise.beta[1] = 0.5;
    options.iteration_limit = is_full ? r->task->n_iteration : r->task->n_quick;
    options.minimise.patience = options.iteration_limit + 1;
    options.bundle = r->rival->bundle;
    options.bundle.n = r->rival->bundle.n > 0 && !is_full ? 4 : r->rival->bundle.n;
    options.n_sample = r->start != START_SAMPLED ? 0 : is_full ? N_SAMPLE : N_SAMPLE_QUICK;
    options.spread = r->task->spread;
    options.seed = r->seed;
    options.n_thread = r->o->n_thread;
    options.progress = r->o->progress;
    return options;
}

// parameters and state of the start
static void set_start(const run *r, double *p, double *x) {
    int mu = cr_model_find(r->model, CR_VECTOR_P, "potential/mu", NULL);
    cr_model_defaults(r->model, -1, p, x, NULL);
    if (mu >= 0 && r->rival->mu > 0.0) {
        p[mu] = r->rival->mu;
    }
    if (r->start == START_CONTACT) {
        x[0] = r->task->contact_place;
    }
}

static void keep_history(run *r, int n, const double *history) {
    r->history = CR_PUSH(r->arena, double, n);
    for (int i = 0; r->history && i < n; i++) {
        r->history[i] = history[i];
    }
    r->n_history = r->history ? n : 0;
    r->loss = n > 0 ? history[n - 1] : NAN;
}

static void take_distances(run *r, const double *distance) {
    r->worst = 0.0;
    for (int i = 0; i < r->n_target; i++) {
        r->worst = fmax(r->worst, isnan(distance[i]) ? INFINITY : distance[i]);
    }
}

static cr_status plan_windows(run *r, int n_step, double dt, cr_error *err) {
    const lrc_task *t = r->task;
    cr_sizes z = cr_model_sizes(r->model);
    double *p = CR_PUSH(r->arena, double, z.n_p), *x = CR_PUSH(r->arena, double, z.n_x);
    double *u = CR_PUSH(r->arena, double, (size_t)n_step *(size_t)z.n_u);
    if (!p || !x || !u) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
    }
    set_start(r, p, x);
    for (int k = 0; k < n_step && r->start == START_CONTACT; k++) {
        u[(size_t)k * (size_t)z.n_u] = t->contact_push;
    }
    int n_bound = 0;
    while (n_bound < 4 && t->bound[n_bound]) {
        n_bound++;
    }
    cri_receding_def def = {.model = r->model,
                            .sim_options = &r->sim_options,
                            .controls = t->controls,
                            .bound = t->bound,
                            .n_bound = n_bound,
                            .p = p,
                            .x = x,
                            .n_target = r->n_target,
                            .target = r->target,
                            .n_step = n_step,
                            .dt = dt,
                            .horizon = t->horizon[r->o->is_full],
                            .execute = t->execute};
    cri_plan_options options = plan_options(r);
    cri_receding result;
    CR_TRY(cri_receding_run(&def, &options, u, r->arena, &result, err));
    r->stop = result.stop;
    r->n_iteration = result.n_iteration;
    take_distances(r, result.distance);
    keep_history(r, result.n_window, result.history);
    return CR_OK;
}

static cr_status plan_whole(run *r, int n_step, double dt, cr_error *err) {
    const lrc_task *t = r->task;
    cri_selection *selection = NULL;
    CR_TRY(cri_controls_create(r->model, t->controls, n_step, 0, &selection, err));
    int n = selection->n_variable;
    cri_domain *domain = CR_PUSH(r->arena, cri_domain, n), *own = NULL;
    double *z = CR_PUSH(r->arena, double, n);
    cri_point point;
    cri_waves waves = {0};
    cr_status status = domain && z ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory");
    if (status == CR_OK) {
        status = cri_point_push(selection, n_step, r->arena, &point, err);
    }
    if (status == CR_OK) {
        set_start(r, point.p, point.x0);
        cri_controls_domain(selection, r->model, domain);
        cri_selection_read(selection, &point, z);
    }
    for (int i = 0; i < 4 && t->bound[i] && status == CR_OK; i++) {
        status = cri_controls_bound(selection, t->bound[i], domain, err);
    }
    if (status == CR_OK && t->n_sine > 0) {
        status = cri_waves_create(selection, n_step, 1, &dt, t->n_sine, r->arena, &waves, err);
        own = status == CR_OK ? CR_PUSH(r->arena, cri_domain, waves.n) : NULL;
        z = own ? CR_PUSH(r->arena, double, waves.n) : NULL;
        status = status == CR_OK && !z ? cri_fail(err, CR_ERR_MEMORY, 0, "no memory") : status;
        if (status == CR_OK) {
            cri_waves_begin(&waves, domain, own, z);
            domain = own;
        }
    }
    if (status == CR_OK) {
        cri_shot_def def = {.model = r->model,
                            .sim_options = &r->sim_options,
                            .selection = selection,
                            .waves = waves.n > 0 ? &waves : NULL,
                            .domain = domain,
                            .start = &point,
                            .has_control = cri_selection_has(selection, CR_VECTOR_U),
                            .n_target = r->n_target,
                            .target = r->target,
                            .aim = {.n_step = n_step, .dt = dt}};
        cri_plan_options options = plan_options(r);
        cri_plan plan;
        status = cri_plan_solve(&def, &options, z, r->arena, &plan, err);
        if (status == CR_OK) {
            r->stop = plan.stop;
            r->n_iteration = plan.n_iteration;
            take_distances(r, plan.distance);
            keep_history(r, plan.n_history, plan.history);
        }
    }
    cri_selection_destroy(selection);
    return status;
}

static cr_status run_once(run *r, cr_error *err) {
    const char *text = lrc_scene(r->task->scene);
    CR_TRY(cr_model_parse(text, strlen(text), r->task->scene, &r->model, err));
    double dt = cr_model_sizes(r->model).dt;
    // one window in contact: without friction a box goes on
    int n_step = r->start == START_CONTACT ? r->task->horizon[r->o->is_full]
                                           : r->task->n_step[r->o->is_full];
    r->sim_options = cr_sim_options_default(r->model);
    r->sim_options.law = r->rival->law;
    r->sim_options.stepper = NULL;
    CR_TRY(read_targets(r, n_step * dt, err));
    return r->task->horizon[0] > 0 ? plan_windows(r, n_step, dt, err)
                                   : plan_whole(r, n_step, dt, err);
}

// ---- all runs ----------------------------------------------------------------------------------

/// What a rival came to from one kind of start, over the seeds.
typedef struct score {
    int n, n_reached;
    double worst, loss, n_iteration; // of the last seed
} score;

static void draw_curve(const run *r, int chart) {
    if (chart < 0 || !r->o->report) {
        return;
    }
    int series =
        cri_report_series(r->o->report, chart, 1, &(cri_report_line){.name = r->rival->name});
    for (int k = 0; k < r->n_history; k++) {
        cri_report_point(r->o->report, series, k, &r->history[k]);
    }
}

/// The best of the rates, for one seed; failures count as not reached.
static cr_status run_seed(const lrc_task *task, const rival *who, start_kind start, uint64_t seed,
                          const cri_experiment_options *o, int chart, score *s, cr_error *err) {
    // the paper's rate and two others; a quick run has few steps and takes longer ones
    static const double full[3] = {1.0, 3.0, 0.3}, quick[1] = {5.0};
    const double *scale = o->is_full ? full : quick;
    int n_rate = o->is_full ? 3 : 1;
    double best = INFINITY;
    bool is_reached = false;
    for (int k = 0; k < n_rate && !is_reached; k++) {
        run r = {.task = task,
                 .o = o,
                 .rival = who,
                 .rate = scale[k] * task->rate,
                 .start = start,
                 .seed = seed,
                 .arena = cri_arena_create(1 << 18),
                 .worst = INFINITY};
        cr_status status = r.arena ? run_once(&r, err) : CR_ERR_MEMORY;
        if (status == CR_OK && r.worst < best) {
            best = r.worst;
            is_reached = r.stop == CRI_PLAN_REACHED;
            s->worst = r.worst;
            s->loss = r.loss;
            s->n_iteration = r.n_iteration;
            draw_curve(&r, k == 0 ? chart : -1);
        }
        cr_model_destroy(r.model);
        cri_arena_destroy(r.arena);
        if (status == CR_ERR_MEMORY) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
        }
        if (status != CR_OK && o->report && k == 0) {
            cri_report_note(o->report, "%s: %s", who->name, err->text);
        }
        if (r.stop == CRI_PLAN_INTERRUPTED) {
            return CR_OK;
        }
    }
    s->n++;
    s->n_reached += is_reached;
    return CR_OK;
}

static void tell(const score *s, const char *name, const char *start, const lrc_task *task,
                 bool is_ours, cri_experiment_result *out) {
    if (s->n == 0) {
        return;
    }
    cri_experiment_add(out, "", "higher", (double)s->n_reached / s->n, is_ours ? 1.0 : NAN,
                       "%s, %s start, reached", name, start);
    cri_experiment_add(out, "", "lower", s->n_iteration, is_ours ? (double)task->n_iteration : NAN,
                       "%s, %s start, iterations", name, start);
    cri_experiment_add(out, "m", "lower", s->worst, NAN, "%s, %s start, farthest object", name,
                       start);
}

cr_status lrc_task_run(const cri_experiment *self, const cri_experiment_options *options,
                       cri_experiment_result *out, cr_error *err) {
    const lrc_task *task = NULL;
    for (int k = 0; k < N_TASK; k++) {
        task = strcmp(tasks[k].scene, self->name + 4) == 0 ? &tasks[k] : task;
    }
    CR_ASSERT(task);
    if (!cri_law_find_any("longrange")) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "%.40s: this build does not have the law longrange, which it is about",
                        self->name);
    }
    int n_seed = options->n_run > 0 ? options->n_run : options->is_full ? 5 : 1;
    int n_kind = task->contact_target ? START_CONTACT + 1 : START_SAMPLED + 1;
    for (int start = 0; start < n_kind; start++) {
        static const char *const word[] = {"trivial", "sampled", "touching"};
        int chart = options->report ? cri_report_chart(options->report,
                                                       &(cri_report_chart_def){.title = word[start],
                                                                               .x = "iteration",
                                                                               .y = "loss in m^2"})
                                    : -1;
        for (int k = 0; k < N_RIVAL; k++) {
            bool is_there = cri_law_find_any(rivals[k].law) != NULL;
            if (!is_there || (options->model && strcmp(options->model, rivals[k].name) != 0)) {
                continue;
            }
            score s = {.worst = NAN, .loss = NAN, .n_iteration = NAN};
            for (int seed = 0; seed < n_seed && !out->is_interrupted; seed++) {
                CR_TRY(run_seed(task, &rivals[k], (start_kind)start, options->seed + (uint64_t)seed,
                                options, seed == 0 ? chart : -1, &s, err));
                cri_progress_state state = {rivals[k].name, seed + 1, n_seed, s.loss};
                out->is_interrupted = !cri_progress_tell(options->progress, &state);
            }
            tell(&s, rivals[k].name, word[start], task, k == 0, out);
        }
    }
    return CR_OK;
}

#define TASK(id, words)                                                                            \
    const cri_experiment cri_lrc_##id = {.name = "lrc-" #id,                                       \
                                         .summary = "paper 002, " words,                           \
                                         .models = "longrange ipc sdrs soft bundle",               \
                                         .run = lrc_task_run}

TASK(billiards, "Fig. 5: sixteen balls, two of them to their places by one shot");
TASK(push, "Fig. 7: a rod pushes a box, receding horizon");
TASK(gather, "Fig. 7: a rod gathers ten cubes, receding horizon");
TASK(sort, "Fig. 8: a rod sorts ten cubes to two sides, receding horizon");
TASK(ant, "Fig. 9: an ant pushes a box by a gait of sines");
