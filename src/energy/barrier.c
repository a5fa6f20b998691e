// SPDX-License-Identifier: MIT
//
// E = sum over corner-triangle pairs of b(d) + sum over edge-edge pairs of m b(d)
//
//   b = -(d - D)^2 log(d/D) for d < D        (IPC's barrier on distances, stiffness left out)
//   m = (c/x)(2 - c/x) for c = |e1 x e2|^2 < x = 1e-3 |e1|^2 |e2|^2, else 1
//
// Derivatives in vertices are not kept.

#include "energy/barrier.h"

#include "base/math/dense_factor.h"
#include "base/math/lane.h"
#include "energy/longrange.h"
#include "energy/penalty.h"
#include "geometry/convex/feature_distance.h"
#include "geometry/mesh/triangle_pair.h"

#include <stdlib.h>
#include <string.h>

/// How the bodies' motion moves the closest points, and their weights.
typedef struct motion {
    double M[3][12], s[12];
    double a[2][12], l[2][12];
} motion;

enum { MAX_HULL_WAIT = 160, MAX_STEP = 200 };

typedef struct hull_walk {
    double reach;
    const cri_longrange_body *body[2];
    cri_vec3 shift[2]; // of each body's vertices: the origin is in the middle of the closest points
    double p[4];       // n, d
} hull_walk;

enum { MAX_WAIT = 160 };

typedef struct barrier_walk {
    const cri_barrier_options *options;
    const cri_barrier_body *body[2];
    cri_longrange_order order;
    cri_longrange_result *out;
    cri_vec3 between; // position of the first less that of the second
} barrier_walk;

typedef struct owned_edge {
    int low, high; // vertices
    int place;     // 3 triangle + edge
} owned_edge;

// ---- one term -----------------------------------------------------------------------------------

// One energy b(d) of a distance d = |sum w_k x_k|, and what it adds to a pair of bodies. Points
// move with their bodies, dx = w x r + v, so that the motion u of both (12) moves the difference of
// the closest points by M u and turns the directions of their weights by n . (their motion) = l_i u
// (geometry/convex/feature_distance.c). With s = M'n, a_i = M'e_i and G_ij = e_i . e_j
//
//   grad d = s
//   Hess d = (M'M - s s' - sum a_i G^-1_ij a_j')/d - sum c_i q_i' + q_i c_i',  n_free < 2
//          =                                       - sum c_i q_i' + q_i c_i',  n_free = 2
//            q_i = sum_j G^-1_ij l_j,  c_i = a_i + (d/2) l_i
//   Hess b = b'' s s' + b' Hess d
//
// Edges that are nearly parallel have a weight m, whose derivatives are those in the four points:
// Hess (m b) = m Hess b + b Hess m + g_m g_b' + g_b g_m'.

void cri_barrier_term_set(const double b[3], const cri_feature_distance *f, cri_barrier_term *t) {
    t->value = b[0];
    t->slope = b[1];
    t->bend = b[2];
    t->f = *f;
    t->has_weight = false;
    for (int k = 0; k < 4; k++) {
        cri_v3_store(cri_v3_scale(b[1] * f->w[k], f->n), t->g + 3 * k);
    }
}

/// Multiplies an edge-edge energy by its weight, cri_barrier_mollify.
static void barrier_term_mollify(cri_longrange_order order, cri_barrier_term *t) {
    double m, g[12], H[144], n[12];
    if (!cri_barrier_mollify(t->x, &m, g, H)) {
        return;
    }
    t->has_weight = true;
    for (int k = 0; k < 4; k++) {
        cri_v3_store(cri_v3_scale(t->f.w[k], t->f.n), n + 3 * k);
    }
    if (order >= CRI_LONGRANGE_HESSIAN) {
        cri_feature_distance_hessian(&t->f, t->H);
        for (int i = 0; i < 144; i++) {
            int k = i / 12, l = i % 12;
            double own = t->slope * t->H[i] + t->bend * n[k] * n[l];
            t->H[i] = m * own + t->value * H[i] + g[k] * t->g[l] + t->g[k] * g[l];
        }
    }
    for (int i = 0; i < 12; i++) {
        t->g[i] = m * t->g[i] + t->value * g[i];
    }
    t->value *= m;
}

// ---- second derivatives ------------------------------------------------------------------------

/// out (6) += (r x f, f)
static void add_lever(cri_vec3 r, cri_vec3 f, double *out) {
    cri_v3_accumulate(cri_v3_cross(r, f), out);
    cri_v3_accumulate(f, out + 3);
}

/// J' H J from the points to the bodies.
static void add_hessian_of_points(const cri_barrier_term *t, double H[144]) {
    double half[144] = {0}; // rows of points, columns of bodies
    for (int i = 0; i < 48; i++) {
        int row = i / 4, k = i % 4;
        add_lever(t->r[k], cri_v3_load(t->H + 12 * row + 3 * k), half + 12 * row + 6 * t->side[k]);
    }
    for (int column = 0; column < 12; column++) {
        double sum[12] = {0};
        for (int k = 0; k < 4; k++) {
            const double *h = half + 36 * (size_t)k + column;
            add_lever(t->r[k], cri_v3(h[0], h[12], h[24]), sum + 6 * t->side[k]);
        }
        for (int row = 0; row < 12; row++) {
            H[12 * row + column] += sum[row];
        }
    }
}

// rows of the components of sum w (turn x r + shift) on one side; dw sums to zero there
static void set_side(const cri_barrier_term *t, int side, motion *m) {
    const cri_feature_distance *f = &t->f;
    cri_vec3 R = {0, 0, 0}, E[2] = {{0, 0, 0}, {0, 0, 0}};
    double W = 0.0;
    for (int k = 0; k < 4; k++) {
        if (t->side[k] == side) {
            W += f->w[k];
            R = cri_v3_mad(R, f->w[k], t->r[k]);
            E[0] = cri_v3_mad(E[0], f->dw[0][k], t->r[k]);
            E[1] = cri_v3_mad(E[1], f->dw[1][k], t->r[k]);
        }
    }
    for (int i = 0; i < 3; i++) {
        cri_vec3 axis = cri_v3(i == 0, i == 1, i == 2);
        cri_v3_store(cri_v3_cross(R, axis), m->M[i] + 6 * side);
        cri_v3_store(cri_v3_scale(W, axis), m->M[i] + 6 * side + 3);
    }
    for (int i = 0; i < f->n_free; i++) {
        cri_v3_store(cri_v3_cross(E[i], f->n), m->l[i] + 6 * side);
        cri_v3_store(cri_v3(0, 0, 0), m->l[i] + 6 * side + 3);
    }
}

// out = M'v
static void along(const motion *m, cri_vec3 v, double out[12]) {
    for (int j = 0; j < 12; j++) {
        out[j] = v.x * m->M[0][j] + v.y * m->M[1][j] + v.z * m->M[2][j];
    }
}

// H += scale x x'
static void add_square(double scale, const double x[12], double H[144]) {
    for (size_t i = 0; i < 12; i++) {
        cri_row12_add(scale * x[i], x, H + 12 * i);
    }
}

// H += scale (x y' + y x')
static void add_product(double scale, const double x[12], const double y[12], double H[144]) {
    for (size_t i = 0; i < 12; i++) {
        cri_row12_add(scale * x[i], y, H + 12 * i);
        cri_row12_add(scale * y[i], x, H + 12 * i);
    }
}

/// The same without the way by the points.
static void add_hessian(const cri_barrier_term *t, double H[144]) {
    const cri_feature_distance *f = &t->f;
    double d = f->distance, round = f->n_free < 2 ? t->slope / d : 0.0;
    motion m;
    set_side(t, 0, &m);
    set_side(t, 1, &m);
    along(&m, f->n, m.s);
    add_square(t->bend - round, m.s, H);
    for (int i = 0; i < 3 && round != 0.0; i++) {
        add_square(round, m.M[i], H);
    }
    for (int i = 0; i < f->n_free; i++) {
        along(&m, f->e[i], m.a[i]);
    }
    if (f->n_free == 1) {
        add_square(-round * f->inverse[0], m.a[0], H);
    }
    for (int i = 0; i < f->n_free; i++) {
        double q[12], c[12];
        for (int j = 0; j < 12; j++) {
            q[j] = f->inverse[i] * m.l[0][j];
            q[j] += f->n_free == 2 ? f->inverse[1 + i] * m.l[1][j] : 0.0;
            c[j] = m.a[i][j] + 0.5 * d * m.l[i][j];
        }
        add_product(-t->slope, c, q, H);
    }
}

void cri_barrier_term_add(const cri_barrier_term *t, cri_longrange_order order,
                          cri_longrange_result *out) {
    out->n_exact++;
    out->value += t->value;
    if (!isfinite(t->value)) {
        return;
    }
    for (int k = 0; k < 4; k++) {
        const double *g = t->g + 3 * k;
        double *N = out->affine.N[t->side[k]];
        for (int i = 0; i < 3; i++) {
            out->affine.F[i] += t->side[k] ? 0.0 : g[i];
            cri_v3_accumulate(cri_v3_scale(g[i], t->r[k]), N + 3 * i);
        }
    }
    if (order >= CRI_LONGRANGE_HESSIAN && t->has_weight) {
        add_hessian_of_points(t, out->H);
    } else if (order >= CRI_LONGRANGE_HESSIAN) {
        add_hessian(t, out->H);
    }
}

// ---- a plane between hulls ----------------------------------------------------------------------

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
    int wait[MAX_HULL_WAIT][2] = {{0, 0}}, n_wait = 1;
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
        CR_ASSERT(n_wait + 2 <= MAX_HULL_WAIT);
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

// ---- corners, triangles and edges ---------------------------------------------------------------

void cri_barrier_of_distance(const cri_barrier_options *options, double d, double value[3]) {
    if (options->kind == CRI_BARRIER_GLOBAL) {
        cri_centred_potential(d, options->ell, value);
        value[0] += 12.0;
        return;
    }
    if (options->kind == CRI_BARRIER_NONE) {
        cri_penalty_of(options->reach, d, value);
        return;
    }
    memset(value, 0, 3 * sizeof *value);
    double D = options->reach, room = D - d;
    if (room > 0.0) {
        double q = D / d, l = log(q);
        value[0] = room * room * l;
        value[1] = -room * (2.0 * l + q - 1.0);
        value[2] = (q + 2.0) * q + 2.0 * l - 3.0;
    }
}

bool cri_barrier_mollify(const cri_vec3 x[4], double *weight, double g[12], double H[144]) {
    cri_vec3 e1 = cri_v3_sub(x[1], x[0]), e2 = cri_v3_sub(x[3], x[2]);
    double a = cri_v3_dot(e1, e1), b = cri_v3_dot(e2, e2), dot = cri_v3_dot(e1, e2);
    cri_vec3 cross = cri_v3_cross(e1, e2);
    double c = cri_v3_dot(cross, cross), top = 1e-3 * a * b;
    *weight = 1.0;
    if (!(c < top)) {
        return false;
    }
    *weight = c / top * (2.0 - c / top);
    double slope = 2.0 / top * (1.0 - c / top), bend = -2.0 / (top * top);

    // derivatives of c in the edges, then of the weight in the ends
    double E1[3], E2[3], dc[6], d2c[36];
    cri_v3_store(e1, E1);
    cri_v3_store(e2, E2);
    for (int i = 0; i < 3; i++) {
        dc[i] = 2.0 * (b * E1[i] - dot * E2[i]);
        dc[i + 3] = 2.0 * (a * E2[i] - dot * E1[i]);
        for (int j = 0; j < 3; j++) {
            double one = i == j ? 1.0 : 0.0;
            double mixed = 2.0 * (2.0 * E1[i] * E2[j] - E2[i] * E1[j] - one * dot);
            d2c[6 * i + j] = 2.0 * (one * b - E2[i] * E2[j]);
            d2c[6 * (i + 3) + j + 3] = 2.0 * (one * a - E1[i] * E1[j]);
            d2c[6 * i + j + 3] = mixed;
            d2c[6 * (j + 3) + i] = mixed;
        }
    }
    for (int i = 0; i < 12; i++) {
        int k = i / 6 * 3 + i % 3; // entry of (e1, e2)
        double si = i / 3 % 2 ? 1.0 : -1.0;
        g[i] = si * slope * dc[k];
        for (int j = 0; j < 12; j++) {
            int l = j / 6 * 3 + j % 3;
            double sj = j / 3 % 2 ? 1.0 : -1.0;
            H[12 * i + j] = si * sj * (slope * d2c[6 * k + l] + bend * dc[k] * dc[l]);
        }
    }
    return true;
}

// ---- two triangles -----------------------------------------------------------------------------

/// b(d) in the four points. False when it is zero; infinite at distance zero.
static bool energy_of(const barrier_walk *w, const cri_feature_distance *f, cri_barrier_term *t) {
    double b[3];
    if (w->options->kind == CRI_BARRIER_LOCAL && f->distance >= w->options->reach) {
        return false;
    }
    if (!(f->distance > 0.0)) {
        memset(t->g, 0, sizeof t->g);
        t->value = INFINITY;
        return true;
    }
    cri_barrier_of_distance(w->options, f->distance, b);
    cri_barrier_term_set(b, f, t);
    return true;
}

/// Point k of a term is corner v of a triangle's body.
static void take_point(const barrier_walk *w, int side, int v, int k, cri_barrier_term *t) {
    t->side[k] = side;
    t->r[k] = cri_v3_load(w->body[side]->body.r + 3 * (size_t)v);
    t->x[k] = side ? t->r[k] : cri_v3_add(t->r[k], w->between);
}

/// The corners that a triangle of one side stands for against a triangle of the other.
static void add_corners(barrier_walk *w, int side, int own, const int v[3], const int other[3]) {
    for (int i = 0; i < 3; i++) {
        cri_barrier_term t;
        if (!(own >> i & 1)) {
            continue;
        }
        take_point(w, side, v[i], 0, &t);
        for (int k = 0; k < 3; k++) {
            take_point(w, !side, other[k], 1 + k, &t);
        }
        cri_feature_distance f = cri_point_triangle_distance(t.x);
        if (energy_of(w, &f, &t)) {
            cri_barrier_term_add(&t, w->order, w->out);
        }
    }
}

static void add_edges(barrier_walk *w, const int own[2], const int va[3], const int vb[3]) {
    for (int i = 0; i < 9; i++) {
        int ea = i / 3, eb = i % 3;
        cri_barrier_term t;
        if (!(own[0] >> (3 + ea) & 1) || !(own[1] >> (3 + eb) & 1)) {
            continue;
        }
        take_point(w, 0, va[ea], 0, &t);
        take_point(w, 0, va[(ea + 1) % 3], 1, &t);
        take_point(w, 1, vb[eb], 2, &t);
        take_point(w, 1, vb[(eb + 1) % 3], 3, &t);
        cri_feature_distance f = cri_edge_edge_distance(t.x);
        if (energy_of(w, &f, &t)) {
            if (isfinite(t.value)) {
                barrier_term_mollify(w->order, &t);
            }
            cri_barrier_term_add(&t, w->order, w->out);
        }
    }
}

static bool is_out_of_reach(const barrier_walk *w, const int va[3], const int vb[3]) {
    cri_vec3 x[6];
    if (w->options->kind != CRI_BARRIER_LOCAL) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        x[k] = cri_v3_add(cri_v3_load(w->body[0]->body.r + 3 * (size_t)va[k]), w->between);
        x[k + 3] = cri_v3_load(w->body[1]->body.r + 3 * (size_t)vb[k]);
    }
    return cri_triangle_far(x, x + 3, w->options->reach);
}

static void add_triangles(barrier_walk *w, int ta, int tb) {
    const int *va = w->body[0]->body.tree->triangle + 3 * (size_t)ta;
    const int *vb = w->body[1]->body.tree->triangle + 3 * (size_t)tb;
    if (is_out_of_reach(w, va, vb)) {
        return;
    }
    const int own[2] = {w->body[0]->owner[ta], w->body[1]->owner[tb]};
    add_corners(w, 0, own[0], va, vb);
    add_corners(w, 1, own[1], vb, va);
    add_edges(w, own, va, vb);
}

void cri_barrier_pair(const cri_barrier_options *options, const cri_barrier_body *a,
                      const cri_barrier_body *b, cri_longrange_order order,
                      cri_longrange_result *out) {
    CR_ASSERT(options->kind != CRI_BARRIER_NONE);
    CR_ASSERT(options->kind == CRI_BARRIER_LOCAL ? options->reach > 0.0 : options->ell > 0.0);
    const cri_sphere_tree *ta = a->body.tree, *tb = b->body.tree;
    cri_vec3 between = cri_v3_sub(a->body.pose.pos, b->body.pose.pos);
    barrier_walk w = {options, {a, b}, order, out, between};
    double reach = options->kind == CRI_BARRIER_LOCAL ? options->reach : INFINITY;
    int wait[MAX_WAIT][2] = {{0, 0}}, n_wait = 1;
    memset(out, 0, sizeof *out);
    while (n_wait > 0) {
        int i = wait[--n_wait][0], j = wait[n_wait][1];
        cri_vec3 d = cri_v3_sub(cri_v3_load(a->body.node[i].r), cri_v3_load(b->body.node[j].r));
        double L = cri_v3_norm(cri_v3_add(between, d));
        out->n_visit++;
        if (L > a->body.node[i].radius + b->body.node[j].radius + reach) {
            continue;
        }
        if (!ta->right[i] && !tb->right[j]) {
            add_triangles(&w, ta->leaf[i], tb->leaf[j]);
            continue;
        }
        CR_ASSERT(n_wait + 2 <= MAX_WAIT);
        n_wait = cri_push_children(ta, i, tb, j, wait, n_wait);
    }
    cri_longrange_charts(&out->affine, out->g);
}

// ---- what triangles stand for ------------------------------------------------------------------

static int by_vertices(const void *a, const void *b) {
    const owned_edge *p = a, *q = b;
    if (p->low != q->low) {
        return p->low < q->low ? -1 : 1;
    }
    if (p->high != q->high) {
        return p->high < q->high ? -1 : 1;
    }
    return (p->place > q->place) - (p->place < q->place);
}

const unsigned char *cri_barrier_owners(const cri_sphere_tree *tree, cr_arena *arena) {
    size_t n = 3 * (size_t)tree->n_triangle;
    unsigned char *owner = CR_PUSH(arena, unsigned char, tree->n_triangle);
    cri_arena_mark mark = cri_arena_get_mark(arena);
    unsigned char *is_taken = CR_PUSH(arena, unsigned char, tree->n_vertex);
    owned_edge *edge = CR_PUSH(arena, owned_edge, n);
    if (!owner || !is_taken || !edge) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        int v = tree->triangle[i], next = tree->triangle[i - i % 3 + (i + 1) % 3];
        edge[i] = (owned_edge){v < next ? v : next, v < next ? next : v, (int)i};
        if (!is_taken[v]) {
            is_taken[v] = 1;
            owner[i / 3] = (unsigned char)(owner[i / 3] | 1U << i % 3);
        }
    }
    qsort(edge, n, sizeof *edge, by_vertices);
    for (size_t i = 0; i < n; i++) {
        bool is_first =
            i == 0 || edge[i].low != edge[i - 1].low || edge[i].high != edge[i - 1].high;
        if (is_first && edge[i].low != edge[i].high) {
            int t = edge[i].place / 3;
            owner[t] = (unsigned char)(owner[t] | 8U << edge[i].place % 3);
        }
    }
    cri_arena_rewind(arena, mark);
    return owner;
}

// ---- half-space --------------------------------------------------------------------------------

static void height_function(const cri_barrier_options *options, bool is_hull, double height,
                            double b[3]) {
    if (is_hull) {
        cri_hull_barrier_of(options->reach, height, b);
    } else {
        cri_barrier_of_distance(options, height, b);
    }
}

void cri_barrier_half(const cri_barrier_options *options, bool is_hull,
                      const cri_longrange_body *body, const cri_half_space *half,
                      cri_longrange_order order, cri_longrange_half_result *out) {
    double base = cri_v3_dot(half->n, body->pose.pos) - half->offset;
    cri_vec3 t = {0.0, 0.0, 0.0};
    double slope = 0.0;
    memset(out, 0, sizeof *out);
    out->gap = INFINITY;
    for (size_t i = 0; i < (size_t)body->tree->n_vertex; i++) {
        cri_vec3 r = cri_v3_load(body->r + 3 * i);
        double height = base + cri_v3_dot(half->n, r), b[3], e[6];
        out->gap = fmin(out->gap, height);
        if (!(height > 0.0) && options->kind != CRI_BARRIER_NONE) {
            out->value = INFINITY;
            return;
        }
        height_function(options, is_hull, height, b);
        out->value += b[0];
        out->n_exact += b[1] != 0.0;
        slope += b[1];
        t = cri_v3_mad(t, b[1], r);
        cri_v3_store(cri_v3_cross(r, half->n), e);
        cri_v3_store(half->n, e + 3);
        for (int k = 0; order >= CRI_LONGRANGE_HESSIAN && k < 36; k++) {
            out->H[k] += b[2] * e[k / 6] * e[k % 6];
        }
    }
    cri_v3_store(cri_v3_scale(slope, half->n), out->F);
    cri_v3_store(cri_v3_scale(half->n.x, t), out->N);
    cri_v3_store(cri_v3_scale(half->n.y, t), out->N + 3);
    cri_v3_store(cri_v3_scale(half->n.z, t), out->N + 6);
    cri_v3_store(cri_affine_torque(out->N), out->g);
    memcpy(out->g + 3, out->F, sizeof out->F);
}
