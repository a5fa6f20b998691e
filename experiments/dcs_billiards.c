// SPDX-License-Identifier: MIT
//
// A break shot (paper 000, Sect. 5.4): place and velocity of the white ball so that the last of ten
// others stands at (0.9, 0.75) in step 1023 of 0.003 s. The planner of carom plan searches through
// the convex contact law. Beside it the rule that the paper compares with, and its plain descent
// with rate 0.01: balls that would overlap and approach get
//
//   impulse = -(1 + e)/2 v_n n,   place += min(toi - dt, 0) impulse,
//   toi = (distance - 2 r)/min(-1e-3, v_n)
//
// at the places that the step predicts. Its derivatives are complex steps, exact to rounding.

#include "dcs_case.h"

#include "base/base.h"
#include "optimize/controls.h"
#include "optimize/plan.h"
#include "points/contact/points_model.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { N_BALL = 11, N_STEP = 1023, N_ITERATION = 200, N_CONTROL = 4 };

static const double goal[2] = {0.9, 0.75};

// a loss that counts as reached, m^2
static const double reached = 1e-3;

// ---- the rule that the paper compares with -----------------------------------------------------

typedef double complex number;

static number least(number a, number b) {
    return creal(a) < creal(b) ? a : b;
}

/// All balls.
typedef struct table {
    number x[N_BALL][2], v[N_BALL][2];
} table;

// adds to the velocity and place of ball i what ball j does to it
static void strike(const table *t, int i, int j, double dt, number v[2], number x[2]) {
    const double radius = 0.03, restitution = 0.8;
    number d[2], u[2];
    for (int c = 0; c < 2; c++) {
        u[c] = t->v[i][c] - t->v[j][c];
        d[c] = t->x[i][c] - t->x[j][c] + dt * u[c];
    }
    number square = d[0] * d[0] + d[1] * d[1];
    if (creal(square) >= 4.0 * radius * radius) {
        return;
    }
    number distance = csqrt(square), normal = (d[0] * u[0] + d[1] * u[1]) / distance;
    if (creal(normal) >= 0.0) {
        return;
    }
    number toi = (distance - 2.0 * radius) / least(-1e-3, normal);
    number impulse = -0.5 * (1.0 + restitution) * normal;
    for (int c = 0; c < 2; c++) {
        v[c] += impulse * d[c] / distance;
        x[c] += least(toi - dt, 0.0) * impulse * d[c] / distance;
    }
}

static void step_rule(table *t, double dt) {
    table next = *t;
    for (int i = 0; i < N_BALL; i++) {
        for (int j = 0; j < N_BALL; j++) {
            if (j != i) {
                strike(t, i, j, dt, next.v[i], next.x[i]);
            }
        }
        for (int c = 0; c < 2; c++) {
            next.x[i][c] += dt * next.v[i][c];
        }
    }
    *t = next;
}

// loss of z, and its slope
static double run_rule(const double *x0, const double z[N_CONTROL], double slope[N_CONTROL]) {
    const double tiny = 1e-30, dt = 0.003;
    double loss = 0.0;
    for (int k = 0; k < N_CONTROL; k++) {
        table t;
        for (int i = 0; i < 2 * N_BALL; i++) {
            t.x[i / 2][i % 2] = x0[i];
            t.v[i / 2][i % 2] = x0[2 * N_BALL + i];
        }
        for (int c = 0; c < N_CONTROL; c++) {
            number value = z[c] + (c == k ? tiny * I : 0.0);
            *(c < 2 ? &t.x[0][c] : &t.v[0][c - 2]) = value;
        }
        for (int n = 0; n < N_STEP; n++) {
            step_rule(&t, dt);
        }
        number miss[2] = {t.x[N_BALL - 1][0] - goal[0], t.x[N_BALL - 1][1] - goal[1]};
        number square = miss[0] * miss[0] + miss[1] * miss[1];
        loss = creal(square);
        slope[k] = cimag(square) / tiny;
    }
    return loss;
}

/// How a search went.
typedef struct search {
    int n;
    double loss[N_ITERATION + 1]; // before each iteration, and at the end
} search;

static void descend(const double *x0, search *out) {
    double z[N_CONTROL] = {x0[0], x0[1], x0[2 * N_BALL], x0[2 * N_BALL + 1]};
    double slope[N_CONTROL];
    for (int n = 0; n <= N_ITERATION; n++) {
        out->loss[out->n++] = run_rule(x0, z, slope);
        for (int c = 0; c < N_CONTROL; c++) {
            z[c] -= 0.01 * slope[c];
        }
    }
}

// ---- the planner -------------------------------------------------------------------------------

static cr_status solve(const cr_model *model, const cri_selection *selection, cri_method method,
                       const cri_experiment_options *o, cr_arena *arena, search *out,
                       cr_error *err) {
    int n = selection->n_variable;
    cri_domain *domain = CR_PUSH(arena, cri_domain, n);
    double *z = CR_PUSH(arena, double, n);
    if (!domain || !z) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
    }
    cri_point point;
    cri_target target;
    cri_plan plan;
    CR_TRY(cri_point_push(selection, N_STEP, arena, &point, err));
    CR_TRY(cri_target_parse(model, "ball11:0.9,0.75,0", &target, err));
    cr_model_defaults(model, -1, point.p, point.x0, NULL);
    cri_selection_read(selection, &point, z);
    cri_controls_domain(selection, model, domain);
    const cr_sim_options sim_options = cr_sim_options_default(model);
    const cri_shot_def def = {.model = model,
                              .sim_options = &sim_options,
                              .selection = selection,
                              .domain = domain,
                              .start = &point,
                              .n_target = 1,
                              .target = &target,
                              .aim = {.n_step = N_STEP, .dt = 0.003}};
    cri_plan_options options = cri_plan_options_default(method);
    options.iteration_limit = N_ITERATION;
    options.n_thread = o->n_thread;
    options.progress = o->progress;
    CR_TRY(cri_plan_solve(&def, &options, z, arena, &plan, err));
    for (int k = 0; k < plan.n_history && out->n <= N_ITERATION; k++) {
        out->loss[out->n++] = plan.history[k];
    }
    return CR_OK;
}

static cr_status plan_shot(cri_method method, const cri_experiment_options *o, search *out,
                           cr_error *err) {
    cri_points_scene *scene = NULL;
    cr_model *model = NULL;
    cri_selection *selection = NULL;
    CR_TRY(cri_points_scene_create("billiards", 0, &scene, err));
    CR_TRY(cri_points_model_create(scene, &model, err));
    cr_arena *arena = cri_arena_create(1 << 16);
    cr_status status = arena ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory to plan");
    if (status == CR_OK) {
        status = cri_controls_create(model, "x0:ball1/qpos[*],x0:ball1/qvel[*]", N_STEP, 0,
                                     &selection, err);
    }
    if (status == CR_OK) {
        status = solve(model, selection, method, o, arena, out, err);
    }
    cri_selection_destroy(selection);
    cri_arena_destroy(arena);
    cr_model_destroy(model);
    return status;
}

// ---- rows --------------------------------------------------------------------------------------

static void tell(const char *name, const search *s, const double paper[2], cri_report *report,
                 cri_experiment_result *out) {
    int first = 0;
    while (first < s->n && s->loss[first] >= reached) {
        first++;
    }
    cri_experiment_add(out, "m^2", "match", s->loss[0], paper[0], "%s first loss", name);
    cri_experiment_add(out, "m^2", "match", s->loss[s->n > 1], paper[1], "%s second loss", name);
    cri_experiment_add(out, "m^2", "lower", s->loss[s->n - 1], NAN, "%s loss at the end", name);
    cri_experiment_add(out, "", "lower", s->n - 1, NAN, "%s iterations", name);
    cri_experiment_add(out, "", "lower", first < s->n ? (double)first : NAN, NAN,
                       "%s iterations to below 1e-3", name);
    if (!report) {
        return;
    }
    int chart = cri_report_chart(
        report, &(cri_report_chart_def){.title = name, .x = "iteration", .y = "loss in m^2"});
    int series = cri_report_series(report, chart, 1, (cri_report_line[]){{name, CRI_LINE_SOLID}});
    for (int k = 0; k < s->n; k++) {
        cri_report_point(report, series, k, (double[]){s->loss[k]});
    }
}

cr_status cri_dcs_billiards_run(const cri_experiment *self, const cri_experiment_options *options,
                                cri_experiment_result *out, cr_error *err) {
    (void)self;
    static const double none[2] = {0.0455, NAN}, rule[2] = {0.0454, 0.0293};
    search newton = {0}, lbfgs = {0}, descent = {0};
    CR_TRY(plan_shot(CRI_METHOD_GAUSS_NEWTON, options, &newton, err));
    CR_TRY(plan_shot(CRI_METHOD_LBFGS, options, &lbfgs, err));
    cri_points_scene *scene = NULL;
    CR_TRY(cri_points_scene_create("billiards", 0, &scene, err));
    descend(scene->x0, &descent);
    cri_points_scene_destroy(scene);
    tell("cone, gauss-newton", &newton, none, options->report, out);
    tell("cone, lbfgs", &lbfgs, none, options->report, out);
    tell("time-of-impact rule, descent", &descent, rule, options->report, out);
    return CR_OK;
}
