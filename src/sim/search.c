// SPDX-License-Identifier: MIT
//
// Time of contact by conservative advancement of second order. With gap g > 0, its rate s and a
// bound g'' >= -a, the gap stays positive for
//
//   tau = 2 g/(sqrt(s^2 + 2 a g) - s)       if s < 0
//   tau = (s + sqrt(s^2 + 2 a g))/a         else (no end if a = 0)
//
// which near a root converges like Newton from the safe side, and is exact for constant g''. Newton
// polishes. Bounds a (F force, w spin, c point of the body; kappa = max |I_j - I_k|/I_i):
//
//   plane, ball        max(0, -n.a_i) + turn(c)
//   two balls          |a_1 - a_0| + turn(c_0) + turn(c_1)     (the rest of |D|'' is positive)
//   turn(c)            |c| (w^2 (1 + kappa/sqrt 3) + |tau|/I_min),
//                      w = (|I w| + |tau| T)/I_min                       (angular momentum)
//   any two shapes     as two balls with the farthest points of both. Their distance has kinks,
//                      so s is the least rate of any two points along n:
//                      s = n.(v_1 - v_0) - |n x w_0| r_0 - |n x w_1| r_1
//   sampled            units at rest and trees: 8 |a| each, or four times the mean change of the
//                      rate over T; generous, not proved. Each evaluation is a contact solve or a
//                      flow: above a plane, what does not approach is looked at 32 times at the
//                      most; between two shapes steps are g/(1.5 |v|), |v| the speed of any points
//
// Between two shapes no step is shorter than a fiftieth of the narrower one's width over |v|: a
// kink may cost a graze, but nothing passes through. Where some touches of such a pair rest, its
// lowest other touch is searched instead of the distance, and where none is in sight, the sight.
//
// A pair that has just bounced has g = 0 and s > 0; the formula then jumps ahead to where it may
// fall again. A pair that leaves from an overlap hits again when it comes back to that depth: its
// gap counts from there. A root that is reached with a rate above -eps_speed grazes and is no
// impact. A tree's Euler step moves by the velocity at its end, g = s t - a t^2 with the rate s - a
// t: a low hop comes back to the ground when that is zero, and would sink from there. Where the gap
// is closed at the end it is an event without a jump, after which the touch rests.

#include "sim/search.h"

#include "geometry/query/broad_phase.h"
#include "sim/located.h"
#include "sim/motion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// up to here all pairs are listed: at most about two thousand
enum { MAX_LISTED_GEOM = 64 };

// half the acceleration that a link of a robot may have, m/s^2
#define TREE_ACCELERATION 1000.0

/// Candidates while they are collected.
typedef struct collection {
    cr_sim *sim;
    const cri_motion *motion;
    const double *travel; // (n_geom); NULL: nothing moves
    int n;
    int space;
    cri_near *near;
    bool has_memory;
} collection;

enum { CUTS = 6 }; // a part, its half, ... its 32nd

/// One feature's search.
typedef struct search {
    int feature;
    const cri_near *near;
    int slot;
    bool is_resting;         // a unit is in a resting island
    bool has_tree;           // a unit is a tree, resting or not
    bool is_sampled;         // a unit rests or is a tree
    bool is_slow;            // sampled, and too slow for one shape to pass through the other
    bool is_closed;          // sampled, and the gap is closed at the end
    bool is_sunk;            // the same of a tree's point on a plane, by more than rest has
    bool is_round;           // centred spheres of free bodies and planes: rotation does not matter
    double bound;            // a
    int n_skip;              // resting touches of a general pair: the others are searched
    int skip[CRI_MOST_SLOT]; // (n_skip) their ids
    double sight;            // of those others
    bool is_lifted;          // one of those others touches: it may come back, whatever its gap says
    double start_gap;        // at t = 0, less the offset
    double start_speed;
} search;

static inline int cri_scan_slot(const cri_scan *scan, int feature) {
    return feature - scan->near[scan->near_of[feature]].first;
}

// ---- pairs that may meet ------------------------------------------------------------------------

// Candidates of a sub-step: pairs of geoms whose balls, grown by how far they may travel, overlap.
//
//   travel = |v| T + |w| r min(T, 2/|w|) + 8 a T^2,     a = |g| + |F|/m
//
// v velocity of the body's origin, r radius of the ball around it that holds the geom; 8 a is
// generous for what rests on something. Trees move by more than their weight, theirs is 2 (|v| +
// |w| r) T + A T^2 with an acceleration A that few robots reach; what exceeds it is found as an
// overlap. Few geoms are paired once and for all; many go through geometry/query/broad_phase.h in
// every sub-step.

// the least distance of two parallel planes that hold a shape, or less
static double width_of(const cri_shape *shape) {
    const double *s = shape->size;
    switch (shape->kind) {
    case CRI_SHAPE_PLANE:
        return INFINITY;
    case CRI_SHAPE_SPHERE:
    case CRI_SHAPE_CAPSULE:
        return 2.0 * s[0];
    case CRI_SHAPE_CYLINDER:
        return 2.0 * fmin(s[0], s[1]);
    case CRI_SHAPE_ELLIPSOID:
    case CRI_SHAPE_BOX:
        return 2.0 * fmin(s[0], fmin(s[1], s[2]));
    case CRI_SHAPE_MESH:
    case CRI_SHAPE_FIELD:
        break;
    }
    // of a hull: from its centre to the nearest face
    const cri_hull *h = shape->hull;
    double least = INFINITY;
    for (int f = 0; f < h->n_face; f++) {
        cri_vec3 n = cri_v3_load(h->face_normal + 3 * f);
        least = fmin(least, h->face_offset[f] - cri_v3_dot(n, cri_v3_load(h->centre)));
    }
    return fmax(least, 0.0);
}

// the narrow phase of any two forms
static bool reserve_narrow(cr_sim *sim) {
    size_t most = 0;
    const cri_form *form = sim->d.forms ? sim->d.forms->form : NULL;
    for (int g = 0; form && g < sim->model->sizes.n_geom; g++, form++) {
        size_t need = form->plan ? cri_skins_scratch_bytes(&form->tree.mesh) : 0;
        most = need > most ? need : most;
    }
    return most == 0 || cri_arena_reserve(sim->narrow, most);
}

bool cri_scan_prepare(cr_sim *sim) {
    const cr_model *m = sim->model;
    int n_geom = m->sizes.n_geom, n_pair = 0;
    for (int g = 0; g < n_geom; g++) {
        const cri_geom *geom = &m->geom[g];
        cri_shape shape = {geom->shape, sim->d.geom[g].size, geom->hull};
        const cri_form *form = geom->shape == CRI_SHAPE_FIELD ? &sim->d.forms->form[g] : NULL;
        sim->ball[g] = form ? form->radius : cri_bounding_radius(&shape);
        sim->reach[g] = cri_v3_norm(geom->pos) + sim->ball[g];
        // walls of a field may be a tenth of its least extent
        sim->width[g] = form ? 0.1 * form->width : width_of(&shape);
    }
    if (!reserve_narrow(sim)) {
        return false;
    }
    if (n_geom > MAX_LISTED_GEOM || sim->pair) {
        return true;
    }
    for (int pass = 0; pass < 2; pass++) {
        n_pair = 0;
        for (int a = 0; a < n_geom; a++) {
            for (int b = a + 1; b < n_geom; b++) {
                int pair;
                if (!cri_model_may_collide(m, a, b, &pair)) {
                    continue;
                }
                if (pass == 1) {
                    sim->pair[n_pair] = cri_near_geoms(m, a, b, pair);
                }
                n_pair++;
            }
        }
        if (pass == 0) {
            sim->pair = CR_PUSH(sim->memory, cri_near, n_pair + 1);
            if (!sim->pair) {
                return false;
            }
        }
    }
    sim->n_pair = n_pair;
    return true;
}

// how far any point of a geom may travel within T
static double travel(const cr_sim *sim, const cri_motion *motion, int g, double T) {
    const cri_geom *geom = &sim->model->geom[g];
    if (geom->unit < 0) {
        return 0.0;
    }
    const double *motion0 = motion->state.motion + 6 * geom->body;
    double speed = cri_v3_norm(cri_v3_load(motion0)), spin = cri_v3_norm(cri_v3_load(motion0 + 3));
    double gravity = cri_v3_norm(cri_v3_load(sim->d.mech.gravity));
    double r = sim->reach[g];
    const cri_unit *u = &sim->model->mech.unit[geom->unit];
    if (!u->is_free_body) {
        return 2.0 * (speed + r * spin) * T + TREE_ACCELERATION * T * T;
    }
    const double *force = motion->u + sim->model->mech.n_actuator + u->first_v;
    const cri_body_derived *d = &sim->d.body[geom->body];
    double a = gravity + d->inv_mass * cri_v3_norm(cri_v3_load(force));
    double torque = cri_v3_norm(cri_v3_load(force + 3));
    cri_vec3 I = d->inertia;
    double least = fmin(I.x, fmin(I.y, I.z));
    double most = cri_v3_norm(cri_v3_mul(I, cri_v3_load(motion0 + 3)));
    double turn = fmin((most + torque * T) / least * T, 2.0);
    return speed * T + 8.0 * a * T * T + r * fmax(turn, fmin(spin * T, 2.0));
}

// the ball of a geom: radius around its body's origin
static cri_vec3 origin_of(const cr_sim *sim, const cri_motion *motion, const cri_geom *geom) {
    return geom->body >= 0 ? motion->state.pose[geom->body].pos
                           : cri_model_static_pose(sim->model, -1).pos;
}

static bool collect(collection *c, const cri_near *near) {
    if (c->n == c->space) {
        int space = c->space > 0 ? 2 * c->space : 16;
        cri_near *grown = CR_PUSH_RAW(c->sim->list, cri_near, space);
        if (!grown) {
            return c->has_memory = false;
        }
        if (c->n > 0) {
            memcpy(grown, c->near, sizeof *grown * (size_t)c->n);
        }
        c->near = grown;
        c->space = space;
    }
    c->near[c->n++] = *near;
    return true;
}

// the centre of a geom
static cri_vec3 centre_of(const collection *c, const cri_geom *geom) {
    cri_pose pose = geom->body >= 0 ? c->motion->state.pose[geom->body]
                                    : cri_model_static_pose(c->sim->model, -1);
    return geom->is_centred ? pose.pos : cri_v3_add(pose.pos, cri_m3_mul(&pose.R, geom->pos));
}

// do the balls around the geoms themselves overlap?
static bool is_here(const collection *c, const cri_near *near) {
    const cr_sim *sim = c->sim;
    const cri_geom *a = &sim->model->geom[near->geom[0]], *b = &sim->model->geom[near->geom[1]];
    cri_vec3 x1 = centre_of(c, b);
    double r = sim->ball[near->geom[1]] + sim->eps_gap;
    if (a->shape == CRI_SHAPE_PLANE) {
        return cri_v3_dot(a->normal, x1) - sim->d.geom[near->geom[0]].size[0] <= r;
    }
    cri_vec3 delta = cri_v3_sub(x1, centre_of(c, a));
    r += sim->ball[near->geom[0]];
    return cri_v3_dot(delta, delta) <= r * r;
}

// may the two balls meet?
static bool is_close(const collection *c, const cri_near *near) {
    const cr_sim *sim = c->sim;
    if (!c->travel) {
        return is_here(c, near);
    }
    const cri_geom *a = &sim->model->geom[near->geom[0]], *b = &sim->model->geom[near->geom[1]];
    cri_vec3 x1 = origin_of(sim, c->motion, b);
    double r1 = sim->reach[near->geom[1]] + c->travel[near->geom[1]];
    if (a->shape == CRI_SHAPE_PLANE) {
        double height = cri_v3_dot(a->normal, x1) - sim->d.geom[near->geom[0]].size[0];
        return height <= r1 + sim->eps_gap;
    }
    cri_vec3 delta = cri_v3_sub(x1, origin_of(sim, c->motion, a));
    double r = r1 + sim->reach[near->geom[0]] + c->travel[near->geom[0]] + sim->eps_gap;
    return cri_v3_dot(delta, delta) <= r * r;
}

static bool visit_pair(void *context, int i, int j) {
    collection *c = context;
    int pair;
    if (!cri_model_may_collide(c->sim->model, i, j, &pair)) {
        return true;
    }
    cri_near near = cri_near_geoms(c->sim->model, i, j, pair);
    return !is_close(c, &near) || collect(c, &near);
}

static int by_geoms(const void *x, const void *y) {
    const int *a = ((const cri_near *)x)->geom, *b = ((const cri_near *)y)->geom;
    return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

// pairs of many geoms
static bool collect_broad(collection *c) {
    cr_sim *sim = c->sim;
    int n = sim->model->sizes.n_geom;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    cri_box3 *box = CR_PUSH_RAW(sim->scratch, cri_box3, n);
    int *group = CR_PUSH_RAW(sim->scratch, int, n);
    bool is_good = box && group;
    for (int g = 0; is_good && g < n; g++) {
        const cri_geom *geom = &sim->model->geom[g];
        double origin[3], r = sim->reach[g] + (c->travel ? c->travel[g] : sim->eps_gap);
        cri_v3_store(origin_of(sim, c->motion, geom), origin);
        for (int i = 0; i < 3; i++) {
            box[g].lower[i] = origin[i] - r;
            box[g].upper[i] = origin[i] + r;
        }
        group[g] = geom->group;
    }
    is_good = is_good && cri_broad_phase(n, box, group, visit_pair, c, sim->scratch);
    cri_arena_rewind(sim->scratch, mark);
    if (is_good && c->n > 1) {
        qsort(c->near, (size_t)c->n, sizeof *c->near, by_geoms);
    }
    return is_good && c->has_memory;
}

static bool collect_all(collection *c) {
    cr_sim *sim = c->sim;
    if (!sim->pair && !collect_broad(c)) {
        return false;
    }
    for (int k = 0; sim->pair && k < sim->n_pair; k++) {
        if (is_close(c, &sim->pair[k]) && !collect(c, &sim->pair[k])) {
            return false;
        }
    }
    for (int k = 0; k < sim->model->n_limit; k++) {
        cri_near near = cri_near_limit(sim->model, k);
        if (!collect(c, &near)) {
            return false;
        }
    }
    return true;
}

// arrays of the scan for its candidates
static bool push_arrays(cr_sim *sim, cri_scan *s) {
    cr_arena *a = sim->list;
    int n = 0;
    for (int k = 0; k < s->n_near; k++) {
        s->near[k].first = n;
        n += s->near[k].n_slot;
    }
    s->n_feature = n;
    s->near_of = CR_PUSH_RAW(a, int, 5 * n);
    s->touch = CR_PUSH_RAW(a, cri_narrow_touch, 2 * n);
    s->gap = CR_PUSH_RAW(a, double, 4 * n + s->n_near);
    s->member = CR_PUSH_RAW(a, const cri_near *, n);
    s->ref = CR_PUSH_RAW(a, cri_contact_ref, n);
    if (!s->near_of || !s->touch || !s->gap || !s->member || !s->ref) {
        return false;
    }
    s->rest = s->near_of + n;
    s->hit = s->rest + n;
    s->group = s->hit + n;
    s->island = s->group + n;
    s->now = s->touch + n;
    s->speed = s->gap + n;
    s->offset = s->speed + n;
    s->root = s->offset + n;
    s->margin = s->root + n;
    return true;
}

// the largest gap at which a touch of this pair may count as resting (sim/located.c)
static double margin_of(const cr_sim *sim, const cri_motion *motion, const cri_near *near) {
    double h = motion->h, k = 0.0, speed = 0.0, spin = 0.0;
    for (int s = 0; s < 2; s++) {
        if (near->unit[s] >= 0 && near->body[s] >= 0) {
            const double *m = motion->state.motion + 6 * near->body[s];
            cri_vec3 w = cri_v3_load(m + 3);
            k += cri_v3_dot(w, w) * sim->reach[near->geom[s]];
            speed += cri_v3_norm(cri_v3_load(m)) + cri_v3_norm(w) * sim->reach[near->geom[s]];
            spin += cri_v3_norm(w);
        }
    }
    double fall = h * h * cri_v3_norm(cri_v3_load(sim->d.mech.gravity));
    // a hundredth of a radian at a time (sim/located.c)
    fall += cri_is_capped(sim, near) ? fmin(h, 0.01 / fmax(spin, 1e-300)) * speed : 0.0;
    return fmax(sim->eps_gap + 0.75 * h * h * k, fall);
}

static void place_features(cr_sim *sim, const cri_motion *motion) {
    cri_scan *s = &sim->scan;
    for (int k = 0; k < s->n_near; k++) {
        const cri_near *near = &s->near[k];
        s->margin[k] = near->kind == CRI_NEAR_GENERAL ? margin_of(sim, motion, near) : 0.0;
        for (int f = near->first; f < near->first + near->n_slot; f++) {
            s->near_of[f] = k;
        }
    }
}

static void measure(cr_sim *sim, const cri_motion *motion) {
    cri_scan *s = &sim->scan;
    const double *v = motion->state.x + sim->model->sizes.n_q;
    for (int k = 0; k < s->n_near; k++) {
        const cri_near *near = &s->near[k];
        cri_near_touches(&sim->world, near, &motion->state, s->margin[k], s->touch + near->first);
        for (int f = near->first; f < near->first + near->n_slot; f++) {
            s->gap[f] = s->touch[f].gap;
            s->offset[f] = fmin(s->gap[f], 0.0);
            s->speed[f] = isfinite(s->gap[f])
                              ? cri_near_rate(&sim->world, near, &s->touch[f], &motion->state, v,
                                              motion->state.motion)
                              : 0.0;
        }
    }
}

// candidates of geoms that travel so far (n_geom), or not at all
static bool find(cr_sim *sim, const cri_motion *motion, const double *far) {
    cri_scan *s = &sim->scan;
    collection c = {.sim = sim, .motion = motion, .travel = far, .has_memory = true};
    if (!collect_all(&c)) {
        return false;
    }
    s->near = c.near;
    s->n_near = c.n;
    if (!push_arrays(sim, s)) {
        return false;
    }
    place_features(sim, motion);
    return true;
}

/// Finds everything that may touch within T from the start of the motion, whose poses are set: all
/// of sim->scan but touches, gaps and speeds. False for lack of memory.
static bool scan_find(cr_sim *sim, const cri_motion *motion, double T) {
    CR_ASSERT(motion && T >= 0.0);
    int n_geom = sim->model->sizes.n_geom;
    cri_arena_reset(sim->list);
    double *far = CR_PUSH_RAW(sim->list, double, n_geom);
    if (!far) {
        return false;
    }
    for (int g = 0; g < n_geom; g++) {
        far[g] = travel(sim, motion, g, T);
    }
    return find(sim, motion, far);
}

bool cri_scan_here(cr_sim *sim, const cri_motion *motion, const cri_state *state) {
    CR_ASSERT(motion && state);
    cri_motion at = *motion;
    at.state = *state;
    cri_arena_reset(sim->list);
    if (!find(sim, &at, NULL)) {
        return false;
    }
    cri_scan_now(sim, state);
    return true;
}

bool cri_scan_start(cr_sim *sim, const cri_motion *motion, double T) {
    if (!scan_find(sim, motion, T)) {
        return false;
    }
    measure(sim, motion);
    return true;
}

void cri_scan_now(cr_sim *sim, const cri_state *state) {
    CR_ASSERT(state);
    cri_scan *s = &sim->scan;
    for (int k = 0; k < s->n_near; k++) {
        cri_near_touches(&sim->world, &s->near[k], state, s->margin[k], s->now + s->near[k].first);
    }
}

// the deepest of what the scan found
static cri_overlap deepest(const cri_scan *s, double least) {
    cri_overlap out = {.geom = {-1, -1}};
    for (int k = 0; k < s->n_near; k++) {
        const cri_near *near = &s->near[k];
        double depth = 0.0;
        for (int f = near->first; f < near->first + near->n_slot; f++) {
            depth = fmax(depth, -s->gap[f]);
        }
        if (near->kind == CRI_NEAR_LIMIT || depth <= least) {
            continue;
        }
        out.n_pair++;
        if (depth > out.depth) {
            out.depth = depth;
            memcpy(out.geom, near->geom, sizeof out.geom);
        }
    }
    return out;
}

cr_status cri_scan_overlap(cr_sim *sim, const double *x, double least, cri_overlap *out,
                           cr_error *err) {
    CR_ASSERT(sim && x && least >= 0.0);
    CR_TRY(cri_sim_check_state(sim, x, err));
    const cr_sizes *z = &sim->model->sizes;
    cri_arena_mark mark = cri_arena_get_mark(sim->tape);
    double *unit = CR_PUSH_RAW(sim->tape, double, z->n_x);
    cri_motion motion = {0};
    bool is_good = unit != NULL;
    if (is_good) {
        memcpy(unit, x, sizeof *x * (size_t)z->n_x);
        cri_model_normalise(sim->model, unit);
        is_good = cri_motion_push(sim, &motion, unit, sim->zero_u, z->dt);
    }
    if (is_good) {
        cri_state_set(sim->model, &motion.state);
        is_good = cri_scan_start(sim, &motion, 0.0);
    }
    if (is_good) {
        *out = deepest(&sim->scan, least);
    }
    cri_arena_rewind(sim->tape, mark);
    return is_good ? CR_OK : cri_no_memory(err);
}

// ---- the first event ----------------------------------------------------------------------------

// ---- bounds ------------------------------------------------------------------------------------

static cri_vec3 linear_accel(const cr_sim *sim, const cri_motion *motion, int unit) {
    if (unit < 0) {
        return cri_v3(0.0, 0.0, 0.0);
    }
    const cri_unit *u = &sim->model->mech.unit[unit];
    cri_vec3 gravity = cri_v3_load(sim->d.mech.gravity);
    if (!u->is_free_body) {
        return gravity;
    }
    const double *force = motion->u + sim->model->mech.n_actuator + u->first_v;
    return cri_v3_mad(gravity, sim->d.body[u->first_body].inv_mass, cri_v3_load(force));
}

// acceleration of a point at distance r from a free body's origin, by its rotation within T
static double turn_bound(const cr_sim *sim, const cri_motion *motion, int unit, double r,
                         double T) {
    const cri_unit *u = &sim->model->mech.unit[unit];
    const cri_body_derived *d = &sim->d.body[u->first_body];
    const double *force = motion->u + sim->model->mech.n_actuator + u->first_v;
    cri_vec3 I = d->inertia, spin = cri_v3_load(motion->state.motion + 6 * u->first_body + 3);
    double least = fmin(I.x, fmin(I.y, I.z));
    double torque = cri_v3_norm(cri_v3_load(force + 3));
    double w = (cri_v3_norm(cri_v3_mul(I, spin)) + torque * T) / least;
    double kappa = fmax(fabs(I.y - I.z) / I.x, fmax(fabs(I.z - I.x) / I.y, fabs(I.x - I.y) / I.z));
    return r * (w * w * (1.0 + kappa / sqrt(3.0)) + torque / least);
}

// distance of a ball's centre from its body's origin, or of the geom's farthest point
static double lever(const cr_sim *sim, const cri_near *near, int side) {
    const cri_geom *geom = &sim->model->geom[near->geom[side]];
    if (near->kind == CRI_NEAR_GENERAL) {
        return sim->reach[near->geom[side]];
    }
    if (near->kind == CRI_NEAR_PLANE_SPHERE || near->kind == CRI_NEAR_SPHERE_SPHERE) {
        return geom->is_centred ? 0.0 : cri_v3_norm(geom->pos);
    }
    return sim->reach[near->geom[side]]; // a corner or an end, no farther than the whole
}

static search search_begin(const cr_sim *sim, const cri_motion *motion, int feature, double T) {
    const cri_near *near = cri_scan_near(&sim->scan, feature);
    search s = {.feature = feature, .near = near, .slot = cri_scan_slot(&sim->scan, feature)};
    for (int k = 0; k < 2; k++) {
        int unit = near->unit[k];
        bool is_resting = unit >= 0 && cri_motion_is_resting(motion, unit);
        bool is_tree = unit >= 0 && !sim->model->mech.unit[unit].is_free_body;
        s.is_resting = s.is_resting || is_resting;
        s.has_tree = s.has_tree || is_tree;
        s.is_sampled = s.is_sampled || is_resting || is_tree;
    }
    cri_vec3 a0 = linear_accel(sim, motion, near->unit[0]);
    cri_vec3 a1 = linear_accel(sim, motion, near->unit[1]);
    if (s.is_sampled) {
        s.bound = 8.0 * (cri_v3_norm(a0) + cri_v3_norm(a1));
    } else if (near->unit[0] < 0 && cri_near_has_points(near) &&
               near->kind != CRI_NEAR_SPHERE_SPHERE) {
        s.bound = fmax(0.0, -cri_v3_dot(sim->model->geom[near->geom[0]].normal, a1));
    } else {
        s.bound = cri_v3_norm(cri_v3_sub(a1, a0));
    }
    bool is_ball = near->kind == CRI_NEAR_PLANE_SPHERE || near->kind == CRI_NEAR_SPHERE_SPHERE;
    double levers = 0.0;
    for (int k = 0; k < 2 && near->kind != CRI_NEAR_LIMIT; k++) {
        if (near->unit[k] >= 0) {
            double r = lever(sim, near, k);
            levers += r;
            bool is_free = sim->model->mech.unit[near->unit[k]].is_free_body;
            s.bound += r > 0.0 && is_free ? turn_bound(sim, motion, near->unit[k], r, T) : 0.0;
        }
    }
    s.is_round = is_ball && levers == 0.0 && !s.is_sampled;
    return s;
}

// ---- the gap along the motion ------------------------------------------------------------------

// pose and rate of one unit at time t, in sim->work
static bool work_unit(cr_sim *sim, cri_motion *motion, const search *s, int unit, double t) {
    const cri_unit *u = &sim->model->mech.unit[unit];
    int n_q = sim->model->sizes.n_q;
    if (sim->time_of[unit] == t) {
        return true;
    }
    if (s->is_round) {
        // centred balls of free bodies: neither turns matter
        cri_vec3 a = linear_accel(sim, motion, unit);
        cri_vec3 v = cri_v3_load(motion->state.motion + 6 * u->first_body);
        cri_vec3 pos = cri_v3_mad(motion->state.pose[u->first_body].pos, t, v);
        sim->work.pose[u->first_body].pos = cri_v3_mad(pos, 0.5 * t * t, a);
        cri_v3_store(cri_v3_mad(v, t, a), sim->work.motion + 6 * u->first_body);
        sim->time_of[unit] = NAN;
        return true;
    }
    bool is_tree = !u->is_free_body && !cri_motion_is_resting(motion, unit);
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    // the flow over the whole sub-step is what it ends with, unless there is an impact
    cr_arena *keep = t == motion->t_end ? sim->tape : sim->scratch;
    bool is_good =
        cri_motion_unit(sim, motion, unit, t, sim->y, is_tree ? NULL : sim->y_rate, keep);
    cri_arena_rewind(sim->scratch, mark);
    if (!is_good) {
        return false;
    }
    if (!is_tree) {
        // the pose moves by its rate in t, which the velocity is up to the order of the step
        memcpy(sim->y + n_q + u->first_v, sim->y_rate + u->first_v,
               sizeof(double) * (size_t)u->n_v);
    }
    if (s->near->kind == CRI_NEAR_LIMIT) {
        return true; // its gap is in q alone
    }
    cri_state_set_unit(sim->model, &sim->work, unit);
    sim->time_of[unit] = t;
    return true;
}

// how far away the next touch may be seen: a tenth of the smaller shape; of fields, whose points
// within it are many, a hundredth
static double sight(const cr_sim *sim, const cri_near *near) {
    double share = near->is_field ? 0.01 : 0.1;
    return share * fmin(sim->reach[near->geom[0]], sim->reach[near->geom[1]]);
}

static bool next_touch(const cr_sim *sim, const cri_near *near, const cri_state *state,
                       double margin, int n_skip, const int *skip, cri_narrow_touch *out) {
    const cri_next next = {sim->eps_speed, sim->eps_gap, n_skip, skip};
    return cri_near_next(&sim->world, near, state, state->x + sim->model->sizes.n_q, state->motion,
                         margin, &next, out);
}

bool cri_event_next(const cr_sim *sim, const cri_near *near, const cri_state *state, int n_skip,
                    const int *skip, cri_narrow_touch *out) {
    return next_touch(sim, near, state, sight(sim, near), n_skip, skip, out);
}

// what gap_at gives where none of the touches beside resting ones was found
static bool is_out_of_sight(const search *s, double g) {
    return s->n_skip > 0 && g == s->sight;
}

// Gap and rate at time t along the motion. Of the touches beside resting ones: where none is found,
// the sight and a rate of 0. False for lack of memory.
static bool gap_at(cr_sim *sim, cri_motion *motion, const search *s, double t, double *gap,
                   double *speed) {
    if (s->is_resting && !cri_motion_solve(sim, motion, t, true)) {
        return false;
    }
    for (int k = 0; k < 2; k++) {
        if (s->near->unit[k] >= 0 && !work_unit(sim, motion, s, s->near->unit[k], t)) {
            return false;
        }
    }
    cri_narrow_touch touch;
    if (s->n_skip > 0) {
        if (!next_touch(sim, s->near, &sim->work, s->sight, s->n_skip, s->skip, &touch)) {
            *gap = s->sight;
            *speed = 0.0;
            return true;
        }
    } else {
        cri_near_touch(&sim->world, s->near, s->slot, &sim->work, &touch);
    }
    *gap = touch.gap - (s->n_skip > 0 ? 0.0 : sim->scan.offset[s->feature]);
    *speed = cri_near_rate(&sim->world, s->near, &touch, &sim->work, sim->y + sim->model->sizes.n_q,
                           sim->work.motion);
    sim->scan.now[s->feature] = touch;
    return true;
}

// the least rate along the normal of any two points of the two shapes
static double least_rate(const cr_sim *sim, const search *s, const cri_state *state,
                         const cri_narrow_touch *touch, double speed) {
    if (cri_near_has_points(s->near)) {
        return speed;
    }
    double least = 0.0;
    for (int k = 0; k < 2; k++) {
        if (s->near->unit[k] < 0) {
            continue;
        }
        int body = s->near->body[k];
        const double *m = state->motion + 6 * body;
        cri_vec3 spin = cri_m3_mul(&state->pose[body].R, cri_v3_load(m + 3));
        double along = cri_v3_dot(touch->normal, cri_v3_load(m));
        least += (k == 0 ? -along : along) -
                 cri_v3_norm(cri_v3_cross(touch->normal, spin)) * sim->reach[s->near->geom[k]];
    }
    return fmin(least, speed);
}

// ---- roots -------------------------------------------------------------------------------------

// Newton for a root in [low, T], from the safe side or beyond; kept between the last open gap and
// the first closed one
static bool polish(cr_sim *sim, cri_motion *motion, const search *s, double low, double T,
                   double *t, double *gap, double *speed) {
    double high = INFINITY;
    for (int k = 0; k < 60; k++) {
        if (*gap > 0.0) {
            low = fmax(low, *t);
        } else {
            high = fmin(high, *t);
        }
        double next = *speed < 0.0 ? *t - *gap / *speed : *t;
        if (isfinite(high) && !(next >= low && next <= high && *speed < 0.0)) {
            next = 0.5 * (low + high);
        }
        next = fmin(fmax(next, low), T);
        double step = next - *t;
        *t = next;
        if (!gap_at(sim, motion, s, *t, gap, speed)) {
            return false;
        }
        if (fabs(step) <= 1e-16 * motion->h || high - low <= 1e-16 * motion->h) {
            break;
        }
    }
    // a touch that comes into sight closed is met where it is seen
    if (is_out_of_sight(s, *gap) && isfinite(high)) {
        *t = high;
        return gap_at(sim, motion, s, high, gap, speed);
    }
    return true;
}

static double advance(double g, double s, double a) {
    double root = sqrt(s * s + 2.0 * a * g);
    if (s < 0.0) {
        return 2.0 * g / (root - s);
    }
    return a > 0.0 ? (s + root) / a : INFINITY;
}

// the largest speed of any two points of the two geoms against each other
static double closing_speed(const cr_sim *sim, const search *s, const cri_state *state) {
    cri_vec3 v = {0};
    double sum = 0.0;
    for (int k = 0; k < 2 && s->near->kind != CRI_NEAR_LIMIT; k++) {
        if (s->near->unit[k] >= 0) {
            const double *m = state->motion + 6 * s->near->body[k];
            v = cri_v3_mad(v, k == 0 ? -1.0 : 1.0, cri_v3_load(m));
            sum += cri_v3_norm(cri_v3_load(m + 3)) * sim->reach[s->near->geom[k]];
        }
    }
    return sum + cri_v3_norm(v);
}

// would the two shapes need many such times to pass through each other? Nothing passes a plane or a
// limit
static bool is_slow(const cr_sim *sim, const search *s, const cri_state *state, double T) {
    if (s->near->kind == CRI_NEAR_LIMIT) {
        return true;
    }
    double width = fmin(sim->width[s->near->geom[0]], sim->width[s->near->geom[1]]);
    bool has_plane = !isfinite(sim->width[s->near->geom[0]]) && cri_near_has_points(s->near);
    return has_plane || closing_speed(sim, s, state) * T < 0.1 * width;
}

// Does a sampled gap stay open over the whole of T? Above a plane, and for a limit, a parabola
// through its start and its end says so, and between two slow shapes; between two that might pass
// each other only their distance does. The solve or flow at the end is one for all features.
static bool stays_open(cr_sim *sim, cri_motion *motion, search *s, double T, bool *has_memory) {
    double g = s->start_gap, v = s->start_speed, end, rate;
    *has_memory = gap_at(sim, motion, s, T, &end, &rate);
    if (!*has_memory || !isfinite(end) || is_out_of_sight(s, end)) {
        return *has_memory;
    }
    s->bound += s->has_tree ? 4.0 * fabs(rate - v) / T : 0.0;
    s->is_closed = end <= 0.0;
    s->is_sunk = s->has_tree && cri_near_has_points(s->near) && end < -sim->eps_gap;
    s->is_slow = is_slow(sim, s, &motion->state, T) && is_slow(sim, s, &sim->work, T);
    if (!(g > sim->eps_gap) || !(end > sim->eps_gap)) {
        return false;
    }
    if (!s->is_slow) {
        double speed =
            fmax(closing_speed(sim, s, &motion->state), closing_speed(sim, s, &sim->work));
        return g > 1.5 * speed * T + 0.5 * s->bound * T * T;
    }
    double bend = end - g - v * T; // g + v t + bend (t/T)^2
    bool has_dip = bend > 0.0 && v < 0.0 && -v * T < 2.0 * bend;
    return !has_dip || g - v * v * T * T / (4.0 * bend) > sim->eps_gap;
}

// is the feature too far away to be reached, by its bound alone?
static bool is_out_of_reach(const cr_sim *sim, const cri_motion *motion, const search *s, double g,
                            double v, double T) {
    // a link of a tree is not bound by its weight, nor is a limit
    if (s->has_tree || g <= 0.0) {
        return false;
    }
    // a resting body's velocity changes with its solve, by little: 64 is a generous lever
    double slack = 64.0 * (sim->eps_speed + sim->eps_gap / motion->h);
    if (is_out_of_sight(s, g)) {
        // as in stays_open: it may come with the speed of any two points
        double speed = closing_speed(sim, s, &motion->state) + slack;
        return g > (1.5 * speed + 0.5 * s->bound * T) * T;
    }
    slack = s->is_resting ? slack + 0.25 * s->bound * motion->h : 0.0;
    double least = least_rate(sim, s, &motion->state, &sim->scan.touch[s->feature], v);
    return g + T * (fmin(least, 0.0) - slack - 0.5 * s->bound * T) > 0.0;
}

// How far to go on from a gap g > 0 with rate v. *is_floor: that is a step which the bound does not
// cover, but which is too short for two shapes to pass through each other.
static double step_of(const cr_sim *sim, const search *s, const cri_state *state, double g,
                      double v, double T, bool *is_floor) {
    *is_floor = false;
    if (cri_near_has_points(s->near) && !s->is_sampled) {
        return advance(g, v, s->bound);
    }
    double tau;
    if (s->is_slow && !is_out_of_sight(s, g)) {
        tau = advance(g, v, s->bound);
        *is_floor = v >= -sim->eps_speed && tau < T / 32.0;
        return *is_floor ? T / 32.0 : tau;
    }
    double speed = closing_speed(sim, s, state);
    bool is_rough = s->is_sampled || s->near->is_field; // gaps of fields are estimates
    if (is_rough) {
        tau = g / (1.5 * speed + sqrt(s->bound * g));
    } else {
        double least = least_rate(sim, s, state, &sim->scan.now[s->feature], v);
        tau = advance(g, least, s->bound);
    }
    if (v < 0.0 && g < 1e-3 * sim->reach[s->near->geom[1]]) {
        tau = fmax(tau, advance(g, v, s->bound)); // near the root its kinks are behind
    }
    // a fiftieth of what separates the two sides
    double least_width = fmin(sim->width[s->near->geom[0]], sim->width[s->near->geom[1]]);
    double floor = fmin(fmax(0.02 * least_width / fmax(speed, 1e-300), 1e-9 * T), T / 32.0);
    *is_floor = tau < floor;
    return fmax(tau, floor);
}

// gap and rate at the start of a sampled search; false: nothing to find, or no memory
static bool begin_sampled(cr_sim *sim, cri_motion *motion, search *s, double end, double *g,
                          double *v, bool *has_memory) {
    return !stays_open(sim, motion, s, end, has_memory) && *has_memory &&
           (*has_memory = gap_at(sim, motion, s, 0.0, g, v));
}

// time of the first impact of one feature in (0, T], infinite when there is none; end >= T is that
// of the sub-step
static double first_root(cr_sim *sim, cri_motion *motion, const search *begun, double T, double end,
                         bool *has_memory) {
    search s = *begun;
    int feature = s.feature;
    double g = s.start_gap, v = s.start_speed, t = 0.0, low = 0.0;
    if (!isfinite(g) || (!s.is_lifted && is_out_of_reach(sim, motion, &s, g, v, T))) {
        return INFINITY;
    }
    const cri_state *state = &motion->state;
    if (s.n_skip == 0) {
        sim->scan.now[feature] = sim->scan.touch[feature];
    }
    if (s.is_sampled) {
        if (!begin_sampled(sim, motion, &s, end, &g, &v, has_memory)) {
            return INFINITY;
        }
        state = &sim->work;
    }
    if (g <= sim->eps_gap) {
        g = fmax(g, 0.0);
        if (v <= 0.0 && cri_near_has_points(s.near)) {
            return INFINITY;
        }
    }
    enum { MOST = 1000 }; // far beyond what any search was seen to take
    bool is_approaching = false;
    for (int k = 0, n_turn = 0; k < MOST; k++) {
        bool is_floor;
        double tau = step_of(sim, &s, state, g, v, T, &is_floor);
        low = t;
        t += tau;
        if (!(t <= T)) {
            // another touch may be the lowest there
            bool is_closed = s.is_closed && T >= end;
            if ((!is_floor && !is_closed) || low >= T) {
                return INFINITY;
            }
            t = T;
        }
        if (!(*has_memory = gap_at(sim, motion, &s, t, &g, &v))) {
            return INFINITY;
        }
        state = &sim->work;
        // 1e-3, 1e-9: close enough for Newton's quadratic range
        bool is_near = g <= 1e-3 * sim->eps_gap || (v < 0.0 && tau < 1e-9 * motion->h);
        if (!is_near && k + 1 < MOST) {
            continue;
        }
        if (g > 0.0 && v >= -sim->eps_speed) {
            return INFINITY;
        }
        is_approaching = v < -sim->eps_speed;
        if (!(*has_memory = polish(sim, motion, &s, low, T, &t, &g, &v))) {
            return INFINITY;
        }
        // a touch that came to rest on the way: the search goes on with the next one, once
        if (s.n_skip == 0 || n_turn++ > 0 || !(g > sim->eps_gap && t < T)) {
            break;
        }
    }
    return is_approaching || v < -sim->eps_speed || (s.is_sunk && v <= sim->eps_speed) ? t
                                                                                       : INFINITY;
}

// does a touch of a pair leave while others of it rest?
static bool has_lifted(const cr_sim *sim, const cri_near *near, int n_rest, const int *rest) {
    const cri_scan *scan = &sim->scan;
    bool is = false;
    for (int f = near->first, i = 0; f < near->first + near->n_slot; f++) {
        bool is_resting = i < n_rest && rest[i] == f;
        i += is_resting;
        is = is || (!is_resting && scan->gap[f] <= sim->eps_gap && scan->speed[f] > sim->eps_speed);
    }
    return is;
}

// the touches of a general pair that rest; rest (n_rest) begins with this feature or behind it
static void set_skipped(const cr_sim *sim, const cri_motion *motion, double T, int n_rest,
                        const int *rest, search *s) {
    const cri_near *near = s->near;
    for (int i = 0; i < n_rest && rest[i] < near->first + near->n_slot; i++) {
        s->skip[s->n_skip++] = sim->scan.touch[rest[i]].id;
    }
    if (s->n_skip == 0) {
        return;
    }
    // on a plane as far as anything may come
    double fall = (closing_speed(sim, s, &motion->state) + s->bound * T) * T;
    bool has_plane = !isfinite(sim->reach[near->geom[0]]);
    s->sight = has_plane ? fmax(sight(sim, near), fall) : sight(sim, near);
}

// What to look at for a feature: all that have points; of a general pair its distance, or, when
// some of its touches rest, the others. rest (n_rest) begins with this feature or behind it. False:
// nothing.
static bool begin_feature(cr_sim *sim, cri_motion *motion, int feature, double T, int n_rest,
                          const int *rest, search *s, bool *has_memory) {
    const cri_near *near = cri_scan_near(&sim->scan, feature);
    bool is_general = !cri_near_has_points(near);
    bool is_resting = n_rest > 0 && rest[0] == feature;
    // what has had its share of impacts has rows for all that it may reach
    if (cri_is_capped(sim, near) || (is_general ? feature != near->first : is_resting)) {
        return false;
    }
    *s = search_begin(sim, motion, feature, T);
    s->start_gap = sim->scan.gap[feature] - sim->scan.offset[feature];
    s->start_speed = sim->scan.speed[feature];
    if (is_general) {
        set_skipped(sim, motion, T, n_rest, rest, s);
    }
    if (s->n_skip > 0) {
        s->is_lifted = has_lifted(sim, near, n_rest, rest);
        *has_memory = gap_at(sim, motion, s, 0.0, &s->start_gap, &s->start_speed);
    }
    return *has_memory;
}

// sim->work stands at no time yet
static void begin_work(cr_sim *sim, cri_motion *motion, double T) {
    motion->t_end = T;
    for (int u = 0; u < sim->model->mech.n_unit; u++) {
        sim->time_of[u] = NAN;
        sim->work.tree[u] = NULL;
    }
    if (sim->scan.n_feature > 0) {
        cri_state_copy(sim->model, &motion->state, &sim->work);
    }
}

double cri_event_cut(cr_sim *sim, cri_motion *motion, double T, int n_rest, const int *rest,
                     bool *has_memory) {
    CR_ASSERT(T >= 0.0 && n_rest >= 0);
    const cri_scan *scan = &sim->scan;
    *has_memory = true;
    begin_work(sim, motion, T);
    for (int n = 0, i = 0; n < scan->n_near && *has_memory; n++) {
        const cri_near *near = &scan->near[n];
        while (i < n_rest && rest[i] < near->first) {
            i++;
        }
        if (cri_near_has_points(near) || !cri_is_capped(sim, near)) {
            continue;
        }
        search s = search_begin(sim, motion, near->first, T);
        set_skipped(sim, motion, T, n_rest - i, rest + i, &s);
        double deepest = 1e-4 * fmin(sim->reach[near->geom[0]], sim->reach[near->geom[1]]);
        for (int f = near->first; s.n_skip > 0 && f < near->first + near->n_slot; f++) {
            deepest = fmax(deepest, -1.1 * scan->gap[f]); // what overlaps already may stay
        }
        double gap = -INFINITY, speed;
        for (int k = 0; k < CUTS && *has_memory && gap < -deepest; k++) {
            T = k > 0 ? 0.5 * T : T;
            *has_memory = gap_at(sim, motion, &s, T, &gap, &speed);
        }
    }
    return T;
}

double cri_event_search(cr_sim *sim, cri_motion *motion, double T, int n_rest, const int *rest,
                        int *feature, bool *has_memory) {
    CR_ASSERT(T >= 0.0 && n_rest >= 0);
    cri_scan *scan = &sim->scan;
    double best = INFINITY;
    int next_rest = 0;
    *feature = -1;
    *has_memory = true;
    begin_work(sim, motion, T);
    for (int f = 0; f < scan->n_feature && *has_memory; f++) {
        scan->root[f] = INFINITY;
        // nothing later than the best and its neighbours matters
        double horizon = fmin(T, best + sim->eps_time);
        search s;
        if (begin_feature(sim, motion, f, horizon, n_rest - next_rest, rest + next_rest, &s,
                          has_memory)) {
            scan->root[f] = first_root(sim, motion, &s, horizon, T, has_memory);
        }
        next_rest += next_rest < n_rest && rest[next_rest] == f;
        if (scan->root[f] < best) {
            best = scan->root[f];
            *feature = f;
        }
    }
    return best;
}
