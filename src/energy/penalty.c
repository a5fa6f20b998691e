// SPDX-License-Identifier: MIT
//
// The first row of Table 1 of paper 002, penalties with a force that does not vanish. The paper
// names two and gives no formula; this is the simplest energy of the kind. With s the signed
// distance of a corner from the other mesh, below zero inside,
//
//   E = sum over the corners of both meshes of f(s)
//   f' = -h,   h = (r - s)/2,   r = sqrt(s^2 + ell^2),   f'' = h/r
//   f  = -s h/2 - (ell^2/4) asinh(s/ell)
//
// h is the depth where a corner is deep, ell^2/(4 s) where it is far, and h (h + s) = ell^2/4
// everywhere: a spring on the depth, with complementarity relaxed. f is finite (no barrier), falls
// without end (a force at any distance) and is convex in s; s itself has kinks where the closest
// piece changes. Edges that cross between corners are not felt, as with all sampled points.
//
// Sign: at a face that of its normal; at an edge or a corner outside, unless the winding number
// says inside (van Oosterom, Strackee 1983). On an edge itself the normal is that of one triangle.

#include "energy/penalty.h"

#include "energy/barrier.h"
#include "energy/longrange.h"

#include <string.h>

enum { MAX_WAIT = 160 };

void cri_penalty_of(double ell, double s, double value[3]) {
    double r = sqrt(s * s + ell * ell);
    double h = s > 0.0 ? 0.5 * ell * ell / (r + s) : 0.5 * (r - s);
    value[0] = -0.5 * s * h - 0.25 * ell * ell * asinh(s / ell);
    value[1] = -h;
    value[2] = h / r;
}

static cri_vec3 corner_at(const cri_longrange_body *body, int triangle, int k) {
    return cri_v3_load(body->r + 3 * (size_t)body->tree->triangle[3 * (size_t)triangle + k]);
}

/// The triangle nearest to x, which is from the body's position, with its distance.
static int nearest(const cri_longrange_body *body, cri_vec3 x, cri_feature_distance *best) {
    const cri_sphere_tree *tree = body->tree;
    int wait[MAX_WAIT] = {0}, n_wait = 1, found = 0;
    *best = (cri_feature_distance){.distance = INFINITY};
    while (n_wait > 0) {
        int i = wait[--n_wait];
        double L = cri_v3_norm(cri_v3_sub(x, cri_v3_load(body->node[i].r)));
        if (L - body->node[i].radius > best->distance) {
            continue;
        }
        if (tree->right[i]) {
            CR_ASSERT(n_wait + 2 <= MAX_WAIT);
            wait[n_wait++] = tree->right[i];
            wait[n_wait++] = i + 1;
            continue;
        }
        int t = tree->leaf[i];
        const cri_vec3 at[4] = {x, corner_at(body, t, 0), corner_at(body, t, 1),
                                corner_at(body, t, 2)};
        cri_feature_distance f = cri_point_triangle_distance(at);
        if (f.distance < best->distance) {
            *best = f;
            found = t;
        }
    }
    return found;
}

/// How often the mesh winds about x: 1 inside, 0 outside.
static double winding(const cri_longrange_body *body, cri_vec3 x) {
    double sum = 0.0;
    if (cri_v3_norm(cri_v3_sub(x, cri_v3_load(body->node[0].r))) > body->node[0].radius) {
        return 0.0;
    }
    for (int t = 0; t < body->tree->n_triangle; t++) {
        cri_vec3 a = cri_v3_sub(corner_at(body, t, 0), x), b = cri_v3_sub(corner_at(body, t, 1), x);
        cri_vec3 c = cri_v3_sub(corner_at(body, t, 2), x);
        double A = cri_v3_norm(a), B = cri_v3_norm(b), C = cri_v3_norm(c);
        double below =
            A * B * C + cri_v3_dot(a, b) * C + cri_v3_dot(b, c) * A + cri_v3_dot(c, a) * B;
        sum += atan2(cri_v3_dot(a, cri_v3_cross(b, c)), below);
    }
    return sum / 6.283185307179586;
}

/// Gives distance and normal their signs: the normal points out of the body.
static void sign_distance(const cri_longrange_body *body, int t, cri_vec3 x,
                          cri_feature_distance *f) {
    cri_vec3 o = corner_at(body, t, 0), e1 = cri_v3_sub(corner_at(body, t, 1), o);
    cri_vec3 area = cri_v3_cross(e1, cri_v3_sub(corner_at(body, t, 2), o));
    cri_vec3 n = cri_v3_scale(1.0 / cri_v3_norm(area), area);
    if (f->n_free == 2) {
        f->distance = cri_v3_dot(n, cri_v3_sub(x, o));
        f->n = n;
    } else if (!(f->distance > 0.0)) {
        f->n = n; // no curvature at a point of an edge: as a face that does not turn
        f->n_free = 2;
        memset(f->dw, 0, sizeof f->dw);
        memset(f->inverse, 0, sizeof f->inverse);
    } else if (winding(body, x) > 0.5) {
        f->distance = -f->distance;
        f->n = cri_v3_scale(-1.0, f->n);
    }
}

/// Corners of one side against the mesh of the other.
static void add_corners(double ell, const cri_longrange_body *const body[2], int side,
                        cri_longrange_order order, cri_longrange_result *out) {
    cri_vec3 between = cri_v3_sub(body[0]->pose.pos, body[1]->pose.pos);
    for (int v = 0; v < body[side]->tree->n_vertex; v++) {
        cri_barrier_term term = {.side = {side, !side, !side, !side}};
        cri_feature_distance f;
        double b[3];
        term.r[0] = cri_v3_load(body[side]->r + 3 * (size_t)v);
        cri_vec3 x = cri_v3_mad(term.r[0], side ? -1.0 : 1.0, between);
        int t = nearest(body[!side], x, &f);
        sign_distance(body[!side], t, x, &f);
        for (int k = 0; k < 3; k++) {
            term.r[1 + k] = corner_at(body[!side], t, k);
        }
        cri_penalty_of(ell, f.distance, b);
        cri_barrier_term_set(b, &f, &term);
        cri_barrier_term_add(&term, order, out);
        out->gap = fmin(out->gap, f.distance);
    }
}

void cri_penalty_pair(double ell, const cri_longrange_body *a, const cri_longrange_body *b,
                      cri_longrange_order order, cri_longrange_result *out) {
    const cri_longrange_body *const body[2] = {a, b};
    CR_ASSERT(ell > 0.0);
    memset(out, 0, sizeof *out);
    out->gap = INFINITY;
    add_corners(ell, body, 0, order, out);
    add_corners(ell, body, 1, order, out);
    cri_longrange_charts(&out->affine, out->g);
}
