// SPDX-License-Identifier: MIT
//
// One search of a task, as `carom plan experiments/scenes/NAME.xml` does it: Adam (0.3, 0.5), the
// loss max(0, d^2 - radius^2) summed over the objects, for a receding horizon over the steps of a
// window too; behind it Gauss-Newton where a task asks for it. Seeds other than 0 move the targets
// by up to 0.05 m, of billiards each draws its own.

#include "lrc_task.h"

#include "base/random.h"
#include "optimize/controls.h"
#include "optimize/receding.h"

#include <math.h>
#include <string.h>
#include <time.h>

// of targets by seed, m
#define SHIFT 0.05

// draws of a sampled start (experiments of paper 002: best of 64) and of a bundle in quick runs
enum { N_SAMPLE = 64, N_SAMPLE_QUICK = 4, N_BUNDLE_QUICK = 4 };

cr_status lrc_task_model(const lrc_task *task, cr_model **out, cr_error *err) {
    const char *text = lrc_scene(task->scene);
    CR_ASSERT(text);
    return cr_model_parse(text, strlen(text), task->scene, out, err);
}

// radius of the loss: in contact less than what counts, for all laws, as the mean over a bundle's
// draws comes to rest about the rim
static double aim_of(const lrc_run *r) {
    const lrc_task *t = r->task;
    return t->aim > 0.0 ? t->aim : r->start == LRC_TOUCHING ? 0.8 * t->radius : t->radius;
}

static cr_status read_targets(lrc_run *r, cr_error *err) {
    cri_random draw = cri_random_of(r->seed, 0x7461736bu);
    bool is_touching = r->start == LRC_TOUCHING;
    const char *only[2] = {r->task->contact_target, NULL};
    const char *const *text = is_touching ? only : r->task->target;
    if (r->task->is_shot) {
        return lrc_shot_targets(r, err);
    }
    for (r->n_target = 0; text[r->n_target]; r->n_target++) {
        cri_target *t = &r->target[r->n_target];
        CR_TRY(cri_target_parse(r->model, text[r->n_target], t, err));
        t->order = r->n_target;
        t->radius = aim_of(r);
        for (int i = 0; i < 2 && r->seed > 0; i++) {
            t->point[i] += (is_touching ? 0.2 : 1.0) * cri_random_uniform(&draw, -SHIFT, SHIFT);
        }
        t->time = t->has_time ? t->time : r->n_step * r->dt;
        t->has_time = true;
    }
    return CR_OK;
}

static cri_plan_options plan_options(const lrc_run *r) {
    bool is_full = r->o->is_full;
    cri_plan_options options = cri_plan_options_default(CRI_METHOD_ADAM);
    options.minimise.rate = r->rate;
    options.tolerance = aim_of(r) < r->task->radius ? r->task->radius : options.tolerance;
    options.minimise.beta[0] = 0.3;
    options.minimise.beta[1] = 0.5;
    options.minimise.halve = r->task->n_halve;
    options.iteration_limit = r->task->n_iteration[is_full || r->start == LRC_TOUCHING];
    options.minimise.patience = options.iteration_limit + 1;
    options.bundle = r->rival->bundle;
    options.bundle.n = r->rival->bundle.n > 0 && !is_full ? N_BUNDLE_QUICK : r->rival->bundle.n;
    options.n_sample = r->start != LRC_SAMPLED ? 0 : is_full ? N_SAMPLE : N_SAMPLE_QUICK;
    options.spread = r->task->spread;
    options.seed = r->seed;
    options.n_thread = r->o->n_thread;
    options.progress = r->o->progress;
    return options;
}

static cr_sim_options sim_options(const lrc_run *r) {
    cr_sim_options options = cr_sim_options_default(r->model);
    options.law = r->rival->law;
    options.stepper = NULL;
    return options;
}

// parameters and state of the start
static void set_start(const lrc_run *r, double *p, double *x) {
    int mu = cr_model_find(r->model, CR_VECTOR_P, "potential/mu", NULL);
    cr_model_defaults(r->model, -1, p, x, NULL);
    if (mu >= 0 && r->rival->mu > 0.0) {
        p[mu] = r->rival->mu;
    }
    if (r->start == LRC_TOUCHING) {
        memcpy(x, r->task->contact_place, sizeof r->task->contact_place);
    }
}

static int count_bounds(const lrc_task *t) {
    int n = 0;
    while (n < LRC_BOUND_MOST && t->bound[n]) {
        n++;
    }
    return n;
}

// steps of what takes n steps of the scene's length
static int steps_of(const lrc_run *r, int n) {
    return (int)lround(n * cr_model_sizes(r->model).dt / r->dt);
}

static void take_history(lrc_run *r, int n, const double *history) {
    r->n_history = n < r->room_history ? n : r->room_history;
    memcpy(r->history, history, (size_t)r->n_history * sizeof *history);
}

// ---- receding horizon --------------------------------------------------------------------------

static cr_status plan_windows(lrc_run *r, cr_error *err) {
    const lrc_task *t = r->task;
    int n_u = cr_model_sizes(r->model).n_u, horizon = steps_of(r, t->horizon[r->o->is_full]);
    cr_sim_options sim = sim_options(r);
    for (int k = 0; k < r->n_step && r->start == LRC_TOUCHING; k++) {
        double *u = r->u + (size_t)k * (size_t)n_u;
        memcpy(u, t->contact_place, sizeof t->contact_place);
        u[0] += t->contact_push;
    }
    cri_receding_def def = {.model = r->model,
                            .sim_options = &sim,
                            .controls = t->controls,
                            .bound = t->bound,
                            .n_bound = count_bounds(t),
                            .n_knot = t->n_knot,
                            .p = r->p,
                            .x = r->x,
                            .n_target = r->n_target,
                            .target = r->target,
                            .n_step = r->n_step,
                            .dt = r->dt,
                            .horizon = horizon < r->n_step ? horizon : r->n_step,
                            .execute = steps_of(r, t->execute[r->o->is_full]),
                            .n_focus = t->n_focus};
    // one window in contact: a box without friction cannot be held back later
    bool is_whole = r->start == LRC_TOUCHING || def.execute > def.horizon;
    def.execute = is_whole ? def.horizon : def.execute;
    cri_plan_options options = plan_options(r);
    cri_receding result;
    CR_TRY(cri_receding_run(&def, &options, r->u, r->arena, &result, err));
    r->stop = result.stop;
    r->n_iteration = result.n_iteration;
    take_history(r, result.n_window, result.history);
    return CR_OK;
}

// ---- the whole run at once ---------------------------------------------------------------------

/// Variables of a search, its own or waves.
typedef struct variables {
    cri_selection *selection;
    cri_waves waves;
    cri_domain *domain;
    double *z;
    cri_point point;
} variables;

static cr_status name_variables(const lrc_run *r, variables *v, cr_error *err) {
    const lrc_task *t = r->task;
    CR_TRY(cri_controls_create(r->model, t->controls, r->n_step, t->n_knot, &v->selection, err));
    int n = v->selection->n_variable;
    v->domain = CR_PUSH(r->arena, cri_domain, n);
    v->z = CR_PUSH(r->arena, double, n);
    if (!v->domain || !v->z) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
    }
    CR_TRY(cri_point_push(v->selection, r->n_step, r->arena, &v->point, err));
    set_start(r, v->point.p, v->point.x0);
    cri_controls_domain(v->selection, r->model, v->domain);
    cri_selection_read(v->selection, &v->point, v->z);
    for (int i = 0; i < count_bounds(t); i++) {
        CR_TRY(cri_controls_bound(v->selection, t->bound[i], v->domain, err));
    }
    if (t->n_sine == 0) {
        return CR_OK;
    }
    CR_TRY(
        cri_waves_create(v->selection, r->n_step, 1, &r->dt, t->n_sine, r->arena, &v->waves, err));
    cri_domain *own = CR_PUSH(r->arena, cri_domain, v->waves.n);
    v->z = CR_PUSH(r->arena, double, v->waves.n);
    if (!own || !v->z) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
    }
    cri_waves_begin(&v->waves, v->domain, own, v->z);
    v->domain = own;
    return CR_OK;
}

// first state and controls of the plan
static cr_status take_plan(lrc_run *r, variables *v, const double *z, cr_error *err) {
    cr_sizes sizes = cr_model_sizes(r->model);
    const double *value = z;
    if (v->waves.n > 0) {
        double *of_waves = CR_PUSH(r->arena, double, v->selection->n_variable);
        if (!of_waves) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
        }
        cri_waves_write(&v->waves, z, of_waves);
        value = of_waves;
    }
    cri_selection_write(v->selection, value, &v->point);
    memcpy(r->x, v->point.x0, (size_t)sizes.n_x * sizeof *r->x);
    for (int k = 0; k < r->n_step; k++) {
        int row = v->point.n_u_row > 1 ? k : 0;
        memcpy(r->u + (size_t)k * (size_t)sizes.n_u, v->point.u + (size_t)row * (size_t)sizes.n_u,
               (size_t)sizes.n_u * sizeof *r->u);
    }
    return CR_OK;
}

static void take_result(lrc_run *r, const cri_plan *plan) {
    int n = r->room_history - r->n_history;
    n = plan->n_history < n ? plan->n_history : n;
    memcpy(r->history + r->n_history, plan->history, (size_t)n * sizeof *plan->history);
    r->n_history += n;
    r->n_iteration += plan->n_iteration;
    r->stop = plan->stop;
}

/// Goes on from a plan that did not reach by Gauss-Newton on plain distances: Adam finds the
/// valley, whose bottom is too narrow for its steps.
static cr_status finish(lrc_run *r, const cri_shot_def *first, cri_plan *plan, cr_error *err) {
    cri_shot_def def = *first;
    cri_target target[LRC_TARGET_MOST];
    cri_plan_options options = plan_options(r);
    memcpy(target, r->target, sizeof target);
    for (int i = 0; i < r->n_target; i++) {
        target[i].radius = 0.0;
    }
    def.target = target;
    options.minimise = cri_minimise_options_default(CRI_METHOD_GAUSS_NEWTON);
    options.minimise.rate = r->rate;
    options.iteration_limit = r->task->n_finish[r->o->is_full];
    options.tolerance = r->task->radius;
    options.bundle = (cri_bundle_options){0};
    options.n_sample = 0;
    if (options.iteration_limit == 0 || plan->stop == CRI_PLAN_REACHED ||
        plan->stop == CRI_PLAN_INTERRUPTED || !cri_shot_has_residuals(&def)) {
        return CR_OK;
    }
    CR_TRY(cri_plan_solve(&def, &options, plan->z, r->arena, plan, err));
    take_result(r, plan);
    return CR_OK;
}

static cr_status plan_whole(lrc_run *r, variables *v, cr_error *err) {
    CR_TRY(name_variables(r, v, err));
    cr_sim_options sim = sim_options(r);
    cri_shot_def def = {.model = r->model,
                        .sim_options = &sim,
                        .selection = v->selection,
                        .waves = v->waves.n > 0 ? &v->waves : NULL,
                        .domain = v->domain,
                        .start = &v->point,
                        .has_control = cri_selection_has(v->selection, CR_VECTOR_U),
                        .n_target = r->n_target,
                        .target = r->target,
                        .aim = {.n_step = r->n_step, .dt = r->dt}};
    cri_plan_options options = plan_options(r);
    cri_plan plan;
    CR_TRY(cri_plan_solve(&def, &options, v->z, r->arena, &plan, err));
    take_result(r, &plan);
    CR_TRY(finish(r, &def, &plan, err));
    return take_plan(r, v, plan.z, err);
}

// ---- both --------------------------------------------------------------------------------------

cr_status lrc_run_open(lrc_run *r, cr_error *err) {
    cr_sizes sizes = cr_model_sizes(r->model);
    const lrc_task *t = r->task;
    r->dt = r->dt > 0.0 ? r->dt : sizes.dt;
    r->worst = INFINITY;
    r->settled = NAN;
    r->n_step = steps_of(r, r->start == LRC_TOUCHING ? t->horizon[r->o->is_full]
                                                     : t->n_step[r->o->is_full]);
    int n_iteration = t->n_iteration[r->o->is_full] + t->n_finish[r->o->is_full];
    r->room_history = t->horizon[0] > 0 ? r->n_step : n_iteration + 2;
    r->p = CR_PUSH(r->arena, double, sizes.n_p);
    r->x = CR_PUSH(r->arena, double, sizes.n_x);
    r->u = CR_PUSH(r->arena, double, (size_t)r->n_step *(size_t)sizes.n_u);
    r->loss = CR_PUSH(r->arena, double, r->n_step + 1);
    r->history = CR_PUSH(r->arena, double, r->room_history);
    if (!r->p || !r->x || !r->u || !r->loss || !r->history) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
    }
    set_start(r, r->p, r->x);
    return read_targets(r, err);
}

static double cpu_clock(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

cr_status lrc_run_search(lrc_run *r, cr_error *err) {
    double begin = cpu_clock();
    if (r->task->horizon[0] > 0) {
        CR_TRY(plan_windows(r, err));
    } else {
        variables v = {0};
        cr_status status = plan_whole(r, &v, err);
        cri_selection_destroy(v.selection);
        CR_TRY(status);
    }
    r->seconds = cpu_clock() - begin;
    return r->stop == CRI_PLAN_INTERRUPTED ? CR_OK : lrc_run_replay(r, NULL, err);
}

// loss and farthest object of a state; true: all are in place
static bool judge(lrc_run *r, int step, const double *x) {
    double loss = 0.0;
    bool is_there = true;
    r->worst = 0.0;
    for (int i = 0; i < r->n_target; i++) {
        const cri_target *t = &r->target[i];
        double d = cri_target_distance(t, x);
        loss += cri_target_loss(t, x);
        is_there = is_there && d <= r->task->radius;
        r->worst = fmax(r->worst, d);
    }
    r->loss[step] = loss;
    return is_there;
}

cr_status lrc_run_replay(lrc_run *r, cri_report *report, cr_error *err) {
    cr_sizes sizes = cr_model_sizes(r->model);
    double *x = CR_PUSH(r->arena, double, sizes.n_x);
    cr_sim *sim = NULL;
    cr_sim_options options = sim_options(r);
    options.use_gradient = false;
    if (!x) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
    }
    memcpy(x, r->x, (size_t)sizes.n_x * sizeof *x);
    CR_TRY(cr_sim_create(r->model, &options, &sim, err));
    cr_status status = cr_sim_set_params(sim, r->p, err);
    cri_report_variant(report, r->rival->name, sim);
    cri_report_frame(report, 0.0, x, 0, NULL);
    bool is_there = judge(r, 0, x);
    r->settled = is_there ? 0.0 : NAN;
    for (int k = 0; k < r->n_step && status == CR_OK; k++) {
        status = cr_sim_step(sim, r->dt, x, r->u + (size_t)k * (size_t)sizes.n_u, x, err);
        is_there = status == CR_OK && judge(r, k + 1, x);
        r->settled = !is_there ? NAN : isnan(r->settled) ? (k + 1) * r->dt : r->settled;
        cri_report_frame(report, (k + 1) * r->dt, x, 0, NULL);
    }
    cr_sim_destroy(sim);
    return status;
}

// ---- kept runs ---------------------------------------------------------------------------------

enum { N_FIGURE = 6 };

size_t lrc_run_size(const lrc_run *r) {
    cr_sizes sizes = cr_model_sizes(r->model);
    return N_FIGURE + (size_t)sizes.n_x + (size_t)r->n_step * (size_t)sizes.n_u +
           (size_t)r->n_step + 1 + (size_t)r->room_history;
}

// the arrays one behind another
static void move_arrays(const lrc_run *r, double *number, bool is_pack) {
    cr_sizes sizes = cr_model_sizes(r->model);
    double *own[] = {r->x, r->u, r->loss, r->history};
    const size_t n[] = {(size_t)sizes.n_x, (size_t)r->n_step * (size_t)sizes.n_u,
                        (size_t)r->n_step + 1, (size_t)r->room_history};
    for (int i = 0; i < 4; i++) {
        memcpy(is_pack ? number : own[i], is_pack ? own[i] : number, n[i] * sizeof *number);
        number += n[i];
    }
}

void lrc_run_pack(const lrc_run *r, double *number) {
    const double figure[N_FIGURE] = {(double)r->stop, (double)r->n_history, (double)r->n_iteration,
                                     r->worst,        r->settled,           r->seconds};
    memcpy(number, figure, sizeof figure);
    move_arrays(r, number + N_FIGURE, true);
}

void lrc_run_unpack(lrc_run *r, double *number) {
    r->stop = (cri_plan_stop)number[0];
    r->n_history = (int)number[1];
    r->n_iteration = (int)number[2];
    r->worst = number[3];
    r->settled = number[4];
    r->seconds = number[5];
    move_arrays(r, number + N_FIGURE, false);
}
