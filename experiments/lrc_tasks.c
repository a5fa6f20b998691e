// SPDX-License-Identifier: MIT
//
// Tasks of paper 002, each under every law with the same iterations and rates, from a start where
// nothing moves, from the best of some draws and, for one of them, from a start in contact.
//
// docs/tasks.md has each as a command of carom plan. Laws that a build does not have are passed
// over.

#include "lrc_contest.h"

#include "contact/law.h"
#include "lrc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ALL(x, y)                                                                                  \
    "c0:" x "," y ",0.1@all", "c1:" x "," y ",0.1@all", "c2:" x "," y ",0.1@all",                  \
        "c3:" x "," y ",0.1@all", "c4:" x "," y ",0.1@all", "c5:" x "," y ",0.1@all",              \
        "c6:" x "," y ",0.1@all", "c7:" x "," y ",0.1@all", "c8:" x "," y ",0.1@all",              \
        "c9:" x "," y ",0.1@all"

// of sort, by kind
#define LEFT(i) "c" #i ":0,-0.9,0.1@all"
#define RIGHT(i) "c" #i ":0,0.9,0.1@all"

static const lrc_task tasks[] = {
    {.scene = "billiards",
     .controls = "x0:cue/qpos[0],x0:cue/qpos[1],x0:cue/qvel[0],x0:cue/qvel[1]",
     .bound = {"x0:cue/qpos[0]=1.2:3.2", "x0:cue/qpos[1]=1.2:3.2", "x0:cue/qvel[0]=-2:2",
               "x0:cue/qvel[1]=-8:8"},
     .is_shot = true,
     .radius = 0.25,
     .rate = {0.3, 0.1},
     .n_iteration = {8, 20},
     .n_paper = 400,
     .n_finish = {2, 8},
     .n_step = {25, 100},
     .spread = 1.0},
    {.scene = "push",
     .controls = "u:rod_x[*],u:rod_y[*],u:rod_z[*],u:rod_turn[*],u:rod_pitch[*],u:rod_roll[*]",
     .bound = {"u:rod_x=-2:0", "u:rod_y=-1:1", "u:rod_z=-0.1:0.5", "u:rod_turn=-1.5:1.5",
               "u:rod_pitch=-0.5:0.5", "u:rod_roll=-0.5:0.5"},
     .target = {"box:2.5,0.5,0.07@all"},
     .radius = 0.05,
     .rate = {0.05, 0.05},
     .n_iteration = {20, 50},
     .n_paper = 50,
     .n_step = {200, 200},
     .horizon = {48, 48},
     .execute = {12, 12},
     .n_knot = 8,
     .spread = 0.3,
     .contact_target = "box:1.7,0.5,0.07",
     .contact_place = {-0.905, -0.1, -0.1},
     .contact_push = 0.1},
    {.scene = "gather",
     .controls = "u:rod_around[*],u:rod_in[*],u:rod_z[*],u:rod_turn[*]",
     .bound = {"u:rod_around=-6:6", "u:rod_in=-0.4:1", "u:rod_z=-0.05:0.3", "u:rod_turn=-0.7:0.7"},
     .target = {ALL("0", "0")},
     .radius = 0.5,
     .rate = {0.1, 0.1},
     .n_iteration = {20, 20},
     .n_paper = 60,
     .n_step = {32, 300},
     .horizon = {16, 16},
     .execute = {16, 16},
     .n_focus = 1,
     .n_knot = 4,
     .spread = 0.3},
    {.scene = "sort",
     .controls = "u:rod_around[*],u:rod_in[*],u:rod_z[*]",
     .bound = {"u:rod_in=-0.6:5.4", "u:rod_z=-0.05:0.3"},
     .target = {LEFT(0), RIGHT(1), RIGHT(2), RIGHT(3), LEFT(4), LEFT(5), LEFT(6), RIGHT(7), LEFT(8),
                RIGHT(9)},
     .radius = 0.6,
     .rate = {0.1, 0.1},
     .n_iteration = {12, 20},
     .n_paper = 100,
     .n_step = {96, 1000},
     .horizon = {16, 16},
     .execute = {16, 16},
     .n_focus = 1,
     .n_knot = 4,
     .spread = 0.3},
    {.scene = "ant",
     .controls = "u:swing0[*],u:raise0[*],u:bend0[*],u:swing1[*],u:raise1[*],u:bend1[*],"
                 "u:swing2[*],u:raise2[*],u:bend2[*],u:swing3[*],u:raise3[*],u:bend3[*]",
     .target = {"box:1.2,0,0.15@all"},
     .radius = 0.05,
     .rate = {0.05, 0.05},
     .n_iteration = {10, 100},
     .n_paper = 100,
     .n_step = {150, 240},
     .n_sine = 4,
     .n_halve = 5,
     .spread = 0.3},
    {.scene = "bunny",
     .controls = "u:rod_around[*],u:rod_in[*],u:rod_z[*],u:rod_turn[*]",
     .bound = {"u:rod_in=-0.4:1.1", "u:rod_z=-0.05:0.3", "u:rod_turn=-0.7:0.7"},
     .target = {ALL("0", "0")},
     .radius = 0.5,
     .aim = 0.45,
     .rate = {0.1, 0.1},
     .n_iteration = {8, 20},
     .n_paper = 60,
     .n_step = {16, 600},
     .horizon = {16, 16},
     .execute = {16, 16},
     .n_focus = 1,
     .n_knot = 4,
     .spread = 0.3},
    {.scene = "arm",
     .controls = "u:joint1[*],u:joint2[*],u:joint3[*],u:joint4[*],u:joint5[*],u:joint6[*],"
                 "u:joint7[*]",
     .bound = {"u:joint*=-1.2:1.2"},
     .target = {"hare:0.72,0.05,0.11@all"},
     .radius = 0.05,
     .rate = {0.05, 0.05},
     .n_iteration = {10, 60},
     .n_paper = 60,
     .n_step = {24, 48},
     .horizon = {24, 24},
     .execute = {24, 24},
     .n_knot = 6,
     .spread = 0.2},
};

enum { N_TASK = sizeof tasks / sizeof tasks[0] };

const lrc_task *lrc_task_find(const char *scene) {
    for (int k = 0; k < N_TASK; k++) {
        if (strcmp(tasks[k].scene, scene) == 0) {
            return &tasks[k];
        }
    }
    return NULL;
}

static const lrc_rival rivals[] = {
    {"longrange", "longrange", 0.0, {0}},
    {"ipc", "ipc", 10.0, {0}},
    {"sdrs", "sdrs", 1e-4, {0}},
    {"soft", "soft", 0.0, {0}},
    // of losses alone: where nothing touches, gradients of every draw are zero as well
    {"bundle", "soft", 0.0, {.n = 32, .sigma = 0.1, .is_zeroth = true}},
    {"rough", "rough", 0.0, {0}},
};

enum { LONGRANGE = 0, ROUGH = 5, N_RIVAL = 5 };

static bool is_wanted(const lrc_contest *c, const lrc_rival *rival) {
    const char *model = c->o->model;
    return cri_law_find_any(rival->law) && (!model || strcmp(model, rival->name) == 0);
}

static int chart_of(const lrc_contest *c, const char *title) {
    bool is_receding = c->task->horizon[0] > 0;
    return c->o->report ? cri_report_chart(c->o->report,
                                           &(cri_report_chart_def){
                                               .title = title,
                                               .x = is_receding ? "simulated time" : "iteration",
                                               .x_unit = is_receding ? "s" : NULL,
                                               .y = "loss",
                                               .unit = "m^2"})
                        : -1;
}

static cr_status begin(const cri_experiment *self, lrc_contest *c, cr_error *err) {
    if (!cri_law_find_any("longrange")) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "%.40s: this build does not have the law longrange, which it is about",
                        self->name);
    }
    return cri_kept_open(c->o->checkpoint, self->name, c->kept, err);
}

// ---- tasks -------------------------------------------------------------------------------------

static cr_status enter_all(lrc_contest *c, cr_error *err) {
    static const char *const title[LRC_N_START] = {"From a start where nothing moves",
                                                   "From the best of some draws",
                                                   "From a start in contact"};
    static const char *const word[LRC_N_START] = LRC_START_WORDS;
    int n_start = c->task->contact_target ? LRC_N_START : LRC_TOUCHING;
    for (int start = 0; start < n_start; start++) {
        if (c->o->start && strcmp(c->o->start, word[start]) != 0) {
            continue;
        }
        int chart = chart_of(c, title[start]);
        for (int k = 0; k < N_RIVAL && !c->out->is_interrupted; k++) {
            lrc_entry entry = {.name = rivals[k].name,
                               .rival = &rivals[k],
                               .start = (lrc_start)start,
                               .is_ours = k == LONGRANGE,
                               .has_film = true,
                               .chart = chart};
            if (is_wanted(c, &rivals[k])) {
                CR_TRY(lrc_contest_enter(c, &entry, err));
            }
        }
    }
    return CR_OK;
}

static cr_status run_task(const cri_experiment *self, const cri_experiment_options *options,
                          cri_experiment_result *out, cr_error *err) {
    cri_kept kept = {0};
    lrc_contest c = {.o = options, .kept = &kept, .out = out};
    const lrc_task *task = lrc_task_find(self->name + 4);
    CR_ASSERT(task);
    cr_status status = begin(self, &c, err);
    if (status == CR_OK) {
        status = lrc_contest_open(&c, task, err);
    }
    if (status == CR_OK) {
        status = enter_all(&c, err);
        lrc_contest_close(&c);
    }
    cri_kept_clear(&kept);
    return status;
}

// ---- smoothness, Fig. 13 -----------------------------------------------------------------------
//
// The potential that is not smooth has no clusters, so that every pair of pieces counts, however
// far: quick runs have push alone, for as long as the smooth one needs.

enum { N_STEP_SMOOTH_QUICK = 96 };

static cr_status compare_smoothness(lrc_contest *c, cr_error *err) {
    static const int who[2] = {LONGRANGE, ROUGH};
    int chart = chart_of(c, c->task->scene);
    for (int k = 0; k < 2 && !c->out->is_interrupted; k++) {
        char name[60];
        (void)snprintf(name, sizeof name, "%s, %s", c->task->scene, rivals[who[k]].name);
        lrc_entry entry = {.name = name,
                           .rival = &rivals[who[k]],
                           .is_ours = k == 0,
                           .has_film = true,
                           .chart = chart};
        if (is_wanted(c, &rivals[who[k]])) {
            CR_TRY(lrc_contest_enter(c, &entry, err));
        }
    }
    return CR_OK;
}

static cr_status run_smoothness(const cri_experiment *self, const cri_experiment_options *options,
                                cri_experiment_result *out, cr_error *err) {
    static const char *const scene[2] = {"push", "gather"};
    cri_kept kept = {0};
    lrc_contest c = {.o = options, .kept = &kept, .out = out};
    cr_status status = begin(self, &c, err);
    int n_scene = options->is_full ? 2 : 1;
    for (int k = 0; k < n_scene && status == CR_OK && !out->is_interrupted; k++) {
        lrc_task task = *lrc_task_find(scene[k]);
        task.n_step[0] = N_STEP_SMOOTH_QUICK;
        status = lrc_contest_open(&c, &task, err);
        if (status == CR_OK) {
            status = compare_smoothness(&c, err);
            lrc_contest_close(&c);
        }
    }
    cri_kept_clear(&kept);
    return status;
}

// ---- stiffness, Tables 4 and 5 -----------------------------------------------------------------
//
// Controls have a value each step here, as in the paper: with knots their number would be the same
// for every step length. How far a window sees when steps get shorter the paper says in two ways:
// its text has a horizon of one length, in seconds, its Table 3 one of 48 steps. Both are here, the
// latter at one rate for all, where the former tries three.

// of full runs: 50 iterations move a control as far as the 20 of quick ones, at the task's 0.05
#define DENSE_RATE 0.02

/// A column of Table 4 (by dt) or 5 (by mu).
typedef struct column {
    const char *name;
    double dt, mu;
    double paper;     // s
    bool is_quick;    // is in quick runs too
    bool is_by_steps; // windows have as many steps as those of the scene's own step length
} column;

static const column columns[] = {
    {"dt 0.01 s, mu 1e-7", 0.01, 1e-7, 5.76, false, false},
    {"dt 0.02 s, mu 1e-7", 0.02, 1e-7, 3.28, false, false},
    {"dt 0.04 s, mu 1e-7", 0.04, 1e-7, 2.96, true, false},
    {"dt 0.08 s, mu 1e-7", 0.08, 1e-7, 2.80, true, false},
    {"48 steps a window, dt 0.01 s", 0.01, 1e-7, 5.76, false, true},
    {"48 steps a window, dt 0.02 s", 0.02, 1e-7, 3.28, false, true},
    {"48 steps a window, dt 0.04 s", 0.04, 1e-7, 2.96, false, true},
    {"48 steps a window, dt 0.08 s", 0.08, 1e-7, 2.80, false, true},
    {"dt 0.04 s, mu 1e-6", 0.04, 1e-6, 3.20, false, false},
    {"dt 0.04 s, mu 1e-8", 0.04, 1e-8, 3.24, false, false},
    {"dt 0.04 s, mu 1e-10", 0.04, 1e-10, 4.80, true, false},
};

// horizon and what is carried out of it, so that windows of this step length have as many steps
static void set_window(const lrc_contest *c, const column *col, lrc_task *task) {
    double ratio = col->is_by_steps ? col->dt / cr_model_sizes(c->model).dt : 1.0;
    for (int f = 0; f < 2; f++) {
        task->horizon[f] = (int)lround(ratio * task->horizon[f]);
        task->execute[f] = (int)lround(ratio * task->execute[f]);
    }
}

static cr_status compare_stiffness(lrc_contest *c, cr_error *err) {
    const lrc_task *push = c->task;
    int chart = chart_of(c, "Push by step length and stiffness");
    for (size_t k = 0; k < sizeof columns / sizeof *columns && !c->out->is_interrupted; k++) {
        const column *col = &columns[k];
        if (!c->o->is_full && !col->is_quick) {
            continue;
        }
        lrc_task task = *push;
        set_window(c, col, &task);
        c->task = &task;
        lrc_rival rival = {.name = col->name, .law = "longrange", .mu = col->mu};
        lrc_entry entry = {.name = col->name,
                           .rival = &rival,
                           .dt = col->dt,
                           .has_one_rate = col->is_by_steps,
                           .has_film = true,
                           .chart = chart};
        cr_status status = lrc_contest_enter(c, &entry, err);
        c->task = push;
        CR_TRY(status);
        cri_experiment_add(c->out, "s", "lower", entry.settled, col->paper,
                           "%s, simulated until there", col->name);
    }
    return CR_OK;
}

static cr_status run_stiffness(const cri_experiment *self, const cri_experiment_options *options,
                               cri_experiment_result *out, cr_error *err) {
    cri_kept kept = {0};
    lrc_contest c = {.o = options, .kept = &kept, .out = out};
    lrc_task task = *lrc_task_find("push");
    task.n_knot = 0;
    task.rate[1] = DENSE_RATE;
    cr_status status = begin(self, &c, err);
    if (status == CR_OK) {
        status = lrc_contest_open(&c, &task, err);
    }
    if (status == CR_OK) {
        status = compare_stiffness(&c, err);
        lrc_contest_close(&c);
    }
    cri_kept_clear(&kept);
    return status;
}

#define TASK(id, words)                                                                            \
    const cri_experiment cri_lrc_##id = {.name = "lrc-" #id,                                       \
                                         .summary = "paper 002, " words,                           \
                                         .models = "longrange ipc sdrs soft bundle",               \
                                         .run = run_task}

TASK(billiards, "Fig. 5: sixteen balls, two of them to their places by one shot");
TASK(push, "Fig. 7: a rod pushes a box, receding horizon");
TASK(gather, "Fig. 7: a rod gathers ten cubes, receding horizon");
TASK(sort, "Fig. 8: a rod sorts ten cubes to two sides, receding horizon");
TASK(ant, "Fig. 9: an ant pushes a box by a gait of sines");
TASK(bunny, "Fig. 14: a rod gathers ten shapes that are not convex, receding horizon");
TASK(arm, "Fig. 15: an arm of seven joints pushes a shape that is not convex");

const cri_experiment cri_lrc_smoothness = {.name = "lrc-smoothness",
                                           .summary = "paper 002, Fig. 13: push and gather by a "
                                                      "potential that is not smooth",
                                           .models = "longrange rough",
                                           .run = run_smoothness};

const cri_experiment cri_lrc_stiffness = {.name = "lrc-stiffness",
                                          .summary = "paper 002, Tables 4 and 5: push by step "
                                                     "length and stiffness",
                                          .run = run_stiffness};
