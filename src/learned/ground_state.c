// SPDX-License-Identifier: MIT
//
// One contact state of a body. Labels by the impulse g and the velocity after it, u = A g +
// c, with s = sum |c_i|, a the largest inverse mass, w = max(1e-6 s, noise):
//
//   e         u/-c at the closing end that pushes most, within 0 and 1; 0 where it is below 0.02
//   detach    a |g_i| <= max(1e-8 s, noise) for all i
//   static    |u_0| <= w + slip, and |u_i - e max(0, -c_i)| <= w at all ends
//   dynamic   else
//
// The velocity decides, not the displacement over a step, by which turning bodies would seldom
// stick. Without restitution static is what stands still. slip: two bodies that turn as one move
// by the spin times the gap at an end that is still open, where each has a point of its own.

#include "learned/ground_parts.h"

#include "base/base.h"
#include "base/math/dense_factor.h"

#include <math.h>
#include <string.h>

// friction at one end of a tilted line and at its middle differ by this much
static const double least_e = 0.02;
// of a regressor's target: what jams has impulses of any size, which would drown all others
static const double most_impulse = 8.0;

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

void cri_ground_look(cri_ground_sampler *s) {
    look(s, INFINITY);
}

const cri_narrow_touch *cri_ground_lowest(const cri_ground_sampler *s) {
    const cri_narrow_touch *best = &s->touch[0][0];
    for (int k = 0; k < s->n_near; k++) {
        for (int i = 0; i < s->near[k].n_slot; i++) {
            best = s->touch[k][i].gap < best->gap ? &s->touch[k][i] : best;
        }
    }
    return best;
}

void cri_ground_settle(cri_ground_sampler *s) {
    const cri_ground_body *g = &s->ground;
    cri_ground_look(s);
    const cri_narrow_touch *lowest = cri_ground_lowest(s);
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

cr_status cri_ground_open(const cr_model *model, const cri_law *law, cri_ground_sampler *s,
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

void cri_ground_close(cri_ground_sampler *s) {
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

bool cri_ground_impulse_of(cri_ground_solved *of) {
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
    return !p->place || cri_ground_impulse_of(out);
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

bool cri_ground_solve(cri_ground_sampler *s, double reach, const double *v, double *v_out,
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

bool cri_ground_is_moving(const cri_ground_solved *of) {
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

void cri_ground_store(const cri_ground_solved *from, double noise, int at, cri_ground_data *out) {
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

bool cri_ground_data_push(cri_ground_kind kind, int n, bool has_applied, bool has_place,
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
