// SPDX-License-Identifier: MIT
//
// From geoms of bodies to shapes in the world (geometry/query/narrow.h),
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

#include "contact/pair.h"

#include "base/base.h"
#include "contact/law.h"
#include "dynamics/unit.h"
#include "geometry/convex/pieces.h"
#include "geometry/field/form.h"
#include "geometry/query/narrow.h"
#include "model/derived.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/// What cri_near_next was asked.
typedef struct question {
    const cri_world *world;
    const cri_near *near;
    const cri_state *state;
    const double *v, *motion;
    const cri_next *next;
    double least_gap; // of one that need not approach
} question;

/// One round point of a body: centre in the world and in the body.
typedef struct ball {
    cri_vec3 centre;
    cri_vec3 arm; // body frame
    double radius;
} ball;

// ---- the touch that comes next ------------------------------------------------------------------

// The touch of a general pair that comes next while others rest.
//
// A mesh on a plane, and a field's mesh on one, may come down with any of their vertices, and the
// outline of those within a margin leaves out most. All are looked at here: of those that approach,
// the lowest. What touches and neither rests nor approaches lies between resting ones, whose rows
// hold it. Where nothing approaches the lowest of what does not touch may do so later.

static bool is_asked_for(const void *context, const cri_narrow_touch *touch) {
    const question *q = context;
    for (int i = 0; i < q->next->n_skip; i++) {
        // every slot of a pair was written; NOLINTNEXTLINE(clang-analyzer-core.*)
        if (q->next->skip[i] == touch->id) {
            return false;
        }
    }
    return touch->gap > q->least_gap || cri_near_rate(q->world, q->near, touch, q->state, q->v,
                                                      q->motion) < -q->next->least_speed;
}

// Of what cri_near_touches has, as a resting touch may come under another id: on a plane those that
// approach come first, elsewhere those that approach or do not touch yet, then whatever is there.
static bool next_of_outline(question q, bool has_plane, double margin, cri_narrow_touch *out) {
    cri_narrow_touch touch[CRI_MOST_SLOT];
    cri_near_touches(q.world, q.near, q.state, margin, touch);
    out->gap = INFINITY;
    const double least_gap[] = {INFINITY, q.next->least_gap, -INFINITY};
    for (int pass = 0; pass < 2 && !isfinite(out->gap); pass++) {
        q.least_gap = least_gap[has_plane ? pass : pass + 1];
        for (int k = 0; k < q.near->n_slot && isfinite(touch[k].gap); k++) {
            if (touch[k].gap < out->gap && is_asked_for(&q, &touch[k])) {
                *out = touch[k];
            }
        }
    }
    return isfinite(out->gap);
}

// rates of the vertices of a mesh are linear in their places: taken from four
static cri_plane_asked asked_of(const question *q, const cri_pose pose[2]) {
    cri_narrow_touch t = {.normal = cri_m3_column(&pose[0].R, 2)};
    double rate[4];
    for (int k = 0; k < 4; k++) {
        cri_vec3 x = k < 3 ? cri_v3_add(pose[1].pos, cri_m3_column(&pose[1].R, k)) : pose[1].pos;
        t.point[0] = t.point[1] = x;
        rate[k] = cri_near_rate(q->world, q->near, &t, q->state, q->v, q->motion);
    }
    return (cri_plane_asked){{rate[0] - rate[3], rate[1] - rate[3], rate[2] - rate[3]},
                             -q->next->least_speed - rate[3],
                             q->least_gap};
}

static cri_pose pose_of(const cr_model *m, const cri_state *state, int body) {
    return body >= 0 ? state->pose[body] : cri_model_static_pose(m, -1);
}

/// Poses of both geoms in the world. A plane stands where its offset says.
static void near_poses(const cri_world *w, const cri_near *near, const cri_state *state,
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

// bodies beyond all numbers touch nothing
static bool near_are_finite(const cri_pose pose[2]) {
    double sum = 0.0;
    for (int s = 0; s < 2; s++) {
        sum += pose[s].pos.x + pose[s].pos.y + pose[s].pos.z;
        for (int i = 0; i < 9; i++) {
            sum += pose[s].R.m[i];
        }
    }
    return isfinite(sum);
}

// of all vertices above a plane
static bool next_of_all(const question *q, double margin, cri_narrow_touch *touch) {
    const cri_world *w = q->world;
    const int *g = q->near->geom;
    cri_pose pose[2];
    near_poses(w, q->near, q->state, pose);
    if (!near_are_finite(pose)) {
        return false;
    }
    if (q->near->is_field) {
        const cri_form *form = w->d->forms->form;
        const cri_skin skin[2] = {cri_form_skin(&form[g[0]]), cri_form_skin(&form[g[1]])};
        return cri_skins_next(skin, pose, margin, is_asked_for, q, touch, w->scratch);
    }
    cri_shape shape[2];
    for (int s = 0; s < 2; s++) {
        const cri_geom *geom = &w->model->geom[g[s]];
        shape[s] = (cri_shape){geom->shape, w->d->geom[g[s]].size, geom->hull};
    }
    cri_plane_asked asked = asked_of(q, pose);
    return cri_plane_next(shape, pose, &asked, is_asked_for, q, touch) && touch->gap <= margin;
}

bool cri_near_next(const cri_world *w, const cri_near *near, const cri_state *state,
                   const double *v, const double *motion, double margin, const cri_next *next,
                   cri_narrow_touch *touch) {
    CR_ASSERT(near->kind == CRI_NEAR_GENERAL && next && touch);
    question q = {w, near, state, v, motion, next, INFINITY};
    const cri_geom *a = &w->model->geom[near->geom[0]], *b = &w->model->geom[near->geom[1]];
    // a smooth field touches with its own lowest points
    bool has_all = b->shape == CRI_SHAPE_MESH ||
                   (near->is_field && !cri_form_skin(&w->d->forms->form[near->geom[1]]).is_round);
    bool has_plane = a->shape == CRI_SHAPE_PLANE;
    if (!has_plane || !has_all) {
        return next_of_outline(q, has_plane, margin, touch);
    }
    if (next_of_all(&q, margin, touch)) {
        return true;
    }
    q.least_gap = next->least_gap;
    return next_of_all(&q, margin, touch);
}

// ---- distance fields ----------------------------------------------------------------------------

// Pairs of geoms one of which is a distance field: forms of geometry/field/form.h in the world.
//
// Touches within the margin are those of both meshes in both fields; when there is none, the first
// touch is the lowest point of either mesh, however far. A field that is no exact distance far from
// its surface makes that an estimate; it is exact where it counts, at a gap of zero.

static void forms_of(const cri_world *w, const cri_near *near, const cri_form *form[2]) {
    CR_ASSERT(w->d->forms && w->d->forms->form);
    for (int s = 0; s < 2; s++) {
        form[s] = &w->d->forms->form[near->geom[s]];
        CR_ASSERT(form[s]->plan);
    }
}

// parameters of a geom in a derived block, NULL: it has none
static double *params_in(const cri_world *w, int g, const cri_derived *d) {
    const cri_geom *geom = &w->model->geom[g];
    if (geom->shape == CRI_SHAPE_FIELD) {
        return d->shape + geom->first_shape;
    }
    bool has_sizes = geom->shape != CRI_SHAPE_PLANE && geom->shape != CRI_SHAPE_MESH;
    return has_sizes ? d->geom[g].size : NULL;
}

static void near_field_touch(const cri_world *w, const cri_near *near, const cri_pose pose[2],
                             cri_narrow_touch *touch) {
    const cri_form *form[2];
    forms_of(w, near, form);
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    cri_skins_distance(skin, pose, touch, w->scratch);
}

/// The same as in pair.h, for two geoms one of which is a field.
static void near_field_touches(const cri_world *w, const cri_near *near, const cri_pose pose[2],
                               double margin, cri_narrow_touch *touch) {
    const cri_form *form[2];
    forms_of(w, near, form);
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    // the narrow phase has met its largest need when parameters were set
    int n = cri_skins_collide(skin, pose, margin, near->n_slot, touch, w->scratch);
    CR_ASSERT(!cri_arena_has_failed(w->scratch));
    if (n == 0) {
        cri_skins_distance(skin, pose, touch, w->scratch);
        n = 1;
    }
    for (int k = n; k < near->n_slot; k++) {
        touch[k].gap = INFINITY;
    }
}

static bool near_field_again(const cri_world *w, const cri_near *near, const cri_pose pose[2],
                             cri_narrow_touch *touch) {
    const cri_form *form[2];
    forms_of(w, near, form);
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    return cri_skin_touch_again(skin, pose, touch);
}

/// Along which a touch's gap grows: its normal, but for some of fields.
static cri_vec3 near_gap_direction(const cri_world *w, const cri_near *near, const cri_state *state,
                                   const cri_narrow_touch *touch) {
    if (!near->is_field || !(touch->cache.kind & CRI_SKIN_OWN)) {
        return touch->normal;
    }
    const cri_form *form[2];
    cri_pose pose[2];
    forms_of(w, near, form);
    near_poses(w, near, state, pose);
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    return cri_skin_gap_direction(skin, pose, touch);
}

/// Adjoint and tangent of a geom's pose: pos in the world, rot in the geom's own frame.
static void near_pose_vjp(const cri_world *w, int g, const cri_state *state, cri_vec3 pos_adj,
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

static void near_field_vjp(const cri_world *w, const cri_near *near, const cri_narrow_touch *touch,
                           const cri_state *state, const cri_touch_diff *adj, double *q_adj,
                           const cri_derived *d_adj) {
    const cri_form *form[2];
    cri_pose pose[2];
    cri_form_diff diff[2];
    forms_of(w, near, form);
    near_poses(w, near, state, pose);
    for (int s = 0; s < 2; s++) {
        diff[s] = (cri_form_diff){.param = params_in(w, near->geom[s], d_adj)};
    }
    cri_form_touch_vjp(form, pose, touch, adj, diff);
    for (int s = 0; s < 2; s++) {
        near_pose_vjp(w, near->geom[s], state, diff[s].pos, diff[s].rot, q_adj, d_adj);
    }
}

static void near_pose_jvp(const cri_world *w, int g, const cri_state *state, const double *body_tan,
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

static cri_touch_diff near_field_jvp(const cri_world *w, const cri_near *near,
                                     const cri_narrow_touch *touch, const cri_state *state,
                                     const double *body_tan, const cri_derived *d_tan) {
    const cri_form *form[2];
    cri_pose pose[2];
    cri_form_diff diff[2];
    forms_of(w, near, form);
    near_poses(w, near, state, pose);
    for (int s = 0; s < 2; s++) {
        diff[s].param = params_in(w, near->geom[s], d_tan);
        near_pose_jvp(w, near->geom[s], state, body_tan, d_tan, &diff[s].pos, &diff[s].rot);
    }
    return cri_form_touch_jvp(form, pose, touch, diff);
}

// ---- all pairs ----------------------------------------------------------------------------------

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

// both geoms, none of which is a field
static void shapes_of(const cri_world *w, const cri_near *near, cri_shape shape[2]) {
    for (int s = 0; s < 2; s++) {
        int g = near->geom[s];
        const cri_geom *geom = &w->model->geom[g];
        shape[s] = (cri_shape){geom->shape, w->d->geom[g].size, geom->hull};
    }
}

static void general_vjp(const cri_world *w, const cri_near *near, const cri_narrow_touch *touch,
                        const cri_state *state, const cri_touch_diff *adj, double *q_adj,
                        const cri_derived *d_adj) {
    if (near->is_field) {
        near_field_vjp(w, near, touch, state, adj, q_adj, d_adj);
        return;
    }
    cri_shape shape[2];
    cri_pose pose[2];
    cri_shape_diff diff[2] = {0};
    shapes_of(w, near, shape);
    near_poses(w, near, state, pose);
    cri_touch_vjp(shape, pose, touch, adj, diff);
    for (int s = 0; s < 2; s++) {
        int g = near->geom[s];
        const cri_geom *geom = &w->model->geom[g];
        for (int i = 0; i < geom->n_size && geom->shape != CRI_SHAPE_PLANE; i++) {
            d_adj->geom[g].size[i] += diff[s].size[i];
        }
        near_pose_vjp(w, g, state, diff[s].pos, diff[s].rot, q_adj, d_adj);
    }
}

static cri_touch_diff general_jvp(const cri_world *w, const cri_near *near,
                                  const cri_narrow_touch *touch, const cri_state *state,
                                  const double *body_tan, const cri_derived *d_tan) {
    if (near->is_field) {
        return near_field_jvp(w, near, touch, state, body_tan, d_tan);
    }
    cri_shape shape[2];
    cri_pose pose[2];
    cri_shape_diff diff[2] = {0};
    shapes_of(w, near, shape);
    near_poses(w, near, state, pose);
    for (int s = 0; s < 2; s++) {
        int g = near->geom[s];
        const cri_geom *geom = &w->model->geom[g];
        if (geom->shape != CRI_SHAPE_PLANE) {
            memcpy(diff[s].size, d_tan->geom[g].size, sizeof(double) * (size_t)geom->n_size);
        }
        near_pose_jvp(w, g, state, body_tan, d_tan, &diff[s].pos, &diff[s].rot);
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
    near_poses(w, near, state, pose);
    *touch = (cri_narrow_touch){.gap = INFINITY};
    if (near_are_finite(pose) && near->is_field) {
        near_field_touch(w, near, pose, touch);
    } else if (near_are_finite(pose)) {
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
    near_poses(w, near, state, pose);
    if (near->is_field && near_are_finite(pose)) {
        near_field_touches(w, near, pose, margin, touch);
        return;
    }
    shapes_of(w, near, shape);
    int n = near_are_finite(pose) ? cri_collide(shape, pose, margin, touch) : 0;
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
    near_poses(w, near, state, pose);
    if (near->is_field) {
        return near_are_finite(pose) && near_field_again(w, near, pose, touch);
    }
    shapes_of(w, near, shape);
    return near_are_finite(pose) && cri_touch_again(shape, pose, touch);
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
    cri_vec3 along = near->is_field ? near_gap_direction(w, near, state, touch) : touch->normal;
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
