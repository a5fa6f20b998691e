// SPDX-License-Identifier: MIT
//
// What commands put into a report: its head, and runs that are repeated for it.

#include "report.h"

#include "model/model.h"
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

// longest command line that is shown, bytes
enum { COMMAND_LIMIT = 4000 };

// ---- head --------------------------------------------------------------------------------------

static size_t put_text(char text[COMMAND_LIMIT], size_t n, const char *more) {
    int length = snprintf(text + n, COMMAND_LIMIT - n, "%s", more);
    n += (size_t)length;
    return n < COMMAND_LIMIT ? n : COMMAND_LIMIT - 1;
}

/// Appends an argument, in quotes where a shell would not leave it alone.
static size_t put_argument(char text[COMMAND_LIMIT], size_t n, const char *argument) {
    bool is_plain = *argument != '\0';
    for (const char *at = argument; *at && is_plain; at++) {
        is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                   (*at >= '0' && *at <= '9') || strchr("_-./:,=@+%", *at);
    }
    n = put_text(text, n, is_plain ? " " : " '");
    for (const char *at = argument; *at; at++) {
        char one[] = {*at, '\0'};
        n = put_text(text, n, *at == '\'' ? "'\\''" : one);
    }
    return put_text(text, n, is_plain ? "" : "'");
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int cli_report_open(const cli_options *options, const char *what, const cli_scene *scene,
                    cri_report **out) {
    *out = NULL;
    if (!options->report) {
        return CLI_DONE;
    }
    char title[300], command[COMMAND_LIMIT];
    snprintf(title, sizeof title, "%s%s%.200s", what, scene ? " of " : "",
             scene ? file_name(scene->path) : "");
    size_t n = (size_t)snprintf(command, sizeof command, "carom %s", options->command);
    for (int i = 0; i < options->n_arg; i++) {
        n = put_argument(command, n, options->arg[i]);
    }
    cr_error err = {0};
    if (cri_report_create(title, out, &err) != CR_OK) {
        return cli_error(&err);
    }
    cri_report_command(*out, command);
    if (scene) {
        cri_report_fact(*out, "contact law", "%s", scene->sim_options.law);
        cri_report_fact(*out, "time step", "%g s", scene->dt);
    }
    return CLI_DONE;
}

int cli_report_close(const cli_options *options, cri_report *report, int code) {
    if (!report) {
        return code;
    }
    cr_error err = {0};
    if (code == CLI_DONE && cri_report_write(report, options->report, &err) != CR_OK) {
        code = cli_error(&err);
    } else if (code == CLI_DONE && !cri_report_has_viewer()) {
        // no failure: the page says it too
        cli_failed("%.80s has tables and no charts, for carom was built without npm: install npm "
                   "and build again",
                   options->report);
    }
    cri_report_destroy(report);
    return code;
}

const char *cli_unit_of(const char *name) {
    static const char *const unit[][2] = {
        {"/mass", "kg"},      {"/size", "m"},         {"/offset", "m"},
        {"/com", "m"},        {"/density", "kg/m^3"}, {"/inertia", "kg m^2"},
        {"gravity", "m/s^2"}, {"/force", "N"},        {"/torque", "N m"},
    };
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        const char *found = strstr(name, unit[i][0]);
        char next = found ? found[strlen(unit[i][0])] : 'x';
        if (next == '\0' || next == '[') {
            return unit[i][1];
        }
    }
    return NULL;
}

// ---- runs --------------------------------------------------------------------------------------

static void put_watched(cri_report *report, const cli_run *run, double t, const double *x) {
    if (run->energy) {
        double energy = cr_sim_energy(run->sim, x);
        cri_report_point(report, *run->energy, t, &energy);
    }
    for (int i = 0; i < run->n_watch; i++) {
        cri_report_point(report, run->series[i], t, &x[run->watch[i]]);
    }
}

/// The steps of a run from x, which becomes its end.
static int step_all(cri_report *report, const cli_run *run, cli_track *track, double *x) {
    const cr_rollout *r = &run->rollout;
    size_t n_u = (size_t)cr_model_sizes(run->sim->model).n_u;
    cr_error err = {0};
    double t = 0.0;
    for (int k = 0; k < r->n_step; k++) {
        double dt = r->dt[r->n_dt > 1 ? k : 0];
        size_t row = r->n_u_row > 1 ? (size_t)k : 0;
        const double *u = r->u ? r->u + row * n_u : NULL;
        if (cr_sim_step(run->sim, dt, x, u, x, &err) != CR_OK) {
            return cli_failed("step %d of %.80s: %s", k, run->name, err.text);
        }
        t = r->n_dt > 1 ? t + dt : (k + 1) * dt;
        cli_track_step(track, t, x);
        put_watched(report, run, t, x);
    }
    return CLI_DONE;
}

int cli_report_run(cri_report *report, const cli_run *run) {
    if (!report) {
        return CLI_DONE;
    }
    size_t n_x = (size_t)cr_model_sizes(run->sim->model).n_x;
    cr_arena *memory = cri_arena_create(1 << 12);
    double *x = memory ? CR_PUSH(memory, double, n_x) : NULL;
    if (!x) {
        cri_arena_destroy(memory);
        return cli_failed("no memory for a report");
    }
    memcpy(x, run->x0, n_x * sizeof *x);
    cli_track *track = cli_track_begin(report, run->name, run->sim, 0.0, x, run->has_curves);
    put_watched(report, run, 0.0, x);
    int code = step_all(report, run, track, x);
    cli_track_end(track);
    cri_arena_destroy(memory);
    return code;
}

void cli_report_targets(cri_report *report, const cri_aim *aim) {
    for (int i = 0; report && i < aim->n_target; i++) {
        const cri_target *target = &aim->target[i];
        const char *body = target->body >= 0 ? target->model->body_name[target->body] : "site";
        char name[100];
        snprintf(name, sizeof name, "target of %.80s", body);
        cri_report_marker(report, name, target->point);
    }
}

int cli_report_aim(cri_report *report, const cli_scene *scene, const cli_aim_run *run) {
    if (!report) {
        return CLI_DONE;
    }
    cli_scene with_law = *scene;
    with_law.sim_options.law = run->law ? run->law : scene->sim_options.law;
    // such a law brings its stepper
    if (run->law && cri_law_find_any(run->law)->stepper) {
        with_law.sim_options.stepper = NULL;
    }
    cr_sim *sim = NULL;
    int code = cli_scene_sim(&with_law, false, &sim);
    cr_error err = {0};
    if (code == CLI_DONE && cr_sim_set_params(sim, run->point->p, &err) != CR_OK) {
        code = cli_error(&err);
    }
    if (code == CLI_DONE) {
        const cri_schedule *schedule = &run->aim->schedule;
        cli_run one = {.name = run->name,
                       .sim = sim,
                       .x0 = run->point->x0,
                       .rollout = {.n_step = schedule->n_step,
                                   .dt = schedule->dt,
                                   .n_dt = schedule->n_dt,
                                   .u = run->aim->has_control ? run->point->u : NULL,
                                   .n_u_row = run->point->n_u_row},
                       .has_curves = run->has_curves,
                       .energy = run->energy};
        code = cli_report_run(report, &one);
    }
    cr_sim_destroy(sim);
    return code;
}
