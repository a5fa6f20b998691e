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
#include "contact/strongest.h"

#include <string.h>

/// Four numbers at once, anywhere in arrays of them.
typedef double row4 __attribute__((vector_size(32), aligned(8), may_alias));

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

void cri_affine_turn(const double N[9], bool is_turned, const double w[3], double y[3]) {
    cri_mat3 K;
    cri_vec3 turn = cri_v3_load(w);
    cri_affine_curvature(N, K.m);
    cri_vec3 twist = cri_v3_cross(cri_affine_torque(N), turn);
    cri_v3_accumulate(cri_v3_mad(cri_m3_mul(&K, turn), is_turned ? 0.5 : -0.5, twist), y);
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

/// out += s a b', b of four
static void add_block(double s, const double a[4], const double b[4], double out[3][4]) {
    row4 row = *(const row4 *)b;
    for (int i = 0; i < 3; i++) {
        *(row4 *)out[i] += s * a[i] * row;
    }
}

static void store4(cri_vec3 v, double last, double out[4]) {
    cri_v3_store(v, out);
    out[3] = last;
}

void cri_longrange_add_moments(const cri_longrange_line *line, double alpha, double beta,
                               cri_longrange_sum *sum) {
    double p[4], u[4], q[4], a[4], b[4];
    store4(cri_v3_cross(line->ra, line->u), 0.0, p);
    store4(line->u, 0.0, u);
    store4(cri_v3_cross(line->rb, line->u), 0.0, q);
    store4(line->ra, 1.0, a);
    store4(line->rb, 1.0, b);
    add_block(alpha, p, p, sum->direction[0]);
    add_block(alpha, p, u, sum->direction[1]);
    add_block(alpha, p, q, sum->direction[2]);
    add_block(alpha, u, u, sum->direction[3]);
    add_block(alpha, u, q, sum->direction[4]);
    add_block(alpha, q, q, sum->direction[5]);
    add_block(beta, a, a, sum->moment[0]);
    add_block(beta, a, b, sum->moment[1]);
    add_block(beta, b, b, sum->moment[2]);
    sum->beta += beta;
}

void cri_longrange_add_product(const cri_longrange_line *line, double weight, const double g[12],
                               cri_longrange_sum *sum) {
    double e[12];
    cri_v3_store(cri_v3_cross(line->ra, line->u), e);
    cri_v3_store(line->u, e + 3);
    cri_v3_store(cri_v3_cross(line->u, line->rb), e + 6);
    cri_v3_store(cri_v3_scale(-1.0, line->u), e + 9);
    // blocks of four on and above the diagonal
    for (int i = 0; i < 12; i++) {
        for (int j = i & ~3; j < 12; j += 4) {
            row4 over = e[i] * *(const row4 *)(g + j) + g[i] * *(const row4 *)(e + j);
            *(row4 *)(sum->dense + 12 * i + j) += weight * over;
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

/// What a side adds: columns of C for the tilts and the offset, the gradient, and its own block.
/// Six numbers, in rows of eight.
typedef struct side_sum {
    double column[4][8];
    double own[6][8];
} side_sum;

/// out = (a, b)
static void store6(cri_vec3 a, cri_vec3 b, double out[8]) {
    cri_v3_store(a, out);
    cri_v3_store(b, out + 3);
}

/// out += s a, in rows of eight
static void add8(double s, const double a[8], double out[8]) {
    *(row4 *)out += s * *(const row4 *)a;
    *(row4 *)(out + 4) += s * *(const row4 *)(a + 4);
}

static void sum_side(const cri_plane_force *f, const cri_vec3 r[6], int side, side_sum *out) {
    const cri_plane_pair *p = &f->plane;
    double sign = side ? 1.0 : -1.0, Q;
    memset(out, 0, sizeof *out);
    cri_vec3 ra = cri_v3_scale(sign, pressure(f, r, side, &Q));
    store6(cri_v3_cross(ra, p->t1), cri_v3_scale(sign * Q, p->t1), out->column[0]);
    store6(cri_v3_cross(ra, p->t2), cri_v3_scale(sign * Q, p->t2), out->column[1]);
    store6(cri_v3_cross(ra, p->n), cri_v3_scale(sign * Q, p->n), out->column[3]);
    for (int k = 3 * side; k < 3 * side + 3; k++) {
        double g[8] = {0}, h = f->h[k];
        store6(cri_v3_cross(r[k], p->n), p->n, g);
        add8(h * p->tau[0][k], g, out->column[0]);
        add8(h * p->tau[1][k], g, out->column[1]);
        add8(h, g, out->column[2]);
        for (int i = 0; i < 6; i++) {
            add8(h * g[i], g, out->own[i]);
        }
    }
}

cri_longrange_pole *cri_longrange_pole_place(cri_longrange_poles *poles, double strength) {
    int i = cri_strongest_place(&poles->n, CRI_LONGRANGE_POLES, &poles->least, strength,
                                &poles->at[0].strength, sizeof poles->at[0]);
    return i >= 0 ? &poles->at[i] : NULL;
}

/// Distances of the corners to the plane, which follows: ds_k = sigma_k (g_k - C A^-1 (tau_k, 1)),
/// columns c of C by the pivots, as below.
static void add_poles(const cri_plane_force *f, const cri_vec3 r[6], double weight, double c[4][12],
                      cri_longrange_poles *poles) {
    const cri_plane_pair *p = &f->plane;
    for (int k = 0; k < 6; k++) {
        double q = weight * f->q[k], sign = k < 3 ? -q : q;
        cri_longrange_pole *pole = cri_longrange_pole_place(poles, q);
        if (!pole) {
            continue;
        }
        double z[3] = {p->tau[0][k] / p->a, (p->tau[1][k] - p->m * p->tau[0][k]) / p->d,
                       1.0 / p->o};
        pole->strength = q;
        pole->bend = q > 0.0 ? 2.0 / (q * p->s[k]) : 0.0;
        for (int i = 0; i < 12; i++) {
            double plane = z[0] * c[0][i] + z[1] * c[1][i] + z[2] * c[2][i];
            pole->g[i] = -sign * f->ratio * plane;
        }
        cri_v3_accumulate(cri_v3_scale(sign, cri_v3_cross(r[k], p->n)), pole->g + 6 * (k / 3));
        cri_v3_accumulate(cri_v3_scale(sign, p->n), pole->g + 6 * (k / 3) + 3);
    }
}

void cri_longrange_add_pair_hessian(const cri_plane_force *f, const cri_vec3 r[6], double weight,
                                    cri_longrange_sum *sum, cri_longrange_poles *poles) {
    const cri_plane_pair *p = &f->plane;
    double c[4][12];
    for (int side = 0; side < 2; side++) {
        side_sum part;
        sum_side(f, r, side, &part);
        for (int k = 0; k < 4; k++) {
            memcpy(c[k] + 6 * side, part.column[k], 6 * sizeof(double));
        }
        for (int i = 0; i < 6; i++) {
            double *row = sum->dense + 12 * (6 * side + i) + 6 * side;
            for (int j = 0; j < 6; j++) {
                row[j] += weight * part.own[i][j];
            }
        }
    }
    for (int i = 0; i < 12; i++) {
        c[1][i] -= p->m * c[0][i];
    }
    add_poles(f, r, weight, c, poles);
    // A^-1 by the pivots of the plane, and the square of the gradient
    double over = -weight * f->ratio;
    double s[4] = {over / p->a, over / p->d, over / p->o, -weight * f->scale};
    for (int i = 0; i < 12; i++) {
        for (int j = i & ~3; j < 12; j += 4) {
            row4 row = *(row4 *)(sum->dense + 12 * i + j);
            for (int k = 0; k < 4; k++) {
                row += s[k] * c[k][i] * *(const row4 *)(c[k] + j);
            }
            *(row4 *)(sum->dense + 12 * i + j) = row;
        }
    }
}

// ---- the whole matrix --------------------------------------------------------------------------

/// a[i][j] of a block, or of its transpose.
static double entry(const double block[3][4], bool is_turned, int i, int j) {
    return is_turned ? block[j][i] : block[i][j];
}

/// sum beta J_i' J_j, i <= j two of the bodies: from the moments r_i r_j', r_i and r_j.
static void product_of_bodies(const cri_longrange_sum *sum, int i, int j, double out[36]) {
    const double(*rr)[4] = sum->moment[i + j];
    double ri[3], rj[3];
    for (int k = 0; k < 3; k++) {
        ri[k] = sum->moment[2 * i][k][3];
        rj[k] = sum->moment[2 * j][k][3];
    }
    double trace = rr[0][0] + rr[1][1] + rr[2][2];
    const double cross_i[9] = {0, -ri[2], ri[1], ri[2], 0, -ri[0], -ri[1], ri[0], 0};
    const double cross_j[9] = {0, -rj[2], rj[1], rj[2], 0, -rj[0], -rj[1], rj[0], 0};
    for (int k = 0; k < 3; k++) {
        for (int l = 0; l < 3; l++) {
            double one = k == l ? 1.0 : 0.0;
            out[6 * k + l] = one * trace - rr[l][k];
            out[6 * k + l + 3] = cross_i[3 * k + l];
            out[6 * (k + 3) + l] = -cross_j[3 * k + l];
            out[6 * (k + 3) + l + 3] = one * sum->beta;
        }
    }
}

void cri_longrange_expand(const cri_longrange_sum *sum, double H[144]) {
    // e = (p, u, -q, -u): which block of the direction sum is that of two of its parts
    static const int part[4] = {0, 1, 2, 1};
    static const int block[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    double product[3][36];
    product_of_bodies(sum, 0, 0, product[0]);
    product_of_bodies(sum, 0, 1, product[1]);
    product_of_bodies(sum, 1, 1, product[2]);
    for (int i = 0; i < 12; i++) {
        for (int j = i; j < 12; j++) {
            int a = part[i / 3], b = part[j / 3];
            double sign = (i < 6) == (j < 6) ? 1.0 : -1.0;
            double value = entry(sum->direction[block[a][b]], a > b, i % 3, j % 3);
            value += product[i / 6 + j / 6][6 * (i % 6) + j % 6];
            value = sum->dense[12 * i + j] + sign * value;
            H[12 * i + j] = value;
            H[12 * j + i] = value;
        }
    }
}

void cri_longrange_weigh(const cri_longrange_walk *w, cri_longrange_near *near) {
    double *grad = near->weight_grad;
    for (int i = 1; i < w->n_shell; i++) {
        const cri_longrange_shell *s = &w->shells[i];
        const cri_longrange_line *line = &s->line;
        double slope = -s->phi[1];
        for (int k = 1; k < w->n_shell; k++) {
            slope *= k == i ? 1.0 : 1.0 - w->shells[k].phi[0];
        }
        if (slope == 0.0) {
            continue;
        }
        cri_vec3 u = cri_v3_scale(slope, line->u);
        cri_v3_accumulate(cri_v3_cross(line->ra, u), grad);
        cri_v3_accumulate(u, grad + 3);
        cri_v3_accumulate(cri_v3_cross(u, line->rb), grad + 6);
        cri_v3_accumulate(cri_v3_scale(-1.0, u), grad + 9);
        double d1 = w->a->node[s->node.first].radius + w->b->node[s->node.second].radius;
        CR_ASSERT(near->n_shell < CRI_NEAR_SHELLS);
        near->shell[near->n_shell++] =
            (cri_near_shell){{s->node.first, s->node.second}, slope, line->L / d1, line->u};
    }
}
