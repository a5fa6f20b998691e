// SPDX-License-Identifier: MIT
//
// From geoms of bodies to shapes in the world (geometry/query/collide.h, geometry/query/narrow.h),
// and back for the derivatives.
//
//   point of a body    c = p + R a          c_adj: p_adj = c_adj,  theta_adj = a x R' c_adj
//   geom in a body     p_g = p + R g, R_g = R G     theta_adj = g x R' p_g_adj + G theta_g_adj
//   limit              gap = sign (sum coef q - bound)
//   ball's limit       gap = bound - phi,  axis u:  phi_tan = u . theta,
//                      u_tan = 1/2 (cot(phi/2) (theta - u (u.theta)) + u x theta)
//
// Spheres, capsule ends and box corners on a plane are one thing: a point a(size) of the body with
// a radius. Rate of a gap: n . (velocity of point 1 - that of point 0).

#include "contact/near_parts.h"

#include "base/base.h"
#include "geometry/query/collide.h"

#include <math.h>
#include <string.h>

static cri_near_kind kind_of(const cri_geom *a, const cri_geom *b) {
    if (a->shape == CRI_SHAPE_PLANE) {
        switch (b->shape) {
        case CRI_SHAPE_SPHERE:
            return CRI_NEAR_PLANE_SPHERE;
        case CRI_SHAPE_CAPSULE:
            return CRI_NEAR_PLANE_CAPSULE;
        case CRI_SHAPE_BOX:
            return CRI_NEAR_PLANE_BOX;
        case CRI_SHAPE_PLANE:
        case CRI_SHAPE_ELLIPSOID:
        case CRI_SHAPE_CYLINDER:
        case CRI_SHAPE_MESH:
        case CRI_SHAPE_FIELD:
            return CRI_NEAR_GENERAL;
        }
    }
    bool are_spheres = a->shape == CRI_SHAPE_SPHERE && b->shape == CRI_SHAPE_SPHERE;
    return are_spheres ? CRI_NEAR_SPHERE_SPHERE : CRI_NEAR_GENERAL;
}

cri_near cri_near_geoms(const cr_model *m, int geom0, int geom1, int pair) {
    CR_ASSERT(geom0 >= 0 && geom1 >= 0 && geom0 != geom1 && pair < m->n_pair);
    static const int n_slot_of[] = {1, 2, 8, 1, CRI_MAX_TOUCH, 1};
    const cri_geom *a = &m->geom[geom0], *b = &m->geom[geom1];
    // a plane first, then what does not move, then the lower body
    bool is_swapped =
        b->shape == CRI_SHAPE_PLANE ||
        (a->shape != CRI_SHAPE_PLANE && (b->unit < 0 || (a->unit >= 0 && b->body < a->body)));
    cri_near near = {.geom = {is_swapped ? geom1 : geom0, is_swapped ? geom0 : geom1},
                     .pair = pair,
                     .has_two_frictions = pair >= 0 && m->pair[pair].slot_friction2 >= 0,
                     .limit = -1};
    for (int s = 0; s < 2; s++) {
        near.body[s] = m->geom[near.geom[s]].body;
        near.unit[s] = m->geom[near.geom[s]].unit;
    }
    near.kind = kind_of(&m->geom[near.geom[0]], &m->geom[near.geom[1]]);
    near.is_field = a->shape == CRI_SHAPE_FIELD || b->shape == CRI_SHAPE_FIELD;
    near.n_slot = near.is_field ? CRI_MOST_SLOT : n_slot_of[near.kind];
    return near;
}

cri_near cri_near_limit(const cr_model *m, int limit) {
    CR_ASSERT(limit >= 0 && limit < m->n_limit);
    int unit = m->limit[limit].unit;
    return (cri_near){.kind = CRI_NEAR_LIMIT,
                      .geom = {-1, -1},
                      .body = {-1, -1},
                      .unit = {-1, unit},
                      .pair = -1,
                      .limit = limit,
                      .n_slot = 1};
}

// ---- points of bodies --------------------------------------------------------------------------

static cri_pose pose_of(const cr_model *m, const cri_state *state, int body) {
    return body >= 0 ? state->pose[body] : cri_model_static_pose(m, -1);
}

// signs of the size entries in the local point of a slot
static cri_vec3 signs_of(const cri_near *near, int slot) {
    if (near->kind == CRI_NEAR_PLANE_CAPSULE) {
        return cri_v3(0.0, slot == 0 ? 1.0 : -1.0, 0.0);
    }
    if (near->kind == CRI_NEAR_PLANE_BOX) {
        return cri_v3(slot & 4 ? 1.0 : -1.0, slot & 2 ? 1.0 : -1.0, slot & 1 ? 1.0 : -1.0);
    }
    return cri_v3(0.0, 0.0, 0.0);
}

// the point of a slot in its geom's frame: sign o size, a capsule's along z
static cri_vec3 local_point(const cri_near *near, int slot, const double *size) {
    cri_vec3 s = signs_of(near, slot);
    if (near->kind == CRI_NEAR_PLANE_CAPSULE) {
        return cri_v3(0.0, 0.0, s.y * size[1]);
    }
    return cri_v3(s.x * size[0], s.y * size[1], s.z * size[2]);
}

static double radius_of(const cri_near *near, const double *size) {
    return near->kind == CRI_NEAR_PLANE_BOX ? 0.0 : size[0];
}

// the point in the body's frame
static cri_vec3 body_point(const cri_geom *geom, cri_vec3 local) {
    return geom->is_centred ? local : cri_v3_add(geom->pos, cri_m3_mul(&geom->R, local));
}

/// One round point of a body: centre in the world and in the body.
typedef struct ball {
    cri_vec3 centre;
    cri_vec3 arm; // body frame
    double radius;
} ball;

static ball ball_of(const cri_world *w, const cri_near *near, int side, int slot,
                    const cri_state *state) {
    int g = near->geom[side];
    const cri_geom *geom = &w->model->geom[g];
    const double *size = w->d->geom[g].size;
    cri_vec3 local = near->kind == CRI_NEAR_SPHERE_SPHERE ? cri_v3(0.0, 0.0, 0.0)
                                                          : local_point(near, slot, size);
    ball b = {.arm = body_point(geom, local), .radius = radius_of(near, size)};
    if (geom->body < 0) {
        b.centre = b.arm;
        return b;
    }
    const cri_pose *pose = &state->pose[geom->body];
    bool is_origin = geom->is_centred && near->kind != CRI_NEAR_PLANE_BOX &&
                     near->kind != CRI_NEAR_PLANE_CAPSULE;
    b.centre = is_origin ? pose->pos : cri_v3_add(pose->pos, cri_m3_mul(&pose->R, b.arm));
    return b;
}

// adjoint of ball_of, of whose adjoint centre and radius are read
static void ball_vjp(const cri_world *w, const cri_near *near, int side, int slot,
                     const cri_state *state, const ball *adj, double *q_adj,
                     const cri_derived *d_adj) {
    int g = near->geom[side];
    const cri_geom *geom = &w->model->geom[g];
    double *size_adj = d_adj->geom[g].size;
    ball b = ball_of(w, near, side, slot, state);
    cri_pose pose = pose_of(w->model, state, geom->body);

    // centre = p + R arm
    cri_vec3 arm_adj = cri_m3_tmul(&pose.R, adj->centre);
    cri_state_pose_vjp(w->model, state, geom->body, adj->centre, cri_v3_cross(b.arm, arm_adj),
                       q_adj);

    // arm = pos + G (sign o size), radius = size[0]
    cri_vec3 s = signs_of(near, slot), local_adj = cri_m3_tmul(&geom->R, arm_adj);
    if (near->kind == CRI_NEAR_PLANE_BOX) {
        cri_v3_accumulate(cri_v3_mul(s, local_adj), size_adj);
        return;
    }
    size_adj[0] += adj->radius;
    if (near->kind == CRI_NEAR_PLANE_CAPSULE) {
        size_adj[1] += s.y * local_adj.z;
    }
}

// tangents of centre and radius
static cri_vec3 ball_jvp(const cri_world *w, const cri_near *near, int side, int slot,
                         const cri_state *state, const double *body_tan, const cri_derived *d_tan,
                         double *radius_tan) {
    int g = near->geom[side];
    const cri_geom *geom = &w->model->geom[g];
    const double *size_tan = d_tan->geom[g].size;
    ball b = ball_of(w, near, side, slot, state);
    cri_pose pose = pose_of(w->model, state, geom->body);
    cri_vec3 arm_tan = {0};
    *radius_tan = near->kind == CRI_NEAR_PLANE_BOX ? 0.0 : size_tan[0];
    if (near->kind != CRI_NEAR_SPHERE_SPHERE) {
        arm_tan = cri_m3_mul(&geom->R, local_point(near, slot, size_tan));
    }
    if (geom->body < 0 || geom->unit < 0) {
        return cri_m3_mul(&pose.R, arm_tan);
    }
    const double *tan = body_tan + 6 * geom->body;
    cri_vec3 turn = cri_v3_cross(cri_v3_load(tan + 3), b.arm);
    return cri_v3_add(cri_v3_load(tan), cri_m3_mul(&pose.R, cri_v3_add(arm_tan, turn)));
}

static void ball_touch(const cri_world *w, const cri_near *near, int slot, const cri_state *state,
                       cri_narrow_touch *touch) {
    ball b1 = ball_of(w, near, 1, slot, state);
    touch->id = slot;
    if (near->kind != CRI_NEAR_SPHERE_SPHERE) {
        int plane = near->geom[0];
        cri_touch t = cri_plane_sphere(w->model->geom[plane].normal, w->d->geom[plane].size[0],
                                       b1.centre, b1.radius);
        touch->gap = t.gap;
        touch->normal = t.normal;
        touch->point[1] = cri_v3_add(b1.centre, t.arm[1]);
        touch->point[0] = cri_v3_mad(touch->point[1], -t.gap, t.normal);
        return;
    }
    ball b0 = ball_of(w, near, 0, slot, state);
    cri_touch t = cri_sphere_sphere(cri_v3_sub(b1.centre, b0.centre), b0.radius, b1.radius);
    touch->gap = t.gap;
    touch->normal = t.normal;
    touch->point[0] = cri_v3_add(b0.centre, t.arm[0]);
    touch->point[1] = cri_v3_add(b1.centre, t.arm[1]);
}

static void ball_touch_vjp(const cri_world *w, const cri_near *near, int slot,
                           const cri_state *state, const cri_touch_diff *adj, double *q_adj,
                           const cri_derived *d_adj) {
    cri_touch arms = {
        .gap = adj->gap, .normal = adj->normal, .arm = {adj->point[0], adj->point[1]}};
    cri_vec3 delta_adj = {0};
    double radius_adj[2] = {0.0, 0.0};
    if (near->kind != CRI_NEAR_SPHERE_SPHERE) {
        // the plane stands still, so its own point has no adjoint
        int plane = near->geom[0];
        cri_plane_sphere_vjp(w->model->geom[plane].normal, &arms, &delta_adj,
                             &d_adj->geom[plane].size[0], &radius_adj[1]);
        ball b1_adj = {.centre = cri_v3_add(delta_adj, adj->point[1]), .radius = radius_adj[1]};
        ball_vjp(w, near, 1, slot, state, &b1_adj, q_adj, d_adj);
        return;
    }
    ball b0 = ball_of(w, near, 0, slot, state), b1 = ball_of(w, near, 1, slot, state);
    cri_sphere_sphere_vjp(cri_v3_sub(b1.centre, b0.centre), b0.radius, b1.radius, &arms, &delta_adj,
                          &radius_adj[0], &radius_adj[1]);
    ball b0_adj = {.centre = cri_v3_sub(adj->point[0], delta_adj), .radius = radius_adj[0]};
    ball b1_adj = {.centre = cri_v3_add(adj->point[1], delta_adj), .radius = radius_adj[1]};
    ball_vjp(w, near, 0, slot, state, &b0_adj, q_adj, d_adj);
    ball_vjp(w, near, 1, slot, state, &b1_adj, q_adj, d_adj);
}

static cri_touch_diff ball_touch_jvp(const cri_world *w, const cri_near *near, int slot,
                                     const cri_state *state, const double *body_tan,
                                     const cri_derived *d_tan) {
    double r0_tan, r1_tan;
    cri_vec3 c1_tan = ball_jvp(w, near, 1, slot, state, body_tan, d_tan, &r1_tan);
    if (near->kind != CRI_NEAR_SPHERE_SPHERE) {
        int plane = near->geom[0];
        cri_touch t = cri_plane_sphere_jvp(w->model->geom[plane].normal, c1_tan,
                                           d_tan->geom[plane].size[0], r1_tan);
        return (cri_touch_diff){
            .gap = t.gap, .normal = t.normal, .point = {{0}, cri_v3_add(c1_tan, t.arm[1])}};
    }
    cri_vec3 c0_tan = ball_jvp(w, near, 0, slot, state, body_tan, d_tan, &r0_tan);
    ball b0 = ball_of(w, near, 0, slot, state), b1 = ball_of(w, near, 1, slot, state);
    cri_touch t = cri_sphere_sphere_jvp(cri_v3_sub(b1.centre, b0.centre), b0.radius, b1.radius,
                                        cri_v3_sub(c1_tan, c0_tan), r0_tan, r1_tan);
    return (cri_touch_diff){.gap = t.gap,
                            .normal = t.normal,
                            .point = {cri_v3_add(c0_tan, t.arm[0]), cri_v3_add(c1_tan, t.arm[1])}};
}

// ---- general pairs -----------------------------------------------------------------------------

void cri_near_poses(const cri_world *w, const cri_near *near, const cri_state *state,
                    cri_pose pose[2]) {
    for (int s = 0; s < 2; s++) {
        int g = near->geom[s];
        const cri_geom *geom = &w->model->geom[g];
        pose[s] = pose_of(w->model, state, geom->body);
        if (!geom->is_centred) {
            pose[s].pos = cri_v3_add(pose[s].pos, cri_m3_mul(&pose[s].R, geom->pos));
            pose[s].R = cri_m3_product(&pose[s].R, &geom->R);
        }
        if (geom->shape == CRI_SHAPE_PLANE) {
            // along its normal the plane stands where its offset says
            double move = w->d->geom[g].size[0] - cri_v3_dot(geom->normal, pose[s].pos);
            pose[s].pos = cri_v3_mad(pose[s].pos, move, geom->normal);
        }
    }
}

void cri_near_pose_vjp(const cri_world *w, int g, const cri_state *state, cri_vec3 pos_adj,
                       cri_vec3 rot_adj, double *q_adj, const cri_derived *d_adj) {
    const cri_geom *geom = &w->model->geom[g];
    if (geom->shape == CRI_SHAPE_PLANE) {
        d_adj->geom[g].size[0] += cri_v3_dot(geom->normal, pos_adj);
    } else if (geom->unit >= 0) {
        cri_vec3 local = cri_m3_tmul(&state->pose[geom->body].R, pos_adj);
        cri_vec3 rot = cri_v3_add(cri_v3_cross(geom->pos, local), cri_m3_mul(&geom->R, rot_adj));
        cri_state_pose_vjp(w->model, state, geom->body, pos_adj, rot, q_adj);
    }
}

void cri_near_pose_jvp(const cri_world *w, int g, const cri_state *state, const double *body_tan,
                       const cri_derived *d_tan, cri_vec3 *pos_tan, cri_vec3 *rot_tan) {
    const cri_geom *geom = &w->model->geom[g];
    *pos_tan = *rot_tan = cri_v3(0.0, 0.0, 0.0);
    if (geom->shape == CRI_SHAPE_PLANE) {
        *pos_tan = cri_v3_scale(d_tan->geom[g].size[0], geom->normal);
    } else if (geom->unit >= 0) {
        const double *tan = body_tan + 6 * geom->body;
        cri_vec3 theta = cri_v3_load(tan + 3);
        cri_vec3 turn = cri_m3_mul(&state->pose[geom->body].R, cri_v3_cross(theta, geom->pos));
        *pos_tan = cri_v3_add(cri_v3_load(tan), turn);
        *rot_tan = cri_m3_tmul(&geom->R, theta);
    }
}

// both geoms, none of which is a field
static void shapes_of(const cri_world *w, const cri_near *near, cri_shape shape[2]) {
    for (int s = 0; s < 2; s++) {
        int g = near->geom[s];
        const cri_geom *geom = &w->model->geom[g];
        shape[s] = (cri_shape){geom->shape, w->d->geom[g].size, geom->hull};
    }
}

// bodies beyond all numbers touch nothing
bool cri_near_are_finite(const cri_pose pose[2]) {
    double sum = 0.0;
    for (int s = 0; s < 2; s++) {
        sum += pose[s].pos.x + pose[s].pos.y + pose[s].pos.z;
        for (int i = 0; i < 9; i++) {
            sum += pose[s].R.m[i];
        }
    }
    return isfinite(sum);
}

static void general_vjp(const cri_world *w, const cri_near *near, const cri_narrow_touch *touch,
                        const cri_state *state, const cri_touch_diff *adj, double *q_adj,
                        const cri_derived *d_adj) {
    if (near->is_field) {
        cri_near_field_vjp(w, near, touch, state, adj, q_adj, d_adj);
        return;
    }
    cri_shape shape[2];
    cri_pose pose[2];
    cri_shape_diff diff[2] = {0};
    shapes_of(w, near, shape);
    cri_near_poses(w, near, state, pose);
    cri_touch_vjp(shape, pose, touch, adj, diff);
    for (int s = 0; s < 2; s++) {
        int g = near->geom[s];
        const cri_geom *geom = &w->model->geom[g];
        for (int i = 0; i < geom->n_size && geom->shape != CRI_SHAPE_PLANE; i++) {
            d_adj->geom[g].size[i] += diff[s].size[i];
        }
        cri_near_pose_vjp(w, g, state, diff[s].pos, diff[s].rot, q_adj, d_adj);
    }
}

static cri_touch_diff general_jvp(const cri_world *w, const cri_near *near,
                                  const cri_narrow_touch *touch, const cri_state *state,
                                  const double *body_tan, const cri_derived *d_tan) {
    if (near->is_field) {
        return cri_near_field_jvp(w, near, touch, state, body_tan, d_tan);
    }
    cri_shape shape[2];
    cri_pose pose[2];
    cri_shape_diff diff[2] = {0};
    shapes_of(w, near, shape);
    cri_near_poses(w, near, state, pose);
    for (int s = 0; s < 2; s++) {
        int g = near->geom[s];
        const cri_geom *geom = &w->model->geom[g];
        if (geom->shape != CRI_SHAPE_PLANE) {
            memcpy(diff[s].size, d_tan->geom[g].size, sizeof(double) * (size_t)geom->n_size);
        }
        cri_near_pose_jvp(w, g, state, body_tan, d_tan, &diff[s].pos, &diff[s].rot);
    }
    return cri_touch_jvp(shape, pose, touch, diff);
}

// ---- all kinds ---------------------------------------------------------------------------------

static double limit_sum(const cri_limit *l, const double *q, const int *index) {
    double sum = 0.0;
    for (int i = 0; i < l->n; i++) {
        sum += l->coef[i] * q[index[i]];
    }
    return sum;
}

void cri_limit_add_row(const cri_limit *l, const double *q, double scale, int first, double *out) {
    double angle;
    if (l->ball >= 0) {
        cri_vec3 u = cri_limit_axis(l, q, &angle);
        cri_v3_accumulate(cri_v3_scale(-scale, u), out + l->dof[0] - first);
        return;
    }
    for (int i = 0; i < l->n; i++) {
        out[l->dof[i] - first] += scale * l->sign * l->coef[i];
    }
}

static double limit_rate(const cri_limit *l, const double *q, const double *v) {
    double angle;
    if (l->ball >= 0) {
        return -cri_v3_dot(cri_limit_axis(l, q, &angle), cri_v3_load(v + l->dof[0]));
    }
    return l->sign * limit_sum(l, v, l->dof);
}

// the signed distance
static void general_touch(const cri_world *w, const cri_near *near, const cri_state *state,
                          cri_narrow_touch *touch) {
    cri_shape shape[2];
    cri_pose pose[2];
    cri_near_poses(w, near, state, pose);
    *touch = (cri_narrow_touch){.gap = INFINITY};
    if (cri_near_are_finite(pose) && near->is_field) {
        cri_near_field_touch(w, near, pose, touch);
    } else if (cri_near_are_finite(pose)) {
        shapes_of(w, near, shape);
        cri_distance(shape, pose, touch);
    }
}

void cri_near_touch(const cri_world *w, const cri_near *near, int slot, const cri_state *state,
                    cri_narrow_touch *touch) {
    CR_ASSERT(near && slot >= 0 && state && touch);
    if (near->kind == CRI_NEAR_LIMIT) {
        const cri_limit *l = &w->model->limit[near->limit];
        double angle;
        if (l->ball >= 0) {
            cri_limit_axis(l, state->x, &angle);
            *touch = (cri_narrow_touch){.gap = l->bound - angle};
        } else {
            *touch = (cri_narrow_touch){.gap = l->sign * (limit_sum(l, state->x, l->q) - l->bound)};
        }
    } else if (near->kind == CRI_NEAR_GENERAL) {
        general_touch(w, near, state, touch);
    } else {
        ball_touch(w, near, slot, state, touch);
    }
}

void cri_near_touches(const cri_world *w, const cri_near *near, const cri_state *state,
                      double margin, cri_narrow_touch *touch) {
    if (near->kind != CRI_NEAR_GENERAL) {
        for (int k = 0; k < near->n_slot; k++) {
            cri_near_touch(w, near, k, state, &touch[k]);
        }
        return;
    }
    cri_shape shape[2];
    cri_pose pose[2];
    cri_near_poses(w, near, state, pose);
    if (near->is_field && cri_near_are_finite(pose)) {
        cri_near_field_touches(w, near, pose, margin, touch);
        return;
    }
    shapes_of(w, near, shape);
    int n = cri_near_are_finite(pose) ? cri_collide(shape, pose, margin, touch) : 0;
    for (int k = n; k < near->n_slot; k++) {
        touch[k].gap = INFINITY;
    }
}

bool cri_near_again(const cri_world *w, const cri_near *near, const cri_state *state,
                    cri_narrow_touch *touch) {
    if (near->kind != CRI_NEAR_GENERAL) {
        cri_near_touch(w, near, touch->id, state, touch);
        return true;
    }
    cri_shape shape[2];
    cri_pose pose[2];
    cri_near_poses(w, near, state, pose);
    if (near->is_field) {
        return cri_near_are_finite(pose) && cri_near_field_again(w, near, pose, touch);
    }
    shapes_of(w, near, shape);
    return cri_near_are_finite(pose) && cri_touch_again(shape, pose, touch);
}

void cri_near_touch_vjp(const cri_world *w, const cri_near *near, const cri_narrow_touch *touch,
                        const cri_state *state, const cri_touch_diff *adj, double *q_adj,
                        const cri_derived *d_adj) {
    CR_ASSERT(near && touch);
    if (near->kind == CRI_NEAR_LIMIT) {
        const cri_limit *l = &w->model->limit[near->limit];
        cri_limit_add_row(l, state->x, adj->gap, 0, q_adj);
    } else if (near->kind == CRI_NEAR_GENERAL) {
        general_vjp(w, near, touch, state, adj, q_adj, d_adj);
    } else {
        ball_touch_vjp(w, near, touch->id, state, adj, q_adj, d_adj);
    }
}

cri_touch_diff cri_near_touch_jvp(const cri_world *w, const cri_near *near,
                                  const cri_narrow_touch *touch, const cri_state *state,
                                  const double *q_tan, const double *body_tan,
                                  const cri_derived *d_tan) {
    CR_ASSERT(near && touch);
    if (near->kind == CRI_NEAR_LIMIT) {
        const cri_limit *l = &w->model->limit[near->limit];
        return (cri_touch_diff){.gap = limit_rate(l, state->x, q_tan)};
    }
    if (near->kind == CRI_NEAR_GENERAL) {
        return general_jvp(w, near, touch, state, body_tan, d_tan);
    }
    return ball_touch_jvp(w, near, touch->id, state, body_tan, d_tan);
}

double cri_near_rate(const cri_world *w, const cri_near *near, const cri_narrow_touch *touch,
                     const cri_state *state, const double *v, const double *motion) {
    CR_ASSERT(near && touch);
    if (near->kind == CRI_NEAR_LIMIT) {
        const cri_limit *l = &w->model->limit[near->limit];
        return limit_rate(l, state->x, v);
    }
    double rate = 0.0;
    cri_vec3 along = near->is_field ? cri_near_gap_direction(w, near, state, touch) : touch->normal;
    for (int s = 0; s < 2; s++) {
        if (near->unit[s] < 0) {
            continue;
        }
        const cri_pose *pose = &state->pose[near->body[s]];
        const double *m = motion + 6 * near->body[s];
        cri_vec3 arm = cri_v3_sub(touch->point[s], pose->pos);
        cri_vec3 spin = cri_m3_mul(&pose->R, cri_v3_load(m + 3));
        cri_vec3 at = cri_v3_add(cri_v3_load(m), cri_v3_cross(spin, arm));
        rate += s == 0 ? -cri_v3_dot(along, at) : cri_v3_dot(along, at);
    }
    return rate;
}

// ---- coefficients ------------------------------------------------------------------------------

// the larger of the two geoms' numbers, the second at a tie; its place in the block
static double larger(const cri_derived *d, const double *a, const double *b, int *at,
                     bool *is_tied) {
    const double *from = *a > *b ? a : b;
    *at = (int)(from - d->block);
    *is_tied = *a == *b;
    return *from;
}

cri_coefficients cri_near_coefficients(const cri_world *w, const cri_near *near) {
    cri_coefficients c = {.at_friction = -1, .at_friction_back = -1, .at_restitution = -1};
    if (near->kind == CRI_NEAR_LIMIT) {
        // rows across a limit are empty: a friction cone of any width keeps them at zero
        c.friction = 1.0;
        return c;
    }
    const cri_derived *d = w->d;
    const cri_geom_pair *pair = near->pair >= 0 ? &w->model->pair[near->pair] : NULL;
    const cri_geom_derived *a = &d->geom[near->geom[0]], *b = &d->geom[near->geom[1]];
    if (near->has_two_frictions) {
        const cri_pair_derived *own = &d->pair[near->pair];
        c.friction = fmax(own->friction, own->friction2);
        // equal ones are no kink of a law that is exact, but for the tip of the cone
        bool is_kink = w->law->is_regularised || c.friction == 0.0;
        c.is_friction_tied = own->friction == own->friction2 && is_kink;
    } else if (pair && (pair->slot_friction >= 0 || pair->friction_geom >= 0)) {
        const double *own = pair->slot_friction >= 0 ? &d->pair[near->pair].friction
                                                     : &d->geom[pair->friction_geom].friction;
        c.friction = *own;
        c.at_friction = (int)(own - d->block);
        c.has_sides = pair->slot_friction_back >= 0;
        if (c.has_sides) {
            c.friction_back = d->pair[near->pair].friction_back;
            c.at_friction_back = (int)(&d->pair[near->pair].friction_back - d->block);
        }
    } else {
        c.friction = larger(d, &a->friction, &b->friction, &c.at_friction, &c.is_friction_tied);
    }
    if (pair && pair->slot_restitution >= 0) {
        const double *own = &d->pair[near->pair].restitution;
        c.restitution = *own;
        c.at_restitution = (int)(own - d->block);
    } else {
        c.restitution =
            larger(d, &a->restitution, &b->restitution, &c.at_restitution, &c.is_restitution_tied);
    }
    return c;
}
