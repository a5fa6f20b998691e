// SPDX-License-Identifier: MIT
//
// Trains the models of a case one after another, each on all threads: AdamW, one rate for the net
// and ten times of it for masses and coefficients, both to 0 over the last half. Windows for
// training, validation and test have streams of their own.

#include "dcs_case.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/// All that the models of one run share.
typedef struct study {
    const dcs_case *c;
    dcs_size size;
    const dcs_twist *twist; // NULL: none
    const cri_experiment_options *options;
    uint64_t seed;
    const char *suffix; // of names in rows
    cri_points_scene *truth;
    cri_points_data train, valid, test;
    cr_arena *arena;
    cri_experiment_result *out;
} study;

static const dcs_model models[] = {
    {"cm-clnn", "cone", CRI_LAGRANGE, CRI_HIT_LAW},
    {"cm-chnn", "cone", CRI_HAMILTON, CRI_HIT_LAW},
    {"cmr-clnn", "cone-reg", CRI_LAGRANGE, CRI_HIT_LAW},
    {"cmr-chnn", "cone-reg", CRI_HAMILTON, CRI_HIT_LAW},
    {"lcp-clnn", "lcp", CRI_LAGRANGE, CRI_HIT_LAW},
    {"mlp-clnn", "cone", CRI_LAGRANGE, CRI_HIT_NET},
    {"in-clnn", "cone", CRI_LAGRANGE, CRI_HIT_RELATIONS},
    {"in-sp", "cone", CRI_LAGRANGE, CRI_HIT_ALONE},
};

const dcs_model *cri_dcs_model(int i) {
    return i < (int)(sizeof models / sizeof *models) ? &models[i] : NULL;
}

double cri_dcs_seconds(void) {
    struct timespec t;
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cr_status no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
}

// the checkpoint of one training stands behind the user's name: FILE.cm-clnn, FILE.cm-clnn-N-25
static const char *checkpoint_of(const study *s, const char *name) {
    if (!s->options->checkpoint) {
        return NULL;
    }
    char text[400];
    int n = snprintf(text, sizeof text, "%.300s.", s->options->checkpoint);
    bool is_gap = false;
    for (const char *at = name; *at && n < (int)sizeof text - 2; at++) {
        bool is_word = *at == '-' || *at == '.' || (*at >= '0' && *at <= '9') ||
                       (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (is_word && is_gap) {
            text[n++] = '-';
        }
        if (is_word) {
            text[n++] = *at;
        }
        is_gap = !is_word;
    }
    text[n] = '\0';
    return cri_arena_push_text(s->arena, text);
}

// trains w; result says how it ended
static cr_status train(const study *s, const cri_points_learner *l, const char *name, double *w,
                       cri_train_result *result, cr_error *err) {
    if (!cri_points_learner_start(l, s->seed, w)) {
        return no_memory(err);
    }
    CR_TRY(cri_points_train(&(cri_points_training){.learner = l,
                                                   .train = &s->train,
                                                   .valid = &s->valid,
                                                   .n_epoch = s->size.n_epoch,
                                                   .batch = s->size.batch,
                                                   .rate = s->size.rate,
                                                   .seed = s->seed,
                                                   .n_thread = s->options->n_thread,
                                                   .checkpoint = checkpoint_of(s, name),
                                                   .progress = s->options->progress},
                            w, NULL, result, err));
    bool is_well = result->stop != CRI_TRAIN_DIVERGED && result->stop != CRI_TRAIN_UNSAVED;
    return is_well ? CR_OK : result->stop == CRI_TRAIN_UNSAVED ? CR_ERR_FILE : CR_ERR_NUMERIC;
}

// how a model of data of another law does on data of the law cone, and how far the laws are apart
static cr_status compare_laws(const study *s, const char *name, const cri_points_runner *model,
                              cr_error *err) {
    cri_points_scene *cone = NULL;
    cri_points_data data;
    dcs_score *score = CR_PUSH(s->arena, dcs_score, 2);
    cr_status status =
        score ? cri_points_scene_create(s->c->scene, s->size.n_point, &cone, err) : no_memory(err);
    if (status == CR_OK) {
        status = cri_points_windows(cone, 8 * s->seed + 2, s->size.n_test, &data, s->arena, err);
    }
    if (status == CR_OK) {
        const cri_points_runner other = {cri_points_scene_stepper, cone, cone->p, cone->n_x};
        bool is_done = cri_dcs_score(cone, model, &data, &score[0]) &&
                       cri_dcs_score(s->truth, &other, &s->test, &score[1]);
        status = is_done ? CR_OK : no_memory(err);
    }
    cri_points_scene_destroy(cone);
    CR_TRY(status);
    cri_experiment_add(s->out, "", "lower", score[0].error, s->twist->paper_cone,
                       "%s error on data of cone", name);
    cri_experiment_add(s->out, "", "match", score[1].error, NAN,
                       "%s error of cone with the true values", name);
    return CR_OK;
}

static cr_status work(study *s, const dcs_model *model, const cri_points_learner *l,
                      cr_error *err) {
    double *w = CR_PUSH(s->arena, double, l->n_w), *p = CR_PUSH(s->arena, double, l->n_w);
    dcs_trained *t = CR_PUSH(s->arena, dcs_trained, 1);
    if (!w || !p || !t) {
        return no_memory(err);
    }
    char name[48];
    (void)snprintf(name, sizeof name, "%s%s%s", model->name, s->twist ? s->twist->label : "",
                   s->suffix);
    cri_train_result result;
    double begin = cri_dcs_seconds();
    CR_TRY(train(s, l, name, w, &result, err));
    double seconds = cri_dcs_seconds() - begin;
    // what is best so far is shown; where there is none yet, nothing
    s->out->is_interrupted = result.stop == CRI_TRAIN_INTERRUPTED;
    if (s->out->is_interrupted && result.best_epoch < 0) {
        return CR_OK;
    }
    cri_points_learner_values(l, w, p);
    const cri_points_runner runner = {cri_points_learner_stepper, l, p, s->truth->n_x};
    if (!cri_dcs_score(s->truth, &runner, &s->test, &t->score)) {
        return no_memory(err);
    }
    t->c = s->c;
    t->size = &s->size;
    t->twist = s->twist;
    t->model = model;
    t->name = name;
    t->truth = s->truth;
    t->learner = l;
    t->train = &s->train;
    t->p = p;
    t->score.seconds = seconds;
    t->score.best = result.best;
    t->score.best_epoch = result.best_epoch;
    t->score.n_dropped = (double)result.n_dropped;
    if (s->truth->n_coefficient > 1 && model->hit == CRI_HIT_LAW) {
        double *spread = CR_PUSH(s->arena, double, 2 * s->truth->n_coefficient);
        if (!spread || !cri_dcs_precision(t, spread, s->arena)) {
            return no_memory(err);
        }
        t->spread = spread;
    }
    cri_dcs_tell(t, s->options->report, s->out);
    return s->twist && s->twist->law ? compare_laws(s, name, &runner, err) : CR_OK;
}

// is the word among those of the list, which have spaces between?
static bool is_listed(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n) {
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

static cr_status run_model(study *s, const dcs_model *model, cr_error *err) {
    // layers of the interaction networks: the paper's (Battaglia's), or small ones
    static const cri_interaction_size relations[2] = {{2, 64, 32, 1, 64}, {4, 150, 50, 1, 100}};
    double epsilon = s->twist ? s->twist->epsilon : 0.0;
    bool is_large = s->options->is_full && !(s->twist && s->twist->is_small);
    cri_points_learner learner;
    const cri_points_learner_def def = {.name = s->c->scene,
                                        .n = s->size.n_point,
                                        .law = model->law,
                                        .form = model->form,
                                        .n_hidden = s->size.n_hidden,
                                        .width = s->size.width,
                                        .hit = model->hit,
                                        .relations = relations[is_large],
                                        .learns_epsilon = epsilon < 0.0};
    CR_TRY(cri_points_learner_create(&def, &learner, err));
    if (epsilon > 0.0) {
        learner.scene->p[learner.scene->law.i_epsilon] = epsilon;
    }
    cr_status status = work(s, model, &learner, err);
    cri_points_learner_clear(&learner);
    return status;
}

// what it would be worth to know all but that there are contacts: baselines should do better
static cr_status tell_free_motion(study *s, cr_error *err) {
    cri_points_scene still = *s->truth;
    still.has_contact = false;
    const cri_points_runner runner = {cri_points_scene_stepper, &still, still.p, still.n_x};
    dcs_score *score = CR_PUSH(s->arena, dcs_score, 1);
    if (!score || !cri_dcs_score(s->truth, &runner, &s->test, score)) {
        return no_memory(err);
    }
    cri_experiment_add(s->out, "", "lower", score->error, NAN,
                       "true motion without contacts%s%s trajectory error, 5 states",
                       s->twist ? s->twist->label : "", s->suffix);
    return CR_OK;
}

static cr_status run_models(study *s, cr_error *err) {
    const char *wanted = s->options->model ? s->options->model : s->size.models;
    wanted = s->twist ? s->twist->model : wanted;
    const dcs_model *model = NULL;
    bool has_baseline = false;
    for (int k = 0; (model = cri_dcs_model(k)) && !s->out->is_interrupted; k++) {
        if (is_listed(wanted, model->name)) {
            CR_TRY(run_model(s, model, err));
            has_baseline = has_baseline || model->hit != CRI_HIT_LAW;
        }
    }
    return has_baseline && !s->out->is_interrupted ? tell_free_motion(s, err) : CR_OK;
}

static cr_status run_one(study *s, cr_error *err) {
    const dcs_size *z = &s->size;
    CR_TRY(cri_points_scene_create(s->c->scene, z->n_point, &s->truth, err));
    if (s->twist && s->twist->law && strcmp(s->twist->law, cri_dcs_generators.name) == 0) {
        s->truth->law.law = &cri_dcs_generators;
    } else if (s->twist && s->twist->law) {
        bool is_found = cri_points_scene_set_law(s->truth, s->twist->law);
        CR_ASSERT(is_found);
    }
    const cri_points_set set[] = {
        {&s->train, z->n_train}, {&s->valid, z->n_test}, {&s->test, z->n_test}};
    double noise = s->twist ? s->twist->noise : 0.0;
    cr_status status = cri_points_sets(s->truth, s->seed, noise, set, s->arena, err);
    if (status == CR_OK) {
        status = run_models(s, err);
    }
    cri_points_scene_destroy(s->truth);
    return status;
}

// sizes of a case with what a twist changes
static dcs_size size_of(const dcs_case *c, const dcs_twist *twist,
                        const cri_experiment_options *options) {
    dcs_size size = c->size[options->is_full];
    size.n_epoch = options->n_epoch > 0 ? options->n_epoch : size.n_epoch;
    if (twist && twist->n_train > 0) {
        size.n_epoch = size.n_epoch * size.n_train / twist->n_train;
        size.n_train = twist->n_train;
    }
    if (twist && twist->n_point > 0) {
        size.n_point = twist->n_point;
    }
    if (twist && twist->is_small) {
        size.n_hidden = c->size[0].n_hidden;
        size.width = c->size[0].width;
    }
    if (twist && twist->width > 0) {
        size.n_hidden = twist->n_hidden;
        size.width = twist->width;
    }
    return size;
}

cr_status cri_dcs_run(const dcs_case *c, const dcs_twist *twist,
                      const cri_experiment_options *options, cri_experiment_result *out,
                      cr_error *err) {
    const dcs_size size = size_of(c, twist, options);
    int n_run = options->n_run > 0 ? options->n_run : 1;
    cri_report_fact(options->report, "windows", "%d, batches of %d", size.n_train, size.batch);
    cri_report_fact(options->report, "epochs", "%d", size.n_epoch);
    cri_report_fact(options->report, "net", "%d layers of %d", size.n_hidden, size.width);
    for (int run = 0; run < n_run && !out->is_interrupted; run++) {
        char suffix[16] = "";
        if (n_run > 1) {
            (void)snprintf(suffix, sizeof suffix, " run %d", run + 1);
        }
        study s = {.c = c,
                   .size = size,
                   .twist = twist,
                   .options = options,
                   .seed = options->seed + 1000 * (uint64_t)run,
                   .suffix = suffix,
                   .arena = cri_arena_create(1 << 20),
                   .out = out};
        cr_status status = s.arena ? run_one(&s, err) : no_memory(err);
        cri_arena_destroy(s.arena);
        CR_TRY(status);
    }
    return CR_OK;
}
