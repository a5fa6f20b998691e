// SPDX-License-Identifier: MIT
//
// The surfaces of a scene and which of them may meet. A geom of a moving body, or a static one that
// something may touch, is a mantle: its triangles in the frame of the body, and their sphere tree.

#include "energy/potential.h"

#include "base/math/dense.h"
#include "contact/law.h"
#include "energy/barrier.h"
#include "energy/penalty.h"
#include "energy/slip.h"
#include "geometry/mesh/hull.h"
#include "geometry/mesh/triangle_pair.h"

#include <math.h>
#include <string.h>

// limits of joints push from here on, rad or m
#define LIMIT_REACH 0.05

/// Planes that a pair remembers, and the frame they are in.
typedef struct plane_hints {
    const cri_longrange_warm *warm;
    int n_second;
    const cri_mat3 *R;
} plane_hints;

// of each gap
static const double keep = 0.1;

const cri_law cri_law_longrange = {
    .name = "longrange",
    .summary = "long-range potential of surfaces, smooth and never zero; implicit step",
    .promise =
        "Bodies never touch: a potential mu P pushes them apart at any distance, ever so "
        "weakly. Twice differentiable, never pulling, infinite where surfaces meet. Friction "
        "is that of separating planes. Gradients are those of the implicit step.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_LONGRANGE,
    .mu = 1e-8,
};

const cri_law cri_law_ipc = {
    .name = "ipc",
    .summary = "barrier on distances of corners, edges and triangles, up to a reach; implicit step",
    .promise = "Bodies never touch. Zero beyond its reach; second derivatives jump where the "
               "closest pieces change. No friction.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_IPC,
    .mu = 10.0,
};

// five: the paper says a few
const cri_law cri_law_ipc_descent = {
    .name = "ipc-descent",
    .summary = "the motion of ipc, gradients by five steps of descent",
    .promise = "As ipc. Derivatives are not those of the motion: they are what five steps of "
               "descent on the energy of a step, from its end, would make of a change.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_IPC,
    .mu = 10.0,
    .n_descent = 5,
};

const cri_law cri_law_sdrs = {
    .name = "sdrs",
    .summary = "barrier on a plane between hulls, up to a reach; implicit step",
    .promise = "Hulls never touch. Smooth, zero beyond its reach. No friction.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_SDRS,
    .mu = 1e-4,
};

const cri_law cri_law_rough = {
    .name = "rough",
    .summary = "the function of longrange on the distances of ipc: not smooth; implicit step",
    .promise = "Bodies never touch. Never zero, but second derivatives jump where the closest "
               "pieces change, and every pair of pieces counts. No friction.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_ROUGH,
    .mu = 1e-8,
};

const cri_law cri_law_penalty = {
    .name = "penalty",
    .summary = "spring on the depth of corners that pushes at any distance; implicit step",
    .promise = "Surfaces may overlap, and fast ones pass. Never zero; second derivatives jump "
               "where the closest pieces change. No friction.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_PENALTY,
    .mu = 1e4,
};

/// Everything an evaluation computes before it is summed.
typedef struct results {
    cri_longrange_order order;
    double mu;
    cri_longrange_poles *poles; // of mu P, NULL: not wanted
    cri_longrange_body *body;
    cri_longrange_result *pair;
    cri_longrange_half_result *half;
} results;

/// Adjoints of one pair's surfaces.
typedef struct pair_adj {
    cri_slip_shape shape;
    double offset; // of the plane
} pair_adj;

/// What they come to.
typedef struct pulled {
    double size[2][3]; // of both geoms
    double *vertex[2]; // (n_vertex, 3) in the frames of the geoms; NULL: not wanted
    double offset;     // of a plane
} pulled;

// ---- surfaces -----------------------------------------------------------------------------------

static bool is_static(const cr_model *m, int geom) {
    return m->geom[geom].unit < 0;
}

// may anything touch it?
static bool is_touched(const cr_model *m, int geom) {
    for (int g = 0; g < m->sizes.n_geom; g++) {
        bool has_motion = !is_static(m, g) || !is_static(m, geom);
        if (g != geom && has_motion && cri_model_may_collide(m, g, geom, NULL)) {
            return true;
        }
    }
    return false;
}

static void fit_mantle(const cri_potential *p, cri_mantle *t) {
    const cri_geom *geom = &p->model->geom[t->geom];
    if (geom->slot_vertex >= 0) {
        t->shape.fixed = p->d->vertex + geom->first_vertex;
    }
    cri_tessellation_place(&t->shape, p->d->geom[t->geom].size, &t->frame, t->vertex);
    t->reach = 0.0;
    for (size_t i = 0; i < (size_t)t->shape.n_vertex; i++) {
        t->reach = fmax(t->reach, cri_v3_norm(cri_v3_load(t->vertex + 3 * i)));
    }
}

// spheres of leaves, once the tree is there
static void measure_leaves(cri_mantle *t) {
    t->leaf = INFINITY;
    for (int i = 0; i < t->tree.n_node; i++) {
        t->leaf = t->tree.right[i] ? t->leaf : fmin(t->leaf, t->tree.radius[i]);
    }
}

/// Puts the hull in the place of a mesh. What has none, as points in a plane, stays as it is.
static cr_status take_hull(cri_tessellation *t, cr_arena *arena, cr_error *err) {
    const cri_hull *hull;
    cr_status status = cri_hull_build(t->n_vertex, t->fixed, arena, &hull, err);
    if (status != CR_OK) {
        return status == CR_ERR_ARGUMENT ? CR_OK : status;
    }
    // a face of n corners is a fan of n - 2 triangles
    int n = hull->face_start[hull->n_face] - 2 * hull->n_face;
    int *triangle = CR_PUSH(arena, int, 3 * (size_t)n), *next = triangle;
    if (!triangle) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    for (int f = 0; f < hull->n_face; f++) {
        const int *corner = hull->face_vertex + hull->face_start[f];
        for (int k = 2; k < hull->face_start[f + 1] - hull->face_start[f]; k++, next += 3) {
            next[0] = corner[0];
            next[1] = corner[k - 1];
            next[2] = corner[k];
        }
    }
    *t = (cri_tessellation){hull->n_vertex, n, 0, hull->vertex, NULL, triangle};
    return CR_OK;
}

static cr_status push_mantle(cri_potential *p, int g, cr_arena *arena, cr_error *err) {
    const cri_geom *geom = &p->model->geom[g];
    cri_mantle *t = &p->mantle[p->n_mantle];
    cr_error why = {0};
    *t = (cri_mantle){.geom = g, .body = geom->body, .is_moving = geom->unit >= 0};
    t->frame = (cri_pose){geom->pos, geom->R};
    // a mesh that collides as a field elsewhere is its own triangles here, at scale 1
    bool is_mesh = geom->shape == CRI_SHAPE_FIELD && geom->surface.n_triangle > 0;
    if (geom->shape == CRI_SHAPE_FIELD && !is_mesh) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "geom %.40s is a distance field, which laws that are energies do not know; "
                        "remove its carom:shape or choose another law",
                        p->model->geom_name[g]);
    }
    cri_shape_kind kind = is_mesh ? CRI_SHAPE_MESH : geom->shape;
    cr_status status = cri_tessellate(kind, &geom->surface, arena, &t->shape, &why);
    bool is_hull = p->form == CRI_POTENTIAL_SDRS && kind == CRI_SHAPE_MESH && geom->slot_vertex < 0;
    if (status == CR_OK && is_hull) {
        status = take_hull(&t->shape, arena, &why);
    }
    t->vertex = CR_PUSH(arena, double, 3 * (size_t)t->shape.n_vertex);
    if (status == CR_OK && t->vertex) {
        fit_mantle(p, t);
        status =
            cri_sphere_tree_build(CRI_SPHERE_LAYERED, t->shape.n_vertex, t->vertex,
                                  t->shape.n_triangle, t->shape.triangle, arena, &t->tree, &why);
    }
    if (status == CR_OK && t->vertex) {
        measure_leaves(t);
        t->owner = cri_barrier_owners(&t->tree, arena);
    }
    if (status == CR_OK && !t->owner) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    p->n_mantle += status == CR_OK;
    return status == CR_OK
               ? CR_OK
               : cri_fail(err, status, 0, "geom %.40s: %.120s", p->model->geom_name[g], why.text);
}

void cri_potential_fit(cri_potential *p) {
    for (int i = 0; i < p->n_mantle; i++) {
        fit_mantle(p, &p->mantle[i]);
        cri_sphere_tree_fit(&p->mantle[i].tree, p->mantle[i].vertex);
        measure_leaves(&p->mantle[i]);
    }
}

// ---- pairs -------------------------------------------------------------------------------------

// planes that two surfaces may need at once, a power of two
static int n_slot_of(const cri_mantle *a, const cri_mantle *b) {
    double all = (double)a->shape.n_triangle * b->shape.n_triangle;
    double most = fmin(2.0 * all, 8.0 * (a->shape.n_triangle + b->shape.n_triangle));
    int n = 16;
    while (n < most && n < 1 << 14) {
        n *= 2;
    }
    return n;
}

static bool push_pair(cri_potential *p, int i, int j, int plane, cr_arena *arena) {
    const cri_mantle *a = &p->mantle[i];
    cri_mantle_pair *pair = &p->pair[p->n_pair + p->n_half];
    int other = plane >= 0 ? plane : p->mantle[j].geom, own = -1;
    bool has_motion = a->is_moving || !is_static(p->model, other);
    if (!has_motion || !cri_model_may_collide(p->model, a->geom, other, &own)) {
        return true;
    }
    *pair = (cri_mantle_pair){.mantle = {i, plane >= 0 ? -1 : j}, .plane = plane};
    pair->near = cri_near_geoms(p->model, a->geom, other, own);
    pair->options = p->options;
    double eps = plane >= 0 ? 0.0 : fmax(p->model->geom[a->geom].eps, p->model->geom[other].eps);
    pair->options.eps = eps > 0.0 ? eps : p->options.eps;
    if (plane >= 0) {
        p->n_half++;
        return true;
    }
    p->n_pair++;
    // until a sum says better
    if (p->work < CRI_MUCH_WORK) {
        p->work += a->shape.n_triangle + p->mantle[j].shape.n_triangle;
    }
    if (p->form == CRI_POTENTIAL_LONGRANGE) {
        pair->warm.n_slot = n_slot_of(a, &p->mantle[j]);
        pair->warm.slot = CR_PUSH(arena, cri_longrange_slot, pair->warm.n_slot);
    }
    return p->form != CRI_POTENTIAL_LONGRANGE || pair->warm.slot;
}

static bool push_pairs(cri_potential *p, cr_arena *arena) {
    const cr_model *m = p->model;
    int n_plane = 0;
    for (int g = 0; g < m->sizes.n_geom; g++) {
        n_plane += m->geom[g].shape == CRI_SHAPE_PLANE;
    }
    size_t n = (size_t)p->n_mantle;
    p->pair = CR_PUSH(arena, cri_mantle_pair, n * (n + 1) / 2 + n * (size_t)n_plane);
    bool is_good = p->pair != NULL;
    for (int i = 0; i < p->n_mantle; i++) {
        for (int j = i + 1; is_good && j < p->n_mantle; j++) {
            is_good = push_pair(p, i, j, -1, arena);
        }
    }
    for (int i = 0; i < p->n_mantle; i++) {
        for (int g = 0; is_good && g < m->sizes.n_geom; g++) {
            if (m->geom[g].shape == CRI_SHAPE_PLANE) {
                is_good = push_pair(p, i, -1, g, arena);
            }
        }
    }
    p->order = CR_PUSH(arena, int, p->n_pair + p->n_half);
    for (int k = 0; p->order && k < p->n_pair + p->n_half; k++) {
        p->order[k] = k;
    }
    return is_good && p->order;
}

cr_status cri_potential_push(const cr_model *model, cri_potential_form form, const cri_derived *d,
                             cr_arena *arena, cri_potential *out, cr_error *err) {
    const cri_potential_numbers *numbers = &model->potential;
    *out = (cri_potential){.model = model, .d = d, .form = form};
    // as proposed for the rivals: a centimetre, and 0.1 m for planes between hulls; a box of
    // a kilogram rests about a millimetre above a floor under a penalty with this and mu 1e4
    double usual = form == CRI_POTENTIAL_SDRS ? 0.1 : form == CRI_POTENTIAL_PENALTY ? 1e-3 : 0.01;
    double reach = numbers->reach > 0.0 ? numbers->reach : usual;
    out->options = cri_longrange_default();
    out->options.ell = numbers->length;
    out->options.eps = numbers->eps;
    out->options.clusters = numbers->has_whole_clusters ? CRI_CLUSTERS_WHOLE : CRI_CLUSTERS_SINGLE;
    cri_barrier_kind kind = form == CRI_POTENTIAL_ROUGH     ? CRI_BARRIER_GLOBAL
                            : form == CRI_POTENTIAL_PENALTY ? CRI_BARRIER_NONE
                                                            : CRI_BARRIER_LOCAL;
    if (form == CRI_POTENTIAL_SDRS && reach >= 1.0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "carom:potential:reach is %g m; the law sdrs needs less than 1", reach);
    }
    out->barrier = (cri_barrier_options){kind, reach, numbers->length};
    out->reach = reach;
    out->slip = numbers->slip;
    CR_TRY(cri_longrange_check(&out->options, err));
    out->mantle = CR_PUSH(arena, cri_mantle, model->sizes.n_geom);
    if (!out->mantle) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    for (int g = 0; g < model->sizes.n_geom; g++) {
        if (model->geom[g].shape != CRI_SHAPE_PLANE && is_touched(model, g)) {
            CR_TRY(push_mantle(out, g, arena, err));
        }
    }
    return push_pairs(out, arena) ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

void cri_potential_forget(cri_potential *p) {
    for (int k = 0; k < p->n_pair; k++) {
        p->pair[k].warm.age++;
    }
}

// ---- in place ----------------------------------------------------------------------------------

static cri_pose pose_of(const cri_potential *p, const cri_mantle *t, const cri_pose *pose) {
    return t->body >= 0 ? pose[t->body] : cri_model_static_pose(p->model, -1);
}

cri_longrange_body *cri_potential_place(const cri_potential *p, const cri_pose *pose,
                                        cr_arena *arena) {
    cri_longrange_body *body = CR_PUSH_RAW(arena, cri_longrange_body, p->n_mantle);
    for (int i = 0; body && i < p->n_mantle; i++) {
        cri_pose at = pose_of(p, &p->mantle[i], pose);
        const cri_mantle *t = &p->mantle[i];
        if (!cri_longrange_place(&t->tree, t->vertex, &at, arena, &body[i])) {
            return NULL;
        }
    }
    return body;
}

cri_half_space cri_potential_half(const cri_potential *p, const cri_mantle_pair *pair) {
    return (cri_half_space){p->model->geom[pair->plane].normal, p->d->geom[pair->plane].size[0]};
}

// ---- room to move ------------------------------------------------------------------------------

static cri_moving_mesh moving_of(const cri_potential *p, const cri_mantle *t, const cri_pose *from,
                                 const cri_pose *to) {
    cri_pose a = pose_of(p, t, from), b = to ? pose_of(p, t, to) : a;
    cri_mat3 turn;
    for (int k = 0; k < 9; k++) {
        turn.m[k] = cri_v3_dot(cri_v3_load(b.R.m + 3 * (k / 3)), cri_v3_load(a.R.m + 3 * (k % 3)));
    }
    return (cri_moving_mesh){.tree = &t->tree,
                             .vertex = t->vertex,
                             .pose = a,
                             .w = cri_quat_log(cri_quat_of_rotation(&turn)),
                             .v = cri_v3_sub(b.pos, a.pos)};
}

static bool find_normal(const void *context, int first, int second, cri_vec3 *n) {
    const plane_hints *h = context;
    if (!cri_longrange_recall(h->warm, h->n_second, first, second, n)) {
        return false;
    }
    *n = cri_m3_mul(h->R, *n);
    return true;
}

/// A pair that moves by less than its gap, as the last sum noted it. What that did not solve for is
/// apart by a shell of its spheres at least.
static bool is_far_from(const cri_potential *p, const cri_mantle_pair *pair, double room,
                        const cri_moving_mesh *a, const cri_moving_mesh *b) {
    const cri_mantle *first = &p->mantle[pair->mantle[0]], *second = &p->mantle[pair->mantle[1]];
    double gap = fmin(room, pair->options.eps * (first->leaf + second->leaf));
    double move = cri_v3_norm(cri_v3_sub(a->v, b->v)) + cri_v3_norm(a->w) * first->reach +
                  cri_v3_norm(b->w) * second->reach;
    // a little less than what stays
    return p->form == CRI_POTENTIAL_LONGRANGE && move < (0.99 - keep) * gap;
}

double cri_potential_limit(const cri_potential *p, const cri_potential_touch *touch,
                           const cri_pose *from, const cri_pose *to) {
    double part = 1.0;
    if (p->form == CRI_POTENTIAL_PENALTY) {
        return part;
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) reduction(min : part) if (p->work >= CRI_MUCH_WORK)
#endif
    for (int i = 0; i < p->n_pair + p->n_half; i++) {
        int k = p->order[i];
        const cri_mantle_pair *pair = &p->pair[k];
        cri_moving_mesh a = moving_of(p, &p->mantle[pair->mantle[0]], from, to);
        part = fmin(part, 1.0); // a thread begins with the largest number
        if (pair->plane >= 0) {
            cri_half_space half = cri_potential_half(p, pair);
            part = cri_step_limit_half(&a, half.n, half.offset, keep, part);
        } else {
            cri_moving_mesh b = moving_of(p, &p->mantle[pair->mantle[1]], from, to);
            if (touch && is_far_from(p, pair, touch[k].gap, &a, &b)) {
                continue;
            }
            const plane_hints planes = {&pair->warm, b.tree->n_triangle, &a.pose.R};
            const cri_step_hints hints = {find_normal, &planes};
            part = cri_step_limit(&a, &b, keep, part, &hints);
        }
    }
    return part;
}

// the lowest vertex above a half-space, m
static double height_of(const cri_moving_mesh *a, const cri_half_space *half) {
    double least = INFINITY;
    for (size_t i = 0; i < (size_t)a->tree->n_vertex; i++) {
        cri_vec3 x = cri_m3_mul(&a->pose.R, cri_v3_load(a->vertex + 3 * i));
        least = fmin(least, cri_v3_dot(half->n, cri_v3_add(a->pose.pos, x)) - half->offset);
    }
    return least;
}

/// Whether two surfaces of a pair meet, or one is inside of the other.
static bool is_met(const cri_potential *p, const cri_mantle_pair *pair, const cri_pose *pose,
                   bool is_nested_alone) {
    cri_moving_mesh a = moving_of(p, &p->mantle[pair->mantle[0]], pose, NULL);
    if (pair->plane >= 0) {
        cri_half_space half = cri_potential_half(p, pair);
        return !is_nested_alone && !(height_of(&a, &half) > 0.0);
    }
    cri_moving_mesh b = moving_of(p, &p->mantle[pair->mantle[1]], pose, NULL);
    return cri_mesh_holds(&a, &b) || cri_mesh_holds(&b, &a) ||
           (!is_nested_alone && cri_meshes_meet(&a, &b, NULL));
}

static bool find_met(const cri_potential *p, const cri_pose *pose, bool is_nested_alone,
                     int geom[2]) {
    int n_all = p->n_pair + p->n_half, first = n_all;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) reduction(min : first) if (p->work >= CRI_MUCH_WORK)
#endif
    for (int k = 0; k < n_all; k++) {
        if (k < first && is_met(p, &p->pair[k], pose, is_nested_alone)) {
            first = k;
        }
    }
    if (first == n_all) {
        return false;
    }
    const cri_mantle_pair *pair = &p->pair[first];
    geom[0] = p->mantle[pair->mantle[0]].geom;
    geom[1] = pair->plane >= 0 ? pair->plane : p->mantle[pair->mantle[1]].geom;
    return true;
}

bool cri_potential_meet(const cri_potential *p, const cri_pose *pose, int geom[2]) {
    return find_met(p, pose, false, geom);
}

bool cri_potential_nest(const cri_potential *p, const cri_pose *pose, int geom[2]) {
    return find_met(p, pose, true, geom);
}

// ---- limits ------------------------------------------------------------------------------------

static double room_of(const cri_limit *limit, const double *q) {
    double sum = -limit->bound;
    for (int i = 0; i < limit->n; i++) {
        sum += limit->coef[i] * q[limit->q[i]];
    }
    return limit->sign * sum;
}

void cri_limit_term_at(const cr_model *m, int i, const double *q, double mu, cri_joint_term *t) {
    const cri_limit *limit = &m->limit[i];
    CR_ASSERT(limit->ball < 0);
    memset(t, 0, sizeof *t);
    t->u = -1;
    t->n = limit->n;
    t->dof = limit->dof;
    t->coef = limit->coef;
    double gap = room_of(limit, q), b[3] = {INFINITY, 0.0, 0.0};
    if (gap > 0.0) {
        cri_hull_barrier_of(LIMIT_REACH, gap, b);
    }
    t->value = mu * b[0];
    t->slope = mu * limit->sign * b[1];
    t->bend = mu * b[2];
    t->slope_mu = limit->sign * b[1];
}

double cri_limit_part(const cr_model *m, const double *q, const double *dq) {
    double part = 1.0;
    for (int i = 0; i < m->n_limit; i++) {
        const cri_limit *limit = &m->limit[i];
        double rate = 0.0;
        for (int k = 0; k < limit->n; k++) {
            rate += limit->sign * limit->coef[k] * dq[limit->dof[k]];
        }
        if (rate < 0.0) {
            part = fmin(part, -0.9 * room_of(limit, q) / rate);
        }
    }
    return part;
}

// ---- the sum ------------------------------------------------------------------------------------

// The sum of all potentials with its derivatives. Pairs of surfaces are independent: threads take
// them, and their results are added in the order of pairs, so that the bits do not depend on how
// many threads there are.

static void pair_result(cri_potential *p, const cri_longrange_body *body, int k,
                        cri_longrange_order order, cri_longrange_result *out) {
    cri_mantle_pair *pair = &p->pair[k];
    const cri_longrange_body *a = &body[pair->mantle[0]], *b = &body[pair->mantle[1]];
    cri_barrier_body x = {*a, p->mantle[pair->mantle[0]].owner};
    cri_barrier_body y = {*b, p->mantle[pair->mantle[1]].owner};
    switch (p->form) {
    case CRI_POTENTIAL_LONGRANGE:
        cri_longrange_pair(&pair->options, a, b, order, &pair->warm, out);
        break;
    case CRI_POTENTIAL_IPC:
    case CRI_POTENTIAL_ROUGH:
        cri_barrier_pair(&p->barrier, &x, &y, order, out);
        break;
    case CRI_POTENTIAL_SDRS:
        cri_hull_barrier_pair(p->reach, a, b, order, out);
        break;
    case CRI_POTENTIAL_PENALTY:
        cri_penalty_pair(p->reach, a, b, order, out);
        break;
    }
}

static void half_result(const cri_potential *p, const cri_longrange_body *body, int k,
                        cri_longrange_order order, cri_longrange_half_result *out) {
    const cri_mantle_pair *pair = &p->pair[p->n_pair + k];
    cri_half_space half = cri_potential_half(p, pair);
    const cri_longrange_body *a = &body[pair->mantle[0]];
    if (p->form == CRI_POTENTIAL_LONGRANGE) {
        cri_longrange_half(&pair->options, a, &half, order, out);
    } else {
        cri_barrier_half(&p->barrier, p->form == CRI_POTENTIAL_SDRS, a, &half, order, out);
    }
}

static void note_poles(const cri_longrange_poles *from, double mu, cri_longrange_poles *out) {
    out->n = from->n;
    for (int i = 0; i < from->n; i++) {
        for (int j = 0; j < 12; j++) {
            out->at[i].g[j] = mu * from->at[i].g[j];
        }
        out->at[i].bend = from->at[i].bend / mu;
    }
}

// pair k, half-spaces behind
static void evaluate_one(cri_potential *p, int k, const results *r) {
    const cri_longrange_poles *poles;
    if (k < p->n_pair) {
        pair_result(p, r->body, k, r->order, &r->pair[k]);
        poles = &r->pair[k].poles;
    } else {
        half_result(p, r->body, k - p->n_pair, r->order, &r->half[k - p->n_pair]);
        poles = &r->half[k - p->n_pair].poles;
    }
    if (r->poles) {
        note_poles(poles, r->mu, &r->poles[k]);
    }
}

static bool evaluate(cri_potential *p, const cri_frames *frames, results *r, cr_arena *scratch) {
    r->body = cri_potential_place(p, frames->pose, scratch);
    r->pair = CR_PUSH_RAW(scratch, cri_longrange_result, p->n_pair);
    r->half = CR_PUSH_RAW(scratch, cri_longrange_half_result, p->n_half);
    if (!r->body || !r->pair || !r->half) {
        return false;
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) if (p->work >= CRI_MUCH_WORK)
#endif
    for (int i = 0; i < p->n_pair + p->n_half; i++) {
        evaluate_one(p, p->order[i], r);
    }
    return true;
}

static void add_affine(double s, const double *F, const double *N, int body,
                       const cri_body_sum *sum) {
    if (body < 0 || !sum->F) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        sum->F[3 * body + i] += s * F[i];
    }
    for (int i = 0; i < 9; i++) {
        sum->N[9 * body + i] += s * N[i];
    }
}

// bodies that move; the others have no dofs
static int body_of(const cri_potential *p, int mantle) {
    return mantle >= 0 && p->mantle[mantle].is_moving ? p->mantle[mantle].body : -1;
}

static void add_pair(const cri_potential *p, const cri_frames *frames, double mu, int k,
                     const cri_longrange_result *r, const cri_body_sum *sum) {
    int a = body_of(p, p->pair[k].mantle[0]), b = body_of(p, p->pair[k].mantle[1]);
    const double back[3] = {-r->affine.F[0], -r->affine.F[1], -r->affine.F[2]};
    add_affine(mu, r->affine.F, r->affine.N[0], a, sum);
    add_affine(mu, back, r->affine.N[1], b, sum);
    if (!sum->H) {
        return;
    }
    double H[144];
    for (int i = 0; i < 144; i++) {
        H[i] = mu * r->H[i];
    }
    cri_frames_add_block(frames, a, a, H, 12, sum->H);
    cri_frames_add_block(frames, b, b, H + 12 * 6 + 6, 12, sum->H);
    cri_frames_add_block(frames, a, b, H + 6, 12, sum->H);
}

static void add_half(const cri_potential *p, const cri_frames *frames, double mu, int k,
                     const cri_longrange_half_result *r, const cri_body_sum *sum) {
    int a = body_of(p, p->pair[p->n_pair + k].mantle[0]);
    add_affine(mu, r->F, r->N, a, sum);
    if (sum->H) {
        double H[36];
        for (int i = 0; i < 36; i++) {
            H[i] = mu * r->H[i];
        }
        cri_frames_add_block(frames, a, a, H, 6, sum->H);
    }
}

// force on the first body and the point nearest to its origin where it acts
static void describe(double mu, double gap, const double *F, const double *N, cri_vec3 pos,
                     cri_potential_touch *out) {
    cri_vec3 f = cri_v3_load(F), torque = cri_affine_torque(N);
    double f2 = cri_v3_dot(f, f);
    // r x f = torque
    cri_vec3 r = f2 > 0.0 ? cri_v3_scale(1.0 / f2, cri_v3_cross(f, torque)) : cri_v3(0, 0, 0);
    out->gap = gap;
    cri_v3_store(cri_v3_scale(-mu, f), out->force);
    cri_v3_store(cri_v3_add(pos, r), out->point);
}

static void describe_all(const cri_potential *p, double mu, const results *r,
                         cri_potential_touch *touch) {
    for (int k = 0; k < p->n_pair; k++) {
        const cri_longrange_result *one = &r->pair[k];
        cri_vec3 pos = r->body[p->pair[k].mantle[0]].pose.pos;
        describe(mu, one->gap, one->affine.F, one->affine.N[0], pos, &touch[k]);
    }
    for (int k = 0; k < p->n_half; k++) {
        const cri_longrange_half_result *one = &r->half[k];
        cri_vec3 pos = r->body[p->pair[p->n_pair + k].mantle[0]].pose.pos;
        describe(mu, one->gap, one->F, one->N, pos, &touch[p->n_pair + k]);
    }
}

void cri_potential_bodies(const cri_potential *p, int pair, int body[2]) {
    body[0] = body_of(p, p->pair[pair].mantle[0]);
    body[1] = body_of(p, p->pair[pair].mantle[1]);
}

// how often a number can be halved
static int class_of(int work) {
    int n = 0;
    for (; work > 0; work /= 2) {
        n++;
    }
    return n;
}

// pairs by their work, to a factor of two
static void sort_pairs(cri_potential *p) {
    int first[33] = {0}, n_all = p->n_pair + p->n_half;
    for (int k = 0; k < n_all; k++) {
        first[class_of(p->pair[k].work)]++;
    }
    for (int c = 32, n = 0; c >= 0; c--) {
        n += first[c];
        first[c] = n - first[c];
    }
    for (int k = 0; k < n_all; k++) {
        p->order[first[class_of(p->pair[k].work)]++] = k;
    }
}

double cri_potential_sum(cri_potential *p, const cri_frames *frames, double mu,
                         const cri_body_sum *sum, const cri_potential_notes *notes,
                         cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    results r = {.order = sum->H   ? CRI_LONGRANGE_HESSIAN
                          : sum->F ? CRI_LONGRANGE_GRADIENT
                                   : CRI_LONGRANGE_VALUE,
                 .mu = mu,
                 .poles = notes->poles};
    double value = 0.0;
    if (!evaluate(p, frames, &r, scratch)) {
        cri_arena_rewind(scratch, mark);
        return NAN;
    }
    p->work = 0;
    for (int k = 0; k < p->n_pair; k++) {
        value += mu * r.pair[k].value;
        p->pair[k].work = r.pair[k].n_visit + 10 * r.pair[k].n_exact;
        p->work += p->pair[k].work;
    }
    for (int k = 0; k < p->n_half; k++) {
        value += mu * r.half[k].value;
        p->pair[p->n_pair + k].work = r.half[k].n_visit + 10 * r.half[k].n_exact;
    }
    sort_pairs(p);
    for (int k = 0; isfinite(value) && k < p->n_pair; k++) {
        add_pair(p, frames, mu, k, &r.pair[k], sum);
    }
    for (int k = 0; isfinite(value) && k < p->n_half; k++) {
        add_half(p, frames, mu, k, &r.half[k], sum);
    }
    if (notes->touch && isfinite(value)) {
        describe_all(p, mu, &r, notes->touch);
    }
    cri_arena_rewind(scratch, mark);
    return value;
}

// ---- derivatives for sizes ----------------------------------------------------------------------

// Derivatives of the sum of potentials for sizes of shapes, vertices of meshes that are parameters,
// and offsets of planes: those for the vertices (longrange.c, and here for half-spaces), then for
// what the vertices follow. Spheres of the trees follow as well.
//
// The gradient along a motion l is psi = l . grad P. Tangents have no walk of their own: psi is
// linear in l, and twelve motions of a pair give its gradient in the sizes.

static const cri_mantle *mantle_of(const cri_potential *p, const cri_mantle_pair *pair, int i) {
    return pair->mantle[i] >= 0 ? &p->mantle[pair->mantle[i]] : NULL;
}

static bool pair_adj_push(const cri_potential *p, const cri_mantle_pair *pair, cr_arena *scratch,
                          pair_adj *out) {
    memset(out, 0, sizeof *out);
    out->shape.offset = &out->offset;
    size_t n_most = 0;
    for (int i = 0; i < 2 && mantle_of(p, pair, i); i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        size_t n_node = (size_t)t->tree.n_node;
        out->shape.vertex[i] = CR_PUSH(scratch, double, 3 * (size_t)t->shape.n_vertex);
        out->shape.centre[i] = CR_PUSH(scratch, double, 3 * n_node);
        out->shape.radius[i] = CR_PUSH(scratch, double, n_node);
        n_most = n_node > n_most ? n_node : n_most;
    }
    return !cri_arena_has_failed(scratch) &&
           cri_arena_reserve(scratch, 4 * n_most * sizeof(double) + 64);
}

// the potential's own part, times mu
static bool pull_potential(const cri_size_step *s, const cri_longrange_body *body,
                           cri_mantle_pair *pair, const double l[12], pair_adj *adj,
                           cr_arena *scratch) {
    const cri_potential *p = s->potential;
    double scaled[12];
    for (int i = 0; i < 12; i++) {
        scaled[i] = s->slips->mu * l[i];
    }
    if (pair->plane >= 0) {
        cri_half_space half = cri_potential_half(p, pair);
        return cri_longrange_half_shape_vjp(&pair->options, &body[pair->mantle[0]], &half, scaled,
                                            adj->shape.vertex[0], &adj->offset, scratch);
    }
    const cri_longrange_body two[2] = {body[pair->mantle[0]], body[pair->mantle[1]]};
    const cri_longrange_shape_adj shape = {{adj->shape.vertex[0], adj->shape.vertex[1]}, true};
    return cri_longrange_shape_vjp(&pair->options, two, &pair->warm, 0.0, scaled, &shape, scratch);
}

// the adjoint of vertices in the body's frame, in that of the geom
static void pull_vertices(const cri_mantle *t, const double *from, double *vertex_adj) {
    for (size_t i = 0; vertex_adj && i < (size_t)t->shape.n_vertex; i++) {
        cri_v3_accumulate(cri_m3_tmul(&t->frame.R, cri_v3_load(from + 3 * i)), vertex_adj + 3 * i);
    }
}

// derivatives of l . gradient of pair k: adds to those of its two geoms, and of a plane
static bool pull(const cri_size_step *s, const cri_longrange_body *body, int k,
                 const double *motion, pulled *out, cr_arena *scratch) {
    cri_potential *p = s->potential;
    cri_mantle_pair *pair = &p->pair[k];
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    pair_adj adj;
    double l[12] = {0};
    for (int i = 0; i < 2; i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        if (t && t->is_moving) {
            memcpy(l + 6 * i, motion + 6 * t->body, 6 * sizeof *l);
        }
    }
    bool is_good =
        pair_adj_push(p, pair, scratch, &adj) && pull_potential(s, body, pair, l, &adj, scratch);
    if (is_good) {
        cri_slip_pull_shape(p, s->slips, k, s->next, s->now, motion, &adj.shape);
    }
    for (int i = 0; is_good && i < 2 && mantle_of(p, pair, i); i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        cri_sphere_tree_fit_vjp(&t->tree, t->vertex, adj.shape.centre[i], adj.shape.radius[i],
                                adj.shape.vertex[i], scratch);
        cri_tessellation_place_vjp(&t->shape, &t->frame, adj.shape.vertex[i], out->size[i]);
        pull_vertices(t, adj.shape.vertex[i], out->vertex[i]);
    }
    out->offset += adj.offset;
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// vertices of a mesh among those of all, NULL when they are no parameters
static double *vertices_of(const cri_potential *p, const cri_mantle *t, const cri_derived *d) {
    int at =
        t && p->model->geom[t->geom].slot_vertex >= 0 ? p->model->geom[t->geom].first_vertex : -1;
    return at >= 0 ? d->vertex + at : NULL;
}

bool cri_size_step_vjp(const cri_size_step *s, const double *motion, const cri_derived *d_adj,
                       cr_arena *scratch) {
    cri_potential *p = s->potential;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_longrange_body *body = cri_potential_place(p, s->next->pose, scratch);
    bool is_good = body != NULL;
    for (int k = 0; is_good && k < p->n_pair + p->n_half; k++) {
        const cri_mantle_pair *pair = &p->pair[k];
        pulled own = {.offset = 0.0};
        for (int i = 0; i < 2; i++) {
            own.vertex[i] = vertices_of(p, mantle_of(p, pair, i), d_adj);
        }
        is_good = pull(s, body, k, motion, &own, scratch);
        for (int i = 0; i < 6; i++) {
            const cri_mantle *t = mantle_of(p, pair, i / 3);
            if (t && i % 3 < t->shape.n_size) {
                d_adj->geom[t->geom].size[i % 3] += own.size[i / 3][i % 3];
            }
        }
        if (pair->plane >= 0) {
            d_adj->geom[pair->plane].size[0] += own.offset;
        }
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// do tangents of the sizes move the pair's surfaces?
static bool is_moved(const cri_potential *p, const cri_mantle_pair *pair, const cri_derived *tan) {
    bool is_any = pair->plane >= 0 && tan->geom[pair->plane].size[0] != 0.0;
    for (int i = 0; i < 2; i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        for (int k = 0; t && k < t->shape.n_size; k++) {
            is_any = is_any || tan->geom[t->geom].size[k] != 0.0;
        }
        const double *vertex = vertices_of(p, t, tan);
        for (int k = 0; vertex && k < 3 * t->shape.n_vertex; k++) {
            is_any = is_any || vertex[k] != 0.0;
        }
    }
    return is_any;
}

// one number of the gradient: a unit motion of one body gives it
static bool push_entry(const cri_size_step *s, const cri_longrange_body *body, int k, int entry,
                       const cri_derived *tan, double *motion, double *force, cr_arena *scratch) {
    const cri_potential *p = s->potential;
    const cri_mantle_pair *pair = &p->pair[k];
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    pulled own = {.offset = 0.0};
    for (int i = 0; i < 2; i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        if (vertices_of(p, t, tan)) {
            own.vertex[i] = CR_PUSH(scratch, double, 3 * (size_t)t->shape.n_vertex);
        }
    }
    motion[entry] = 1.0;
    bool is_good = !cri_arena_has_failed(scratch) && pull(s, body, k, motion, &own, scratch);
    motion[entry] = 0.0;
    double sum = pair->plane >= 0 ? own.offset * tan->geom[pair->plane].size[0] : 0.0;
    for (int i = 0; i < 6; i++) {
        const cri_mantle *t = mantle_of(p, pair, i / 3);
        if (t && i % 3 < t->shape.n_size) {
            sum += own.size[i / 3][i % 3] * tan->geom[t->geom].size[i % 3];
        }
    }
    for (int i = 0; is_good && i < 2; i++) {
        const cri_mantle *t = mantle_of(p, pair, i);
        if (own.vertex[i]) {
            sum += cri_dot(3 * t->shape.n_vertex, own.vertex[i], vertices_of(p, t, tan));
        }
    }
    force[entry] += sum;
    cri_arena_rewind(scratch, mark);
    return is_good;
}

bool cri_size_step_jvp(const cri_size_step *s, const cri_derived *d_tan, double *force,
                       cr_arena *scratch) {
    cri_potential *p = s->potential;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_longrange_body *body = cri_potential_place(p, s->next->pose, scratch);
    double *motion = CR_PUSH(scratch, double, 6 * (size_t)p->model->sizes.n_body);
    bool is_good = body && motion;
    for (int k = 0; is_good && k < p->n_pair + p->n_half; k++) {
        const cri_mantle_pair *pair = &p->pair[k];
        for (int i = 0; is_good && is_moved(p, pair, d_tan) && i < 12; i++) {
            const cri_mantle *t = mantle_of(p, pair, i / 6);
            if (t && t->is_moving) {
                is_good =
                    push_entry(s, body, k, 6 * t->body + i % 6, d_tan, motion, force, scratch);
            }
        }
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}
