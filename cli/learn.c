// SPDX-License-Identifier: MIT
//
// carom learn: trains a system on recordings and saves its weights.

#include "commands.h"

#include "base/io/number.h"
#include "learn_augmented.h"
#include "learn_data.h"
#include "learn_doubt.h"
#include "learn_points.h"
#include "points/learn/learner.h"
#include "points/learn/weight_file.h"
#include "report.h"
#include "report/result.h"
#include "scene.h"
#include "terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HORIZON = 10, EPOCHS = 300, HIDDEN = 500, HIDDEN_TOUCH = 100 };

/// One run of the command.
typedef struct task {
    const cli_options *options;
    learn_data data;
    cri_learner learner;
    cri_learner_recipe recipe;
    double *p; // (n_p)
    cri_train_result trained;
    double rmse, heldout;
    double seconds;
    cri_report *report; // NULL: none
} task;

static int take_number(const char *name, const char *text, double most, double *out) {
    if (!text) {
        return CLI_DONE;
    }
    bool is_number = cri_number_parse(text, strlen(text), out) == CRI_NUMBER_OK;
    return is_number && *out >= 0.0 && *out <= most
               ? CLI_DONE
               : cli_usage("%s %.40s: expected a number from 0 to %g", name, text, most);
}

// without a rate nothing is learned
static int take_rate(const char *text, double *out) {
    int code = take_number("--rate", text, 1.0, out);
    return code != CLI_DONE || *out > 0.0
               ? code
               : cli_usage("--rate %.40s: expected a number above 0, at most 1", text);
}

// a number, or the word that has it learned
static int take_damping(const char *text, double *out) {
    bool is_number = !text || cri_number_parse(text, strlen(text), out) == CRI_NUMBER_OK;
    return is_number && *out >= 0.0 && *out <= 1e6
               ? CLI_DONE
               : cli_usage("--damping %.40s: expected a number from 0 to 1e+06, or learn", text);
}

static bool learns_damping(const cli_options *o) {
    return o->damping && strcmp(o->damping, "learn") == 0;
}

static int find_kind(const cli_options *o, int *kind) {
    *kind = o->model ? cri_learner_find(o->model) : CRI_LEARN_CDL;
    if (*kind < 0) {
        return cli_usage("--model %.60s: expected cdl, cdl-notouch, resnet, resnetcontact or vin",
                         o->model);
    }
    if (o->law || o->mu_static || o->use_place || o->epsilon) {
        return cli_usage("%s: belongs to 'carom learn %s'",
                         o->law         ? "--law"
                         : o->mu_static ? "--static"
                         : o->use_place ? "--place"
                                        : "--epsilon",
                         o->law || o->mu_static || o->use_place ? "augmented" : "points");
    }
    bool is_central = *kind == CRI_LEARN_CDL || *kind == CRI_LEARN_CDL_NOTOUCH;
    const char *alien = o->damping ? "--damping" : o->restitution ? "--restitution" : NULL;
    return !alien || is_central
               ? CLI_DONE
               : cli_usage("%s: %s has none; it belongs to cdl and cdl-notouch", alien, o->model);
}

static int start(task *t, double damping) {
    const cri_central *c = t->learner.central;
    t->p = CR_PUSH(t->data.arena, double, t->learner.n_p);
    if (!t->p || !cri_learner_start(&t->learner, t->options->seed, t->p, t->data.arena)) {
        return cli_failed("no memory for a model");
    }
    if (c) {
        t->p[c->at_damping] = damping;
    }
    return CLI_DONE;
}

static int prepare(task *t) {
    const cli_options *o = t->options;
    int kind = CRI_LEARN_CDL;
    double restitution = 0.8;
    double damping = 0.0;
    t->recipe = (cri_learner_recipe){"annealed", 1e-2, true, 5e-4, 0.0, false};
    int code = find_kind(o, &kind);
    t->recipe.fits_starts = o->starts && strcmp(o->starts, "fitted") == 0;
    code = code == CLI_DONE ? take_rate(o->rate, &t->recipe.rate) : code;
    // fitted starts take most of the loss away, and what is left must outweigh the penalty
    t->recipe.l2 = t->recipe.fits_starts ? 5e-7 : t->recipe.l2;
    code = code == CLI_DONE ? take_number("--l2", o->l2, 1e3, &t->recipe.l2) : code;
    code =
        code == CLI_DONE ? take_number("--restitution", o->restitution, 1.0, &restitution) : code;
    code = code == CLI_DONE && !learns_damping(o) ? take_damping(o->damping, &damping) : code;
    code = code == CLI_DONE ? learn_data_read(o, HORIZON, &t->data) : code;
    if (code != CLI_DONE) {
        return code;
    }
    learn_doubt(o, &t->data);
    learn_data *d = &t->data;
    double mass[LEARN_Q_MOST];
    for (int k = 0; k < d->n_q; k++) {
        mass[k] = 1.0;
    }
    for (int k = 0; k < d->n_touch; k++) {
        d->touch[k].restitution = restitution;
    }
    cri_learner_def def = {.kind = (cri_learner_kind)kind,
                           .points = {d->n_q, 1, d->q, false, 0.0, 0.05, 0.2},
                           .mass = mass,
                           .n_contact = d->n_touch,
                           .touch = d->touch,
                           .learns_restitution = !o->restitution,
                           .learns_damping = learns_damping(o),
                           .n_hidden = HIDDEN,
                           .n_signal = HIDDEN_TOUCH,
                           .act = CRI_ACT_SOFTPLUS,
                           .dt = d->all.dt,
                           .x0 = d->all.x};
    if (!cri_learner_create(&def, &t->learner)) {
        return cli_failed("no memory for a model");
    }
    return start(t, damping);
}

static int train(task *t) {
    const cli_options *o = t->options;
    cri_progress progress = cli_terminal_begin(o, "learn");
    cr_error err = {0};
    double begin = cli_seconds();
    cr_status status =
        cri_learner_train(&(cri_learner_training){.learner = &t->learner,
                                                  .data = &t->data.all,
                                                  .recipe = t->recipe,
                                                  .n_epoch = o->n_epoch > 0 ? o->n_epoch : EPOCHS,
                                                  .seed = o->seed,
                                                  .checkpoint = o->plan.checkpoint,
                                                  .progress = &progress},
                          t->p, &t->trained, &err);
    cli_terminal_end();
    t->seconds = cli_seconds() - begin;
    if (status != CR_OK) {
        return cli_error(&err);
    }
    if (t->trained.stop == CRI_TRAIN_DIVERGED || t->trained.stop == CRI_TRAIN_UNSAVED) {
        return cli_failed("%s", err.text);
    }
    if (t->trained.n_dropped > 0) {
        (void)cli_warn("%lld windows were left out, over all epochs: their motion ran away; try "
                       "a lower --rate than %g",
                       t->trained.n_dropped, t->recipe.rate);
    }
    if (t->trained.stop == CRI_TRAIN_INTERRUPTED) {
        cli_say("interrupted after %d epochs; the weights are those so far, %s", t->trained.n_epoch,
                o->plan.checkpoint ? "the same command goes on"
                                   : "--checkpoint FILE would let it go on");
    }
    return CLI_DONE;
}

// a recording and the rollout (n_row, n_x) from its first state, a chart for positions and one for
// velocities
static void draw(const task *t, int series, int n_row, const double *x, const double *path) {
    const learn_data *d = &t->data;
    static const char *const what[] = {"positions", "velocities"};
    for (int part = 0; t->report && part < 2; part++) {
        char title[60];
        snprintf(title, sizeof title, "recording %d: %s", series + 1, what[part]);
        int chart = cri_report_chart(
            t->report, &(cri_report_chart_def){.title = title, .x = "time", .x_unit = "s"});
        for (int k = 0; k < d->n_q; k++) {
            char name[2][60];
            snprintf(name[0], sizeof *name, "%d, recorded", k + 1);
            snprintf(name[1], sizeof *name, "%d, learned", k + 1);
            int line = cri_report_series(
                t->report, chart, 2,
                (cri_report_line[]){{name[0], CRI_LINE_POINTS}, {name[1], CRI_LINE_SOLID}});
            for (int i = 0; i < n_row; i++) {
                int at = i * 2 * d->n_q + part * d->n_q + k;
                cri_report_point(t->report, line, i * d->all.dt, (double[]){x[at], path[at]});
            }
        }
    }
}

// root of the squared error of a recording's rollout, summed over columns, per row
static double follow(task *t, int series) {
    const learn_data *d = &t->data;
    int first = d->first[series];
    int n_row = d->first[series + 1] - first;
    cri_arena_mark mark = cri_arena_get_mark(d->arena);
    double *path = CR_PUSH(d->arena, double, n_row * 2 * d->n_q);
    double *touch = CR_PUSH(d->arena, double, n_row * d->n_touch + 1);
    double sum = 0.0;
    const double *x = d->all.x + (size_t)(first * 2 * d->n_q);
    if (!path || !touch ||
        !cri_learner_predict(&t->learner, t->p, x, n_row - 1, path, touch, d->arena)) {
        sum = NAN;
    }
    for (int k = 0; isfinite(sum) && k < n_row * 2 * d->n_q; k++) {
        sum += (path[k] - x[k]) * (path[k] - x[k]);
    }
    for (int k = 0; isfinite(sum) && k < n_row * d->n_touch; k++) {
        double error = touch[k] - d->all.touch[first * d->n_touch + k];
        sum += error * error;
    }
    if (isfinite(sum)) {
        draw(t, series, n_row, x, path);
    }
    cri_arena_rewind(d->arena, mark);
    return sqrt(sum / n_row);
}

static void judge(task *t) {
    const learn_data *d = &t->data;
    int n_train = d->n_series - (d->has_holdout ? 1 : 0);
    double square = 0.0;
    for (int s = 0; s < n_train; s++) {
        double rmse = follow(t, s);
        square += rmse * rmse / n_train;
    }
    t->rmse = sqrt(square);
    t->heldout = d->has_holdout ? follow(t, n_train) : NAN;
}

// ---- output ------------------------------------------------------------------------------------

static double restitution_of(const task *t, int contact) {
    return t->learner.central ? t->p[t->learner.central->at_restitution + contact] : NAN;
}

static void print(const task *t) {
    const learn_data *d = &t->data;
    printf("%s on %d recording%s, %d windows of %d steps of %g s\n",
           cri_learner_name(t->learner.kind), d->n_series - (d->has_holdout ? 1 : 0),
           d->n_series - (d->has_holdout ? 1 : 0) == 1 ? "" : "s", d->all.n_window, d->all.horizon,
           d->all.dt);
    for (int k = 0; k < d->n_touch; k++) {
        printf("contact %-20s %s%d rows", d->touch[k].name, d->is_proposed ? "proposed, " : "",
               d->n_hit[k]);
        if (t->learner.central) {
            printf(", restitution %.4f%s", restitution_of(t, k),
                   t->options->restitution ? " (given)" : "");
        }
        putchar('\n');
    }
    if (t->options->damping && t->learner.central) {
        printf("damping %.4g N s/m%s\n", t->p[t->learner.central->at_damping],
               learns_damping(t->options) ? "" : " (given)");
    }
    printf("loss %.6g after %d epochs\n", t->trained.loss, t->trained.n_epoch);
    printf("rmse of the recordings from their first states %.4g\n", t->rmse);
    if (d->has_holdout) {
        printf("rmse of the recording held out %.4g\n", t->heldout);
    }
}

static void tell(const task *t) {
    const learn_data *d = &t->data;
    cri_report_fact(t->report, "model", "%s", cri_learner_name(t->learner.kind));
    cri_report_fact(t->report, "windows", "%d of %d steps of %g s", d->all.n_window, d->all.horizon,
                    d->all.dt);
    cri_report_fact(t->report, "epochs", "%d", t->trained.n_epoch);
    cri_report_fact(t->report, "loss", "%.6g", t->trained.loss);
    cri_report_fact(t->report, "rmse", "%.4g", t->rmse);
    if (d->has_holdout) {
        cri_report_fact(t->report, "rmse held out", "%.4g", t->heldout);
    }
    for (int k = 0; k < d->n_touch; k++) {
        char name[80];
        snprintf(name, sizeof name, "%.60s/restitution", d->touch[k].name);
        cri_report_parameter(t->report, &(cri_report_value){.name = name,
                                                            .start = NAN,
                                                            .value = restitution_of(t, k),
                                                            .error = NAN,
                                                            .truth = NAN});
    }
}

static int write_json(const task *t) {
    const cli_options *o = t->options;
    const learn_data *d = &t->data;
    if (!o->json) {
        return CLI_DONE;
    }
    cri_learn_contact contact[LEARN_TOUCH_MOST];
    for (int k = 0; k < d->n_touch; k++) {
        contact[k] = (cri_learn_contact){d->touch[k].name, restitution_of(t, k), d->n_hit[k], NAN};
    }
    cri_learn_result result = {.kind = o->word[0],
                               .model = cri_learner_name(t->learner.kind),
                               .n_file = o->n_word - 1,
                               .file = o->word + 1,
                               .n_contact = d->n_touch,
                               .contact = contact,
                               .n_window = d->all.n_window,
                               .n_epoch = t->trained.n_epoch,
                               .loss = t->trained.loss,
                               .rmse = t->rmse,
                               .heldout = t->heldout,
                               .seconds = t->seconds};
    cr_error err = {0};
    return cri_result_learn(o->json, &result, &err) == CR_OK ? CLI_DONE : cli_error(&err);
}

static int save(const task *t) {
    cr_error err = {0};
    if (!t->options->output) {
        return CLI_DONE;
    }
    return cri_learner_write(t->options->output, &t->learner, t->p, &err) == CR_OK
               ? CLI_DONE
               : cli_error(&err);
}

static int run(const cli_options *options) {
    if (strcmp(options->word[0], "augmented") == 0) {
        return cli_learn_augmented(options);
    }
    if (strcmp(options->word[0], "points") == 0) {
        return cli_learn_points(options);
    }
    task t = {.options = options, .data = {.arena = cri_arena_create(1 << 16)}};
    if (!t.data.arena) {
        return cli_failed("no memory");
    }
    int code = learn_check_output(options->output);
    code = code == CLI_DONE ? prepare(&t) : code;
    code = code == CLI_DONE ? train(&t) : code;
    code = code == CLI_DONE ? cli_report_open(options, "Learning", NULL, &t.report) : code;
    if (code == CLI_DONE) {
        judge(&t);
        print(&t);
        tell(&t);
        code = save(&t);
    }
    code = code == CLI_DONE ? write_json(&t) : code;
    code = cli_report_close(options, t.report, code);
    cri_learner_clear(&t.learner);
    cri_arena_destroy(t.data.arena);
    return code;
}

const cli_command cli_learn = {
    .name = "learn",
    .arguments = "central-difference DATA... -o FILE.h5 | points SYSTEM [DATA...] -o FILE.h5 | "
                 "augmented SCENE [THROWS...] -o FILE.json",
    .summary = "train a system on recordings",
    .help =
        "DATA are tables, CSV or HDF5, with a column of times at equal steps. See "
        "docs/learn.md.\n\n"
        "  --q COLUMNS           positions, with commas between; else q\n"
        "  --v COLUMNS           velocities in the same order, else differences of positions\n"
        "  --touch COLUMN[:DIR]  0 or 1 in the row behind a touch; DIR is the position that the\n"
        "                        contact pushes and which way, +z or -x, or the two that it "
        "pushes\n"
        "                        apart, a-b; may be repeated. Without it touches are proposed\n"
        "                        from velocity jumps\n"
        "  --touch-held first    of a touch that lasts over several rows the first one counts, "
        "for\n"
        "                        sensors that stay on; each: every row is an impact, the default\n"
        "  --starts fitted       first states of windows are fitted too, for noisy positions;\n"
        "                        rows: they are the rows, the default\n"
        "  --time COLUMN         times in s, else t\n"
        "  --model M             cdl, cdl-notouch, resnet, resnetcontact or vin, else cdl\n"
        "  --restitution E       known and not learned\n"
        "  --damping D           of all velocities in N s/m, or the word learn; else 0\n"
        "  --epochs N            passes over the data, else 300\n"
        "  --rate R, --l2 L      of Adam, falling to 0, else 0.01; penalty on weights, else "
        "0.0005\n"
        "                        (with fitted starts 5e-7)\n"
        "  --seed K              of first weights and order, else 0\n"
        "  --holdout FILE        a recording to be tested on\n"
        "  --checkpoint FILE     save the state now and then, and go on from it\n"
        "  -o FILE.h5            the weights; 'carom simulate FILE.h5' runs them\n"
        "  --json FILE           the result as JSON\n"
        "  --report FILE.html    a page with the recordings beside what was learned\n\n"
        "points trains masses, friction, restitution and a potential of a system of points with\n"
        "solved contacts: bp5-e, bp5, bd5, bd1, cp3-e, cp3, gyro-e, gyro or rope:N. DATA have a\n"
        "position and a velocity of every coordinate; without any, windows are drawn from the\n"
        "system itself. See docs/points.md.\n\n"
        "  --time, --q, --v      columns, as above; else t, BODY/qpos[i] and BODY/qvel[i], as\n"
        "                        'carom simulate -o' writes them\n"
        "  --model M             cm-clnn, cm-chnn, cmr-clnn, cmr-chnn or lcp-clnn, else cm-clnn;\n"
        "                        true: no training, the system as it is from a drawn state\n"
        "  --epsilon E           of the regularised law of cmr-clnn and cmr-chnn in 1/kg, else\n"
        "                        0.01, or the word learn\n"
        "  --epochs N, --rate R  else 60 and 0.001, which falls to 0 over the last half\n\n"
        "augmented trains the nets of the contact law of that name for the one body of a scene,\n"
        "in a plane or in space, or for two that move in one plane. It samples contact states\n"
        "itself, or takes them (of a body in a plane) from recordings of throws: tables\n"
        "with times, three positions and three velocities, as 'carom simulate -o' writes them.\n\n"
        "  --time, --q, --v      columns of the recordings, as above\n"
        "  --law LAW             that labels samples, else lcp (in space ncp); recordings have "
        "their own\n"
        "  --epochs N            else 300 (in space 75, from recordings 600)\n"
        "  --static MU           friction of what lies still before the forces of a step act; "
        "these\n"
        "                        are then inputs too (stepper end)\n"
        "  --place               of recordings: where on the surface is an input too\n"
        "  --model regressed     saves the nets of the rival, law regressed, instead\n"
        "  --l2 L                penalty on weights, else 0 (recordings: 0.0002)\n"
        "  -o FILE.json          the weights; a scene names them in carom:weights\n",
    .known = CLI_JSON | CLI_LAW | CLI_LEARN | CLI_OUTPUT_FILE | CLI_CHECKPOINT | CLI_REPORT,
    .takes = CLI_TAKES_INPUT,
    .words = "central-difference points augmented",
    .n_word_least = 2,
    .n_word_most = CLI_WORD_LIMIT,
    .run = run,
};
