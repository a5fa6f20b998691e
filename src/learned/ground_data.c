// SPDX-License-Identifier: MIT
//
// A sample: an angle, the lowest point of the body put on the surface, velocities, one solve by the
// analytic law (ground_state.c), all in the rows of the patch (contact/ground.h). Angles of faces
// are those where the lowest point jumps.

#include "learned/ground_parts.h"

#include "base/base.h"

#include <math.h>

enum { N_SCAN = 2048, MOST_TRY = 64 };

// m: what touches
static const double touching = 1e-7;

cri_ground_sampling cri_ground_sampling_default(void) {
    return (cri_ground_sampling){.seed = 1,
                                 .along = 5.0,
                                 .closing = 5.0,
                                 .opening = 1.0,
                                 .spin = {50.0, 20.0, 50.0, 20.0, 20.0},
                                 .tilt = 0.003};
}

// the lowest point of the body at an angle, in its own frame and in the plane of motion
static cri_vec3 lowest_at(cri_ground_sampler *s, double angle) {
    s->x[s->ground.hinge] = angle;
    cri_ground_look(s);
    const cri_pose *pose = &s->state.pose[s->ground.body];
    cri_vec3 p = cri_m3_tmul(&pose->R, cri_v3_sub(cri_ground_lowest(s)->point[1], pose->pos));
    cri_vec3 axis = s->ground.own_axis;
    return cri_v3_mad(p, -cri_v3_dot(p, axis), axis);
}

static double distance(cri_vec3 a, cri_vec3 b) {
    return cri_v3_norm(cri_v3_sub(a, b));
}

// angles where the lowest point jumps by more than rounded corners would turn it
static void find_faces(cri_ground_sampler *s) {
    double step = 2.0 * acos(-1.0) / N_SCAN;
    cri_vec3 last = lowest_at(s, 0.5 * step);
    for (int i = 1; i <= N_SCAN && s->n_face < CRI_GROUND_FACE_MOST; i++) {
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

// ---- one sample --------------------------------------------------------------------------------

double cri_ground_draw_speed(cri_random *r, bool is_uniform, double lower, double upper) {
    double speed = cri_random_uniform(r, lower, upper);
    bool is_zero = cri_random_uniform(r, 0.0, 1.0) < 0.1;
    double size = pow(10.0, cri_random_uniform(r, -4.0, 0.0));
    return is_uniform ? speed : (is_zero ? 0.0 : size * speed);
}

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
    double pi = acos(-1.0), tilt = 0.0;
    double *q = s->x, *v = s->x + s->model->sizes.n_q;
    q[g->slide[0]] = q[g->slide[1]] = 0.0;
    q[g->hinge] = cri_random_uniform(r, -pi, pi);
    if (kind == CRI_GROUND_LINE) {
        tilt = sampling->is_uniform ? 0.0 : cri_random_uniform(r, -sampling->tilt, sampling->tilt);
        q[g->hinge] = s->face[cri_random_whole(r, 0, s->n_face - 1)] + (is_uniform ? 0.0 : tilt);
    }
    double along = cri_ground_draw_speed(r, is_uniform, -sampling->along, sampling->along);
    double up = cri_ground_draw_speed(r, is_uniform, -sampling->closing, sampling->opening);
    for (int k = 0; k < 2; k++) {
        double normal_part = cri_v3_dot(g->normal, g->slide_axis[k]);
        v[g->slide[k]] = up * normal_part + along * cri_v3_dot(g->along, g->slide_axis[k]);
    }
    v[g->hinge] = cri_ground_draw_speed(r, is_uniform, -sampling->spin[kind], sampling->spin[kind]);
    if (sampling->mu_static > 0.0) {
        draw_forces(s, sampling, r);
    }
    cri_ground_settle(s);
    cri_vec3 low = cri_ground_lowest(s)->point[1];
    double size = cri_v3_norm(cri_v3_sub(low, s->state.pose[g->body].pos));
    return touching + 2.0 * fabs(tilt) * size;
}

static double draw_any(cri_ground_sampler *s, cri_ground_kind kind,
                       const cri_ground_sampling *sampling, cri_random *r) {
    if (s->ground.is_spatial) {
        return cri_ground_draw_space(s, kind, sampling, r);
    }
    return s->ground.other >= 0 ? cri_ground_draw_pair(s, kind, sampling, r)
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
            is_good = cri_ground_solve(s, reach, s->x + s->model->sizes.n_q, NULL, &one) &&
                      cri_ground_is_moving(&one) && one.ground.kind == out->kind;
        }
        if (!is_good) {
            return cri_fail(err, CR_ERR_NUMERIC, 0,
                            "no contact state could be sampled; check shape, mass and friction");
        }
        cri_ground_store(&one, 0.0, i, out);
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
    cr_status status = cri_ground_open(model, analytic, &s, err);
    if (status == CR_OK && s.ground.is_spatial != is_spatial) {
        cri_ground_close(&s);
        return CR_OK;
    }
    if (status == CR_OK && kind == CRI_GROUND_LINE && s.ground.other >= 0) {
        cri_ground_find_pair(&s);
        n = s.n_meet > 0 ? n : 0;
    } else if (status == CR_OK && kind == CRI_GROUND_LINE) {
        find_faces(&s);
        n = s.n_face > 0 ? n : 0;
    }
    if (status == CR_OK && kind > CRI_GROUND_SPACE_POINT) {
        cri_ground_find_space(&s);
        n = (kind == CRI_GROUND_SPACE_LINE ? s.n_edge : s.n_flat) > 0 ? n : 0;
    }
    if (status == CR_OK &&
        !cri_ground_data_push(kind, n, sampling->mu_static > 0.0, false, out, arena)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    if (status == CR_OK) {
        status = draw_all(&s, sampling, out, err);
    }
    cri_ground_close(&s);
    return status;
}
