// SPDX-License-Identifier: MIT
//
// A run towards targets as an objective of its variables.
//
// The rows of the Jacobian come from adjoints, one for each coordinate of a target: that is three a
// target however many variables there are, where tangents would be one a variable.

#include "optimize/shot.h"

#include "base/math/dense.h"
#include "dynamics/unit.h"
#include "optimize/controls.h"

#include <math.h>
#include <string.h>

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

static cr_status evaluate(void *context, const double *z, double *loss, double *gradient,
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

double cri_shot_distance(const cri_shot *shot, int i) {
    return cri_target_distance(&shot->aim.target[i], cri_aim_state(&shot->aim, i));
}

bool cri_shot_is_reached(const cri_shot *shot, double tolerance) {
    bool is_reached = true;
    for (int i = 0; i < shot->aim.n_target; i++) {
        double most = fmax(tolerance, shot->aim.target[i].radius);
        is_reached = is_reached && cri_shot_distance(shot, i) <= most;
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
                        .loss = evaluate,
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
