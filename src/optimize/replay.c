// SPDX-License-Identifier: MIT
//
// A recording simulated again: residuals and their derivatives.
//
// Derivatives go forward with the steps: x_tan holds dx/dz in tangent coordinates, one row a
// variable,
//   x_tan <- (dx'/dx) x_tan + (dx'/du) u_tan + (dx'/dp) p_tan
// and an observed entry of x reads its own change off x_tan.

#include "optimize/replay.h"

#include "optimize/tangent.h"

#include <math.h>
#include <string.h>

// a fit replays its recording some hundred times: more steps than these take hours
enum { MAX_STEP = 1000000 };

cr_status cri_replay_init(const cr_model *model, cr_sim *sim, const cri_selection *selection,
                          const cri_recording *recording, double dt, cr_arena *arena,
                          cri_replay *out, cr_error *err) {
    cri_replay replay = {.model = model,
                         .sizes = cr_model_sizes(model),
                         .sim = sim,
                         .selection = selection,
                         .recording = recording,
                         .n_sample = recording->n_sample};
    CR_TRY(
        cri_schedule_push(recording->n_sample, recording->time, dt, arena, &replay.schedule, err));
    if (replay.schedule.n_step > MAX_STEP) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "the recording lasts %g s, %d steps of %g s; is t in seconds? Else take a "
                        "longer --dt",
                        recording->time[recording->n_sample - 1], replay.schedule.n_step, dt);
    }
    CR_TRY(cri_selection_check_steps(selection, replay.schedule.n_step, err));
    CR_TRY(cri_point_push(selection, replay.schedule.n_step, arena, &replay.point, err));
    replay.has_control = cri_selection_has(selection, CR_VECTOR_U);

    size_t n = (size_t)selection->n_variable;
    replay.x = CR_PUSH(arena, double, replay.sizes.n_x);
    replay.x_tan = CR_PUSH(arena, double, n *(size_t)replay.sizes.n_tangent);
    replay.u_tan = CR_PUSH(arena, double, n *(size_t)replay.sizes.n_u);
    replay.p_tan = CR_PUSH(arena, double, n *(size_t)replay.sizes.n_p);
    if (!replay.x || !replay.x_tan || !replay.u_tan || !replay.p_tan) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the tangents of %d variables",
                        selection->n_variable);
    }
    cri_selection_p_tan(selection, replay.p_tan);
    *out = replay;
    return CR_OK;
}

static cr_status step(cri_replay *replay, int k, bool use_tangent, cr_error *err) {
    const cri_schedule *schedule = &replay->schedule;
    const cri_point *point = &replay->point;
    double dt = schedule->dt[schedule->n_dt > 1 ? k : 0];
    size_t row = point->n_u_row > 1 ? (size_t)k : 0;
    const double *u = replay->has_control ? point->u + row * (size_t)replay->sizes.n_u : NULL;
    CR_TRY(cr_sim_step(replay->sim, dt, replay->x, u, replay->x, err));
    if (!use_tangent) {
        return CR_OK;
    }
    const double *u_tan = replay->has_control ? replay->u_tan : NULL;
    if (u_tan) {
        cri_selection_u_tan(replay->selection, k, replay->u_tan);
    }
    return cr_sim_step_jac(replay->sim, replay->selection->n_variable, replay->x_tan, u_tan,
                           replay->p_tan, replay->x_tan, err);
}

/// Residuals of one sample, and their derivatives.
static void compare(const cri_replay *replay, int sample, double *r, double *J) {
    const cri_recording *recording = replay->recording;
    int n_column = recording->n_column;
    size_t m = (size_t)replay->n_sample * (size_t)n_column;
    for (int c = 0; c < n_column; c++) {
        size_t i = (size_t)sample * (size_t)n_column + (size_t)c;
        int entry = recording->x_index[c];
        r[i] = replay->x[entry] - recording->value[i];
        for (int j = 0; J && j < replay->selection->n_variable; j++) {
            const double *x_tan = replay->x_tan + (size_t)j * (size_t)replay->sizes.n_tangent;
            J[(size_t)j * m + i] = cri_entry_of_tangent(replay->model, replay->x, entry, x_tan);
        }
    }
}

static cr_status run(cri_replay *replay, const double *z, double *r, double *J, cr_error *err) {
    cri_selection_write(replay->selection, z, &replay->point);
    CR_TRY(cr_sim_set_params(replay->sim, replay->point.p, err));
    memcpy(replay->x, replay->point.x0, (size_t)replay->sizes.n_x * sizeof *replay->x);
    if (cri_model_normalise(replay->model, replay->x) >= 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a quaternion of the initial state is zero");
    }
    if (J) {
        cri_selection_x0_tan(replay->selection, replay->point.x0, replay->x_tan);
    }
    int k = 0;
    for (int sample = 0; sample < replay->n_sample; sample++) {
        for (; k < replay->schedule.step[sample]; k++) {
            CR_TRY(step(replay, k, J != NULL, err));
        }
        compare(replay, sample, r, J);
    }
    return CR_OK;
}

cr_status cri_replay_residuals(void *context, const double *z, double *r, double *J,
                               cr_error *err) {
    cri_replay *replay = context;
    int n_variable = replay->selection->n_variable;
    size_t m = (size_t)replay->n_sample * (size_t)replay->recording->n_column;
    CR_ASSERT(replay->n_sample > 0 && replay->n_sample <= replay->recording->n_sample);
    if (!cri_all_finite(n_variable, z)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a variable is not finite");
    }
    CR_TRY(run(replay, z, r, J, err));
    bool is_finite = cri_all_finite((int)m, r);
    for (int j = 0; J && is_finite && j < n_variable; j++) {
        is_finite = cri_all_finite((int)m, J + (size_t)j * m);
    }
    return is_finite ? CR_OK : cri_fail(err, CR_ERR_NUMERIC, 0, "the motion is not finite");
}
