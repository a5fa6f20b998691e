// SPDX-License-Identifier: MIT
//
// Closest points are on two edges, or a corner and a face: all fifteen combinations are looked at.
// Edges p + s d, q + t e with s, t in [0, 1]: the unconstrained optimum, clamped, and the four
// ends, which are right where edges are parallel and the optimum is lost to rounding.
//
// Axes: triangles apart are separated by the normal of a face, by the product of two edges or, in
// one plane, by the normal of an edge within it (separating axis theorem). Close to touching these
// are accurate where the difference of closest points, short itself, is not.

#include "geometry/mesh/triangle_pair.h"

/// Keeps the nearer pair.
static void offer(cri_triangle_gap *best, cri_vec3 a, cri_vec3 b) {
    cri_vec3 d = cri_v3_sub(a, b);
    double d2 = cri_v3_dot(d, d);
    if (d2 < best->distance) {
        *best = (cri_triangle_gap){a, b, d2};
    }
}

/// num / den within [0, 1]; 0 when den is not positive
static double clamp_ratio(double num, double den) {
    if (!(den > 0.0) || num <= 0.0) {
        return 0.0;
    }
    return num >= den ? 1.0 : num / den;
}

static void edges(cri_triangle_gap *best, const cri_vec3 x[2], const cri_vec3 y[2]) {
    cri_vec3 d = cri_v3_sub(x[1], x[0]);
    cri_vec3 e = cri_v3_sub(y[1], y[0]);
    cri_vec3 r = cri_v3_sub(x[0], y[0]);
    double dd = cri_v3_dot(d, d), ee = cri_v3_dot(e, e), de = cri_v3_dot(d, e);
    double dr = cri_v3_dot(d, r), er = cri_v3_dot(e, r);
    double det = dd * ee - de * de;

    // inner optimum; edges parallel to rounding have their optimum at an end as well
    if (det > 1e-14 * dd * ee) {
        double s = clamp_ratio(de * er - dr * ee, det);
        double t = clamp_ratio(de * s + er, ee);
        s = clamp_ratio(de * t - dr, dd);
        offer(best, cri_v3_mad(x[0], s, d), cri_v3_mad(y[0], t, e));
    }
    offer(best, x[0], cri_v3_mad(y[0], clamp_ratio(er, ee), e));
    offer(best, x[1], cri_v3_mad(y[0], clamp_ratio(de + er, ee), e));
    offer(best, cri_v3_mad(x[0], clamp_ratio(-dr, dd), d), y[0]);
    offer(best, cri_v3_mad(x[0], clamp_ratio(de - dr, dd), d), y[1]);
}

/// The foot of p on the plane of t, if it lies in the triangle.
static bool foot_on_face(cri_vec3 p, const cri_vec3 t[3], cri_vec3 *foot) {
    cri_vec3 e1 = cri_v3_sub(t[1], t[0]);
    cri_vec3 e2 = cri_v3_sub(t[2], t[0]);
    cri_vec3 r = cri_v3_sub(p, t[0]);
    double g11 = cri_v3_dot(e1, e1), g12 = cri_v3_dot(e1, e2), g22 = cri_v3_dot(e2, e2);
    double r1 = cri_v3_dot(e1, r), r2 = cri_v3_dot(e2, r);
    double det = g11 * g22 - g12 * g12;

    // a needle: its edges have the answer
    if (!(det > 1e-24 * g11 * g22)) {
        return false;
    }
    double u = (g22 * r1 - g12 * r2) / det;
    double v = (g11 * r2 - g12 * r1) / det;
    *foot = cri_v3_mad(cri_v3_mad(t[0], u, e1), v, e2);
    return u >= 0.0 && v >= 0.0 && u + v <= 1.0;
}

cri_triangle_gap cri_triangle_closest(const cri_vec3 x[3], const cri_vec3 y[3]) {
    cri_triangle_gap best = {x[0], y[0], INFINITY};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            edges(&best, (cri_vec3[]){x[i], x[(i + 1) % 3]}, (cri_vec3[]){y[j], y[(j + 1) % 3]});
        }
    }
    for (int k = 0; k < 3; k++) {
        cri_vec3 foot;
        if (foot_on_face(x[k], y, &foot)) {
            offer(&best, x[k], foot);
        }
        if (foot_on_face(y[k], x, &foot)) {
            offer(&best, foot, y[k]);
        }
    }
    best.distance = sqrt(best.distance);
    return best;
}

double cri_triangle_width(const cri_vec3 x[3], const cri_vec3 y[3], cri_vec3 n) {
    // about one corner, so that heights are as small as the triangles
    double low = INFINITY, high = 0.0;
    for (int k = 0; k < 3; k++) {
        low = fmin(low, cri_v3_dot(n, cri_v3_sub(x[k], y[0])));
        high = fmax(high, cri_v3_dot(n, cri_v3_sub(y[k], y[0])));
    }
    return low - high;
}

// how far the boxes of two triangles are apart along one axis
static double between_boxes(double x0, double x1, double x2, double y0, double y1, double y2) {
    double over = cri_smaller(x0, cri_smaller(x1, x2)) - cri_larger(y0, cri_larger(y1, y2));
    double under = cri_smaller(y0, cri_smaller(y1, y2)) - cri_larger(x0, cri_larger(x1, x2));
    return cri_larger(over, under);
}

// y is on one side of the plane of x, farther than reach
static bool is_beyond_plane(const cri_vec3 x[3], const cri_vec3 y[3], double reach) {
    cri_vec3 n = cri_v3_cross(cri_v3_sub(x[1], x[0]), cri_v3_sub(x[2], x[0]));
    double room = reach * cri_v3_norm(n);
    double h0 = cri_v3_dot(n, cri_v3_sub(y[0], x[0]));
    double h1 = cri_v3_dot(n, cri_v3_sub(y[1], x[0]));
    double h2 = cri_v3_dot(n, cri_v3_sub(y[2], x[0]));
    return cri_smaller(h0, cri_smaller(h1, h2)) > room ||
           cri_larger(h0, cri_larger(h1, h2)) < -room;
}

bool cri_triangle_far(const cri_vec3 x[3], const cri_vec3 y[3], double reach) {
    return between_boxes(x[0].x, x[1].x, x[2].x, y[0].x, y[1].x, y[2].x) > reach ||
           between_boxes(x[0].y, x[1].y, x[2].y, y[0].y, y[1].y, y[2].y) > reach ||
           between_boxes(x[0].z, x[1].z, x[2].z, y[0].z, y[1].z, y[2].z) > reach ||
           is_beyond_plane(x, y, reach) || is_beyond_plane(y, x, reach);
}

typedef struct axis_search {
    const cri_vec3 *x, *y;
    cri_vec3 n;
    double width;
} axis_search;

/// Looks along an axis, both ways.
static void look_along(axis_search *best, cri_vec3 axis) {
    double length = cri_v3_norm(axis);
    if (!(length > 0.0)) {
        return;
    }
    for (int sign = -1; sign <= 1; sign += 2) {
        cri_vec3 n = cri_v3_scale(sign / length, axis);
        double width = cri_triangle_width(best->x, best->y, n);
        if (width > best->width) {
            best->width = width;
            best->n = n;
        }
    }
}

double cri_triangle_axis(const cri_vec3 x[3], const cri_vec3 y[3], cri_vec3 *n) {
    axis_search best = {x, y, cri_v3(0, 0, 1), -INFINITY};
    cri_vec3 ex[3], ey[3];
    for (int i = 0; i < 3; i++) {
        ex[i] = cri_v3_sub(x[(i + 1) % 3], x[i]);
        ey[i] = cri_v3_sub(y[(i + 1) % 3], y[i]);
    }
    cri_vec3 fx = cri_v3_cross(ex[0], ex[1]);
    cri_vec3 fy = cri_v3_cross(ey[0], ey[1]);
    look_along(&best, fx);
    look_along(&best, fy);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            look_along(&best, cri_v3_cross(ex[i], ey[j]));
        }
        look_along(&best, cri_v3_cross(fx, ex[i]));
        look_along(&best, cri_v3_cross(fy, ey[i]));
    }
    *n = best.n;
    return best.width;
}
