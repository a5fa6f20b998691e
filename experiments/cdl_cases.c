// SPDX-License-Identifier: MIT
//
// The motions of paper 001 and two beyond it: their true steps, starts, and the paper's figures.
//
//   pendulum  q'' = -9.81 sin q - damping v, by a Runge-Kutta rule of order 4 with 64 parts a step
//   ball      q' = q + h v; below 0.01 m and falling: v' = -e v, else v' = v - 9.81 h
//   cradle    two pendulums that exchange their velocities at angle 0 and are put there
//   box       a ball between two walls over a floor, e = 0.8, learned from 0.5
//   cradle3   three pendulums, two contacts at once
//   damped    a pendulum with damping 0.8, learned from 0: in the paper's program, not in the paper
//
// Ball, cradle, box and cradle3 are steps of the central-difference family, so the model class
// contains the truth. Noise, step and lengths are those of the paper's program.

#include "cdl_case.h"

#include <math.h>
#include <string.h>

#define GRAVITY 9.81

static const double along[1] = {1.0};

// the models, each with the paper's RMSE of one run and its mean over five
#define MODELS_OF(cdl, cdl_mean, notouch, resnet, resnet_mean, contact, contact_mean, vin)         \
    {"cdl", CRI_LEARN_CDL, false, false, (cdl), (cdl_mean)},                                       \
        {"cdl-notouch", CRI_LEARN_CDL_NOTOUCH, false, false, (notouch), NAN},                      \
        {"resnet", CRI_LEARN_RESNET, false, false, (resnet), (resnet_mean)},                       \
        {"resnetcontact", CRI_LEARN_RESNETCONTACT, false, false, (contact), (contact_mean)}, {     \
        "vin", CRI_LEARN_VIN, false, false, (vin), NAN                                             \
    }

// ---- pendulum ----------------------------------------------------------------------------------

static void pendulum_step(const cdl_case *c, const double *x, double *next, double *touch) {
    enum { N_PART = 64 };
    double h = c->dt / N_PART;
    double q = x[0];
    double v = x[1];
    for (int k = 0; k < N_PART; k++) {
        double a1 = -GRAVITY * sin(q) - c->damping * v;
        double v2 = v + 0.5 * h * a1;
        double a2 = -GRAVITY * sin(q + 0.5 * h * v) - c->damping * v2;
        double v3 = v + 0.5 * h * a2;
        double a3 = -GRAVITY * sin(q + 0.5 * h * v2) - c->damping * v3;
        double v4 = v + h * a3;
        double a4 = -GRAVITY * sin(q + h * v3) - c->damping * v4;
        q += h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4);
        v += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
    }
    next[0] = q;
    next[1] = v;
    touch[0] = 0.0;
}

static double pendulum_potential(const cdl_case *c, const double *q, double *g) {
    double sum = 0.0;
    for (int k = 0; k < c->n_q; k++) {
        g[k] = GRAVITY * sin(q[k]);
        sum += GRAVITY * (1.0 - cos(q[k]));
    }
    return sum;
}

static const char *const pendulum_body[] = {"bob"};
static const cri_central_contact pendulum_touch = {0, -1, false, along, 0.0, 1.0, "bob:obstacle"};
static const double pendulum_train[] = {1.0, 0.0};
static const double pendulum_hold[] = {0.7, 0.0};
static const double pendulum_test[] = {0.8, 0.0,  0.6, 0.0,  0.4, 0.5,
                                       0.9, -0.3, 0.5, -1.0, 0.2, 1.0};

static const cdl_case pendulum = {
    .points = {1, 1, pendulum_body, true, 1.0, 0.05, 0.0},
    .n_q = 1,
    .n_contact = 1,
    .touch = &pendulum_touch,
    .restitution = 1.0,
    .dt = 0.02,
    .noise = 0.2,
    .n_row = 200,
    .n_train = 1,
    .train = pendulum_train,
    .hold = pendulum_hold,
    .n_test = 6,
    .test = pendulum_test,
    .n_test_row = 200,
    .n_variant = 5,
    .variant = {MODELS_OF(0.538, NAN, NAN, 1.156, NAN, NAN, NAN, 0.509)},
    .epoch_quick = 150,
    .epoch_annealed = 1000,
    .epoch_paper = 3000,
    .l2_annealed = 5e-4,
    .l2_paper = 5e-3,
    .step = pendulum_step,
    .potential = pendulum_potential,
};

// ---- ball --------------------------------------------------------------------------------------

static void ball_step(const cdl_case *c, const double *x, double *next, double *touch) {
    next[0] = x[0] + c->dt * x[1];
    bool is_touching = next[0] < c->touch->offset && x[1] < 0.0;
    next[1] = is_touching ? -c->restitution * x[1] : x[1] - GRAVITY * c->dt;
    touch[0] = is_touching ? 1.0 : 0.0;
}

static double ball_potential(const cdl_case *c, const double *q, double *g) {
    (void)c;
    g[0] = GRAVITY;
    return GRAVITY * q[0];
}

static const char *const ball_body[] = {"ball"};
static const cri_central_contact ball_touch = {0, -1, false, along, 0.01, 1.0, "ball:floor"};
static const cri_central_contact soft_touch = {0, -1, false, along, 0.01, 0.7, "ball:floor"};
static const double ball_train[] = {10.0, 0.0};
static const double ball_hold[] = {8.5, 0.0};
static const double ball_test[] = {9.5, 0.0, 9.0, 0.0, 8.0, 0.0, 7.0, 0.0, 6.0, 0.0, 4.0, 0.0};

#define BALL                                                                                       \
    .points = {1, 1, ball_body, false, 0.0, 0.3, 0.0}, .n_q = 1, .n_contact = 1, .dt = 0.02,       \
    .n_row = 501, .n_train = 1, .train = ball_train, .hold = ball_hold, .n_test = 6,               \
    .test = ball_test, .n_test_row = 251, .epoch_quick = 60, .epoch_annealed = 400,                \
    .epoch_paper = 2000, .l2_paper = 5e-3, .step = ball_step, .potential = ball_potential

static const cdl_case ball = {
    BALL,
    .n_variant = 6,
    .touch = &ball_touch,
    .restitution = 1.0,
    .noise = 0.2,
    .l2_annealed = 5e-4,
    .variant = {MODELS_OF(0.067, 1.9, 7.578, 6.778, 6.6, 8.866, 4.8, NAN),
                {"cdl-proposed", CRI_LEARN_CDL, false, true, NAN, NAN}},
};

static const cdl_case inelastic = {
    BALL,
    .n_variant = 6,
    .touch = &soft_touch,
    .restitution = 0.7,
    .noise = 0.0,
    .l2_annealed = 5e-6, // nothing to smooth
    .variant = {MODELS_OF(2.076, NAN, NAN, 8.291, NAN, 4.156, NAN, NAN),
                {"cdl-proposed", CRI_LEARN_CDL, false, true, NAN, NAN}},
};

// ---- cradle ------------------------------------------------------------------------------------

static void cradle_step(const cdl_case *c, const double *x, double *next, double *touch) {
    // tested on the old state
    bool is_touching = x[0] - x[1] <= 0.0 && x[2] <= 0.0 && x[3] >= 0.0;
    for (int k = 0; k < 2; k++) {
        double q = x[k] + c->dt * x[2 + k];
        next[k] = is_touching ? 0.0 : q;
        next[2 + k] = is_touching ? x[3 - k] : x[2 + k] - GRAVITY * c->dt * sin(q);
    }
    touch[0] = is_touching ? 1.0 : 0.0;
}

static const char *const cradle_body[] = {"right", "left"};
static const cri_central_contact cradle_touch = {0, 1, false, along, 0.0, 1.0, "right:left"};
static const double cradle_train[] = {0.0, 0.0, 2.0, 0.0};
static const double cradle_hold[] = {0.0, 0.0, 1.7, 0.0};
static const double cradle_test[] = {0.0, 0.0, 1.8, 0.0, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 1.2, 0.0,
                                     0.3, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.9, 0.0};

static const cdl_case cradle = {
    .points = {2, 1, cradle_body, true, 1.0, 0.05, -0.1},
    .n_q = 2,
    .n_contact = 1,
    .touch = &cradle_touch,
    .projection = CRI_PROJECT_HOME,
    .restitution = 1.0,
    .dt = 0.01,
    .noise = 0.02,
    .n_row = 541,
    .n_train = 1,
    .train = cradle_train,
    .hold = cradle_hold,
    .n_test = 6,
    .test = cradle_test,
    .n_test_row = 501,
    .n_variant = 6,
    .variant = {MODELS_OF(0.406, 0.4, 0.907, 1.685, 1.6, 1.034, 3.5, NAN),
                {"cdl-noprojection", CRI_LEARN_CDL, true, false, NAN, NAN}},
    .epoch_quick = 100,
    .epoch_annealed = 400,
    .epoch_paper = 2000,
    .l2_annealed = 5e-7,
    .l2_paper = 5e-6,
    .follows_whole = true,
    .step = cradle_step,
    .potential = pendulum_potential,
};

// ---- beyond the paper --------------------------------------------------------------------------

/// A wall of the box: which axis, which side.
static const double box_normal[3][2] = {{0.0, 1.0}, {1.0, 0.0}, {-1.0, 0.0}};
static const char *const box_body[] = {"ball"};
static const cri_central_contact box_touch[3] = {
    {0, -1, false, box_normal[0], 0.05, 0.5, "ball:floor"},
    {0, -1, false, box_normal[1], 0.05, 0.5, "ball:left"},
    {0, -1, false, box_normal[2], -1.95, 0.5, "ball:right"},
};

static void box_step(const cdl_case *c, const double *x, double *next, double *touch) {
    double v[2] = {x[2], x[3] - GRAVITY * c->dt};
    next[0] = x[0] + c->dt * x[2];
    next[1] = x[1] + c->dt * x[3];
    for (int k = 0; k < c->n_contact; k++) {
        const double *n = c->touch[k].normal;
        double gap = n[0] * next[0] + n[1] * next[1] - c->touch[k].offset;
        double u = n[0] * x[2] + n[1] * x[3];
        touch[k] = gap < 0.0 && u < 0.0 ? 1.0 : 0.0;
        if (touch[k] > 0.0) {
            int axis = n[0] == 0.0;
            v[axis] = -c->restitution * x[2 + axis];
        }
    }
    next[2] = v[0];
    next[3] = v[1];
}

static double box_potential(const cdl_case *c, const double *q, double *g) {
    (void)c;
    g[0] = 0.0;
    g[1] = GRAVITY;
    return GRAVITY * q[1];
}

static const double box_train[] = {0.5,  2.0, 1.5, 0.0, 1.5,  1.5, -2.0, 1.0, 1.0,  1.0, 3.0,
                                   2.0,  0.3, 0.5, 2.5, 3.0,  1.7, 2.2,  -1., 0.0,  1.0, 1.8,
                                   -3.0, 0.0, 0.8, 0.6, -1.5, 4.0, 1.2,  1.2, -2.5, 3.0};
static const double box_hold[] = {0.7, 1.7, -1.6, 0.5};
static const double box_test[] = {0.6, 1.8, 1.8, 0.0, 1.4, 1.3, -2.3, 1.2, 1.1, 0.9, 2.7, 2.2,
                                  0.9, 2.1, 1.2, 0.0, 1.6, 1.0, -1.8, 2.0, 0.4, 1.5, 2.2, 1.0};

static const cdl_case box = {
    .points = {1, 2, box_body, false, 0.0, 0.05, 0.0},
    .n_q = 2,
    .n_contact = 3,
    .touch = box_touch,
    .learns_restitution = true,
    .restitution = 0.8,
    .dt = 0.02,
    .noise = 0.01,
    .n_row = 101,
    .n_train = 8,
    .train = box_train,
    .hold = box_hold,
    .n_test = 6,
    .test = box_test,
    .n_test_row = 76,
    .n_variant = 5,
    .variant = {MODELS_OF(NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN)},
    .epoch_quick = 40,
    .epoch_annealed = 300,
    .epoch_paper = 1000,
    .l2_annealed = 5e-4,
    .l2_paper = 5e-3,
    .step = box_step,
    .potential = box_potential,
};

static const cdl_case damped = {
    .points = {1, 1, pendulum_body, true, 1.0, 0.05, 0.0},
    .n_q = 1,
    .n_contact = 1,
    .touch = &pendulum_touch,
    .restitution = 1.0,
    .learns_damping = true,
    .damping = 0.8,
    .dt = 0.01,
    .noise = 0.035,
    .n_row = 500,
    .n_train = 1,
    .train = pendulum_train,
    .hold = pendulum_hold,
    .n_test = 6,
    .test = pendulum_test,
    .n_test_row = 500,
    .n_variant = 5,
    .variant = {MODELS_OF(NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN)},
    .epoch_quick = 60,
    .epoch_annealed = 400,
    .epoch_paper = 2000,
    .l2_annealed = 5e-4,
    .l2_paper = 5e-3,
    .step = pendulum_step,
    .potential = pendulum_potential,
};

static const char *const cradle3_body[] = {"right", "middle", "left"};
static const cri_central_contact cradle3_touch[2] = {
    {0, 1, false, along, 0.0, 1.0, "right:middle"},
    {1, 2, false, along, 0.0, 1.0, "middle:left"},
};

// contacts one after the other on the running velocity: the momentum goes through
static void cradle3_step(const cdl_case *c, const double *x, double *next, double *touch) {
    double run[3] = {x[3], x[4], x[5]};
    double q[3];
    touch[0] = touch[1] = 0.0;
    for (int k = 0; k < 3; k++) {
        q[k] = x[k] + c->dt * x[3 + k];
    }
    for (int visit = 0; visit < 4; visit++) {
        int k = visit % 2;
        if (q[k] - q[k + 1] <= 0.0 && run[k] < run[k + 1]) {
            double held = run[k];
            run[k] = run[k + 1];
            run[k + 1] = held;
            touch[k] = 1.0;
        }
    }
    for (int k = 0; k < 3; k++) {
        bool is_home = (k < 2 && touch[k] > 0.0) || (k > 0 && touch[k - 1] > 0.0);
        next[k] = is_home ? 0.0 : q[k];
        next[3 + k] = run[k] - (is_home ? 0.0 : GRAVITY * c->dt * sin(q[k]));
    }
}

static const double cradle3_train[] = {0.0, 0.0, 0.0, 2.0, 0.0, 0.0};
static const double cradle3_hold[] = {0.0, 0.0, 0.0, 1.7, 0.0, 0.0};
static const double cradle3_test[] = {0.0, 0.0, 0.0, 1.8, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5, 0.0, 0.0,
                                      0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0};

static const cdl_case cradle3 = {
    .points = {3, 1, cradle3_body, true, 1.0, 0.05, -0.1},
    .n_q = 3,
    .n_contact = 2,
    .touch = cradle3_touch,
    .projection = CRI_PROJECT_HOME,
    .restitution = 1.0,
    .dt = 0.01,
    .noise = 0.02,
    .n_row = 541,
    .n_train = 1,
    .train = cradle3_train,
    .hold = cradle3_hold,
    .n_test = 4,
    .test = cradle3_test,
    .n_test_row = 501,
    .n_variant = 5,
    .variant = {MODELS_OF(NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN)},
    .epoch_quick = 100,
    .epoch_annealed = 400,
    .epoch_paper = 2000,
    .l2_annealed = 5e-7,
    .l2_paper = 5e-6,
    .fits_starts = true,
    .step = cradle3_step,
    .potential = pendulum_potential,
};

// ---- table -------------------------------------------------------------------------------------

#define MODELS "cdl cdl-notouch resnet resnetcontact vin"

#define CASE(entry, label, text, models_, motion)                                                  \
    static cr_status run_##entry(const cri_experiment *self,                                       \
                                 const cri_experiment_options *options,                            \
                                 cri_experiment_result *out, cr_error *err) {                      \
        return cri_cdl_run(&(motion), self->name, options, out, err);                              \
    }                                                                                              \
    const cri_experiment cri_##entry = {                                                           \
        .name = (label), .summary = (text), .models = (models_), .run = run_##entry}

CASE(cdl_pendulum, "cdl-pendulum", "paper 001, Fig. 3: a pendulum, whose contact net stays at 0",
     MODELS, pendulum);
CASE(cdl_ball, "cdl-ball", "paper 001, Table 1, Fig. 5-7: a ball that bounces, e = 1",
     MODELS " cdl-proposed", ball);
CASE(cdl_ball_inelastic, "cdl-ball-inelastic", "paper 001, Fig. 10: a ball with e = 0.7",
     MODELS " cdl-proposed", inelastic);
CASE(cdl_cradle, "cdl-cradle", "paper 001, Table 2, Fig. 9: a cradle of two balls",
     MODELS " cdl-noprojection", cradle);
CASE(cdl_box, "cdl-box", "beyond 001: a ball in a box in 2-D, e = 0.8 learned", MODELS, box);
CASE(cdl_cradle3, "cdl-cradle3", "beyond 001: a cradle of three balls, two contacts at once",
     MODELS, cradle3);
CASE(cdl_damped, "cdl-damped", "beyond 001: a damped pendulum, damping 0.8 learned from 0", MODELS,
     damped);
