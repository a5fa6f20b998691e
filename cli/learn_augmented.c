// SPDX-License-Identifier: MIT
//
// carom learn augmented SCENE [THROWS...]: samples contact states of the scene's body and
// labels them by an analytic law, or takes them from recordings; trains classifiers and regressors,
// and the rival that regresses everything.

#include "learn_augmented.h"

#include "base/io/number.h"
#include "learn_data.h"
#include "learn_throws.h"

#include "model/scene/ground_file.h"
#include "report.h"
#include "report/result.h"
#include "scene.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>

/// Both trainings.
typedef struct trained {
    cri_ground_nets nets, rival;
    cri_augmented_score score[CRI_GROUND_KINDS], pdd[CRI_GROUND_KINDS];
    double seconds; // of ours
} trained;

// what was drawn, so that accuracies mean something
static void print_sampling(const cri_ground_sampling *of, bool is_spatial) {
    printf("sampled: speeds up to %g m/s along the surface, %g towards it, %g away; spins up to",
           of->along, of->closing, of->opening);
    const char *between = " ";
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        if (cri_ground_has(is_spatial, k)) {
            printf("%s%g (%s)", between, of->spin[k], cri_ground_kind_name(k));
            between = ", ";
        }
    }
    printf(" rad/s; half of them uniform, half scaled by 1e-4 to 1 or zero\n");
}

static void print(const cri_augmented_options *o, const trained *t) {
    static const char *const class[CRI_GROUND_CLASSES] = {"static", "dynamic", "detach"};
    printf("nets for body %s on %s, labels by %s\n", t->nets.body, t->nets.surface, t->nets.law);
    if (o->record) {
        printf("%d transitions recorded\n", o->record->n);
    } else {
        print_sampling(&o->sampling, t->nets.is_spatial);
    }
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        const cri_augmented_score *s = &t->score[k];
        if (!cri_ground_has(t->nets.is_spatial, k)) {
            continue;
        }
        if (s->n_test == 0) {
            printf(s->n_train == 0 ? "%s: no such contact\n"
                                   : "%s: too few contacts to hold any out (%d)\n",
                   cri_ground_kind_name(k), s->n_train);
            continue;
        }
        printf("%s: %d samples, %d held out\n", cri_ground_kind_name(k), s->n_train, s->n_test);
        printf("  classifier            %.2f %%\n", 100.0 * s->accuracy);
        printf("  %-10s %8s %8s %8s   right\n", "", class[0], class[1], class[2]);
        for (int i = 0; i < CRI_GROUND_CLASSES; i++) {
            const int *n = s->confusion[i];
            int sum = n[0] + n[1] + n[2];
            printf("  %-10s %8d %8d %8d   %.2f %%\n", class[i], n[0], n[1], n[2],
                   sum > 0 ? 100.0 * n[i] / sum : 0.0);
        }
        printf("  friction regressor    %.2f %%\n", 100.0 * s->friction);
        if (t->nets.has_restitution) {
            printf("  restitution           off by %.3f (mean)\n", s->rebound);
        }
        printf("  pure regression       %.2f %%\n", 100.0 * t->pdd[k].impulse);
    }
}

static cr_status train(const cli_options *options, const cr_model *model, cri_augmented_options *o,
                       trained *t, cr_arena *arena, cr_error *err) {
    cri_progress progress = cli_terminal_begin(options, "learn");
    o->progress = &progress;
    double begin = cli_seconds();
    cr_status status = cri_augmented_train(model, o, &t->nets, t->score, arena, err);
    t->seconds = cli_seconds() - begin;
    o->is_regressed = true;
    if (status == CR_OK) {
        status = cri_augmented_train(model, o, &t->rival, t->pdd, arena, err);
    }
    cli_terminal_end();
    if (cli_terminal_is_interrupted()) {
        cli_say("interrupted: the nets are as far as they came, train them again");
    }
    return status;
}

static int tell(const cli_options *options, const trained *t) {
    cri_report *report = NULL;
    int code = cli_report_open(options, "Nets of the law augmented", NULL, &report);
    cri_report_fact(report, "body", "%s on %s", t->nets.body, t->nets.surface);
    cri_report_fact(report, "labels by", "%s", t->nets.law);
    cri_report_table(report, "share of held-out samples that is right", 6,
                     (cri_report_column[]){{.name = "contact"},
                                           {.name = "samples", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "held out", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "classifier", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "friction", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "pure regression", .kind = CRI_COLUMN_NUMBER}});
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        const cri_augmented_score *s = &t->score[k];
        if (!cri_ground_has(t->nets.is_spatial, k)) {
            continue;
        }
        cri_report_row(report, (cri_report_cell[]){{.text = cri_ground_kind_name(k)},
                                                   {.value = s->n_train},
                                                   {.value = s->n_test},
                                                   {.value = s->accuracy},
                                                   {.value = s->friction},
                                                   {.value = t->pdd[k].impulse}});
    }
    return cli_report_close(options, report, code);
}

// the rival's nets when they are asked for by name
static cr_status save(const cli_options *options, const cri_augmented_options *o, const trained *t,
                      cr_error *err) {
    bool is_rival = options->model && strcmp(options->model, "regressed") == 0;
    if (options->output) {
        CR_TRY(cri_ground_file_write(options->output, is_rival ? &t->rival : &t->nets, err));
    }
    if (options->json) {
        cri_nets_result result = {.scene = options->word[1],
                                  .law = t->nets.law,
                                  .sampling = o->record ? NULL : &o->sampling,
                                  .nets = &t->nets,
                                  .score = t->score,
                                  .pdd = t->pdd,
                                  .seconds = t->seconds};
        CR_TRY(cri_result_nets(options->json, &result, err));
    }
    return CR_OK;
}

static int check(const cli_options *options) {
    const char *ending = options->output ? cli_extension(options->output) : NULL;
    if (options->output && (!ending || strcmp(ending, ".json") != 0)) {
        return cli_usage("-o %.80s: these weights are JSON, the name should end in .json",
                         options->output);
    }
    const char *model = options->model;
    if (model && strcmp(model, "augmented") != 0 && strcmp(model, "regressed") != 0) {
        return cli_usage("--model %.60s: expected augmented or regressed", model);
    }
    const char *alien = options->rate              ? "--rate"
                        : options->holdout         ? "--holdout"
                        : options->plan.checkpoint ? "--checkpoint"
                        : options->n_touch > 0     ? "--touch"
                        : options->restitution     ? "--restitution"
                        : options->damping         ? "--damping"
                        : options->epsilon         ? "--epsilon"
                                                   : NULL;
    if (alien) {
        return cli_usage("%s: does not belong to 'carom learn augmented'", alien);
    }
    if (!options->output) {
        (void)cli_note(options, "weights are not kept: -o FILE.json is missing");
    }
    return CLI_DONE;
}

// what is trained on, and how
static int prepare(const cli_options *options, const cr_model *model, cri_ground_record *record,
                   cri_augmented_options *o, cr_arena *arena) {
    *o = cri_augmented_options_default();
    if (options->n_word > 2) {
        int code = learn_throws_read(options, model, record, arena);
        if (code != CLI_DONE) {
            return code;
        }
        record->has_place = options->use_place;
        *o = cri_augmented_options_recorded(record);
    } else if (options->use_place) {
        return cli_usage("--place: samples know no place, only recordings do; name their files");
    }
    o->sampling.seed = options->seed;
    o->sampling.law = options->law ? options->law : o->sampling.law;
    if (options->n_epoch > 0) {
        o->n_epoch = o->n_epoch_space = options->n_epoch;
    }
    const char *l2 = options->l2;
    if (l2 && (cri_number_parse(l2, strlen(l2), &o->l2) != CRI_NUMBER_OK ||
               !(o->l2 >= 0.0 && o->l2 <= 1e3))) {
        return cli_usage("--l2 %.40s: expected a number from 0 to 1000", l2);
    }
    const char *mu = options->mu_static;
    if (mu && (cri_number_parse(mu, strlen(mu), &o->sampling.mu_static) != CRI_NUMBER_OK ||
               !(o->sampling.mu_static > 0.0 && o->sampling.mu_static <= 1e3) || o->record)) {
        return cli_usage("--static %.40s: expected a coefficient from 0 to 1000, and no recordings",
                         mu);
    }
    return CLI_DONE;
}

int cli_learn_augmented(const cli_options *options) {
    int code = check(options);
    if (code != CLI_DONE) {
        return code;
    }
    cr_error err = {0};
    cr_model *model = NULL;
    if (cr_model_load(options->word[1], &model, &err) != CR_OK) {
        return cli_error(&err);
    }
    cr_arena *arena = cri_arena_create(1 << 20);
    cri_ground_record record;
    cri_augmented_options o;
    code = arena ? prepare(options, model, &record, &o, arena) : cli_failed("no memory");
    if (code != CLI_DONE) {
        cri_arena_destroy(arena);
        cr_model_destroy(model);
        return code;
    }
    trained t = {.seconds = 0.0};
    cr_status status = train(options, model, &o, &t, arena, &err);
    if (status == CR_OK) {
        print(&o, &t);
        if (!options->use_quiet) {
            printf("%.1f s\n", t.seconds);
        }
        status = save(options, &o, &t, &err);
    }
    code = status == CR_OK ? tell(options, &t) : cli_error(&err);
    cri_arena_destroy(arena);
    cr_model_destroy(model);
    return code;
}
