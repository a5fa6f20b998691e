// SPDX-License-Identifier: MIT
//
// carom gradient: how the distance of bodies from their targets changes with parameters, initial
// state and controls, and with --check a comparison of every entry with differences.

#include "commands.h"

#include "aim.h"
#include "optimize/aim.h"
#include "report.h"
#include "report/result.h"
#include "scene.h"
#include "terminal.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/// Everything of one run. Released by clear.
typedef struct task {
    cli_scene scene;
    cr_sim *sim;
    cli_aim run;
    cri_gradient_entry *entry; // (n_variable)
    cri_check_result *check;   // (n_variable)
    int n_checked;             // entries that were reached, the first ones
    cr_step_report report;
    char status[64];
    cri_gradient_result result;
} task;

static void clear(task *t) {
    cr_sim_destroy(t->sim);
    cli_aim_close(&t->run);
    cli_scene_close(&t->scene);
}

// ---- preparation -------------------------------------------------------------------------------

static int push_entries(task *t) {
    int n = t->run.selection->n_variable;
    t->entry = CR_PUSH(t->scene.memory, cri_gradient_entry, n);
    t->check = CR_PUSH(t->scene.memory, cri_check_result, n);
    return t->entry && t->check ? CLI_DONE : cli_failed("no memory for %d variables", n);
}

static int prepare(task *t, const cli_options *options) {
    if (options->n_target == 0) {
        return cli_usage("gradient needs --target BODY:X,Y,Z; see 'carom help gradient'");
    }
    if (!options->wrt) {
        return cli_usage("gradient needs --wrt NAMES; see 'carom help gradient'");
    }
    int code = cli_scene_begin(options, true, &t->scene, &t->sim);
    if (code == CLI_DONE) {
        code = cli_aim_open(&t->scene, options, options->wrt, &t->run);
    }
    return code == CLI_DONE ? push_entries(t) : code;
}

// ---- gradient ----------------------------------------------------------------------------------

// why all places of a variable have derivative 0, NULL: they have not
static const char *held_text(const task *t, const cri_variable *v) {
    const char *held = NULL;
    for (int k = 0; k < v->n_place; k++) {
        const cri_variable_place *place = &v->place[k];
        held = place->vector == CR_VECTOR_P ? t->scene.model->slot[place->index].held : NULL;
        if (!held) {
            return NULL;
        }
    }
    return held;
}

static int compute(task *t) {
    cr_error err = {0};
    cri_point adjoint = {0};
    if (cri_point_push_rows(t->run.selection, t->run.point.n_u_row, t->scene.memory, &adjoint,
                            &err) != CR_OK) {
        return cli_error(&err);
    }
    cri_gradient_result *r = &t->result;
    double start = cli_seconds();
    if (cri_aim_run(&t->run.aim, t->sim, &t->run.point, &r->loss, &err) != CR_OK) {
        return cli_error(&err);
    }
    r->seconds_forward = cli_seconds() - start;
    t->report = *cr_sim_report(t->sim);
    start = cli_seconds();
    if (cri_aim_gradient(&t->run.aim, t->sim, &adjoint, &err) != CR_OK) {
        return cli_error(&err);
    }
    r->seconds_gradient = cli_seconds() - start;

    int n = t->run.selection->n_variable;
    for (int i = 0; i < n; i++) {
        const cri_variable *v = &t->run.selection->variable[i];
        t->entry[i] = (cri_gradient_entry){.name = v->name, .held = held_text(t, v)};
    }
    double *value = CR_PUSH(t->scene.memory, double, n);
    if (!value) {
        return cli_failed("no memory for %d variables", n);
    }
    cri_selection_write_vjp(t->run.selection, &adjoint, value);
    for (int i = 0; i < n; i++) {
        t->entry[i].value = value[i];
        if (!isfinite(value[i])) {
            return cli_failed("the gradient for %.80s is not a finite number; shorten the run",
                              t->entry[i].name);
        }
    }
    cri_grad_text(t->report.grad, t->status);
    r->scene = t->scene.path;
    r->law = t->scene.sim_options.law;
    r->status = t->status;
    r->n_entry = n;
    r->entry = t->entry;
    return CLI_DONE;
}

static int compare(task *t, const cli_options *options) {
    CR_ASSERT(t->run.selection && t->entry);
    cr_sim *plain = NULL;
    int code = cli_scene_sim(&t->scene, false, &plain);
    if (code != CLI_DONE) {
        return code;
    }
    cri_check check = {.model = t->scene.model,
                       .sim = plain,
                       .selection = t->run.selection,
                       .aim = &t->run.aim,
                       .point = &t->run.point,
                       .scale = cri_aim_scale(&t->run.aim),
                       .is_one_sided = (t->report.grad & CR_GRAD_ONE_SIDED) != 0,
                       .is_difference = (t->report.grad & CR_GRAD_DIFFERENCES) != 0};
    int n = t->run.selection->n_variable;
    cri_progress progress = cli_terminal_begin(options, "check");
    for (int i = 0; i < n; i++) {
        check.progress = &progress;
        check.where = (cri_progress_state){"entry", i, n, NAN};
        cri_check_result found = cri_check_entry(&check, i, t->entry[i].value, t->run.z);
        bool is_whole = !cli_terminal_is_interrupted();
        t->n_checked += is_whole;
        t->check[i] = found;
        t->entry[i].difference = is_whole ? found.difference : NAN;
        t->entry[i].uncertainty = is_whole ? found.uncertainty : NAN;
        t->entry[i].error = is_whole ? found.error : NAN;
    }
    cli_terminal_end();
    t->result.is_checked = true;
    cr_sim_destroy(plain);
    return CLI_DONE;
}

// ---- output ------------------------------------------------------------------------------------

static const char *check_word(const cri_check_result *check) {
    if (check->is_good) {
        return check->side == 0 ? "" : "  one-sided";
    }
    return check->is_decided ? "  differs" : "  undecided";
}

static void print_cost(const task *t) {
    if (t->report.n_event > 0) {
        printf("%d impact%s", t->report.n_event, t->report.n_event == 1 ? "" : "s");
        if (isfinite(t->report.least_speed)) {
            printf(", the slowest at %.3g m/s", t->report.least_speed);
        }
        printf("; ");
    } else {
        printf("no impacts; ");
    }
    printf("forward %.3g ms, gradient %.3g ms\n", 1e3 * t->result.seconds_forward,
           1e3 * t->result.seconds_gradient);
}

static void print(const task *t, bool is_quiet) {
    const cri_gradient_result *r = &t->result;
    int width = 4;
    double largest = cli_largest(r->n_entry, &r->entry->value, sizeof *r->entry);
    double difference = cli_largest(t->n_checked, &r->entry->difference, sizeof *r->entry);
    for (int i = 0; i < r->n_entry; i++) {
        int length = (int)strlen(r->entry[i].name);
        width = length > width ? length : width;
    }
    printf("loss %.12g m^2 after %d steps; gradient: %s\n", r->loss, t->run.aim.schedule.n_step,
           r->status);
    if (!is_quiet) {
        print_cost(t);
    }
    printf("\n%-*s  %20s", width, "name", "value");
    if (r->is_checked) {
        printf("  %20s  %10s", "difference", "error");
    }
    putchar('\n');
    for (int i = 0; i < r->n_entry; i++) {
        const cri_gradient_entry *e = &r->entry[i];
        printf("%-*s  %20.12g", width, e->name, cli_shown(e->value, largest));
        if (i < t->n_checked) {
            printf("  %20.12g  %10.2e%s", cli_shown(e->difference, difference), e->error,
                   check_word(&t->check[i]));
        }
        if (e->held) {
            printf("  held: %s", e->held);
        }
        putchar('\n');
    }
}

// ---- report ------------------------------------------------------------------------------------

static void fill_table(const task *t, cri_report *report) {
    const cri_gradient_result *r = &t->result;
    const cri_report_column column[] = {
        {.name = "name"},
        {.name = "value", .kind = CRI_COLUMN_NUMBER, .digits = 9},
        {.name = "difference", .kind = CRI_COLUMN_NUMBER, .digits = 9},
        {.name = "relative error", .kind = CRI_COLUMN_LOG_BAR, .digits = 2},
        {.name = "check"},
    };
    cri_report_table(report, "Gradient", r->is_checked ? 5 : 2, column);
    for (int i = 0; i < r->n_entry; i++) {
        const cri_gradient_entry *e = &r->entry[i];
        bool is_checked = i < t->n_checked;
        const char *word = is_checked ? check_word(&t->check[i]) : "  not reached";
        const cri_report_cell cell[] = {{e->name, 0.0},
                                        {NULL, e->value},
                                        {NULL, is_checked ? e->difference : NAN},
                                        {NULL, is_checked ? e->error : NAN},
                                        {*word ? word + 2 : "agrees", 0.0}};
        cri_report_row(report, cell);
    }
}

static int write_report(const task *t, const cli_options *options) {
    cri_report *report = NULL;
    int code = cli_report_open(options, "Gradient", &t->scene, &report);
    if (code != CLI_DONE || !report) {
        return code;
    }
    const cri_gradient_result *r = &t->result;
    cri_report_fact(report, "loss", "%.6g m\u00b2", r->loss);
    cri_report_fact(report, "gradient", "%s", r->status);
    cri_report_fact(report, "steps", "%d", t->run.aim.schedule.n_step);
    cri_report_fact(report, "impacts", "%d", t->report.n_event);
    cri_report_fact(report, "forward", "%.3g ms", 1e3 * r->seconds_forward);
    cri_report_fact(report, "backward", "%.3g ms", 1e3 * r->seconds_gradient);
    int n_held = 0;
    for (int i = 0; i < r->n_entry; i++) {
        // nets have thousands
        if (r->entry[i].held && n_held++ < 3) {
            cri_report_note(report, "%s is held: %s.", r->entry[i].name, r->entry[i].held);
        }
    }
    fill_table(t, report);
    cri_report_motion(report, "motion");
    cli_report_targets(report, &t->run.aim);
    cli_aim_run run = {
        .name = r->law, .aim = &t->run.aim, .point = &t->run.point, .has_curves = true};
    return cli_report_close(options, report, cli_report_aim(report, &t->scene, &run));
}

/// Names of the entries that differ, or that are undecided; returns how many.
static int list_names(const task *t, bool is_decided, char names[160]) {
    size_t n = 0;
    int count = 0;
    names[0] = '\0';
    for (int i = 0; i < t->n_checked; i++) {
        if (t->check[i].is_good || t->check[i].is_decided != is_decided) {
            continue;
        }
        count++;
        const char *name = t->entry[i].name;
        if (n + strlen(name) + 3 < 160) {
            n += (size_t)snprintf(names + n, 160 - n, "%s%s", n > 0 ? ", " : "", name);
        }
    }
    return count;
}

/// The verdict on stderr when some entry is not confirmed.
static int judge(const task *t) {
    char wrong[160], open[160];
    int n_wrong = list_names(t, true, wrong), n_open = list_names(t, false, open);
    int n = t->n_checked;
    if (n < t->result.n_entry) {
        cli_say("interrupted: %d of %d entries were checked", n, t->result.n_entry);
    }
    if (n_wrong > 0 && (t->report.grad & CR_GRAD_SURROGATE)) {
        return cli_failed("differences contradict %d of %d entries: %s; they are those of the "
                          "motion, and the gradient is its surrogate's: check without --surrogate",
                          n_wrong, n, wrong);
    }
    if (n_wrong > 0 && (t->report.grad & CR_GRAD_SMOOTHED)) {
        return cli_failed("differences contradict %d of %d entries: %s; they are those of the "
                          "motion, which is not smoothed: check without --smoothing",
                          n_wrong, n, wrong);
    }
    if (n_wrong > 0) {
        return cli_failed("differences contradict %d of %d entries: %s; if the run is near a kink "
                          "or a change of contacts, move its start a little (--set) and check "
                          "again, see docs/gradients.md",
                          n_wrong, n, wrong);
    }
    if (n_open > 0) {
        return cli_failed("differences are too unsure to judge %d of %d entries: %s; shorten the "
                          "run (an earlier @T, fewer --steps) or move its start (--set), see "
                          "docs/gradients.md",
                          n_open, n, open);
    }
    return CLI_DONE;
}

static int run(const cli_options *options) {
    task t = {0};
    int code = prepare(&t, options);
    if (code == CLI_DONE) {
        code = compute(&t);
    }
    if (code == CLI_DONE && options->use_check) {
        code = compare(&t, options);
    }
    if (code == CLI_DONE) {
        code = write_report(&t, options);
    }
    cr_error err = {0};
    if (code == CLI_DONE) {
        print(&t, options->use_quiet);
        if (options->json && cri_result_gradient(options->json, &t.result, &err) != CR_OK) {
            code = cli_error(&err);
        }
    }
    if (code == CLI_DONE && options->use_check) {
        fflush(stdout);
        code = judge(&t);
    }
    clear(&t);
    return code;
}

const cli_command cli_gradient = {
    .name = "gradient",
    .arguments = "SCENE --target ... --wrt NAMES",
    .summary = "gradient of the distance from targets",
    .help =
        "  --target BODY:X,Y,Z[@T]  where a body should be, in m, at T s (at the end without @T);\n"
        "                        a site's name where no body has it; the loss is the sum of the\n"
        "                        squared distances; may be repeated\n"
        "  --wrt NAMES           comma separated: ball/mass, floor:ball/friction, gravity[2],\n"
        "                        x0:ball/qvel[0], u:ball/force[0] (all steps),\n"
        "                        u:ball/force[0][17] (step 17); * fits any characters, a=b ties\n"
        "                        two names to one variable; 'carom params SCENE' lists names\n"
        "  --steps N             number of steps; without it up to the last target, or 1 s\n"
        "  --check               compare each entry with differences; exit 1 unless all agree\n"
        "  --dt S                longest step in s, else the scene's\n"
        "  --law LAW             contact law, see 'carom laws'\n"
        "  --outside W           nets beyond their training: net (asked anyhow), analytic or stop\n"
        "  --smoothing K         gradient of a smoothed contact law, cone and cone-reg only: K is\n"
        "                        relative to the energy of the contacts, 1e-6 is little, 1e-2 is\n"
        "                        much; without it, and at 0, the gradient is exact\n"
        "  --surrogate LAW       longrange: gradient of that law's steps along the motion: it "
        "sees\n"
        "                        contacts that have not happened, and is not that of the motion\n"
        "  --stepper NAME        located (impacts inside the step) or end (at its end)\n"
        "  --set NAME=VALUE      changes a parameter, x0:NAME or u:NAME; may be repeated\n"
        "  --key NAME            start from that keyframe, else from the first\n"
        "  --control FILE        controls over time: CSV with a column t in s and columns named\n"
        "                        like actuators; a row holds until the next\n"
        "  --overlap refuse      stop when geoms overlap at the start; else that is said\n"
        "  --json FILE           the result as JSON\n"
        "  --report FILE.html    a page with curves, tables and the motion to play\n",
    .known = CLI_JSON | CLI_RUN | CLI_CONTROL | CLI_STEPS | CLI_TARGET | CLI_SURROGATE | CLI_WRT |
             CLI_CHECK | CLI_SMOOTHING | CLI_REPORT,
    .takes = CLI_TAKES_INPUT,
    .n_word_least = 1,
    .n_word_most = 1,
    .run = run,
};
