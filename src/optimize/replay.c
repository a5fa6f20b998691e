// SPDX-License-Identifier: MIT
//
// A recording simulated again: residuals and their derivatives.
//
// Derivatives go forward with the steps: x_tan holds dx/dz in tangent coordinates, one row an
// unknown,
//   x_tan <- (dx'/dx) x_tan + (dx'/du) u_tan + (dx'/dp) p_tan
// and an observed entry of x reads its own change off x_tan.

#include "optimize/replay.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/math/quat.h"
#include "dynamics/unit.h"
#include "geometry/field/form.h"
#include "geometry/query/depth.h"
#include "model/model.h"
#include "optimize/recording.h"
#include "optimize/select.h"

#include <math.h>
#include <string.h>

/// What the comparison of a frame reads.
typedef struct cri_cloud_view {
    const cr_model *model;
    const cri_recording *recording;
    const double *p; // (n_p)
    const double *x; // (n_x) unit quaternions
    int n_unknown;
    const double *x_tan; // (n_unknown, n_tangent)
    const double *p_tan; // (n_unknown, n_p)
    double *x_adj;       // (n_x) scratch
} cri_cloud_view;

enum { PARAM_MOST = 256 };

/// A geom where it is now.
typedef struct placed {
    const cri_geom *geom;
    cri_field_node leaf;
    cri_field field;
    int first; // of its parameters in p
    cri_pose body;
} placed;

// a fit replays its recording some hundred times: more steps than these take hours
enum { MAX_STEP = 1000000 };

// ---- unknowns -----------------------------------------------------------------------------------

// The unknowns of a fit behind the variables of a selection.
//
//   q = q_start exp(theta)      body-frame tangent of q for a change of theta: Jr(theta) dtheta

static bool is_own(const cri_variable *variable) {
    for (int k = 0; k < variable->n_place; k++) {
        if (variable->place[k].vector != CR_VECTOR_X) {
            return false;
        }
    }
    return true;
}

/// The variable that stands for entry i of x alone, -1: none.
static int find_single(const cri_selection *selection, int i) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable *variable = &selection->variable[j];
        bool is_single = variable->n_place == 1 && variable->place[0].vector == CR_VECTOR_X;
        if (is_single && variable->place[0].index == i) {
            return j;
        }
    }
    return -1;
}

/// Is variable j part of a quaternion that is selected whole?
static bool find_turn(const cri_selection *selection, int j, cri_turn *out) {
    const cri_variable *variable = &selection->variable[j];
    int index = variable->place[0].index;
    if (variable->n_place != 1 || index >= selection->sizes.n_q) {
        return false;
    }
    cri_entry entry = cri_model_q_entry(selection->model, index);
    *out = (cri_turn){.quat = entry.quat, .theta = entry.theta};
    for (int k = 0; k < 4 && entry.quat >= 0; k++) {
        out->variable[k] = find_single(selection, entry.quat + k);
        if (out->variable[k] < 0) {
            return false;
        }
    }
    return entry.quat >= 0;
}

static void add_own(cri_unknowns *out, int j) {
    out->own_variable[out->n_own_variable++] = j;
    cri_turn turn;
    if (!find_turn(out->selection, j, &turn)) {
        out->own[out->n_own++] = j;
    } else if (cri_unknowns_find_turn(out, j) < 0) {
        turn.own = out->n_own;
        out->turn[out->n_turn++] = turn;
        for (int k = 0; k < 3; k++) {
            out->own[out->n_own++] = -1;
        }
    }
}

cr_status cri_unknowns_push(const cri_selection *selection, cr_arena *arena, cri_unknowns *out,
                            cr_error *err) {
    int n = selection->n_variable;
    cri_unknowns unknowns = {.selection = selection};
    unknowns.shared = CR_PUSH(arena, int, n);
    unknowns.own = CR_PUSH(arena, int, n);
    unknowns.own_variable = CR_PUSH(arena, int, n);
    unknowns.turn = CR_PUSH(arena, cri_turn, n / 4 + 1);
    if (!unknowns.shared || !unknowns.own || !unknowns.own_variable || !unknowns.turn) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d unknowns", n);
    }
    for (int j = 0; j < n; j++) {
        if (is_own(&selection->variable[j])) {
            add_own(&unknowns, j);
        } else {
            unknowns.shared[unknowns.n_shared++] = j;
        }
    }
    *out = unknowns;
    return CR_OK;
}

int cri_unknowns_find(const cri_unknowns *unknowns, int variable) {
    for (int i = 0; i < unknowns->n_own; i++) {
        if (unknowns->own[i] == variable) {
            return i;
        }
    }
    return -1;
}

int cri_unknowns_find_turn(const cri_unknowns *unknowns, int variable) {
    for (int t = 0; t < unknowns->n_turn; t++) {
        for (int k = 0; k < 4; k++) {
            if (unknowns->turn[t].variable[k] == variable) {
                return t;
            }
        }
    }
    return -1;
}

void cri_unknowns_read(const cri_unknowns *unknowns, const cri_point *point, double *shared,
                       double *own) {
    for (int i = 0; i < unknowns->n_shared; i++) {
        shared[i] = cri_selection_value(unknowns->selection, unknowns->shared[i], point);
    }
    for (int i = 0; i < unknowns->n_own; i++) {
        int variable = unknowns->own[i];
        own[i] = variable < 0 ? 0.0 : cri_selection_value(unknowns->selection, variable, point);
    }
}

/// Writes them to a point. base (n_turn, 4) has the quaternions that turns start from.
static void unknowns_write(const cri_unknowns *unknowns, const double *shared, const double *own,
                           const double *base, cri_point *point) {
    for (int i = 0; i < unknowns->n_shared; i++) {
        cri_selection_put(unknowns->selection, unknowns->shared[i], shared[i], point);
    }
    for (int i = 0; i < unknowns->n_own; i++) {
        if (unknowns->own[i] >= 0) {
            cri_selection_put(unknowns->selection, unknowns->own[i], own[i], point);
        }
    }
    for (int t = 0; t < unknowns->n_turn; t++) {
        const cri_turn *turn = &unknowns->turn[t];
        cri_quat q = cri_quat_normalise(cri_q4_load(base + 4 * t));
        cri_quat by = cri_quat_exp(cri_v3_load(own + turn->own));
        cri_q4_store(cri_quat_normalise(cri_quat_mul(q, by)), point->x0 + turn->quat);
    }
}

// ---- tangents ----------------------------------------------------------------------------------

/// Tangents, one row an unknown, the shared ones first, overwritten: p_tan (n, n_p); u_tan (n, n_u)
/// during that step; x0_tan (n, n_tangent) at the initial state x0 that the own values make.
static void unknowns_p_tan(const cri_unknowns *unknowns, double *p_tan) {
    const cri_selection *selection = unknowns->selection;
    size_t n_p = (size_t)selection->sizes.n_p;
    size_t n = (size_t)unknowns->n_shared + (size_t)unknowns->n_own;
    memset(p_tan, 0, n * n_p * sizeof *p_tan);
    for (int i = 0; i < unknowns->n_shared; i++) {
        cri_variable_p_tan(&selection->variable[unknowns->shared[i]], p_tan + (size_t)i * n_p);
    }
}

static void unknowns_u_tan(const cri_unknowns *unknowns, int step, double *u_tan) {
    const cri_selection *selection = unknowns->selection;
    size_t n_u = (size_t)selection->sizes.n_u;
    size_t n = (size_t)unknowns->n_shared + (size_t)unknowns->n_own;
    memset(u_tan, 0, n * n_u * sizeof *u_tan);
    for (int i = 0; i < unknowns->n_shared; i++) {
        cri_variable_u_tan(&selection->variable[unknowns->shared[i]], step,
                           u_tan + (size_t)i * n_u);
    }
}

void cri_unknowns_x0_tan(const cri_unknowns *unknowns, const double *own, const double *x0,
                         double *x0_tan) {
    const cri_selection *selection = unknowns->selection;
    size_t n_tangent = (size_t)selection->sizes.n_tangent;
    int n_shared = unknowns->n_shared;
    memset(x0_tan, 0, (size_t)(n_shared + unknowns->n_own) * n_tangent * sizeof *x0_tan);
    for (int i = 0; i < n_shared + unknowns->n_own; i++) {
        int variable = i < n_shared ? unknowns->shared[i] : unknowns->own[i - n_shared];
        if (variable >= 0) {
            cri_variable_x0_tan(&selection->variable[variable], selection->model, x0,
                                x0_tan + (size_t)i * n_tangent);
        }
    }
    for (int t = 0; t < unknowns->n_turn; t++) {
        const cri_turn *turn = &unknowns->turn[t];
        cri_so3 by = cri_so3_of(cri_v3_load(own + turn->own));
        for (int a = 0; a < 3; a++) {
            cri_vec3 axis = {a == 0 ? 1.0 : 0.0, a == 1 ? 1.0 : 0.0, a == 2 ? 1.0 : 0.0};
            double *row = x0_tan + (size_t)(n_shared + turn->own + a) * n_tangent;
            cri_v3_accumulate(cri_so3_right(&by, axis), row + turn->theta);
        }
    }
}

// ---- points on a surface ------------------------------------------------------------------------

// Recordings of points on a surface.
//
//   y = R_g'(R_b'(p - x_b) - x_g),   r = phi(y; theta)/sigma
//   dr/dz = (phi_theta . theta_tan - n . v)/sigma,   n = R_b R_g g
//
// v is the velocity along x_tan of the point of the body that is at p, by the adjoint of
// cri_body_position with the seed n.

// ---- recordings --------------------------------------------------------------------------------

static cr_status check_frames(const cri_cloud_def *def, int *n_good, cr_error *err) {
    const cri_cloud_frame *frame = def->frame;
    const char *file = def->file;
    *n_good = 0;
    for (int k = 0; k < def->n_frame; k++) {
        if (!isfinite(frame[k].time) || !cri_all_finite(3 * frame[k].n, frame[k].point)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "%.120s: frame %d has a number that is not finite; leave such points "
                            "out",
                            file, k + 1);
        }
        if (k > 0 && !(frame[k].time > frame[k - 1].time)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "%.120s: frame %d at %g s does not come after the one before, at %g s",
                            file, k + 1, frame[k].time, frame[k - 1].time);
        }
        *n_good += frame[k].n > 0;
    }
    return *n_good >= 2 ? CR_OK
                        : cri_fail(err, CR_ERR_ARGUMENT, 0,
                                   "%.120s: %d frames with points; a motion needs two at least",
                                   file, *n_good);
}

cr_status cri_cloud_push(const cr_model *model, const cri_cloud_def *def, cr_arena *arena,
                         cri_recording *out, cr_error *err) {
    CR_ASSERT(def->n_point > 0 && def->geom >= 0 && def->geom < model->sizes.n_geom);
    const cri_cloud_frame *frame = def->frame;
    int n = 0, n_point = def->n_point;
    CR_TRY(check_frames(def, &n, err));
    size_t n_all = (size_t)n * (size_t)n_point;
    double *point = CR_PUSH(arena, double, 3 * n_all);
    *out =
        (cri_recording){.n_column = n_point, .geom = def->geom, .cloud = point, .file = def->file};
    out->time = CR_PUSH(arena, double, n);
    out->value = CR_PUSH(arena, double, n_all);
    out->x_index = CR_PUSH(arena, int, n_point);
    if (!point || !out->time || !out->value || !out->x_index) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d frames", n);
    }
    for (int c = 0; c < n_point; c++) {
        out->x_index[c] = -1;
    }
    double first = NAN;
    for (int k = 0; k < def->n_frame; k++) {
        if (frame[k].n == 0) {
            continue;
        }
        first = isnan(first) ? frame[k].time : first;
        double *to = point + (size_t)out->n_sample * (size_t)n_point * 3;
        for (int i = 0; i < n_point; i++) {
            size_t from = (size_t)((double)i * frame[k].n / n_point);
            memcpy(to + 3 * (size_t)i, frame[k].point + 3 * from, 3 * sizeof *to);
        }
        out->time[out->n_sample++] = frame[k].time - first;
    }
    return CR_OK;
}

// ---- fields ------------------------------------------------------------------------------------

bool cri_cloud_field(const cr_model *model, int geom, const double *p, cri_field_node *leaf,
                     cri_field *out) {
    const cri_geom *g = &model->geom[geom];
    *leaf = (cri_field_node){.first = 0};
    *out = (cri_field){1, leaf, g->n_size, p + g->slot_size};
    switch (g->shape) {
    case CRI_SHAPE_SPHERE:
        leaf->kind = CRI_FIELD_SPHERE;
        return true;
    case CRI_SHAPE_CAPSULE:
        leaf->kind = CRI_FIELD_CAPSULE;
        return true;
    case CRI_SHAPE_ELLIPSOID:
        leaf->kind = CRI_FIELD_ELLIPSOID;
        return true;
    case CRI_SHAPE_CYLINDER:
        leaf->kind = CRI_FIELD_CYLINDER;
        return true;
    case CRI_SHAPE_BOX:
        leaf->kind = CRI_FIELD_BOX;
        return true;
    case CRI_SHAPE_FIELD:
        *out = (cri_field){g->plan->n_node, g->plan->node, g->plan->n_param, p + g->slot_shape};
        return true;
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_MESH:
        return false;
    }
    return false;
}

// ---- residuals ---------------------------------------------------------------------------------

// pose of a body in the world
static cri_pose pose_of(const cr_model *model, int body, const double *x) {
    cri_pose f = {.pos = cri_body_position(model, body, cri_v3(0.0, 0.0, 0.0), x)};
    for (int a = 0; a < 3; a++) {
        cri_vec3 e = cri_v3(a == 0, a == 1, a == 2);
        double column[3];
        cri_v3_store(cri_v3_sub(cri_body_position(model, body, e, x), f.pos), column);
        for (int i = 0; i < 3; i++) {
            f.R.m[3 * i + a] = column[i];
        }
    }
    return f;
}

// derivative of a point's residual for every unknown
static void push_tangents(const cri_cloud_view *v, const placed *g, cri_vec3 y_body, cri_vec3 y,
                          cri_vec3 n, double weight, double *J, size_t stride) {
    const cr_sizes *sizes = &v->model->sizes;
    double param_adj[PARAM_MOST] = {0.0};
    memset(v->x_adj, 0, sizeof *v->x_adj * (size_t)sizes->n_x);
    cri_field_vjp(&g->field, y, weight, cri_v3(0.0, 0.0, 0.0), NULL, param_adj);
    cri_body_position_vjp(v->model, g->geom->body, y_body, v->x, cri_v3_scale(-weight, n),
                          v->x_adj);
    for (int j = 0; j < v->n_unknown; j++) {
        const double *x_tan = v->x_tan + (size_t)j * (size_t)sizes->n_tangent;
        const double *p_tan = v->p_tan + (size_t)j * (size_t)sizes->n_p;
        double sum = 0.0;
        for (int i = 0; i < sizes->n_q; i++) {
            if (v->x_adj[i] != 0.0) {
                sum += v->x_adj[i] * cri_entry_of_tangent(v->model, v->x, i, x_tan);
            }
        }
        for (int i = 0; i < g->field.n_param; i++) {
            sum += param_adj[i] * p_tan[g->first + i];
        }
        J[(size_t)j * stride] = sum;
    }
}

/// Residuals r (n_column) of a sample and, when J is not NULL, their derivatives: J[j stride + i]
/// of point i for unknown j.
static void cloud_compare(const cri_cloud_view *v, int sample, double *r, double *J,
                          size_t stride) {
    const cri_recording *recording = v->recording;
    placed g = {.geom = &v->model->geom[recording->geom]};
    bool is_field = cri_cloud_field(v->model, recording->geom, v->p, &g.leaf, &g.field);
    CR_ASSERT(is_field && g.field.n_param <= PARAM_MOST);
    g.first = (int)(g.field.param - v->p);
    g.body = pose_of(v->model, g.geom->body, v->x);
    for (int i = 0; i < recording->n_column; i++) {
        size_t at = (size_t)sample * (size_t)recording->n_column + (size_t)i;
        cri_vec3 p = cri_v3_load(recording->cloud + 3 * at);
        cri_vec3 y_body = cri_m3_tmul(&g.body.R, cri_v3_sub(p, g.body.pos));
        cri_vec3 y = cri_m3_tmul(&g.geom->R, cri_v3_sub(y_body, g.geom->pos));
        cri_field_value value;
        cri_field_eval(&g.field, y, CRI_FIELD_GRADIENT, &value);
        double weight = cri_recording_weight(recording, i);
        r[i] = weight * value.phi;
        if (J) {
            cri_vec3 n = cri_m3_mul(&g.body.R, cri_m3_mul(&g.geom->R, value.g));
            push_tangents(v, &g, y_body, y, n, weight, J + i, stride);
        }
    }
}

// ---- the recording again ----------------------------------------------------------------------

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
    unknowns_p_tan(unknowns, replay.p_tan);
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
        unknowns_u_tan(replay->unknowns, k, replay->u_tan);
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
        cloud_compare(&view, sample, r + first, J ? J + first : NULL, m);
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
    unknowns_write(unknowns, values->shared, values->own, replay->base, &replay->point);
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
