// SPDX-License-Identifier: MIT
//
// dac-box (beyond paper 003, which stays in a plane): a box of 0.2 x 0.14 x 0.1 m thrown on a plane
// with six degrees of freedom. Nets for points, lines and surfaces learn from `ncp`, whose friction
// has no corners (GS here); PDD has the same samples, nets and epochs; `lcp` is the same physics
// with friction on an octagon.
//
// Throws of a box are chaotic: two laws part once a corner falls otherwise. Beside what becomes of
// whole throws there is therefore the error of single steps: from every contact state of GS one
// step by each law,
//
//   |v - v_GS| over |v_GS - v_free|,   |v|^2 = v'v + (0.1 m)^2 w'w
//
// relative to what contact does there.

#include "dac.h"

#include "base/random.h"
#include "dac_throw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char scene[] =
    "<mujoco model='box'><option timestep='0.002' gravity='0 0 -9.81'/><worldbody>"
    "<geom name='ground' type='plane' size='5 5 0.1' friction='0.6'/>"
    "<body name='box'><freejoint/><geom name='shape' type='box' size='0.1 0.07 0.05' mass='1' "
    "friction='0.6'/></body></worldbody></mujoco>";

// quick runs make a few of the throws
enum { N_THROW = 20, N_QUICK = 5, N_STEP = 1500, N_X = 13, N_ERROR = N_THROW * N_STEP };

static const double time_step = 0.002, size = 0.1;
static const char *const law_name[DAC_LAWS] = {"ours", "GS (ncp)", "PDD", "lcp"};

/// What became of all throws under one law.
typedef struct outcome {
    double place[N_THROW][2];
    int face[N_THROW];
    double penetration, energy; // largest, m and of its start
    int n, n_outside, n_step;
    bool is_lost[N_THROW]; // it left all bounds
} outcome;

// ---- throws ------------------------------------------------------------------------------------

static void draw_start(cri_random *r, double *x) {
    double q[4], norm = 0.0;
    memset(x, 0, sizeof *x * N_X);
    for (int i = 0; i < 4; i++) {
        q[i] = cri_random_normal(r);
        norm += q[i] * q[i];
    }
    for (int i = 0; i < 4; i++) {
        x[3 + i] = q[i] / sqrt(norm);
    }
    x[2] = cri_random_uniform(r, 0.25, 0.8);
    for (int i = 0; i < 3; i++) {
        x[7 + i] = i < 2 ? cri_random_uniform(r, -3.0, 3.0) : 0.0;
        x[10 + i] = cri_random_uniform(r, -12.0, 12.0);
    }
}

// axis of the box that points up, and which way
static int face_of(const double *x) {
    const double *q = x + 3;
    double up[3] = {2.0 * (q[1] * q[3] - q[0] * q[2]), 2.0 * (q[2] * q[3] + q[0] * q[1]),
                    q[0] * q[0] - q[1] * q[1] - q[2] * q[2] + q[3] * q[3]};
    int best = 0;
    for (int i = 1; i < 3; i++) {
        best = fabs(up[i]) > fabs(up[best]) ? i : best;
    }
    return 2 * best + (up[best] > 0.0);
}

static cr_status open_sim(const dac_models *models, int law, const char *stepper, cr_sim **out,
                          cr_error *err) {
    static const char *const name[DAC_LAWS] = {"augmented", "ncp", "regressed", "lcp"};
    const cr_model *model = models->model[law == DAC_NCP ? DAC_GS : law];
    cr_sim_options options = cr_sim_options_default(model);
    options.law = name[law];
    options.stepper = stepper;
    options.use_gradient = false;
    return cr_sim_create(model, &options, out, err);
}

static double energy_of(const double *x) {
    static const double side[3] = {0.1, 0.07, 0.05};
    double sum = 9.81 * x[2];
    for (int i = 0; i < 3; i++) {
        double a = side[(i + 1) % 3], b = side[(i + 2) % 3];
        sum += 0.5 * x[7 + i] * x[7 + i] + (a * a + b * b) / 6.0 * x[10 + i] * x[10 + i];
    }
    return sum;
}

// out->n of them
static cr_status throw_all(const dac_models *models, int law, const char *stepper, uint64_t seed,
                           outcome *out, cr_error *err) {
    cr_sim *sim = NULL;
    CR_TRY(open_sim(models, law, stepper, &sim, err));
    cri_random r = cri_random_of(seed, 303);
    cr_status status = CR_OK;
    *out = (outcome){.n = out->n};
    for (int k = 0; k < out->n && status == CR_OK; k++) {
        double x[N_X], first;
        draw_start(&r, x);
        first = energy_of(x);
        for (int i = 0; i < N_STEP && status == CR_OK && !out->is_lost[k]; i++) {
            status = cr_sim_step(sim, time_step, x, NULL, x, err);
            out->is_lost[k] = status == CR_ERR_NUMERIC;
            status = out->is_lost[k] ? CR_OK : status;
            const cr_step_report *report = cr_sim_report(sim);
            out->penetration = fmax(out->penetration, report->penetration);
            out->energy = fmax(out->energy, energy_of(x) / first);
            out->n_outside += report->n_outside > 0;
            out->n_step += report->n_event > 0;
        }
        memcpy(out->place[k], x, sizeof out->place[k]);
        out->face[k] = face_of(x);
    }
    cr_sim_destroy(sim);
    return status;
}

// ---- single steps ------------------------------------------------------------------------------

static double distance(const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 7; i < N_X; i++) {
        sum += pow((i < 10 ? 1.0 : size) * (a[i] - b[i]), 2.0);
    }
    return sqrt(sum);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// errors of ours, PDD and lcp along the throws of GS; returns how many
static cr_status compare_steps(const dac_models *models, int n_throw, uint64_t seed,
                               double *error[DAC_LAWS], int *n_error, cr_error *err) {
    cr_sim *sim[DAC_LAWS] = {NULL};
    cr_status status = CR_OK;
    for (int k = 0; k < DAC_LAWS && status == CR_OK; k++) {
        status = open_sim(models, k, "end", &sim[k], err);
    }
    cri_random r = cri_random_of(seed, 303);
    *n_error = 0;
    for (int i = 0; i < n_throw * N_STEP && status == CR_OK; i++) {
        static double x[N_X];
        double next[DAC_LAWS][N_X], free_fall[N_X];
        if (i % N_STEP == 0) {
            draw_start(&r, x);
        }
        status = cr_sim_step(sim[DAC_GS], time_step, x, NULL, next[DAC_GS], err);
        // what lies still says nothing
        static const double still[N_X];
        bool is_contact = cr_sim_report(sim[DAC_GS])->n_event > 0 && distance(x, still) > 0.05;
        memcpy(free_fall, x, sizeof free_fall);
        free_fall[9] -= 9.81 * time_step;
        double done = distance(next[DAC_GS], free_fall);
        for (int k = 0; k < DAC_LAWS && status == CR_OK && is_contact && done > 0.0; k++) {
            if (k != DAC_GS) {
                bool is_lost = cr_sim_step(sim[k], time_step, x, NULL, next[k], err) != CR_OK;
                error[k][*n_error] = is_lost ? INFINITY : distance(next[k], next[DAC_GS]) / done;
            }
        }
        *n_error += is_contact && done > 0.0;
        memcpy(x, next[DAC_GS], sizeof x);
    }
    for (int k = 0; k < DAC_LAWS; k++) {
        cr_sim_destroy(sim[k]);
    }
    return status;
}

// ---- rows --------------------------------------------------------------------------------------

static void tell_throws(const outcome of[DAC_LAWS], const char *stepper,
                        cri_experiment_result *out) {
    int n = of[0].n;
    const char *unit = n == N_THROW ? "of 20" : "of 5";
    for (int k = 0; k < DAC_LAWS; k++) {
        double error[N_THROW], mean = 0.0;
        int n_face = 0, n_lost = 0;
        for (int i = 0; i < n; i++) {
            const double *own = of[k].place[i], *truth = of[DAC_GS].place[i];
            bool is_lost = of[k].is_lost[i];
            error[i] = is_lost ? INFINITY : hypot(own[0] - truth[0], own[1] - truth[1]);
            mean += error[i] / n;
            n_face += !is_lost && of[k].face[i] == of[DAC_GS].face[i];
            n_lost += is_lost;
        }
        qsort(error, (size_t)n, sizeof *error, by_size);
        if (k != DAC_GS) {
            cri_experiment_add(out, "m", "lower", mean, NAN, "%s: %s, final place to GS, mean",
                               stepper, law_name[k]);
            cri_experiment_add(out, "m", "lower", 0.5 * (error[(n - 1) / 2] + error[n / 2]), NAN,
                               "%s: %s, final place to GS, median", stepper, law_name[k]);
            cri_experiment_add(out, unit, "higher", n_face, NAN,
                               "%s: %s, lies on the face that GS does", stepper, law_name[k]);
        }
        cri_experiment_add(out, unit, "lower", n_lost, NAN, "%s: %s, left all bounds", stepper,
                           law_name[k]);
        cri_experiment_add(out, "m", "lower", of[k].penetration, NAN, "%s: %s, deepest penetration",
                           stepper, law_name[k]);
        cri_experiment_add(out, "", "lower", of[k].energy, NAN,
                           "%s: %s, largest energy over that of the start", stepper, law_name[k]);
    }
    cri_experiment_add(out, "%", "lower", 100.0 * of[DAC_OURS].n_outside / of[DAC_OURS].n_step, NAN,
                       "%s: ours, contact steps outside the training", stepper);
}

static cr_status tell_steps(const dac_models *models, int n_throw, uint64_t seed,
                            cri_experiment_result *out, cr_error *err) {
    double *block = malloc(sizeof *block * DAC_LAWS * N_ERROR), *error[DAC_LAWS];
    if (!block) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    for (int k = 0; k < DAC_LAWS; k++) {
        error[k] = block + k * N_ERROR;
    }
    int n = 0;
    cr_status status = compare_steps(models, n_throw, seed, error, &n, err);
    for (int k = 0; k < DAC_LAWS && status == CR_OK && n > 0; k++) {
        if (k == DAC_GS) {
            continue;
        }
        qsort(error[k], (size_t)n, sizeof *block, by_size);
        cri_experiment_add(out, "%", "lower", 100.0 * error[k][n / 2], NAN,
                           "single steps: %s, error of what contact does, median of %d",
                           law_name[k], n);
        cri_experiment_add(out, "%", "lower", 100.0 * error[k][n * 9 / 10], NAN,
                           "single steps: %s, error of what contact does, 90 %%", law_name[k]);
    }
    free(block);
    return status;
}

static cr_status run_all(const dac_models *models, int n_throw, uint64_t seed,
                         cri_experiment_result *out, cr_error *err) {
    static const char *const stepper[2] = {"end", "located"};
    static outcome of[DAC_LAWS];
    CR_TRY(tell_steps(models, n_throw, seed, out, err));
    for (int s = 0; s < 2; s++) {
        for (int k = 0; k < DAC_LAWS; k++) {
            of[k].n = n_throw;
            CR_TRY(throw_all(models, k, stepper[s], seed, &of[k], err));
        }
        tell_throws(of, stepper[s], out);
    }
    return CR_OK;
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    dac_models models;
    CR_TRY(dac_models_train(scene, self->name, options, &models, err));
    out->is_interrupted = models.is_interrupted;
    dac_tell_accuracy(&models, out);
    cr_status status =
        run_all(&models, options->is_full ? N_THROW : N_QUICK, options->seed, out, err);
    dac_models_clear(&models);
    return status;
}

const cri_experiment cri_dac_box = {
    .name = "dac-box",
    .summary = "a box thrown in space under nets, its ground truth and pure regression",
    .run = run,
};
