// SPDX-License-Identifier: MIT
//
// A sample: an angle, the lowest point of the body put on the surface, velocities, one solve by the
// analytic law, all in the rows of the patch (contact/ground.h). Labels by the impulse g and the
// velocity after it, u = A g + c, with s = sum |c_i|:
//
//   detach    a |g_i| <= 1e-8 s for all i, a the mean inverse mass of the ends
//   static    |u_i| <= 1e-6 s for all i
//   dynamic   else
//
// The velocity decides, not the displacement over a step, by which turning bodies would seldom
// stick. Angles of faces are those where the lowest point jumps.

#include "learn/ground_data.h"

#include "base/base.h"
#include "base/random.h"
#include "contact/jump.h"

#include <math.h>
#include <string.h>

enum { MOST_NEAR = 16, MOST_FACE = 128, N_SCAN = 2048, MOST_TRY = 64 };

// m: what touches
static const double touching = 1e-7;

typedef struct sampler {
    const cr_model *model;
    cri_ground_body ground;
    cri_derived d;
    cri_world world;
    double *x;
    cri_near near[MOST_NEAR];
    cri_narrow_touch touch[MOST_NEAR][CRI_MAX_TOUCH];
    int n_near;
    double face[MOST_FACE]; // angles, rad
    int n_face;
    cri_state state;
    cr_arena *memory, *keep, *scratch;
} sampler;

cri_ground_sampling cri_ground_sampling_default(void) {
    return (cri_ground_sampling){.law = "lcp",
                                 .seed = 1,
                                 .along = 5.0,
                                 .closing = 5.0,
                                 .opening = 1.0,
                                 .spin = {50.0, 20.0},
                                 .tilt = 0.003};
}

// the state of x and all touches there; keep is emptied first
static void look(sampler *s) {
    cri_arena_reset(s->keep);
    cri_state_push(s->model, s->x, &s->state, s->keep);
    cri_state_set(s->model, &s->state);
    for (int k = 0; k < s->n_near; k++) {
        cri_near_touches(&s->world, &s->near[k], &s->state, INFINITY, s->touch[k]);
    }
}

static const cri_narrow_touch *lowest(const sampler *s) {
    const cri_narrow_touch *best = &s->touch[0][0];
    for (int k = 0; k < s->n_near; k++) {
        for (int i = 0; i < s->near[k].n_slot; i++) {
            best = s->touch[k][i].gap < best->gap ? &s->touch[k][i] : best;
        }
    }
    return best;
}

// the lowest point of the body at an angle, in its own frame and in the plane of motion
static cri_vec3 lowest_at(sampler *s, double angle) {
    s->x[s->ground.hinge] = angle;
    look(s);
    const cri_pose *pose = &s->state.pose[s->ground.body];
    cri_vec3 p = cri_m3_tmul(&pose->R, cri_v3_sub(lowest(s)->point[1], pose->pos));
    cri_vec3 axis = s->model->mech.joint[2].axis;
    return cri_v3_mad(p, -cri_v3_dot(p, axis), axis);
}

static double distance(cri_vec3 a, cri_vec3 b) {
    return cri_v3_norm(cri_v3_sub(a, b));
}

// angles where the lowest point jumps by more than rounded corners would turn it
static void find_faces(sampler *s) {
    double step = 2.0 * acos(-1.0) / N_SCAN;
    cri_vec3 last = lowest_at(s, 0.5 * step);
    for (int i = 1; i <= N_SCAN && s->n_face < MOST_FACE; i++) {
        double from = (i - 0.5) * step, to = from + step;
        cri_vec3 next = lowest_at(s, to);
        cri_vec3 low = last, high = next;
        last = next;
        for (int k = 0; k < 48 && distance(low, high) > 0.0; k++) {
            double middle = 0.5 * (from + to);
            cri_vec3 at = lowest_at(s, middle);
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

static cr_status open_sampler(const cr_model *model, const char *law, sampler *s, cr_error *err) {
    *s = (sampler){.model = model};
    CR_TRY(cri_ground_find(model, &s->ground, err));
    const cri_law *analytic = cri_law_find(law);
    if (!analytic || analytic->needs_nets) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "%.40s is no law to learn from; take lcp or ncp",
                        law);
    }
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
    s->world = (cri_world){.model = model, .d = &s->d, .law = analytic};
    for (int g = 0; g < model->sizes.n_geom; g++) {
        int pair;
        bool is_own = model->geom[g].body == s->ground.body && s->n_near < MOST_NEAR;
        if (is_own && cri_model_may_collide(model, s->ground.surface, g, &pair)) {
            s->near[s->n_near++] = cri_near_geoms(model, s->ground.surface, g, pair);
        }
    }
    if (s->n_near == 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "body %.40s never touches %.40s",
                        model->body_name[s->ground.body], model->geom_name[s->ground.surface]);
    }
    return CR_OK;
}

static void close_sampler(sampler *s) {
    cri_arena_destroy(s->memory);
    cri_arena_destroy(s->keep);
    cri_arena_destroy(s->scratch);
}

// ---- one sample --------------------------------------------------------------------------------

// a speed in [lower, upper), in half of the samples of any smaller size
static double draw_speed(cri_random *r, bool is_uniform, double lower, double upper) {
    double speed = cri_random_uniform(r, lower, upper);
    bool is_zero = cri_random_uniform(r, 0.0, 1.0) < 0.1;
    double size = pow(10.0, cri_random_uniform(r, -4.0, 0.0));
    return is_uniform ? speed : (is_zero ? 0.0 : size * speed);
}

// draws x, the lowest point on the surface; returns the height below which things touch
static double draw_state(sampler *s, cri_ground_kind kind, const cri_ground_sampling *sampling,
                         cri_random *r) {
    const cri_ground_body *g = &s->ground;
    bool is_uniform = cri_random_uniform(r, 0.0, 1.0) < 0.5 || sampling->is_uniform;
    double pi = acos(-1.0), tilt = 0.0;
    double *q = s->x, *v = s->x + s->model->sizes.n_q;
    q[g->slide[0]] = q[g->slide[1]] = 0.0;
    q[g->hinge] = cri_random_uniform(r, -pi, pi);
    if (kind == CRI_GROUND_LINE) {
        tilt = sampling->is_uniform ? 0.0 : cri_random_uniform(r, -sampling->tilt, sampling->tilt);
        q[g->hinge] = s->face[cri_random_whole(r, 0, s->n_face - 1)] + (is_uniform ? 0.0 : tilt);
    }
    look(s);
    double gap = lowest(s)->gap;
    double along = draw_speed(r, is_uniform, -sampling->along, sampling->along);
    double up = draw_speed(r, is_uniform, -sampling->closing, sampling->opening);
    for (int k = 0; k < 2; k++) {
        double normal_part = cri_v3_dot(g->normal, g->slide_axis[k]);
        q[g->slide[k]] -= gap * normal_part;
        v[g->slide[k]] = up * normal_part + along * cri_v3_dot(g->along, g->slide_axis[k]);
    }
    v[g->hinge] = draw_speed(r, is_uniform, -sampling->spin[kind], sampling->spin[kind]);
    look(s);
    double size = cri_v3_norm(cri_v3_sub(lowest(s)->point[1], s->state.pose[g->body].pos));
    return touching + 2.0 * fabs(tilt) * size;
}

static cri_ground_class label_of(const cri_ground *ground, const double *g) {
    int k = ground->n_row;
    double s = 0.0, a = 0.0, most_g = 0.0, most_u = 0.0;
    for (int i = 0; i < k; i++) {
        double u = ground->c[i];
        for (int j = 0; j < k; j++) {
            u += ground->A[i * k + j] * g[j];
        }
        s += fabs(ground->c[i]);
        a = fmax(a, ground->A[i * (k + 1)]);
        most_g = fmax(most_g, fabs(g[i]));
        most_u = fmax(most_u, fabs(u));
    }
    if (a * most_g <= 1e-8 * s) {
        return CRI_GROUND_DETACH;
    }
    return most_u <= 1e-6 * s ? CRI_GROUND_STATIC : CRI_GROUND_DYNAMIC;
}

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

/// The solve of a sample in the rows of its patch.
typedef struct solved {
    cri_ground ground;
    double g[CRI_GROUND_ROWS];
} solved;

// false: not of this kind, or not solved
static bool solve_here(sampler *s, cri_ground_kind kind, double reach, solved *out) {
    cri_contact_ref ref[MOST_NEAR * CRI_MAX_TOUCH];
    int n = 0;
    for (int k = 0; k < s->n_near; k++) {
        for (int i = 0; i < s->near[k].n_slot; i++) {
            if (s->touch[k][i].gap <= reach) {
                ref[n++] = (cri_contact_ref){&s->near[k], &s->touch[k][i]};
            }
        }
    }
    size_t room = cri_jump_bytes(&s->world, n, ref);
    if (n == 0 || !cri_arena_reserve(s->keep, 2 * room + cri_ground_bytes(n)) ||
        !cri_arena_reserve(s->scratch, room)) {
        return false;
    }
    cri_jump jump;
    double *v_out = CR_PUSH(s->keep, double, s->model->sizes.n_v);
    cri_jump_begin(&s->world, n, ref, &s->state, &jump, s->keep, s->scratch);
    cri_jump_solve(&s->world, &jump, s->x + s->model->sizes.n_q, false, v_out, s->keep, s->scratch);
    cri_contact_problem problem = {.n = n, .A = jump.A, .b = jump.b, .target = jump.target};
    bool is_plane = cri_ground_reduce(&problem, &out->ground, s->keep);
    totals(&out->ground, jump.f, out->g);
    cri_arena_reset(s->scratch);
    double size = 0.0;
    for (int i = 0; i < out->ground.n_row; i++) {
        size += fabs(out->ground.c[i]);
    }
    return is_plane && out->ground.kind == kind && jump.report.outcome == CR_SOLVED && size > 0.0;
}

static void store(const solved *from, int at, cri_ground_data *out) {
    double input[CRI_GROUND_INPUTS];
    double scale = cri_ground_input(&from->ground, input);
    memcpy(out->input + (size_t)at * (size_t)out->n_input, input,
           sizeof *input * (size_t)out->n_input);
    for (int i = 0; i < out->n_row; i++) {
        out->impulse[at * out->n_row + i] = scale > 0.0 ? from->g[i] / scale : 0.0;
    }
    out->scale[at] = scale;
    out->label[at] = (int)label_of(&from->ground, from->g);
}

static cr_status draw_all(sampler *s, const cri_ground_sampling *sampling, cri_ground_data *out,
                          cr_error *err) {
    cri_random r = cri_random_of(sampling->seed, (uint64_t)out->kind);
    for (int i = 0; i < out->n; i++) {
        solved one;
        bool is_good = false;
        for (int k = 0; k < MOST_TRY && !is_good; k++) {
            double reach = draw_state(s, out->kind, sampling, &r);
            is_good = solve_here(s, out->kind, reach, &one);
        }
        if (!is_good) {
            return cri_fail(err, CR_ERR_NUMERIC, 0,
                            "no contact state could be sampled; check shape, mass and friction");
        }
        store(&one, i, out);
    }
    return CR_OK;
}

cr_status cri_ground_sample(const cr_model *model, cri_ground_kind kind, int n,
                            const cri_ground_sampling *sampling, cri_ground_data *out,
                            cr_arena *arena, cr_error *err) {
    CR_ASSERT(model && n > 0 && sampling && out && arena);
    sampler s;
    *out = (cri_ground_data){
        .kind = kind, .n = n, .n_input = cri_ground_inputs(kind), .n_row = cri_ground_rows(kind)};
    cr_status status = open_sampler(model, sampling->law, &s, err);
    if (status == CR_OK && kind == CRI_GROUND_LINE) {
        find_faces(&s);
        out->n = s.n_face > 0 ? n : 0;
    }
    out->input = CR_PUSH(arena, double, out->n * out->n_input);
    out->impulse = CR_PUSH(arena, double, out->n * out->n_row);
    out->scale = CR_PUSH(arena, double, out->n);
    out->label = CR_PUSH(arena, int, out->n);
    if (status == CR_OK && cri_arena_has_failed(arena)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    if (status == CR_OK) {
        status = draw_all(&s, sampling, out, err);
    }
    close_sampler(&s);
    return status;
}
