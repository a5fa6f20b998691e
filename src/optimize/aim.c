// SPDX-License-Identifier: MIT
//
// A run that should bring bodies to targets: its schedule, its loss and the gradient.

#include "optimize/aim.h"

#include "base/base.h"
#include "base/io/number.h"
#include "base/math/vec3.h"
#include "base/progress.h"
#include "dynamics/unit.h"
#include "optimize/select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// room for a body's name and what cr_model_name adds to it
#define NAME_LIMIT 120

// length of a run when nothing says otherwise, s
#define DEFAULT_TIME 1.0

// largest relative error of a good entry
#define ERROR_LIMIT 1e-5

// a difference that is less sure than this, relative, confirms nothing
#define SHARP 1e-3

// last step of cr_gradient_check's sweep, relative to the first
#define LAST_STEP 0x1p-17

// derivatives below this part of the loss's own scale, per unit of the variable, are rounding
#define FLOOR 1e-9

// the same where the gradient is itself made of differences, of each step: with ERROR_LIMIT an
// absolute 1e-8 of the scale, rounding over their step of 1e-6 times some hundred steps
#define FLOOR_DIFFERENCES 1e-3

// first step of the differences relative to the variable, and the size of a variable that is zero
#define FIRST_STEP 1e-3
#define SIZE_LEAST 0.1

// first step of a second attempt at a kink, relative to that of the first one
#define SMALL_STEP 1e-3

// ---- targets ------------------------------------------------------------------------------------

// Where a body or a site should be at some time, and the loss for being elsewhere.

/// One number up to one of the characters in ends. NULL when it is not that.
static const char *read_number(const char *text, const char *ends, double *out) {
    size_t n = strcspn(text, ends);
    return cri_number_parse(text, n, out) == CRI_NUMBER_OK ? text + n : NULL;
}

static cr_status read_place(const char *text, const char *place, cri_target *out, cr_error *err) {
    const char *rest = place;
    for (int i = 0; i < 3; i++) {
        rest = read_number(rest, ",@", &out->point[i]);
        if (!rest || (i < 2 ? *rest != ',' : *rest == ',')) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "%.80s: expected BODY:X,Y,Z, BODY:X,Y,Z@T or BODY:X,Y,Z@all in m and s",
                            text);
        }
        rest += *rest == ',';
    }
    out->is_throughout = strcmp(rest, "@all") == 0;
    out->has_time = *rest == '@' && !out->is_throughout;
    if (out->has_time && (!read_number(rest + 1, "", &out->time) || out->time < 0.0)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "%.80s: the time behind @ is not a number of seconds from 0", text);
    }
    return CR_OK;
}

/// The body whose position entry is nearest in name, without what belongs to the entry.
static cr_status unknown_body(const cr_model *model, const char *text, const char *entry,
                              cr_error *err) {
    const char *nearest = cri_name_nearest(model, CR_VECTOR_X, entry);
    int n = nearest ? (int)strcspn(nearest, "/") : 0;
    if (n > 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%.80s: unknown body or site; did you mean %.*s?",
                        text, n, nearest);
    }
    return cri_fail(err, CR_ERR_ARGUMENT, 0,
                    "%.80s: unknown body or site; 'carom params SCENE' lists the bodies", text);
}

// index of the name that is text[0 .. n)
static int find(int n_name, const char *const *name, const char *text, size_t n) {
    for (int i = 0; i < n_name; i++) {
        if (strlen(name[i]) == n && memcmp(name[i], text, n) == 0) {
            return i;
        }
    }
    return -1;
}

cr_status cri_target_parse(const cr_model *model, const char *text, cri_target *out,
                           cr_error *err) {
    CR_ASSERT(model && text && out);
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (n == 0 || n > NAME_LIMIT) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%.80s: expected BODY:X,Y,Z or BODY:X,Y,Z@T",
                        text);
    }
    cri_target target = {0};
    CR_TRY(read_place(text, colon + 1, &target, err));

    target.model = model;
    target.body = find(model->sizes.n_body, model->body_name, text, n);
    int site = target.body < 0 ? find(model->mech.n_site, model->site_name, text, n) : -1;
    if (site >= 0) {
        target.body = model->mech.site[site].body;
        target.at = model->mech.site[site].pos;
    } else if (target.body < 0) {
        char entry[NAME_LIMIT + 16];
        snprintf(entry, sizeof entry, "%.*s/qpos[0]", (int)n, text);
        return unknown_body(model, text, entry, err);
    }
    *out = target;
    return CR_OK;
}

cri_vec3 cri_target_place(const cri_target *target, const double *x) {
    return cri_body_position(target->model, target->body, target->at, x);
}

// where the body or site is, less where it should be
static cri_vec3 miss(const cri_target *target, const double *x) {
    return cri_v3_sub(cri_target_place(target, x), cri_v3_load(target->point));
}

double cri_target_distance(const cri_target *target, const double *x) {
    return cri_v3_norm(miss(target, x));
}

double cri_target_loss(const cri_target *target, const double *x) {
    cri_vec3 d = miss(target, x);
    return fmax(0.0, cri_v3_dot(d, d) - target->radius * target->radius);
}

void cri_target_loss_vjp(const cri_target *target, const double *x, double loss_adj,
                         double *x_adj) {
    // loss = max(0, d . d - r^2)
    cri_vec3 d = miss(target, x);
    if (cri_v3_dot(d, d) > target->radius * target->radius) {
        cri_vec3 d_adj = cri_v3_scale(2.0 * loss_adj, d);
        cri_body_position_vjp(target->model, target->body, target->at, x, d_adj, x_adj);
    }
}

/// Squares of the lengths that the loss is a difference of, m^2: what it would be measured against.
static double target_scale(const cri_target *target, const double *x) {
    cri_vec3 pos = cri_target_place(target, x);
    cri_vec3 point = cri_v3_load(target->point);
    return cri_v3_dot(pos, pos) + cri_v3_dot(point, point);
}

// ---- the run ------------------------------------------------------------------------------------

static int by_time(const void *a, const void *b) {
    double ta = ((const cri_target *)a)->time;
    double tb = ((const cri_target *)b)->time;
    return (ta > tb) - (ta < tb);
}

/// The time at which the run ends, s.
static double end_time(const cri_aim_options *options, double dt, int n_target,
                       const cri_target *target) {
    if (options->n_step > 0) {
        return options->n_step * dt;
    }
    double end = 0.0;
    bool has_time = false;
    for (int i = 0; i < n_target; i++) {
        has_time = has_time || target[i].has_time;
        end = target[i].has_time ? fmax(end, target[i].time) : end;
    }
    return has_time ? end : DEFAULT_TIME;
}

/// Puts targets without a time at the end and all of them in order.
static cr_status settle_times(double end, int n_target, cri_target *target, cr_error *err) {
    for (int i = 0; i < n_target; i++) {
        if (!target[i].has_time) {
            target[i].time = end;
        }
        // --steps times dt and a decimal time may differ in the last bits
        double slack = 1e-12 * end;
        if (target[i].time > end + slack) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "number %d is at %g s, and the run ends at %g s; raise --steps",
                            target[i].order + 1, target[i].time, end);
        }
        target[i].time = fmin(target[i].time, end);
    }
    qsort(target, (size_t)n_target, sizeof *target, by_time);
    return CR_OK;
}

static cr_status push_schedule(cri_aim *aim, double end, double dt, cr_arena *arena,
                               cr_error *err) {
    int n = aim->n_target;
    double *time = CR_PUSH(arena, double, n + 1);
    if (!time) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d targets", n);
    }
    for (int i = 0; i < n; i++) {
        time[i] = aim->target[i].time;
    }
    time[n] = end;
    CR_TRY(cri_schedule_push(n + 1, time, dt, arena, &aim->schedule, err));
    if (aim->schedule.n_step == 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "the run has no steps: all targets are at 0 s");
    }
    return CR_OK;
}

cr_status cri_aim_init(const cr_model *model, const cri_aim_options *options, int n_target,
                       cri_target *target, cr_arena *arena, cri_aim *out, cr_error *err) {
    CR_ASSERT(n_target > 0);
    cri_aim aim = {.sizes = cr_model_sizes(model), .n_target = n_target, .target = target};
    double dt = options->dt > 0.0 ? options->dt : aim.sizes.dt;
    double end = end_time(options, dt, n_target, target);
    CR_TRY(settle_times(end, n_target, target, err));
    CR_TRY(push_schedule(&aim, end, dt, arena, err));

    for (int i = 0; i < n_target; i++) {
        aim.has_throughout = aim.has_throughout || target[i].is_throughout;
    }
    size_t n_x = (size_t)aim.sizes.n_x;
    size_t n_seed = aim.has_throughout ? (size_t)aim.schedule.n_step + 1 : (size_t)n_target;
    aim.x_end = CR_PUSH(arena, double, n_x);
    aim.seed = CR_PUSH(arena, cr_seed, n_seed);
    aim.x_adj = CR_PUSH(arena, double, n_seed *n_x);
    bool has_memory = aim.x_end && aim.seed && aim.x_adj;
    CR_ASSERT(aim.schedule.step);
    if (aim.schedule.step[0] < aim.schedule.n_step || aim.has_throughout) {
        aim.x_path = CR_PUSH(arena, double, ((size_t)aim.schedule.n_step + 1) * n_x);
        has_memory = has_memory && aim.x_path;
    }
    if (!has_memory) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the states of %d steps",
                        aim.schedule.n_step);
    }
    *out = aim;
    return CR_OK;
}

const double *cri_aim_state(const cri_aim *aim, int i) {
    int step = aim->schedule.step[i];
    return aim->x_path ? aim->x_path + (size_t)step * (size_t)aim->sizes.n_x : aim->x_end;
}

cr_status cri_aim_run(cri_aim *aim, cr_sim *sim, const cri_point *point, double *loss,
                      cr_error *err) {
    cr_rollout rollout = {.n_step = aim->schedule.n_step,
                          .dt = aim->schedule.dt,
                          .n_dt = aim->schedule.n_dt,
                          .u = aim->has_control ? point->u : NULL,
                          .n_u_row = point->n_u_row};
    CR_TRY(cr_sim_set_params(sim, point->p, err));
    CR_TRY(cr_sim_rollout(sim, &rollout, point->x0, aim->x_path, aim->x_end, err));
    double sum = 0.0;
    size_t n_x = (size_t)aim->sizes.n_x;
    for (int i = 0; i < aim->n_target; i++) {
        const cri_target *target = &aim->target[i];
        // after every step but the last, which all have
        for (int k = 1; target->is_throughout && k < aim->schedule.n_step; k++) {
            sum += cri_target_loss(target, aim->x_path + (size_t)k * n_x);
        }
        sum += cri_target_loss(target, cri_aim_state(aim, i));
    }
    *loss = sum;
    return CR_OK;
}

/// A seed for every step, and the adjoints of all losses in it.
static int seed_steps(cri_aim *aim) {
    size_t n_x = (size_t)aim->sizes.n_x;
    int n_seed = aim->schedule.n_step + 1;
    memset(aim->x_adj, 0, (size_t)n_seed * n_x * sizeof *aim->x_adj);
    for (int k = 0; k < n_seed; k++) {
        aim->seed[k] = (cr_seed){k, aim->x_adj + (size_t)k * n_x};
    }
    for (int i = 0; i < aim->n_target; i++) {
        const cri_target *target = &aim->target[i];
        int last = aim->schedule.step[i];
        for (int k = target->is_throughout ? 1 : last; k <= last; k++) {
            cri_target_loss_vjp(target, aim->x_path + (size_t)k * n_x, 1.0,
                                aim->x_adj + (size_t)k * n_x);
        }
    }
    return n_seed;
}

cr_status cri_aim_gradient(cri_aim *aim, cr_sim *sim, cri_point *gradient, cr_error *err) {
    size_t n_x = (size_t)aim->sizes.n_x;
    int n_seed = 0;
    if (aim->has_throughout) {
        n_seed = seed_steps(aim);
    } else {
        memset(aim->x_adj, 0, (size_t)aim->n_target * n_x * sizeof *aim->x_adj);
    }
    for (int i = 0; i < aim->n_target && !aim->has_throughout; i++) {
        // targets at one time share a seed
        int step = aim->schedule.step[i];
        n_seed += n_seed == 0 || aim->seed[n_seed - 1].step != step;
        double *x_adj = aim->x_adj + (size_t)(n_seed - 1) * n_x;
        aim->seed[n_seed - 1] = (cr_seed){step, x_adj};
        // sum += loss of target i in its state
        cri_target_loss_vjp(&aim->target[i], cri_aim_state(aim, i), 1.0, x_adj);
    }
    double *u_adj = aim->has_control ? gradient->u : NULL;
    double *p_adj = aim->has_no_params ? NULL : gradient->p;
    return cr_sim_rollout_vjp(sim, n_seed, aim->seed, gradient->x0, u_adj, p_adj, err);
}

double cri_aim_scale(const cri_aim *aim) {
    double scale = 0.0;
    for (int i = 0; i < aim->n_target; i++) {
        scale += target_scale(&aim->target[i], cri_aim_state(aim, i));
    }
    return scale;
}

// ---- check by differences -----------------------------------------------------------------------

// A gradient compared with differences of the loss, one variable at a time.
//
// The loss is simulated from scratch at each point. On a bound of a variable's domain, such as
// friction 0 or restitution 1, the difference is one-sided, towards the inside.

static bool loss_at(void *context, const double *z, double *value) {
    const cri_check *check = context;
    if (!cri_progress_tell(check->progress, &check->where)) {
        return false;
    }
    cri_selection_write(check->selection, z, check->point);
    return cri_aim_run(check->aim, check->sim, check->point, value, NULL) == CR_OK;
}

/// Side and first step of the differences of variable i at z.
static int choose_side(const cri_check *check, int i, double z, double *first_step) {
    cri_domain domain = cri_selection_domain(check->selection, check->model, i);
    *first_step = FIRST_STEP * fmax(fabs(z), SIZE_LEAST);
    if (z <= domain.lower) {
        return 1;
    }
    if (z >= domain.upper) {
        return -1;
    }
    // both sides stay inside
    *first_step = fmin(*first_step, 0.5 * fmin(z - domain.lower, domain.upper - z));
    return 0;
}

static cri_check_result compare(const cri_check *check, int i, double value, double *z, int side,
                                double first_step) {
    cri_check_result out = {.difference = NAN, .uncertainty = NAN, .error = NAN, .side = side};
    bool is_known = cr_gradient_check(loss_at, (void *)check, z, i, first_step, side,
                                      &out.difference, &out.uncertainty);
    if (!is_known) {
        return out;
    }
    double floor = (check->is_difference ? FLOOR_DIFFERENCES : FLOOR) * check->scale;
    double size = fmax(fmax(fabs(value), fabs(out.difference)), floor);
    double gap = fabs(value - out.difference);
    out.error = size > 0.0 ? gap / size : 0.0;
    bool is_sharp = out.uncertainty <= fmax(SHARP * size, floor);
    // where the value would change the loss by more than all of it within the last step, every
    // difference is too coarse: a chaotic run
    bool is_coarse = fabs(value) * LAST_STEP * first_step > check->scale;
    out.is_decided = !is_coarse && (is_sharp || gap > out.uncertainty);
    out.is_good = is_sharp && !is_coarse && gap - out.uncertainty <= ERROR_LIMIT * size;
    return out;
}

cri_check_result cri_check_entry(const cri_check *check, int i, double value, double *z) {
    CR_ASSERT(i >= 0 && i < check->selection->n_variable);
    double first_step = 0.0;
    int side = choose_side(check, i, z[i], &first_step);
    cri_check_result out = compare(check, i, value, z, side, first_step);
    bool is_open = side == 0 && check->is_one_sided;
    for (int k = 0; k < 6 && is_open && !out.is_good; k++) {
        // up, down and central, then once more in small
        double step = k < 3 ? first_step : SMALL_STEP * first_step;
        cri_check_result other =
            compare(check, i, value, z, k % 3 == 2 ? 0 : 1 - 2 * (k % 3), step);
        out = other.is_good ? other : out;
    }
    cri_selection_write(check->selection, z, check->point);
    return out;
}
