// SPDX-License-Identifier: MIT
//
// Convex bodies for the brute-force distance: supports and projections in closed form.
//
// Ellipsoid: the nearest point to y outside is x_i = a_i^2 y_i / (a_i^2 + t) with t > 0 from
//   F(t) = sum (a_i y_i / (a_i^2 + t))^2 - 1 = 0,
// a convex and decreasing function: Newton's method from t = 0 rises to the root without passing
// it.

#include "brute_body.h"

#include <math.h>
#include <stdlib.h>

static cri_vec3 to_world(const cri_pose *pose, cri_vec3 p) {
    return cri_v3_add(pose->pos, cri_m3_mul(&pose->R, p));
}

static cri_vec3 to_local(const cri_pose *pose, cri_vec3 p) {
    return cri_m3_tmul(&pose->R, cri_v3_sub(p, pose->pos));
}

// ---- making ------------------------------------------------------------------------------------

static void add_edge(brute_body *b, int i, int j) {
    for (int k = 0; k < b->n_edge; k++) {
        bool is_same = b->edge[k][0] == i && b->edge[k][1] == j;
        if (is_same || (b->edge[k][0] == j && b->edge[k][1] == i)) {
            return;
        }
    }
    if (b->n_edge == BRUTE_MAX_EDGE) {
        abort();
    }
    b->edge[b->n_edge][0] = i;
    b->edge[b->n_edge++][1] = j;
}

static double largest_extent(const brute_body *b) {
    double most = 0.0;
    for (int i = 1; i < b->n_vertex; i++) {
        most = fmax(most, cri_v3_norm(cri_v3_sub(b->vertex[i], b->vertex[0])));
    }
    return most;
}

// +1 or -1: side of the plane on which no corner is, 0 when there are some on both
static int free_side(const brute_body *b, cri_vec3 n, cri_vec3 p, double tolerance) {
    double lower = 0.0;
    double upper = 0.0;
    for (int i = 0; i < b->n_vertex; i++) {
        double d = cri_v3_dot(n, cri_v3_sub(b->vertex[i], p));
        lower = fmin(lower, d);
        upper = fmax(upper, d);
    }
    return upper <= tolerance ? 1 : lower >= -tolerance ? -1 : 0;
}

static void try_triangle(brute_body *b, int i, int j, int k, double size) {
    cri_vec3 u = cri_v3_sub(b->vertex[j], b->vertex[i]);
    cri_vec3 v = cri_v3_sub(b->vertex[k], b->vertex[i]);
    cri_vec3 n = cri_v3_cross(u, v);
    double area = cri_v3_norm(n);
    // a sliver has no normal to speak of; its corners have other triangles
    if (area < 1e-9 * size * size) {
        return;
    }
    n = cri_v3_scale(1.0 / area, n);
    // corners of a face with more than three are off its plane by rounding
    int side = free_side(b, n, b->vertex[i], 1e-12 * size);
    if (side == 0) {
        return;
    }
    if (b->n_triangle == BRUTE_MAX_TRIANGLE) {
        abort();
    }
    b->normal[b->n_triangle] = cri_v3_scale(side, n);
    int *corner = b->triangle[b->n_triangle++];
    corner[0] = i;
    corner[1] = j;
    corner[2] = k;
    add_edge(b, i, j);
    add_edge(b, j, k);
    add_edge(b, k, i);
}

static void find_faces(brute_body *b) {
    double size = largest_extent(b);
    for (int i = 0; i < b->n_vertex; i++) {
        for (int j = i + 1; j < b->n_vertex; j++) {
            for (int k = j + 1; k < b->n_vertex; k++) {
                try_triangle(b, i, j, k, size);
            }
        }
    }
}

static void add_vertex(brute_body *b, cri_vec3 local) {
    if (b->n_vertex == BRUTE_MAX_VERTEX) {
        abort();
    }
    b->vertex[b->n_vertex++] = to_world(&b->pose, local);
}

static void make_box(brute_body *b) {
    for (int i = 0; i < 8; i++) {
        add_vertex(b, cri_v3(i & 1 ? b->size[0] : -b->size[0], i & 2 ? b->size[1] : -b->size[1],
                             i & 4 ? b->size[2] : -b->size[2]));
    }
    find_faces(b);
}

static void make_hull(brute_body *b, const cri_hull *hull) {
    for (int i = 0; i < hull->n_vertex; i++) {
        add_vertex(b, cri_v3_load(hull->vertex + 3 * (size_t)i));
    }
    find_faces(b);
}

void brute_body_of(const cri_shape *shape, const cri_pose *pose, brute_body *out) {
    out->kind = BRUTE_POLYTOPE;
    out->radius = 0.0;
    out->pose = *pose;
    out->n_vertex = out->n_triangle = out->n_edge = 0;
    for (int i = 0; i < 3 && shape->size; i++) {
        out->size[i] = shape->size[i];
    }
    switch (shape->kind) {
    case CRI_SHAPE_PLANE:
    case CRI_SHAPE_FIELD:
        abort();
    case CRI_SHAPE_SPHERE:
        out->radius = out->size[0];
        add_vertex(out, cri_v3(0, 0, 0));
        add_edge(out, 0, 0);
        break;
    case CRI_SHAPE_CAPSULE:
        out->radius = out->size[0];
        add_vertex(out, cri_v3(0, 0, -out->size[1]));
        add_vertex(out, cri_v3(0, 0, out->size[1]));
        add_edge(out, 0, 1);
        break;
    case CRI_SHAPE_ELLIPSOID:
        out->kind = BRUTE_ELLIPSOID;
        break;
    case CRI_SHAPE_CYLINDER:
        out->kind = BRUTE_CYLINDER;
        break;
    case CRI_SHAPE_BOX:
        make_box(out);
        break;
    case CRI_SHAPE_MESH:
        make_hull(out, shape->hull);
        break;
    }
}

// ---- supports ----------------------------------------------------------------------------------

static cri_vec3 support_curved(const brute_body *b, cri_vec3 n) {
    cri_vec3 d = cri_m3_tmul(&b->pose.R, n);
    const double *a = b->size;
    cri_vec3 p;
    if (b->kind == BRUTE_CYLINDER) {
        double r = hypot(d.x, d.y);
        double scale = r > 0.0 ? a[0] / r : 0.0;
        p = cri_v3(scale * d.x, scale * d.y, d.z >= 0.0 ? a[1] : -a[1]);
    } else {
        cri_vec3 scaled = cri_v3(a[0] * d.x, a[1] * d.y, a[2] * d.z);
        double length = cri_v3_norm(scaled);
        p = cri_v3(a[0] * scaled.x / length, a[1] * scaled.y / length, a[2] * scaled.z / length);
    }
    return to_world(&b->pose, p);
}

cri_vec3 brute_support(const brute_body *b, cri_vec3 n) {
    if (b->kind != BRUTE_POLYTOPE) {
        return support_curved(b, n);
    }
    int best = 0;
    double most = -INFINITY;
    for (int i = 0; i < b->n_vertex; i++) {
        double d = cri_v3_dot(n, b->vertex[i]);
        if (d > most) {
            most = d;
            best = i;
        }
    }
    return b->vertex[best];
}

// ---- projections -------------------------------------------------------------------------------

static double clamp(double a, double lower, double upper) {
    return fmin(fmax(a, lower), upper);
}

static cri_vec3 project_cylinder(const brute_body *b, cri_vec3 y) {
    double r = hypot(y.x, y.y);
    double scale = r > b->size[0] ? b->size[0] / r : 1.0;
    return cri_v3(scale * y.x, scale * y.y, clamp(y.z, -b->size[1], b->size[1]));
}

static cri_vec3 project_ellipsoid(const brute_body *b, cri_vec3 y) {
    const double a2[3] = {b->size[0] * b->size[0], b->size[1] * b->size[1],
                          b->size[2] * b->size[2]};
    const double y2[3] = {y.x * y.x, y.y * y.y, y.z * y.z};
    double t = 0.0;
    for (int k = 0; k < 200; k++) {
        double f = -1.0;
        double slope = 0.0;
        for (int i = 0; i < 3; i++) {
            double term = a2[i] * y2[i] / ((a2[i] + t) * (a2[i] + t));
            f += term;
            slope -= 2.0 * term / (a2[i] + t);
        }
        // inside at the start, or at the root up to rounding
        if (f <= 0.0 || t - f / slope <= t) {
            break;
        }
        t -= f / slope;
    }
    return cri_v3(a2[0] * y.x / (a2[0] + t), a2[1] * y.y / (a2[1] + t), a2[2] * y.z / (a2[2] + t));
}

// the foot of p on a triangle's plane; false when it lies outside
static bool project_triangle(const brute_body *b, int k, cri_vec3 p, cri_vec3 *foot) {
    cri_vec3 n = b->normal[k];
    const int *c = b->triangle[k];
    cri_vec3 q = cri_v3_mad(p, -cri_v3_dot(n, cri_v3_sub(p, b->vertex[c[0]])), n);
    double sign = 0.0;
    for (int i = 0; i < 3; i++) {
        cri_vec3 from = b->vertex[c[i]];
        cri_vec3 side = cri_v3_sub(b->vertex[c[(i + 1) % 3]], from);
        double turn = cri_v3_dot(n, cri_v3_cross(side, cri_v3_sub(q, from)));
        if (turn * sign < 0.0) {
            return false;
        }
        sign = turn != 0.0 ? turn : sign;
    }
    *foot = q;
    return true;
}

void brute_segments(const cri_vec3 a[2], const cri_vec3 b[2], cri_vec3 point[2]) {
    cri_vec3 u = cri_v3_sub(a[1], a[0]);
    cri_vec3 v = cri_v3_sub(b[1], b[0]);
    double least = INFINITY;
    // the lines' nearest points, if they lie on the segments; else an end against the other segment
    for (int k = 0; k < 5; k++) {
        double s = k & 1;
        double t = k & 1;
        cri_vec3 w = cri_v3_sub(b[0], a[0]);
        double uu = cri_v3_dot(u, u);
        double vv = cri_v3_dot(v, v);
        double uv = cri_v3_dot(u, v);
        double wu = cri_v3_dot(w, u);
        double wv = cri_v3_dot(w, v);
        if (k < 2) {
            t = vv > 0.0 ? clamp((s * uv - wv) / vv, 0.0, 1.0) : 0.0;
        } else if (k < 4) {
            s = uu > 0.0 ? clamp((t * uv + wu) / uu, 0.0, 1.0) : 0.0;
        } else {
            double det = uu * vv - uv * uv;
            s = det > 0.0 ? (wu * vv - wv * uv) / det : -1.0;
            t = vv > 0.0 ? (s * uv - wv) / vv : -1.0;
            if (!(s >= 0.0 && s <= 1.0 && t >= 0.0 && t <= 1.0)) {
                continue;
            }
        }
        cri_vec3 p = cri_v3_mad(a[0], s, u);
        cri_vec3 q = cri_v3_mad(b[0], t, v);
        double d = cri_v3_norm(cri_v3_sub(q, p));
        if (d < least) {
            least = d;
            point[0] = p;
            point[1] = q;
        }
    }
}

static bool is_inside(const brute_body *b, cri_vec3 p) {
    for (int k = 0; k < b->n_triangle; k++) {
        if (cri_v3_dot(b->normal[k], cri_v3_sub(p, b->vertex[b->triangle[k][0]])) > 0.0) {
            return false;
        }
    }
    return b->n_triangle > 0;
}

static cri_vec3 project_polytope(const brute_body *b, cri_vec3 p) {
    if (is_inside(b, p)) {
        return p;
    }
    cri_vec3 best = b->vertex[0];
    double least = INFINITY;
    for (int k = 0; k < b->n_triangle + b->n_edge; k++) {
        cri_vec3 pair[2] = {p, p};
        if (k < b->n_triangle) {
            if (!project_triangle(b, k, p, &pair[1])) {
                continue;
            }
        } else {
            const int *e = b->edge[k - b->n_triangle];
            brute_segments((cri_vec3[2]){p, p}, (cri_vec3[2]){b->vertex[e[0]], b->vertex[e[1]]},
                           pair);
        }
        double d = cri_v3_norm(cri_v3_sub(pair[1], p));
        if (d < least) {
            least = d;
            best = pair[1];
        }
    }
    return best;
}

cri_vec3 brute_project(const brute_body *b, cri_vec3 p) {
    if (b->kind == BRUTE_POLYTOPE) {
        return project_polytope(b, p);
    }
    cri_vec3 y = to_local(&b->pose, p);
    return to_world(&b->pose,
                    b->kind == BRUTE_CYLINDER ? project_cylinder(b, y) : project_ellipsoid(b, y));
}
