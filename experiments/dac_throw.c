// SPDX-License-Identifier: MIT
//
// Training and throws. A bounce is a contact after at least 20 ms without one; the first contact is
// none.

#include "dac_throw.h"

#include "base/base.h"
#include "scene/load.h"

#include <math.h>
#include <string.h>
#include <time.h>

// s without contact before a bounce
static const double least_flight = 0.02;

static double cpu_clock(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static cr_status train_one(const char *scene, const char *name, cri_augmented_options *o,
                           cri_augmented_score *score, cr_model *plain, cr_model **out,
                           cr_error *err) {
    cr_arena *arena = cri_arena_create(1 << 20);
    if (!arena) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    cri_ground_nets nets;
    cr_status status = cri_augmented_train(plain, o, &nets, score, arena, err);
    if (status == CR_OK) {
        status = cri_model_parse_with(scene, strlen(scene), name, &nets, out, err);
    }
    cri_arena_destroy(arena);
    return status;
}

cr_status dac_models_train(const char *scene, const char *name,
                           const cri_experiment_options *options, dac_models *out, cr_error *err) {
    *out = (dac_models){0};
    CR_TRY(cr_model_parse(scene, strlen(scene), name, &out->model[DAC_GS], err));
    cri_augmented_options o = cri_augmented_options_default();
    o.sampling.seed = options->seed;
    o.progress = options->progress;
    if (!options->is_full) {
        o.n_sample[0] = o.n_sample[1] = 10000;
        o.n_epoch = 100;
    }
    cr_status status = CR_OK;
    for (int k = 0; k < DAC_LAWS && status == CR_OK; k++) {
        if (k == DAC_GS) {
            continue;
        }
        cri_augmented_score *score = k == DAC_OURS ? out->ours : out->pdd;
        double begin = cpu_clock();
        o.is_regressed = k == DAC_PDD;
        status = train_one(scene, name, &o, score, out->model[DAC_GS], &out->model[k], err);
        out->seconds[k] = cpu_clock() - begin;
        out->is_interrupted =
            out->is_interrupted || score[0].is_interrupted || score[1].is_interrupted;
    }
    if (status != CR_OK) {
        dac_models_clear(out);
    }
    return status;
}

void dac_models_clear(dac_models *models) {
    for (int k = 0; k < DAC_LAWS; k++) {
        cr_model_destroy(models->model[k]);
        models->model[k] = NULL;
    }
}

static bool is_pushed(cr_sim *sim) {
    int n = 0;
    return cr_sim_contacts(sim, &n) && n > 0;
}

cr_status dac_throw_run(const dac_models *models, int law, const char *stepper,
                        const dac_start *start, double seconds, dac_throw *out, cr_error *err) {
    static const char *const name[DAC_LAWS] = {"augmented", "lcp", "regressed"};
    const cr_model *model = models->model[law];
    cr_sim_options options = cr_sim_options_default(model);
    options.law = name[law];
    options.stepper = stepper;
    options.use_gradient = false;
    cr_sim *sim = NULL;
    CR_TRY(cr_sim_create(model, &options, &sim, err));
    double degree = acos(-1.0) / 180.0, dt = cr_model_sizes(model).dt, flight = 0.0;
    double x[6] = {0.0, start->height, start->angle_deg * degree, start->along, 0.0, start->spin};
    *out = (dac_throw){.figure.n_bounce = -1.0};
    cr_status status = CR_OK;
    flight = INFINITY;
    for (int i = 0; i * dt < seconds && status == CR_OK; i++) {
        double next[6];
        status = cr_sim_step(sim, dt, x, NULL, next, err);
        if (status == CR_OK) {
            memcpy(x, next, sizeof x);
            out->penetration = fmax(out->penetration, cr_sim_report(sim)->penetration);
            bool is_contact = is_pushed(sim);
            out->figure.n_bounce += is_contact && flight > least_flight;
            flight = is_contact ? 0.0 : flight + dt;
        }
    }
    out->figure.distance = x[0];
    out->figure.angle_deg = x[2] / degree;
    cr_sim_destroy(sim);
    return status;
}

void dac_tell_accuracy(const dac_models *models, cri_experiment_result *out) {
    static const char *const kind[CRI_GROUND_KINDS] = {"point", "line"};
    static const double paper[CRI_GROUND_KINDS] = {95.0, 98.0};
    static const char *const class[CRI_GROUND_CLASSES] = {"static", "dynamic", "detach"};
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        const cri_augmented_score *s = &models->ours[k];
        cri_experiment_add(out, "%", "higher", 100.0 * s->accuracy, paper[k], "%s: classifier",
                           kind[k]);
        for (int i = 0; i < CRI_GROUND_CLASSES; i++) {
            const int *row = s->confusion[i];
            int n = row[0] + row[1] + row[2];
            cri_experiment_add(out, "%", "higher", n > 0 ? 100.0 * row[i] / n : NAN, NAN,
                               "%s: %s as static %d, dynamic %d, detach %d", kind[k], class[i],
                               row[0], row[1], row[2]);
        }
        cri_experiment_add(out, "%", "higher", 100.0 * s->friction, paper[k],
                           "%s: friction regressor", kind[k]);
        cri_experiment_add(out, "%", "higher", 100.0 * models->pdd[k].impulse, 95.0,
                           "%s: impulse regressor of PDD", kind[k]);
    }
    cri_experiment_add(out, "s", "lower", models->seconds[DAC_OURS], NAN, "training, ours");
    cri_experiment_add(out, "s", "lower", models->seconds[DAC_PDD], NAN, "training, PDD");
}
