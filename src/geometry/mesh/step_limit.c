// SPDX-License-Identifier: MIT
//
// Conservative advancement. At tau two triangles are apart by d along a unit vector n, the upper
// before the lower. With x' the velocities of their corners and rho the largest lever,
//
//   gap(tau + s) >= d - c s - (k/2) s^2,   c = max_upper(-n . x') + max_lower(n . x'),
//   k = |w_a|^2 rho_a + |w_b|^2 rho_b                         (centripetal accelerations)
//
// tau advances to where this bound is keep d(0), with fresh closest points each time, until it has
// passed the limit or the room left is less than 1e-3 d(0). Pairs of spheres that cannot meet
// within the limit found so far are left out: a point moves by less than tau (|v| + |w| lever).

#include "geometry/mesh/step_limit.h"

#include "base/math/quat.h"
#include "geometry/mesh/triangle_pair.h"

// halved trees: 33 levels, three more waiting at each; steps of one pair, where the bound stays
// safe
enum { MAX_WAIT = 160, MAX_ADVANCE = 200 };

typedef struct limit_search {
    const cri_moving_mesh *mesh[2];
    cri_vec3 v;     // relative velocity of the positions, first less second
    double turn[2]; // |w|
    double speed;   // |v|
    double keep;
    double limit; // found so far
    cri_vec3 between;
    cri_mat3 turned; // R_a' R_b
    cri_vec3 apart;  // R_a' between
    const cri_step_hints *hints;
} limit_search;

/// What is left of a gap where the search ends, as a part of it: pairs that keep more are left out.
static const double slack = 1e-3;

/// Largest distance of a point below a node from the position.
static double lever_of(const cri_sphere_tree *tree, int i) {
    return cri_v3_norm(cri_v3_load(tree->centre + 3 * (size_t)i)) + tree->extent[i];
}

/// Positive root s of c s + (k/2) s^2 = room, room > 0: infinite when nothing closes in.
static double time_to(double room, double c, double k) {
    if (c <= 0.0 && k <= 0.0) {
        return INFINITY;
    }
    // the form without cancellation for c > 0; the other sign has its own
    double root = sqrt(c * c + 2.0 * k * room);
    return c >= 0.0 ? 2.0 * room / (c + root) : (root - c) / k;
}

/// Corners of a triangle from the position at the start, and their velocities at tau.
static void corners_at(const cri_moving_mesh *mesh, int triangle, double tau, cri_vec3 x[3],
                       cri_vec3 v[3]) {
    cri_mat3 R = mesh->pose.R;
    if (tau > 0.0) {
        cri_mat3 turn = cri_quat_rotation(cri_quat_exp(cri_v3_scale(tau, mesh->w)));
        R = cri_m3_product(&turn, &mesh->pose.R);
    }
    for (int k = 0; k < 3; k++) {
        int i = mesh->tree->triangle[3 * (size_t)triangle + k];
        cri_vec3 r = cri_m3_mul(&R, cri_v3_load(mesh->vertex + 3 * (size_t)i));
        x[k] = cri_v3_mad(r, tau, mesh->v);
        v[k] = cri_v3_add(mesh->v, cri_v3_cross(mesh->w, r));
    }
}

/// How far apart two triangles are along the best direction found.
static double separation(const cri_vec3 x[6], cri_vec3 *n) {
    cri_triangle_gap near = cri_triangle_closest(x, x + 3);
    if (near.distance > 0.0) {
        *n = cri_v3_scale(1.0 / near.distance, cri_v3_sub(near.a, near.b));
        double width = cri_triangle_width(x, x + 3, *n);
        if (width > 0.5 * near.distance) {
            return width;
        }
    }
    return cri_triangle_axis(x, x + 3, n);
}

/// How fast the gap along n closes.
static double closing(const cri_vec3 v[6], cri_vec3 n) {
    double down = -INFINITY, up = -INFINITY;
    for (int i = 0; i < 3; i++) {
        double a = -cri_v3_dot(n, v[i]), b = cri_v3_dot(n, v[i + 3]);
        down = a > down ? a : down;
        up = b > up ? b : up;
    }
    return down + up;
}

/// Triangles that are width apart along n, and at most far apart, surely stay so. What is left of
/// the width is a concave function of time: it is enough that both ends are positive.
static bool is_safe_along(const limit_search *s, const cri_vec3 v[6], double k, cri_vec3 n,
                          double width, double far) {
    double least = width - (s->keep + slack) * far;
    return least > 0.0 && least > s->limit * (closing(v, n) + 0.5 * k * s->limit);
}

/// The direction between the centres of two triangles alone shows that they stay apart. Their
/// distance is at most that of the centres.
static bool is_plainly_safe(const limit_search *s, const cri_vec3 x[6], const cri_vec3 v[6],
                            double k) {
    cri_vec3 n = cri_v3_sub(cri_v3_add(cri_v3_add(x[0], x[1]), x[2]),
                            cri_v3_add(cri_v3_add(x[3], x[4]), x[5]));
    double length = cri_v3_norm(n);
    if (!(length > 0.0)) {
        return false;
    }
    n = cri_v3_scale(1.0 / length, n);
    return is_safe_along(s, v, k, n, cri_triangle_width(x, x + 3, n), length / 3.0);
}

/// So does another direction. Their distance is at most that of any two of their points: means of
/// corners, weighted by 1/height^2 over the middle, are nearly the closest.
static bool is_safe_by(const limit_search *s, const cri_vec3 x[6], const cri_vec3 v[6], double k,
                       cri_vec3 n) {
    cri_vec3 point[2];
    double height[6], low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 6; i++) {
        height[i] = cri_v3_dot(n, x[i]);
        low = i < 3 ? cri_smaller(low, height[i]) : low;
        high = i < 3 ? high : cri_larger(high, height[i]);
    }
    if (!(low > high)) {
        return false;
    }
    for (int side = 0; side < 2; side++) {
        cri_vec3 sum = {0.0, 0.0, 0.0};
        double weight = 0.0;
        for (int i = 3 * side; i < 3 * side + 3; i++) {
            double over = 1.0 / (height[i] - 0.5 * (low + high));
            sum = cri_v3_mad(sum, over * over, x[i]);
            weight += over * over;
        }
        point[side] = cri_v3_scale(1.0 / weight, sum);
    }
    return is_safe_along(s, v, k, n, low - high, cri_v3_norm(cri_v3_sub(point[0], point[1])));
}

/// A direction that is known, or where none is, the normals of both faces.
static bool is_quickly_safe(const limit_search *s, const cri_vec3 x[6], const cri_vec3 v[6],
                            double k, const int triangle[2]) {
    cri_vec3 n;
    if (s->hints && s->hints->find(s->hints->context, triangle[0], triangle[1], &n)) {
        return is_safe_by(s, x, v, k, n);
    }
    for (int side = 0; side < 2; side++) {
        const cri_vec3 *face = x + 3 * side, *other = x + 3 * !side;
        n = cri_v3_cross(cri_v3_sub(face[1], face[0]), cri_v3_sub(face[2], face[0]));
        double length = cri_v3_norm(n), height = cri_v3_dot(n, cri_v3_sub(other[0], face[0]));
        double sign = (height < 0.0) == (side == 0) ? 1.0 : -1.0;
        if (length > 0.0 && is_safe_by(s, x, v, k, cri_v3_scale(sign / length, n))) {
            return true;
        }
    }
    return false;
}

/// Lowers the limit for one pair of triangles.
static void limit_pair(limit_search *s, int ta, int tb, double k) {
    double start = 0.0, tau = 0.0;
    for (int step = 0; step < MAX_ADVANCE; step++) {
        cri_vec3 x[6], v[6], n;
        corners_at(s->mesh[0], ta, tau, x, v);
        corners_at(s->mesh[1], tb, tau, x + 3, v + 3);
        for (int i = 0; i < 3; i++) {
            x[i] = cri_v3_add(x[i], s->between);
        }
        if (step == 0 &&
            (is_plainly_safe(s, x, v, k) || is_quickly_safe(s, x, v, k, (int[]){ta, tb}))) {
            return;
        }
        double d = separation(x, &n);
        start = step ? start : d;
        double room = d - s->keep * start;
        if (!(start > 0.0) || room < slack * start) {
            break;
        }
        tau += time_to(room, closing(v, n), k);
        if (tau >= s->limit) {
            return;
        }
    }
    s->limit = start > 0.0 ? fmin(s->limit, tau) : 0.0;
}

/// Spheres of two nodes cannot meet within the limit.
static bool is_out_of_reach(const limit_search *s, int i, int j, const double lever[2]) {
    const cri_sphere_tree *a = s->mesh[0]->tree, *b = s->mesh[1]->tree;
    // in the frame of the first
    cri_vec3 ca = cri_v3_load(a->centre + 3 * (size_t)i);
    cri_vec3 cb = cri_m3_mul(&s->turned, cri_v3_load(b->centre + 3 * (size_t)j));
    double speed = s->speed + s->turn[0] * lever[0] + s->turn[1] * lever[1];
    double L = cri_v3_norm(cri_v3_add(s->apart, cri_v3_sub(ca, cb)));
    // a part of the gap is to stay
    double gap = L - a->extent[i] - b->extent[j];
    return (1.0 - s->keep - slack) * gap > s->limit * speed;
}

double cri_step_limit(const cri_moving_mesh *a, const cri_moving_mesh *b, double keep, double most,
                      const cri_step_hints *hints) {
    CR_ASSERT(keep > 0.0 && keep < 1.0);
    limit_search s = {.mesh = {a, b},
                      .v = cri_v3_sub(a->v, b->v),
                      .turn = {cri_v3_norm(a->w), cri_v3_norm(b->w)},
                      .keep = keep,
                      .limit = most,
                      .between = cri_v3_sub(a->pose.pos, b->pose.pos),
                      .hints = hints};
    s.speed = cri_v3_norm(s.v);
    s.apart = cri_m3_tmul(&a->pose.R, s.between);
    for (int k = 0; k < 9; k++) {
        const double *ra = a->pose.R.m + k / 3, *rb = b->pose.R.m + k % 3;
        s.turned.m[k] = ra[0] * rb[0] + ra[3] * rb[3] + ra[6] * rb[6];
    }
    int wait[MAX_WAIT][2] = {{0, 0}}, n_wait = 1;
    while (n_wait > 0 && s.limit > 0.0) {
        int i = wait[--n_wait][0], j = wait[n_wait][1];
        int right[2] = {a->tree->right[i], b->tree->right[j]};
        double lever[2] = {lever_of(a->tree, i), lever_of(b->tree, j)};
        if (is_out_of_reach(&s, i, j, lever)) {
            continue;
        }
        if (!right[0] && !right[1]) {
            double k = s.turn[0] * s.turn[0] * lever[0] + s.turn[1] * s.turn[1] * lever[1];
            limit_pair(&s, a->tree->leaf[i], b->tree->leaf[j], k);
            continue;
        }
        CR_ASSERT(n_wait + 2 <= MAX_WAIT);
        n_wait = cri_push_children(a->tree, i, b->tree, j, wait, n_wait);
    }
    return s.limit;
}

// ---- half-space --------------------------------------------------------------------------------

/// Lowers the limit for one vertex at r from the position, at a height.
static double limit_vertex(const cri_moving_mesh *a, cri_vec3 r, cri_vec3 n, double height,
                           double keep, double limit) {
    double tau = 0.0, k = cri_v3_dot(a->w, a->w) * cri_v3_norm(r), start = height;
    double shift = height - cri_v3_dot(n, r);
    for (int step = 0; step < MAX_ADVANCE; step++) {
        cri_mat3 turn = cri_quat_rotation(cri_quat_exp(cri_v3_scale(tau, a->w)));
        cri_vec3 at = cri_m3_mul(&turn, r);
        double d = shift + cri_v3_dot(n, cri_v3_mad(at, tau, a->v));
        double room = d - keep * start;
        if (!(start > 0.0) || room < slack * start) {
            break;
        }
        double down = -cri_v3_dot(n, cri_v3_add(a->v, cri_v3_cross(a->w, at)));
        tau += time_to(room, down, k);
        if (tau >= limit) {
            return limit;
        }
    }
    return start > 0.0 ? fmin(limit, tau) : 0.0;
}

double cri_step_limit_half(const cri_moving_mesh *a, cri_vec3 n, double offset, double keep,
                           double most) {
    CR_ASSERT(keep > 0.0 && keep < 1.0);
    const cri_sphere_tree *tree = a->tree;
    double limit = most, turn = cri_v3_norm(a->w);
    double height = cri_v3_dot(n, a->pose.pos) - offset;
    for (int i = 0; i < tree->start[1]; i++) {
        // members of the root: all vertices of triangles
        cri_vec3 local = cri_v3_load(a->vertex + 3 * (size_t)tree->member[i]);
        cri_vec3 r = cri_m3_mul(&a->pose.R, local);
        double h = height + cri_v3_dot(n, r);
        double sink = turn * cri_v3_norm(r) - fmin(0.0, cri_v3_dot(n, a->v));
        if ((1.0 - keep - slack) * h <= limit * sink) {
            limit = limit_vertex(a, r, n, h, keep, limit);
        }
    }
    return limit;
}
