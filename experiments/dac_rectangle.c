// SPDX-License-Identifier: MIT
//
// dac-rectangle (paper 003, Fig. 4 and 5): a rectangle thrown ten times to the ground.
//
// The paper gives neither size nor friction; 0.2 x 0.1 m, coefficient 1, steps of 2 ms reproduce
// the final angles of GS in six trials and distances there to 5 %. Trials 2, 4, 5 and 10 hang on
// one corner or another. Angles turn from x to z. Ours and PDD are judged by our own GS, the law
// `lcp` in the same scene and steps; the paper's figures by the paper's. Steps with one jump at
// their end are what the paper has; located impacts beside them are for ours and GS alone, as what
// sinks has no first touch to locate.

#include "dac.h"

#include "dac_throw.h"

#include <math.h>
#include <stdlib.h>

static const char scene[] =
    "<mujoco model='rectangle'>"
    "<option timestep='0.002' gravity='0 0 -9.81'/>"
    "<worldbody><geom name='ground' type='plane' size='5 5 0.1' friction='1'/>"
    "<body name='rectangle'>"
    "<joint name='x' type='slide' axis='1 0 0'/><joint name='z' type='slide' axis='0 0 1'/>"
    "<joint name='turn' type='hinge' axis='0 -1 0'/>"
    "<geom name='box' type='box' size='0.1 0.05 0.05' mass='1' friction='1'/>"
    "</body></worldbody></mujoco>";

// s: everything lies by then
static const double length = 4.0;

// degrees between equal final orientations
static const double same_angle = 5.0;

// start; bounces, distance, angle of ours, GS and PDD
static const dac_trial trial[DAC_TRIALS] = {
    {{0.25, 131.8, 3.5, 4}, {{0, 0.763, 179}, {0, 0.838, 180}, {0, 0.857, 187}}},
    {{0.33, 0, 4.2, 45}, {{0, 1.484, 359}, {0, 1.671, 360}, {5, 2.427, -177}}},
    {{0.7, -114.6, 2, 0}, {{0, 0.881, -180}, {0, 0.877, -180}, {2, 1.006, -270}}},
    {{0.35, 57.3, -1, -30}, {{1, -0.27, -271}, {2, -0.277, -270}, {1, -0.061, -340}}},
    {{0.5, 85.9, -4, -10}, {{5, -3.06, 540}, {5, -2.25, 540}, {11, -4.041, 1624}}},
    {{1, -40.1, -0.5, 0.5}, {{1, -0.3, 1}, {0, -0.289, 2}, {0, -0.384, 0}}},
    {{0.3, 160.4, 3, -4}, {{8, 1.773, -541}, {8, 1.803, -540}, {5, 1.298, -179}}},
    {{0.25, -171.9, -2.5, 0}, {{0, -0.51, -180}, {0, -0.534, -180}, {0, -0.511, -181}}},
    {{0.4, 115, 3, 0}, {{7, 1.707, -450}, {7, 1.685, -360}, {4, 1.366, -180}}},
    {{0.4, 28.6, 3, 20}, {{5, 1.309, -92}, {5, 1.31, 0}, {6, 1.722, -180}}},
};

static const char *const law_name[DAC_LAWS] = {"ours", "GS", "PDD"};

/// All throws by one stepper.
typedef struct throws {
    dac_throw of[DAC_TRIALS][DAC_LAWS];
} throws;

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Errors of a law over the trials.
typedef struct summary {
    double mean, median; // of distances, m
    int n_angle;         // that agree
} summary;

static summary summarise(dac_figure figure[DAC_TRIALS][DAC_LAWS], int law) {
    double error[DAC_TRIALS];
    summary s = {0};
    for (int i = 0; i < DAC_TRIALS; i++) {
        error[i] = fabs(figure[i][law].distance - figure[i][DAC_GS].distance);
        s.mean += error[i] / DAC_TRIALS;
        s.n_angle += fabs(figure[i][law].angle_deg - figure[i][DAC_GS].angle_deg) <= same_angle;
    }
    qsort(error, DAC_TRIALS, sizeof *error, by_size);
    s.median = 0.5 * (error[DAC_TRIALS / 2 - 1] + error[DAC_TRIALS / 2]);
    return s;
}

static void tell_summary(const throws *t, const char *stepper, int n_law,
                         cri_experiment_result *out) {
    dac_figure here[DAC_TRIALS][DAC_LAWS], paper[DAC_TRIALS][DAC_LAWS];
    double depth[DAC_LAWS] = {0};
    for (int i = 0; i < DAC_TRIALS; i++) {
        for (int k = 0; k < DAC_LAWS; k++) {
            here[i][k] = t->of[i][k].figure;
            paper[i][k] = trial[i].paper[k];
            depth[k] = fmax(depth[k], t->of[i][k].penetration);
        }
    }
    for (int k = 0; k < n_law; k++) {
        if (k != DAC_GS) {
            summary s = summarise(here, k), p = summarise(paper, k);
            cri_experiment_add(out, "m", "lower", s.mean, p.mean,
                               "%s: %s, distance error to GS, mean", stepper, law_name[k]);
            cri_experiment_add(out, "m", "lower", s.median, p.median,
                               "%s: %s, distance error to GS, median", stepper, law_name[k]);
            cri_experiment_add(out, "of 10", "higher", s.n_angle, p.n_angle,
                               "%s: %s, final orientations of GS", stepper, law_name[k]);
        }
        cri_experiment_add(out, "m", "lower", depth[k], NAN, "%s: %s, deepest penetration", stepper,
                           law_name[k]);
    }
}

static void tell_trials(const throws *t, cri_experiment_result *out) {
    for (int i = 0; i < DAC_TRIALS; i++) {
        for (int k = 0; k < DAC_LAWS; k++) {
            const dac_figure *here = &t->of[i][k].figure, *paper = &trial[i].paper[k];
            cri_experiment_add(out, "m", "match", here->distance, paper->distance,
                               "trial %d: %s, distance", i + 1, law_name[k]);
            cri_experiment_add(out, "degrees", "match", here->angle_deg, paper->angle_deg,
                               "trial %d: %s, final orientation", i + 1, law_name[k]);
            cri_experiment_add(out, "", "match", here->n_bounce, paper->n_bounce,
                               "trial %d: %s, bounces", i + 1, law_name[k]);
        }
    }
}

static cr_status throw_all(const dac_models *models, const char *stepper, int n_law, throws *out,
                           cr_error *err) {
    *out = (throws){0};
    for (int i = 0; i < DAC_TRIALS * n_law; i++) {
        int k = i % n_law;
        CR_TRY(dac_throw_run(models, k, stepper, &trial[i / n_law].start, length,
                             &out->of[i / n_law][k], err));
    }
    return CR_OK;
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    dac_models models;
    throws end, located;
    CR_TRY(dac_models_train(scene, self->name, options, &models, err));
    out->is_interrupted = models.is_interrupted;
    cr_status status = throw_all(&models, "end", DAC_LAWS, &end, err);
    if (status == CR_OK) {
        status = throw_all(&models, "located", DAC_PDD, &located, err);
    }
    if (status == CR_OK) {
        dac_tell_accuracy(&models, out);
        tell_summary(&end, "end", DAC_LAWS, out);
        tell_summary(&located, "located", DAC_PDD, out);
        tell_trials(&end, out);
    }
    dac_models_clear(&models);
    return status;
}

const cri_experiment cri_dac_rectangle = {
    .name = "dac-rectangle",
    .summary = "a thrown rectangle under nets, its ground truth and pure regression (003, Fig. 5)",
    .run = run,
};
