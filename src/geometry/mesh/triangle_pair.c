// SPDX-License-Identifier: MIT
//
// Two triangles: closest points, an axis that separates them, and whether they meet.
//
// Closest points are on two edges, or a corner and a face: all fifteen combinations are looked at.
// Edges p + s d, q + t e with s, t in [0, 1]: the unconstrained optimum, clamped, and the four
// ends, which are right where edges are parallel and the optimum is lost to rounding.
//
// Axes: triangles apart are separated by the normal of a face, by the product of two edges or, in
// one plane, by the normal of an edge within it (separating axis theorem). Close to touching these
// are accurate where the difference of closest points, short itself, is not.

#include "geometry/mesh/triangle_pair.h"

#include "base/math/orient.h"
#include "geometry/mesh/step_limit.h"

#include <string.h>

typedef struct axis_search {
    const cri_vec3 *x, *y;
    cri_vec3 n;
    double width;
} axis_search;

enum { MAX_WAIT = 160 };

typedef double point[3]; // integers

// ---- distance -----------------------------------------------------------------------------------

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

// ---- common points, without rounding ------------------------------------------------------------

// Triangles meet when an edge of one meets the other. For an edge p q and a triangle t:
//
//   p and q strictly on one side of t's plane: no
//   on different sides, or one on it: yes if the line p q passes t's three edges on one side
//   both on it: yes if p q meets an edge of t, or p lies within t
//
// Segments in one plane are looked at along an axis that does not flatten it. All sides are signs
// of determinants of integers (cri_orient).

/// Side of c from the line a b, seen along an axis.
static int side_2d(const point a, const point b, const point c, int axis) {
    int u = (axis + 1) % 3, v = (axis + 2) % 3;
    // with the fourth point right below c the determinant is that of the plane
    const point A = {a[u], a[v], 0}, B = {b[u], b[v], 0}, C = {c[u], c[v], 0};
    const point below = {c[u], c[v], -1};
    return cri_orient(A, B, C, below);
}

/// Segments on one line.
static bool overlap_1d(const point p, const point q, const point a, const point b) {
    for (int k = 0; k < 3; k++) {
        double low = fmin(p[k], q[k]), high = fmax(p[k], q[k]);
        if (fmax(a[k], b[k]) < low || fmin(a[k], b[k]) > high) {
            return false;
        }
    }
    return true;
}

/// Segments p q and a b anywhere in space.
static bool segments_meet(const point p, const point q, const point a, const point b) {
    if (cri_orient(p, q, a, b) != 0) {
        return false;
    }
    for (int axis = 0; axis < 3; axis++) {
        int sa = side_2d(p, q, a, axis), sb = side_2d(p, q, b, axis);
        int sp = side_2d(a, b, p, axis), sq = side_2d(a, b, q, axis);
        if (sa || sb || sp || sq) {
            return sa * sb <= 0 && sp * sq <= 0;
        }
    }
    return overlap_1d(p, q, a, b);
}

/// p lies within t, both in one plane. A needle has no inside.
static bool is_inside(const point p, const point t[3]) {
    for (int axis = 0; axis < 3; axis++) {
        int turn = side_2d(t[0], t[1], t[2], axis);
        if (turn != 0) {
            return turn * side_2d(t[0], t[1], p, axis) >= 0 &&
                   turn * side_2d(t[1], t[2], p, axis) >= 0 &&
                   turn * side_2d(t[2], t[0], p, axis) >= 0;
        }
    }
    return false;
}

static bool segment_meets(const point p, const point q, const point t[3]) {
    int sp = cri_orient(t[0], t[1], t[2], p), sq = cri_orient(t[0], t[1], t[2], q);
    if (sp * sq > 0) {
        return false;
    }
    if (sp == 0 && sq == 0) {
        return segments_meet(p, q, t[0], t[1]) || segments_meet(p, q, t[1], t[2]) ||
               segments_meet(p, q, t[2], t[0]) || is_inside(p, t);
    }
    int s0 = cri_orient(p, q, t[0], t[1]), s1 = cri_orient(p, q, t[1], t[2]);
    int s2 = cri_orient(p, q, t[2], t[0]);
    return (s0 >= 0 && s1 >= 0 && s2 >= 0) || (s0 <= 0 && s1 <= 0 && s2 <= 0);
}

/// Coordinates as integers, about the middle of the pair's box.
static void round_pair(const cri_vec3 x[3], const cri_vec3 y[3], point out[6]) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int k = 0; k < 6; k++) {
        cri_v3_store(k < 3 ? x[k] : y[k - 3], out[k]);
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], out[k][i]);
            high[i] = fmax(high[i], out[k][i]);
        }
    }
    double size = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    int exponent = 0;
    (void)frexp(size, &exponent);
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < 3; i++) {
            out[k][i] = nearbyint(ldexp(out[k][i] - low[i], 49 - exponent));
        }
    }
}

bool cri_triangles_meet(const cri_vec3 x[3], const cri_vec3 y[3]) {
    point p[6];
    round_pair(x, y, p);
    for (int k = 0; k < 3; k++) {
        const int next = (k + 1) % 3;
        if (segment_meets(p[k], p[next], (const point *)(p + 3)) ||
            segment_meets(p[k + 3], p[next + 3], (const point *)p)) {
            return true;
        }
    }
    return false;
}

// ---- meshes ------------------------------------------------------------------------------------

/// A point of a mesh in the world, less the position of another.
static cri_vec3 seen_from(const cri_moving_mesh *mesh, const double *local, cri_vec3 origin) {
    cri_vec3 r = cri_m3_mul(&mesh->pose.R, cri_v3_load(local));
    return cri_v3_add(cri_v3_sub(mesh->pose.pos, origin), r);
}

static void corners_of(const cri_moving_mesh *mesh, int leaf, cri_vec3 origin, cri_vec3 x[3]) {
    const int *t = mesh->tree->triangle + 3 * (size_t)mesh->tree->leaf[leaf];
    for (int k = 0; k < 3; k++) {
        x[k] = seen_from(mesh, mesh->vertex + 3 * (size_t)t[k], origin);
    }
}

static bool spheres_meet(const cri_moving_mesh *a, int i, const cri_moving_mesh *b, int j) {
    cri_vec3 origin = b->pose.pos;
    cri_vec3 ca = seen_from(a, a->tree->centre + 3 * (size_t)i, origin);
    cri_vec3 cb = seen_from(b, b->tree->centre + 3 * (size_t)j, origin);
    // rounding of centres and radii is far below a part in 10^12
    double reach = (1.0 + 1e-12) * (a->tree->radius[i] + b->tree->radius[j]);
    return cri_v3_norm(cri_v3_sub(ca, cb)) <= reach;
}

bool cri_meshes_meet(const cri_moving_mesh *a, const cri_moving_mesh *b, int pair[2]) {
    int wait[MAX_WAIT][2] = {{0, 0}}, n_wait = 1;
    while (n_wait > 0) {
        int i = wait[--n_wait][0], j = wait[n_wait][1];
        int ra = a->tree->right[i], rb = b->tree->right[j];
        if (!spheres_meet(a, i, b, j)) {
            continue;
        }
        if (!ra && !rb) {
            cri_vec3 x[3], y[3];
            corners_of(a, i, b->pose.pos, x);
            corners_of(b, j, b->pose.pos, y);
            if (cri_triangles_meet(x, y)) {
                if (pair) {
                    pair[0] = a->tree->leaf[i];
                    pair[1] = b->tree->leaf[j];
                }
                return true;
            }
            continue;
        }
        CR_ASSERT(n_wait + 2 <= MAX_WAIT);
        n_wait = cri_push_children(a->tree, i, b->tree, j, wait, n_wait);
    }
    return false;
}

// solid angle of a triangle seen from the origin, positive from inside (van Oosterom and Strackee
// 1983): tan(angle/2) = [x y z]/(|x||y||z| + x.y |z| + y.z |x| + z.x |y|)
static double solid_angle(const cri_vec3 x[3]) {
    double n[3] = {cri_v3_norm(x[0]), cri_v3_norm(x[1]), cri_v3_norm(x[2])};
    double volume = cri_v3_dot(x[0], cri_v3_cross(x[1], x[2]));
    double sum = n[0] * n[1] * n[2] + cri_v3_dot(x[0], x[1]) * n[2] +
                 cri_v3_dot(x[1], x[2]) * n[0] + cri_v3_dot(x[2], x[0]) * n[1];
    return 2.0 * atan2(volume, sum);
}

bool cri_mesh_holds(const cri_moving_mesh *a, const cri_moving_mesh *b) {
    cri_vec3 at = seen_from(b, b->vertex + 3 * (size_t)b->tree->triangle[0], a->pose.pos);
    cri_vec3 centre = seen_from(a, a->tree->centre, a->pose.pos);
    if (cri_v3_norm(cri_v3_sub(at, centre)) > a->tree->radius[0]) {
        return false;
    }
    double sum = 0.0;
    for (int i = 0; i < a->tree->n_triangle; i++) {
        const int *t = a->tree->triangle + 3 * (size_t)i;
        cri_vec3 x[3];
        for (int k = 0; k < 3; k++) {
            cri_vec3 corner = seen_from(a, a->vertex + 3 * (size_t)t[k], a->pose.pos);
            x[k] = cri_v3_sub(corner, at);
        }
        sum += solid_angle(x);
    }
    return sum > 6.283185307179586; // half of the whole, which it is inside; 0 outside
}
