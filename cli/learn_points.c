// SPDX-License-Identifier: MIT
//
// carom learn points SYSTEM [DATA...]: masses, friction, restitution and a potential net of a
// system of points whose contacts are solved (paper 000), from recordings or from windows that are
// drawn from the system itself.

#include "learn_points.h"

#include "base/io/number.h"
#include "learn_data.h"
#include "learn_doubt.h"
#include "optimize/ensemble.h"
#include "points/learn/points_data.h"
#include "points/learn/weight_file.h"
#include "report.h"
#include "report/result.h"
#include "scene.h"
#include "terminal.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EPOCHS = 60, BATCH = 50, HIDDEN = 2, WIDTH = 64, DRAWN = 400, DRAWN_VALID = 50 };
enum { SHOWN_MOST = 40 };

/// A model by its name.
typedef struct model {
    const char *name, *law;
    cri_points_form form;
} model;

static const model models[] = {
    {"cm-clnn", "cone", CRI_LAGRANGE},      {"cm-chnn", "cone", CRI_HAMILTON},
    {"cmr-clnn", "cone-reg", CRI_LAGRANGE}, {"cmr-chnn", "cone-reg", CRI_HAMILTON},
    {"lcp-clnn", "lcp", CRI_LAGRANGE},
};

/// What windows say of a model.
typedef struct score {
    double error; // relative, summed over five states, mean
    double rmse;  // of a number
    int n_failed; // windows
} score;

/// One run of the command.
typedef struct task {
    const cli_options *options;
    const model *model;
    char name[40]; // of the system
    int n_point;   // of a rope, 0: as it is
    double rate;
    double epsilon; // of cone-reg, 0: as it is
    cri_points_learner learner;
    cri_points_data train, valid, test; // test: of --holdout
    const char *const *column;          // (n_x) NULL: the default
    double *w, *p;                      // (n_w)
    double *history;                    // (n_epoch, 2)
    cri_train_result trained;
    score own, held;
    double seconds;
    cri_report *report; // NULL: none
    cr_arena *arena;
} task;

// at least eight steps an epoch
static int batch_of(const task *t) {
    int n = t->train.n / 8;
    return n < 1 ? 1 : n < BATCH ? n : BATCH;
}

static int epochs_of(const task *t) {
    return t->options->n_epoch > 0 ? t->options->n_epoch : EPOCHS;
}

// ---- what is asked for -------------------------------------------------------------------------

static int take_model(task *t) {
    const char *name = t->options->model ? t->options->model : models[0].name;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        t->model = strcmp(models[k].name, name) == 0 ? &models[k] : t->model;
    }
    return t->model ? CLI_DONE
                    : cli_usage("--model %.60s: expected cm-clnn, cm-chnn, cmr-clnn, cmr-chnn, "
                                "lcp-clnn or true",
                                name);
}

// what other systems have
static int refuse_aliens(const cli_options *o) {
    const char *alien = o->n_touch > 0   ? "--touch"
                        : o->touch_held  ? "--touch-held"
                        : o->starts      ? "--starts"
                        : o->l2          ? "--l2"
                        : o->mu_static   ? "--static"
                        : o->use_place   ? "--place"
                        : o->damping     ? "--damping"
                        : o->law         ? "--law"
                        : o->outside     ? "--outside"
                        : o->restitution ? "--restitution"
                                         : NULL;
    return alien ? cli_usage("%s: does not belong to 'carom learn points'", alien) : CLI_DONE;
}

// cp3, or rope:50
static int take_name(task *t) {
    const char *text = t->options->word[1], *colon = strchr(text, ':');
    double n = 0.0;
    if (colon && (strncmp(text, "rope:", 5) != 0 ||
                  cri_number_parse(colon + 1, strlen(colon + 1), &n) != CRI_NUMBER_OK ||
                  !(n >= 1.0 && n <= 1e5) || n != floor(n))) {
        return cli_usage("%.60s: expected a system, of ropes with their number of points, such as "
                         "rope:50",
                         text);
    }
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    (void)snprintf(t->name, sizeof t->name, "%.*s", (int)(length < 39 ? length : 39), text);
    t->n_point = (int)n;
    return CLI_DONE;
}

static int take_rate(task *t) {
    const char *text = t->options->rate;
    t->rate = 1e-3;
    bool is_good = !text || (cri_number_parse(text, strlen(text), &t->rate) == CRI_NUMBER_OK &&
                             t->rate > 0.0 && t->rate <= 1.0);
    return is_good ? CLI_DONE
                   : cli_usage("--rate %.40s: expected a number above 0, at most 1", text);
}

static bool learns_epsilon(const task *t) {
    return t->options->epsilon && strcmp(t->options->epsilon, "learn") == 0;
}

// a number, or the word that has it learned
static int take_epsilon(task *t) {
    const char *text = t->options->epsilon;
    if (text && strcmp(t->model->law, "cone-reg") != 0) {
        return cli_usage("--epsilon: %s has none; it belongs to cmr-clnn and cmr-chnn",
                         t->model->name);
    }
    bool is_good = !text || learns_epsilon(t) ||
                   (cri_number_parse(text, strlen(text), &t->epsilon) == CRI_NUMBER_OK &&
                    t->epsilon > 0.0 && t->epsilon <= 1e6);
    return is_good ? CLI_DONE
                   : cli_usage("--epsilon %.40s: expected a number above 0, at most 1e+06, in "
                               "1/kg, or learn",
                               text);
}

// --q and --v, one behind the other
static int take_columns(task *t) {
    const cli_options *o = t->options;
    const cri_points_scene *sc = t->learner.scene;
    int D = sc->s.n_dof;
    if (!o->q && !o->v) {
        return CLI_DONE;
    }
    if (!o->q || !o->v) {
        return cli_usage("--q and --v: both or none, %d columns each", D);
    }
    const char **column = CR_PUSH(t->arena, const char *, 2 * D);
    if (!column) {
        return cli_failed("no memory");
    }
    int n_q = cli_split_names(t->arena, "--q", o->q, column, D);
    int n_v = n_q < 0 ? -1 : cli_split_names(t->arena, "--v", o->v, column + D, D);
    if (n_v < 0) {
        return CLI_USAGE;
    }
    t->column = column;
    return n_q == D && n_v == D
               ? CLI_DONE
               : cli_usage("--q has %d columns and --v %d, but a '%s' has %d coordinates", n_q, n_v,
                           sc->name, D);
}

// ---- data --------------------------------------------------------------------------------------

// windows of the system with its own values
static cr_status draw(task *t, cr_error *err) {
    cri_points_scene *truth = NULL;
    CR_TRY(cri_points_scene_create(t->name, t->n_point, &truth, err));
    const cri_points_set set[3] = {{&t->train, DRAWN}, {&t->valid, DRAWN_VALID}};
    cr_status status = cri_points_sets(truth, t->options->seed, 0.0, set, t->arena, err);
    cri_points_scene_destroy(truth);
    return status;
}

static cr_status read_data(task *t, cr_error *err) {
    const cli_options *o = t->options;
    cri_points_scene *sc = t->learner.scene;
    cri_points_record_def def = {.scene = sc,
                                 .n_file = o->n_word - 2,
                                 .file = o->word + 2,
                                 .time = o->time,
                                 .column = t->column,
                                 .seed = o->seed};
    double dt = sc->dt;
    if (def.n_file == 0) {
        CR_TRY(draw(t, err));
    } else {
        CR_TRY(cri_points_record(&def, &t->train, &t->valid, &dt, t->arena, err));
    }
    if (o->holdout) {
        def.n_file = 1;
        def.file = &o->holdout;
        CR_TRY(cri_points_record_all(&def, dt, &t->test, t->arena, err));
    }
    sc->dt = sc->law.dt = dt;
    memcpy(sc->x0, t->train.x, (size_t)sc->n_x * sizeof *sc->x0);
    return CR_OK;
}

// the name of number i of a state among the columns
static const char *column_of(const task *t, int i, char *room, size_t size) {
    if (t->column) {
        return t->column[i];
    }
    cri_points_column_name(t->learner.scene, i, room, size);
    return room;
}

// columns of velocities that are not those of their positions; the first of them is told
static void doubt_velocities(const task *t) {
    const cri_points_scene *sc = t->learner.scene;
    size_t n_x = (size_t)sc->n_x, D = n_x / 2, first = D, n_wrong = 0;
    double slope_first = 1.0;
    for (size_t i = 0; i < D; i++) {
        learn_pace pace = {0};
        for (size_t k = 0; k < (size_t)t->train.n * CRI_WINDOW_STATES; k++) {
            const double *x = t->train.x + k * n_x;
            if ((k + 1) % CRI_WINDOW_STATES != 0) {
                learn_pace_add(&pace, x[n_x + i] - x[i], sc->dt * x[D + i]);
            }
        }
        double slope;
        if (learn_pace_is_wrong(&pace, &slope) && n_wrong++ == 0) {
            first = i;
            slope_first = slope;
        }
    }
    if (n_wrong > 0) {
        char q[80], v[80], more[60] = "";
        if (n_wrong > 1) {
            (void)snprintf(more, sizeof more, " (and %zu other columns)", n_wrong - 1);
        }
        (void)cli_warn("%.60s changes by %.3g times a step of %.60s%s; is that its velocity, in "
                       "m/s, and are times in seconds?",
                       column_of(t, (int)first, q, sizeof q), slope_first,
                       column_of(t, (int)(first + D), v, sizeof v), more);
    }
}

static int prepare(task *t) {
    int code = take_model(t);
    code = code == CLI_DONE ? take_rate(t) : code;
    code = code == CLI_DONE ? take_epsilon(t) : code;
    if (code != CLI_DONE) {
        return code;
    }
    const cri_points_learner_def def = {.name = t->name,
                                        .n = t->n_point,
                                        .law = t->model->law,
                                        .form = t->model->form,
                                        .n_hidden = HIDDEN,
                                        .width = WIDTH,
                                        .learns_epsilon = learns_epsilon(t)};
    cr_error err = {0};
    if (cri_points_learner_create(&def, &t->learner, &err) != CR_OK) {
        return cli_error(&err);
    }
    if (t->epsilon > 0.0) {
        t->learner.scene->p[t->learner.scene->law.i_epsilon] = t->epsilon;
    }
    code = take_columns(t);
    if (code != CLI_DONE) {
        return code;
    }
    if (read_data(t, &err) != CR_OK) {
        return cli_error(&err);
    }
    if (t->train.n_hit == 0) {
        (void)cli_warn("no contact in the data: friction and restitution stay as they "
                       "were drawn");
    }
    if (t->options->n_word > 2) {
        doubt_velocities(t);
    }
    t->w = CR_PUSH(t->arena, double, t->learner.n_w);
    t->p = CR_PUSH(t->arena, double, t->learner.n_w);
    t->history = CR_PUSH(t->arena, double, 2 * epochs_of(t));
    bool has_memory = t->w && t->p && t->history;
    return has_memory && cri_points_learner_start(&t->learner, t->options->seed, t->w)
               ? CLI_DONE
               : cli_failed("no memory for a model");
}

// ---- training ----------------------------------------------------------------------------------

static int train(task *t) {
    const cli_options *o = t->options;
    cri_progress progress = cli_terminal_begin(o, "learn");
    cr_error err = {0};
    double begin = cli_seconds();
    cr_status status =
        cri_points_train(&(cri_points_training){.learner = &t->learner,
                                                .train = &t->train,
                                                .valid = &t->valid,
                                                .n_epoch = epochs_of(t),
                                                .batch = batch_of(t),
                                                .rate = t->rate,
                                                .seed = o->seed,
                                                .n_thread = cri_ensemble_threads(BATCH),
                                                .checkpoint = o->plan.checkpoint,
                                                .progress = &progress},
                         t->w, t->history, &t->trained, &err);
    cli_terminal_end();
    t->seconds = cli_seconds() - begin;
    if (status != CR_OK) {
        return cli_error(&err);
    }
    if (t->trained.stop == CRI_TRAIN_DIVERGED || t->trained.stop == CRI_TRAIN_UNSAVED) {
        return cli_failed("%s", err.text);
    }
    cri_points_learner_values(&t->learner, t->w, t->p);
    return CLI_DONE;
}

// one window (states one behind the other) beside the model's motion from its first state
static void add_window(const double *real, const double *own, size_t n_x, size_t stride,
                       score *out) {
    for (size_t t = 1; t < CRI_WINDOW_STATES; t++) {
        double difference = 0.0, size = 0.0;
        for (size_t i = 0; i < n_x; i++) {
            double d = own[t * stride + i] - real[t * n_x + i];
            difference += d * d;
            size += real[t * n_x + i] * real[t * n_x + i];
        }
        out->error += sqrt(difference / fmax(size, 1e-300));
        out->rmse += difference;
    }
}

static bool judge(const task *t, const cri_points_data *data, score *out) {
    size_t n_x = (size_t)data->n_x, stride = (size_t)data->n * n_x;
    *out = (score){0};
    cri_points_memory memory;
    bool is_open = cri_points_memory_open(&memory);
    double *x = CR_PUSH(t->arena, double, CRI_WINDOW_STATES *stride);
    bool *is_lost = CR_PUSH(t->arena, bool, data->n);
    for (int b = 0; x && b < data->n; b++) {
        memcpy(x + (size_t)b * n_x, data->x + (size_t)b * CRI_WINDOW_STATES * n_x, n_x * sizeof *x);
    }
    const cri_points_runner runner = {cri_points_learner_stepper, &t->learner, t->p, data->n_x};
    bool is_done = is_open && x && is_lost &&
                   cri_points_roll(&runner, data->n, CRI_WINDOW_STATES, x, is_lost, &memory);
    for (int b = 0; is_done && b < data->n; b++) {
        out->n_failed += is_lost[b];
        add_window(data->x + (size_t)b * CRI_WINDOW_STATES * n_x, x + (size_t)b * n_x, n_x, stride,
                   out);
    }
    out->error /= data->n;
    out->rmse = sqrt(out->rmse / ((double)stride * (CRI_WINDOW_STATES - 1)));
    cri_points_memory_close(&memory);
    return is_done;
}

// ---- output ------------------------------------------------------------------------------------

static void print_contacts(const task *t) {
    const cri_points_scene *sc = t->learner.scene;
    for (int k = 0; k < sc->n_coefficient; k++) {
        if (t->train.n_touch[k] == 0) {
            printf("contact %-16s none in the data\n", sc->pair[k]);
            continue;
        }
        printf("contact %-16s %d touches, friction %.4f, restitution %.4f\n", sc->pair[k],
               t->train.n_touch[k], t->p[sc->law.i_mu + k], t->p[sc->law.i_e + k]);
    }
}

static void print_score(const char *what, const score *s) {
    printf("%s: relative error %.4g over five states, rmse %.4g", what, s->error, s->rmse);
    if (s->n_failed > 0) {
        printf(", %d windows failed", s->n_failed);
    }
    putchar('\n');
}

static double mean_mass(const task *t) {
    const cri_points *s = &t->learner.scene->s;
    double sum = 0.0;
    for (int k = 0; k < s->n_block; k++) {
        sum += t->p[s->i_mass + k];
    }
    return sum / s->n_block;
}

static void print(const task *t) {
    const cri_points_scene *sc = t->learner.scene;
    int n_file = t->options->n_word - 2;
    printf("%s of %s on %d windows of %d steps of %g s, %d with a contact, ", t->model->name,
           sc->name, t->train.n, CRI_WINDOW_STATES - 1, sc->dt, t->train.n_hit);
    printf(n_file > 0 ? "from %d file%s\n" : "drawn from it\n", n_file, n_file == 1 ? "" : "s");
    print_contacts(t);
    if (sc->s.n_block > 1 && sc->s.n_block <= SHOWN_MOST) {
        printf("mass ratios to %s1", sc->body_name);
        for (int k = 1; k < sc->s.n_block; k++) {
            printf(" %.4f", t->p[sc->s.i_mass + k] / t->p[sc->s.i_mass]);
        }
        putchar('\n');
    }
    if (strcmp(t->model->law, "cone-reg") == 0) {
        printf("epsilon %.4g 1/kg, %s; mean mass %.4g kg\n", t->p[sc->law.i_epsilon],
               t->learner.learns_epsilon ? "learned" : "given", mean_mass(t));
    }
    if (t->learner.learns_stiffness) {
        printf("stiffness/mass of %s1 %.4g 1/s^2\n", sc->body_name,
               t->p[sc->s.i_stiffness] / t->p[sc->s.i_mass]);
    }
    if (t->trained.best_epoch >= 0) {
        printf("loss of validation %.4g, best after %d of %d epochs\n", t->trained.best,
               t->trained.best_epoch, t->trained.n_epoch);
    }
    print_score("validation", &t->own);
    if (t->options->holdout) {
        print_score("held out", &t->held);
    }
}

static void tell(const task *t) {
    const cri_points_scene *sc = t->learner.scene;
    cri_report_fact(t->report, "model", "%s of %s", t->model->name, sc->name);
    cri_report_fact(t->report, "windows", "%d of %d steps of %g s", t->train.n,
                    CRI_WINDOW_STATES - 1, sc->dt);
    cri_report_fact(t->report, "epochs", "%d", t->trained.n_epoch);
    cri_report_fact(t->report, "loss of validation", "%.6g", t->trained.best);
    cri_report_fact(t->report, "relative error over five states", "%.4g", t->own.error);
    for (int i = 0; t->report && i <= sc->law.i_epsilon && i < SHOWN_MOST * 4; i++) {
        char name[64];
        cri_points_param_name(sc, i, name, sizeof name);
        cri_report_parameter(
            t->report,
            &(cri_report_value){
                .name = name, .start = NAN, .value = t->p[i], .error = NAN, .truth = NAN});
    }
    int chart = cri_report_chart(
        t->report, &(cri_report_chart_def){.title = "training", .x = "epoch", .y = "loss"});
    int line = cri_report_series(t->report, chart, 1,
                                 (cri_report_line[]){{"training windows", CRI_LINE_SOLID}});
    for (int k = 0; t->report && k < t->trained.n_epoch; k++) {
        cri_report_point(t->report, line, k + 1, &t->history[2 * (size_t)k]);
    }
}

static int write_json(const task *t) {
    const cli_options *o = t->options;
    const cri_points_scene *sc = t->learner.scene;
    cri_learn_contact *contact = CR_PUSH(t->arena, cri_learn_contact, sc->n_coefficient);
    if (!o->json || !contact) {
        return o->json ? cli_failed("no memory") : CLI_DONE;
    }
    for (int k = 0; k < sc->n_coefficient; k++) {
        contact[k] = (cri_learn_contact){sc->pair[k], t->p[sc->law.i_e + k], t->train.n_touch[k],
                                         t->p[sc->law.i_mu + k]};
    }
    cri_learn_result result = {.kind = sc->name,
                               .model = t->model->name,
                               .n_file = o->n_word - 2,
                               .file = o->word + 2,
                               .n_contact = sc->n_coefficient,
                               .contact = contact,
                               .n_window = t->train.n,
                               .n_epoch = t->trained.n_epoch,
                               .loss = t->trained.best,
                               .rmse = t->own.rmse,
                               .heldout = o->holdout ? t->held.rmse : NAN,
                               .seconds = t->seconds};
    cr_error err = {0};
    return cri_result_learn(o->json, &result, &err) == CR_OK ? CLI_DONE : cli_error(&err);
}

static int save(const task *t) {
    cr_error err = {0};
    const cli_options *o = t->options;
    if (!o->output) {
        return CLI_DONE;
    }
    return cri_points_file_write(o->output, t->learner.scene, t->learner.net, t->p, &err) == CR_OK
               ? CLI_DONE
               : cli_error(&err);
}

// whether there is something to keep
static bool tell_interrupted(const task *t) {
    bool is_last = t->trained.n_epoch == epochs_of(t), has_best = t->trained.best_epoch >= 0;
    const char *next = t->options->plan.checkpoint ? "the same command goes on"
                                                   : "--checkpoint FILE would let it go on";
    if (has_best) {
        cli_say("interrupted %s %d epochs; kept is the best so far, %s",
                is_last ? "in the last steps, behind" : "after", t->trained.n_epoch, next);
    } else {
        cli_say("interrupted after %d epochs, before the first validation: no model is kept, %s",
                t->trained.n_epoch, next);
    }
    return has_best;
}

static int finish(task *t) {
    if (t->trained.stop == CRI_TRAIN_INTERRUPTED && !tell_interrupted(t)) {
        return CLI_DONE;
    }
    if (!judge(t, &t->valid, &t->own) || (t->options->holdout && !judge(t, &t->test, &t->held))) {
        return cli_failed("no memory");
    }
    print(t);
    tell(t);
    int code = save(t);
    return code == CLI_DONE ? write_json(t) : code;
}

// no training: the system as it is, from a drawn state
static int write_truth(task *t) {
    cri_points_scene *sc = NULL;
    cr_error err = {0};
    if (!t->options->output) {
        return cli_usage("--model true: -o FILE.h5 says where the system goes");
    }
    if (cri_points_scene_create(t->name, t->n_point, &sc, &err) != CR_OK) {
        return cli_error(&err);
    }
    cri_random stream = cri_random_of(t->options->seed, 4);
    int code = cri_points_sample(sc, &stream, sc->x0) ? CLI_DONE : cli_failed("no state is free");
    if (code == CLI_DONE &&
        cri_points_file_write(t->options->output, sc, NULL, sc->p, &err) != CR_OK) {
        code = cli_error(&err);
    }
    cri_points_scene_destroy(sc);
    return code;
}

int cli_learn_points(const cli_options *options) {
    task t = {.options = options, .arena = cri_arena_create(1 << 16)};
    int code = t.arena ? refuse_aliens(options) : cli_failed("no memory");
    code = code == CLI_DONE ? learn_check_output(options->output) : code;
    code = code == CLI_DONE ? take_name(&t) : code;
    if (code == CLI_DONE && options->model && strcmp(options->model, "true") == 0) {
        code = write_truth(&t);
        cri_arena_destroy(t.arena);
        return code;
    }
    code = code == CLI_DONE ? prepare(&t) : code;
    code = code == CLI_DONE ? train(&t) : code;
    code = code == CLI_DONE ? cli_report_open(options, "Learning points", NULL, &t.report) : code;
    code = code == CLI_DONE ? finish(&t) : code;
    code = cli_report_close(options, t.report, code);
    cri_points_learner_clear(&t.learner);
    cri_arena_destroy(t.arena);
    return code;
}
