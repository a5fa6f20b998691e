// SPDX-License-Identifier: MIT
//
// dac-bodies (beyond paper 003, where one of two bodies stands still): two boxes fly about in a
// plane without gravity and collide. Nets know this pair; impulses act on both, so that momentum is
// that of the start whatever they say. GS is law `lcp`, PDD has the same samples, nets and epochs.
//
//   P = sum m v,   L = sum m (z v_x - x v_z) + I w
//
// with drifts over sum m |v| and sum m |x| |v| + I |w|.

#include "dac.h"

#include "base/random.h"
#include "dac_throw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLANAR                                                                                     \
    "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"                         \
    "<joint type='hinge' axis='0 1 0'/>"

static const char scene[] =
    "<mujoco model='bodies'><option timestep='0.002' gravity='0 0 0'/><worldbody>"
    "<body name='anvil'>" PLANAR
    "<geom name='anvil' type='box' size='0.15 0.05 0.1' mass='2' friction='0.5'/></body>"
    "<body name='hammer'>" PLANAR
    "<geom name='hammer' type='box' size='0.1 0.05 0.05' mass='1' friction='0.5'/></body>"
    "</worldbody></mujoco>";

enum { N_CRASH = 40, N_STEP = 400, N_X = 12, N_LAW = 3 };

static const double mass[2] = {2.0, 1.0};
static const double inertia[2] = {2.0 / 3.0 * (0.15 * 0.15 + 0.1 * 0.1),
                                  1.0 / 3.0 * (0.1 * 0.1 + 0.05 * 0.05)};
static const char *const law_name[N_LAW] = {"ours", "GS", "PDD"};

/// What became of all crashes under one law.
typedef struct outcome {
    double end[N_CRASH][N_X];
    double drift[2]; // largest, of P and L
    double energy;   // largest part of the start's
    double penetration;
    int n_touch, n_outside;
} outcome;

// the hammer comes from any side
static void draw_start(cri_random *r, double *x) {
    double side = cri_random_uniform(r, -3.14, 3.14), speed = cri_random_uniform(r, 0.5, 3.0);
    memset(x, 0, sizeof *x * N_X);
    x[2] = cri_random_uniform(r, -3.14, 3.14);
    x[3] = 0.4 * cos(side);
    x[4] = 0.4 * sin(side);
    x[5] = cri_random_uniform(r, -3.14, 3.14);
    x[8] = cri_random_uniform(r, -3.0, 3.0);
    x[9] = -speed * cos(side) + cri_random_uniform(r, -0.3, 0.3);
    x[10] = -speed * sin(side) + cri_random_uniform(r, -0.3, 0.3);
    x[11] = cri_random_uniform(r, -6.0, 6.0);
}

/// Momenta and their size, and energy.
typedef struct sums {
    double P[2], L, size_P, size_L, energy;
} sums;

static sums sums_of(const double *x) {
    sums of = {.L = 0.0};
    for (int b = 0; b < 2; b++) {
        const double *q = x + 3 * b, *v = x + 6 + 3 * b;
        double speed = hypot(v[0], v[1]);
        of.P[0] += mass[b] * v[0];
        of.P[1] += mass[b] * v[1];
        // a turn about +y takes z to x
        of.L += mass[b] * (q[1] * v[0] - q[0] * v[1]) + inertia[b] * v[2];
        of.size_P += mass[b] * speed;
        of.size_L += mass[b] * hypot(q[0], q[1]) * speed + inertia[b] * fabs(v[2]);
        of.energy += 0.5 * (mass[b] * speed * speed + inertia[b] * v[2] * v[2]);
    }
    return of;
}

static cr_status crash_all(const dac_models *models, int law, const char *stepper, uint64_t seed,
                           outcome *out, cr_error *err) {
    static const char *const name[N_LAW] = {"augmented", "lcp", "regressed"};
    cr_sim_options options = cr_sim_options_default(models->model[law]);
    options.law = name[law];
    options.stepper = stepper;
    options.use_gradient = false;
    cr_sim *sim = NULL;
    CR_TRY(cr_sim_create(models->model[law], &options, &sim, err));
    cri_random r = cri_random_of(seed, 404);
    cr_status status = CR_OK;
    *out = (outcome){.n_touch = 0};
    for (int k = 0; k < N_CRASH && status == CR_OK; k++) {
        double *x = out->end[k];
        draw_start(&r, x);
        sums first = sums_of(x), last;
        for (int i = 0; i < N_STEP && status == CR_OK; i++) {
            status = cr_sim_step(sim, 0.002, x, NULL, x, err);
            const cr_step_report *report = cr_sim_report(sim);
            out->n_touch += report->n_event > 0;
            out->n_outside += report->n_outside > 0;
            out->penetration = fmax(out->penetration, report->penetration);
        }
        last = sums_of(x);
        double off = hypot(last.P[0] - first.P[0], last.P[1] - first.P[1]);
        out->drift[0] = fmax(out->drift[0], off / first.size_P);
        out->drift[1] = fmax(out->drift[1], fabs(last.L - first.L) / first.size_L);
        out->energy = fmax(out->energy, last.energy / first.energy);
    }
    cr_sim_destroy(sim);
    return status;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// |v - v_GS| over |v_GS|, spins times 0.1 m
static double error_of(const double *a, const double *b) {
    double off = 0.0, size = 0.0;
    for (int i = 6; i < N_X; i++) {
        double scale = i % 3 == 2 ? 0.1 : 1.0;
        off += pow(scale * (a[i] - b[i]), 2.0);
        size += pow(scale * b[i], 2.0);
    }
    return sqrt(off / size);
}

static void tell(outcome of[N_LAW], const char *stepper, cri_experiment_result *out) {
    for (int k = 0; k < N_LAW; k++) {
        double error[N_CRASH];
        for (int i = 0; i < N_CRASH; i++) {
            error[i] = error_of(of[k].end[i], of[DAC_GS].end[i]);
        }
        qsort(error, N_CRASH, sizeof *error, by_size);
        const char *name = law_name[k];
        if (k != DAC_GS) {
            cri_experiment_add(out, "%", "lower", 100.0 * error[N_CRASH / 2], NAN,
                               "%s: %s, velocities after to GS, median", stepper, name);
            cri_experiment_add(out, "%", "lower", 100.0 * error[N_CRASH * 9 / 10], NAN,
                               "%s: %s, velocities after to GS, 90 %%", stepper, name);
        }
        cri_experiment_add(out, "", "lower", of[k].drift[0], NAN,
                           "%s: %s, largest drift of momentum", stepper, name);
        cri_experiment_add(out, "", "lower", of[k].drift[1], NAN,
                           "%s: %s, largest drift of angular momentum", stepper, name);
        cri_experiment_add(out, "", "lower", of[k].energy, NAN,
                           "%s: %s, largest energy over that of the start", stepper, name);
        cri_experiment_add(out, "m", "lower", of[k].penetration, NAN, "%s: %s, deepest penetration",
                           stepper, name);
    }
    cri_experiment_add(out, "", "match", of[DAC_OURS].n_touch, NAN, "%s: ours, steps with contact",
                       stepper);
    cri_experiment_add(out, "", "lower", of[DAC_OURS].n_outside, NAN,
                       "%s: ours, of which outside the training", stepper);
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    static const char *const stepper[2] = {"end", "located"};
    static outcome of[N_LAW];
    dac_models models;
    CR_TRY(dac_models_train(scene, self->name, options, &models, err));
    out->is_interrupted = models.is_interrupted;
    dac_tell_accuracy(&models, out);
    cr_status status = CR_OK;
    for (int s = 0; s < 2 && status == CR_OK; s++) {
        for (int k = 0; k < N_LAW && status == CR_OK; k++) {
            status = crash_all(&models, k, stepper[s], options->seed, &of[k], err);
        }
        if (status == CR_OK) {
            tell(of, stepper[s], out);
        }
    }
    dac_models_clear(&models);
    return status;
}

const cri_experiment cri_dac_bodies = {
    .name = "dac-bodies",
    .summary = "two moving bodies collide under nets, their ground truth and pure regression",
    .run = run,
};
