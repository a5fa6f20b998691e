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
// No derivative in the corners is formed. Four pairs are taken at once, a lane each.

#include "contact/pair.h"
#include "energy/longrange_parts.h"

#include <string.h>

typedef cri_row4 row4;

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
    double e[12] = {0};
    cri_v3_store(cri_v3_cross(line->ra, line->u), e);
    cri_v3_store(line->u, e + 3);
    cri_v3_store(cri_v3_cross(line->u, line->rb), e + 6);
    // blocks of four on and above the diagonal
    for (int i = 0; i < 9; i++) {
        for (int j = i & ~3; j < 12; j += 4) {
            row4 over = e[i] * *(const row4 *)(g + j) + g[i] * *(const row4 *)(e + j);
            *(row4 *)(sum->shells[i] + j) += weight * over;
        }
    }
}

// ---- exact pairs -------------------------------------------------------------------------------

/// Sums of a side: Q = sum q and Q times the centre of pressure.
static cri_lane3 pressure(const cri_longrange_lanes *x, int side, cri_lane *Q) {
    const cri_lane *q = x->q + 3 * side;
    const cri_lane3 *r = x->r + 3 * side;
    *Q = q[0] + q[1] + q[2];
    return cri_l3_mad(cri_l3_mad(cri_l3_scale(q[0], r[0]), q[1], r[1]), q[2], r[2]);
}

/// out = a b'
static void store_outer(cri_lane3 a, cri_lane3 b, cri_lane out[9]) {
    const cri_lane row[3] = {a.x, a.y, a.z};
    for (int i = 0; i < 3; i++) {
        out[3 * i] = row[i] * b.x;
        out[3 * i + 1] = row[i] * b.y;
        out[3 * i + 2] = row[i] * b.z;
    }
}

void cri_longrange_pair_gradients(const cri_longrange_lanes *x, cri_lane part[21]) {
    cri_lane Q[2];
    cri_lane3 n = x->plane.n, minus = cri_l3_scale(cri_lane_of(-1.0), n);
    cri_lane3 ra = pressure(x, 0, &Q[0]), rb = pressure(x, 1, &Q[1]);
    // both are the same but for rounding, and momentum is to be kept
    cri_lane Q2 = 0.5 * (Q[0] + Q[1]);
    part[0] = Q2 * minus.x;
    part[1] = Q2 * minus.y;
    part[2] = Q2 * minus.z;
    store_outer(minus, ra, part + 3);
    store_outer(n, rb, part + 12);
}

static void store3(cri_lane3 v, cri_lane *out) {
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
}

/// H += s v v' at and above the diagonal from place
static void add_square(cri_lane s, cri_lane3 v, int place, cri_lane H[9][9]) {
    const cri_lane a[3] = {v.x, v.y, v.z};
    for (int i = 0; i < 3; i++) {
        for (int j = i; j < 3; j++) {
            H[place + i][place + j] += s * a[i] * a[j];
        }
    }
}

/// Columns of C for tilts and offset, and the gradient, of a side; and its own block. The shift of
/// the second side is left out.
static void add_side(const cri_longrange_lanes *x, int side, cri_lane c[4][9], cri_lane H[9][9]) {
    const cri_plane_lanes *p = &x->plane;
    cri_lane zero = cri_lane_of(0.0), S[3] = {zero, zero, zero}, Q;
    cri_lane3 none = {zero, zero, zero}, arm[3] = {none, none, none};
    int at = 6 * side;
    for (int k = 3 * side; k < 3 * side + 3; k++) {
        const cri_lane h[3] = {x->h[k] * p->tau[0][k], x->h[k] * p->tau[1][k], x->h[k]};
        for (int i = 0; i < 3; i++) {
            S[i] += h[i];
            arm[i] = cri_l3_mad(arm[i], h[i], x->r[k]);
        }
        add_square(x->weight * x->h[k], cri_l3_cross(x->r[k], p->n), at, H);
    }
    cri_lane3 r = pressure(x, side, &Q);
    double sign = side ? 1.0 : -1.0;
    const cri_lane3 t[2] = {p->t1, p->t2};
    r = cri_l3_scale(cri_lane_of(sign), r);
    for (int i = 0; i < 2; i++) {
        store3(cri_l3_add(cri_l3_cross(r, t[i]), cri_l3_cross(arm[i], p->n)), c[i] + at);
    }
    cri_lane3 turn = cri_l3_cross(arm[2], p->n);
    store3(turn, c[2] + at);
    store3(cri_l3_cross(r, p->n), c[3] + at);
    if (side) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        store3(cri_l3_mad(cri_l3_scale(S[i], p->n), sign * Q, t[i]), c[i] + 3);
    }
    store3(cri_l3_scale(S[2], p->n), c[2] + 3);
    store3(cri_l3_scale(sign * Q, p->n), c[3] + 3);
    cri_lane block[9];
    store_outer(cri_l3_scale(x->weight, turn), p->n, block);
    for (int i = 0; i < 9; i++) {
        H[i / 3][3 + i % 3] += block[i];
    }
    add_square(x->weight * S[2], p->n, 3, H);
}

cri_longrange_pole *cri_longrange_pole_place(cri_longrange_poles *poles, double strength) {
    int i = cri_strongest_place(&poles->n, CRI_LONGRANGE_POLES, &poles->least, strength,
                                &poles->at[0].strength, sizeof poles->at[0]);
    return i >= 0 ? &poles->at[i] : NULL;
}

/// Distance of corner k of one lane to its plane, which follows: ds_k = sigma_k (g_k - C A^-1
/// (tau_k, 1)), columns c of C by the pivots, as below.
static void add_pole(const cri_longrange_lanes *x, int lane, int k, cri_lane c[4][9],
                     cri_longrange_poles *poles) {
    const cri_plane_lanes *p = &x->plane;
    double q = x->weight[lane] * x->q[k][lane], sign = k < 3 ? -q : q, *g;
    cri_longrange_pole *pole = cri_longrange_pole_place(poles, q);
    if (!pole) {
        return;
    }
    double tau = p->tau[0][k][lane];
    double z[3] = {tau / p->a[lane], (p->tau[1][k][lane] - p->m[lane] * tau) / p->d[lane],
                   1.0 / p->o[lane]};
    cri_vec3 n = cri_l3_get(&p->n, lane), r = cri_l3_get(&x->r[k], lane);
    pole->strength = q;
    pole->bend = q > 0.0 ? 2.0 * x->plane.inverse[k][lane] / q : 0.0;
    g = pole->g;
    for (int i = 0; i < 9; i++) {
        double plane = z[0] * c[0][i][lane] + z[1] * c[1][i][lane] + z[2] * c[2][i][lane];
        g[i] = -sign * x->ratio[lane] * plane;
    }
    cri_v3_accumulate(cri_v3_scale(sign, cri_v3_cross(r, n)), g + 6 * (k / 3));
    if (k < 3) {
        cri_v3_accumulate(cri_v3_scale(sign, n), g + 3);
    }
    cri_v3_store(cri_v3_scale(-1.0, cri_v3_load(g + 3)), g + 9);
}

void cri_longrange_add_pair_hessians(const cri_longrange_lanes *x, cri_longrange_sum *sum,
                                     cri_longrange_poles *poles) {
    const cri_plane_lanes *p = &x->plane;
    cri_lane c[4][9];
    add_side(x, 0, c, sum->pairs);
    add_side(x, 1, c, sum->pairs);
    for (int i = 0; i < 9; i++) {
        c[1][i] -= p->m * c[0][i];
    }
    for (int k = 0; k < 6; k++) {
        cri_lane q = x->weight * x->q[k];
        cri_mask is_strong = poles->n < CRI_LONGRANGE_POLES ? x->weight > 0.0 : q > poles->least;
        for (int i = 0; i < CRI_LANES && cri_mask_any(is_strong); i++) {
            if (is_strong[i]) {
                add_pole(x, i, k, c, poles);
            }
        }
    }
    // A^-1 by the pivots of the plane, and the square of the gradient
    cri_lane over = -x->weight * x->ratio;
    const cri_lane s[4] = {over / p->a, over / p->d, over / p->o, -x->weight * x->scale};
    for (int i = 0; i < 9; i++) {
        const cri_lane d[4] = {s[0] * c[0][i], s[1] * c[1][i], s[2] * c[2][i], s[3] * c[3][i]};
        for (int j = i; j < 9; j++) {
            sum->pairs[i][j] += d[0] * c[0][j] + d[1] * c[1][j] + d[2] * c[2][j] + d[3] * c[3][j];
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
    // e = (p, u, -q): which block of the direction sum is that of two of its parts
    static const int block[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    double product[3][36];
    product_of_bodies(sum, 0, 0, product[0]);
    product_of_bodies(sum, 0, 1, product[1]);
    product_of_bodies(sum, 1, 1, product[2]);
    for (int i = 0; i < 9; i++) {
        for (int j = i; j < 9; j++) {
            int a = i / 3, b = j / 3;
            double sign = (i < 6) == (j < 6) ? 1.0 : -1.0;
            double value = entry(sum->direction[block[a][b]], a > b, i % 3, j % 3);
            value += product[i / 6 + j / 6][6 * (i % 6) + j % 6];
            value = sum->shells[i][j] + cri_lane_sum(sum->pairs[i][j]) + sign * value;
            H[12 * i + j] = value;
            H[12 * j + i] = value;
        }
    }
    // a shift of the second is one of the first back
    for (int i = 0; i < 9; i++) {
        for (int j = 9; j < 12; j++) {
            H[12 * i + j] = -H[12 * i + j - 6];
            H[12 * j + i] = H[12 * i + j];
        }
    }
    for (int i = 9; i < 12; i++) {
        for (int j = 9; j < 12; j++) {
            H[12 * i + j] = H[12 * (i - 6) + j - 6];
        }
    }
}
