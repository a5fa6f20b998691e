// SPDX-License-Identifier: MIT
//
// carom fit: the values for which simulations repeat recordings best.

#include "commands.h"

#include "base/io/table.h"
#include "fit_depth.h"
#include "fit_options.h"
#include "fit_print.h"
#include "fit_report.h"
#include "fit_save.h"
#include "optimize/fit.h"
#include "report.h"
#include "report/result.h"
#include "scene.h"
#include "terminal.h"

#include <string.h>

// times of files are rounded: this part of a step is none
#define LENGTH_SLACK 1e-6

/// Everything of one run. Released by clear.
typedef struct task {
    cli_scene scene;
    cri_selection *selection;
    cri_recording *recording;
    cri_fit_problem problem;
    cri_progress progress;
    cri_journal_def save;
    char label[CRI_JOURNAL_LABEL];
    cri_fit fit;
    double seconds;
} task;

static void clear(task *t) {
    cri_selection_destroy(t->selection);
    cli_scene_close(&t->scene);
}

static int read_recording(const task *t, const char *path, cri_recording *out) {
    cr_error err = {0};
    cri_table table;
    if (cri_table_read(path, &table, &err) != CR_OK) {
        return cli_error(&err);
    }
    cr_status status = cri_recording_push(t->scene.model, &table, path, t->scene.memory, out, &err);
    cri_table_clear(&table);
    return status == CR_OK ? CLI_DONE : cli_error(&err);
}

/// Says when a recording is over before a step is: its times may be in another unit.
static void check_length(const task *t, const cri_recording *r) {
    double length = r->time[r->n_sample - 1];
    if (length < (1.0 - LENGTH_SLACK) * t->scene.dt) {
        cli_warn("%.80s: the recording lasts %g s, less than a step of %g s, and is simulated in "
                 "shorter ones; is t in seconds? Else a shorter --dt says the same",
                 r->file, length, t->scene.dt);
    }
}

static int read_recordings(task *t, const cli_options *options) {
    int n_table = options->n_word - 1, n = n_table + options->n_depth;
    t->recording = CR_PUSH(t->scene.memory, cri_recording, n);
    int code = t->recording ? CLI_DONE : cli_failed("no memory for %d recordings", n);
    for (int k = 0; k < n && code == CLI_DONE; k++) {
        code = k < n_table ? read_recording(t, options->word[k + 1], &t->recording[k])
                           : cli_fit_depth(&t->scene, options, k - n_table, &t->recording[k]);
        if (code == CLI_DONE) {
            check_length(t, &t->recording[k]);
        }
    }
    if (code == CLI_DONE) {
        code = cli_fit_noise(&t->scene, options, n, t->recording);
    }
    return code;
}

/// Says when geoms overlap in the scene's own start state.
static int check_overlap(const task *t, const cli_options *options) {
    cr_sim *sim = NULL;
    int code = cli_scene_sim(&t->scene, false, &sim);
    if (code == CLI_DONE) {
        code = cli_scene_check_overlap(&t->scene, sim, options);
    }
    cr_sim_destroy(sim);
    return code;
}

static int prepare(task *t, const cli_options *options) {
    if (!options->wrt) {
        return cli_usage("fit needs --wrt NAMES; see 'carom help fit'");
    }
    if (options->n_word < 2 && options->n_depth == 0) {
        return cli_usage(
            "missing argument: fit needs recordings, or --depth GEOM=FILE; see 'carom help fit'");
    }
    const char *end = options->output ? cli_extension(options->output) : NULL;
    if (end && strcmp(end, ".csv") != 0) {
        return cli_usage("-o %.80s: expected a name that ends in .csv", options->output);
    }
    int code = cli_scene_open(options->word[0], options, &t->scene);
    if (code == CLI_DONE) {
        code = check_overlap(t, options);
    }
    cr_error err = {0};
    if (code == CLI_DONE &&
        cri_selection_create(t->scene.model, options->wrt, &t->selection, &err) != CR_OK) {
        code = cli_error_in("--wrt", &err);
    }
    if (code == CLI_DONE) {
        code = read_recordings(t, options);
    }
    if (code != CLI_DONE) {
        return code;
    }
    int n = options->n_word - 1 + options->n_depth;
    t->problem = (cri_fit_problem){.model = t->scene.model,
                                   .sim_options = t->scene.sim_options,
                                   .selection = t->selection,
                                   .n_recording = n,
                                   .recording = t->recording,
                                   .dt = t->scene.dt,
                                   .p = t->scene.p,
                                   .x0 = t->scene.x0,
                                   .u = t->scene.has_control ? t->scene.u : NULL,
                                   .n_thread = cri_ensemble_threads(n)};
    code = cli_fit_settle(&t->scene, options, &t->problem);
    if (code == CLI_DONE && options->plan.checkpoint) {
        t->problem.checkpoint = &t->save;
        code = cli_fit_save(&t->scene, options, &t->problem, t->label, &t->save);
    }
    return code;
}

static void say_interrupted(const cri_fit *fit, const char *checkpoint) {
    const char *what = fit->stop == CRI_LSQ_STOPPED
                           ? "these are the best values so far"
                           : "the values are final, what is said about them is not whole";
    if (checkpoint) {
        cli_say("interrupted: %s; give the same options to go on from %s", what, checkpoint);
    } else {
        cli_say("interrupted: %s; --checkpoint FILE would let it go on", what);
    }
}

static int fit(task *t, const cli_options *options) {
    cr_error err = {0};
    t->progress = cli_terminal_begin(options, "fit");
    t->problem.progress = &t->progress;
    double start = cli_seconds();
    cr_status status = cri_fit_run(&t->problem, t->scene.memory, &t->fit, &err);
    t->seconds = cli_seconds() - start;
    cli_terminal_end();
    if (status != CR_OK) {
        return err.status == CR_ERR_ARGUMENT ? cli_error_in("--wrt", &err) : cli_error(&err);
    }
    if (t->fit.is_interrupted && t->fit.unsaved.status == CR_OK) {
        say_interrupted(&t->fit, options->plan.checkpoint);
    }
    return CLI_DONE;
}

static int write(const task *t, const cli_options *options) {
    cr_error err = {0};
    if (options->output &&
        cri_result_fit_table(options->output, &t->problem, &t->fit, &err) != CR_OK) {
        return cli_error(&err);
    }
    if (options->json &&
        cri_result_fit(options->json, &t->problem, &t->fit, t->seconds, &err) != CR_OK) {
        return cli_error(&err);
    }
    return CLI_DONE;
}

static int write_report(const task *t, const cli_options *options) {
    cri_report *report = NULL;
    int code = cli_report_open(options, "Fit", &t->scene, &report);
    cli_fit_result result = {&t->scene, &t->problem, &t->fit, t->seconds};
    if (code == CLI_DONE) {
        code = cli_fit_report(report, &result);
    }
    return cli_report_close(options, report, code);
}

static int run(const cli_options *options) {
    task t = {0};
    int code = prepare(&t, options);
    if (code == CLI_DONE) {
        code = fit(&t, options);
    }
    if (code == CLI_DONE) {
        cli_fit_print(&t.problem, &t.fit, t.seconds);
        code = write(&t, options);
    }
    if (code == CLI_DONE) {
        code = write_report(&t, options);
    }
    if (code == CLI_DONE && t.fit.unsaved.status != CR_OK) {
        code = cli_error(&t.fit.unsaved);
    }
    clear(&t);
    return code;
}

const cli_command cli_fit = {
    .name = "fit",
    .arguments = "SCENE DATA... --wrt NAMES",
    .summary = "identify values from recordings",
    .help =
        "DATA is CSV with a column t in s and columns named like entries of the state, such as\n"
        "ball/qpos[0]; any of them may be left out, and recordings may have different ones.\n"
        "What 'carom simulate -o FILE.h5' wrote is taken as well. Parameters and controls are\n"
        "shared by all recordings; x0: entries are estimated for each, from its first row on\n"
        "where that has them and --set does not. Entries of the initial state that are not in\n"
        "--wrt are the scene's, at the first row. Comments '# true NAME = VALUE' are printed\n"
        "beside the result and not used.\n\n"
        "  --wrt NAMES           what to fit, comma separated: floor:ball/friction,\n"
        "                        ball/size[0], x0:ball/qvel[0]; * fits any characters (x0:ball/*\n"
        "                        is a whole initial state), a=b ties two names; 'carom params\n"
        "                        SCENE' lists names\n"
        "  --noise [NAME=]SIGMA  standard deviation of a column, of those that NAME fits, or of\n"
        "                        all; the last one counts; without it all columns weigh the same\n"
        "  --depth GEOM=FILE     points of a geom's surface over time instead of DATA, or beside "
        "it:\n"
        "                        CSV with columns t, x, y, z, or depth frames as HDF5, see\n"
        "                        docs/shapes.md; may be repeated, each is a recording\n"
        "  --points N            of each frame that are compared, else 200\n"
        "  --robust LOSS         huber or cauchy, or huber:C with another constant than 1.345\n"
        "                        (cauchy 2.385): outliers count less\n"
        "  --prior NAME=MEAN:SIGMA   what is known beforehand; needs --noise\n"
        "  --bound NAME=LOW:HIGH     keeps a value between; either may be left out\n"
        "  --holdout N           leaves the last N recordings (rows of a single recording), or\n"
        "                        with N below 1 that part, out of the fit and tells their error\n"
        "  --dt S                longest step in s, else the scene's\n"
        "  --law LAW             contact law, see 'carom laws'\n"
        "  --outside W           nets beyond their training: net (asked anyhow), analytic or stop\n"
        "  --stepper NAME        located (impacts inside the step) or end (at its end)\n"
        "  --set NAME=VALUE      changes a start value, also x0:NAME; may be repeated\n"
        "  --key NAME            start from that keyframe, else from the first\n"
        "  --overlap refuse      stop when geoms overlap at the start; else that is said\n"
        "  --checkpoint FILE     save every ten iterations, at Ctrl-C and at the end, and go on\n"
        "                        from it when it is there, to the same bits\n"
        "  -o FILE.csv           all values as a table\n"
        "  --json FILE           the result as JSON\n"
        "  --report FILE.html    a page with curves, error bars and the motions to play\n",
    .known = CLI_JSON | CLI_RUN | CLI_WRT | CLI_OUTPUT | CLI_FIT | CLI_CHECKPOINT | CLI_REPORT,
    .takes = CLI_TAKES_INPUT,
    .n_word_least = 1,
    .n_word_most = CLI_WORD_LIMIT,
    .run = run,
};
