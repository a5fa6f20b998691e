// SPDX-License-Identifier: MIT
//
// What the central-difference step keeps, in one, two and three dimensions, measured at random
// states:
//
//   wall      u' = -e u exactly, the force of the step included
//   swarm     spheres of unequal masses: momentum, and energy with e = 1
//   row       three balls and more that touch: the velocity goes through to the last
//   gravity   energy of a ball on a floor errs in proportion to h
//
// Errors of the first three are rounding, relative to the sizes that take part.

#include "cdl.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/random.h"
#include "points/learn/central.h"

#include <math.h>
#include <string.h>

enum { N_DIM_MOST = 3, N_BALL = 5, N_X_MOST = 2 * N_BALL * N_DIM_MOST, N_TRY = 1000 };

static const char *const body[N_BALL] = {"a", "b", "c", "d", "e"};
static const double along[N_DIM_MOST] = {1.0, 0.0, 0.0};

/// A system and memory for its steps.
typedef struct bench {
    cri_central *c;
    cr_arena *arena;
} bench;

// one step in place; false for lack of memory
static bool step(const bench *b, double h, double *x) {
    double next[N_X_MOST];
    cri_system_row row;
    cri_system_batch batch = {b->c->p0, h, 1, 0, x, NULL};
    cri_arena_reset(b->arena);
    if (!cri_central_kind.step(b->c, &batch, next, &row, NULL, b->arena)) {
        return false;
    }
    memcpy(x, next, sizeof *x * 2 * (size_t)b->c->n_q);
    return true;
}

// ---- wall --------------------------------------------------------------------------------------

// a ball that touches a wall of a random direction; largest |u' + e u| / |u|
static bool measure_wall(int n_dim, cri_random *stream, cr_arena *arena, double *worst) {
    for (int k = 0; k < N_TRY; k++) {
        double normal[N_DIM_MOST], gravity[N_DIM_MOST], x[N_X_MOST] = {0.0};
        double mass = cri_random_uniform(stream, 0.1, 10.0), size = 0.0, u[2] = {0.0, 0.0};
        double e = cri_random_uniform(stream, 0.0, 1.0);
        for (int i = 0; i < n_dim; i++) {
            normal[i] = cri_random_normal(stream);
            gravity[i] = 10.0 * cri_random_normal(stream);
            size += normal[i] * normal[i];
        }
        for (int i = 0; i < n_dim; i++) {
            normal[i] /= sqrt(size);
            x[n_dim + i] = -5.0 * normal[i] + cri_random_normal(stream);
            u[0] += normal[i] * x[n_dim + i];
        }
        cri_central_contact wall = {0, -1, false, normal, 0.0, e, "a:wall"};
        bench b = {cri_central_create(
                       &(cri_central_def){.points = {.n_body = 1, .n_dim = n_dim, .name = body},
                                          .mass = &mass,
                                          .n_contact = 1,
                                          .touch = &wall,
                                          .potential = CRI_POTENTIAL_GRAVITY,
                                          .potential_value = gravity}),
                   arena};
        bool is_done = b.c && step(&b, 0.02, x);
        cri_central_destroy(b.c);
        if (!is_done) {
            return false;
        }
        for (int i = 0; i < n_dim; i++) {
            u[1] += normal[i] * x[n_dim + i];
        }
        *worst = u[0] < 0.0 ? fmax(*worst, fabs(u[1] + e * u[0]) / fabs(u[0])) : *worst;
    }
    return true;
}

// ---- swarm -------------------------------------------------------------------------------------

/// What a swarm keeps.
typedef struct sums {
    double momentum[N_DIM_MOST];
    double size; // sum of m |v|
    double energy;
} sums;

static sums sums_of(const cri_central *c, const double *x) {
    sums s = {{0.0}, 0.0, 0.0};
    for (int k = 0; k < c->n_q; k++) {
        double p = c->p0[k / c->n_dim] * x[c->n_q + k];
        s.momentum[k % c->n_dim] += p;
        s.size += fabs(p);
        s.energy += 0.5 * p * x[c->n_q + k];
    }
    return s;
}

/// Largest relative changes in one step.
typedef struct changes {
    double momentum, energy;
    int n_impact; // steps with one
} changes;

// spheres that start on a ring and fly to its centre, where several touch at once
static bool measure_swarm(int n_dim, cri_random *stream, cr_arena *arena, changes *out) {
    cri_central_contact touch[N_BALL * N_BALL];
    double mass[N_BALL], x[N_X_MOST] = {0.0};
    int n = 0, n_q = N_BALL * n_dim;
    for (int i = 0; i < N_BALL; i++) {
        mass[i] = cri_random_uniform(stream, 0.2, 5.0);
        for (int j = i + 1; j < N_BALL; j++) {
            touch[n++] = (cri_central_contact){i, j, true, NULL, 0.2, 1.0, "pair"};
        }
        for (int k = 0; k < n_dim; k++) {
            double at = n_dim == 1 ? i - 2.0 : cri_random_uniform(stream, -1.0, 1.0);
            x[i * n_dim + k] = at;
            x[n_q + i * n_dim + k] = -3.0 * at + cri_random_uniform(stream, -0.2, 0.2);
        }
    }
    bench b = {cri_central_create(
                   &(cri_central_def){.points = {.n_body = N_BALL, .n_dim = n_dim, .name = body},
                                      .mass = mass,
                                      .n_contact = n,
                                      .touch = touch}),
               arena};
    bool is_done = b.c != NULL;
    for (int k = 0; is_done && k < 100; k++) {
        sums before = sums_of(b.c, x);
        is_done = step(&b, 0.01, x);
        sums after = sums_of(b.c, x);
        for (int i = 0; i < n_dim; i++) {
            out->momentum =
                fmax(out->momentum, fabs(after.momentum[i] - before.momentum[i]) / before.size);
        }
        out->energy = fmax(out->energy, fabs(after.energy / before.energy - 1.0));
        out->n_impact += after.size != before.size;
    }
    cri_central_destroy(b.c);
    return is_done;
}

// ---- row ---------------------------------------------------------------------------------------

// equal balls in a row, the first of which comes; contacts in the given order, or against it.
// Largest error of the velocities behind it.
static bool measure_row(bool is_reversed, cr_arena *arena, double *worst) {
    static const double mass[N_BALL] = {1.0, 1.0, 1.0, 1.0, 1.0};
    cri_central_contact touch[N_BALL - 1];
    double x[N_X_MOST] = {0.0};
    for (int k = 0; k < N_BALL - 1; k++) {
        int i = is_reversed ? N_BALL - 2 - k : k;
        touch[k] = (cri_central_contact){i + 1, i, false, along, 0.1, 1.0, "pair"};
    }
    for (int k = 0; k < N_BALL; k++) {
        x[k] = 0.0999 * k; // touching
    }
    x[N_BALL] = 2.0;
    bench b = {cri_central_create(
                   &(cri_central_def){.points = {.n_body = N_BALL, .n_dim = 1, .name = body},
                                      .mass = mass,
                                      .n_contact = N_BALL - 1,
                                      .touch = touch}),
               arena};
    bool is_done = b.c && step(&b, 0.01, x);
    cri_central_destroy(b.c);
    for (int k = 0; k < N_BALL; k++) {
        *worst = fmax(*worst, fabs(x[N_BALL + k] - (k == N_BALL - 1 ? 2.0 : 0.0)));
    }
    return is_done;
}

// ---- gravity -----------------------------------------------------------------------------------

// largest relative error of energy over 5 s of a ball that falls from 1 m; gravity in N/kg
static bool measure_fall(double h, double gravity, cr_arena *arena, double *worst) {
    static const double mass = 1.0;
    cri_central_contact floor = {0, -1, false, along, 0.0, 1.0, "a:floor"};
    bench b = {
        cri_central_create(&(cri_central_def){.points = {.n_body = 1, .n_dim = 1, .name = body},
                                              .mass = &mass,
                                              .n_contact = 1,
                                              .touch = &floor,
                                              .potential = CRI_POTENTIAL_GRAVITY,
                                              .potential_value = &(double){-gravity}}),
        arena};
    double x[N_X_MOST] = {1.0, -1.0};
    double first = 0.5 + gravity;
    bool is_done = b.c != NULL;
    for (int k = 0; is_done && k < (int)(5.0 / h); k++) {
        is_done = step(&b, h, x);
        *worst = fmax(*worst, fabs((0.5 * x[1] * x[1] + gravity * x[0]) / first - 1.0));
    }
    cri_central_destroy(b.c);
    return is_done;
}

// ---- all ---------------------------------------------------------------------------------------

static bool measure_dimension(int n_dim, uint64_t seed, cr_arena *arena,
                              cri_experiment_result *out) {
    cri_random stream = cri_random_of(seed, (uint64_t)n_dim);
    double wall = 0.0;
    changes c = {0};
    bool is_done = measure_wall(n_dim, &stream, arena, &wall);
    for (int k = 0; is_done && k < 50; k++) {
        is_done = measure_swarm(n_dim, &stream, arena, &c);
    }
    cri_experiment_add(out, "", "lower", wall, 0.0, "%d-D wall: |u' + e u| / |u|, largest of %d",
                       n_dim, N_TRY);
    cri_experiment_add(out, "", "lower", c.momentum, 0.0,
                       "%d-D spheres: momentum, largest relative change of a step", n_dim);
    cri_experiment_add(out, "", "lower", c.energy, 0.0,
                       "%d-D spheres: energy with e = 1, largest relative change", n_dim);
    cri_experiment_add(out, "", "", c.n_impact, NAN, "%d-D spheres: steps with impacts", n_dim);
    return is_done;
}

static bool measure_all(uint64_t seed, cr_arena *arena, cri_experiment_result *out) {
    static const double h[] = {0.01, 0.001, 0.0001};
    double row[2] = {0.0, 0.0}, free = 0.0;
    for (int n_dim = 1; n_dim <= N_DIM_MOST; n_dim++) {
        if (!measure_dimension(n_dim, seed, arena, out)) {
            return false;
        }
    }
    if (!measure_row(false, arena, &row[0]) || !measure_row(true, arena, &row[1]) ||
        !measure_fall(0.01, 0.0, arena, &free)) {
        return false;
    }
    for (int k = 0; k < 2; k++) {
        cri_experiment_add(out, "m/s", "lower", row[k], 0.0,
                           "row of %d balls, contacts %s: velocity error", N_BALL,
                           k == 0 ? "in order" : "against it");
    }
    cri_experiment_add(out, "", "lower", free, 0.0, "ball and wall without force: energy error");
    for (int k = 0; k < 3; k++) {
        double worst = 0.0;
        if (!measure_fall(h[k], 9.81, arena, &worst)) {
            return false;
        }
        cri_experiment_add(out, "", "lower", worst, NAN,
                           "ball on a floor, gravity, h = %g s: energy error", h[k]);
    }
    return true;
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    (void)self;
    cr_arena *arena = cri_arena_create(1 << 14);
    bool is_done = arena && measure_all(options->seed, arena, out);
    cri_arena_destroy(arena);
    return is_done ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
}

const cri_experiment cri_cdl_step = {
    .name = "cdl-step",
    .summary = "paper 001, section 2: what the step keeps, to rounding, in 1-D to 3-D",
    .models = NULL,
    .run = run,
};
