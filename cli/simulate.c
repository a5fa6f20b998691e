// SPDX-License-Identifier: MIT
//
// carom simulate: runs a scene and shows where it ends.

#include "commands.h"

#include "report.h"
#include "simulate.h"
#include "streams.h"
#include "terminal.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// length of a run when --steps is not given, s
#define DEFAULT_TIME 1.0

// time between two checkpoints, s
#define SAVE_EVERY 10.0

/// Takes the steps, or as many as there is time for: result.n_step then says how many.
static int step_all(cli_simulation *s, const cri_progress *progress) {
    cr_error err = {0};
    const cli_scene *scene = s->scene;
    const double *u = scene->has_control ? scene->u : NULL;
    double saved = cli_seconds();
    for (int k = s->first; k < s->result.n_step; k++) {
        if (cr_sim_step(s->sim, s->result.dt, s->x, u, s->x, &err) != CR_OK) {
            return cli_failed("step %d: %s", k, err.text);
        }
        const cr_step_report *report = cr_sim_report(s->sim);
        // systems that bring their own step do not say
        s->result.max_penetration =
            isnan(report->penetration) ? NAN : fmax(s->result.max_penetration, report->penetration);
        s->n_impact += report->n_event;
        s->n_outside += report->n_outside;
        s->outcome = report->outcome > s->outcome ? report->outcome : s->outcome;
        double t = (k + 1) * s->result.dt;
        if (scene->has_table) {
            cri_control_at(&scene->table, t, scene->u);
        }
        if (s->has_file && cri_trajectory_row(&s->file, t, s->x, u, &err) != CR_OK) {
            return cli_error(&err);
        }
        cli_track_step(s->track, t, s->x);
        cri_progress_state state = {"step", k + 1, s->result.n_step, NAN};
        if (!cri_progress_tell(progress, &state)) {
            s->result.n_step = k + 1;
        }
        // a checkpoint in the middle would be ahead of the motion, which is whole at the end only
        if (s->checkpoint && !s->has_file && cli_seconds() - saved > SAVE_EVERY) {
            saved = cli_seconds();
            int code = cli_simulation_save(s, k + 1);
            if (code != CLI_DONE) {
                return code;
            }
        }
    }
    return CLI_DONE;
}

static void print(const cli_simulation *s) {
    const cri_simulate_result *r = &s->result;
    printf("%d step%s of %g s with %s, %d impact%s, in %.3g s\n", r->n_step,
           r->n_step == 1 ? "" : "s", r->dt, r->law, s->n_impact, s->n_impact == 1 ? "" : "s",
           r->seconds);
    printf("energy %.9g J -> %.9g J", r->energy[0], r->energy[1]);
    if (isfinite(r->max_penetration)) {
        printf(", deepest overlap %.3g m", r->max_penetration);
    }
    putchar('\n');
    int n = r->n_q + r->n_v;
    double largest = cli_largest(n, r->x, sizeof *r->x);
    for (int i = 0; i < n; i++) {
        printf("  %-24s  %.12g\n", cr_model_name(s->scene->model, CR_VECTOR_X, i),
               cli_shown(r->x[i], largest));
    }
}

/// The run itself, between opening and closing.
static int simulate(cli_simulation *s, const cli_options *options) {
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
    if (s->first == 0) {
        r->energy[0] = cr_sim_energy(s->sim, s->x);
    }
    cri_report_motion(s->report, "motion");
    s->track = cli_track_begin(s->report, r->law, s->sim, s->first * r->dt, s->x, true);
    cri_progress progress = cli_terminal_begin(options, "simulate");
    code = step_all(s, &progress);
    cli_terminal_end();
    cli_track_end(s->track);
    r->energy[1] = cr_sim_energy(s->sim, s->x);
    r->seconds = cli_seconds() - start;
    r->x = s->x;
    if (code == CLI_DONE && s->n_outside > 0) {
        cli_warn("%d contact solve%s outside what the nets were trained for (--outside %s)",
                 s->n_outside, s->n_outside == 1 ? " was" : "s were",
                 options->outside ? options->outside : "net");
    }
    return code;
}

/// Ends all files when the run is good, else leaves none behind.
static int finish(cli_simulation *s, int code, const cli_options *options) {
    cr_error err = {0};
    if (code == CLI_DONE && s->report) {
        cli_simulation_report(s);
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
    return code == CLI_DONE && s->checkpoint ? cli_simulation_save(s, s->result.n_step) : code;
}

static int open_file(cli_simulation *s, const char *path) {
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
    int code = CLI_DONE;
    if (s->first > 0) {
        code = cli_simulation_copy(s, path);
    } else if (cri_trajectory_row(&s->file, 0.0, s->x, s->scene->u, &err) != CR_OK) {
        code = cli_error(&err);
    }
    if (code != CLI_DONE) {
        cri_trajectory_cancel(&s->file);
    }
    return code;
}

/// Where the run begins: at the start, or where its checkpoint is.
static int begin(cli_simulation *s, const cli_options *options) {
    const cli_scene *scene = s->scene;
    double n = options->n_step > 0 ? options->n_step : ceil(DEFAULT_TIME / scene->dt - 1e-9);
    s->x = scene->x0;
    s->checkpoint = options->plan.checkpoint;
    s->result = (cri_simulate_result){.scene = scene->path,
                                      .law = scene->sim_options.law,
                                      .dt = scene->dt,
                                      .n_step = (int)fmin(fmax(n, 1.0), 2e9),
                                      .n_q = scene->sizes.n_q,
                                      .n_v = scene->sizes.n_v};
    int code = CLI_DONE;
    if (s->checkpoint) {
        code = cli_scene_hash(scene, options, &s->problem);
    }
    if (code == CLI_DONE && s->checkpoint) {
        code = cli_simulation_load(s);
    }
    if (code == CLI_DONE && scene->has_table) {
        cri_control_at(&scene->table, s->first * scene->dt, scene->u);
    }
    return code == CLI_DONE && options->output ? open_file(s, options->output) : code;
}

static int run(const cli_options *options) {
    cli_scene scene = {0};
    cli_simulation s = {.scene = &scene};
    int code = options->output ? cli_check_format(options->output) : CLI_DONE;
    if (code == CLI_DONE && options->output && options->plan.checkpoint &&
        cli_is_stream(options->output)) {
        code = cli_usage("-o -: a run with --checkpoint goes on from its motion, which needs the "
                         "name of a file");
    }
    if (code == CLI_DONE) {
        code = cli_scene_begin(options, false, &scene, &s.sim);
    }
    if (code == CLI_DONE && options->n_step == 0 && DEFAULT_TIME / scene.dt > 1e9) {
        code = cli_usage(
            "--dt %g: %g s would take more than 1e9 steps; give --steps N or a longer step",
            scene.dt, DEFAULT_TIME);
    }
    if (code == CLI_DONE) {
        code = begin(&s, options);
    }
    if (code == CLI_DONE) {
        int n_asked = s.result.n_step;
        code = finish(&s, simulate(&s, options), options);
        if (code == CLI_DONE && !options->use_quiet) {
            print(&s);
        }
        if (code == CLI_DONE && s.result.n_step < n_asked) {
            cli_say("interrupted after %d of %d steps; %s", s.result.n_step, n_asked,
                    s.checkpoint ? "give the same options to go on"
                                 : "what was written ends there");
        }
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
    .help =
        "  --steps N             number of steps; without it 1 s is simulated\n"
        "  --dt S                length of a step in s, else the scene's\n"
        "  --law LAW             contact law, see 'carom laws'\n"
        "  --outside W           nets beyond their training: net (asked anyhow), analytic or stop\n"
        "  --stepper NAME        located (impacts inside the step) or end (at its end)\n"
        "  --set NAME=VALUE      changes a parameter, x0:NAME or u:NAME; may be repeated\n"
        "  --key NAME            start from that keyframe, else from the first\n"
        "  --control FILE        controls over time: CSV with a column t in s and columns named\n"
        "                        like actuators; a row holds until the next\n"
        "  --overlap refuse      stop when geoms overlap at the start; else that is said\n"
        "  -o FILE               the motion, one row a step: CSV (.csv or no extension) or\n"
        "                        HDF5 (.h5, .hdf5); - is standard output, as CSV\n"
        "  --checkpoint FILE     save the run there at Ctrl-C and at the end, without -o every 10\n"
        "                        s too; go on from it when it is there, to the same bits; -o then\n"
        "                        goes on too. More --steps prolong a run\n"
        "  --json FILE           the result as JSON\n"
        "  --report FILE.html    a page with curves, tables and the motion to play\n",
    .known =
        CLI_JSON | CLI_RUN | CLI_CONTROL | CLI_STEPS | CLI_OUTPUT | CLI_CHECKPOINT | CLI_REPORT,
    .takes = CLI_TAKES_INPUT,
    .n_word_least = 1,
    .n_word_most = 1,
    .run = run,
};
