// SPDX-License-Identifier: MIT
//
// Training and throws. A bounce is a contact after at least 20 ms without one; the first contact is
// none.

#include "dac_throw.h"

#include "base/base.h"
#include "model/scene/load.h"

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

static cri_augmented_options options_of(const cri_experiment_options *options) {
    cri_augmented_options o = cri_augmented_options_default();
    o.sampling.seed = options->seed;
    o.progress = options->progress;
    if (!options->is_full) {
        for (int k = 0; k < CRI_GROUND_KINDS; k++) {
            o.n_sample[k] = 10000;
        }
        o.n_epoch = o.n_epoch_space = 100;
    }
    return o;
}

static cr_status train_nets(const char *scene, const char *name, cri_augmented_options *o,
                            dac_nets *out, cr_error *err) {
    *out = (dac_nets){.arena = cri_arena_create(1 << 20)};
    cr_model *model = NULL;
    cr_status status = out->arena ? cr_model_parse(scene, strlen(scene), name, &model, err)
                                  : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    double begin = cpu_clock();
    if (status == CR_OK) {
        status = cri_augmented_train(model, o, &out->nets, out->score, out->arena, err);
    }
    out->seconds = cpu_clock() - begin;
    out->is_interrupted = out->score[0].is_interrupted || out->score[1].is_interrupted;
    cr_model_destroy(model);
    if (status != CR_OK) {
        dac_nets_clear(out);
    }
    return status;
}

cr_status dac_nets_train(const char *scene, const char *name, const cri_experiment_options *options,
                         dac_nets *out, cr_error *err) {
    return dac_nets_train_by(scene, name, options, false, out, err);
}

cr_status dac_nets_train_by(const char *scene, const char *name,
                            const cri_experiment_options *options, bool is_absolute, dac_nets *out,
                            cr_error *err) {
    cri_augmented_options o = options_of(options);
    o.is_absolute = is_absolute;
    return train_nets(scene, name, &o, out, err);
}

cr_status dac_nets_train_with(const char *scene, const char *name,
                              const cri_experiment_options *options, double mu_static,
                              dac_nets *out, cr_error *err) {
    cri_augmented_options o = options_of(options);
    o.sampling.mu_static = mu_static;
    return train_nets(scene, name, &o, out, err);
}

void dac_nets_clear(dac_nets *nets) {
    cri_arena_destroy(nets->arena);
    nets->arena = NULL;
}

cr_status dac_models_train(const char *scene, const char *name,
                           const cri_experiment_options *options, dac_models *out, cr_error *err) {
    *out = (dac_models){0};
    CR_TRY(cr_model_parse(scene, strlen(scene), name, &out->model[DAC_GS], err));
    cri_augmented_options o = options_of(options);
    cr_status status = CR_OK;
    for (int k = 0; k < DAC_LAWS && status == CR_OK; k++) {
        if (k == DAC_GS || k == DAC_NCP) {
            continue;
        }
        cri_augmented_score *score = k == DAC_OURS ? out->ours : out->pdd;
        double begin = cpu_clock();
        o.is_regressed = k == DAC_PDD;
        status = train_one(scene, name, &o, score, out->model[DAC_GS], &out->model[k], err);
        out->seconds[k] = cpu_clock() - begin;
        for (int i = 0; i < CRI_GROUND_KINDS; i++) {
            out->is_interrupted = out->is_interrupted || score[i].is_interrupted;
        }
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

// contacts of the last step; whether one of them slides
static bool is_pushed(cr_sim *sim, bool *is_sliding) {
    int n = 0;
    const cr_contact *contact = cr_sim_contacts(sim, &n);
    *is_sliding = false;
    for (int i = 0; i < n; i++) {
        *is_sliding = *is_sliding || contact[i].is_sliding;
    }
    return n > 0;
}

static cr_status open_sim(const dac_models *models, int law, const char *stepper, cr_sim **out,
                          cr_error *err) {
    static const char *const name[DAC_LAWS] = {"augmented", "lcp", "regressed", "ncp"};
    const cr_model *model = models->model[law == DAC_NCP ? DAC_GS : law];
    cr_sim_options options = cr_sim_options_default(model);
    options.law = name[law];
    options.stepper = stepper;
    options.use_gradient = false;
    return cr_sim_create(model, &options, out, err);
}

// x (6) of a start
static void begin(const dac_start *start, double *x) {
    double degree = acos(-1.0) / 180.0;
    memcpy(
        x,
        (double[6]){0.0, start->height, start->angle_deg * degree, start->along, 0.0, start->spin},
        sizeof(double) * 6);
}

cr_status dac_throw_run(const dac_models *models, int law, const char *stepper,
                        const dac_start *start, double seconds, dac_throw *out, cr_error *err) {
    cr_sim *sim = NULL;
    CR_TRY(open_sim(models, law, stepper, &sim, err));
    double dt = cr_model_sizes(models->model[DAC_GS]).dt, flight = INFINITY, x[6];
    begin(start, x);
    *out = (dac_throw){.figure.n_bounce = -1.0};
    cr_status status = CR_OK;
    for (int i = 0; i * dt < seconds && status == CR_OK; i++) {
        double next[6];
        status = cr_sim_step(sim, dt, x, NULL, next, err);
        if (status == CR_OK) {
            memcpy(x, next, sizeof x);
            out->penetration = fmax(out->penetration, cr_sim_report(sim)->penetration);
            bool is_sliding = false, is_contact = is_pushed(sim, &is_sliding);
            out->n_touch += is_contact;
            out->n_slide += is_sliding;
            out->figure.n_bounce += is_contact && flight > least_flight;
            flight = is_contact ? 0.0 : flight + dt;
        }
    }
    out->figure.distance = x[0];
    out->figure.angle_deg = x[2] * 180.0 / acos(-1.0);
    cr_sim_destroy(sim);
    return status;
}

cr_status dac_throw_compare(const dac_models *models, int law, const dac_start *start,
                            double seconds, double off[2], cr_error *err) {
    cr_sim *sim[2] = {NULL, NULL};
    double dt = cr_model_sizes(models->model[DAC_GS]).dt, x[2][6];
    cr_status status = CR_OK;
    off[0] = off[1] = 0.0;
    for (int k = 0; k < 2 && status == CR_OK; k++) {
        status = open_sim(models, k == 0 ? law : DAC_GS, "end", &sim[k], err);
        begin(start, x[k]);
    }
    for (int i = 0; i * dt < seconds && status == CR_OK; i++) {
        for (int k = 0; k < 2 && status == CR_OK; k++) {
            status = cr_sim_step(sim[k], dt, x[k], NULL, x[k], err);
        }
        off[0] = fmax(off[0], hypot(x[0][0] - x[1][0], x[0][1] - x[1][1]));
        off[1] = fmax(off[1], fabs(x[0][2] - x[1][2]) * 180.0 / acos(-1.0));
    }
    cr_sim_destroy(sim[0]);
    cr_sim_destroy(sim[1]);
    return status;
}

void dac_tell_speed(const dac_models *models, const dac_start *start, cri_experiment_result *out) {
    static const double seconds = 4.0;
    double least = INFINITY;
    dac_throw one;
    for (int k = 0; k < 5; k++) {
        double begin = cpu_clock();
        if (dac_throw_run(models, DAC_OURS, "end", start, seconds, &one, NULL) != CR_OK) {
            return;
        }
        least = fmin(least, cpu_clock() - begin);
    }
    double n_step = seconds / cr_model_sizes(models->model[DAC_OURS]).dt;
    cri_experiment_add(out, "1/s", "higher", n_step / least, NAN, "steps a second of one core");
}

void dac_tell_score(const cri_augmented_score score[CRI_GROUND_KINDS], cri_experiment_result *out) {
    static const double paper[CRI_GROUND_KINDS] = {95.0, 98.0, NAN, NAN, NAN};
    static const char *const class[CRI_GROUND_CLASSES] = {"static", "dynamic", "detach"};
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        const cri_augmented_score *s = &score[k];
        if (s->n_test == 0) {
            continue;
        }
        cri_experiment_add(out, "%", "higher", 100.0 * s->accuracy, paper[k], "%s: classifier",
                           cri_ground_kind_name(k));
        for (int i = 0; i < CRI_GROUND_CLASSES; i++) {
            const int *row = s->confusion[i];
            int n = row[0] + row[1] + row[2];
            cri_experiment_add(out, "%", "higher", n > 0 ? 100.0 * row[i] / n : (double)NAN, NAN,
                               "%s: %s as static %d, dynamic %d, detach %d",
                               cri_ground_kind_name(k), class[i], row[0], row[1], row[2]);
        }
        cri_experiment_add(out, "%", "higher", 100.0 * s->friction, paper[k],
                           "%s: friction regressor", cri_ground_kind_name(k));
    }
}

void dac_tell_accuracy(const dac_models *models, cri_experiment_result *out) {
    dac_tell_score(models->ours, out);
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        if (models->pdd[k].n_test > 0) {
            cri_experiment_add(out, "%", "higher", 100.0 * models->pdd[k].impulse,
                               cri_ground_has(true, k) ? (double)NAN : 95.0,
                               "%s: impulse regressor of PDD", cri_ground_kind_name(k));
        }
    }
    cri_experiment_add(out, "s", "lower", models->seconds[DAC_OURS], NAN, "training, ours");
    cri_experiment_add(out, "s", "lower", models->seconds[DAC_PDD], NAN, "training, PDD");
}
