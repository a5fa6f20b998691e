// SPDX-License-Identifier: MIT
//
// Recordings of points on a surface.
//
//   y = R_g'(R_b'(p - x_b) - x_g),   r = phi(y; theta)/sigma
//   dr/dz = (phi_theta . theta_tan - n . v)/sigma,   n = R_b R_g g
//
// v is the velocity along x_tan of the point of the body that is at p, by the adjoint of
// cri_body_position with the seed n.

#include "optimize/cloud.h"

#include "dynamics/unit.h"
#include "geometry/field/form.h"
#include "optimize/tangent.h"

#include <math.h>
#include <string.h>

enum { PARAM_MOST = 256 };

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

/// A geom where it is now.
typedef struct placed {
    const cri_geom *geom;
    cri_field_node leaf;
    cri_field field;
    int first; // of its parameters in p
    cri_pose body;
} placed;

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

void cri_cloud_compare(const cri_cloud_view *v, int sample, double *r, double *J, size_t stride) {
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
