// SPDX-License-Identifier: MIT
//
// Candidates of a sub-step: pairs of geoms whose balls, grown by how far they may travel, overlap.
//
//   travel = |v| T + |w| r min(T, 2/|w|) + 8 a T^2,     a = |g| + |F|/m
//
// v velocity of the body's origin, r radius of the ball around it that holds the geom; 8 a is
// generous for what rests on something. Trees move by more than their weight, theirs is 2 (|v| +
// |w| r) T + A T^2 with an acceleration A that few robots reach; what exceeds it is found as an
// overlap. Few geoms are paired once and for all; many go through geometry/query/broad_phase.h in
// every sub-step.

#include "sim/scan.h"

#include "geometry/query/broad_phase.h"
#include "sim/rest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// up to here all pairs are listed: at most about two thousand
enum { MAX_LISTED_GEOM = 64 };

// half the acceleration that a link of a robot may have, m/s^2
#define TREE_ACCELERATION 1000.0

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

// the largest gap at which a touch of this pair may count as resting (sim/rest.c)
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
    // a hundredth of a radian at a time (sim/step_located.c)
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

bool cri_scan_find(cr_sim *sim, const cri_motion *motion, double T) {
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
    if (!cri_scan_find(sim, motion, T)) {
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
