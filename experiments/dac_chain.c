// SPDX-License-Identifier: MIT
//
// dac-chain (paper 003, Fig. 8 and 9): three links, the first pinned at a height of 0.5 m, swing
// down from the horizontal; the last one touches the ground. Nets know the last link alone.
//
// Links are 0.2 x 0.05 m and 0.5 kg, which the paper does not say; only the last one collides, as
// it assumes. Ours and GS (law `lcp`) run in two scenes: a tree of hinges, whose joints cannot
// open, and two pieces tied at the last joint by a connect equality, where the violation of the
// joint is that of the motion's equalities, in the paper's swing and in 19 others: Fig. 9 is about
// the distribution.

#include "dac.h"

#include "base/random.h"
#include "dac_throw.h"
#include "model/scene/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTION "<option timestep='0.002' gravity='0 0 -9.81'/>"
#define GROUND "<geom name='ground' type='plane' size='5 5 0.1' friction='0.5'/>"
#define HINGE(name) "<joint name='" name "' type='hinge' axis='0 -1 0'/>"
#define PLANAR                                                                                     \
    "<joint name='x' type='slide' axis='1 0 0'/><joint name='z' type='slide' axis='0 0 "           \
    "1'/>" HINGE("c")
#define LINK(touches)                                                                              \
    "<geom type='box' pos='0.1 0 0' size='0.1 0.025 0.025' mass='0.5' friction='0.5' "             \
    "contype='" touches "' conaffinity='" touches "'/>"

static const char alone[] = "<mujoco>" OPTION "<worldbody>" GROUND
                            "<body name='last'>" PLANAR LINK("1") "</body></worldbody></mujoco>";

static const char tree[] =
    "<mujoco>" OPTION "<worldbody>" GROUND "<body name='first' pos='0 0 0.5'>" HINGE("a")
        LINK("0") "<body name='second' pos='0.2 0 0'>" HINGE("b")
            LINK("0") "<body name='last' pos='0.2 0 0'>" HINGE("c")
                LINK("1") "</body></body></body></worldbody></mujoco>";

static const char tied[] =
    "<mujoco>" OPTION "<worldbody>" GROUND "<body name='first' pos='0 0 0.5'>" HINGE("a")
        LINK("0") "<body name='second' pos='0.2 0 0'>" HINGE("b")
            LINK("0") "</body></body>"
                      "<body name='last' pos='0.4 0 0.5'>" PLANAR LINK(
                          "1") "</body></worldbody>"
                               "<equality><connect body1='second' body2='last' anchor='0.2 0 "
                               "0'/></equality></mujoco>";

enum { N_STEP = 750, N_SWING = 20, OURS = 0, GS = 1, TREE = 0, TIED = 1 };

/// One run.
typedef struct swing {
    double middle[N_STEP][2]; // of the last link
    double opening[N_STEP];   // of its joint, m
    int n_touch, n_solve, n_evaluation, n_few, n_outside;
    double penetration;
} swing;

/// Of a tied joint over all swings, m.
typedef struct openings {
    double all[N_SWING * N_STEP];
    double largest[N_SWING];
} openings;

// of the state x of a scene: the middle of the last link and the opening of its joint
static void measure(int scene, const double *x, swing *out, int at) {
    double a = x[0], b = a + x[1];
    double end[2] = {0.2 * cos(a) + 0.2 * cos(b), 0.5 + 0.2 * sin(a) + 0.2 * sin(b)};
    double begin[2] = {end[0], end[1]}, turn = b + x[2];
    if (scene == TIED) {
        begin[0] = 0.4 + x[2];
        begin[1] = 0.5 + x[3];
        turn = x[4];
    }
    out->opening[at] = hypot(begin[0] - end[0], begin[1] - end[1]);
    out->middle[at][0] = begin[0] + 0.1 * cos(turn);
    out->middle[at][1] = begin[1] + 0.1 * sin(turn);
}

// the links' own turns from the horizontal, at rest
static void begin(int scene, const double turn[3], double *x) {
    memset(x, 0, sizeof *x * 10);
    memcpy(x, turn, sizeof *turn * 3);
    if (scene == TIED) {
        double a = turn[0], b = a + turn[1];
        x[2] = 0.2 * cos(a) + 0.2 * cos(b) - 0.4;
        x[3] = 0.2 * sin(a) + 0.2 * sin(b);
        x[4] = b + turn[2];
    }
}

static cr_status run_swing(const cr_model *model, int scene, int law, const double turn[3],
                           swing *out, cr_error *err) {
    cr_sim_options options = cr_sim_options_default(model);
    options.law = law == OURS ? "augmented" : "lcp";
    options.stepper = "end";
    options.use_gradient = false;
    cr_sim *sim = NULL;
    CR_TRY(cr_sim_create(model, &options, &sim, err));
    double x[10];
    begin(scene, turn, x);
    cr_status status = CR_OK;
    *out = (swing){.n_touch = 0};
    for (int i = 0; i < N_STEP && status == CR_OK; i++) {
        status = cr_sim_step(sim, cr_model_sizes(model).dt, x, NULL, x, err);
        const cr_step_report *r = cr_sim_report(sim);
        measure(scene, x, out, i);
        out->n_touch += r->n_event > 0;
        out->n_solve += r->n_joint_force > 0;
        out->n_evaluation += r->n_joint_force;
        out->n_few += r->n_joint_force > 0 && r->n_joint_force < 10;
        out->n_outside += r->n_outside;
        out->penetration = fmax(out->penetration, r->penetration);
    }
    cr_sim_destroy(sim);
    return status;
}

static double largest(const swing *of) {
    double most = 0.0;
    for (int i = 0; i < N_STEP; i++) {
        most = fmax(most, of->opening[i]);
    }
    return most;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// of each law by itself: median, 95 % and largest of all steps of all swings
static void tell_openings(openings of[2], cri_experiment_result *out) {
    static const char *const name[2] = {"ours", "GS"};
    int n_less = 0, n = N_SWING * N_STEP;
    for (int s = 0; s < N_SWING; s++) {
        n_less += of[OURS].largest[s] <= of[GS].largest[s];
    }
    for (int law = 0; law < 2; law++) {
        double *all = of[law].all;
        qsort(all, (size_t)n, sizeof *all, by_size);
        double part[3] = {all[n / 2], all[n * 95 / 100], all[n - 1]};
        static const char *const which[3] = {"median of the steps", "95 %", "largest"};
        for (int i = 0; i < 3; i++) {
            cri_experiment_add(out, "m", "lower", part[i], NAN,
                               "joint violation, tied, %d swings, %s: %s", N_SWING, name[law],
                               which[i]);
        }
    }
    cri_experiment_add(out, "", "higher", n_less, NAN,
                       "swings of %d where ours, tied, opens by at most GS's", N_SWING);
}

// largest distance of the last link's middle over the first part of the steps
static double apart(const swing *a, const swing *b, int n) {
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        most =
            fmax(most, hypot(a->middle[i][0] - b->middle[i][0], a->middle[i][1] - b->middle[i][1]));
    }
    return most;
}

static void tell(swing of[2][2], cri_experiment_result *out) {
    const swing *ours = &of[TREE][OURS];
    cri_experiment_add(out, "", "match", ours->n_touch, NAN, "steps with contact, ours, of %d",
                       N_STEP);
    cri_experiment_add(out, "", "match", of[TREE][GS].n_touch, NAN, "steps with contact, GS");
    cri_experiment_add(out, "", "lower", (double)ours->n_evaluation / fmax(ours->n_solve, 1.0),
                       10.0, "evaluations of the joint force at 0.5 %%, mean");
    cri_experiment_add(out, "%", "higher", 100.0 * ours->n_few / fmax(ours->n_solve, 1.0), NAN,
                       "solves with fewer than 10 evaluations");
    cri_experiment_add(out, "", "lower", ours->n_outside, NAN, "solves outside the training");
    for (int n = N_STEP / 3; n <= N_STEP; n += N_STEP / 3) {
        cri_experiment_add(out, "m", "lower", apart(ours, &of[TREE][GS], n), NAN,
                           "ours to GS, largest distance over %.1f s", 0.002 * n);
    }
    cri_experiment_add(out, "m", "lower", apart(&of[TIED][GS], &of[TREE][GS], N_STEP), NAN,
                       "GS with a tied joint to GS, largest distance");
    cri_experiment_add(out, "m", "lower", ours->penetration, NAN, "deepest penetration, ours");
    cri_experiment_add(out, "m", "lower", of[TREE][GS].penetration, NAN, "deepest penetration, GS");
    static const char *const joint = "joint violation, the paper's swing, ";
    cri_experiment_add(out, "m", "lower", largest(ours), NAN, "%sours: largest", joint);
    cri_experiment_add(out, "m", "lower", largest(&of[TIED][OURS]), NAN, "%sours, tied: largest",
                       joint);
    cri_experiment_add(out, "m", "lower", largest(&of[TIED][GS]), NAN, "%sGS, tied: largest",
                       joint);
}

// the paper's swing, from the horizontal
static cr_status swing_once(cr_model *const model[2], cri_experiment_result *out, cr_error *err) {
    static const double level[3] = {0.0, 0.0, 0.0};
    static swing of[2][2];
    for (int scene = 0; scene < 2; scene++) {
        for (int law = 0; law < 2; law++) {
            CR_TRY(run_swing(model[scene], scene, law, level, &of[scene][law], err));
        }
    }
    tell(of, out);
    return CR_OK;
}

// Fig. 9: how far a tied joint opens, from the horizontal and from other starts
static cr_status swing_often(const cr_model *model, uint64_t seed, cri_experiment_result *out,
                             cr_error *err) {
    static openings of[2];
    static swing one;
    cri_random r = cri_random_of(seed, 405);
    for (int s = 0; s < N_SWING; s++) {
        double turn[3] = {0.0, 0.0, 0.0};
        for (int i = 0; s > 0 && i < 3; i++) {
            turn[i] = cri_random_uniform(&r, -0.3, 0.3);
        }
        for (int law = 0; law < 2; law++) {
            CR_TRY(run_swing(model, TIED, law, turn, &one, err));
            memcpy(of[law].all + s * N_STEP, one.opening, sizeof one.opening);
            of[law].largest[s] = largest(&one);
        }
    }
    tell_openings(of, out);
    return CR_OK;
}

static cr_status swing_all(cri_ground_nets *nets, uint64_t seed, cri_experiment_result *out,
                           cr_error *err) {
    static const char *const text[2] = {tree, tied};
    cr_model *model[2] = {NULL, NULL};
    cr_status status = CR_OK;
    for (int i = 0; i < 2 && status == CR_OK; i++) {
        status = cri_model_parse_with(text[i], strlen(text[i]), "chain", nets, &model[i], err);
    }
    if (status == CR_OK) {
        status = swing_once(model, out, err);
    }
    if (status == CR_OK) {
        status = swing_often(model[TIED], seed, out, err);
    }
    cr_model_destroy(model[TREE]);
    cr_model_destroy(model[TIED]);
    return status;
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    dac_nets trained;
    CR_TRY(dac_nets_train(alone, self->name, options, &trained, err));
    out->is_interrupted = trained.is_interrupted;
    dac_tell_score(trained.score, out);
    cri_experiment_add(out, "s", "lower", trained.seconds, NAN, "training");
    cr_status status = swing_all(&trained.nets, options->seed, out, err);
    dac_nets_clear(&trained);
    return status;
}

const cri_experiment cri_dac_chain = {
    .name = "dac-chain",
    .summary = "a chain swings to the ground; nets know its last link alone (003, Fig. 8, 9)",
    .run = run,
};
