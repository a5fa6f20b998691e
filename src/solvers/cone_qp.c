// SPDX-License-Identifier: MIT
//
// Nesterov-Todd predictor-corrector in the unit cone Q = { g : |g_t| <= g_n }, f = S g with
// S = diag(1, mu, mu), which has no 1/mu and no case for mu = 0.
//
//   P = S A S, q = S c;   multipliers z in Q, and y > 0 of s = g_n - l where l > 0
//   residual P g + q - z - y e_n,    k = (g'z + s'y)/(contacts + bounds)
//   scaling V of each contact, V z = V^-1 g = lam, V^-2 = (2 Jw (Jw)' - J)/eta^2
//     w = (g' + J z')/(2 gam), eta^2 = |g|/|z|, gam^2 = (1 + g'.z')/2
//     J = diag(1, -1, -1), |x|^2 = x'Jx, x' = x/|x|
//   H = P + V^-2 + diag(y/s) + d 1                     one factor for predictor and corrector
//   predictor    H dg = -(P g + q),                    V dz = -lam - V^-1 dg
//   corrector    H dg = -(P g + q) + V^-1 b + b_y e_n, V dz = -lam - V^-1 dg + b
//     b = lam \ (sigma k e - (V^-1 dg) o (V dz)),      b_y = (sigma k - dg_n dy)/s
//     of the predictor's dg, dz, dy
//
// with x o y = (x'y, x_n y_t + y_n x_t), and \ its inverse. g stays feasible. The step goes 0.99 of
// the way to the boundary, found in the scaled variables, where g and z are the same point lam.
//
// Bodies wedged between contacts have no strictly feasible dual and thus no central path, and A is
// singular for redundant ones: d 1 is a proximal term around the point itself, which vanishes with
// the step, so that the answer has no trace of it. Entries of V^-2 grow to 1/k where a contact
// slides, and rounding keeps residuals from falling far below 1e-11. H has the graph of A: where
// that is sparse, so are P, H and the factor (base/math/sparse_ldlt.h).
// Source: Vandenberghe, "The CVXOPT linear and quadratic cone program solvers" (2010).

#include "solvers/cone_qp.h"

#include "base/base.h"
#include "base/math/cholesky.h"
#include "base/math/dense.h"
#include "solvers/friction_sparse.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    N_ITERATION = 60, // most problems take 8, mass ratios of a million 40
    N_DEEP = 120,     // the same for a gap below deep
    N_IDLE = 8,       // iterations without a better point, near the end
};

static const double prox = 1e-11;
static const double to_boundary = 0.99;
static const double least_sigma = 1e-6;
static const double least_step = 1e-9;
static const double near_end = 1e-6; // of gap and residual; before, both may rise for long
static const double deep = 1e-12;    // gap below which residuals are rounding, and the gap counts

/// Scaling of a contact at its g and z, and its step. The point is lam = root (x0, x1, x2).
typedef struct block {
    double w[3], fold;        // fold = 1/(1 + w_n)
    double eta_inv;           // 1/eta
    double x[3], lift, x_inv; // x'Jx = 1, lift = 1/(1 + x_n), x_inv = 1/x_n
    double root, root_inv;    // of lam'J lam = |g||z|
    double b[3], b_y;         // second order terms, 0 in the predictor
    double dg[3], dz[3];      // V^-1 dg, V dz
    double s_inv, y_s, dy;    // 1/s, y/s and step of the bound; 0 without one
} block;

/// Where A has a graph (friction_sparse.h): its rows, and the factor along them.
typedef struct graph {
    cri_pattern row; // of 3n rows
    int *own;        // (3n) where the diagonal block begins in each row
    cri_fill fill;
    cri_ldlt ldlt;
} graph;

typedef struct interior {
    int n;
    double *P;     // (3n, 3n), or entries of the graph
    double *H;     // (3n, 3n), upper triangle: the factor; or entries of the graph
    graph *sparse; // NULL: dense
    double *q, *g, *z, *y;
    double *minus_u; // (3n) -(P g + q)
    double *step;    // (3n) dg
    double *best;    // (3n) g of the best point
    const double *l;
    block *contact; // (n)
    double gap;     // g'z + s'y
    int degree;     // contacts and bounds
} interior;

// entries of L below the diagonal, with n_below blocks
static int most_below(int n, int n_below) {
    return 3 * n + 9 * n_below;
}

size_t cri_cone_interior_bytes(int n) {
    size_t m = 3 * (size_t)n, sparse = 0;
    if (cri_blocks_bytes(n) > 0) {
        // half of the blocks, in A and in the factor
        int n_entry = 9 * n * n / 2, n_most = most_below(n, n * n / 4);
        sparse = sizeof(graph) + sizeof(int) * ((size_t)n_entry + 3 * m + 1) +
                 cri_fill_bytes(3 * n, n_entry, n_most) + cri_ldlt_bytes(3 * n, n_most);
    }
    return sizeof(double) * (2 * m * m + 6 * m + (size_t)n) + sizeof(block) * (size_t)n + sparse +
           256;
}

// ---- one cone ----------------------------------------------------------------------------------

// square root of x'Jx; negative or NaN when x is not strictly inside
static double size_in_cone(const double x[3]) {
    double r = sqrt(x[1] * x[1] + x[2] * x[2]);
    return x[0] > r ? sqrt((x[0] - r) * (x[0] + r)) : -1.0;
}

// out = V^-1 d
static void unscale(const block *b, const double d[3], double out[3]) {
    const double *w = b->w;
    double dot = w[1] * d[1] + w[2] * d[2];
    double along = dot * b->fold - d[0];
    out[0] = b->eta_inv * (w[0] * d[0] - dot);
    out[1] = b->eta_inv * (d[1] + along * w[1]);
    out[2] = b->eta_inv * (d[2] + along * w[2]);
}

// the scaling at g and z; false when one of them is not strictly inside
static bool scale_block(const double g[3], const double z[3], block *b) {
    double size_g = size_in_cone(g), size_z = size_in_cone(z);
    double det = size_g * size_z, det_inv = 1.0 / det;
    if (!(size_g > 0.0) || !(size_z > 0.0) || !(det > 0.0) || !isfinite(det + det_inv)) {
        return false;
    }
    double inv_g = size_z * det_inv, inv_z = size_g * det_inv;
    double a[3] = {g[0] * inv_g, g[1] * inv_g, g[2] * inv_g};
    double c[3] = {z[0] * inv_z, z[1] * inv_z, z[2] * inv_z};
    double gam = sqrt(0.5 * (1.0 + a[0] * c[0] + a[1] * c[1] + a[2] * c[2]));
    b->x_inv = 1.0 / gam;
    double half = 0.5 * b->x_inv;
    b->w[0] = half * (a[0] + c[0]);
    b->w[1] = half * (a[1] - c[1]);
    b->w[2] = half * (a[2] - c[2]);
    b->fold = 1.0 / (1.0 + b->w[0]);
    b->eta_inv = sqrt(size_z * inv_g);
    b->root = sqrt(det);
    b->root_inv = b->root * det_inv;
    // V z without cancellation
    double share = half * b->fold, of_a = share * (gam + c[0]), of_c = share * (gam + a[0]);
    b->x[0] = gam;
    b->x[1] = of_a * a[1] + of_c * c[1];
    b->x[2] = of_a * a[2] + of_c * c[2];
    b->lift = 1.0 / (1.0 + gam);
    return true;
}

// the inverse of the longest step along d from lam inside the cone; not positive for any length
static double inverse_step(const block *b, const double d[3]) {
    double first = b->x[0] * d[0] - b->x[1] * d[1] - b->x[2] * d[2];
    double back = (first + d[0]) * b->lift;
    double r1 = d[1] - back * b->x[1], r2 = d[2] - back * b->x[2];
    return b->root_inv * (sqrt(r1 * r1 + r2 * r2) - first);
}

// b = lam \ (target e - dg o dz)
static void second_order(block *b, double target) {
    const double *p = b->dg, *q = b->dz, *x = b->x;
    double c0 = target - p[0] * q[0] - p[1] * q[1] - p[2] * q[2];
    double c1 = -p[0] * q[1] - q[0] * p[1], c2 = -p[0] * q[2] - q[0] * p[2];
    double b0 = x[0] * c0 - x[1] * c1 - x[2] * c2, scale = b->root_inv;
    b->b[0] = scale * b0;
    b->b[1] = scale * (c1 - b0 * x[1]) * b->x_inv;
    b->b[2] = scale * (c2 - b0 * x[2]) * b->x_inv;
}

// ---- all of them -------------------------------------------------------------------------------

// the graph of rows, three a contact
static graph *expand(const cri_blocks *b, cr_arena *scratch) {
    int n = b->row.n, at = 0, n_entry = 9 * b->row.first[n];
    graph *g = CR_PUSH_RAW(scratch, graph, 1);
    int *first = CR_PUSH_RAW(scratch, int, n_entry + 9 * n + 1), *index = first + 3 * n + 1;
    int *order = index + n_entry;
    g->own = order + 3 * n;
    for (int i = 0; i < 3 * n; i++) {
        first[i] = at;
        order[i] = 3 * b->fill.order[i / 3] + i % 3;
        for (int e = b->row.first[i / 3]; e < b->row.first[i / 3 + 1]; e++) {
            if (b->row.index[e] == i / 3) {
                g->own[i] = at;
            }
            for (int k = 0; k < 3; k++) {
                index[at++] = 3 * b->row.index[e] + k;
            }
        }
    }
    first[3 * n] = at;
    g->row = (cri_pattern){.n = 3 * n, .first = first, .index = index};
    bool is_sparse =
        cri_fill_find(&g->row, order, most_below(n, b->fill.below_first[n]), &g->fill, scratch);
    CR_ASSERT(is_sparse);
    g->ldlt = cri_ldlt_push(&g->row, &g->fill, scratch);
    return g;
}

// P = S A S, q = S c
static void scale_data(const cri_friction *p, interior *s) {
    int m = 3 * p->n;
    const cri_pattern *row = s->sparse ? &s->sparse->row : NULL;
    for (int i = 0; i < m; i++) {
        const double *from = p->A + (size_t)i * (size_t)m;
        double *to = s->P + (row ? (size_t)row->first[i] : (size_t)i * (size_t)m);
        int n_entry = row ? row->first[i + 1] - row->first[i] : m;
        double S = i % 3 > 0 ? p->mu[i / 3] : 1.0;
        for (int e = 0; e < n_entry; e += 3) {
            int j = row ? row->index[row->first[i] + e] : e;
            double S_mu = S * p->mu[j / 3];
            to[e] = S * from[j];
            to[e + 1] = S_mu * from[j + 1];
            to[e + 2] = S_mu * from[j + 2];
        }
        s->q[i] = S * p->c[i];
    }
}

static interior start(const cri_friction *p, cr_arena *scratch) {
    int n = p->n, m = 3 * n;
    interior s = {.n = n, .l = p->l, .degree = n};
    s.sparse = p->blocks ? expand(p->blocks, scratch) : NULL;
    int n_entry = s.sparse ? s.sparse->row.first[m] : m * m;
    s.P = CR_PUSH_RAW(scratch, double, 2 * n_entry + 6 * m + n);
    s.contact = CR_PUSH_RAW(scratch, block, n);
    s.H = s.P + n_entry;
    s.q = s.H + n_entry;
    s.g = s.q + m;
    s.z = s.g + m;
    s.minus_u = s.z + m;
    s.step = s.minus_u + m;
    s.best = s.step + m;
    s.y = s.best + m;
    scale_data(p, &s);
    memset(s.g, 0, sizeof *s.g * 2 * (size_t)m); // and z
    for (int i = 0; i < n; i++) {
        CR_ASSERT(p->mu[i] >= 0.0 && p->l[i] >= 0.0);
        s.g[3 * i] = fmax(1.0, 2.0 * p->l[i]);
        s.z[3 * i] = 1.0;
        s.y[i] = p->l[i] > 0.0 ? 1.0 : 0.0;
        s.degree += p->l[i] > 0.0;
    }
    memcpy(s.best, s.g, sizeof *s.g * (size_t)m);
    return s;
}

// scalings and gap; false when the point is not strictly inside any more
static bool scale_all(interior *s) {
    s->gap = 0.0;
    for (int i = 0; i < s->n; i++) {
        block *b = &s->contact[i];
        const double *g = s->g + 3 * i, *z = s->z + 3 * i;
        if (!scale_block(g, z, b)) {
            return false;
        }
        s->gap += cri_dot(3, g, z);
        b->s_inv = b->y_s = b->dy = 0.0;
        if (s->l[i] > 0.0) {
            double slack = g[0] - s->l[i];
            if (!(slack > 0.0) || !(s->y[i] > 0.0)) {
                return false;
            }
            b->s_inv = 1.0 / slack;
            b->y_s = s->y[i] * b->s_inv;
            s->gap += s->y[i] * slack;
        }
    }
    return true;
}

// row i of P g
static double row_times_g(const interior *s, int i) {
    int m = 3 * s->n;
    if (!s->sparse) {
        return cri_dot(m, s->P + (size_t)i * (size_t)m, s->g);
    }
    const cri_pattern *row = &s->sparse->row;
    double sum = 0.0;
    for (int e = row->first[i]; e < row->first[i + 1]; e++) {
        sum += s->P[e] * s->g[row->index[e]];
    }
    return sum;
}

// minus_u; returns the largest residual
static double measure(interior *s) {
    int m = 3 * s->n;
    double worst = 0.0;
    for (int i = 0; i < m; i++) {
        double u = s->q[i] + row_times_g(s, i);
        double r = u - s->z[i] - (i % 3 == 0 ? s->y[i / 3] : 0.0);
        s->minus_u[i] = -u;
        worst = fmax(worst, fabs(r));
    }
    return worst;
}

// upper triangle of V^-2 + diag(y/s) + d 1 of a contact: 00, 01, 02, 11, 12, 22
static void own_terms(const block *b, double out[6]) {
    double e2 = b->eta_inv * b->eta_inv, twice = 2.0 * e2, own = e2 + prox;
    double w0 = b->w[0], w1 = b->w[1], w2 = b->w[2];
    out[0] = e2 * (w0 * w0 + w1 * w1 + w2 * w2) + prox + b->y_s;
    out[1] = -(twice * w0 * w1);
    out[2] = -(twice * w0 * w2);
    out[3] = twice * w1 * w1 + own;
    out[4] = twice * w1 * w2;
    out[5] = twice * w2 * w2 + own;
}

// H along the graph, factored
static bool factor_sparse(interior *s) {
    graph *g = s->sparse;
    memcpy(s->H, s->P, sizeof *s->H * (size_t)g->row.first[3 * s->n]);
    for (int i = 0; i < s->n; i++) {
        static const int term[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
        double own[6];
        own_terms(&s->contact[i], own);
        for (int k = 0; k < 9; k++) {
            s->H[g->own[3 * i + k / 3] + k % 3] += own[term[k]];
        }
    }
    return cri_ldlt_factor(&g->ldlt, s->H) < 0 && g->ldlt.n_negative == 0;
}

// H, factored
static bool factor(interior *s) {
    int m = 3 * s->n;
    if (s->sparse) {
        return factor_sparse(s);
    }
    for (int i = 0; i < m; i++) {
        size_t at = (size_t)i * (size_t)m + (size_t)i;
        memcpy(s->H + at, s->P + at, sizeof *s->H * (size_t)(m - i));
    }
    for (int i = 0; i < s->n; i++) {
        double *row = s->H + (size_t)(3 * i) * (size_t)m + 3 * i, own[6];
        own_terms(&s->contact[i], own);
        row[0] += own[0];
        row[1] += own[1];
        row[2] += own[2];
        row[m + 1] += own[3];
        row[m + 2] += own[4];
        row[2 * m + 2] += own[5];
    }
    return cri_cholesky_factor(m, s->H);
}

// Solves for the step, whose right side stands in step, and scales it. Returns the longest step
// that stays inside.
static double solve(interior *s) {
    double inverse = 1e-3; // no step is longer than 1e3
    if (s->sparse) {
        cri_ldlt_solve(&s->sparse->ldlt, 1, s->step);
    } else {
        cri_cholesky_solve(3 * s->n, s->H, s->step);
    }
    for (int i = 0; i < s->n; i++) {
        block *b = &s->contact[i];
        const double *dg = s->step + 3 * i;
        unscale(b, dg, b->dg);
        for (int r = 0; r < 3; r++) {
            b->dz[r] = b->b[r] - b->root * b->x[r] - b->dg[r];
        }
        inverse = fmax(inverse, fmax(inverse_step(b, b->dg), inverse_step(b, b->dz)));
        if (b->s_inv > 0.0) {
            b->dy = b->b_y - s->y[i] - b->y_s * dg[0];
            inverse = fmax(inverse, fmax(-dg[0] * b->s_inv, -b->dy / s->y[i]));
        }
    }
    return 1.0 / inverse;
}

// the step without second order terms; returns the target of the corrector
static double predict(interior *s) {
    memcpy(s->step, s->minus_u, sizeof *s->step * 3 * (size_t)s->n);
    for (int i = 0; i < s->n; i++) {
        block *b = &s->contact[i];
        b->b[0] = b->b[1] = b->b[2] = b->b_y = 0.0;
    }
    double length = fmin(1.0, solve(s)), product = 0.0;
    for (int i = 0; i < s->n; i++) {
        const block *b = &s->contact[i];
        product += cri_dot(3, b->dg, b->dz) + s->step[3 * i] * b->dy;
    }
    // gap at that point, as g'dz + z'dg = -g'z
    double left = 1.0 - length + length * length * product / s->gap;
    double share = fmin(1.0, fmax(0.0, left));
    return fmax(share * share * share, least_sigma) * s->gap / s->degree;
}

// the step with second order terms of the one before; returns its longest length
static double correct(interior *s, double target) {
    for (int i = 0; i < s->n; i++) {
        block *b = &s->contact[i];
        double *rhs = s->step + 3 * i, back[3];
        b->b_y = (target - rhs[0] * b->dy) * b->s_inv;
        second_order(b, target);
        unscale(b, b->b, back);
        rhs[0] = s->minus_u[3 * i] + back[0] + b->b_y;
        rhs[1] = s->minus_u[3 * i + 1] + back[1];
        rhs[2] = s->minus_u[3 * i + 2] + back[2];
    }
    return solve(s);
}

static void advance(interior *s, double length) {
    for (int i = 0; i < s->n; i++) {
        const block *b = &s->contact[i];
        double dz[3];
        unscale(b, b->dz, dz);
        for (int r = 0; r < 3; r++) {
            s->g[3 * i + r] += length * s->step[3 * i + r];
            s->z[3 * i + r] += length * dz[r];
        }
        s->y[i] += length * b->dy;
    }
}

// what a point is worth: the larger of gap and residual, of a deep search without the rounding
static double worth(const interior *s, double mean, double residual, bool is_deep) {
    double largest = 1.0;
    for (int i = 0; is_deep && i < 3 * s->n; i++) {
        largest = fmax(largest, fabs(s->g[i]));
    }
    bool is_rounding = is_deep && residual <= 64.0 * DBL_EPSILON * largest;
    return is_rounding ? mean : fmax(mean, residual);
}

cri_cone_report cri_cone_interior(const cri_friction *p, double gap, double *f, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && gap > 0.0 && f);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    bool is_deep = gap < deep;
    int m = 3 * p->n, idle = 0, n_most = is_deep ? N_DEEP : N_ITERATION;
    interior s = start(p, scratch);
    cri_cone_report report = {.gap = INFINITY, .residual = INFINITY};
    double best = INFINITY;
    // the last point that is strictly inside has been measured and is the best but for rounding
    while (scale_all(&s)) {
        double residual = measure(&s), mean = s.gap / s.degree;
        double value = worth(&s, mean, residual, is_deep);
        idle += best < near_end;
        if (value < best) {
            best = value;
            report.gap = mean;
            report.residual = residual;
            memcpy(s.best, s.g, sizeof *s.g * (size_t)m);
            idle = 0;
        }
        if (value <= gap || idle >= N_IDLE || report.n_iteration >= n_most || !factor(&s)) {
            break;
        }
        report.n_iteration++;
        double length = fmin(1.0, to_boundary * correct(&s, predict(&s)));
        if (!(length >= least_step) || !cri_all_finite(m, s.step)) {
            break;
        }
        advance(&s, length);
    }
    for (int i = 0; i < m; i++) {
        f[i] = (i % 3 > 0 ? p->mu[i / 3] : 1.0) * s.best[i];
    }
    cri_arena_rewind(scratch, mark);
    return report;
}
