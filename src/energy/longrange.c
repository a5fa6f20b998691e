// SPDX-License-Identifier: MIT
//
// Potential of two bodies by their sphere trees (equations 6 to 8 of the long-range contact
// potential).
//
// For nodes I, J with centres L apart, d1 = R_I + R_J, d2 = (1 + eps) d1:
//
//   P(I, J) = (1 - phi) A + phi C,    phi = blend of L over [d1, d2],   C = 12 (1 + sqrt(ell/L))^2
//   A = sum over children of both, or the exact potential of two triangles
//
//   grad = (1 - phi) gA + k e,   k = phi C' + (C - A) phi',   e = grad L
//   Hess = (1 - phi) HA + (phi C'' + (C - A) phi'') e e' + k Hess L + phi' (e dg' + dg e'),
//   dg = C' e - gA
//
// As published a pair of nodes far apart is one term C, so that a body's push falls by the number
// of its triangles within a shell, and a descent that comes from afar meets a hill. "Whole"
// clusters are as many terms as they have pairs of triangles, n_I n_J C(L + R_I + R_J). They are
// below their parts as well, at any L: a pair of leaves is above 12 (1 + sqrt(ell/l))^2, l between
// its centres, which is at most L + R_I + R_J, and layered spheres are inside of one another, so
// that l + R + R of children is no more than that either. Far away they are the sum over all pairs.
//
// From d2 on a pair of nodes is one term; up to d1 it is its children. Second derivatives only need
// the value and gradient of A, so they are added with the product of (1 - phi) on the way down. A
// pool of shells holds values and gradients: exact pairs wait until four can be solved at once
// (below), shells until what is in them is known. Twice differentiable everywhere; needs only that
// C <= A in a shell, which holds for layered and, but for whole clusters, for wrapped spheres.

#include "energy/longrange.h"

#include "contact/pair.h"

#include <stddef.h>
#include <string.h>

/// Value and gradient of a part of the potential.
typedef struct cri_longrange_part {
    double value;
    cri_affine_gradient affine;
} cri_longrange_part;

/// Two clusters: their distance, the direction u from the second to the first, and their centres
/// from the positions of their bodies.
typedef struct cri_longrange_line {
    double L;
    cri_vec3 u, ra, rb;
} cri_longrange_line;

/// Second derivatives in the making, for (turn of a, shift of a, turn of b): that a shift of both
/// changes nothing gives the shift of b. With e = d(L)/d(pose) and E = [J_a, -J_b] the derivative
/// of the centres' difference, centred terms are sums of alpha e e' + beta E'E, which a few moments
/// hold. Rows of four, so that the compiler takes them two by two.
typedef struct cri_longrange_sum {
    double direction[6][3]
                    [4];    // sum alpha p p', p u', p q', u u', u q', q q'; p = ra x u, q = rb x u
    double moment[3][3][4]; // sum beta ra (ra, 1)', ra (rb, 1)', rb (rb, 1)'
    double beta;            // sum beta
    double shells[9][12];   // slopes of shells, upper triangle
    cri_lane pairs[9][9];   // exact pairs, upper triangle, four sums of which the whole is one
} cri_longrange_sum;

/// Four exact pairs: corners from the positions of their bodies, planes, and forces as in
/// cri_plane_force; weight: product of (1 - phi) around each, zero in lanes without a pair.
typedef struct cri_longrange_lanes {
    cri_lane3 r[6];
    cri_plane_lanes plane;
    cri_lane excess, ratio, scale, q[6], h[6], weight;
} cri_longrange_lanes;

// trees are split in halves, so that 2^31 triangles are 32 levels; shells wait in a pool until the
// exact pairs in them are solved, four at a time
enum {
    CRI_LONGRANGE_SHELLS = 40,
    CRI_LONGRANGE_POOL = 4 * CRI_LONGRANGE_SHELLS,
    CRI_LONGRANGE_WAITS = 4 * CRI_LONGRANGE_SHELLS
};

/// A pair of nodes; first < 0: the innermost shell ends.
typedef struct cri_node_pair {
    int first, second;
} cri_node_pair;

/// A part A that is blended with a centred term C.
typedef struct cri_longrange_shell {
    cri_longrange_part part; // A
    cri_longrange_line line;
    cri_node_pair node;
    double C[3], phi[3];
    double outer; // product of (1 - phi) around the shell
    double inner; // and within
    int around;   // the shell around it, in the pool
    int depth;    // how many there are
    bool is_done; // all parts are known or wait
    // along a motion of both bodies, for derivatives in the shape
    double value_tan, outer_tan, inner_tan, L_tan;
    cri_vec3 u_tan;
} cri_longrange_shell;

/// Adjoints of world positions of vertices and centres, and of radii, along a motion.
typedef struct cri_longrange_shape {
    double value_adj;
    const double *motion; // (12)
    double *vertex[2], *centre[2], *radius[2];
} cri_longrange_shape;

/// A pair of leaves that waits to be solved, in a shell.
typedef struct cri_leaf_pair {
    cri_node_pair leaf;
    int shell;
} cri_leaf_pair;

typedef struct cri_longrange_walk {
    const cri_longrange_options *options;
    const cri_longrange_body *a, *b;
    cri_longrange_order order;
    cri_longrange_warm *warm;
    cri_longrange_shape *shape;       // NULL: not wanted
    const cri_longrange_taker *taker; // NULL: not wanted
    bool is_counting;                 // near pairs and their shells alone, no plane is solved for
    int n_near_shell;                 // then
    cri_longrange_result *out;
    cri_vec3 between; // position of a less that of b
    cri_longrange_sum sum;
    int n_shell, n_wait, n_late;
    int top;                                        // the innermost open shell
    cri_longrange_shell shells[CRI_LONGRANGE_POOL]; // the first is the whole
    cri_node_pair waits[CRI_LONGRANGE_WAITS];
    cri_leaf_pair late[CRI_LANES];
} cri_longrange_walk;

typedef cri_row4 row4;

typedef cri_longrange_walk walk;

typedef cri_longrange_shell shell;

typedef cri_longrange_lanes lanes;

/// Who the four are.
typedef struct quartet {
    int n; // that are not repeated
    const int *corner[CRI_LANES][2];
    int triangle[CRI_LANES][2];
    shell *in[CRI_LANES];
    int index[CRI_LANES]; // of the shell
    cri_longrange_slot *slot[CRI_LANES];
    uint64_t key[CRI_LANES];
} quartet;

// ---- single terms -------------------------------------------------------------------------------

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

/// Adds s u . (x_a - x_b) in affine form.
static void longrange_add_line(const cri_longrange_line *line, double s, cri_affine_gradient *out) {
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

/// Adds alpha e e' + beta E'E.
static void longrange_add_moments(const cri_longrange_line *line, double alpha, double beta,
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

/// Adds weight (e g' + g e').
static void longrange_add_product(const cri_longrange_line *line, double weight, const double g[12],
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

/// Their gradients: part[0..2] is F, then N of both bodies; lanes are pairs.
static void longrange_pair_gradients(const cri_longrange_lanes *x, cri_lane part[21]) {
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

/// Adds their second derivatives times their weights, and the strongest corners to the poles.
static void longrange_add_pair_hessians(const cri_longrange_lanes *x, cri_longrange_sum *sum,
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

/// The whole symmetric matrix.
static void longrange_expand(const cri_longrange_sum *sum, double H[144]) {
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

// ---- exact pairs of triangles -------------------------------------------------------------------

// Exact pairs of triangles in the walk down two sphere trees: planes, forces and what they add,
// four pairs at once, a lane each (base/math/lane.h). Lanes without a pair repeat the first one
// with the weight 0.
//
// Planes are remembered in the frame of the first body, in a table by hash: a plane that is lost
// costs time, never the result.

// ---- remembered planes -------------------------------------------------------------------------

/// The slot of a pair of triangles, NULL without warm data.
static cri_longrange_slot *slot_of(const cri_longrange_warm *warm, int n_second, int ta, int tb,
                                   uint64_t *key) {
    *key = 1 + (uint64_t)ta * (uint64_t)n_second + (uint64_t)tb;
    if (!warm || warm->n_slot < 1) {
        return NULL;
    }
    // multiplicative hashing, by 2^64 over the golden ratio
    uint64_t hash = (*key * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    return warm->slot + (hash & (uint64_t)(warm->n_slot - 1));
}

bool cri_longrange_recall(const cri_longrange_warm *warm, int n_second, int first, int second,
                          cri_vec3 *n) {
    uint64_t key;
    const cri_longrange_slot *slot = slot_of(warm, n_second, first, second, &key);
    if (!slot || slot->key != key || slot->age != warm->age) {
        return false;
    }
    *n = cri_v3_load(slot->n);
    return true;
}

/// R n, or R' n
static cri_lane3 turn(const cri_mat3 *R, bool is_back, cri_lane3 n) {
    const double *m = R->m;
    int row = is_back ? 1 : 3, column = is_back ? 3 : 1;
    return cri_l3(m[0] * n.x + m[column] * n.y + m[2 * column] * n.z,
                  m[row] * n.x + m[row + column] * n.y + m[row + 2 * column] * n.z,
                  m[2 * row] * n.x + m[2 * row + column] * n.y + m[2 * row + 2 * column] * n.z);
}

static void recall(const walk *w, const quartet *of, cri_plane_hints *hints) {
    static const cri_longrange_slot none;
    const cri_longrange_slot *slot[CRI_LANES];
    const double *n[CRI_LANES];
    for (int i = 0; i < CRI_LANES; i++) {
        const cri_longrange_slot *at = of->slot[i];
        bool is_known = at && at->key == of->key[i] && at->age == w->warm->age;
        slot[i] = is_known ? of->slot[i] : &none;
        n[i] = slot[i]->n;
        hints->is_known[i] = is_known ? -1 : 0;
    }
    hints->n = turn(&w->a->pose.R, false, cri_l3_load(n));
    hints->offset = (cri_lane){slot[0]->offset, slot[1]->offset, slot[2]->offset, slot[3]->offset} -
                    cri_l3_dot(hints->n, cri_l3_of(w->between));
}

static void remember(const walk *w, const quartet *of, const cri_plane_lanes *p) {
    if (!of->slot[0]) {
        return;
    }
    cri_lane3 n = turn(&w->a->pose.R, true, p->n);
    cri_lane offset = -cri_l3_dot(p->n, cri_l3_sub(p->c, cri_l3_of(w->between)));
    for (int i = 0; i < of->n; i++) {
        of->slot[i]->key = of->key[i];
        of->slot[i]->age = w->warm->age;
        cri_v3_store(cri_l3_get(&n, i), of->slot[i]->n);
        of->slot[i]->offset = offset[i];
    }
}

// ---- planes and forces -------------------------------------------------------------------------

static void gather(walk *w, quartet *of, lanes *x) {
    const cri_sphere_tree *ta = w->a->tree, *tb = w->b->tree;
    of->n = w->n_late;
    for (int i = 0; i < CRI_LANES; i++) {
        const cri_leaf_pair *pair = &w->late[i < of->n ? i : 0];
        of->triangle[i][0] = ta->leaf[pair->leaf.first];
        of->triangle[i][1] = tb->leaf[pair->leaf.second];
        of->corner[i][0] = ta->triangle + 3 * (size_t)of->triangle[i][0];
        of->corner[i][1] = tb->triangle + 3 * (size_t)of->triangle[i][1];
        of->index[i] = pair->shell;
        of->in[i] = &w->shells[pair->shell];
        of->slot[i] =
            slot_of(w->warm, tb->n_triangle, of->triangle[i][0], of->triangle[i][1], &of->key[i]);
        x->weight[i] = i < of->n ? of->in[i]->inner : 0.0;
    }
    for (int k = 0; k < 6; k++) {
        const double *from = k < 3 ? w->a->r : w->b->r;
        const double *at[CRI_LANES];
        for (int i = 0; i < CRI_LANES; i++) {
            at[i] = from + 3 * (size_t)of->corner[i][k / 3][k % 3];
        }
        x->r[k] = cri_l3_load(at);
    }
}

/// As cri_plane_forces.
static void set_forces(double ell, lanes *x) {
    static const double sqrt_12 = 3.46410161513775458705;
    cri_lane root = cri_lane_sqrt(ell * x->plane.W), over = 1.0 / (sqrt_12 + root);
    cri_lane z = root * over, rest = sqrt_12 * over;
    x->excess = root * (2.0 * sqrt_12 + root);
    x->ratio = z / ell;
    x->scale = 0.5 * rest * x->ratio / x->plane.W;
    cri_lane inverse = 1.0 / x->ratio;
    for (int k = 0; k < 6; k++) {
        x->q[k] = x->plane.inverse[k] * x->plane.inverse[k] * inverse;
        x->h[k] = 2.0 * x->q[k] * x->plane.inverse[k];
    }
}

static void force_of_lane(const lanes *x, int lane, cri_plane_force *out) {
    cri_plane_of_lane(&x->plane, lane, &out->plane);
    out->excess = x->excess[lane];
    out->value = 12.0 + out->excess;
    out->ratio = x->ratio[lane];
    out->scale = x->scale[lane];
    for (int k = 0; k < 6; k++) {
        out->q[k] = x->q[k][lane];
        out->h[k] = x->h[k][lane];
    }
}

/// Solves for the planes. False when triangles touch.
static bool solve(const walk *w, const quartet *of, lanes *x) {
    cri_plane_hints hints;
    cri_lane3 corner[6], between = cri_l3_of(w->between);
    for (int k = 0; k < 6; k++) {
        corner[k] = k < 3 ? cri_l3_add(x->r[k], between) : x->r[k];
    }
    recall(w, of, &hints);
    cri_mask is_found = cri_plane_solve_lanes(corner, &hints, &x->plane);
    if (cri_mask_any(~is_found)) {
        return false;
    }
    remember(w, of, &x->plane);
    set_forces(w->options->ell, x);
    return true;
}

// ---- what they add -----------------------------------------------------------------------------

/// Derivatives of the weight of a near pair in the shells around it, innermost at.
static void weigh(const walk *w, int at, cri_longrange_near *near) {
    double *grad = near->weight_grad;
    int chain[CRI_LONGRANGE_SHELLS], n = w->shells[at].depth;
    CR_ASSERT(n < CRI_LONGRANGE_SHELLS);
    for (int i = n; i-- > 0; at = w->shells[at].around) {
        chain[i] = at;
    }
    for (int i = 0; i < n; i++) {
        const shell *s = &w->shells[chain[i]];
        const cri_longrange_line *line = &s->line;
        double slope = -s->phi[1];
        for (int k = 0; k < n; k++) {
            slope *= k == i ? 1.0 : 1.0 - w->shells[chain[k]].phi[0];
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

/// Velocity of a point of body k at r from its position.
static cri_vec3 velocity(const cri_longrange_shape *shape, int k, cri_vec3 r) {
    const double *l = shape->motion + 6 * k;
    return cri_v3_add(cri_v3_load(l + 3), cri_v3_cross(cri_v3_load(l), r));
}

/// A gradient f with its rate at a point of body k.
static void push_point(const walk *w, int k, cri_vec3 f, cri_vec3 f_tan, double *out) {
    const cri_longrange_shape *shape = w->shape;
    cri_vec3 turned = cri_v3_cross(f, cri_v3_load(shape->motion + 6 * k));
    cri_v3_accumulate(cri_v3_add(cri_v3_mad(f_tan, shape->value_adj, f), turned), out);
}

static void longrange_shape_exact(walk *w, int in, const int va[3], const int vb[3],
                                  const cri_plane_force *f) {
    shell *top = &w->shells[in];
    double x_tan[18], g_tan[18], value_tan;
    for (int k = 0; k < 3; k++) {
        cri_vec3 ra = cri_v3_load(w->a->r + 3 * (size_t)va[k]);
        cri_vec3 rb = cri_v3_load(w->b->r + 3 * (size_t)vb[k]);
        cri_v3_store(velocity(w->shape, 0, ra), x_tan + 3 * k);
        cri_v3_store(velocity(w->shape, 1, rb), x_tan + 9 + 3 * k);
    }
    cri_plane_potential_jvp(f, x_tan, &value_tan, g_tan);
    top->value_tan += value_tan;
    for (int k = 0; k < 6; k++) {
        int side = k / 3;
        cri_vec3 g = cri_v3_scale(side ? f->q[k] : -f->q[k], f->plane.n);
        cri_vec3 f_tan =
            cri_v3_mad(cri_v3_scale(top->inner_tan, g), top->inner, cri_v3_load(g_tan + 3 * k));
        push_point(w, side, cri_v3_scale(top->inner, g), f_tan,
                   w->shape->vertex[side] + 3 * (size_t)(side ? vb[k - 3] : va[k]));
    }
}

/// To whom takes or differentiates single pairs.
static void hand_on(walk *w, const quartet *of, const lanes *x) {
    for (int i = 0; i < of->n; i++) {
        cri_plane_force f;
        force_of_lane(x, i, &f);
        if (w->shape) {
            longrange_shape_exact(w, of->index[i], of->corner[i][0], of->corner[i][1], &f);
        }
        if (w->taker) {
            cri_longrange_near near = {.triangle = {of->triangle[i][0], of->triangle[i][1]},
                                       .weight = of->in[i]->inner,
                                       .force = &f};
            weigh(w, of->index[i], &near);
            w->taker->take(w->taker->context, &near);
        }
    }
}

static void note(walk *w, const quartet *of, const lanes *x) {
    const cri_lane *s = x->plane.s;
    cri_lane room = cri_lane_smaller(s[0], cri_lane_smaller(s[1], s[2])) +
                    cri_lane_smaller(s[3], cri_lane_smaller(s[4], s[5]));
    for (int i = 0; i < of->n; i++) {
        w->out->n_step += (int)x->plane.n_step[i];
        w->out->worst_gap = cri_larger(w->out->worst_gap, fabs(x->plane.gap[i]));
        w->out->gap = cri_smaller(w->out->gap, room[i]);
    }
}

/// Solves the exact pairs that wait. False when triangles touch.
static bool longrange_solve_late(walk *w) {
    if (w->n_late == 0) {
        return true;
    }
    quartet of;
    lanes x;
    gather(w, &of, &x);
    w->n_late = 0;
    if (!solve(w, &of, &x)) {
        return false;
    }
    note(w, &of, &x);
    double constant = w->options->has_constant ? 12.0 : 0.0;
    for (int i = 0; i < of.n; i++) {
        of.in[i]->part.value += x.excess[i] + constant;
    }
    if (w->order >= CRI_LONGRANGE_GRADIENT) {
        cri_lane part[21];
        longrange_pair_gradients(&x, part);
        for (int i = 0; i < of.n; i++) {
            cri_affine_gradient *sum = &of.in[i]->part.affine;
            for (int k = 0; k < 3; k++) {
                sum->F[k] += part[k][i];
            }
            for (int k = 0; k < 9; k++) {
                sum->N[0][k] += part[3 + k][i];
                sum->N[1][k] += part[12 + k][i];
            }
        }
    }
    if (w->order >= CRI_LONGRANGE_HESSIAN) {
        longrange_add_pair_hessians(&x, &w->sum, &w->out->poles);
    }
    if (w->shape || w->taker) {
        hand_on(w, &of, &x);
    }
    return true;
}

// ---- two sphere trees ---------------------------------------------------------------------------

cri_longrange_options cri_longrange_default(void) {
    return (cri_longrange_options){.ell = 1.0, .eps = 0.1, .has_constant = true};
}

cr_status cri_longrange_check(const cri_longrange_options *options, cr_error *err) {
    if (!(options->ell > 0.0) || !isfinite(options->ell)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "ell is %g; it is a length, positive and finite",
                        options->ell);
    }
    if (!(options->eps > 0.0) || !isfinite(options->eps)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "eps is %g; it is the relative width of a shell, positive and finite",
                        options->eps);
    }
    return CR_OK;
}

bool cri_longrange_place(const cri_sphere_tree *tree, const double *vertex, const cri_pose *pose,
                         cr_arena *arena, cri_longrange_body *out) {
    cri_longrange_node *node = CR_PUSH_RAW(arena, cri_longrange_node, tree->n_node);
    double *r = CR_PUSH_RAW(arena, double, 3 * (size_t)tree->n_vertex);
    if (!node || !r) {
        return false;
    }
    for (int i = 0; i < tree->n_node; i++) {
        cri_vec3 c = cri_v3_load(tree->centre + 3 * (size_t)i);
        cri_v3_store(cri_m3_mul(&pose->R, c), node[i].r);
        node[i].radius = tree->radius[i];
    }
    for (int i = 0; i < tree->n_vertex; i++) {
        cri_vec3 v = cri_v3_load(vertex + 3 * (size_t)i);
        cri_v3_store(cri_m3_mul(&pose->R, v), r + 3 * (size_t)i);
    }
    *out = (cri_longrange_body){tree, *pose, node, r, vertex};
    return true;
}

// ---- terms -------------------------------------------------------------------------------------

static double constant_of(const walk *w) {
    return w->options->has_constant ? 12.0 : 0.0;
}

/// The centred potential of nodes i, j at a distance.
static void centred_of(const walk *w, int i, int j, double L, double C[3]) {
    const cri_sphere_tree *a = w->a->tree, *b = w->b->tree;
    cri_longrange_clusters clusters = w->options->clusters;
    double count = 1.0;
    if (clusters == CRI_CLUSTERS_COUNTED) {
        count = ldexp(1.0, a->height[i] < b->height[j] ? a->height[i] : b->height[j]);
    } else if (clusters == CRI_CLUSTERS_WHOLE) {
        count = (double)a->n_leaf[i] * b->n_leaf[j];
        L += w->a->node[i].radius + w->b->node[j].radius;
    }
    cri_centred_potential(L, w->options->ell, C);
    C[0] += constant_of(w);
    for (int k = 0; k < 3; k++) {
        C[k] *= count;
    }
}

/// Rates of distance and direction.
static double line_rate(const walk *w, const cri_longrange_line *line, cri_vec3 *u_tan) {
    cri_vec3 dx = cri_v3_sub(velocity(w->shape, 0, line->ra), velocity(w->shape, 1, line->rb));
    double L_tan = cri_v3_dot(line->u, dx);
    *u_tan = cri_v3_scale(1.0 / line->L, cri_v3_mad(dx, -L_tan, line->u));
    return L_tan;
}

/// The gradient s u, with its rate, on the centre of the first node, and against it on the second.
static void push_line(const walk *w, cri_node_pair node, cri_vec3 f, cri_vec3 f_tan) {
    push_point(w, 0, f, f_tan, w->shape->centre[0] + 3 * (size_t)node.first);
    push_point(w, 1, cri_v3_scale(-1.0, f), cri_v3_scale(-1.0, f_tan),
               w->shape->centre[1] + 3 * (size_t)node.second);
}

/// The derivative in the sum of two radii.
static void push_radii(const walk *w, cri_node_pair node, double adj) {
    w->shape->radius[0][node.first] += adj;
    w->shape->radius[1][node.second] += adj;
}

/// What a term adds to the adjoints of the shape; in: the shell of an exact pair.
static void longrange_shape_centred(walk *w, cri_node_pair node, const cri_longrange_line *line,
                                    const double C[3]) {
    shell *top = &w->shells[w->top];
    cri_vec3 u_tan;
    double L_tan = line_rate(w, line, &u_tan);
    double s = top->inner * C[1];
    double s_tan = top->inner_tan * C[1] + top->inner * C[2] * L_tan;
    top->value_tan += C[1] * L_tan;
    push_line(w, node, cri_v3_scale(s, line->u),
              cri_v3_mad(cri_v3_scale(s_tan, line->u), s, u_tan));
    if (w->options->clusters == CRI_CLUSTERS_WHOLE) {
        push_radii(w, node, w->shape->value_adj * s + s_tan);
    }
}

static void add_centred(walk *w, int i, int j, const cri_longrange_line *line) {
    shell *top = &w->shells[w->top];
    double C[3];
    centred_of(w, i, j, line->L, C);
    w->out->n_centred++;
    top->part.value += C[0];
    if (w->order >= CRI_LONGRANGE_GRADIENT) {
        longrange_add_line(line, C[1], &top->part.affine);
    }
    if (w->order >= CRI_LONGRANGE_HESSIAN) {
        double beta = C[1] / line->L;
        longrange_add_moments(line, top->inner * (C[2] - beta), top->inner * beta, &w->sum);
    }
    if (w->shape) {
        longrange_shape_centred(w, (cri_node_pair){i, j}, line, C);
    }
}

/// Two leaves wait for their plane. False when triangles touch.
static bool add_exact(walk *w, int i, int j) {
    w->out->n_exact++;
    if (w->is_counting) {
        w->n_near_shell += w->shells[w->top].depth;
        return true;
    }
    w->late[w->n_late++] = (cri_leaf_pair){{i, j}, w->top};
    return w->n_late < CRI_LANES || longrange_solve_late(w);
}

static void longrange_shape_open(const walk *w, shell *s) {
    const shell *around = &w->shells[s->around];
    s->value_tan = 0.0;
    s->outer_tan = around->inner_tan;
    s->L_tan = line_rate(w, &s->line, &s->u_tan);
    s->inner_tan = s->outer_tan * (1.0 - s->phi[0]) - s->outer * s->phi[1] * s->L_tan;
}

// ---- shells ------------------------------------------------------------------------------------

static void open_shell(walk *w, int i, int j, const cri_longrange_line *line, double d1) {
    CR_ASSERT(w->n_shell < CRI_LONGRANGE_POOL);
    shell *s = &w->shells[w->n_shell];
    const shell *around = &w->shells[w->top];
    memset(&s->part, 0, sizeof s->part);
    s->around = w->top;
    s->depth = around->depth + 1;
    s->is_done = false;
    s->outer = around->inner;
    w->top = w->n_shell++;
    s->line = *line;
    s->node = (cri_node_pair){i, j};
    centred_of(w, i, j, line->L, s->C);
    cri_blend_weight(line->L, d1, (1.0 + w->options->eps) * d1, s->phi);
    s->inner = s->outer * (1.0 - s->phi[0]);
    if (w->shape) {
        longrange_shape_open(w, s);
    }
}

/// out += s a
static void add_scaled(double s, const cri_affine_gradient *a, cri_affine_gradient *out) {
    for (int i = 0; i < 3; i++) {
        out->F[i] += s * a->F[i];
    }
    for (int i = 0; i < 9; i++) {
        out->N[0][i] += s * a->N[0][i];
        out->N[1][i] += s * a->N[1][i];
    }
}

static void longrange_shape_close(walk *w, const shell *s) {
    shell *around = &w->shells[s->around];
    const double *C = s->C, *phi = s->phi;
    double L = s->line.L, L_tan = s->L_tan;
    double fall = C[0] - s->part.value;
    double fall_tan = C[1] * L_tan - s->value_tan;
    around->value_tan += s->value_tan + phi[0] * fall_tan + fall * phi[1] * L_tan;

    // on the centres
    double k = phi[0] * C[1] + fall * phi[1];
    double k_tan = (phi[1] * C[1] + phi[0] * C[2] + fall * phi[2]) * L_tan + fall_tan * phi[1];
    double f = s->outer * k, f_tan = s->outer_tan * k + s->outer * k_tan;
    push_line(w, s->node, cri_v3_scale(f, s->line.u),
              cri_v3_mad(cri_v3_scale(f_tan, s->line.u), f, s->u_tan));

    // on the radii
    double d1 = w->a->node[s->node.first].radius + w->b->node[s->node.second].radius;
    double slope = -phi[1] * L / d1;
    double slope_tan = -(phi[2] * L + phi[1]) / d1 * L_tan;
    double adj = w->shape->value_adj * s->outer * fall * slope + s->outer_tan * fall * slope +
                 s->outer * (fall_tan * slope + fall * slope_tan);
    push_radii(w, s->node, adj);
    if (w->options->clusters == CRI_CLUSTERS_WHOLE) {
        double own = phi[0] * C[1], own_tan = (phi[1] * C[1] + phi[0] * C[2]) * L_tan;
        push_radii(w, s->node,
                   (w->shape->value_adj * s->outer + s->outer_tan) * own + s->outer * own_tan);
    }
}

static void close_shell(walk *w, const shell *s) {
    shell *around = &w->shells[s->around];
    const double *C = s->C, *phi = s->phi;
    double fall = C[0] - s->part.value;
    double k = phi[0] * C[1] + fall * phi[1];
    w->out->worst_drop = fmax(w->out->worst_drop, C[0] / s->part.value);
    around->part.value += s->part.value + phi[0] * fall;
    if (w->order >= CRI_LONGRANGE_GRADIENT) {
        add_scaled(1.0 - phi[0], &s->part.affine, &around->part.affine);
        longrange_add_line(&s->line, k, &around->part.affine);
    }
    if (w->order >= CRI_LONGRANGE_HESSIAN) {
        double g[12];
        double alpha = phi[0] * C[2] + fall * phi[2] + 2.0 * phi[1] * C[1];
        double beta = k / s->line.L;
        cri_longrange_charts(&s->part.affine, g);
        longrange_add_moments(&s->line, s->outer * (alpha - beta), s->outer * beta, &w->sum);
        longrange_add_product(&s->line, -s->outer * phi[1], g, &w->sum);
    }
    if (w->shape) {
        longrange_shape_close(w, s);
    }
}

/// Adds what waits and all shells that are done to what is around them; open ones move up. False
/// when triangles touch.
static bool settle(walk *w) {
    if (!longrange_solve_late(w)) {
        return false;
    }
    for (int i = w->n_shell - 1; i > 0; i--) {
        if (w->shells[i].is_done) {
            close_shell(w, &w->shells[i]);
        }
    }
    int n = 1;
    for (int i = 1; i < w->n_shell; i++) {
        if (!w->shells[i].is_done) {
            w->shells[n] = w->shells[i];
            w->shells[n].around = n - 1;
            n++;
        }
    }
    w->n_shell = n;
    w->top = n - 1;
    return true;
}

static void leave_shell(walk *w) {
    w->shells[w->top].is_done = true;
    w->top = w->shells[w->top].around;
}

// ---- the walk ----------------------------------------------------------------------------------

static void wait_for(walk *w, int i, int j) {
    CR_ASSERT(w->n_wait < CRI_LONGRANGE_WAITS);
    w->waits[w->n_wait++] = (cri_node_pair){i, j};
}

/// Children of both, or those of the one that has any; the first pair on top.
static void wait_for_children(walk *w, int i, int j) {
    int ra = w->a->tree->right[i], rb = w->b->tree->right[j];
    if (ra && rb) {
        wait_for(w, ra, rb);
        wait_for(w, ra, j + 1);
        wait_for(w, i + 1, rb);
        wait_for(w, i + 1, j + 1);
    } else if (ra) {
        wait_for(w, ra, j);
        wait_for(w, i + 1, j);
    } else {
        wait_for(w, i, rb);
        wait_for(w, i, j + 1);
    }
}

/// One pair of nodes. False when triangles touch.
static bool visit(walk *w, int i, int j) {
    const cri_longrange_node *a = w->a->node + i, *b = w->b->node + j;
    cri_longrange_line line = {0, {0, 0, 0}, cri_v3_load(a->r), cri_v3_load(b->r)};
    cri_vec3 d = cri_v3_add(w->between, cri_v3_sub(line.ra, line.rb));
    double L2 = cri_v3_dot(d, d);
    double d1 = a->radius + b->radius;
    double d2 = (1.0 + w->options->eps) * d1;
    w->out->n_visit++;
    bool is_open = false;
    if (L2 > d1 * d1 && !w->options->is_brute) {
        line.L = sqrt(L2);
        line.u = cri_v3_scale(1.0 / line.L, d);
        if (L2 >= d2 * d2) {
            add_centred(w, i, j, &line);
            return true;
        }
        if (w->n_shell == CRI_LONGRANGE_POOL && !settle(w)) {
            return false;
        }
        open_shell(w, i, j, &line, d1);
        is_open = true;
    }
    if (!w->a->tree->right[i] && !w->b->tree->right[j]) {
        bool is_apart = add_exact(w, i, j);
        if (is_open) {
            leave_shell(w);
        }
        return is_apart;
    }
    if (is_open) {
        wait_for(w, -1, -1);
    }
    wait_for_children(w, i, j);
    return true;
}

/// Walks; false when triangles touch.
static bool longrange_walk_down(walk *w) {
    CR_ASSERT(w->options->ell > 0.0 && w->options->eps > 0.0);
    CR_ASSERT(!w->warm || (w->warm->n_slot & (w->warm->n_slot - 1)) == 0);
    w->between = cri_v3_sub(w->a->pose.pos, w->b->pose.pos);
    w->n_shell = 1;
    w->n_wait = 0;
    w->n_late = 0;
    w->top = 0;
    memset(&w->sum, 0, sizeof w->sum);
    memset(&w->shells[0], 0, sizeof w->shells[0]);
    w->shells[0].inner = 1.0;
    memset(w->out, 0, offsetof(cri_longrange_result, poles.at));
    w->out->gap = INFINITY;
    wait_for(w, 0, 0);
    while (w->n_wait > 0) {
        cri_node_pair next = w->waits[--w->n_wait];
        if (next.first < 0) {
            leave_shell(w);
        } else if (!visit(w, next.first, next.second)) {
            return false;
        }
    }
    return settle(w);
}

/// All but the stacks, which are large.
static void begin(walk *w, const cri_longrange_options *options, const cri_longrange_body *a,
                  const cri_longrange_body *b, cri_longrange_order order, cri_longrange_warm *warm,
                  cri_longrange_result *out) {
    w->options = options;
    w->a = a;
    w->b = b;
    w->order = order;
    w->warm = warm;
    w->shape = NULL;
    w->taker = NULL;
    w->is_counting = false;
    w->out = out;
}

void cri_longrange_pair(const cri_longrange_options *options, const cri_longrange_body *a,
                        const cri_longrange_body *b, cri_longrange_order order,
                        cri_longrange_warm *warm, cri_longrange_result *out) {
    walk w;
    begin(&w, options, a, b, order, warm, out);
    if (!longrange_walk_down(&w)) {
        out->value = INFINITY;
        return;
    }
    out->value = w.shells[0].part.value;
    out->affine = w.shells[0].part.affine;
    cri_longrange_charts(&out->affine, out->g);
    if (order >= CRI_LONGRANGE_HESSIAN) {
        longrange_expand(&w.sum, out->H);
    }
}

bool cri_longrange_list(const cri_longrange_options *options, const cri_longrange_body *a,
                        const cri_longrange_body *b, cri_longrange_warm *warm,
                        const cri_longrange_taker *taker) {
    cri_longrange_result out;
    walk w;
    begin(&w, options, a, b, CRI_LONGRANGE_VALUE, warm, &out);
    w.taker = taker;
    return longrange_walk_down(&w);
}

void cri_longrange_count(const cri_longrange_options *options, const cri_longrange_body *a,
                         const cri_longrange_body *b, int *n_near, int *n_shell) {
    cri_longrange_result out;
    walk w;
    begin(&w, options, a, b, CRI_LONGRANGE_VALUE, NULL, &out);
    w.is_counting = true;
    w.n_near_shell = 0;
    (void)longrange_walk_down(&w);
    *n_near = out.n_exact;
    *n_shell = w.n_near_shell;
}

/// y += D x, D the derivative of g, or its transpose.
static void chart_product(const cri_longrange_result *r, bool is_turned, const double x[12],
                          double y[12]) {
    for (int i = 0; i < 144; i++) {
        y[i / 12] += r->H[i] * x[i % 12];
    }
    cri_affine_turn(r->affine.N[0], is_turned, x, y);
    cri_affine_turn(r->affine.N[1], is_turned, x + 6, y + 6);
}

void cri_longrange_pair_vjp(const cri_longrange_result *cache, double value_adj,
                            const double g_adj[12], double pose_adj[12]) {
    chart_product(cache, true, g_adj, pose_adj);
    for (int i = 0; i < 12; i++) {
        pose_adj[i] += cache->g[i] * value_adj;
    }
}

void cri_longrange_pair_jvp(const cri_longrange_result *cache, const double pose_tan[12],
                            double *value_tan, double g_tan[12]) {
    memset(g_tan, 0, 12 * sizeof *g_tan);
    chart_product(cache, false, pose_tan, g_tan);
    *value_tan = 0.0;
    for (int i = 0; i < 12; i++) {
        *value_tan += cache->g[i] * pose_tan[i];
    }
}

// ---- derivatives in the vertices ----------------------------------------------------------------

// Derivatives of the long-range potential in the vertices of the meshes: of its value, and of its
// gradient along a motion l of both bodies, which an adjoint of the gradient is.
//
// A part of the potential with a path weight W = prod (1 - phi) gives a point the gradient f. Along
// l it changes by df, and a point of the body's own frame gets R' (c f + df + f x l_w), c the
// adjoint of the value: frames turn with their bodies. Nothing but W, the values A of open shells
// and their rates along l is carried down and up:
//
//   centred   f = W C' u,  df = (dW C' + W C'' dL) u + W C' du      dL = u . dx, du = (dx - u dL)/L
//   exact     f = W g,     df = dW g + W H dx
//   shell     f = W k u,   k = phi C' + (C - A) phi',  dk = ..., and, as phi depends on L/d1 alone,
//             for the radii W (C - A) (-phi' L/d1)
//   whole     C is that at L + d1: for the radii W C' of a centred term, W phi C' in a shell
//
// Centres are means of vertices and radii distances: cri_sphere_tree_fit_vjp takes them on.

/// Turns n vectors into a body's own frame.
static void turn_back(const cri_mat3 *R, int n, double *a) {
    for (int i = 0; i < n; i++) {
        cri_v3_store(cri_m3_tmul(R, cri_v3_load(a + 3 * (size_t)i)), a + 3 * (size_t)i);
    }
}

/// From world positions of a body to its vertices.
static void collect(const cri_longrange_body *body, const cri_longrange_shape *shape, int k,
                    const cri_longrange_shape_adj *adj, cr_arena *scratch) {
    const cri_sphere_tree *tree = body->tree;
    turn_back(&body->pose.R, tree->n_vertex, shape->vertex[k]);
    turn_back(&body->pose.R, tree->n_node, shape->centre[k]);
    for (int i = 0; i < 3 * tree->n_vertex; i++) {
        adj->vertex_adj[k][i] += shape->vertex[k][i];
    }
    if (!adj->has_spheres) {
        memset(shape->radius[k], 0, (size_t)tree->n_node * sizeof(double));
    }
    cri_sphere_tree_fit_vjp(tree, body->vertex, shape->centre[k], shape->radius[k],
                            adj->vertex_adj[k], scratch);
}

bool cri_longrange_shape_vjp(const cri_longrange_options *options, const cri_longrange_body body[2],
                             cri_longrange_warm *warm, double value_adj, const double g_adj[12],
                             const cri_longrange_shape_adj *adj, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_longrange_result out;
    cri_longrange_shape shape = {.value_adj = value_adj, .motion = g_adj};
    size_t n_most = 0;
    for (int k = 0; k < 2; k++) {
        size_t n_node = (size_t)body[k].tree->n_node;
        shape.vertex[k] = CR_PUSH(scratch, double, 3 * (size_t)body[k].tree->n_vertex);
        shape.centre[k] = CR_PUSH(scratch, double, 3 * n_node);
        shape.radius[k] = CR_PUSH(scratch, double, n_node);
        n_most = n_node > n_most ? n_node : n_most;
    }
    // two pushes of the spheres' own
    bool is_done = !cri_arena_has_failed(scratch) &&
                   cri_arena_reserve(scratch, 4 * n_most * sizeof(double) + 64);
    if (is_done) {
        cri_longrange_walk w = {.options = options,
                                .a = &body[0],
                                .b = &body[1],
                                .order = CRI_LONGRANGE_VALUE,
                                .warm = warm,
                                .shape = &shape,
                                .out = &out};
        is_done = longrange_walk_down(&w);
    }
    for (int k = 0; is_done && k < 2; k++) {
        collect(&body[k], &shape, k, adj, scratch);
    }
    cri_arena_rewind(scratch, mark);
    return is_done;
}
