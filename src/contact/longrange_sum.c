// SPDX-License-Identifier: MIT
//
// What single terms of the long-range potential add to the second derivatives of two bodies.
//
// A point at r from the position of its body moves by w x r + v: J = [-[r]x, I], (w, v) a body.
//
// Between centres, L = |x_a - x_b|, u = (x_a - x_b)/L:  e = (ra x u, u, -rb x u, -u),
//   dL = e . (pose),   d2L = (E'E - e e')/L,   E'E in blocks from
//   J_a' J_b = [(ra.rb) I - rb ra', [ra]x; -[rb]x, I]
//
// Exact pair, corners k of side sigma, with the notation of plane_potential.c:
//   g_k = (r_k x n, n)               C_side = sum h_k g_k (tau_k, 1)' - sigma [ra x t, 0; Q t, 0]
//   H = sum h_k g_k g_k' (own blocks) - C A^-1 C' - c g g',      ra = sum q_k r_k, Q = sum q_k
//   F_side = -sigma Q n,             N_side = -sigma n ra'
// No derivative in the corners is formed.

#include "contact/longrange_parts.h"

#include <string.h>

// ---- affine gradients --------------------------------------------------------------------------

/// N += s f r'
static void add_outer(double s, cri_vec3 f, cri_vec3 r, double N[9]) {
    cri_v3_accumulate(cri_v3_scale(s * f.x, r), N);
    cri_v3_accumulate(cri_v3_scale(s * f.y, r), N + 3);
    cri_v3_accumulate(cri_v3_scale(s * f.z, r), N + 6);
}

cri_vec3 cri_affine_torque(const double N[9]) {
    return cri_v3(N[7] - N[5], N[2] - N[6], N[3] - N[1]);
}

void cri_affine_curvature(const double N[9], double K[9]) {
    double trace = N[0] + N[4] + N[8];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            K[3 * i + j] = 0.5 * (N[3 * i + j] + N[3 * j + i]) - (i == j ? trace : 0.0);
        }
    }
}

void cri_longrange_charts(const cri_affine_gradient *affine, double g[12]) {
    cri_vec3 F = cri_v3_load(affine->F);
    cri_v3_store(cri_affine_torque(affine->N[0]), g);
    cri_v3_store(F, g + 3);
    cri_v3_store(cri_affine_torque(affine->N[1]), g + 6);
    cri_v3_store(cri_v3_scale(-1.0, F), g + 9);
}

// ---- between centres ---------------------------------------------------------------------------

void cri_longrange_add_line(const cri_longrange_line *line, double s, cri_affine_gradient *out) {
    cri_v3_accumulate(cri_v3_scale(s, line->u), out->F);
    add_outer(s, line->u, line->ra, out->N[0]);
    add_outer(-s, line->u, line->rb, out->N[1]);
}

void cri_longrange_add_moments(const cri_longrange_line *line, double alpha, double beta,
                               cri_longrange_sum *sum) {
    double e[9];
    cri_v3_store(cri_v3_cross(line->ra, line->u), e);
    cri_v3_store(line->u, e + 3);
    cri_v3_store(cri_v3_cross(line->rb, line->u), e + 6);
    for (int i = 0; i < 9; i++) {
        double s = alpha * e[i];
        for (int j = i; j < 9; j++) {
            sum->direction[9 * i + j] += s * e[j];
        }
    }
    const double r[6] = {line->ra.x, line->ra.y, line->ra.z, line->rb.x, line->rb.y, line->rb.z};
    double *m = sum->moment;
    *m++ += beta;
    for (int i = 0; i < 6; i++) {
        *m++ += beta * r[i];
    }
    for (int i = 0; i < 6; i++) {
        double s = beta * r[i];
        for (int j = i; j < 6; j++) {
            *m++ += s * r[j];
        }
    }
}

void cri_longrange_add_product(const cri_longrange_line *line, double weight, const double g[12],
                               cri_longrange_sum *sum) {
    double e[12];
    cri_v3_store(cri_v3_cross(line->ra, line->u), e);
    cri_v3_store(line->u, e + 3);
    cri_v3_store(cri_v3_cross(line->u, line->rb), e + 6);
    cri_v3_store(cri_v3_scale(-1.0, line->u), e + 9);
    for (int i = 0; i < 12; i++) {
        double s = weight * e[i], t = weight * g[i];
        for (int j = i; j < 12; j++) {
            sum->dense[12 * i + j] += s * g[j] + t * e[j];
        }
    }
}

// ---- exact pairs -------------------------------------------------------------------------------

/// Sums of a side: Q = sum q and Q times the centre of pressure.
static cri_vec3 pressure(const cri_plane_force *f, const cri_vec3 r[6], int side, double *Q) {
    cri_vec3 sum = {0, 0, 0};
    *Q = 0.0;
    for (int k = 3 * side; k < 3 * side + 3; k++) {
        sum = cri_v3_mad(sum, f->q[k], r[k]);
        *Q += f->q[k];
    }
    return sum;
}

void cri_longrange_add_pair(const cri_plane_force *f, const cri_vec3 r[6],
                            cri_affine_gradient *out) {
    double Q[2];
    cri_vec3 ra = pressure(f, r, 0, &Q[0]);
    cri_vec3 rb = pressure(f, r, 1, &Q[1]);
    // both are the same but for rounding, and momentum is to be kept
    cri_v3_accumulate(cri_v3_scale(-0.5 * (Q[0] + Q[1]), f->plane.n), out->F);
    add_outer(-1.0, f->plane.n, ra, out->N[0]);
    add_outer(1.0, f->plane.n, rb, out->N[1]);
}

/// Columns of C and the gradient for one side, and weight times its own block.
static void add_side(const cri_plane_force *f, const cri_vec3 r[6], int side, double weight,
                     double column[4][12], double dense[144]) {
    const cri_plane_pair *p = &f->plane;
    double sign = side ? -1.0 : 1.0, Q;
    int o = 6 * side;
    cri_vec3 ra = pressure(f, r, side, &Q);
    cri_v3_store(cri_v3_scale(-sign, cri_v3_cross(ra, p->t1)), column[0] + o);
    cri_v3_store(cri_v3_scale(-sign * Q, p->t1), column[0] + o + 3);
    cri_v3_store(cri_v3_scale(-sign, cri_v3_cross(ra, p->t2)), column[1] + o);
    cri_v3_store(cri_v3_scale(-sign * Q, p->t2), column[1] + o + 3);
    memset(column[2] + o, 0, 6 * sizeof(double));
    cri_v3_store(cri_v3_scale(-sign, cri_v3_cross(ra, p->n)), column[3] + o);
    cri_v3_store(cri_v3_scale(-sign * Q, p->n), column[3] + o + 3);
    for (int k = 3 * side; k < 3 * side + 3; k++) {
        double g[6];
        cri_v3_store(cri_v3_cross(r[k], p->n), g);
        cri_v3_store(p->n, g + 3);
        for (int i = 0; i < 6; i++) {
            double s = f->h[k] * g[i];
            column[0][o + i] += s * p->tau[k][0];
            column[1][o + i] += s * p->tau[k][1];
            column[2][o + i] += s;
            double *row = dense + 12 * (o + i) + o;
            for (int j = i; j < 6; j++) {
                row[j] += weight * s * g[j];
            }
        }
    }
}

void cri_longrange_add_pair_hessian(const cri_plane_force *f, const cri_vec3 r[6], double weight,
                                    cri_longrange_sum *sum) {
    const cri_plane_pair *p = &f->plane;
    double c[4][12];
    add_side(f, r, 0, weight, c, sum->dense);
    add_side(f, r, 1, weight, c, sum->dense);
    for (int i = 0; i < 12; i++) {
        c[1][i] -= p->m * c[0][i];
    }
    // A^-1 by the pivots of the plane, and the square of the gradient
    double over = -weight * f->ratio;
    double s[4] = {over / p->a, over / p->d, over / p->o, -weight * f->scale};
    for (int i = 0; i < 12; i++) {
        double t0 = s[0] * c[0][i], t1 = s[1] * c[1][i], t2 = s[2] * c[2][i], t3 = s[3] * c[3][i];
        double *row = sum->dense + 12 * i;
        for (int j = i; j < 12; j++) {
            row[j] += t0 * c[0][j] + t1 * c[1][j] + t2 * c[2][j] + t3 * c[3][j];
        }
    }
}

// ---- the whole matrix --------------------------------------------------------------------------

/// sum beta J_i' J_j, i and j one of the two bodies, from the moments.
static void product_of_bodies(const double *moment, int i, int j, double out[36]) {
    const double *r = moment + 1, *second = moment + 7;
    const double *ri = r + 3 * i, *rj = r + 3 * j;
    double rr[9];
    for (int k = 0; k < 3; k++) {
        for (int l = 0; l < 3; l++) {
            // place of (a, b), a <= b, in the packed upper triangle of 6
            int a = 3 * i + k, b = 3 * j + l;
            int low = a < b ? a : b, high = a < b ? b : a;
            rr[3 * k + l] = second[low * 6 - low * (low - 1) / 2 + high - low];
        }
    }
    double trace = rr[0] + rr[4] + rr[8];
    const double cross_i[9] = {0, -ri[2], ri[1], ri[2], 0, -ri[0], -ri[1], ri[0], 0};
    const double cross_j[9] = {0, -rj[2], rj[1], rj[2], 0, -rj[0], -rj[1], rj[0], 0};
    for (int k = 0; k < 3; k++) {
        for (int l = 0; l < 3; l++) {
            double one = k == l ? 1.0 : 0.0;
            out[6 * k + l] = one * trace - rr[3 * l + k];
            out[6 * k + l + 3] = cross_i[3 * k + l];
            out[6 * (k + 3) + l] = -cross_j[3 * k + l];
            out[6 * (k + 3) + l + 3] = one * moment[0];
        }
    }
}

void cri_longrange_expand(const cri_longrange_sum *sum, double H[144]) {
    // rows of the direction sum, with the signs of e = (ra x u, u, -rb x u, -u)
    static const int place[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 4, 5};
    double product[3][36];
    product_of_bodies(sum->moment, 0, 0, product[0]);
    product_of_bodies(sum->moment, 0, 1, product[1]);
    product_of_bodies(sum->moment, 1, 1, product[2]);
    for (int i = 0; i < 12; i++) {
        for (int j = i; j < 12; j++) {
            int a = place[i] < place[j] ? place[i] : place[j];
            int b = place[i] < place[j] ? place[j] : place[i];
            double sign = (i < 6) == (j < 6) ? 1.0 : -1.0;
            double value = sum->dense[12 * i + j] + sign * sum->direction[9 * a + b];
            value += sign * product[i / 6 + j / 6][6 * (i % 6) + j % 6];
            H[12 * i + j] = value;
            H[12 * j + i] = value;
        }
    }
}
