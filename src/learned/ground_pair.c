// SPDX-License-Identifier: MIT
//
// Contact states of two planar bodies. The other one stands at the origin, at any angle; the body
// comes from any side, along d, until they touch:
//
//   p += gap/(n d) d,  again until |gap| is rounding      (n the normal at the least gap)
//
// Faces meet where the normal, as the body turns, changes from one that stands with the other body
// to one that turns with it: found by bisection. Only the relative velocity counts, and that of the
// other is zero but for its spin.

#include "learned/ground_parts.h"

#include "base/base.h"

#include <math.h>

enum { N_SETTLE = 30, N_HALVING = 40, N_START = 200, N_TURN = 32 };

static const double touching = 1e-7;
// m: far enough for any two bodies that are to be learned
static const double far = 10.0;
// of a way into the normal: less is passing by
static const double least_closing = 0.05;
static const double pi = 3.14159265358979323846;

// the body at place along the slides (from the other) and angle
static void place(cri_ground_sampler *s, double angle, const double *at) {
    const cri_ground_body *g = &s->ground;
    s->x[g->hinge] = angle;
    s->x[g->slide[0]] = at[0];
    s->x[g->slide[1]] = at[1];
    cri_ground_look(s);
}

// moves it along a way until it touches; false when it passes by
static bool settle(cri_ground_sampler *s, cri_vec3 way) {
    const cri_ground_body *g = &s->ground;
    for (int i = 0; i < N_SETTLE; i++) {
        const cri_narrow_touch *touch = cri_ground_lowest(s);
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
        cri_ground_look(s);
    }
    return false;
}

// angle of the normal in the plane of motion
static double normal_angle(const cri_ground_sampler *s) {
    const cri_ground_body *g = &s->ground;
    cri_vec3 n = cri_ground_lowest(s)->normal, side = cri_v3_cross(g->axis, g->slide_axis[0]);
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
    cri_vec3 n = cri_ground_lowest(s)->normal;
    for (int k = 0; k < 2; k++) {
        v[s->ground.slide[k]] = -cri_v3_dot(n, s->ground.slide_axis[k]);
    }
    cri_ground_solved one;
    return cri_ground_solve(s, 10.0 * touching, v, NULL, &one) &&
           one.ground.kind == CRI_GROUND_LINE;
}

// where the body is touched, in its own frame; false when it is not
static bool touched_at(cri_ground_sampler *s, double angle, double normal, cri_vec3 *out) {
    bool is_there = lay(s, angle, normal, 0.0);
    const cri_pose *pose = &s->state.pose[s->ground.body];
    cri_vec3 p = cri_m3_tmul(&pose->R, cri_v3_sub(cri_ground_lowest(s)->point[1], pose->pos));
    cri_vec3 axis = s->ground.own_axis;
    *out = cri_v3_mad(p, -cri_v3_dot(p, axis), axis);
    return is_there;
}

static double distance(cri_vec3 a, cri_vec3 b) {
    return cri_v3_norm(cri_v3_sub(a, b));
}

// turns the body on from angle until the point that touches jumps; false when it does not
static bool find_jump(cri_ground_sampler *s, double normal, double *angle) {
    double from = *angle, to = *angle;
    cri_vec3 low, high;
    bool is_good = touched_at(s, from, normal, &low), is_there = false;
    for (int i = 0; i < N_TURN && is_good && !is_there; i++) {
        to = from + 2.0 * pi / N_TURN;
        is_good = touched_at(s, to, normal, &high);
        is_there = is_good && distance(low, high) > 0.1 * cri_v3_norm(low);
        from = is_there ? from : to;
        low = is_there ? low : high;
    }
    for (int i = 0; i < N_HALVING && is_there; i++) {
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

void cri_ground_find_pair(cri_ground_sampler *s) {
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

double cri_ground_draw_pair(cri_ground_sampler *s, cri_ground_kind kind,
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
    const cri_narrow_touch *touch = cri_ground_lowest(s);
    cri_vec3 n = touch->normal, along = cri_v3_cross(g->axis, n);
    double *v = s->x + s->model->sizes.n_q;
    double speed = cri_ground_draw_speed(r, is_uniform, -sampling->along, sampling->along);
    double up = cri_ground_draw_speed(r, is_uniform, -sampling->closing, sampling->opening);
    double spin = sampling->spin[kind];
    for (int k = 0; k < 2; k++) {
        v[g->slide[k]] =
            up * cri_v3_dot(n, g->slide_axis[k]) + speed * cri_v3_dot(along, g->slide_axis[k]);
        v[g->other_slide[k]] = 0.0;
    }
    v[g->hinge] = cri_ground_draw_speed(r, is_uniform, -spin, spin);
    v[g->other_hinge] = cri_ground_draw_speed(r, is_uniform, -spin, spin);
    // a reach below zero: nothing touches, and another state is drawn
    return is_good ? touching + 2.0 * fabs(tilt) * size : -1.0;
}
