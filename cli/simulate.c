// SPDX-License-Identifier: MIT
//
// carom simulate: runs a scene and shows where it ends.

#include "commands.h"

#include "io/hdf5_table.h"
#include "report.h"
#include "report/result.h"
#include "report/trajectory.h"
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// length of a run when --steps is not given, s
#define DEFAULT_TIME 1.0

// entries of the state that a report shows
enum { REPORT_ROWS = 300 };

typedef struct run_state {
    const cli_scene *scene;
    cr_sim *sim;
    double *x;       // (n_x)
    double *x_first; // (n_x) the start, kept for a report
    cri_trajectory file;
    bool has_file;
    cri_report *report; // NULL: none is wanted
    cli_track *track;
    int n_impact;
    cr_outcome outcome;
    cri_simulate_result result;
} run_state;

static int step_all(run_state *s) {
    cr_error err = {0};
    const double *u = s->scene->has_control ? s->scene->u : NULL;
    for (int k = 0; k < s->result.n_step; k++) {
        if (cr_sim_step(s->sim, s->result.dt, s->x, u, s->x, &err) != CR_OK) {
            return cli_failed("step %d: %s", k, err.text);
        }
        const cr_step_report *report = cr_sim_report(s->sim);
        s->result.max_penetration = fmax(s->result.max_penetration, report->penetration);
        s->n_impact += report->n_event;
        s->outcome = report->outcome > s->outcome ? report->outcome : s->outcome;
        double t = (k + 1) * s->result.dt;
        if (s->has_file && cri_trajectory_row(&s->file, t, s->x, u, &err) != CR_OK) {
            return cli_error(&err);
        }
        cli_track_step(s->track, t, s->x);
    }
    return CLI_DONE;
}

static void print(const run_state *s) {
    const cri_simulate_result *r = &s->result;
    printf("%d step%s of %g s with %s, %d impact%s, in %.3g s\n", r->n_step,
           r->n_step == 1 ? "" : "s", r->dt, r->law, s->n_impact, s->n_impact == 1 ? "" : "s",
           r->seconds);
    printf("energy %.9g J -> %.9g J, deepest overlap %.3g m\n", r->energy[0], r->energy[1],
           r->max_penetration);
    for (int i = 0; i < r->n_q + r->n_v; i++) {
        printf("  %-24s  %.12g\n", cr_model_name(s->scene->model, CR_VECTOR_X, i), r->x[i]);
    }
}

/// The run itself, between opening and closing.
static int simulate(run_state *s, const cli_options *options) {
    cri_simulate_result *r = &s->result;
    size_t n_byte = sizeof *s->x * (size_t)s->scene->sizes.n_x;
    s->x_first = cri_arena_push(s->scene->memory, n_byte);
    if (!s->x_first) {
        return cli_failed("%.80s: no memory", r->scene);
    }
    memcpy(s->x_first, s->x, n_byte);
    int code = cli_report_open(options, "Simulation", s->scene, &s->report);
    if (code != CLI_DONE) {
        return code;
    }
    double start = cli_seconds();
    r->energy[0] = cr_sim_energy(s->sim, s->x);
    cri_report_motion(s->report, "motion");
    s->track = cli_track_begin(s->report, r->law, s->sim, s->x, true);
    code = step_all(s);
    cli_track_end(s->track);
    r->energy[1] = cr_sim_energy(s->sim, s->x);
    r->seconds = cli_seconds() - start;
    r->x = s->x;
    return code;
}

static void fill_report(const run_state *s) {
    const cri_simulate_result *r = &s->result;
    cri_report *report = s->report;
    const cr_model *model = s->scene->model;
    cri_report_fact(report, "steps", "%d", r->n_step);
    cri_report_fact(report, "simulated", "%.6g s", r->n_step * r->dt);
    cri_report_fact(report, "impacts", "%d", s->n_impact);
    cri_report_fact(report, "energy", "%.5g \u2192 %.5g J", r->energy[0], r->energy[1]);
    cri_report_fact(report, "deepest overlap", "%.3g m", r->max_penetration);
    cri_report_fact(report, "computed in", "%.3g ms", 1e3 * r->seconds);
    if (s->outcome == CR_ITERATION_LIMIT) {
        cri_report_note(report,
                        "A contact solve did not converge; the motion is the best one found.");
    }
    const cri_report_column column[] = {
        {.name = "entry"},
        {.name = "first", .kind = CRI_COLUMN_NUMBER, .digits = 9},
        {.name = "last", .kind = CRI_COLUMN_NUMBER, .digits = 9},
    };
    cri_report_table(report, "State", 3, column);
    int n = r->n_q + r->n_v;
    if (n > REPORT_ROWS) {
        cri_report_note(report,
                        "The table has the first %d of %d entries of the state; -o FILE has all.",
                        REPORT_ROWS, n);
        n = REPORT_ROWS;
    }
    for (int i = 0; i < n; i++) {
        const cri_report_cell cell[] = {
            {cr_model_name(model, CR_VECTOR_X, i), 0.0}, {NULL, s->x_first[i]}, {NULL, r->x[i]}};
        cri_report_row(report, cell);
    }
}

/// Ends all files when the run is good, else leaves none behind.
static int finish(run_state *s, int code, const cli_options *options) {
    cr_error err = {0};
    if (code == CLI_DONE && s->report) {
        fill_report(s);
    }
    code = cli_report_close(options, s->report, code);
    s->report = NULL;
    if (code == CLI_DONE && options->json &&
        cri_result_simulate(options->json, &s->result, &err) != CR_OK) {
        code = cli_error(&err);
    }
    if (s->has_file && code != CLI_DONE) {
        cri_trajectory_cancel(&s->file);
    } else if (s->has_file && cri_trajectory_commit(&s->file, &err) != CR_OK) {
        code = cli_error(&err);
    }
    return code;
}

static int open_file(run_state *s, const char *path) {
    cr_error err = {0};
    cri_trajectory_def def = {.model = s->scene->model,
                              .scene = s->result.scene,
                              .law = s->result.law,
                              .dt = s->result.dt,
                              .has_control = s->scene->has_control};
    if (cri_trajectory_open(path, &def, &s->file, &err) != CR_OK) {
        return cli_error(&err);
    }
    s->has_file = true;
    if (cri_trajectory_row(&s->file, 0.0, s->x, s->scene->u, &err) != CR_OK) {
        cri_trajectory_cancel(&s->file);
        return cli_error(&err);
    }
    return CLI_DONE;
}

// a name without an extension, such as a device, is CSV
static int check_format(const char *path) {
    const char *dot = cli_extension(path);
    bool is_known = !dot || strcmp(dot, ".csv") == 0 || cri_hdf5_is_name(path);
    return is_known ? CLI_DONE
                    : cli_usage("-o %.80s: motions are written as .csv, .h5 or .hdf5, not %.20s",
                                path, dot);
}

static int run(const cli_options *options) {
    cli_scene scene = {0};
    run_state s = {.scene = &scene};
    int code = options->output ? check_format(options->output) : CLI_DONE;
    if (code == CLI_DONE) {
        code = cli_scene_open(options->word[0], options, &scene);
    }
    if (code == CLI_DONE) {
        code = cli_scene_sim(&scene, false, &s.sim);
    }
    if (code == CLI_DONE) {
        code = cli_scene_check_overlap(&scene, s.sim, options);
    }
    if (code == CLI_DONE && options->n_step == 0 && DEFAULT_TIME / scene.dt > 1e9) {
        code = cli_usage(
            "--dt %g: %g s would take more than 1e9 steps; give --steps N or a longer step",
            scene.dt, DEFAULT_TIME);
    }
    if (code == CLI_DONE) {
        double n = options->n_step > 0 ? options->n_step : ceil(DEFAULT_TIME / scene.dt - 1e-9);
        s.x = scene.x0;
        s.result = (cri_simulate_result){.scene = scene.path,
                                         .law = scene.sim_options.law,
                                         .dt = scene.dt,
                                         .n_step = (int)fmin(fmax(n, 1.0), 2e9),
                                         .n_q = scene.sizes.n_q,
                                         .n_v = scene.sizes.n_v};
        code = options->output ? open_file(&s, options->output) : CLI_DONE;
    }
    if (code == CLI_DONE) {
        code = finish(&s, simulate(&s, options), options);
    }
    if (code == CLI_DONE) {
        print(&s);
    }
    if (code == CLI_DONE && s.outcome == CR_ITERATION_LIMIT) {
        code = cli_failed("a contact solve did not converge; the motion is the best one found");
    }
    cr_sim_destroy(s.sim);
    cli_scene_close(&scene);
    return code;
}

const cli_command cli_simulate = {
    .name = "simulate",
    .arguments = "SCENE [OPTION]...",
    .summary = "run a scene",
    .help = "  --steps N             number of steps; without it 1 s is simulated\n"
            "  --dt S                length of a step in s, else the scene's\n"
            "  --law LAW             contact law, see 'carom laws'\n"
            "  --stepper NAME        located (impacts inside the step) or end (at its end)\n"
            "  --set NAME=VALUE      changes a parameter, x0:NAME or u:NAME; may be repeated\n"
            "  --key NAME            start from that keyframe, else from the first\n"
            "  --overlap refuse      stop when geoms overlap at the start; else that is said\n"
            "  -o FILE               the motion, one row a step: CSV (.csv or no extension) or\n"
            "                        HDF5 (.h5, .hdf5)\n"
            "  --json FILE           the result as JSON\n"
            "  --report FILE.html    a page with curves, tables and the motion to play\n",
    .known = CLI_RUN | CLI_STEPS | CLI_OUTPUT | CLI_REPORT,
    .n_word_least = 1,
    .n_word_most = 1,
    .run = run,
};
