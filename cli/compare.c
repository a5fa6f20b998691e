// SPDX-License-Identifier: MIT
//
// carom compare: contact laws on one scene, and where theory says that they differ.

#include "commands.h"

#include "aim.h"
#include "compare_page.h"
#include "model/model.h"
#include "optimize/differ.h"
#include "report/result.h"
#include "terminal.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// time for the differences of one law without --check, s
#define CHECK_LONGEST 3.0

/// Everything of one run. Released by clear.
typedef struct task {
    cli_scene scene;
    cli_aim run;
    cri_compare *compare; // owned
    cri_differ differ;
} task;

static void clear(task *t) {
    free(t->compare);
    cli_aim_close(&t->run);
    cli_scene_close(&t->scene);
}

// ---- preparation -------------------------------------------------------------------------------

/// Has control i a value every step, which no constant stands for?
static bool is_in_table(const cli_scene *scene, int i) {
    bool is_found = false;
    for (int c = 0; scene->has_table && c < scene->table.n_col; c++) {
        is_found = is_found || scene->table.index[c] == i;
    }
    return is_found;
}

/// What the gradient is for when --wrt does not say: all initial velocities and all actuators that
/// hold still.
static const char *default_wrt(const cli_scene *scene) {
    static const char velocities[] = "x0:*/qvel*";
    int n = scene->model->mech.n_actuator;
    size_t n_byte = sizeof velocities;
    for (int i = 0; i < n; i++) {
        n_byte += strlen(cr_model_name(scene->model, CR_VECTOR_U, i)) + strlen(",u:");
    }
    char *text = CR_PUSH(scene->memory, char, n_byte);
    size_t used = 0;
    if (text) {
        used = (size_t)snprintf(text, n_byte, "%s", velocities);
    }
    for (int i = 0; text && i < n; i++) {
        if (is_in_table(scene, i)) {
            continue;
        }
        used += (size_t)snprintf(text + used, n_byte - used, ",u:%s",
                                 cr_model_name(scene->model, CR_VECTOR_U, i));
    }
    return text;
}

static int prepare(task *t, const cli_options *options) {
    if (options->n_target == 0) {
        return cli_usage("compare needs --target BODY:X,Y,Z; see 'carom help compare'");
    }
    cr_sim *sim = NULL;
    int code = cli_scene_begin(options, false, &t->scene, &sim);
    cr_sim_destroy(sim);
    if (code != CLI_DONE) {
        return code;
    }
    const char *wrt = options->wrt ? options->wrt : default_wrt(&t->scene);
    t->compare = calloc(1, sizeof *t->compare);
    if (!wrt || !t->compare) {
        return cli_failed("no memory to compare the laws");
    }
    code = cli_aim_open(&t->scene, options, wrt, &t->run);
    if (code == CLI_DONE && t->run.aim.has_throughout) {
        return cli_usage("compare judges a target at one time; give @T, or leave @all out");
    }
    return code;
}

static int compare(task *t, const cli_options *options) {
    cri_progress progress = cli_terminal_begin(options, "compare");
    cri_compare_def def = {.model = t->scene.model,
                           .options = t->scene.sim_options,
                           .aim = &t->run.aim,
                           .point = &t->run.point,
                           .selection = t->run.selection,
                           .check_longest = options->use_check ? 0.0 : CHECK_LONGEST,
                           .progress = &progress,
                           .seconds = cli_seconds};
    cr_error err = {0};
    cr_status status = cri_compare_run(&def, t->scene.memory, t->compare, &err);
    cli_terminal_end();
    if (status != CR_OK) {
        return cli_error(&err);
    }
    cri_differ_tell(t->scene.model, t->compare, t->scene.sim_options.stepper, &t->differ);
    return CLI_DONE;
}

// ---- output ------------------------------------------------------------------------------------

/// One cell, "-" for what is not there.
static void print_cell(int width, const char *format, double value) {
    char cell[32] = "-";
    if (isfinite(value)) {
        snprintf(cell, sizeof cell, format, value);
    }
    printf("  %*s", width, cell);
}

static int name_width(const task *t) {
    int width = 3;
    for (int i = 0; i < t->compare->n_row; i++) {
        int length = (int)strlen(t->compare->row[i].law->name);
        width = length > width ? length : width;
    }
    return width;
}

static void print_laws(const task *t, int width) {
    printf("%-*s  %11s  %8s  %9s  %10s  %7s  %8s  %6s  %6s  %s\n", width, "law", "loss", "overlap",
           "energy", "gradient", "error", "agree", "step", "back", "gradient is");
    printf("%-*s  %11s  %8s  %9s  %10s  %7s  %8s  %6s  %6s\n", width, "", "m^2", "m", "J", "norm",
           "", "", "us", "us");
    const cri_compare_row *first = t->compare->row;
    int n = t->compare->n_row;
    double loss = cli_largest(n, &first->loss, sizeof *first);
    double overlap = cli_largest(n, &first->max_penetration, sizeof *first);
    double energy = cli_largest(n, &first->energy_change, sizeof *first);
    double gradient = cli_largest(n, &first->gradient_norm, sizeof *first);
    for (int i = 0; i < n; i++) {
        const cri_compare_row *row = &t->compare->row[i];
        char status[64], agree[32] = "-";
        cri_compare_text(t->compare, i, status);
        if (row->n_checked > 0) {
            snprintf(agree, sizeof agree, "%d of %d",
                     row->n_checked - row->n_wrong - row->n_undecided, row->n_checked);
        }
        printf("%-*s", width, row->law->name);
        print_cell(11, "%.7g", cli_shown(row->loss, loss));
        print_cell(8, "%.2g", cli_shown(row->max_penetration, overlap));
        print_cell(9, "%+.4g", cli_shown(row->energy_change, energy));
        print_cell(10, "%.5g", cli_shown(row->gradient_norm, gradient));
        print_cell(7, "%.1e", row->gradient_error);
        printf("  %8s", agree);
        print_cell(6, row->step_us < 100.0 ? "%.3g" : "%.0f", row->step_us);
        print_cell(6, row->gradient_us < 100.0 ? "%.3g" : "%.0f", row->gradient_us);
        printf("  %s\n", status);
    }
}

/// Where each law brings a target's body, and how far that is from where the first one does.
static void print_target(const task *t, int width, int k) {
    const cri_target *target = &t->run.aim.target[k];
    const char *name = target->body >= 0 ? t->scene.model->body_name[target->body] : "site";
    const cri_compare_row *first = NULL;
    double largest[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < 3 * t->compare->n_row; i++) {
        const cri_compare_row *row = &t->compare->row[i / 3];
        double size = row->has_motion ? fabs(row->target[3 * k + i % 3]) : 0.0;
        largest[i % 3] = fmax(largest[i % 3], size);
    }
    for (int i = 0; i < t->compare->n_row; i++) {
        const cri_compare_row *row = &t->compare->row[i];
        const double *at = row->target + 3 * k;
        if (!row->has_motion) {
            continue;
        }
        if (!first) {
            printf("\n%.60s at %g s\n", name, target->time);
            printf("%-*s  %12s  %12s  %12s  from %s\n", width, "law", "x m", "y m", "z m",
                   row->law->name);
        }
        printf("%-*s", width, row->law->name);
        for (int d = 0; d < 3; d++) {
            print_cell(12, "%.8g", cli_shown(at[d], largest[d]));
        }
        if (first) {
            cri_vec3 way = cri_v3_sub(cri_v3_load(at), cri_v3_load(first->target + 3 * k));
            printf("  %.3g m", cri_v3_norm(way));
        }
        first = first ? first : row;
        putchar('\n');
    }
}

/// What the gradient is for, in words.
static void put_variables(const task *t, const cli_options *options, char text[80]) {
    int n = t->run.selection->n_variable, n_v = t->scene.sizes.n_v;
    if (options->wrt) {
        snprintf(text, 80, "%d variable%s", n, n == 1 ? "" : "s");
    } else if (n > n_v) {
        snprintf(text, 80, "%d initial velocities and %d controls", n_v, n - n_v);
    } else {
        snprintf(text, 80, "%d initial velocities", n);
    }
}

static void print(const task *t, const cli_options *options) {
    const cri_schedule *schedule = &t->run.aim.schedule;
    int width = name_width(t);
    char variables[80];
    put_variables(t, options, variables);
    printf("%d step%s of at most %g s, stepper %s; gradient for %s\n\n", schedule->n_step,
           schedule->n_step == 1 ? "" : "s", t->scene.dt, t->scene.sim_options.stepper, variables);
    print_laws(t, width);
    for (int k = 0; k < t->run.aim.n_target; k++) {
        print_target(t, width, k);
    }
    for (int i = 0; i < t->compare->n_row; i++) {
        const cri_compare_row *row = &t->compare->row[i];
        if (row->reason[0]) {
            printf("\n%s has no %s: %s\n", row->law->name, row->has_motion ? "gradient" : "motion",
                   row->reason);
        }
    }
    for (int i = 0; i < t->differ.n; i++) {
        putchar('\n');
        cli_print_paragraph(0, t->differ.sentence[i].text);
    }
}

static int write_json(const task *t, const char *path) {
    cri_compare_result result = {.scene = t->scene.path,
                                 .stepper = t->scene.sim_options.stepper,
                                 .n_step = t->run.aim.schedule.n_step,
                                 .n_target = t->run.aim.n_target,
                                 .selection = t->run.selection,
                                 .compare = t->compare,
                                 .differ = &t->differ};
    cr_error err = {0};
    return cri_result_compare(path, &result, &err) == CR_OK ? CLI_DONE : cli_error(&err);
}

/// A comparison in which no law has a motion has failed.
static int judge(const task *t) {
    int n_motion = 0;
    for (int i = 0; i < t->compare->n_row; i++) {
        n_motion += t->compare->row[i].has_motion;
    }
    if (t->compare->is_stopped) {
        cli_say("interrupted: what was not reached is missing");
        return CLI_DONE;
    }
    return n_motion > 0 ? CLI_DONE : cli_failed("no law has a motion here");
}

static int run(const cli_options *options) {
    task t = {0};
    int code = prepare(&t, options);
    if (code == CLI_DONE) {
        code = compare(&t, options);
    }
    if (code == CLI_DONE) {
        cli_compare_result result = {&t.scene, &t.run, t.compare, &t.differ};
        code = cli_compare_page(options, &result);
    }
    if (code == CLI_DONE) {
        print(&t, options);
        fflush(stdout);
        code = options->json ? write_json(&t, options->json) : CLI_DONE;
    }
    if (code == CLI_DONE) {
        code = judge(&t);
    }
    clear(&t);
    return code;
}

const cli_command cli_compare = {
    .name = "compare",
    .arguments = "SCENE --target ...",
    .summary = "contact laws on one scene",
    .help =
        "Runs the laws of impulses and soft from the same start, under the same controls, towards "
        "the\n"
        "same targets: loss, deepest overlap, change of energy, gradient with its error against\n"
        "differences, time of a step and of the way back through it (least of several rounds over\n"
        "all laws). Below the table, where theory says that laws differ on these contacts, or\n"
        "that they must agree, and by how much they did. A law that fails has a row that says "
        "so.\n\n"
        "  --target BODY:X,Y,Z[@T]  where a body should be, in m, at T s (at the end without @T);\n"
        "                        a site's name where no body has it; may be repeated\n"
        "  --wrt NAMES           what the gradient is for, as in 'carom help gradient'; without\n"
        "                        it all initial velocities and actuators\n"
        "  --check               compare all entries with differences, however long it takes;\n"
        "                        else those that fit into 3 s a law, spread over all\n"
        "  --steps N             number of steps; without it up to the last target, or 1 s\n"
        "  --dt S                longest step in s, else the scene's\n"
        "  --stepper NAME        located (impacts inside the step) or end (at its end)\n"
        "  --set NAME=VALUE      changes a parameter, x0:NAME or u:NAME; may be repeated\n"
        "  --key NAME            start from that keyframe, else from the first\n"
        "  --control FILE        controls over time: CSV with a column t in s and columns named\n"
        "                        like actuators; a row holds until the next\n"
        "  --overlap refuse      stop when geoms overlap at the start; else that is said\n"
        "  --json FILE           the result as JSON\n"
        "  --report FILE.html    a page with tables and the motions of all laws to play\n",
    .known = CLI_JSON | (CLI_RUN & ~(CLI_LAW | CLI_OUTSIDE)) | CLI_CONTROL | CLI_STEPS |
             CLI_TARGET | CLI_WRT | CLI_CHECK | CLI_REPORT,
    .takes = CLI_TAKES_INPUT,
    .n_word_least = 1,
    .n_word_most = 1,
    .run = run,
};
