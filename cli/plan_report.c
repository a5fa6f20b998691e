// SPDX-License-Identifier: MIT
//
// What carom plan shows and writes.

#include "plan.h"

#include "base/io/checkpoint.h"
#include "base/io/file.h"
#include "report/result.h"
#include "report/trajectory.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// variables that are printed; more are a matter for files
#define PRINT_LIMIT 24

// ---- words -------------------------------------------------------------------------------------

static void print_head(const cli_planning *t) {
    const cri_plan *p = &t->plan;
    char label[64];
    cri_grad_text(p->grad, label);
    printf("%s: %s, after %d iteration%s of %s", cri_plan_stop_word(p->stop),
           cri_plan_stop_text(p->stop), p->n_iteration, p->n_iteration == 1 ? "" : "s",
           cri_method_text(t->plan_options.minimise.method));
    if (t->options->plan.horizon > 0) {
        printf(" in %d window%s, %.3g s\n", t->n_window, t->n_window == 1 ? "" : "s", t->seconds);
    } else {
        printf(", %d evaluations, %.3g s; gradient: %s\n", p->n_evaluation, t->seconds, label);
    }
    if (t->plan_options.n_start > 1 && t->options->plan.horizon == 0) {
        printf("best of %d starts: number %d\n", p->n_start, p->best_start + 1);
    }
    if (isnan(p->loss)) {
        printf("no target was come to");
    } else {
        printf("loss %.6g m^2", p->loss);
    }
    if (t->options->plan.cost > 0.0) {
        printf(" and cost %.6g", p->cost);
    }
    printf("\n\n");
}

static void print_variables(const cli_planning *t) {
    int n = t->n_variable;
    int n_print = n < PRINT_LIMIT ? n : PRINT_LIMIT;
    int width = 4;
    for (int j = 0; j < n_print; j++) {
        int length = (int)strlen(t->name[j]);
        width = length > width ? length : width;
    }
    double start = cli_largest(n_print, t->plan.start, sizeof *t->plan.start);
    double plan = cli_largest(n_print, t->plan.z, sizeof *t->plan.z);
    printf("%-*s  %14s  %14s\n", width, "name", "start", "plan");
    for (int j = 0; j < n_print; j++) {
        bool is_at_bound = t->plan.z[j] <= t->domain[j].lower || t->plan.z[j] >= t->domain[j].upper;
        printf("%-*s  %14.8g  %14.8g%s\n", width, t->name[j], cli_shown(t->plan.start[j], start),
               cli_shown(t->plan.z[j], plan), is_at_bound ? "  at its bound" : "");
    }
    if (n > n_print) {
        printf("... and %d more; --plan FILE or --json FILE has them all\n", n - n_print);
    }
}

void cli_plan_print(const cli_planning *t) {
    print_head(t);
    print_variables(t);
    putchar('\n');
    for (int i = 0; i < t->options->n_target; i++) {
        const char *target = t->options->target[i];
        if (isnan(t->plan.distance[i])) {
            printf("%-30s  not come to\n", target);
        } else {
            printf("%-30s  %.3g m away\n", target, t->plan.distance[i]);
        }
    }
}

int cli_plan_judge(const cli_planning *t, const cr_error *err) {
    const cri_plan *p = &t->plan;
    bool is_minimum = p->stop == CRI_PLAN_CONVERGED && t->options->plan.cost > 0.0;
    if (p->stop == CRI_PLAN_REACHED || is_minimum) {
        return CLI_DONE;
    }
    fflush(stdout);
    if (p->stop == CRI_PLAN_UNSAVED) {
        return cli_error(err);
    }
    int worst = 0;
    for (int i = 1; i < t->options->n_target; i++) {
        worst = p->distance[i] > p->distance[worst] ? i : worst;
    }
    const char *target = t->options->target[worst];
    if (p->stop == CRI_PLAN_NO_EFFECT) {
        return cli_failed("no control moves %.60s: the gradient is zero, as when a body is never "
                          "touched; start elsewhere (--set, --starts N), name other --controls, or "
                          "try --bundle N:SIGMA:zeroth",
                          target);
    }
    if (p->stop == CRI_PLAN_INTERRUPTED) {
        const char *file = t->plan_options.checkpoint;
        bool is_there = file && cri_checkpoint_exists(file);
        cli_say("interrupted; %s%s",
                is_there ? "give the same options to go on from "
                : file   ? "it was drawing a start, of which nothing is kept"
                         : "--checkpoint FILE would let it go on",
                is_there ? file : "");
        return CLI_DONE;
    }
    bool is_limit = p->stop == CRI_PLAN_ITERATION;
    return cli_failed(
        "%.60s is not reached: the best plan is %.3g m away; %s", target, p->distance[worst],
        is_limit ? "raise --iterations" : "wider --bound, more --controls or --starts N may help");
}

// ---- files -------------------------------------------------------------------------------------

static double dt_of(const cli_planning *t, int step) {
    return t->aim.schedule.dt[t->aim.schedule.n_dt > 1 ? step : 0];
}

static double *row_of(const cli_planning *t, int step) {
    size_t row = t->point.n_u_row > 1 ? (size_t)step : 0;
    return t->point.u + row * (size_t)t->scene.sizes.n_u;
}

/// The motion, as carom simulate would write it.
static int write_motion(const cli_planning *t, const char *path) {
    cr_error err = {0};
    cri_trajectory file;
    bool has_control = t->scene.has_control;
    cri_trajectory_def def = {.model = t->scene.model,
                              .scene = t->scene.path,
                              .law = t->scene.sim_options.law,
                              .dt = t->scene.dt,
                              .has_control = has_control};
    if (cr_sim_set_params(t->sim, t->point.p, &err) != CR_OK ||
        cri_trajectory_open(path, &def, &file, &err) != CR_OK) {
        return cli_error(&err);
    }
    int n_step = t->aim.schedule.n_step;
    size_t n_x = (size_t)t->scene.sizes.n_x;
    double *x = CR_PUSH(t->scene.memory, double, n_x);
    if (!x) {
        cri_trajectory_cancel(&file);
        return cli_failed("no memory for %zu numbers", n_x);
    }
    memcpy(x, t->point.x0, n_x * sizeof *x); // a report begins there too
    double time = 0.0;
    cr_status status = cri_trajectory_row(&file, time, x, row_of(t, 0), &err);
    for (int k = 0; k < n_step && status == CR_OK; k++) {
        const double *u = has_control ? row_of(t, k) : NULL;
        time = t->aim.schedule.n_dt > 1 ? time + dt_of(t, k) : (k + 1) * dt_of(t, k);
        status = cr_sim_step(t->sim, dt_of(t, k), x, u, x, &err);
        if (status == CR_OK) {
            int next = k + 1 < n_step ? k + 1 : k;
            status = cri_trajectory_row(&file, time, x, row_of(t, next), &err);
        }
    }
    if (status != CR_OK) {
        cri_trajectory_cancel(&file);
        return cli_error(&err);
    }
    return cri_trajectory_commit(&file, &err) == CR_OK ? CLI_DONE : cli_error(&err);
}

/// True for a control that is planned, or not zero all the time.
static bool is_used(const cli_planning *t, int i) {
    for (int j = 0; j < t->selection->n_variable; j++) {
        const cri_variable *variable = &t->selection->variable[j];
        for (int k = 0; k < variable->n_place; k++) {
            if (variable->place[k].vector == CR_VECTOR_U && variable->place[k].index == i) {
                return true;
            }
        }
    }
    for (int k = 0; k < t->point.n_u_row; k++) {
        if (row_of(t, k)[i] != 0.0) {
            return true;
        }
    }
    return false;
}

/// Controls over time, a row a step.
static int write_controls(const cli_planning *t, const char *path) {
    int n_u = t->scene.sizes.n_u;
    int n_col = 0;
    int *column = CR_PUSH(t->scene.memory, int, n_u);
    for (int i = 0; i < n_u && column; i++) {
        if (is_used(t, i)) {
            column[n_col++] = i;
        }
    }
    if (!column) {
        return cli_failed("no memory for %d controls", n_u);
    }
    cr_error err = {0};
    cri_atomic_file file;
    if (cri_atomic_open(path, &file, &err) != CR_OK) {
        return cli_error(&err);
    }
    fputs("t", file.stream);
    for (int c = 0; c < n_col; c++) {
        fprintf(file.stream, ",%s", cr_model_name(t->scene.model, CR_VECTOR_U, column[c]));
    }
    double time = 0.0;
    for (int k = 0; k < t->aim.schedule.n_step; k++) {
        fprintf(file.stream, "\n%.12g", t->aim.schedule.n_dt > 1 ? time : k * dt_of(t, k));
        for (int c = 0; c < n_col; c++) {
            fprintf(file.stream, ",%.17g", row_of(t, k)[column[c]]);
        }
        time += dt_of(t, k);
    }
    fputc('\n', file.stream);
    return cri_atomic_commit(&file, &err) == CR_OK ? CLI_DONE : cli_error(&err);
}

static int write_json(const cli_planning *t, const char *path) {
    cri_plan_result result = {.scene = t->scene.path,
                              .law = t->scene.sim_options.law,
                              .method = cri_method_text(t->plan_options.minimise.method),
                              .plan = &t->plan,
                              .n_control = t->n_variable,
                              .control = t->name,
                              .n_target = t->options->n_target,
                              .target = t->options->target,
                              .seconds = t->seconds};
    cr_error err = {0};
    return cri_result_plan(path, &result, &err) == CR_OK ? CLI_DONE : cli_error(&err);
}

int cli_plan_write(const cli_planning *t) {
    int code = CLI_DONE;
    if (t->options->json) {
        code = write_json(t, t->options->json);
    }
    if (code == CLI_DONE && t->options->plan.file) {
        code = write_controls(t, t->options->plan.file);
    }
    if (code == CLI_DONE && t->options->output) {
        code = write_motion(t, t->options->output);
    }
    return code;
}
