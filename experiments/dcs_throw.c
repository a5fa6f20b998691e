// SPDX-License-Identifier: MIT
//
// Throws of a disk in a box (paper 000, Sect. 5.4): planned on what cm-clnn has learned of it, its
// mass, moments, potential, friction and restitution, and judged with the true ones.
//
//   hit       from (0.25, 0.65): velocity and spin so that it is at (0.75, 0.1) when it touches the
//             ground for the second time
//   vertical  velocity (0.6, 0.4): the spin that makes it rise straight up from the ground
//
// The planner is that of carom plan. It aims at a place after a number of steps: those until the
// second touch, or until the apex, as the last plan has them; it is asked again until both stay.
// A touch is located on the line between the last state before it and the next one. The planner
// aims at the place of that last state from which the line leads to the target, at the height that
// it has: where the disk is by then jumps with the step in which it bounces, so that not all
// heights can be had.
// Its variables are velocities of the centre and of the ends of both axes. What the ties do not
// allow is projected away in the first step in the metric of the masses, which leaves the centre
// alone: with u and w the velocities of the ends relative to it,
//
//   spin = (lam_1 u_y - lam_2 w_x)/(lam_1 + lam_2)

#include "dcs_case.h"

#include "base/base.h"
#include "optimize/controls.h"
#include "optimize/plan.h"
#include "points/contact/points_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_X = 12, MOST_STATES = 201, ROUND_MOST = 20 };

static const double goal[2] = {0.75, 0.1};

/// Velocity of the centre, m/s, and spin, rad/s.
typedef struct throw_start {
    double v[2], spin;
} throw_start;

/// A motion and where something happens in it: numbers of states, -1: never.
typedef struct flight {
    double x[MOST_STATES][N_X];
    int first;  // first that touches the ground
    int second; // the next one after a flight
    int apex;   // behind the first touch
} flight;

/// All of one run.
typedef struct thrower {
    const cri_experiment_options *o;
    cri_points_scene *truth;
    cri_points_scene *learned; // of model
    cr_model *model;
    cri_points_data train, valid;
    cri_points_memory memory;
    cr_arena *arena;
    flight *flight;
    cri_experiment_result *out;
} thrower;

static cr_status no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
}

// ---- motion ------------------------------------------------------------------------------------

// the scene's place, with the velocities of a throw
static void put_start(const cri_points_scene *sc, const throw_start *s, double x[N_X]) {
    memcpy(x, sc->x0, N_X * sizeof *x);
    for (int k = 0; k < 3; k++) {
        double *v = x + 6 + 2 * k;
        v[0] = s->v[0] - s->spin * (x[2 * k + 1] - x[1]);
        v[1] = s->v[1] + s->spin * (x[2 * k] - x[0]);
    }
}

static throw_start read_start(const cri_points_scene *sc, const double x[N_X]) {
    const double *lam = sc->p + sc->s.i_lam, *v = x + 6;
    return (throw_start){{v[0], v[1]},
                         (lam[0] * (v[3] - v[1]) - lam[1] * (v[4] - v[0])) / (lam[0] + lam[1])};
}

static bool touches_ground(const cri_points_scene *sc, const double *x) {
    for (int i = 0; i < sc->n_touch; i++) {
        if (sc->touch[i].normal[1] > 0.5 && cri_points_gap(&sc->s, &sc->touch[i], x) < 0.0) {
            return true;
        }
    }
    return false;
}

static bool fly(const thrower *t, const cri_points_scene *sc, const throw_start *s) {
    flight *f = t->flight;
    bool is_lost;
    const cri_points_runner runner = {cri_points_scene_stepper, sc, sc->p, sc->n_x};
    put_start(sc, s, f->x[0]);
    if (!cri_points_roll(&runner, 1, MOST_STATES, f->x[0], &is_lost, &t->memory)) {
        return false;
    }
    f->first = f->second = f->apex = -1;
    for (int k = 1; k < MOST_STATES; k++) {
        bool is_new = touches_ground(sc, f->x[k]) && !touches_ground(sc, f->x[k - 1]);
        if (is_new && f->first < 0) {
            f->first = k;
        } else if (is_new && f->second < 0) {
            f->second = k;
        }
        if (f->first >= 0 && f->apex < 0 && k > f->first + 2 && f->x[k][7] <= 0.0) {
            f->apex = k;
        }
    }
    return true;
}

// ---- what is learned ---------------------------------------------------------------------------

static cr_status train(thrower *t, cri_points_learner *l, double *p, cr_error *err) {
    bool is_full = t->o->is_full;
    double *w = CR_PUSH(t->arena, double, l->n_w);
    cri_train_result result;
    if (!w || !cri_points_learner_start(l, t->o->seed, w)) {
        return no_memory(err);
    }
    const cri_points_training training = {.learner = l,
                                          .train = &t->train,
                                          .valid = &t->valid,
                                          .n_epoch = is_full ? 200 : 120,
                                          .batch = 25,
                                          .rate = 1e-3,
                                          .seed = t->o->seed,
                                          .n_thread = t->o->n_thread,
                                          .progress = t->o->progress};
    CR_TRY(cri_points_train(&training, w, NULL, &result, err));
    if (result.stop == CRI_TRAIN_DIVERGED) {
        return CR_ERR_NUMERIC;
    }
    t->out->is_interrupted = result.stop == CRI_TRAIN_INTERRUPTED;
    cri_points_learner_values(l, w, p);
    return CR_OK;
}

// a model of the disk with what training has found
static cr_status learn(thrower *t, cr_error *err) {
    bool is_full = t->o->is_full;
    int n = is_full ? 800 : 400;
    const cri_points_set set[3] = {{&t->train, n}, {&t->valid, n / 8}};
    CR_TRY(cri_points_sets(t->truth, t->o->seed, 0.0, set, t->arena, err));
    const cri_points_learner_def def = {
        .name = "bd1", .law = "cone", .n_hidden = is_full ? 3 : 2, .width = is_full ? 256 : 64};
    cri_points_learner l;
    CR_TRY(cri_points_learner_create(&def, &l, err));
    cr_status status = train(t, &l, l.scene->p, err);
    if (status != CR_OK || t->out->is_interrupted) {
        cri_points_learner_clear(&l);
        return status;
    }
    t->learned = l.scene;
    t->learned->begins_projected = true;
    t->learned->law.through_target = true;
    CR_TRY(cri_points_model_create(t->learned, &t->model, err));
    for (int k = 0; k < 2; k++) {
        int i = k == 0 ? t->truth->law.i_mu : t->truth->law.i_e;
        cri_experiment_add(t->out, "", "match", t->learned->p[i], NAN, "learned %s, truth %g",
                           k == 0 ? "friction" : "restitution", t->truth->p[i]);
    }
    return CR_OK;
}

// ---- planning ----------------------------------------------------------------------------------

/// One call of the planner.
typedef struct aim {
    const char *controls;
    double place[2]; // of the centre
    int n_step;
} aim;

static cr_status solve(const thrower *t, const aim *a, const cri_selection *selection,
                       throw_start *s, cr_error *err) {
    int n = selection->n_variable;
    cri_domain *domain = CR_PUSH(t->arena, cri_domain, n);
    double *z = CR_PUSH(t->arena, double, n);
    cri_point point;
    cri_target target;
    cri_plan plan;
    char text[80];
    if (!domain || !z) {
        return no_memory(err);
    }
    (void)snprintf(text, sizeof text, "disk1:%.17g,%.17g,0", a->place[0], a->place[1]);
    CR_TRY(cri_target_parse(t->model, text, &target, err));
    CR_TRY(cri_point_push(selection, a->n_step, t->arena, &point, err));
    cr_model_defaults(t->model, -1, point.p, point.x0, NULL);
    put_start(t->learned, s, point.x0);
    cri_selection_read(selection, &point, z);
    cri_controls_domain(selection, t->model, domain);
    const cr_sim_options sim_options = cr_sim_options_default(t->model);
    const cri_shot_def def = {.model = t->model,
                              .sim_options = &sim_options,
                              .selection = selection,
                              .domain = domain,
                              .start = &point,
                              .n_target = 1,
                              .target = &target,
                              .aim = {.n_step = a->n_step, .dt = t->learned->dt}};
    cri_plan_options options = cri_plan_options_default(CRI_METHOD_GAUSS_NEWTON);
    options.iteration_limit = 100;
    options.tolerance = 1e-5;
    options.n_thread = t->o->n_thread;
    CR_TRY(cri_plan_solve(&def, &options, z, t->arena, &plan, err));
    cri_selection_write(selection, plan.z, &point);
    *s = read_start(t->learned, point.x0);
    return CR_OK;
}

static cr_status plan_once(const thrower *t, const aim *a, throw_start *s, cr_error *err) {
    cri_selection *selection = NULL;
    CR_TRY(cri_controls_create(t->model, a->controls, a->n_step, 0, &selection, err));
    cr_status status = solve(t, a, selection, s, err);
    cri_selection_destroy(selection);
    return status;
}

// where the centre is when the disk touches the ground for the second time
static void locate(const flight *f, double place[2]) {
    const double *x = f->x[f->second - 1], *next = f->x[f->second];
    double part = (x[1] - goal[1]) / (x[1] - next[1]);
    place[0] = x[0] + part * (next[0] - x[0]);
    place[1] = goal[1];
}

// what a throw is about, from a flight; false: nothing to aim at
static bool aim_at(const thrower *t, bool is_hit, aim *out) {
    const flight *f = t->flight;
    if (is_hit && f->second > 0) {
        const double *x = f->x[f->second - 1];
        double touch[2];
        locate(f, touch);
        *out = (aim){"x0:disk1/qvel[0]=x0:disk1.x/qvel[0],x0:disk1/qvel[1]=x0:disk1.y/qvel[1],"
                     "x0:disk1.x/qvel[1],x0:disk1.y/qvel[0]",
                     {x[0] + goal[0] - touch[0], x[1]},
                     f->second - 1};
        return true;
    }
    if (is_hit || f->first < 0 || f->apex < 0) {
        return false;
    }
    *out = (aim){
        "x0:disk1.x/qvel[1],x0:disk1.y/qvel[0]", {f->x[f->first][0], f->x[f->apex][1]}, f->apex};
    return true;
}

// asks the planner until what it aims at stays
static cr_status plan_throw(const thrower *t, bool is_hit, throw_start *s, int *n_round,
                            cr_error *err) {
    aim a = {0}, last = {.n_step = -1};
    double spin = NAN;
    for (*n_round = 0; *n_round < ROUND_MOST; ++*n_round) {
        if (!fly(t, t->learned, s)) {
            return no_memory(err);
        }
        if (!aim_at(t, is_hit, &a)) {
            return cri_fail(err, CR_ERR_NUMERIC, 0, "the disk does not come to its second touch");
        }
        double change = hypot(a.place[0] - last.place[0], a.place[1] - last.place[1]);
        if (a.n_step == last.n_step && change < 1e-6 && fabs(s->spin - spin) < 1e-4) {
            return CR_OK;
        }
        last = a;
        spin = s->spin;
        CR_TRY(plan_once(t, &a, s, err));
    }
    return CR_OK;
}

// ---- rows --------------------------------------------------------------------------------------

// how a throw does in a scene
static cr_status judge(const thrower *t, const cri_points_scene *sc, bool is_hit,
                       const throw_start *s, const char *name, cr_error *err) {
    if (!fly(t, sc, s)) {
        return no_memory(err);
    }
    const flight *f = t->flight;
    if (is_hit) {
        const double *x = f->x[f->second > 0 ? f->second - 1 : MOST_STATES - 1];
        double touch[2] = {x[0], x[1]};
        if (f->second > 0) {
            locate(f, touch);
        }
        cri_experiment_add(t->out, "m", "lower", hypot(touch[0] - goal[0], touch[1] - goal[1]), NAN,
                           "%s: distance from the target", name);
        cri_experiment_add(t->out, "m", "lower", hypot(x[0] - goal[0], x[1] - goal[1]), NAN,
                           "%s: that of the last state before the touch", name);
        return CR_OK;
    }
    int touch = f->first < 0 ? 0 : f->first + 2, apex = f->apex < 0 ? MOST_STATES - 1 : f->apex;
    cri_experiment_add(t->out, "m/s", "lower", fabs(f->x[touch][6]), NAN,
                       "%s: speed along the ground behind the touch", name);
    cri_experiment_add(t->out, "m", "lower", fabs(f->x[touch][0] - f->x[apex][0]), NAN,
                       "%s: way along the ground to the apex", name);
    return CR_OK;
}

static cr_status run_throw(thrower *t, bool is_hit, cr_error *err) {
    throw_start s = is_hit ? (throw_start){{0.0, 0.0}, 0.0} : (throw_start){{0.6, 0.4}, 0.0};
    int n_round;
    CR_TRY(judge(t, t->truth, is_hit, &s, "start, true properties", err));
    CR_TRY(plan_throw(t, is_hit, &s, &n_round, err));
    cri_experiment_add(t->out, "m/s", "match", s.v[0], NAN, "plan: velocity along the ground");
    cri_experiment_add(t->out, "m/s", "match", s.v[1], NAN, "plan: velocity upwards");
    cri_experiment_add(t->out, "rad/s", "match", s.spin, NAN, "plan: spin");
    cri_experiment_add(t->out, "", "lower", n_round, NAN, "plan: times that the planner was asked");
    CR_TRY(judge(t, t->learned, is_hit, &s, "plan, learned properties", err));
    return judge(t, t->truth, is_hit, &s, "plan, true properties", err);
}

cr_status cri_dcs_throw_run(const cri_experiment *self, const cri_experiment_options *options,
                            cri_experiment_result *out, cr_error *err) {
    thrower t = {.o = options, .arena = cri_arena_create(1 << 20), .out = out};
    bool is_hit = strcmp(self->name, "dcs-throw-hit") == 0;
    t.flight = t.arena ? CR_PUSH(t.arena, flight, 1) : NULL;
    cr_status status = t.flight && cri_points_memory_open(&t.memory) ? CR_OK : no_memory(err);
    if (status == CR_OK) {
        status = cri_points_scene_create("bd1", 0, &t.truth, err);
    }
    if (status == CR_OK) {
        status = learn(&t, err);
    }
    if (status == CR_OK && !out->is_interrupted) {
        status = run_throw(&t, is_hit, err);
    }
    cr_model_destroy(t.model);
    cri_points_scene_destroy(t.truth);
    cri_points_memory_close(&t.memory);
    cri_arena_destroy(t.arena);
    return status;
}
