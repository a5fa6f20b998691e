// SPDX-License-Identifier: MIT
//
// A sample: an angle, the lowest point of the body put on the surface, velocities, one solve by the
// analytic law (below), all in the rows of the patch (contact/ground.h). Angles of faces are those
// where the lowest point jumps.

#include "learned/ground_data.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/math/dense_factor.h"
#include "base/random.h"
#include "contact/island.h"

#include <math.h>
#include <string.h>

enum { CRI_GROUND_NEAR_MOST = 16, CRI_GROUND_FACE_MOST = 128, CRI_GROUND_EDGE_MOST = 512 };

typedef struct cri_ground_sampler {
    const cr_model *model;
    cri_ground_body ground;
    cri_derived d;
    cri_world world;
    double *x; // (n_x) the state
    cri_near near[CRI_GROUND_NEAR_MOST];
    cri_narrow_touch touch[CRI_GROUND_NEAR_MOST][CRI_MAX_TOUCH];
    int n_near;
    double face[CRI_GROUND_FACE_MOST]; // angles, rad
    int n_face;
    // in space: directions of the body's frame that point down where an edge or a face lies on the
    // surface, and the edge's own
    cri_vec3 edge[CRI_GROUND_EDGE_MOST], edge_along[CRI_GROUND_EDGE_MOST];
    cri_vec3 flat[CRI_GROUND_FACE_MOST];
    int n_edge, n_flat;
    // in space: only so many of a face's corners take part, 0: all; and what chooses them
    int n_only;
    cri_random pick;
    // of two bodies: angles of the one to the other, and of the normal in the other's frame, where
    // faces meet
    double meet[CRI_GROUND_FACE_MOST][2];
    int n_meet;
    double mu_static, before[3]; // of a planar body: 0 for none, and its velocity before forces
    cri_state state;
    cr_arena *memory, *keep, *scratch;
} cri_ground_sampler;

/// The solve of a state in the rows of its patch.
typedef struct cri_ground_solved {
    cri_ground ground;
    double g[CRI_GROUND_ROWS];       // of the rows that nets see
    double u[CRI_GROUND_ROWS];       // velocity after it, less what is to be reached
    double applied[CRI_GROUND_ROWS]; // inputs for what forces made
    double where;                    // m, of the body along the surface
    bool is_plain;                   // nothing can rebound there
    double push[CRI_GROUND_ROWS];    // normal impulses at the ends
    double slip;                     // m/s along the surface that a gap of what sticks makes
} cri_ground_solved;

// friction at one end of a tilted line and at its middle differ by this much
static const double least_e = 0.02;

// of a regressor's target: what jams has impulses of any size, which would drown all others
static const double most_impulse = 8.0;

enum { N_HALVING = 48, N_TURN = 40 };

// m: what touches
static const double touching = 1e-7;

// of a body's size: points that differ
static const double apart = 1e-3;

enum { N_SETTLE = 30, N_PAIR_HALVING = 40, N_START = 200, N_PAIR_TURN = 32 };

// m: far enough for any two bodies that are to be learned
static const double far = 10.0;

// of a way into the normal: less is passing by
static const double least_closing = 0.05;

static const double pi = 3.14159265358979323846;

enum { N_SCAN = 2048, MOST_TRY = 64 };

// of the normal speed before: what closes with more of it afterwards has not touched
static const double untouched = 0.5;

// ---- one contact state --------------------------------------------------------------------------

// One contact state of a body. Labels by the impulse g and the velocity after it, u = A g + c,
// with s = sum |c_i|, a the largest inverse mass, w = max(1e-6 s, noise):
//
//   e         u/-c at the closing end that pushes most, within 0 and 1; 0 where it is below 0.02
//   detach    a |g_i| <= max(1e-8 s, noise) for all i
//   static    |u_0| <= w + slip, and |u_i - e max(0, -c_i)| <= w at all ends
//   dynamic   else
//
// The velocity decides, not the displacement over a step, by which turning bodies would seldom
// stick. Without restitution static is what stands still. slip: two bodies that turn as one move
// by the spin times the gap at an end that is still open, where each has a point of its own.

// what is farther than margin may be left out; of a mesh that has many vertices within it, its
// outline and what touches first
static void look(cri_ground_sampler *s, double margin) {
    cri_arena_reset(s->keep);
    cri_state_push(s->model, s->x, &s->state, s->keep);
    cri_state_set(s->model, &s->state);
    for (int k = 0; k < s->n_near; k++) {
        cri_near_touches(&s->world, &s->near[k], &s->state, margin, s->touch[k]);
    }
}

/// The state of x and all touches there; keep is emptied first.
static void ground_look(cri_ground_sampler *s) {
    look(s, INFINITY);
}

/// The least gap of them.
static const cri_narrow_touch *ground_lowest(const cri_ground_sampler *s) {
    const cri_narrow_touch *best = &s->touch[0][0];
    for (int k = 0; k < s->n_near; k++) {
        for (int i = 0; i < s->near[k].n_slot; i++) {
            best = s->touch[k][i].gap < best->gap ? &s->touch[k][i] : best;
        }
    }
    return best;
}

/// Puts the lowest point of x on the surface, and looks.
static void ground_settle(cri_ground_sampler *s) {
    const cri_ground_body *g = &s->ground;
    ground_look(s);
    const cri_narrow_touch *lowest = ground_lowest(s);
    double gap = lowest->gap;
    double size = cri_v3_norm(cri_v3_sub(lowest->point[1], s->state.pose[g->body].pos));
    if (g->is_spatial) {
        cri_v3_store(cri_v3_mad(cri_v3_load(s->x), -gap, g->normal), s->x);
    }
    for (int k = 0; k < 2 && !g->is_spatial; k++) {
        s->x[g->slide[k]] -= gap * cri_v3_dot(g->normal, g->slide_axis[k]);
    }
    // no state is tilted by more, nor a recording's as far off
    look(s, fmax(0.01 * size, 1e-3));
}

/// law may be one of nets. Error: no planar body, nothing that touches, no memory. Close it anyhow.
static cr_status ground_open(const cr_model *model, const cri_law *law, cri_ground_sampler *s,
                             cr_error *err) {
    *s = (cri_ground_sampler){.model = model};
    CR_TRY(cri_ground_find(model, &s->ground, err));
    s->memory = cri_arena_create(65536);
    s->keep = cri_arena_create(262144);
    s->scratch = cri_arena_create(262144);
    bool is_good = s->memory && s->keep && s->scratch;
    double *p = is_good ? CR_PUSH(s->memory, double, model->sizes.n_p) : NULL;
    s->x = is_good ? CR_PUSH(s->memory, double, model->sizes.n_x) : NULL;
    s->d = is_good ? cri_derived_push(model, s->memory) : (cri_derived){0};
    if (!p || !s->x || !s->d.block || !cri_arena_reserve(s->keep, cri_state_bytes(model))) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    cr_model_defaults(model, -1, p, s->x, NULL);
    cri_derive(model, p, &s->d);
    s->world = (cri_world){.model = model, .d = &s->d, .law = law};
    int n_geom = model->sizes.n_geom;
    for (int k = 0; k < n_geom * n_geom; k++) {
        int g = k / n_geom, h = k % n_geom, pair;
        bool is_own = model->geom[g].body == s->ground.body && s->n_near < CRI_GROUND_NEAR_MOST;
        bool is_met =
            s->ground.other >= 0 ? model->geom[h].body == s->ground.other : h == s->ground.surface;
        if (is_own && is_met && cri_model_may_collide(model, h, g, &pair)) {
            if (model->geom[g].shape == CRI_SHAPE_FIELD ||
                model->geom[h].shape == CRI_SHAPE_FIELD) {
                return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                                "geom %.40s is a distance field; a learned contact law wants a "
                                "primitive or a convex mesh",
                                model->geom_name[g]);
            }
            s->near[s->n_near++] = cri_near_geoms(model, h, g, pair);
        }
    }
    if (s->n_near == 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "body %.40s never touches %.40s",
                        model->body_name[s->ground.body],
                        s->ground.other >= 0 ? model->body_name[s->ground.other]
                                             : model->geom_name[s->ground.surface]);
    }
    return CR_OK;
}

static void ground_close(cri_ground_sampler *s) {
    cri_arena_destroy(s->memory);
    cri_arena_destroy(s->keep);
    cri_arena_destroy(s->scratch);
}

// ---- the solve ---------------------------------------------------------------------------------

// total impulses of the rows: means in R, sums here
static void totals(const cri_ground *ground, const double *f, double *g) {
    for (int i = 0; i < ground->n_row; i++) {
        const double *row = ground->R + (size_t)i * 3 * (size_t)ground->n;
        g[i] = 0.0;
        for (int k = 0; k < 3 * ground->n; k++) {
            g[i] += row[k] > 0.0 ? f[k] : 0.0;
        }
    }
}

/// g from the velocities u after; false when the rows are not independent.
static bool ground_impulse_of(cri_ground_solved *of) {
    const cri_ground *ground = &of->ground;
    int k = cri_ground_rows(ground->kind), n = ground->n_row;
    double factor[CRI_GROUND_LEAD * CRI_GROUND_LEAD];
    for (int i = 0; i < k * k; i++) {
        factor[i] = ground->A[i / k * n + i % k];
    }
    memset(of->g, 0, sizeof of->g);
    bool is_good = cri_cholesky_factor(k, factor);
    for (int i = 0; i < k; i++) {
        of->g[i] = of->u[i] - ground->c[i];
    }
    if (is_good) {
        cri_cholesky_solve(k, factor, of->g);
    }
    return is_good;
}

// where contacts are, in space
static const double *places(const cri_ground_sampler *s, const cri_jump *jump) {
    double *place = s->ground.is_spatial ? CR_PUSH(s->keep, double, 2 * jump->n) : NULL;
    for (int i = 0; place && i < 2 * jump->n; i++) {
        const cri_row *row = &jump->row[i / 2];
        place[i] = cri_v3_dot(row->touch.point[1], row->frame.axis[1 + i % 2]);
    }
    return place;
}

// g and u of the impulses f. u is that of the contacts, where each has its own friction: a patch
// that sticks stands still also where a tilt lifts one end over the other
static bool read_solution(const cri_contact_problem *p, const double *f, cri_ground_solved *out) {
    const cri_ground *ground = &out->ground;
    int m = 3 * p->n;
    totals(ground, f, out->push);
    memcpy(out->g, out->push, sizeof out->g);
    for (int i = 0; i < ground->n_row; i++) {
        const double *row = ground->R + (size_t)i * (size_t)m;
        out->u[i] = ground->c[i];
        for (int a = 0; a < m; a++) {
            for (int b = 0; row[a] != 0.0 && b < m; b++) {
                out->u[i] += row[a] * p->A[(size_t)a * (size_t)m + (size_t)b] * f[b];
            }
        }
    }
    return !p->place || ground_impulse_of(out);
}

// does the patch lie still, with these contact velocities?
static bool is_still(int n, const double *u) {
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(u[i]));
    }
    return most <= 1e-9;
}

// the law's jump; what lies still before forces act has the static coefficient unless that is too
// little to hold it. Returns the contact velocities that forces made, NULL where they do not count
static double *solve_jump(cri_ground_sampler *s, cri_jump *jump, const double *v, double *after) {
    int n = jump->n;
    bool is_held = false;
    double *first = s->mu_static > 0.0 ? CR_PUSH(s->keep, double, 3 * n) : NULL;
    if (first) {
        double *u = CR_PUSH(s->keep, double, 3 * n), *mu = CR_PUSH(s->keep, double, n);
        cri_jump_solve(&s->world, jump, s->before, false, after, s->keep, s->scratch);
        memcpy(first, jump->b, sizeof *first * 3 * (size_t)n);
        if (is_still(3 * n, first)) {
            memcpy(mu, jump->mu, sizeof *mu * (size_t)n);
            for (int i = 0; i < n; i++) {
                jump->mu[i] = s->mu_static;
            }
            cri_jump_solve(&s->world, jump, v, false, after, s->keep, s->scratch);
            for (int i = 0; i < 3 * n; i++) {
                u[i] = jump->b[i];
                for (int j = 0; j < 3 * n; j++) {
                    u[i] += jump->A[(size_t)i * 3 * (size_t)n + (size_t)j] * jump->f[j];
                }
            }
            is_held = is_still(3 * n, u);
            memcpy(jump->mu, mu, sizeof *mu * (size_t)n);
        }
    }
    if (!is_held) {
        cri_jump_solve(&s->world, jump, v, false, after, s->keep, s->scratch);
    }
    for (int i = 0; first && i < 3 * n; i++) {
        first[i] = jump->b[i] - first[i];
    }
    return first;
}

// the largest gap times the spin after, of two bodies
static double open_slip(const cri_ground_sampler *s, int n, const cri_contact_ref *ref,
                        const double *v) {
    double gap = 0.0;
    for (int i = 0; i < n && s->ground.other >= 0; i++) {
        gap = fmax(gap, fabs(ref[i].touch->gap));
    }
    return s->ground.other >= 0
               ? gap * fmax(fabs(v[s->ground.hinge]), fabs(v[s->ground.other_hinge]))
               : 0.0;
}

// leaves n_only of n, by chance
static int choose_some(cri_ground_sampler *s, int n, cri_contact_ref *ref) {
    for (int i = 0; s->n_only > 0 && i < s->n_only && i < n; i++) {
        int other = (int)cri_random_whole(&s->pick, i, n - 1);
        cri_contact_ref own = ref[i];
        ref[i] = ref[other];
        ref[other] = own;
    }
    return s->n_only > 0 && s->n_only < n ? s->n_only : n;
}

/// The jump of what is nearer than reach, with velocities v (n_v) before and v_out after, which
/// may be NULL. False: nothing touches, no plane, no memory, or the law did not solve it.
static bool ground_solve(cri_ground_sampler *s, double reach, const double *v, double *v_out,
                         cri_ground_solved *out) {
    cri_contact_ref ref[CRI_GROUND_NEAR_MOST * CRI_MAX_TOUCH];
    int n = 0, n_v = s->model->sizes.n_v;
    for (int k = 0; k < s->n_near; k++) {
        for (int i = 0; i < s->near[k].n_slot; i++) {
            if (s->touch[k][i].gap <= reach) {
                ref[n++] = (cri_contact_ref){&s->near[k], &s->touch[k][i]};
            }
        }
    }
    n = choose_some(s, n, ref);
    size_t room = n > 0 ? cri_jump_bytes(&s->world, n, ref) : 0;
    if (n == 0 || !cri_arena_reserve(s->keep, 4 * room + cri_ground_bytes(n)) ||
        !cri_arena_reserve(s->scratch, room)) {
        return false;
    }
    cri_jump jump;
    double *after = CR_PUSH(s->keep, double, n_v);
    cri_jump_begin(&s->world, n, ref, &s->state, &jump, s->keep, s->scratch);
    double *applied = solve_jump(s, &jump, v, after);
    if (v_out) {
        memcpy(v_out, after, sizeof *after * (size_t)n_v);
    }
    cri_contact_problem problem = {.n = n, .A = jump.A, .b = jump.b, .target = jump.target};
    problem.place = places(s, &jump);
    out->is_plain = true;
    out->slip = open_slip(s, n, ref, after);
    out->where = cri_v3_dot(s->state.pose[s->ground.body].pos, s->ground.along);
    for (int i = 0; i < n; i++) {
        out->is_plain = out->is_plain && jump.e[i] == 0.0;
    }
    bool is_known =
        cri_ground_reduce(&problem, &out->ground, s->keep) && read_solution(&problem, jump.f, out);
    cri_arena_reset(s->scratch);
    if (applied && is_known) {
        cri_ground_applied(&out->ground, applied, out->applied);
    }
    return is_known && jump.report.outcome == CR_SOLVED;
}

/// Does anything of what touches move? What does not has no direction to be labelled by.
static bool ground_is_moving(const cri_ground_solved *of) {
    double size = 0.0;
    for (int i = 0; i < of->ground.n_row; i++) {
        size += fabs(of->ground.c[i]);
    }
    return size > 0.0;
}

// ---- labels ------------------------------------------------------------------------------------

static cri_ground_class label_of(const cri_ground_solved *of, double noise, double *restitution) {
    const cri_ground *ground = &of->ground;
    const double *g = of->g, *u = of->u, *push = of->push;
    int k = ground->n_row, n_t = ground->n_tangent;
    double s = 0.0, a = 0.0, most_g = 0.0, off = 0.0;
    for (int i = 0; i < k; i++) {
        s += fabs(ground->c[i]);
        a = fmax(a, ground->A[i * (k + 1)]);
        most_g = fmax(most_g, fabs(g[i]));
    }
    double e = 0.0, most_push = 0.0;
    for (int i = n_t; i < k; i++) {
        // slower than a ten thousandth of everything it is rounding that rebounds
        if (-ground->c[i] > fmax(1e-4 * s, noise) && push[i] > most_push) {
            most_push = push[i];
            e = u[i] / -ground->c[i];
        }
    }
    e = e > least_e && !of->is_plain ? fmin(e, 1.0) : 0.0;
    *restitution = e;
    for (int i = 0; i < k; i++) {
        double goal = i >= n_t ? e * fmax(0.0, -ground->c[i]) : 0.0;
        off = fmax(off, fabs(u[i] - goal) - (i < n_t ? of->slip : 0.0));
    }
    if (a * most_g <= fmax(1e-8 * s, noise)) {
        return CRI_GROUND_DETACH;
    }
    return off <= fmax(1e-6 * s, noise) ? CRI_GROUND_STATIC : CRI_GROUND_DYNAMIC;
}

// impulses in the frame of nets: h of g = T' h
static void turn_along(const cri_ground_solved *from, double *h) {
    cri_ground_turn turn = cri_ground_turn_of(&from->ground);
    memcpy(h, from->g, sizeof from->g);
    if (from->ground.n_tangent > 1) {
        h[0] = turn.cosine * from->g[0] + turn.sine * from->g[1];
        h[1] = turn.side * (turn.cosine * from->g[1] - turn.sine * from->g[0]);
        h[2] /= from->ground.n_tangent > 2 ? turn.twist : 1.0;
    }
}

/// Writes sample at: a velocity below noise (m/s) is none.
static void ground_store(const cri_ground_solved *from, double noise, int at,
                         cri_ground_data *out) {
    double input[CRI_GROUND_INPUTS];
    double scale = cri_ground_input(&from->ground, input);
    if (out->has_applied) {
        memcpy(input + cri_ground_inputs(out->kind), from->applied,
               sizeof *input * (size_t)out->n_row);
    }
    if (out->has_place) {
        input[out->n_input - 1] = from->where;
    }
    memcpy(out->input + (size_t)at * (size_t)out->n_input, input,
           sizeof *input * (size_t)out->n_input);
    double own[CRI_GROUND_ROWS];
    turn_along(from, own);
    for (int i = 0; i < out->n_row; i++) {
        double g = scale > 0.0 ? own[i] / scale : 0.0;
        out->impulse[at * out->n_row + i] = fmin(fmax(g, -most_impulse), most_impulse);
    }
    out->scale[at] = scale;
    out->label[at] = (int)label_of(from, noise, &out->restitution[at]);
    out->has_restitution = out->has_restitution || out->restitution[at] > 0.0;
}

/// Arrays for n samples; false for lack of memory.
static bool ground_data_push(cri_ground_kind kind, int n, bool has_applied, bool has_place,
                             cri_ground_data *out, cr_arena *arena) {
    *out = (cri_ground_data){.kind = kind, .n = n, .n_row = cri_ground_rows(kind)};
    out->n_input = cri_ground_all_inputs(kind, has_applied, has_place);
    out->has_applied = has_applied;
    out->has_place = has_place;
    out->input = CR_PUSH(arena, double, n * out->n_input);
    out->impulse = CR_PUSH(arena, double, n * out->n_row);
    out->scale = CR_PUSH(arena, double, n);
    out->restitution = CR_PUSH(arena, double, n);
    out->label = CR_PUSH(arena, int, n);
    return !cri_arena_has_failed(arena);
}

// ---- states of a free body ----------------------------------------------------------------------

// Contact states of a free body. Its pose is the direction of its own frame that points down, and a
// turn about the normal. Where an edge lies on the surface is found between two directions whose
// lowest points differ, where a face does by turning on about the edge:
//
//   h(u) = max over points p of u p;   edge p, p':  u p = u p' = h(u);   face:  a third one as well
//
// both by bisection, so that any shape will do; what has no corners has neither.
//
// A body that comes to lie on a face touches with some of its corners before the others: a third of
// the lines are two corners of a face, also its diagonals, and a sixth of the surfaces three.

static cri_vec3 draw_direction(cri_random *r) {
    cri_vec3 d = cri_v3(cri_random_normal(r), cri_random_normal(r), cri_random_normal(r));
    double size = cri_v3_norm(d);
    return size > 1e-9 ? cri_v3_scale(1.0 / size, d) : cri_v3(0.0, 0.0, 1.0);
}

static cri_vec3 unit(cri_vec3 a) {
    return cri_v3_scale(1.0 / cri_v3_norm(a), a);
}

// a direction at right angles
static cri_vec3 across(cri_vec3 a) {
    cri_vec3 other = fabs(a.x) < 0.7 ? cri_v3(1.0, 0.0, 0.0) : cri_v3(0.0, 1.0, 0.0);
    return unit(cri_v3_cross(a, other));
}

// the rotation that takes down to the surface, and yaw about its normal
static void set_pose(cri_ground_sampler *s, cri_vec3 down, double yaw) {
    cri_vec3 to = cri_v3_scale(-1.0, s->ground.normal), axis = cri_v3_cross(down, to);
    double w = 1.0 + cri_v3_dot(down, to);
    if (w < 1e-9) {
        axis = across(down);
        w = 0.0;
    }
    double size = sqrt(w * w + cri_v3_dot(axis, axis));
    cri_quat lay = {w / size, axis.x / size, axis.y / size, axis.z / size};
    cri_vec3 n = cri_v3_scale(sin(0.5 * yaw), s->ground.normal);
    cri_quat turn = {cos(0.5 * yaw), n.x, n.y, n.z};
    cri_v3_store(cri_v3(0.0, 0.0, 0.0), s->x);
    cri_q4_store(cri_quat_mul(turn, lay), s->x + 3);
}

// the lowest point, in the body's frame
static cri_vec3 lowest_at(cri_ground_sampler *s, cri_vec3 down) {
    set_pose(s, down, 0.0);
    ground_look(s);
    const cri_pose *pose = &s->state.pose[s->ground.body];
    return cri_m3_tmul(&pose->R, cri_v3_sub(ground_lowest(s)->point[1], pose->pos));
}

static double distance(cri_vec3 a, cri_vec3 b) {
    return cri_v3_norm(cri_v3_sub(a, b));
}

// a direction between two where the lowest point jumps, from p to other; false when it does not
static bool find_edge(cri_ground_sampler *s, cri_random *r, cri_vec3 *down, cri_vec3 *p,
                      cri_vec3 *other) {
    cri_vec3 from = draw_direction(r), to = draw_direction(r);
    *p = lowest_at(s, from);
    *other = lowest_at(s, to);
    for (int k = 0; k < N_HALVING; k++) {
        cri_vec3 middle = unit(cri_v3_add(from, to)), at = lowest_at(s, middle);
        bool is_first = distance(at, *p) <= apart * cri_v3_norm(*p);
        from = is_first ? middle : from;
        to = is_first ? to : middle;
        *p = is_first ? at : *p;
        *other = is_first ? *other : at;
    }
    *down = unit(cri_v3_add(from, to));
    return distance(*p, *other) > apart * (cri_v3_norm(*p) + cri_v3_norm(*other));
}

// v turned about a unit axis
static cri_vec3 turned(cri_vec3 v, cri_vec3 axis, double angle) {
    cri_vec3 side = cri_v3_cross(axis, v);
    double along = (1.0 - cos(angle)) * cri_v3_dot(axis, v);
    return unit(cri_v3_mad(cri_v3_mad(cri_v3_scale(cos(angle), v), sin(angle), side), along, axis));
}

// by how much the lowest point is lower than p
static double below(cri_ground_sampler *s, cri_vec3 down, cri_vec3 p) {
    return cri_v3_dot(down, cri_v3_sub(lowest_at(s, down), p));
}

// turns on about the edge until something else touches
static bool find_flat(cri_ground_sampler *s, cri_vec3 down, cri_vec3 p, cri_vec3 axis,
                      cri_vec3 *out) {
    double size = 1e-9 * cri_v3_norm(p), from = 0.0, to = 0.0;
    for (int k = 1; k <= N_TURN && to == 0.0; k++) {
        double angle = 3.2 * k / N_TURN;
        bool is_there = below(s, turned(down, axis, angle), p) > size;
        to = is_there ? angle : 0.0;
        from = is_there ? from : angle;
    }
    for (int k = 0; k < N_HALVING && to > 0.0; k++) {
        double middle = 0.5 * (from + to);
        bool is_there = below(s, turned(down, axis, middle), p) > size;
        to = is_there ? middle : to;
        from = is_there ? from : middle;
    }
    *out = turned(down, axis, 0.5 * (from + to));
    return to > 0.0;
}

// is there a surface of contact with this direction down, that is not known yet?
static bool is_new_flat(cri_ground_sampler *s, cri_vec3 down) {
    bool is_new = s->n_flat < CRI_GROUND_FACE_MOST;
    for (int i = 0; i < s->n_flat; i++) {
        is_new = is_new && distance(s->flat[i], down) > apart;
    }
    double v[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    cri_v3_store(cri_v3_scale(-1.0, s->ground.normal), v);
    cri_ground_solved one;
    set_pose(s, down, 0.0);
    ground_settle(s);
    return is_new && ground_solve(s, 10.0 * touching, v, NULL, &one) &&
           one.ground.kind == CRI_GROUND_SPACE_SURFACE;
}

/// In space: finds edges and faces; draws a state of a kind (returns the height below which things
/// touch).
static void ground_find_space(cri_ground_sampler *s) {
    cri_random r = cri_random_of(1, 5);
    for (int k = 0; k < CRI_GROUND_EDGE_MOST; k++) {
        cri_vec3 down, p, other, flat;
        if (!find_edge(s, &r, &down, &p, &other)) {
            continue;
        }
        cri_vec3 axis = unit(cri_v3_sub(other, p));
        s->edge[s->n_edge] = down;
        s->edge_along[s->n_edge++] = axis;
        // faces are few: an eighth of the edges finds them
        if (k % 8 == 0 && find_flat(s, down, p, axis, &flat) && is_new_flat(s, flat)) {
            s->flat[s->n_flat++] = flat;
        }
    }
}

// how many corners of a face take part; 0: all of what lies on the surface
static int draw_corners(const cri_ground_sampler *s, cri_ground_kind kind, cri_random *r) {
    double share = cri_random_uniform(r, 0.0, 6.0);
    if (kind == CRI_GROUND_SPACE_LINE) {
        return share < 2.0 && s->n_flat > 0 ? 2 : 0;
    }
    return share < 1.0 && kind == CRI_GROUND_SPACE_SURFACE ? 3 : 0;
}

// the direction that points down, tilted a little
static cri_vec3 draw_down(cri_ground_sampler *s, cri_ground_kind kind, double tilt, cri_random *r) {
    if (kind == CRI_GROUND_SPACE_LINE && s->n_only == 0) {
        int i = cri_random_whole(r, 0, s->n_edge - 1);
        double own = cri_random_uniform(r, -tilt, tilt);
        return unit(cri_v3_mad(s->edge[i], own, s->edge_along[i]));
    }
    if (kind != CRI_GROUND_SPACE_POINT) {
        cri_vec3 flat = s->flat[cri_random_whole(r, 0, s->n_flat - 1)], side = across(flat);
        double a = cri_random_uniform(r, -tilt, tilt), b = cri_random_uniform(r, -tilt, tilt);
        return unit(cri_v3_mad(cri_v3_mad(flat, a, side), b, cri_v3_cross(flat, side)));
    }
    return draw_direction(r);
}

/// A speed in [lower, upper), unless is_uniform of any smaller size too.
static double ground_draw_speed(cri_random *r, bool is_uniform, double lower, double upper) {
    double speed = cri_random_uniform(r, lower, upper);
    bool is_zero = cri_random_uniform(r, 0.0, 1.0) < 0.1;
    double size = pow(10.0, cri_random_uniform(r, -4.0, 0.0));
    return is_uniform ? speed : (is_zero ? 0.0 : size * speed);
}

static double ground_draw_space(cri_ground_sampler *s, cri_ground_kind kind,
                                const cri_ground_sampling *sampling, cri_random *r) {
    bool is_uniform = cri_random_uniform(r, 0.0, 1.0) < 0.5 || sampling->is_uniform;
    double tilt = is_uniform ? 0.0 : sampling->tilt;
    s->n_only = draw_corners(s, kind, r);
    s->pick = cri_random_of((uint64_t)cri_random_whole(r, 0, 1 << 30), 0);
    cri_vec3 n = s->ground.normal, down = draw_down(s, kind, tilt, r);
    set_pose(s, down, cri_random_uniform(r, -pi, pi));
    ground_settle(s);
    const cri_pose *pose = &s->state.pose[s->ground.body];
    double way = cri_random_uniform(r, -pi, pi), roll = cri_random_uniform(r, -pi, pi);
    cri_vec3 t = across(n), b = cri_v3_cross(n, t);
    double spin = sampling->spin[kind];
    double along = ground_draw_speed(r, is_uniform, 0.0, sampling->along);
    double up = ground_draw_speed(r, is_uniform, -sampling->closing, sampling->opening);
    double twist = ground_draw_speed(r, is_uniform, -spin, spin);
    double turn = ground_draw_speed(r, is_uniform, 0.0, spin);
    cri_vec3 v = cri_v3_scale(up, n), w = cri_v3_scale(twist, n);
    v = cri_v3_mad(cri_v3_mad(v, along * cos(way), t), along * sin(way), b);
    w = cri_v3_mad(cri_v3_mad(w, turn * cos(roll), t), turn * sin(roll), b);
    double *x_v = s->x + s->model->sizes.n_q;
    cri_v3_store(v, x_v);
    cri_v3_store(cri_m3_tmul(&pose->R, w), x_v + 3);
    double size = cri_v3_norm(cri_v3_sub(ground_lowest(s)->point[1], pose->pos));
    return touching + 4.0 * tilt * size;
}

// ---- states of two planar bodies ----------------------------------------------------------------

// Contact states of two planar bodies. The other one stands at the origin, at any angle; the body
// comes from any side, along d, until they touch:
//
//   p += gap/(n d) d,  again until |gap| is rounding      (n the normal at the least gap)
//
// Faces meet where the normal, as the body turns, changes from one that stands with the other body
// to one that turns with it: found by bisection. Only the relative velocity counts, and that of the
// other is zero but for its spin.

// the body at place along the slides (from the other) and angle
static void place(cri_ground_sampler *s, double angle, const double *at) {
    const cri_ground_body *g = &s->ground;
    s->x[g->hinge] = angle;
    s->x[g->slide[0]] = at[0];
    s->x[g->slide[1]] = at[1];
    ground_look(s);
}

// moves it along a way until it touches; false when it passes by
static bool settle(cri_ground_sampler *s, cri_vec3 way) {
    const cri_ground_body *g = &s->ground;
    for (int i = 0; i < N_SETTLE; i++) {
        const cri_narrow_touch *touch = ground_lowest(s);
        double closing = -cri_v3_dot(touch->normal, way);
        if (!isfinite(touch->gap) || closing < least_closing) {
            return false;
        }
        if (fabs(touch->gap) <= 1e-3 * touching) {
            return true;
        }
        for (int k = 0; k < 2; k++) {
            s->x[g->slide[k]] += touch->gap / closing * cri_v3_dot(way, g->slide_axis[k]);
        }
        ground_look(s);
    }
    return false;
}

// angle of the normal in the plane of motion
static double normal_angle(const cri_ground_sampler *s) {
    const cri_ground_body *g = &s->ground;
    cri_vec3 n = ground_lowest(s)->normal, side = cri_v3_cross(g->axis, g->slide_axis[0]);
    return atan2(cri_v3_dot(n, side), cri_v3_dot(n, g->slide_axis[0]));
}

static double turn_between(double a, double b) {
    double d = fmod(a - b, 2.0 * pi);
    return fabs(d) > pi ? d - copysign(2.0 * pi, d) : d;
}

// lays the body at angle against the other, which stands at 0, from a side, so much beside it
static bool lay(cri_ground_sampler *s, double angle, double from, double beside) {
    const cri_ground_body *g = &s->ground;
    cri_vec3 up = cri_v3_cross(g->axis, g->slide_axis[0]);
    cri_vec3 way = cri_v3_mad(cri_v3_scale(cos(from), g->slide_axis[0]), sin(from), up);
    cri_vec3 start = cri_v3_mad(cri_v3_scale(far, way), beside, cri_v3_cross(g->axis, way));
    double at[2];
    for (int k = 0; k < 2; k++) {
        at[k] = cri_v3_dot(start, g->slide_axis[k]);
    }
    s->x[g->other_hinge] = s->x[g->other_slide[0]] = s->x[g->other_slide[1]] = 0.0;
    place(s, angle, at);
    return settle(s, cri_v3_scale(-1.0, way));
}

// do faces meet here?
static bool is_line(cri_ground_sampler *s) {
    double v[6] = {0.0};
    cri_vec3 n = ground_lowest(s)->normal;
    for (int k = 0; k < 2; k++) {
        v[s->ground.slide[k]] = -cri_v3_dot(n, s->ground.slide_axis[k]);
    }
    cri_ground_solved one;
    return ground_solve(s, 10.0 * touching, v, NULL, &one) && one.ground.kind == CRI_GROUND_LINE;
}

// where the body is touched, in its own frame; false when it is not
static bool touched_at(cri_ground_sampler *s, double angle, double normal, cri_vec3 *out) {
    bool is_there = lay(s, angle, normal, 0.0);
    const cri_pose *pose = &s->state.pose[s->ground.body];
    cri_vec3 p = cri_m3_tmul(&pose->R, cri_v3_sub(ground_lowest(s)->point[1], pose->pos));
    cri_vec3 axis = s->ground.own_axis;
    *out = cri_v3_mad(p, -cri_v3_dot(p, axis), axis);
    return is_there;
}

// turns the body on from angle until the point that touches jumps; false when it does not
static bool find_jump(cri_ground_sampler *s, double normal, double *angle) {
    double from = *angle, to = *angle;
    cri_vec3 low, high;
    bool is_good = touched_at(s, from, normal, &low), is_there = false;
    for (int i = 0; i < N_PAIR_TURN && is_good && !is_there; i++) {
        to = from + 2.0 * pi / N_PAIR_TURN;
        is_good = touched_at(s, to, normal, &high);
        is_there = is_good && distance(low, high) > 0.1 * cri_v3_norm(low);
        from = is_there ? from : to;
        low = is_there ? low : high;
    }
    for (int i = 0; i < N_PAIR_HALVING && is_there; i++) {
        cri_vec3 p;
        double middle = 0.5 * (from + to);
        is_there = touched_at(s, middle, normal, &p);
        bool is_low = distance(p, low) <= distance(p, high);
        from = is_low ? middle : from;
        to = is_low ? to : middle;
        low = is_low ? p : low;
        high = is_low ? high : p;
    }
    *angle = 0.5 * (from + to);
    return is_there;
}

/// Of two bodies: finds poses where faces meet; draws a state likewise.
static void ground_find_pair(cri_ground_sampler *s) {
    cri_random r = cri_random_of(1, 6);
    for (int k = 0; k < N_START && s->n_meet < CRI_GROUND_FACE_MOST; k++) {
        double angle = cri_random_uniform(&r, -pi, pi), side = cri_random_uniform(&r, -pi, pi);
        if (!lay(s, angle, side, 0.0)) {
            continue;
        }
        double normal = normal_angle(s);
        bool is_new = find_jump(s, normal, &angle) && lay(s, angle, normal, 0.0) && is_line(s);
        for (int i = 0; i < s->n_meet && is_new; i++) {
            is_new = fabs(turn_between(s->meet[i][0], angle)) > 1e-4 ||
                     fabs(turn_between(s->meet[i][1], normal)) > 1e-4;
        }
        if (is_new) {
            s->meet[s->n_meet][0] = angle;
            s->meet[s->n_meet++][1] = normal;
        }
    }
}

// everything turned about the other body's origin, which changes tangents alone
static void turn_all(cri_ground_sampler *s, double angle) {
    const cri_ground_body *g = &s->ground;
    cri_vec3 side = cri_v3_cross(g->axis, g->slide_axis[0]);
    double sign = cri_v3_dot(side, g->slide_axis[1]) < 0.0 ? -1.0 : 1.0;
    double x = s->x[g->slide[0]], y = sign * s->x[g->slide[1]];
    double at[2] = {cos(angle) * x - sin(angle) * y, sign * (sin(angle) * x + cos(angle) * y)};
    s->x[g->other_hinge] += angle;
    place(s, s->x[g->hinge] + angle, at);
}

static double ground_draw_pair(cri_ground_sampler *s, cri_ground_kind kind,
                               const cri_ground_sampling *sampling, cri_random *r) {
    const cri_ground_body *g = &s->ground;
    bool is_uniform = cri_random_uniform(r, 0.0, 1.0) < 0.5 || sampling->is_uniform;
    double angle = cri_random_uniform(r, -pi, pi), from = cri_random_uniform(r, -pi, pi);
    double tilt = 0.0, part = cri_random_uniform(r, -1.0, 1.0);
    if (kind == CRI_GROUND_LINE) {
        const double *meet = s->meet[cri_random_whole(r, 0, s->n_meet - 1)];
        tilt = is_uniform ? 0.0 : cri_random_uniform(r, -sampling->tilt, sampling->tilt);
        angle = meet[0] + tilt;
        from = meet[1];
    }
    double turn = cri_random_uniform(r, -pi, pi);
    bool is_good = lay(s, angle, from, 0.0);
    double size = hypot(s->x[g->slide[0]], s->x[g->slide[1]]);
    is_good = is_good && lay(s, angle, from, part * size);
    turn_all(s, turn);
    const cri_narrow_touch *touch = ground_lowest(s);
    cri_vec3 n = touch->normal, along = cri_v3_cross(g->axis, n);
    double *v = s->x + s->model->sizes.n_q;
    double speed = ground_draw_speed(r, is_uniform, -sampling->along, sampling->along);
    double up = ground_draw_speed(r, is_uniform, -sampling->closing, sampling->opening);
    double spin = sampling->spin[kind];
    for (int k = 0; k < 2; k++) {
        v[g->slide[k]] =
            up * cri_v3_dot(n, g->slide_axis[k]) + speed * cri_v3_dot(along, g->slide_axis[k]);
        v[g->other_slide[k]] = 0.0;
    }
    v[g->hinge] = ground_draw_speed(r, is_uniform, -spin, spin);
    v[g->other_hinge] = ground_draw_speed(r, is_uniform, -spin, spin);
    // a reach below zero: nothing touches, and another state is drawn
    return is_good ? touching + 2.0 * fabs(tilt) * size : -1.0;
}

// ---- samples ------------------------------------------------------------------------------------

cri_ground_sampling cri_ground_sampling_default(void) {
    return (cri_ground_sampling){.seed = 1,
                                 .along = 5.0,
                                 .closing = 5.0,
                                 .opening = 1.0,
                                 .spin = {50.0, 20.0, 50.0, 20.0, 20.0},
                                 .tilt = 0.003};
}

// the lowest point of the body at an angle, in its own frame and in the plane of motion
static cri_vec3 lowest_at_angle(cri_ground_sampler *s, double angle) {
    s->x[s->ground.hinge] = angle;
    ground_look(s);
    const cri_pose *pose = &s->state.pose[s->ground.body];
    cri_vec3 p = cri_m3_tmul(&pose->R, cri_v3_sub(ground_lowest(s)->point[1], pose->pos));
    cri_vec3 axis = s->ground.own_axis;
    return cri_v3_mad(p, -cri_v3_dot(p, axis), axis);
}

// angles where the lowest point jumps by more than rounded corners would turn it
static void find_faces(cri_ground_sampler *s) {
    double step = 2.0 * acos(-1.0) / N_SCAN;
    cri_vec3 last = lowest_at_angle(s, 0.5 * step);
    for (int i = 1; i <= N_SCAN && s->n_face < CRI_GROUND_FACE_MOST; i++) {
        double from = (i - 0.5) * step, to = from + step;
        cri_vec3 next = lowest_at_angle(s, to);
        cri_vec3 low = last, high = next;
        last = next;
        for (int k = 0; k < 48 && distance(low, high) > 0.0; k++) {
            double middle = 0.5 * (from + to);
            cri_vec3 at = lowest_at_angle(s, middle);
            bool is_low = distance(at, low) <= distance(at, high);
            from = is_low ? middle : from;
            to = is_low ? to : middle;
            low = is_low ? at : low;
            high = is_low ? high : at;
        }
        double size = cri_v3_norm(low) + cri_v3_norm(high);
        if (distance(low, high) > 1e-3 * size) {
            s->face[s->n_face++] = 0.5 * (from + to);
        }
    }
}

// ---- one sample --------------------------------------------------------------------------------

// what forces make of the velocity in a step: v is that before. A third of the samples lie still
// before, a third slide along the surface; the normal part of forces presses, as weight does
static void draw_forces(cri_ground_sampler *s, const cri_ground_sampling *sampling, cri_random *r) {
    const cri_ground_body *g = &s->ground;
    double *v = s->x + s->model->sizes.n_q;
    double share = cri_random_uniform(r, 0.0, 3.0);
    double press = pow(10.0, cri_random_uniform(r, -3.0, 0.0));
    // often there is no pull, and mostly no torque
    bool is_pulled = cri_random_uniform(r, 0.0, 3.0) < 2.0;
    bool is_turned = cri_random_uniform(r, 0.0, 4.0) < 1.0;
    double along = is_pulled ? press * cri_random_uniform(r, -1.5, 1.5) : 0.0;
    double turn = is_turned ? cri_random_uniform(r, -10.0, 10.0) : 0.0;
    double slip = share < 1.0 ? 0.0 : press * cri_random_uniform(r, -3.0, 3.0);
    for (int k = 0; k < 2 && share < 2.0; k++) {
        v[g->slide[k]] = slip * cri_v3_dot(g->along, g->slide_axis[k]);
        v[g->hinge] = 0.0;
    }
    for (int k = 0; k < 3; k++) {
        s->before[k] = v[k];
    }
    s->mu_static = sampling->mu_static;
    for (int k = 0; k < 2; k++) {
        v[g->slide[k]] += -press * cri_v3_dot(g->normal, g->slide_axis[k]) +
                          along * cri_v3_dot(g->along, g->slide_axis[k]);
    }
    v[g->hinge] += press * turn;
}

// draws x, the lowest point on the surface; returns the height below which things touch
static double draw_state(cri_ground_sampler *s, cri_ground_kind kind,
                         const cri_ground_sampling *sampling, cri_random *r) {
    const cri_ground_body *g = &s->ground;
    bool is_uniform = cri_random_uniform(r, 0.0, 1.0) < 0.5 || sampling->is_uniform;
    double tilt = 0.0;
    double *q = s->x, *v = s->x + s->model->sizes.n_q;
    q[g->slide[0]] = q[g->slide[1]] = 0.0;
    q[g->hinge] = cri_random_uniform(r, -pi, pi);
    if (kind == CRI_GROUND_LINE) {
        tilt = sampling->is_uniform ? 0.0 : cri_random_uniform(r, -sampling->tilt, sampling->tilt);
        q[g->hinge] = s->face[cri_random_whole(r, 0, s->n_face - 1)] + (is_uniform ? 0.0 : tilt);
    }
    double along = ground_draw_speed(r, is_uniform, -sampling->along, sampling->along);
    double up = ground_draw_speed(r, is_uniform, -sampling->closing, sampling->opening);
    for (int k = 0; k < 2; k++) {
        double normal_part = cri_v3_dot(g->normal, g->slide_axis[k]);
        v[g->slide[k]] = up * normal_part + along * cri_v3_dot(g->along, g->slide_axis[k]);
    }
    v[g->hinge] = ground_draw_speed(r, is_uniform, -sampling->spin[kind], sampling->spin[kind]);
    if (sampling->mu_static > 0.0) {
        draw_forces(s, sampling, r);
    }
    ground_settle(s);
    cri_vec3 low = ground_lowest(s)->point[1];
    double size = cri_v3_norm(cri_v3_sub(low, s->state.pose[g->body].pos));
    return touching + 2.0 * fabs(tilt) * size;
}

static double draw_any(cri_ground_sampler *s, cri_ground_kind kind,
                       const cri_ground_sampling *sampling, cri_random *r) {
    if (s->ground.is_spatial) {
        return ground_draw_space(s, kind, sampling, r);
    }
    return s->ground.other >= 0 ? ground_draw_pair(s, kind, sampling, r)
                                : draw_state(s, kind, sampling, r);
}

static cr_status draw_all(cri_ground_sampler *s, const cri_ground_sampling *sampling,
                          cri_ground_data *out, cr_error *err) {
    cri_random r = cri_random_of(sampling->seed, (uint64_t)out->kind);
    for (int i = 0; i < out->n; i++) {
        cri_ground_solved one;
        bool is_good = false;
        for (int k = 0; k < MOST_TRY && !is_good; k++) {
            double reach = draw_any(s, out->kind, sampling, &r);
            is_good = ground_solve(s, reach, s->x + s->model->sizes.n_q, NULL, &one) &&
                      ground_is_moving(&one) && one.ground.kind == out->kind;
        }
        if (!is_good) {
            return cri_fail(err, CR_ERR_NUMERIC, 0,
                            "no contact state could be sampled; check shape, mass and friction");
        }
        ground_store(&one, 0.0, i, out);
    }
    return CR_OK;
}

const char *cri_ground_label_law(const cri_ground_sampling *sampling, bool is_spatial) {
    return sampling->law ? sampling->law : (is_spatial ? "ncp" : "lcp");
}

cr_status cri_ground_sample(const cr_model *model, cri_ground_kind kind, int n,
                            const cri_ground_sampling *sampling, cri_ground_data *out,
                            cr_arena *arena, cr_error *err) {
    CR_ASSERT(model && n > 0 && sampling && out && arena);
    *out = (cri_ground_data){0};
    bool is_spatial = kind >= CRI_GROUND_SPACE_POINT;
    const char *law = cri_ground_label_law(sampling, is_spatial);
    const cri_law *analytic = cri_law_find(law);
    if (!analytic || analytic->needs_nets) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%.40s is no law to learn from; take lcp or ncp",
                        law);
    }
    cri_ground_sampler s;
    cr_status status = ground_open(model, analytic, &s, err);
    if (status == CR_OK && s.ground.is_spatial != is_spatial) {
        ground_close(&s);
        return CR_OK;
    }
    if (status == CR_OK && kind == CRI_GROUND_LINE && s.ground.other >= 0) {
        ground_find_pair(&s);
        n = s.n_meet > 0 ? n : 0;
    } else if (status == CR_OK && kind == CRI_GROUND_LINE) {
        find_faces(&s);
        n = s.n_face > 0 ? n : 0;
    }
    if (status == CR_OK && kind > CRI_GROUND_SPACE_POINT) {
        ground_find_space(&s);
        n = (kind == CRI_GROUND_SPACE_LINE ? s.n_edge : s.n_flat) > 0 ? n : 0;
    }
    if (status == CR_OK &&
        !ground_data_push(kind, n, sampling->mu_static > 0.0, false, out, arena)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    if (status == CR_OK) {
        status = draw_all(&s, sampling, out, err);
    }
    ground_close(&s);
    return status;
}

// ---- samples from recordings --------------------------------------------------------------------

// Samples from recordings (paper 003, section III.D): the impulse of a transition is what brings
// the velocities of the patch's rows, G v, from before to after,
//
//   A g = G (v+ - v)
//
// which is also the impulse that fits v+ - v best in the mass norm. The body is put on the surface
// first, for poses have errors.
//
// Rows of a recording are at any time around an impact, which is found between two of them: with
// gaps g at the first pose q and g' where v alone would have brought it, the touch is at
//
//   q + s h v,   s = g/(g - g')   where g' < 0
//
// else at the second one. What closes after it nearly as before has not touched yet. Differences of
// positions are no velocities where a neighbouring transition has an impact: of such recordings
// only what meets the surface by v counts, and nothing right behind an impact.

static double gap_at(cri_ground_sampler *s, const double *q, double t, const double *v) {
    for (int k = 0; k < s->model->sizes.n_q; k++) {
        s->x[k] = q[k] + (v ? t * v[k] : 0.0);
    }
    ground_look(s);
    return ground_lowest(s)->gap;
}

// part of the span h after which the lowest point, above at its begin and below at its end, touches
static double find_touch(cri_ground_sampler *s, const double *q, double h, const double *v) {
    double low = 0.0, high = 1.0;
    for (int k = 0; k < 40; k++) {
        double part = 0.5 * (low + high);
        *(gap_at(s, q, part * h, v) > 0.0 ? &low : &high) = part;
    }
    return high;
}

// sets the pose of the contact of transition i; false when there is none. An impact begins away
// from the surface.
static bool place_record(cri_ground_sampler *s, const cri_ground_record *record, int i,
                         bool *is_impact) {
    int n_q = s->model->sizes.n_q, n_v = s->model->sizes.n_v;
    double end = gap_at(s, record->q + n_q * i, 0.0, NULL);
    *is_impact = false;
    if (!record->from) {
        return end <= record->gap;
    }
    CR_ASSERT(record->span && n_q == n_v);
    const double *from = record->from + n_q * i;
    const double *v = (record->mean ? record->mean : record->before) + n_v * i;
    double h = record->span[i], first = gap_at(s, from, 0.0, NULL), last = gap_at(s, from, h, v);
    *is_impact = last < 0.0 && first > 0.0;
    if (last < 0.0) {
        double part = first > 0.0 ? find_touch(s, from, h, v) : 0.0;
        (void)gap_at(s, from, part * h, v);
    } else {
        (void)gap_at(s, record->q + n_q * i, 0.0, NULL);
    }
    return record->is_difference ? last < 0.0 : fmin(last, end) <= record->gap;
}

// does transition i begin where the one before it ends?
static bool goes_on(const cri_ground_sampler *s, const cri_ground_record *record, int i) {
    int n_q = s->model->sizes.n_q;
    return record->from && i > 0 &&
           memcmp(record->from + n_q * i, record->q + n_q * (i - 1),
                  sizeof *record->q * (size_t)n_q) == 0;
}

// does an end close after the transition as if there had been no contact?
static bool is_closing_on(const cri_ground *before, const double *after, double noise) {
    bool is_on = false;
    for (int k = before->n_tangent; k < before->n_row; k++) {
        is_on = is_on || (after[k] < -noise && after[k] < untouched * before->c[k]);
    }
    return is_on;
}

// the velocities of the rows before and after, from a solve that is not otherwise used
static bool look_at(cri_ground_sampler *s, const cri_ground_record *record, int i, bool *is_impact,
                    cri_ground_solved *out) {
    cri_ground_solved later;
    double after[CRI_GROUND_ROWS];
    int n_v = s->model->sizes.n_v;
    bool was_impact = *is_impact && record->is_difference && goes_on(s, record, i);
    bool is_near = place_record(s, record, i, is_impact);
    *is_impact = *is_impact && !was_impact; // the velocity behind an impact says nothing
    if (!is_near || was_impact) {
        return false;
    }
    ground_settle(s);
    if (!ground_solve(s, record->reach, record->after + n_v * i, NULL, &later)) {
        return false;
    }
    memcpy(after, later.ground.c, sizeof after);
    ground_settle(s);
    bool is_good = ground_solve(s, record->reach, record->before + n_v * i, NULL, out) &&
                   ground_is_moving(out) && out->ground.kind == later.ground.kind;
    if (record->from && is_good && is_closing_on(&out->ground, after, record->noise)) {
        return false;
    }
    memcpy(out->u, after, sizeof after);
    out->is_plain = false;
    is_good = is_good && ground_impulse_of(out);
    memcpy(out->push, out->g, sizeof out->g);
    return is_good;
}

cr_status cri_ground_take_record(const cr_model *model, cri_ground_kind kind,
                                 const cri_ground_record *record, cri_ground_data *out,
                                 cr_arena *arena, cr_error *err) {
    CR_ASSERT(model && record && record->n > 0 && out && arena);
    *out = (cri_ground_data){0};
    cri_ground_sampler s;
    cr_status status = ground_open(model, cri_law_find("lcp"), &s, err);
    if (status == CR_OK &&
        !ground_data_push(kind, record->n, false, record->has_place, out, arena)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    int n = 0;
    bool is_impact = false;
    for (int i = 0; i < record->n && status == CR_OK; i++) {
        cri_ground_solved one;
        if (look_at(&s, record, i, &is_impact, &one) && one.ground.kind == kind) {
            ground_store(&one, record->noise, n++, out);
        }
    }
    out->n = n;
    ground_close(&s);
    return status;
}

cr_status cri_ground_predict(const cr_model *model, const char *law,
                             const cri_ground_record *record, double *after, cr_error *err) {
    CR_ASSERT(model && law && record && after);
    cri_ground_sampler s;
    cr_status status = ground_open(model, cri_law_find(law), &s, err);
    for (int i = 0; i < record->n && status == CR_OK; i++) {
        cri_ground_solved one;
        int n_q = model->sizes.n_q, n_v = model->sizes.n_v;
        memcpy(s.x, record->q + n_q * i, sizeof *after * (size_t)n_q);
        ground_settle(&s);
        memcpy(after + n_v * i, record->before + n_v * i, sizeof *after * (size_t)n_v);
        (void)ground_solve(&s, record->reach, record->before + n_v * i, after + n_v * i, &one);
    }
    ground_close(&s);
    return status;
}
