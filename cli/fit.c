// SPDX-License-Identifier: MIT
//
// carom fit: the values for which a simulation repeats a recording best.

#include "commands.h"
#include "fit_report.h"
#include "report.h"

#include "io/table.h"
#include "optimize/fit.h"
#include "report/result.h"
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// residuals this many times the noise of the recording are worth a word
#define NOISE_FACTOR 3.0

/// Everything of one run. Released by clear.
typedef struct task {
    cli_scene scene;
    cr_sim *sim;
    cri_selection *selection;
    cri_recording recording;
    cri_replay replay;
    cri_fit fit;
    double seconds;
} task;

static void clear(task *t) {
    cr_sim_destroy(t->sim);
    cri_selection_destroy(t->selection);
    cli_scene_close(&t->scene);
}

static int read_recording(task *t, const char *path) {
    cr_error err = {0};
    cri_table table;
    if (cri_table_read(path, &table, &err) != CR_OK) {
        return cli_error(&err);
    }
    cr_status status =
        cri_recording_push(t->scene.model, &table, path, t->scene.memory, &t->recording, &err);
    cri_table_clear(&table);
    return status == CR_OK ? CLI_DONE : cli_error(&err);
}

static int prepare(task *t, const cli_options *options) {
    if (!options->wrt) {
        return cli_usage("fit needs --wrt NAMES; see 'carom help fit'");
    }
    if (options->n_word > 2) {
        return cli_usage("fit takes one recording for now, not %d", options->n_word - 1);
    }
    int code = cli_scene_open(options->word[0], options, &t->scene);
    if (code == CLI_DONE) {
        code = cli_scene_sim(&t->scene, true, &t->sim);
    }
    if (code == CLI_DONE) {
        code = cli_scene_check_overlap(&t->scene, t->sim, options);
    }
    cr_error err = {0};
    if (code == CLI_DONE &&
        cri_selection_create(t->scene.model, options->wrt, &t->selection, &err) != CR_OK) {
        code = cli_error_in("--wrt", &err);
    }
    if (code == CLI_DONE) {
        code = read_recording(t, options->word[1]);
    }
    if (code != CLI_DONE) {
        return code;
    }
    if (cri_replay_init(t->scene.model, t->sim, t->selection, &t->recording, t->scene.dt,
                        t->scene.memory, &t->replay, &err) != CR_OK) {
        return cli_error_in("--wrt", &err);
    }
    t->replay.has_control = t->replay.has_control || t->scene.has_control;
    cli_scene_fill(&t->scene, &t->replay.point);
    if (cri_selection_check_ties(t->selection, &t->replay.point, &err) != CR_OK) {
        return cli_error_in("--wrt", &err);
    }
    return CLI_DONE;
}

static int fit(task *t) {
    cr_error err = {0};
    double start = cli_seconds();
    if (cri_fit_run(t->scene.model, &t->replay, t->scene.memory, &t->fit, &err) != CR_OK) {
        return cli_error(&err);
    }
    t->seconds = cli_seconds() - start;
    return CLI_DONE;
}

// ---- output ------------------------------------------------------------------------------------

static void print_cell(bool is_there, double value, const char *format) {
    char cell[32] = "-";
    if (is_there && isfinite(value)) {
        snprintf(cell, sizeof cell, format, value);
    }
    printf("  %12s", cell);
}

static void print(const task *t) {
    const cri_fit *f = &t->fit;
    int width = 4;
    for (int i = 0; i < f->n_entry; i++) {
        int length = (int)strlen(f->entry[i].name);
        width = length > width ? length : width;
    }
    bool has_truth = t->recording.n_truth > 0;
    printf("%-*s", width, "name");
    if (has_truth) {
        printf("  %12s", "true");
    }
    printf("  %12s  %12s  %14s\n", "start", "found", "standard error");
    for (int i = 0; i < f->n_entry; i++) {
        const cri_fit_entry *e = &f->entry[i];
        printf("%-*s", width, e->name);
        if (has_truth) {
            double truth = 0.0;
            bool is_told = cri_recording_truth(&t->recording, &t->selection->variable[i], &truth);
            print_cell(is_told, truth, "%.6g");
        }
        print_cell(true, e->start, "%.6g");
        print_cell(true, e->value, "%.6g");
        printf("  ");
        print_cell(true, e->deviation, "%.2g");
        printf("%s\n", e->is_at_bound ? "  at its bound" : "");
    }
    printf("\nrms residual %.4g over %d numbers; %s after %d iterations in %d stages, %.3g s\n",
           f->rms, f->n_residual, cri_lsq_stop_text(f->stop), f->n_iteration, f->n_stage,
           t->seconds);
    if (f->rms > NOISE_FACTOR * f->noise) {
        printf(
            "the residuals are %.3g times the noise that the recording shows: the scene does not "
            "explain it\nwith these variables, or the fit ended in a wrong minimum; try other "
            "start values (--set)\n",
            f->rms / f->noise);
    }
    for (int i = 0; i < f->n_entry; i++) {
        if (!f->entry[i].is_identifiable) {
            printf("%s\n", f->entry[i].why);
        }
    }
}

static int write_report(task *t, const cli_options *options) {
    cri_report *report = NULL;
    int code = cli_report_open(options, "Fit", &t->scene, &report);
    cli_fit_result result = {&t->scene, &t->fit, &t->replay, t->seconds};
    if (code == CLI_DONE) {
        code = cli_fit_report(report, &result);
    }
    return cli_report_close(options, report, code);
}

static int run(const cli_options *options) {
    task t = {0};
    int code = prepare(&t, options);
    if (code == CLI_DONE) {
        code = fit(&t);
    }
    if (code == CLI_DONE) {
        code = write_report(&t, options);
    }
    if (code == CLI_DONE) {
        print(&t);
        cr_error err = {0};
        if (options->json && cri_result_fit(options->json, &t.fit, t.seconds, &err) != CR_OK) {
            code = cli_error(&err);
        }
    }
    clear(&t);
    return code;
}

const cli_command cli_fit = {
    .name = "fit",
    .arguments = "SCENE DATA --wrt NAMES",
    .summary = "identify values from a recording",
    .help =
        "DATA is CSV with a column t in s and columns named like entries of the state, such as\n"
        "ball/qpos[0]; any of them may be left out. The initial state is the one at the first\n"
        "row. Comments '# true NAME = VALUE' are printed beside the result and not used.\n"
        "What 'carom simulate -o FILE.h5' wrote is taken as well.\n\n"
        "  --wrt NAMES           what to fit, comma separated: floor:ball/friction,\n"
        "                        ball/size[0], x0:ball/qvel[0]; * fits any characters, a=b\n"
        "                        ties two names; 'carom params SCENE' lists names\n"
        "  --dt S                longest step in s, else the scene's\n"
        "  --law LAW             contact law, see 'carom laws'\n"
        "  --stepper NAME        located (impacts inside the step) or end (at its end)\n"
        "  --set NAME=VALUE      changes a start value, also x0:NAME; may be repeated\n"
        "  --key NAME            start from that keyframe, else from the first\n"
        "  --overlap refuse      stop when geoms overlap at the start; else that is said\n"
        "  --json FILE           the result as JSON\n"
        "  --report FILE.html    a page with curves, error bars and the motions to play\n",
    .known = CLI_RUN | CLI_WRT | CLI_REPORT,
    .n_word_least = 2,
    .n_word_most = CLI_WORD_LIMIT,
    .run = run,
};
