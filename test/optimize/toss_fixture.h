// SPDX-License-Identifier: MIT
//
// Recordings of a ball that is tossed, made by simulation with values that a fit does not see.

#pragma once

#include "cr_test.h"
#include "optimize/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char toss_text[] = "<mujoco><option timestep='.01'/><worldbody>"
                                "<geom name='floor' type='plane' size='9 9 1'/>"
                                "<body name='ball' pos='0 0 .5'><freejoint/>"
                                "<inertial pos='0 0 0' mass='1' diaginertia='.004 .004 .004'/>"
                                "<geom name='ball' size='.1'/></body></worldbody><custom>"
                                "<numeric name='carom:friction:floor:ball' data='.2'/>"
                                "<numeric name='carom:restitution:floor:ball' data='.6'/>"
                                "</custom></mujoco>";

enum { N_RECORDING = 6, N_SAMPLE = 60, N_STATE = 13 };
#define FRAME 0.013

/// A fit to be. Released by clear.
typedef struct fixture {
    cr_model *model;
    cr_arena *arena;
    cri_selection *selection;
    cri_point start;
    cri_recording recording[N_RECORDING];
    double x0[N_RECORDING][N_STATE];
    double sigma[N_STATE];
    cri_fit_problem problem;
} fixture;

static inline void open_fixture(fixture *f, const char *scene, const char *names) {
    *f = (fixture){0};
    cr_error err = {0};
    cr_status status = cr_model_parse(scene, strlen(scene), "test.xml", &f->model, &err);
    status = status == CR_OK ? cri_selection_create(f->model, names, &f->selection, &err) : status;
    if (status != CR_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    assert_int_equal(status, CR_OK);
    f->arena = cri_arena_create(1 << 16);
    assert_true(f->arena);
    assert_int_equal(cri_point_push(f->selection, 1, f->arena, &f->start, NULL), CR_OK);
    cr_model_defaults(f->model, -1, f->start.p, f->start.x0, NULL);
    f->problem = (cri_fit_problem){.model = f->model,
                                   .sim_options = cr_sim_options_default(f->model),
                                   .selection = f->selection,
                                   .n_recording = N_RECORDING,
                                   .recording = f->recording,
                                   .dt = 0.01,
                                   .p = f->start.p,
                                   .x0 = f->start.x0,
                                   .n_thread = 1};
}

static inline void clear(fixture *f) {
    cri_selection_destroy(f->selection);
    cri_arena_destroy(f->arena);
    cr_model_destroy(f->model);
}

static inline double normal(cr_test_rng *rng) {
    double sum = 0.0;
    for (int j = 0; j < 12; j++) {
        sum += cr_test_uniform(rng, -0.5, 0.5);
    }
    return sum;
}

/// Simulates recording k from x0[k] with parameters p, and takes the first n_column numbers of x.
static inline void record(fixture *f, int k, const double *p, int n_column, double noise,
                          cr_test_rng *rng) {
    cri_recording *r = &f->recording[k];
    *r = (cri_recording){.n_sample = N_SAMPLE, .n_column = n_column, .file = "made.csv"};
    r->time = CR_PUSH(f->arena, double, N_SAMPLE);
    r->value = CR_PUSH(f->arena, double, N_SAMPLE *n_column);
    r->x_index = CR_PUSH(f->arena, int, n_column);
    cr_sim *sim = NULL;
    cr_sim_options options = cr_sim_options_default(f->model);
    assert_int_equal(cr_sim_create(f->model, &options, &sim, NULL), CR_OK);
    assert_int_equal(cr_sim_set_params(sim, p, NULL), CR_OK);
    assert_true(r->time && r->value && r->x_index);
    double x[N_STATE];
    memcpy(x, f->x0[k], sizeof x);
    for (int i = 0; i < N_SAMPLE; i++) {
        for (int c = 0; c < n_column; c++) {
            r->x_index[c] = c;
            r->value[i * n_column + c] = x[c] + noise * normal(rng);
        }
        r->time[i] = FRAME * i;
        assert_int_equal(cr_sim_step(sim, FRAME, x, NULL, x, NULL), CR_OK);
    }
    cr_sim_destroy(sim);
}

static inline void draw_start(cr_test_rng *rng, double *x) {
    static const double low[N_STATE] = {-.5, -.5, .2, -1, -1, -1, -1, -2, -2, -2, -8, -8, -8};
    static const double high[N_STATE] = {.5, .5, .5, 1, 1, 1, 1, 2, 2, 1, 8, 8, 8};
    for (int i = 0; i < N_STATE; i++) {
        x[i] = cr_test_uniform(rng, low[i], high[i]);
    }
    double norm = sqrt(x[3] * x[3] + x[4] * x[4] + x[5] * x[5] + x[6] * x[6]);
    for (int i = 3; i < 7; i++) {
        x[i] /= norm;
    }
}

#define TOSS_NAMES "floor:ball/friction,floor:ball/restitution,ball/size[0],x0:ball/*"
static const double toss_truth[3] = {0.12, 0.75, 0.08};

/// Tosses with noise; of the odd ones n_column numbers are seen, of the others seven.
static inline void open_toss_of(fixture *f, uint64_t seed, double noise, int n_column) {
    open_fixture(f, toss_text, TOSS_NAMES);
    cri_point truth;
    assert_int_equal(cri_point_push(f->selection, 1, f->arena, &truth, NULL), CR_OK);
    cr_model_defaults(f->model, -1, truth.p, truth.x0, NULL);
    for (int j = 0; j < 3; j++) {
        cri_selection_put(f->selection, j, toss_truth[j], &truth);
    }
    cr_test_rng rng = cr_test_rng_of(seed);
    for (int k = 0; k < N_RECORDING; k++) {
        draw_start(&rng, f->x0[k]);
        record(f, k, truth.p, k % 2 ? n_column : 7, noise, &rng);
    }
}

/// The odd ones without attitude.
static inline void open_toss(fixture *f, uint64_t seed, double noise) {
    open_toss_of(f, seed, noise, 3);
}

static inline void set_sigma(fixture *f, double noise) {
    for (int i = 0; i < N_STATE; i++) {
        f->sigma[i] = noise;
    }
    for (int k = 0; k < N_RECORDING; k++) {
        f->recording[k].sigma = f->sigma;
    }
}

static inline cri_fit run(fixture *f) {
    cri_fit fit = {0};
    cr_error err = {0};
    cr_status status = cri_fit_run(&f->problem, f->arena, &fit, &err);
    if (status != CR_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    assert_int_equal(status, CR_OK);
    return fit;
}

/// One recording with a friction at the edge of sticking, and a fit that starts from start.
static inline void open_edge(fixture *f, double start, uint64_t seed) {
    // slow enough to stick at the first bounce with a friction above 2/7 of slip over impulse
    static const char names[] = "floor:ball/friction,floor:ball/restitution,x0:ball/qvel[0]";
    open_fixture(f, toss_text, names);
    const double x0[N_STATE] = {0, 0, .5, 1, 0, 0, 0, 0.8};
    memcpy(f->x0[0], x0, sizeof x0);
    memcpy(f->start.x0, x0, sizeof x0);
    double *friction =
        f->start.p + cr_model_find(f->model, CR_VECTOR_P, "floor:ball/friction", NULL);
    *friction = 0.6;
    cr_test_rng rng = cr_test_rng_of(seed);
    record(f, 0, f->start.p, 3, 1e-4, &rng);
    *friction = start;
    f->problem.n_recording = 1;
}
