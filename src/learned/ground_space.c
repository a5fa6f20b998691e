// SPDX-License-Identifier: MIT
//
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

#include "learned/ground_parts.h"

#include "base/base.h"

#include <math.h>

enum { N_HALVING = 48, N_TURN = 40 };

// m: what touches
static const double touching = 1e-7;
// of a body's size: points that differ
static const double apart = 1e-3;

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
    cri_ground_look(s);
    const cri_pose *pose = &s->state.pose[s->ground.body];
    return cri_m3_tmul(&pose->R, cri_v3_sub(cri_ground_lowest(s)->point[1], pose->pos));
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
    cri_ground_settle(s);
    return is_new && cri_ground_solve(s, 10.0 * touching, v, NULL, &one) &&
           one.ground.kind == CRI_GROUND_SPACE_SURFACE;
}

void cri_ground_find_space(cri_ground_sampler *s) {
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

double cri_ground_draw_space(cri_ground_sampler *s, cri_ground_kind kind,
                             const cri_ground_sampling *sampling, cri_random *r) {
    bool is_uniform = cri_random_uniform(r, 0.0, 1.0) < 0.5 || sampling->is_uniform;
    double tilt = is_uniform ? 0.0 : sampling->tilt, pi = acos(-1.0);
    s->n_only = draw_corners(s, kind, r);
    s->pick = cri_random_of((uint64_t)cri_random_whole(r, 0, 1 << 30), 0);
    cri_vec3 n = s->ground.normal, down = draw_down(s, kind, tilt, r);
    set_pose(s, down, cri_random_uniform(r, -pi, pi));
    cri_ground_settle(s);
    const cri_pose *pose = &s->state.pose[s->ground.body];
    double way = cri_random_uniform(r, -pi, pi), roll = cri_random_uniform(r, -pi, pi);
    cri_vec3 t = across(n), b = cri_v3_cross(n, t);
    double spin = sampling->spin[kind];
    double along = cri_ground_draw_speed(r, is_uniform, 0.0, sampling->along);
    double up = cri_ground_draw_speed(r, is_uniform, -sampling->closing, sampling->opening);
    double twist = cri_ground_draw_speed(r, is_uniform, -spin, spin);
    double turn = cri_ground_draw_speed(r, is_uniform, 0.0, spin);
    cri_vec3 v = cri_v3_scale(up, n), w = cri_v3_scale(twist, n);
    v = cri_v3_mad(cri_v3_mad(v, along * cos(way), t), along * sin(way), b);
    w = cri_v3_mad(cri_v3_mad(w, turn * cos(roll), t), turn * sin(roll), b);
    double *x_v = s->x + s->model->sizes.n_q;
    cri_v3_store(v, x_v);
    cri_v3_store(cri_m3_tmul(&pose->R, w), x_v + 3);
    double size = cri_v3_norm(cri_v3_sub(cri_ground_lowest(s)->point[1], pose->pos));
    return touching + 4.0 * tilt * size;
}
