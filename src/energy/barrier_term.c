// SPDX-License-Identifier: MIT
//
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

#include "base/math/lane.h"
#include "energy/barrier.h"
#include "energy/barrier_parts.h"

#include <string.h>

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

void cri_barrier_term_mollify(cri_longrange_order order, cri_barrier_term *t) {
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

/// How the bodies' motion moves the closest points, and their weights.
typedef struct motion {
    double M[3][12], s[12];
    double a[2][12], l[2][12];
} motion;

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
