// SPDX-License-Identifier: MIT
//
// A run that should bring bodies to targets: its schedule, its loss and the gradient.

#include "optimize/aim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// length of a run when nothing says otherwise, s
#define DEFAULT_TIME 1.0

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
        scale += cri_target_scale(&aim->target[i], cri_aim_state(aim, i));
    }
    return scale;
}
