// SPDX-License-Identifier: MIT
//
// Tasks of paper 002: a scene, targets and options of carom plan, run under several laws.

#pragma once

#include "experiment.h"
#include "optimize/plan.h"

enum { LRC_BOUND_MOST = 7, LRC_TARGET_MOST = 12 };

/// What `carom plan` would be given. Pairs are for quick and full runs.
typedef struct lrc_task {
    const char *scene; // file of experiments/scenes, without its ending
    const char *controls;
    const char *bound[LRC_BOUND_MOST]; // NULL behind the last
    const char *target[LRC_TARGET_MOST];
    double radius;      // m
    double aim;         // radius of the loss, so that nothing rests on the rim; 0: the same
    double rate[2];     // of Adam
    int n_iteration[2]; // of a window of a receding horizon
    int n_paper;        // iterations of the paper
    int n_finish[2]; // iterations of Gauss-Newton behind those of Adam, of the whole run; 0: none
    int n_step[2];
    int horizon[2]; // 0: the whole run at once
    int execute[2]; // steps of a window that are carried out
    int n_focus;    // objects out of place that count at once, 0: all
    int n_knot;     // of a window or of the run, 0: a value every step
    int n_sine;     // of each control, 0: none
    int n_halve;    // iterations without a fall until Adam's rate is halved, 0: never
    double spread;  // of sampled starts

    bool is_shot; // targets are drawn: lrc_shot.c

    // a start in contact, which every law must solve; NULL: none
    const char *contact_target;
    double contact_place[3]; // first numbers of the state there, and controls that hold it there
    double contact_push;     // on top of the first control
} lrc_task;

/// A contestant: a law, and how its gradient is had.
typedef struct lrc_rival {
    const char *name;
    const char *law;
    double mu; // of a law that is an energy, 0: that of the scene
    cri_bundle_options bundle;
} lrc_rival;

typedef enum lrc_start {
    LRC_TRIVIAL,  // nothing moves
    LRC_SAMPLED,  // the best of some draws
    LRC_TOUCHING, // in contact, with a target near by
    LRC_N_START
} lrc_start;

#define LRC_START_WORDS                                                                            \
    { "trivial", "sampled", "touching" }

/// One search, and what came out of it.
typedef struct lrc_run {
    const lrc_task *task;
    const cri_experiment_options *o;
    const lrc_rival *rival;
    const cr_model *model;
    double rate;
    lrc_start start;
    uint64_t seed;
    double dt; // s, 0: that of the scene; horizon and steps keep their seconds
    cr_arena *arena;
    int n_target;
    cri_target target[LRC_TARGET_MOST];
    // what came out
    cri_plan_stop stop;
    int n_step;
    double *p;       // (n_p)
    double *x;       // (n_x) first state
    double *u;       // (n_step, n_u)
    double *loss;    // (n_step + 1) of the motion, m^2
    double *history; // (n_history) best loss before each iteration; of each window at its end
    int n_history, room_history;
    int n_iteration;
    double worst;   // m, farthest object at the end
    double settled; // s, since when all objects have been in place; NAN: they are not
    double seconds; // of the processor
} lrc_run;

/// Scene text by name, NULL: there is none.
const char *lrc_scene(const char *name);

/// NULL: there is none.
const lrc_task *lrc_task_find(const char *scene);

/// Model of a task's scene.
CR_MUST_CHECK cr_status lrc_task_model(const lrc_task *task, cr_model **out, cr_error *err);

/// Steps, first state and targets of a run whose first part is filled; everything in its arena.
CR_MUST_CHECK cr_status lrc_run_open(lrc_run *run, cr_error *err);

/// Targets of a run by its seed: where a shot puts two balls. Everything else of it is filled.
CR_MUST_CHECK cr_status lrc_shot_targets(lrc_run *run, cr_error *err);

/// Plans and carries the plan out.
CR_MUST_CHECK cr_status lrc_run_search(lrc_run *run, cr_error *err);

/// Carries the plan out again, for loss, worst and settled, and as a variant of report's motion.
CR_MUST_CHECK cr_status lrc_run_replay(lrc_run *run, cri_report *report, cr_error *err);

/// Numbers of a run that a file keeps, and the same from and to them.
size_t lrc_run_size(const lrc_run *run);
void lrc_run_pack(const lrc_run *run, double *number);
void lrc_run_unpack(lrc_run *run, double *number);
