// SPDX-License-Identifier: MIT
//
// A recording simulated again: residuals and their derivatives.
//
// Derivatives go forward with the steps: x_tan holds dx/dz in tangent coordinates, one row an
// unknown,
//   x_tan <- (dx'/dx) x_tan + (dx'/du) u_tan + (dx'/dp) p_tan
// and an observed entry of x reads its own change off x_tan.

#include "optimize/replay.h"

#include "optimize/cloud.h"
#include "optimize/tangent.h"

#include <math.h>
#include <string.h>

// a fit replays its recording some hundred times: more steps than these take hours
enum { MAX_STEP = 1000000 };

/// The column that observes entry i of x, -1: none.
static int find_column(const cri_recording *recording, int i) {
    for (int c = 0; c < recording->n_column; c++) {
        if (recording->x_index[c] == i) {
            return c;
        }
    }
    return -1;
}

/// Finds the quaternions that are recorded whole.
static void find_quats(cri_replay *replay) {
    const cri_recording *recording = replay->recording;
    for (int c = 0; c < recording->n_column; c++) {
        int i = recording->x_index[c];
        // a quaternion is found at its first number
        if (i < 0 || i >= replay->sizes.n_q || cri_model_q_entry(replay->model, i).quat != i) {
            continue;
        }
        int *column = replay->quat[replay->n_quat];
        bool is_whole = true;
        for (int k = 0; k < 4; k++) {
            column[k] = find_column(recording, i + k);
            is_whole = is_whole && column[k] >= 0;
        }
        replay->n_quat += is_whole;
    }
}

cr_status cri_replay_init(const cr_model *model, const cri_unknowns *unknowns,
                          const cri_recording *recording, double dt, cr_arena *arena,
                          cri_replay *out, cr_error *err) {
    const cri_selection *selection = unknowns->selection;
    cri_replay replay = {.model = model,
                         .sizes = cr_model_sizes(model),
                         .unknowns = unknowns,
                         .recording = recording,
                         .n_sample = recording->n_sample};
    CR_TRY(
        cri_schedule_push(recording->n_sample, recording->time, dt, arena, &replay.schedule, err));
    if (replay.schedule.n_step > MAX_STEP) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "%.80s: the recording lasts %g s, %d steps of %g s; is t in seconds? Else "
                        "take a longer --dt",
                        recording->file ? recording->file : "data",
                        recording->time[recording->n_sample - 1], replay.schedule.n_step, dt);
    }
    CR_TRY(cri_selection_check_steps(selection, replay.schedule.n_step, err));
    CR_TRY(cri_point_push(selection, replay.schedule.n_step, arena, &replay.point, err));
    replay.has_control = cri_selection_has(selection, CR_VECTOR_U);

    size_t n = (size_t)unknowns->n_shared + (size_t)unknowns->n_own;
    replay.base = CR_PUSH(arena, double, 4 * unknowns->n_turn);
    replay.quat = cri_arena_push(arena, sizeof *replay.quat * (size_t)recording->n_column);
    replay.sign = CR_PUSH(arena, double, recording->n_column);
    replay.x = CR_PUSH(arena, double, replay.sizes.n_x);
    replay.x_adj = CR_PUSH(arena, double, replay.sizes.n_x);
    replay.x_tan = CR_PUSH(arena, double, n *(size_t)replay.sizes.n_tangent);
    replay.u_tan = CR_PUSH(arena, double, n *(size_t)replay.sizes.n_u);
    replay.p_tan = CR_PUSH(arena, double, n *(size_t)replay.sizes.n_p);
    if (!replay.base || !replay.quat || !replay.sign || !replay.x || !replay.x_adj ||
        !replay.x_tan || !replay.u_tan || !replay.p_tan) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the tangents of %zu unknowns", n);
    }
    cri_unknowns_p_tan(unknowns, replay.p_tan);
    find_quats(&replay);
    *out = replay;
    return CR_OK;
}

static int count_unknowns(const cri_replay *replay) {
    return replay->unknowns->n_shared + replay->unknowns->n_own;
}

static cr_status step(cri_replay *replay, cr_sim *sim, int k, bool use_tangent, cr_error *err) {
    const cri_schedule *schedule = &replay->schedule;
    const cri_point *point = &replay->point;
    double dt = schedule->dt[schedule->n_dt > 1 ? k : 0];
    size_t row = point->n_u_row > 1 ? (size_t)k : 0;
    const double *u = replay->has_control ? point->u + row * (size_t)replay->sizes.n_u : NULL;
    CR_TRY(cr_sim_step(sim, dt, replay->x, u, replay->x, err));
    if (!use_tangent) {
        return CR_OK;
    }
    const double *u_tan = replay->has_control ? replay->u_tan : NULL;
    if (u_tan) {
        cri_unknowns_u_tan(replay->unknowns, k, replay->u_tan);
    }
    return cr_sim_step_jac(sim, count_unknowns(replay), replay->x_tan, u_tan, replay->p_tan,
                           replay->x_tan, err);
}

/// Signs with which the columns of one sample are taken.
static void set_signs(const cri_replay *replay, const double *value) {
    const cri_recording *recording = replay->recording;
    for (int c = 0; c < recording->n_column; c++) {
        replay->sign[c] = 1.0;
    }
    for (int q = 0; q < replay->n_quat; q++) {
        const int *column = replay->quat[q];
        double dot = 0.0;
        for (int k = 0; k < 4; k++) {
            dot += replay->x[recording->x_index[column[k]]] * value[column[k]];
        }
        for (int k = 0; k < 4 && dot < 0.0; k++) {
            replay->sign[column[k]] = -1.0;
        }
    }
}

/// Residuals of one sample, and their derivatives.
static void compare(const cri_replay *replay, int sample, double *r, double *J) {
    const cri_recording *recording = replay->recording;
    int n_column = recording->n_column;
    int n_unknown = count_unknowns(replay);
    size_t m = (size_t)replay->n_sample * (size_t)n_column;
    if (recording->cloud) {
        size_t first = (size_t)sample * (size_t)n_column;
        const cri_cloud_view view = {.model = replay->model,
                                     .recording = recording,
                                     .p = replay->point.p,
                                     .x = replay->x,
                                     .n_unknown = n_unknown,
                                     .x_tan = replay->x_tan,
                                     .p_tan = replay->p_tan,
                                     .x_adj = replay->x_adj};
        cri_cloud_compare(&view, sample, r + first, J ? J + first : NULL, m);
        return;
    }
    set_signs(replay, recording->value + (size_t)sample * (size_t)n_column);
    for (int c = 0; c < n_column; c++) {
        size_t i = (size_t)sample * (size_t)n_column + (size_t)c;
        int entry = recording->x_index[c];
        double weight = cri_recording_weight(recording, c);
        r[i] = weight * (replay->x[entry] - replay->sign[c] * recording->value[i]);
        for (int j = 0; J && j < n_unknown; j++) {
            const double *x_tan = replay->x_tan + (size_t)j * (size_t)replay->sizes.n_tangent;
            J[(size_t)j * m + i] =
                weight * cri_entry_of_tangent(replay->model, replay->x, entry, x_tan);
        }
    }
}

/// Parameters and initial state of the values.
static cr_status begin(cri_replay *replay, cr_sim *sim, const cri_values *values, cr_error *err) {
    const cri_unknowns *unknowns = replay->unknowns;
    if (!cri_all_finite(unknowns->n_shared, values->shared) ||
        !cri_all_finite(unknowns->n_own, values->own)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a variable is not finite");
    }
    cri_unknowns_write(unknowns, values->shared, values->own, replay->base, &replay->point);
    CR_TRY(cr_sim_set_params(sim, replay->point.p, err));
    memcpy(replay->x, replay->point.x0, (size_t)replay->sizes.n_x * sizeof *replay->x);
    if (cri_model_normalise(replay->model, replay->x) >= 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a quaternion of the initial state is zero");
    }
    return CR_OK;
}

cr_status cri_replay_residuals(cri_replay *replay, cr_sim *sim, const cri_values *values, double *r,
                               double *J, cr_error *err) {
    size_t m = (size_t)replay->n_sample * (size_t)replay->recording->n_column;
    CR_ASSERT(replay->n_sample > 0 && replay->n_sample <= replay->recording->n_sample);
    CR_TRY(begin(replay, sim, values, err));
    if (J) {
        cri_unknowns_x0_tan(replay->unknowns, values->own, replay->point.x0, replay->x_tan);
    }
    int k = 0;
    for (int sample = 0; sample < replay->n_sample; sample++) {
        for (; k < replay->schedule.step[sample]; k++) {
            CR_TRY(step(replay, sim, k, J != NULL, err));
        }
        compare(replay, sample, r, J);
    }
    bool is_finite = cri_all_finite((int)m, r);
    for (int j = 0; J && is_finite && j < count_unknowns(replay); j++) {
        is_finite = cri_all_finite((int)m, J + (size_t)j * m);
    }
    return is_finite ? CR_OK : cri_fail(err, CR_ERR_NUMERIC, 0, "the motion is not finite");
}

cr_status cri_replay_look(cri_replay *replay, cr_sim *sim, const cri_values *values,
                          cri_replay_watch *watch, void *context, cr_error *err) {
    CR_TRY(begin(replay, sim, values, err));
    for (int k = 0; k < replay->schedule.step[replay->n_sample - 1]; k++) {
        CR_TRY(step(replay, sim, k, false, err));
        watch(context, sim);
    }
    return CR_OK;
}
