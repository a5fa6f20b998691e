// SPDX-License-Identifier: MIT
//
// Planning.
//
// Start 0 is the given one; the others draw each variable evenly between its bounds, or from a bell
// around the given value when it has none. All starts make iteration k before any makes k + 1; what
// ends the search is looked at in between, in the order of the starts, by one thread. So nothing
// depends on the threads, and a checkpoint between two iterations holds everything.

#include "optimize/plan.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/io/checkpoint.h"
#include "base/io/number.h"
#include "base/math/dense.h"
#include "base/random.h"
#include "dynamics/unit.h"
#include "optimize/aim.h"
#include "optimize/controls.h"
#include "optimize/minimise.h"
#include "optimize/select.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum { CRI_N_PLAN_STOP = CRI_PLAN_UNSAVED + 1 };

// numbers of the stream that the draws come from
#define BUNDLE_STREAM 0x62756e646c65u

// most draws of one bundle: more runs than these take an iteration to minutes
#define DRAW_LIMIT 100000

// stream of the starts, and more samples than any start has
#define START_STREAM 0x737461727473u
#define SAMPLE_LIMIT 10000000u

// a gradient that would change the loss by less than this part of it is rounding of zero
#define EFFECT_LEAST 1e-13

/// One search.
typedef struct attempt {
    cr_arena *arena;
    cri_shot shot;
    cri_bundle bundle;
    cri_minimiser minimiser;
    double *kept;               // (1 + n) the best loss without smoothing, and its point
    double *start;              // (n)
    bool is_judged, is_reached; // are targets within the tolerance at the best point, if known
    cr_status status;
    cr_error err;
} attempt;

typedef struct search {
    const cri_shot_def *def;
    const cri_plan_options *options;
    attempt *attempt; // (n_start)
    double *history;  // (iteration_limit + 1)
    int64_t count[2]; // iterations, entries of the history
    int n;
    bool is_cut; // told to stop while it drew
} search;

/// Number of variables.
static inline int cri_shot_size(const cri_shot_def *def) {
    return def->waves ? def->waves->n : def->selection->n_variable;
}

// ---- gradient bundles ---------------------------------------------------------------------------

// Gradient bundles.
//
//   first order    F = mean f(z + sigma w)
//                  gradient = mean of the gradients there
//   zeroth order   F = mean (f(z + sigma w) + f(z - sigma w)) / 2
//                  gradient = mean (f(z + sigma w) - f(z - sigma w)) w / (2 sigma)
//
// Points beyond a bound are moved onto it. The means run over the draws that have a value, in their
// order; when less than half have one, F has none.

bool cri_bundle_parse(const char *text, cri_bundle_options *out) {
    size_t n = strcspn(text, ":");
    double count = 0.0;
    if (text[n] != ':' || cri_number_parse(text, n, &count) != CRI_NUMBER_OK || count < 1.0 ||
        count > DRAW_LIMIT || count != floor(count)) {
        return false;
    }
    const char *rest = text + n + 1;
    n = strcspn(rest, ":");
    if (cri_number_parse(rest, n, &out->sigma) != CRI_NUMBER_OK || !(out->sigma > 0.0)) {
        return false;
    }
    const char *order = rest[n] ? rest + n + 1 : "first";
    out->n = (int)count;
    out->is_zeroth = strcmp(order, "zeroth") == 0;
    return out->is_zeroth || strcmp(order, "first") == 0;
}

/// Work goes to z + k w, within the domain.
static void shift(cri_bundle *b, const double *z, const double *w, double k) {
    for (int j = 0; j < b->inner->n; j++) {
        b->z[j] = cri_domain_clamp(&b->inner->domain[j], z[j], z[j] + k * w[j]);
    }
}

/// Adds what one draw has to say to *sum and to gradient, unless it is NULL; *is_good is false when
/// that is nothing.
static cr_status add_first(cri_bundle *b, const double *z, const double *w, double *sum,
                           double *gradient, bool *is_good, cr_error *err) {
    const cri_objective *f = b->inner;
    double loss = 0.0;
    shift(b, z, w, b->options.sigma);
    cr_status status = f->loss(f->context, b->z, &loss, gradient ? b->gradient : NULL, err);
    *is_good = status == CR_OK && isfinite(loss);
    if (*is_good) {
        *sum += loss;
        if (gradient) {
            cri_add_scaled(f->n, 1.0, b->gradient, gradient);
        }
    }
    return status == CR_ERR_MEMORY ? status : CR_OK;
}

static cr_status add_zeroth(cri_bundle *b, const double *z, const double *w, double *sum,
                            double *gradient, bool *is_good, cr_error *err) {
    const cri_objective *f = b->inner;
    double loss[2] = {0.0, 0.0};
    *is_good = true;
    for (int side = 0; side < 2; side++) {
        shift(b, z, w, side == 0 ? b->options.sigma : -b->options.sigma);
        cr_status status = f->loss(f->context, b->z, &loss[side], NULL, err);
        if (status == CR_ERR_MEMORY) {
            return status;
        }
        *is_good = *is_good && status == CR_OK && isfinite(loss[side]);
    }
    if (*is_good) {
        *sum += 0.5 * (loss[0] + loss[1]);
        if (gradient) {
            cri_add_scaled(f->n, (loss[0] - loss[1]) / (2.0 * b->options.sigma), w, gradient);
        }
    }
    return CR_OK;
}

static cr_status evaluate_bundle(void *context, const double *z, double *loss, double *gradient,
                                 cr_error *err) {
    cri_bundle *b = context;
    int n = b->inner->n;
    int n_good = 0;
    double sum = 0.0;
    if (gradient) {
        memset(gradient, 0, (size_t)n * sizeof *gradient);
    }
    for (int i = 0; i < b->options.n; i++) {
        const double *w = b->noise + (size_t)i * (size_t)n;
        bool is_good = false;
        if (b->options.is_zeroth) {
            CR_TRY(add_zeroth(b, z, w, &sum, gradient, &is_good, err));
        } else {
            CR_TRY(add_first(b, z, w, &sum, gradient, &is_good, err));
        }
        n_good += is_good;
    }
    if (2 * n_good < b->options.n) {
        return cri_fail(err, CR_ERR_NUMERIC, 0,
                        "%d of %d draws of the bundle have no value; lower its sigma",
                        b->options.n - n_good, b->options.n);
    }
    *loss = sum / n_good;
    for (int j = 0; gradient && j < n; j++) {
        gradient[j] /= n_good;
    }
    return CR_OK;
}

cr_status cri_bundle_init(const cri_objective *inner, const cri_bundle_options *options,
                          cr_arena *arena, cri_bundle *out, cr_error *err) {
    CR_ASSERT(options->n > 0 && options->sigma > 0.0);
    size_t n = (size_t)inner->n;
    size_t n_noise = (size_t)options->n * n;
    *out = (cri_bundle){.options = *options, .inner = inner};
    out->noise = CR_PUSH(arena, double, n_noise);
    out->z = CR_PUSH(arena, double, n);
    out->gradient = CR_PUSH(arena, double, n);
    if (!out->noise || !out->z || !out->gradient) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a bundle of %d", options->n);
    }
    cri_random stream = cri_random_of(options->seed, BUNDLE_STREAM);
    for (size_t i = 0; i < n_noise; i++) {
        out->noise[i] = cri_random_normal(&stream);
    }
    out->objective = (cri_objective){
        .n = inner->n, .domain = inner->domain, .loss = evaluate_bundle, .context = out};
    return CR_OK;
}

// ---- the objective ------------------------------------------------------------------------------

// A run towards targets as an objective of its variables.
//
// The rows of the Jacobian come from adjoints, one for each coordinate of a target: that is three a
// target however many variables there are, where tangents would be one a variable.

/// From adjoints of the selection's variables to those of z; adds.
static void add_to_variables(const cri_shot *shot, const double *z, const double *value_adj,
                             double *z_adj) {
    if (shot->def->waves) {
        cri_waves_write_vjp(shot->def->waves, z, value_adj, z_adj);
        return;
    }
    for (int j = 0; j < shot->objective.n; j++) {
        z_adj[j] += value_adj[j];
    }
}

/// The selection's variables at z, in shot->value.
static void set_values(const cri_shot *shot, const double *z) {
    if (shot->def->waves) {
        cri_waves_write(shot->def->waves, z, shot->value);
    } else {
        memcpy(shot->value, z, (size_t)shot->objective.n * sizeof *z);
    }
}

static cr_status evaluate_shot(void *context, const double *z, double *loss, double *gradient,
                               cr_error *err) {
    cri_shot *shot = context;
    int n = shot->objective.n;
    CR_TRY(cri_shot_run(shot, z, loss, err));
    *loss += cri_shot_cost(shot, z);
    if (gradient) {
        memset(gradient, 0, (size_t)n * sizeof *gradient);
        CR_TRY(cri_shot_pull(shot, gradient, err));
        for (int j = 0; j < shot->def->selection->n_variable; j++) {
            shot->row[j] = 2.0 * shot->def->cost * shot->seconds[j] * shot->value[j];
        }
        add_to_variables(shot, z, shot->row, gradient);
    }
    return CR_OK;
}

static void clear_point(const cri_shot *shot, cri_point *point) {
    const cr_sizes *sizes = &shot->def->selection->sizes;
    memset(point->p, 0, (size_t)sizes->n_p * sizeof *point->p);
    memset(point->x0, 0, (size_t)sizes->n_x * sizeof *point->x0);
    memset(point->u, 0, (size_t)point->n_u_row * (size_t)sizes->n_u * sizeof *point->u);
}

/// The derivatives of one coordinate of a target's distance, by one adjoint of the run.
static cr_status pull_row(cri_shot *shot, int target, int axis, double *row, cr_error *err) {
    cri_aim *aim = &shot->aim;
    const cri_target *t = &aim->target[target];
    double unit[3] = {0.0, 0.0, 0.0};
    unit[axis] = 1.0;
    memset(aim->x_adj, 0, (size_t)aim->sizes.n_x * sizeof *aim->x_adj);
    cri_body_position_vjp(t->model, t->body, t->at, cri_aim_state(aim, target), cri_v3_load(unit),
                          aim->x_adj);
    cr_seed seed = {aim->schedule.step[target], aim->x_adj};
    clear_point(shot, &shot->adjoint);
    double *u_adj = aim->has_control ? shot->adjoint.u : NULL;
    double *p_adj = aim->has_no_params ? NULL : shot->adjoint.p;
    CR_TRY(cr_sim_rollout_vjp(shot->sim, 1, &seed, shot->adjoint.x0, u_adj, p_adj, err));
    memset(row, 0, (size_t)shot->objective.n * sizeof *row);
    cri_selection_write_vjp(shot->def->selection, &shot->adjoint, row);
    return CR_OK;
}

/// A cri_residuals with a cri_shot as context.
static cr_status residuals(void *context, const double *z, double *r, double *J, double *loss,
                           cr_error *err) {
    cri_shot *shot = context;
    int n = shot->objective.n;
    size_t m = (size_t)shot->objective.m;
    CR_TRY(cri_shot_run(shot, z, loss, err));
    if (J) {
        memset(J, 0, (size_t)n * m * sizeof *J);
    }
    int i = 0;
    for (int k = 0; k < shot->aim.n_target; k++) {
        const cri_target *t = &shot->aim.target[k];
        cri_vec3 at = cri_body_position(t->model, t->body, t->at, cri_aim_state(&shot->aim, k));
        cri_v3_store(cri_v3_sub(at, cri_v3_load(t->point)), r + i);
        for (int axis = 0; axis < 3; axis++, i++) {
            if (!J) {
                continue;
            }
            CR_TRY(pull_row(shot, k, axis, shot->row, err));
            for (int j = 0; j < n; j++) {
                J[(size_t)j * m + (size_t)i] = shot->row[j];
            }
        }
    }
    for (int j = 0; shot->def->cost > 0.0 && j < n; j++, i++) {
        double root = sqrt(shot->def->cost * shot->seconds[j]);
        r[i] = root * z[j];
        if (J) {
            J[(size_t)j * m + (size_t)i] = root;
        }
    }
    *loss = cri_dot((int)m, r, r);
    return CR_OK;
}

cr_status cri_shot_run(cri_shot *shot, const double *z, double *loss, cr_error *err) {
    if (!cri_all_finite(shot->objective.n, z)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a variable is not finite");
    }
    size_t n_byte = (size_t)shot->objective.n * sizeof *z;
    set_values(shot, z);
    shot->z = z;
    if (shot->has_last && memcmp(z, shot->last, n_byte) == 0) {
        *loss = shot->last_loss;
        return CR_OK;
    }
    shot->has_last = false;
    cri_selection_write(shot->def->selection, shot->value, &shot->point);
    CR_TRY(cri_aim_run(&shot->aim, shot->sim, &shot->point, loss, err));
    shot->grad = cr_sim_report(shot->sim)->grad;
    memcpy(shot->last, z, n_byte);
    shot->last_loss = *loss;
    shot->has_last = true;
    return CR_OK;
}

cr_status cri_shot_pull(cri_shot *shot, double *z_adj, cr_error *err) {
    clear_point(shot, &shot->adjoint);
    CR_TRY(cri_aim_gradient(&shot->aim, shot->sim, &shot->adjoint, err));
    memset(shot->row, 0, (size_t)shot->def->selection->n_variable * sizeof *shot->row);
    cri_selection_write_vjp(shot->def->selection, &shot->adjoint, shot->row);
    add_to_variables(shot, shot->z, shot->row, z_adj);
    return CR_OK;
}

double cri_shot_cost(const cri_shot *shot, const double *z) {
    double sum = 0.0;
    set_values(shot, z);
    for (int j = 0; j < shot->def->selection->n_variable; j++) {
        sum += shot->seconds[j] * shot->value[j] * shot->value[j];
    }
    return shot->def->cost * sum;
}

/// Distance of target i, counted by time, in the last run, m.
static double shot_distance(const cri_shot *shot, int i) {
    return cri_target_distance(&shot->aim.target[i], cri_aim_state(&shot->aim, i));
}

/// True when every target was within its radius, or the tolerance, m, in the last run.
static bool shot_is_reached(const cri_shot *shot, double tolerance) {
    bool is_reached = true;
    for (int i = 0; i < shot->aim.n_target; i++) {
        double most = fmax(tolerance, shot->aim.target[i].radius);
        is_reached = is_reached && shot_distance(shot, i) <= most;
    }
    return is_reached;
}

// ---- memory ------------------------------------------------------------------------------------

static cr_status push_points(cri_shot *shot, cr_arena *arena, cr_error *err) {
    const cri_shot_def *def = shot->def;
    const cri_point *start = def->start;
    int n_row = start->n_u_row;
    CR_ASSERT(n_row == 1 || n_row == shot->aim.schedule.n_step);
    CR_TRY(cri_point_push_rows(def->selection, n_row, arena, &shot->point, err));
    CR_TRY(cri_point_push_rows(def->selection, n_row, arena, &shot->adjoint, err));
    const cr_sizes *sizes = &def->selection->sizes;
    memcpy(shot->point.p, start->p, (size_t)sizes->n_p * sizeof *start->p);
    memcpy(shot->point.x0, start->x0, (size_t)sizes->n_x * sizeof *start->x0);
    memcpy(shot->point.u, start->u, (size_t)n_row * (size_t)sizes->n_u * sizeof *start->u);
    return CR_OK;
}

bool cri_shot_has_residuals(const cri_shot_def *def) {
    bool has = !def->waves;
    for (int i = 0; i < def->n_target; i++) {
        has = has && !def->target[i].is_throughout && def->target[i].radius == 0.0;
    }
    return has;
}

cr_status cri_shot_init(const cri_shot_def *def, cr_arena *arena, cri_shot *out, cr_error *err) {
    int n = def->selection->n_variable;
    *out = (cri_shot){.def = def};
    cri_target *target = CR_PUSH(arena, cri_target, def->n_target);
    out->seconds = CR_PUSH(arena, double, n);
    out->row = CR_PUSH(arena, double, n);
    out->value = CR_PUSH(arena, double, n);
    out->last = CR_PUSH(arena, double, cri_shot_size(def));
    if (!target || !out->seconds || !out->row || !out->value || !out->last) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d variables", n);
    }
    memcpy(target, def->target, (size_t)def->n_target * sizeof *target);
    CR_TRY(cri_aim_init(def->model, &def->aim, def->n_target, target, arena, &out->aim, err));
    out->aim.has_control = def->has_control;
    out->aim.has_no_params = !cri_selection_has(def->selection, CR_VECTOR_P);
    CR_TRY(push_points(out, arena, err));
    const cri_schedule *schedule = &out->aim.schedule;
    cri_controls_seconds(def->selection, schedule->n_step, schedule->n_dt, schedule->dt,
                         out->seconds);
    bool is_square = cri_shot_has_residuals(def);
    out->objective =
        (cri_objective){.n = cri_shot_size(def),
                        .domain = def->domain,
                        .loss = evaluate_shot,
                        .m = is_square ? 3 * def->n_target + (def->cost > 0.0 ? n : 0) : 0,
                        .residuals = is_square ? residuals : NULL,
                        .context = out};
    CR_TRY(cri_selection_check_law(def->selection, def->sim_options->law, err));
    cr_sim_options options = *def->sim_options;
    options.use_gradient = true;
    return cr_sim_create(def->model, &options, &out->sim, err);
}

void cri_shot_clear(cri_shot *shot) {
    cr_sim_destroy(shot->sim);
    shot->sim = NULL;
}

// ---- the search ---------------------------------------------------------------------------------

cri_plan_options cri_plan_options_default(cri_method method) {
    return (cri_plan_options){.minimise = cri_minimise_options_default(method),
                              .iteration_limit = 200,
                              .tolerance = 1e-3,
                              .n_start = 1,
                              .spread = 1.0,
                              .save_every = 10};
}

const char *cri_plan_stop_word(cri_plan_stop stop) {
    static const char *const word[CRI_N_PLAN_STOP] = {"reached",         "converged", "stalled",
                                                      "iteration limit", "no effect", "missed",
                                                      "interrupted",     "unsaved"};
    return word[stop];
}

const char *cri_plan_stop_text(cri_plan_stop stop) {
    static const char *const text[CRI_N_PLAN_STOP] = {
        "every target is reached",
        "the gradient vanished",
        "no step makes the loss fall any more",
        "the iteration limit was reached",
        "no control moves any target",
        "the run ended and a target was missed",
        "it was interrupted",
        "the checkpoint could not be written",
    };
    return text[stop];
}

// ---- one attempt -------------------------------------------------------------------------------

static const cri_objective *objective_of(const search *s, attempt *a) {
    return s->options->bundle.n > 0 ? &a->bundle.objective : &a->shot.objective;
}

static cr_status prepare_attempt(const search *s, attempt *a, cr_error *err) {
    a->arena = cri_arena_create(1 << 14);
    if (!a->arena) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a start");
    }
    a->kept = CR_PUSH(a->arena, double, s->n + 1);
    a->start = CR_PUSH(a->arena, double, s->n);
    if (!a->kept || !a->start) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a start");
    }
    CR_TRY(cri_shot_init(s->def, a->arena, &a->shot, err));
    if (s->options->bundle.n > 0) {
        CR_TRY(cri_bundle_init(&a->shot.objective, &s->options->bundle, a->arena, &a->bundle, err));
    }
    return cri_minimiser_init(objective_of(s, a), &s->options->minimise, a->arena, &a->minimiser,
                              err);
}

static void draw(const search *s, const double *z, uint64_t number, double *start) {
    cri_random stream = cri_random_of(s->options->seed, START_STREAM + number);
    for (int j = 0; j < s->n; j++) {
        const cri_domain *d = &s->def->domain[j];
        bool is_bounded = isfinite(d->lower) && isfinite(d->upper);
        double drawn = is_bounded ? cri_random_uniform(&stream, d->lower, d->upper)
                                  : z[j] + s->options->spread * cri_random_normal(&stream);
        start[j] = number == 0 ? z[j] : cri_domain_clamp(d, z[j], drawn);
    }
}

/// Whether to go on behind a draw. What was cut short stays so: a search told once has to end.
static bool goes_on(search *s, int done, double loss) {
    bool is_going;
#ifdef _OPENMP
#pragma omp critical
#endif
    {
        cri_progress_state state = {"draw", done, s->options->n_sample,
                                    isfinite(loss) ? loss : NAN};
        s->is_cut = s->is_cut || !cri_progress_tell(s->options->progress, &state);
        is_going = !s->is_cut;
    }
    return is_going;
}

/// Start k: the given one or a drawn one; with samples the best of them and of it.
static cr_status draw_start(search *s, attempt *a, const double *z, int k, cr_error *err) {
    double least = INFINITY, *trial = a->minimiser.trial;
    draw(s, z, (uint64_t)k, a->start);
    for (int i = 0; i <= s->options->n_sample && s->options->n_sample > 0; i++) {
        double loss = INFINITY;
        // numbers that no start has
        uint64_t number = ((uint64_t)k + 1) * SAMPLE_LIMIT + (uint64_t)i;
        draw(s, z, i == 0 ? (uint64_t)k : number, trial);
        const cri_objective *o = &a->shot.objective;
        cr_status status = o->loss(o->context, trial, &loss, NULL, err);
        if (status == CR_ERR_MEMORY) {
            return status;
        }
        if (status == CR_OK && loss < least) {
            least = loss;
            memcpy(a->start, trial, (size_t)s->n * sizeof *trial);
        }
        if (!goes_on(s, i, least)) {
            break;
        }
    }
    return CR_OK;
}

/// Takes over the minimiser's point when its loss, not smoothed, is the least so far.
static cr_status keep(const search *s, attempt *a, cr_error *err) {
    bool is_smoothed = s->options->bundle.n > 0;
    const double *z = is_smoothed ? a->minimiser.z : a->minimiser.best;
    double loss = cri_minimiser_loss(&a->minimiser);
    if (is_smoothed) {
        const cri_objective *o = &a->shot.objective;
        cr_status status = o->loss(o->context, z, &loss, NULL, err);
        if (status == CR_ERR_MEMORY) {
            return status;
        }
        loss = status == CR_OK ? loss : INFINITY;
    }
    if (loss < a->kept[0]) {
        a->kept[0] = loss;
        memcpy(a->kept + 1, z, (size_t)s->n * sizeof *z);
        a->is_judged = false;
    }
    return CR_OK;
}

static void begin_attempt(search *s, attempt *a, const double *z, int k) {
    a->kept[0] = INFINITY;
    a->status = draw_start(s, a, z, k, &a->err);
    if (a->status == CR_OK) {
        a->status = cri_minimiser_begin(&a->minimiser, a->start, &a->err);
    }
    if (a->status == CR_OK) {
        memcpy(a->start, a->minimiser.z, (size_t)s->n * sizeof *a->start);
        a->status = keep(s, a, &a->err);
    }
}

/// A start without a value takes no part.
static bool is_alive(const attempt *a) {
    return isfinite(a->kept[0]);
}

static void iterate_attempt(const search *s, attempt *a) {
    if (!is_alive(a)) {
        return;
    }
    a->status = cri_minimiser_iterate(&a->minimiser, &a->err);
    if (a->status == CR_OK) {
        a->status = keep(s, a, &a->err);
    }
}

// ---- all attempts ------------------------------------------------------------------------------

#ifdef _OPENMP
static int threads_of(const cri_plan_options *options) {
    int most = options->n_thread > 0 ? options->n_thread : omp_get_max_threads();
    return most < options->n_start ? most : options->n_start;
}
#endif

/// All starts make one iteration, or begin at z when that is not NULL.
static cr_status for_all(search *s, const double *z, cr_error *err) {
    int n_start = s->options->n_start;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads_of(s->options)) schedule(dynamic)
#endif
    for (int k = 0; k < n_start; k++) {
        if (z) {
            begin_attempt(s, &s->attempt[k], z, k);
        } else {
            iterate_attempt(s, &s->attempt[k]);
        }
    }
    for (int k = 0; k < n_start; k++) {
        const attempt *a = &s->attempt[k];
        // the start that the user gave must have a value; a drawn one may lack it
        if (a->status == CR_ERR_MEMORY || (z && k == 0 && a->status != CR_OK)) {
            if (err) {
                *err = a->err;
            }
            return a->status;
        }
    }
    return CR_OK;
}

static int best_attempt(const search *s) {
    int best = 0;
    for (int k = 1; k < s->options->n_start; k++) {
        best = s->attempt[k].kept[0] < s->attempt[best].kept[0] ? k : best;
    }
    return best;
}

/// True when all targets of attempt a are within the tolerance at its best point.
static cr_status check_reached(const search *s, attempt *a, bool *is_reached, cr_error *err) {
    *is_reached = false;
    double tolerance = s->options->tolerance;
    // with a cost the loss is more than the distances; where a target counts after every step it
    // says little about the end
    double most = s->def->n_target * tolerance * tolerance;
    bool is_told = a->shot.aim.has_throughout;
    if (!is_alive(a) || (!is_told && a->kept[0] - cri_shot_cost(&a->shot, a->kept + 1) > most)) {
        return CR_OK;
    }
    if (!a->is_judged) {
        double loss = 0.0;
        CR_TRY(cri_shot_run(&a->shot, a->kept + 1, &loss, err));
        a->is_reached = shot_is_reached(&a->shot, tolerance);
        a->is_judged = true;
    }
    *is_reached = a->is_reached;
    return CR_OK;
}

/// What the searches have come to, when all of them are over or one has reached the targets.
static cr_status look(search *s, bool *is_over, cri_plan_stop *stop, cr_error *err) {
    const cri_plan_options *o = s->options;
    bool is_running = false;
    for (int k = 0; k < o->n_start; k++) {
        attempt *a = &s->attempt[k];
        is_running = is_running ||
                     (is_alive(a) && cri_minimiser_stop(&a->minimiser) == CRI_MINIMISE_GOES_ON);
        // what costs is worth going on with
        bool is_reached = false;
        if (s->def->cost == 0.0) {
            CR_TRY(check_reached(s, a, &is_reached, err));
        }
        if (is_reached) {
            *stop = CRI_PLAN_REACHED;
            *is_over = true;
            return CR_OK;
        }
    }
    const attempt *best = &s->attempt[best_attempt(s)];
    bool is_converged = cri_minimiser_stop(&best->minimiser) == CRI_MINIMISE_CONVERGED;
    *is_over = !is_running || s->count[0] >= o->iteration_limit;
    *stop = is_running ? CRI_PLAN_ITERATION : is_converged ? CRI_PLAN_CONVERGED : CRI_PLAN_STALLED;
    return CR_OK;
}

// ---- checkpoint --------------------------------------------------------------------------------

/// The arrays of a checkpoint, four for each start and two in front.
static int list_arrays(search *s, cri_checkpoint_array *array) {
    int64_t room = (int64_t)s->options->iteration_limit + 1;
    int n = 0;
    array[n++] = (cri_checkpoint_array){.name = "count", .whole = s->count, .n = 2, .n_most = 2};
    array[n++] = (cri_checkpoint_array){
        .name = "history", .real = s->history, .n = s->count[1], .n_most = room};
    for (int k = 0; k < s->options->n_start; k++) {
        attempt *a = &s->attempt[k];
        int64_t n_real = a->minimiser.n_real;
        int64_t n_whole = a->minimiser.n_whole;
        array[n++] = (cri_checkpoint_array){"state", a->minimiser.real, NULL, n_real, n_real};
        array[n++] = (cri_checkpoint_array){"counts", NULL, a->minimiser.whole, n_whole, n_whole};
        array[n++] = (cri_checkpoint_array){"best", a->kept, NULL, s->n + 1, s->n + 1};
        array[n++] = (cri_checkpoint_array){"start", a->start, NULL, s->n, s->n};
    }
    return n;
}

/// Saves, or goes on from what was saved.
static cr_status use_checkpoint(search *s, bool is_save, cr_error *err) {
    const cri_plan_options *o = s->options;
    size_t n_most = 2 + 4 * (size_t)o->n_start;
    cri_checkpoint_array *array = malloc(n_most * sizeof *array);
    if (!array) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a checkpoint");
    }
    int n = list_arrays(s, array);
    cr_status status = is_save ? cri_checkpoint_write(o->checkpoint, o->problem, n, array, err)
                               : cri_checkpoint_read(o->checkpoint, o->problem, n, array, err);
    free(array);
    return status;
}

// ---- search ------------------------------------------------------------------------------------

static void note(search *s) {
    s->history[s->count[1]++] = s->attempt[best_attempt(s)].kept[0];
}

/// The iterations. CRI_PLAN_UNSAVED leaves err filled.
static cr_status iterate(search *s, cri_plan_stop *stop, cr_error *err) {
    const cri_plan_options *o = s->options;
    for (bool is_over = false;;) {
        CR_TRY(look(s, &is_over, stop, err));
        cri_progress_state state = {"iteration", s->count[0], o->iteration_limit,
                                    s->attempt[best_attempt(s)].kept[0]};
        if (!is_over && (s->is_cut || !cri_progress_tell(o->progress, &state))) {
            *stop = CRI_PLAN_INTERRUPTED;
            is_over = true;
        }
        bool is_due = is_over || (s->count[0] > 0 && s->count[0] % o->save_every == 0);
        is_due = is_due && !s->is_cut; // another run has to draw all
        if (o->checkpoint && is_due && use_checkpoint(s, true, err) != CR_OK) {
            *stop = CRI_PLAN_UNSAVED;
            return CR_OK;
        }
        if (is_over) {
            return CR_OK;
        }
        CR_TRY(for_all(s, NULL, err));
        s->count[0]++;
        note(s);
    }
}

/// True when the gradient at the plan is zero: nothing there moves a target.
static cr_status check_effect(search *s, attempt *a, bool *has_effect, cr_error *err) {
    double *gradient = a->minimiser.trial_g;
    double loss = 0.0;
    memset(gradient, 0, (size_t)s->n * sizeof *gradient);
    *has_effect = true;
    CR_TRY(cri_shot_run(&a->shot, a->kept + 1, &loss, err));
    cr_status status = cri_shot_pull(&a->shot, gradient, err);
    if (status != CR_OK) {
        // no gradient is not a gradient of zero
        return status == CR_ERR_MEMORY ? status : CR_OK;
    }
    *has_effect = false;
    for (int j = 0; j < s->n; j++) {
        double effect = fabs(gradient[j]) * fmax(fabs(a->kept[1 + j]), 1.0);
        *has_effect = *has_effect || effect > EFFECT_LEAST * loss;
    }
    return CR_OK;
}

/// Distances and losses of the best plan, and the last word on why the search ended.
static cr_status conclude(search *s, cri_plan *out, cr_error *err) {
    out->best_start = best_attempt(s);
    attempt *a = &s->attempt[out->best_start];
    bool is_reached = false;
    bool has_effect = true;
    CR_TRY(check_reached(s, a, &is_reached, err));
    bool is_end = out->stop == CRI_PLAN_CONVERGED || out->stop == CRI_PLAN_STALLED ||
                  out->stop == CRI_PLAN_ITERATION;
    if (is_end && is_reached) {
        out->stop = CRI_PLAN_REACHED;
    } else if (is_end) {
        CR_TRY(check_effect(s, a, &has_effect, err));
        // a search that came onto a plateau had an effect on its way
        bool has_moved = memcmp(a->kept + 1, a->start, (size_t)s->n * sizeof *a->start) != 0;
        cri_plan_stop flat = has_moved ? CRI_PLAN_CONVERGED : CRI_PLAN_NO_EFFECT;
        out->stop = has_effect ? out->stop : flat;
    }
    CR_TRY(cri_shot_run(&a->shot, a->kept + 1, &out->loss, err));
    out->grad = a->shot.grad;
    out->cost = cri_shot_cost(&a->shot, a->kept + 1);
    for (int i = 0; i < s->def->n_target; i++) {
        out->distance[a->shot.aim.target[i].order] = shot_distance(&a->shot, i);
    }
    memcpy(out->z, a->kept + 1, (size_t)s->n * sizeof *out->z);
    memcpy(out->start, a->start, (size_t)s->n * sizeof *out->start);
    out->history = s->history;
    out->n_history = (int)s->count[1];
    out->n_iteration = (int)s->count[0];
    for (int k = 0; k < s->options->n_start; k++) {
        out->n_start += is_alive(&s->attempt[k]);
        out->n_evaluation += cri_minimiser_evaluations(&s->attempt[k].minimiser);
    }
    return CR_OK;
}

static cr_status run(search *s, const double *z, cri_plan *out, cr_error *err) {
    for (int k = 0; k < s->options->n_start; k++) {
        CR_TRY(prepare_attempt(s, &s->attempt[k], err));
    }
    const char *file = s->options->checkpoint;
    if (file && cri_checkpoint_exists(file)) {
        CR_TRY(use_checkpoint(s, false, err));
    } else {
        CR_TRY(for_all(s, z, err));
        note(s);
    }
    CR_TRY(iterate(s, &out->stop, err));
    return conclude(s, out, out->stop == CRI_PLAN_UNSAVED ? NULL : err);
}

cr_status cri_plan_solve(const cri_shot_def *def, const cri_plan_options *options, const double *z,
                         cr_arena *arena, cri_plan *out, cr_error *err) {
    CR_ASSERT(options->n_start > 0 && options->iteration_limit >= 0 && options->save_every > 0);
    search s = {.def = def, .options = options, .n = cri_shot_size(def)};
    *out = (cri_plan){0};
    s.attempt = CR_PUSH(arena, attempt, options->n_start);
    s.history = CR_PUSH(arena, double, (size_t)options->iteration_limit + 1);
    out->z = CR_PUSH(arena, double, s.n);
    out->start = CR_PUSH(arena, double, s.n);
    out->distance = CR_PUSH(arena, double, def->n_target);
    if (!s.attempt || !s.history || !out->z || !out->start || !out->distance) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a plan of %d variables", s.n);
    }
    cr_status status = run(&s, z, out, err);
    for (int k = 0; k < options->n_start; k++) {
        cri_shot_clear(&s.attempt[k].shot);
        cri_arena_destroy(s.attempt[k].arena);
    }
    return status;
}
