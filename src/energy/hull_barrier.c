// SPDX-License-Identifier: MIT
//
// P = min over n in R^3, |n| < 1, and d of b(1 - |n|) + sum_k b(s_k),  s_k = sigma_k (n . x_k + d)
//
// with sigma = +1 for the vertices of the first body and -1 for those of the second (convex).
// With A the 4 x 4 matrix of second derivatives in p = (n, d) at the minimum, z_k = (x_k, 1):
//
//   A = [b'' u u' - (b'/|n|)(I - u u'), 0; 0, 0] + sum b''(s_k) z_k z_k',  u = n/|n|, b at 1 - |n|
//   gradient in x_k: sigma_k b'(s_k) n,    B_k = sigma_k b'(s_k) [I 0] + b''(s_k) n z_k'
//   Hess = blockdiag(b''(s_k) n n') - B A^-1 B'       (implicit function theorem)
//
// Zero as soon as a plane with |n| = 1 - reach has all s_k >= reach, that is when the hulls are
// 2 reach/(1 - reach) apart. The normal of the closest points is the one that shows it.

#include "energy/hull_barrier.h"

#include "base/math/dense_factor.h"
#include "energy/longrange_parts.h"
#include "geometry/mesh/triangle_pair.h"

#include <string.h>

enum { MAX_WAIT = 160, MAX_STEP = 200 };

typedef struct hull_walk {
    double reach;
    const cri_longrange_body *body[2];
    cri_vec3 shift[2]; // of each body's vertices: the origin is in the middle of the closest points
    double p[4];       // n, d
} hull_walk;

void cri_hull_barrier_of(double reach, double x, double b[3]) {
    memset(b, 0, 3 * sizeof *b);
    double y = x - reach;
    if (y < 0.0) {
        double l = log(x / reach), q = y / x;
        // b = -(y q) l, with (y q)' = q (2 - q), l' = 1/x
        double slope = q * (2.0 - q), bend = 2.0 * (1.0 - q) * (1.0 - q) / x;
        b[0] = -y * q * l;
        b[1] = -slope * l - q * q;
        b[2] = -bend * l - 2.0 * slope / x + q * q / x;
    }
}

// ---- the inner problem -------------------------------------------------------------------------

/// Vertex i of body k, from the origin.
static cri_vec3 vertex_of(const hull_walk *w, int k, int i) {
    return cri_v3_add(cri_v3_load(w->body[k]->r + 3 * (size_t)i), w->shift[k]);
}

/// Scaled distance of a point of body k to the plane.
static double distance_of(const double p[4], int k, cri_vec3 x) {
    double s = cri_v3_dot(cri_v3_load(p), x) + p[3];
    return k ? -s : s;
}

/// The sum at p; infinite outside of its domain.
static double value_at(const hull_walk *w, const double p[4]) {
    double length = cri_v3_norm(cri_v3_load(p)), b[3];
    if (!(length < 1.0)) {
        return INFINITY;
    }
    cri_hull_barrier_of(w->reach, 1.0 - length, b);
    double sum = b[0];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < w->body[k]->tree->n_vertex; i++) {
            double s = distance_of(p, k, vertex_of(w, k, i));
            if (!(s > 0.0)) {
                return INFINITY;
            }
            cri_hull_barrier_of(w->reach, s, b);
            sum += b[0];
        }
    }
    return sum;
}

/// Gradient and second derivatives at w->p.
static void derivatives(const hull_walk *w, double g[4], double A[16]) {
    cri_vec3 n = cri_v3_load(w->p);
    double length = cri_v3_norm(n), b[3], u[3];
    cri_hull_barrier_of(w->reach, 1.0 - length, b);
    cri_v3_store(cri_v3_scale(1.0 / length, n), u);
    memset(A, 0, 16 * sizeof *A);
    g[3] = 0.0;
    for (int i = 0; i < 3; i++) {
        g[i] = -b[1] * u[i];
        for (int j = 0; j < 3; j++) {
            double across = (i == j ? 1.0 : 0.0) - u[i] * u[j];
            A[4 * i + j] = b[2] * u[i] * u[j] - b[1] / length * across;
        }
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < w->body[k]->tree->n_vertex; i++) {
            double z[4] = {0, 0, 0, 1};
            cri_vec3 x = vertex_of(w, k, i);
            cri_v3_store(x, z);
            cri_hull_barrier_of(w->reach, distance_of(w->p, k, x), b);
            for (int j = 0; j < 16; j++) {
                A[j] += b[2] * z[j / 4] * z[j % 4];
            }
            for (int j = 0; j < 4; j++) {
                g[j] += (k ? -b[1] : b[1]) * z[j];
            }
        }
    }
}

/// Takes a part of a step against the gradient, at which the value falls: the whole one near the
/// minimum, where the value, which has lost digits, could not tell. False when there is none.
static bool move(hull_walk *w, const double step[4], double slope, double *value) {
    bool is_near = slope <= 1e-9 * *value;
    double part = 1.0;
    for (int k = 0; k < 60; k++, part *= 0.5) {
        double trial[4];
        for (int i = 0; i < 4; i++) {
            trial[i] = w->p[i] - part * step[i];
        }
        double next = value_at(w, trial);
        if (next <= *value - 1e-4 * part * slope || (is_near && isfinite(next))) {
            memcpy(w->p, trial, sizeof trial);
            *value = next;
            return true;
        }
    }
    return false;
}

/// Newton's method. False when it does not end.
static bool descend(hull_walk *w, int *n_step) {
    double value = value_at(w, w->p);
    for (*n_step = 1; *n_step <= MAX_STEP; (*n_step)++) {
        double g[4], A[16], step[4], slope = 0.0;
        derivatives(w, g, A);
        memcpy(step, g, sizeof step);
        if (!cri_cholesky_factor(4, A)) {
            return false;
        }
        cri_cholesky_solve(4, A, step);
        for (int i = 0; i < 4; i++) {
            slope += step[i] * g[i];
        }
        // where it begins to act the barrier has no curvature, and nothing is left to gain
        bool is_last = slope <= 1e-18 * value || value <= 1e-13 * w->reach;
        if (!move(w, step, slope, &value)) {
            return false;
        }
        if (is_last) {
            return true;
        }
    }
    return false;
}

// ---- where to begin ----------------------------------------------------------------------------

static void corners(const cri_longrange_body *body, int leaf, cri_vec3 shift, cri_vec3 x[3]) {
    const int *t = body->tree->triangle + 3 * (size_t)body->tree->leaf[leaf];
    for (int k = 0; k < 3; k++) {
        x[k] = cri_v3_add(cri_v3_load(body->r + 3 * (size_t)t[k]), shift);
    }
}

/// How far the spheres of two nodes are apart.
static double room_between(const cri_longrange_body *a, const cri_longrange_body *b,
                           cri_vec3 between, const int node[2]) {
    const cri_longrange_node *x = &a->node[node[0]], *y = &b->node[node[1]];
    cri_vec3 d = cri_v3_sub(cri_v3_load(x->r), cri_v3_load(y->r));
    return cri_v3_norm(cri_v3_add(between, d)) - x->radius - y->radius;
}

/// Closest points of the surfaces, from the second position; distance `reach` where it is more.
static cri_triangle_gap nearest(const cri_longrange_body *a, const cri_longrange_body *b,
                                cri_vec3 between, double reach) {
    cri_triangle_gap best = {{0, 0, 0}, {0, 0, 0}, reach};
    int wait[MAX_WAIT][2] = {{0, 0}}, n_wait = 1;
    while (n_wait > 0) {
        int i = wait[--n_wait][0], j = wait[n_wait][1];
        if (room_between(a, b, between, (int[]){i, j}) >= best.distance) {
            continue;
        }
        if (!a->tree->right[i] && !b->tree->right[j]) {
            cri_vec3 x[6];
            corners(a, i, between, x);
            corners(b, j, cri_v3(0, 0, 0), x + 3);
            if (cri_triangle_far(x, x + 3, best.distance)) {
                continue;
            }
            cri_triangle_gap gap = cri_triangle_closest(x, x + 3);
            best = gap.distance < best.distance ? gap : best;
            continue;
        }
        CR_ASSERT(n_wait + 2 <= MAX_WAIT);
        n_wait = cri_push_children(a->tree, i, b->tree, j, wait, n_wait);
        // the nearer two first
        int *last = wait[n_wait - 1], *before = wait[n_wait - 2];
        if (room_between(a, b, between, before) < room_between(a, b, between, last)) {
            const int kept[2] = {last[0], last[1]};
            memcpy(last, before, sizeof kept);
            memcpy(before, kept, sizeof kept);
        }
    }
    return best;
}

/// Puts the origin in the middle and a plane there in which all feel the barrier. False when they
/// are too far apart for any.
static bool start(hull_walk *w, const cri_triangle_gap *gap) {
    cri_vec3 middle = cri_v3_scale(0.5, cri_v3_add(gap->a, gap->b));
    w->shift[0] = cri_v3_sub(w->shift[0], middle);
    w->shift[1] = cri_v3_scale(-1.0, middle);
    double least = 1.0 - w->reach, most = fmin(1.0, 2.0 * w->reach / gap->distance);
    if (!(most > least)) {
        return false;
    }
    double length = 0.5 * (least + most);
    cri_vec3 d = cri_v3_sub(gap->a, gap->b);
    cri_v3_store(cri_v3_scale(length / gap->distance, d), w->p);
    w->p[3] = 0.0;
    return true;
}

// ---- derivatives in the poses ------------------------------------------------------------------

/// What a vertex adds: to the gradient, to C = sum J' B (12, 4), and its own block.
static void add_vertex(const hull_walk *w, int k, int i, double C[12][4],
                       cri_longrange_result *out) {
    cri_vec3 n = cri_v3_load(w->p), x = vertex_of(w, k, i);
    cri_vec3 r = cri_v3_load(w->body[k]->r + 3 * (size_t)i);
    double b[3], z[4] = {0, 0, 0, 1}, g[6], along[3][6] = {{0}};
    cri_hull_barrier_of(w->reach, distance_of(w->p, k, x), b);
    if (b[1] == 0.0) {
        return;
    }
    double push = k ? -b[1] : b[1];
    out->n_exact++;
    cri_v3_accumulate(cri_v3_scale(k ? 0.0 : push, n), out->affine.F);
    cri_v3_accumulate(cri_v3_scale(push * n.x, r), out->affine.N[k]);
    cri_v3_accumulate(cri_v3_scale(push * n.y, r), out->affine.N[k] + 3);
    cri_v3_accumulate(cri_v3_scale(push * n.z, r), out->affine.N[k] + 6);
    cri_v3_store(x, z);
    cri_v3_store(cri_v3_cross(r, n), g);
    cri_v3_store(n, g + 3);
    for (int j = 0; j < 3; j++) {
        cri_vec3 axis = cri_v3(j == 0, j == 1, j == 2);
        cri_v3_store(cri_v3_cross(r, axis), along[j]);
        cri_v3_store(axis, along[j] + 3);
    }
    for (int row = 0; row < 6; row++) {
        for (int j = 0; j < 4; j++) {
            double turn = j < 3 ? push * along[j][row] : 0.0;
            C[6 * k + row][j] += turn + b[2] * z[j] * g[row];
        }
        for (int j = 0; j < 6; j++) {
            out->H[12 * (6 * k + row) + 6 * k + j] += b[2] * g[row] * g[j];
        }
    }
}

/// False when the matrix has no inverse.
static bool add_poses(const hull_walk *w, cri_longrange_order order, cri_longrange_result *out) {
    double C[12][4] = {{0}}, g[4], A[16];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < w->body[k]->tree->n_vertex; i++) {
            add_vertex(w, k, i, C, out);
        }
    }
    cri_longrange_charts(&out->affine, out->g);
    if (order < CRI_LONGRANGE_HESSIAN) {
        memset(out->H, 0, sizeof out->H);
        return true;
    }
    derivatives(w, g, A);
    if (!cri_cholesky_factor(4, A)) {
        return false;
    }
    for (int i = 0; i < 12; i++) {
        double y[4];
        memcpy(y, C[i], sizeof y);
        cri_cholesky_solve(4, A, y);
        for (int j = 0; j < 12; j++) {
            const double *c = C[j];
            out->H[12 * j + i] -= c[0] * y[0] + c[1] * y[1] + c[2] * y[2] + c[3] * y[3];
        }
    }
    return true;
}

void cri_hull_barrier_pair(double reach, const cri_longrange_body *a, const cri_longrange_body *b,
                           cri_longrange_order order, cri_longrange_result *out) {
    CR_ASSERT(reach > 0.0 && reach < 1.0);
    memset(out, 0, sizeof *out);
    cri_vec3 between = cri_v3_sub(a->pose.pos, b->pose.pos);
    hull_walk w = {.reach = reach, .body = {a, b}, .shift = {between, {0, 0, 0}}};
    double reach_hulls = 2.0 * reach / (1.0 - reach);
    cri_triangle_gap gap = nearest(a, b, between, reach_hulls);
    if (!(gap.distance > 0.0)) {
        out->value = INFINITY;
        return;
    }
    if (gap.distance >= reach_hulls || !start(&w, &gap)) {
        return;
    }
    out->value = value_at(&w, w.p);
    if (!isfinite(out->value)) {
        return;
    }
    if (!descend(&w, &out->n_step)) {
        out->value = INFINITY;
        return;
    }
    out->value = value_at(&w, w.p);
    if (order >= CRI_LONGRANGE_GRADIENT && !add_poses(&w, order, out)) {
        memset(out->H, 0, sizeof out->H);
    }
}
