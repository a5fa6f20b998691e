// SPDX-License-Identifier: MIT
//
// All cases are one: r = sum w_k(s) x_k with weights that are affine in at most two parameters s,
// and f = min over s of |r|^2/2. By the envelope and the implicit function theorem
//
//   grad_k f = w_k r,   Hess f_kl = w_k w_l I - sum_ij b_ki G^-1_ij b_lj',
//   b_ki = w_k e_i + dw_ki r,   e_i = sum_k dw_ki x_k,   G_ij = e_i . e_j
//
// and with d = |r|, n = r/d:  grad d = w n,  Hess d = (Hess f - grad d grad d')/d. Two parameters
// leave no direction across e and n, so that nothing is divided by d: a face has derivatives at
// distance zero as well, and beyond it with d and n of the other sign.

#include "geometry/convex/feature_distance.h"

#include <string.h>

/// Fills what follows from the weights.
static void settle(const cri_vec3 x[4], cri_feature_distance *f) {
    cri_vec3 r = {0, 0, 0};
    memset(f->e, 0, sizeof f->e);
    memset(f->inverse, 0, sizeof f->inverse);
    for (int k = 0; k < 4; k++) {
        // about one point, so that far origins cost nothing: weights sum to zero
        cri_vec3 y = cri_v3_sub(x[k], x[3]);
        r = cri_v3_mad(r, f->w[k], y);
        for (int i = 0; i < 2; i++) {
            f->e[i] = cri_v3_mad(f->e[i], f->dw[i][k], y);
        }
    }
    double g11 = cri_v3_dot(f->e[0], f->e[0]), g12 = cri_v3_dot(f->e[0], f->e[1]);
    double g22 = cri_v3_dot(f->e[1], f->e[1]), det = g11 * g22 - g12 * g12;
    if (f->n_free == 1) {
        f->inverse[0] = 1.0 / g11;
    }
    if (f->n_free == 2) {
        f->inverse[0] = g22 / det;
        f->inverse[1] = -g12 / det;
        f->inverse[2] = g11 / det;
    }
    f->distance = cri_v3_norm(r);
    f->n = f->distance > 0.0 ? cri_v3_scale(1.0 / f->distance, r) : cri_v3(0, 0, 0);
}

/// The best of what was offered; distance INFINITY where numbers overflow.
static cri_feature_distance settled(const cri_vec3 x[4], cri_feature_distance best) {
    if (best.distance < INFINITY) {
        settle(x, &best);
    }
    return best;
}

/// Offers corner i against the edge from j to k; sign is that of the corner's side. What follows
/// from the weights is left out.
static void offer_edge(const cri_vec3 x[4], int i, int j, int k, double sign,
                       cri_feature_distance *best) {
    cri_vec3 e = cri_v3_sub(x[k], x[j]), r = cri_v3_sub(x[i], x[j]);
    double along = cri_v3_dot(e, r), length2 = cri_v3_dot(e, e), s = 0.0;
    if (along > 0.0 && length2 > 0.0) {
        s = along >= length2 ? 1.0 : along / length2;
    }
    double distance = cri_v3_norm(cri_v3_mad(r, -s, e));
    if (!(distance < best->distance)) {
        return;
    }
    *best = (cri_feature_distance){.distance = distance};
    best->w[i] = sign;
    best->w[j] = sign * (s - 1.0);
    best->w[k] = -sign * s;
    if (s > 0.0 && s < 1.0) {
        best->n_free = 1;
        best->dw[0][j] = sign;
        best->dw[0][k] = -sign;
    }
}

cri_feature_distance cri_point_triangle_distance(const cri_vec3 x[4]) {
    cri_vec3 e1 = cri_v3_sub(x[2], x[1]), e2 = cri_v3_sub(x[3], x[1]), r = cri_v3_sub(x[0], x[1]);
    double g11 = cri_v3_dot(e1, e1), g12 = cri_v3_dot(e1, e2), g22 = cri_v3_dot(e2, e2);
    double r1 = cri_v3_dot(e1, r), r2 = cri_v3_dot(e2, r);
    double det = g11 * g22 - g12 * g12;
    double a = g22 * r1 - g12 * r2, b = g11 * r2 - g12 * r1;

    // the foot is inside; a needle, of which rounding leaves no face, has edges
    if (det > 1e-20 * g11 * g22 && a > 0.0 && b > 0.0 && a + b < det) {
        double u = a / det, v = b / det;
        cri_feature_distance f = {
            .w = {1.0, u + v - 1.0, -u, -v}, .n_free = 2, .dw = {{0, 1, -1, 0}, {0, 1, 0, -1}}};
        settle(x, &f);
        return f;
    }
    cri_feature_distance best = {.distance = INFINITY};
    for (int k = 0; k < 3; k++) {
        offer_edge(x, 0, 1 + k, 1 + (k + 1) % 3, 1.0, &best);
    }
    return settled(x, best);
}

cri_feature_distance cri_edge_edge_distance(const cri_vec3 x[4]) {
    cri_vec3 d = cri_v3_sub(x[1], x[0]), e = cri_v3_sub(x[3], x[2]), r = cri_v3_sub(x[0], x[2]);
    double dd = cri_v3_dot(d, d), ee = cri_v3_dot(e, e), de = cri_v3_dot(d, e);
    double dr = cri_v3_dot(d, r), er = cri_v3_dot(e, r);
    double det = dd * ee - de * de;
    double a = de * er - dr * ee, b = dd * er - de * dr;
    if (det > 1e-14 * dd * ee && a > 0.0 && a < det && b > 0.0 && b < det) {
        double s = a / det, t = b / det;
        cri_feature_distance f = {
            .w = {1.0 - s, s, t - 1.0, -t}, .n_free = 2, .dw = {{-1, 1, 0, 0}, {0, 0, 1, -1}}};
        settle(x, &f);
        return f;
    }
    cri_feature_distance best = {.distance = INFINITY};
    offer_edge(x, 0, 2, 3, 1.0, &best);
    offer_edge(x, 1, 2, 3, 1.0, &best);
    offer_edge(x, 2, 0, 1, -1.0, &best);
    offer_edge(x, 3, 0, 1, -1.0, &best);
    return settled(x, best);
}

/// out += H v; returns grad d . v
static double add_product(const cri_feature_distance *f, const double v[12], double out[12]) {
    cri_vec3 moved = {0, 0, 0}; // sum w v
    double lean[2] = {0, 0};    // sum dw n . v
    for (int k = 0; k < 4; k++) {
        cri_vec3 vk = cri_v3_load(v + 3 * k);
        moved = cri_v3_mad(moved, f->w[k], vk);
        for (int i = 0; i < 2; i++) {
            lean[i] += f->dw[i][k] * cri_v3_dot(f->n, vk);
        }
    }
    // the weights turn by G^-1 (e . moved + d lean)
    const double *G = f->inverse, b[2] = {cri_v3_dot(f->e[0], moved), cri_v3_dot(f->e[1], moved)};
    double z[2] = {G[0] * b[0] + G[1] * b[1], G[1] * b[0] + G[2] * b[1]};
    double y[2] = {G[0] * lean[0] + G[1] * lean[1], G[1] * lean[0] + G[2] * lean[1]};
    double slope = cri_v3_dot(f->n, moved);
    cri_vec3 across = {0, 0, 0}; // over d
    if (f->n_free < 2) {
        across = cri_v3_mad(cri_v3_mad(moved, -slope, f->n), -z[0], f->e[0]);
        across = cri_v3_scale(1.0 / f->distance, across);
    }
    across = cri_v3_mad(cri_v3_mad(across, -y[0], f->e[0]), -y[1], f->e[1]);
    for (int k = 0; k < 4; k++) {
        double along =
            f->dw[0][k] * (z[0] + f->distance * y[0]) + f->dw[1][k] * (z[1] + f->distance * y[1]);
        cri_v3_accumulate(cri_v3_mad(cri_v3_scale(f->w[k], across), -along, f->n), out + 3 * k);
    }
    return slope;
}

void cri_feature_distance_vjp(const cri_feature_distance *cache, double distance_adj,
                              const double gradient_adj[12], double x_adj[12]) {
    (void)add_product(cache, gradient_adj, x_adj);
    for (int k = 0; k < 4; k++) {
        cri_v3_accumulate(cri_v3_scale(distance_adj * cache->w[k], cache->n), x_adj + 3 * k);
    }
}

void cri_feature_distance_jvp(const cri_feature_distance *cache, const double x_tan[12],
                              double *distance_tan, double gradient_tan[12]) {
    memset(gradient_tan, 0, 12 * sizeof *gradient_tan);
    *distance_tan = add_product(cache, x_tan, gradient_tan);
}

void cri_feature_distance_hessian(const cri_feature_distance *cache, double H[144]) {
    memset(H, 0, 144 * sizeof *H);
    for (int i = 0; i < 12; i++) {
        double v[12] = {0};
        v[i] = 1.0;
        (void)add_product(cache, v, H + 12 * i);
    }
}
