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
#include "base/math/dense.h"
#include "base/math/dense_factor.h"
#include "solvers/friction.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { N_NEWTON = 100 }; // most take 5 to 20, of mass ratios of a million up to 80

// d: impulses that nothing holds grow to sqrt(kappa/d)
static const double prox = 1e-11;

// decrement at which a step is full and doubles the digits
static const double near_path = 0.1;

// Decrement that counts as centred if it does not fall any more. Rounding of the distance to the
// boundary, of size kappa, leaves one of size eps/kappa.
static const double centred = 1e-3;

enum {
    N_ITERATION = 60, // most problems take 8, mass ratios of a million 40
    N_DEEP = 120,     // the same for a gap below deep
    N_IDLE = 8,       // iterations without a better point, near the end
};

static const double to_boundary = 0.99;

static const double least_sigma = 1e-6;

static const double least_step = 1e-9;

static const double near_end = 1e-6; // of gap and residual; before, both may rise for long

static const double deep = 1e-12; // gap below which residuals are rounding, and the gap counts

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

/// Where A has a graph (friction.h): its rows, and the factor along them.
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

// ---- central path -------------------------------------------------------------------------------

// The central path of the cone programme at a parameter kappa, and the derivative of its point.
//
//   F(g) = 1/2 g'P g + q'g + kappa phi(g),   P = S A S + d 1, q = S c, S = diag(1, mu, mu), f = S g
//   phi = -1/2 log(det) - log(g_n - l) where l > 0,    det = g'Jg, J = diag(1, -1, -1)
//   H   = P + kappa (2 Jg (Jg)'/det^2 - J/det) + kappa/(g_n - l)^2 e_n e_n'
//
// Newton's method with steps cut back to where F falls: phi is self-concordant, so one damped by
// its decrement always does. It starts near the path. From a solution f with u = A f + c, the pair
// g - z = v, g o z = kappa e has the closed form g = (v + sqrt(v^2 + 4 kappa e))/2 in the algebra
// of the cone.
//
//   H dg = -(dS u + S A dS g + S (dA f + dc)) + kappa/(g_n - l)^2 dl e_n,    df = dS g + S dg
//   vjp: H w = S f_adj,  p = S w,   mu_adj = f_adj,t . g_t - w_t . u_t - (A p)_t . g_t,
//        l_adj = kappa/(g_n - l)^2 w_n
//
// The path is smooth in all data, at mu = 0 too, where f_t is even in mu and its derivative zero.
// Only a bound that comes or goes (l = 0) is a jump: there l has no derivative, and none is
// reported. Impulses of wedged bodies could grow without end: d = 1e-11 holds them.

size_t cri_cone_path_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return sizeof(double) * (m * m + 4 * m) + cri_cone_interior_bytes(n) + 256;
}

static double factor_of(const cri_friction *p, int i) {
    return i % 3 > 0 ? p->mu[i / 3] : 1.0;
}

// out = A f + c; without c when it is NULL
static void multiply(const cri_friction *p, const double *f, const double *c, double *out) {
    int m = 3 * p->n;
    for (int i = 0; i < m; i++) {
        out[i] = (c ? c[i] : 0.0) + cri_dot(m, p->A + (size_t)i * (size_t)m, f);
    }
}

// det of g; not positive outside the cone
static double det_of(const double g[3]) {
    double r = sqrt(g[1] * g[1] + g[2] * g[2]);
    return (g[0] - r) * (g[0] > r ? g[0] + r : 0.0);
}

// second derivative of the bound's term, 0 without a bound
static double bound_slope(const cri_friction *p, const cri_cone_path *path, int i) {
    double slack = path->g[3 * i] - p->l[i];
    return p->l[i] > 0.0 ? path->kappa / (slack * slack) : 0.0;
}

static bool is_inside(const cri_friction *p, const double *g) {
    for (int i = 0; i < p->n; i++) {
        double det = det_of(g + 3 * i);
        if (!(det > 0.0) || !isfinite(det) || (p->l[i] > 0.0 && !(g[3 * i] > p->l[i]))) {
            return false;
        }
    }
    return true;
}

// ---- Newton ------------------------------------------------------------------------------------

// f and u at g, gradient of F into out (3n)
static void look(const cri_friction *p, cri_cone_path *path, double *out) {
    int m = 3 * p->n;
    for (int i = 0; i < m; i++) {
        path->f[i] = factor_of(p, i) * path->g[i];
    }
    multiply(p, path->f, p->c, path->u);
    for (int i = 0; i < m; i++) {
        out[i] = factor_of(p, i) * path->u[i] + prox * path->g[i];
    }
    for (int i = 0; i < p->n; i++) {
        const double *g = path->g + 3 * i;
        double k = path->kappa / det_of(g);
        out[3 * i] -= k * g[0] + (p->l[i] > 0.0 ? path->kappa / (g[0] - p->l[i]) : 0.0);
        out[3 * i + 1] += k * g[1];
        out[3 * i + 2] += k * g[2];
    }
}

// H, factored; false when it is not positive definite
static bool factor_path(const cri_friction *p, cri_cone_path *path) {
    int m = 3 * p->n;
    for (int i = 0; i < m; i++) {
        const double *row = p->A + (size_t)i * (size_t)m;
        double *H = path->factor + (size_t)i * (size_t)m, S = factor_of(p, i);
        for (int j = i; j < m; j++) {
            H[j] = S * row[j] * factor_of(p, j);
        }
        H[i] += prox;
    }
    for (int i = 0; i < p->n; i++) {
        const double *g = path->g + 3 * i;
        double *H = path->factor + (size_t)(3 * i) * (size_t)m + 3 * i;
        double share = 1.0 / det_of(g), k = path->kappa * share, twice = 2.0 * k * share;
        double Jg[3] = {g[0], -g[1], -g[2]};
        for (int r = 0; r < 3; r++) {
            for (int c = r; c < 3; c++) {
                H[r * m + c] += twice * Jg[r] * Jg[c];
            }
            H[r * m + r] += r > 0 ? k : -k;
        }
        H[0] += bound_slope(p, path, i);
    }
    return cri_cholesky_factor(m, path->factor);
}

// Goes back along the step as far as F keeps falling; a length of shortest always does. Leaves the
// gradient there.
static void advance_path(const cri_friction *p, cri_cone_path *path, const double *step,
                         double shortest, double *gradient) {
    int m = 3 * p->n;
    double fall = cri_dot(m, step, gradient), length = 1.0, moved = 0.0;
    for (;;) {
        for (int i = 0; i < m; i++) {
            path->g[i] -= (length - moved) * step[i];
        }
        moved = length;
        if (is_inside(p, path->g)) {
            look(p, path, gradient);
            // F is convex: its slope at the end may have turned, but not by much
            if (-cri_dot(m, step, gradient) <= 0.25 * fall) {
                return;
            }
        }
        if (length <= shortest) {
            return;
        }
        length = fmax(shortest, 0.4 * length);
    }
}

// minimises F from g; false when it does not get there
static bool centre(const cri_friction *p, cri_cone_path *path, double *gradient, double *step) {
    int m = 3 * p->n;
    double last = INFINITY;
    if (!is_inside(p, path->g)) {
        return false;
    }
    look(p, path, gradient);
    for (int it = 0; it < N_NEWTON; it++) {
        if (!is_inside(p, path->g) || !factor_path(p, path)) {
            return false;
        }
        memcpy(step, gradient, sizeof *step * (size_t)m);
        cri_cholesky_solve(m, path->factor, step);
        double fall = cri_dot(m, step, gradient);
        double decrement = sqrt(2.0 * fmax(fall, 0.0) / path->kappa);
        if (!isfinite(fall)) {
            return false;
        }
        // quadratic until rounding is all that is left
        if (decrement <= DBL_EPSILON || (decrement <= centred && decrement > 0.25 * last)) {
            return true;
        }
        last = decrement;
        advance_path(p, path, step, decrement <= near_path ? 1.0 : 1.0 / (1.0 + decrement),
                     gradient);
    }
    return false;
}

// ---- start -------------------------------------------------------------------------------------

// larger root of x (x - v) = kappa
static double push(double v, double kappa) {
    double root = sqrt(v * v + 4.0 * kappa);
    return v > 0.0 ? 0.5 * (v + root) : 2.0 * kappa / (root - v);
}

// g of a contact near the path from a solution's f and u, both scaled by S
static void push_inside(const double g[3], const double z[3], double l, double kappa,
                        double out[3]) {
    double slip = sqrt(z[1] * z[1] + z[2] * z[2]), most = fmax(0.0, z[0] - slip);
    double slack = g[0] - l;
    // what presses on the bound does not press on the cone
    bool is_bound = l > 0.0 && most > slack;
    double v0 = g[0] - (is_bound ? slip : z[0]), v1 = g[1] - z[1], v2 = g[2] - z[2];
    double r = sqrt(v1 * v1 + v2 * v2), r_inv = r > 0.0 ? 1.0 / r : 0.0;
    double plus = push(v0 + r, kappa), minus = push(v0 - r, kappa);
    double along = 0.5 * (plus - minus) * r_inv;
    out[0] = 0.5 * (plus + minus);
    out[1] = along * v1;
    out[2] = along * v2;
    if (l > 0.0) {
        out[0] = fmax(out[0], l + push(is_bound ? slack - most : slack, kappa));
    }
}

static void start_from(const cri_friction *p, const double *f, cri_cone_path *path) {
    multiply(p, f, p->c, path->u);
    for (int i = 0; i < p->n; i++) {
        double mu = p->mu[i], mu_inv = mu > 0.0 ? 1.0 / mu : 0.0;
        const double *u = path->u + 3 * i;
        double g[3] = {f[3 * i], mu_inv * f[3 * i + 1], mu_inv * f[3 * i + 2]};
        double z[3] = {u[0], mu * u[1], mu * u[2]};
        push_inside(g, z, p->l[i], path->kappa, path->g + 3 * i);
    }
}

bool cri_cone_path_at(const cri_friction *p, double kappa, const double *f, cri_cone_path *path,
                      cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && kappa > 0.0 && path);
    int m = 3 * p->n;
    *path = (cri_cone_path){.n = p->n, .kappa = kappa};
    path->f = CR_PUSH_RAW(keep, double, 3 * m + m * m);
    path->g = path->f + m;
    path->u = path->g + m;
    path->factor = path->u + m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *gradient = CR_PUSH_RAW(scratch, double, 2 * m), *step = gradient + m;
    bool is_centred = false;
    if (f) {
        start_from(p, f, path);
        is_centred = centre(p, path, gradient, step);
    }
    if (!is_centred) {
        cri_cone_interior(p, kappa, step, scratch);
        start_from(p, step, path);
        is_centred = centre(p, path, gradient, step);
    }
    cri_arena_rewind(scratch, mark);
    return is_centred;
}

// ---- derivatives -------------------------------------------------------------------------------

void cri_cone_path_vjp(const cri_friction *p, const cri_cone_path *path, const double *f_adj,
                       double *p_out, double *mu_adj, double *l_adj, cr_arena *scratch) {
    CR_ASSERT(p->n == path->n);
    int m = 3 * p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *w = CR_PUSH_RAW(scratch, double, 2 * m), *Ap = w + m;
    // df = S dg
    for (int i = 0; i < m; i++) {
        w[i] = factor_of(p, i) * f_adj[i];
    }
    // H dg = ..., H is symmetric
    cri_cholesky_solve(m, path->factor, w);
    // ... - S (dA f + dc)
    for (int i = 0; i < m; i++) {
        p_out[i] = factor_of(p, i) * w[i];
    }
    multiply(p, p_out, NULL, Ap);
    for (int i = 0; i < p->n; i++) {
        // ... + kappa/(g_n - l)^2 dl e_n
        l_adj[i] += bound_slope(p, path, i) * w[3 * i];
        // ... - dS u - S A dS g, and df = dS g
        for (int at = 3 * i + 1; at < 3 * i + 3; at++) {
            mu_adj[i] += (f_adj[at] - Ap[at]) * path->g[at] - w[at] * path->u[at];
        }
    }
    cri_arena_rewind(scratch, mark);
}

void cri_cone_path_jvp(const cri_friction *p, const cri_cone_path *path, const double *rhs,
                       const double *mu_tan, const double *l_tan, double *f_tan,
                       cr_arena *scratch) {
    CR_ASSERT(p->n == path->n);
    int m = 3 * p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *moved = CR_PUSH_RAW(scratch, double, 2 * m), *dg = moved + m;
    for (int i = 0; i < m; i++) {
        moved[i] = i % 3 > 0 ? mu_tan[i / 3] * path->g[i] : 0.0;
    }
    multiply(p, moved, rhs, dg);
    for (int i = 0; i < m; i++) {
        dg[i] *= -factor_of(p, i);
        dg[i] +=
            i % 3 > 0 ? -mu_tan[i / 3] * path->u[i] : bound_slope(p, path, i / 3) * l_tan[i / 3];
    }
    cri_cholesky_solve(m, path->factor, dg);
    for (int i = 0; i < m; i++) {
        f_tan[i] = moved[i] + factor_of(p, i) * dg[i];
    }
    cri_arena_rewind(scratch, mark);
}

// ---- solve and derivatives ----------------------------------------------------------------------

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

// ---- smoothed derivatives -----------------------------------------------------------------------

// Smoothed derivatives of the cone programme in its own units.
//
//   A~ = r A r,  c~ = r c/k,  l~ = l/(r k),  f = k r f~,    r_i = sqrt(3/trace A_ii), k = |data|
//   df = r D(r (dA f + dc), k dmu, dl/r),    D: derivative on the path of (A~, c~, mu, l~), linear
//
// Energies scale with k^2, so the path's parameter is kappa k^2 in joules; it and the scales are
// constants for the derivative. A solve that follows another has at least the k of that, or the
// little that is left to do would hardly be smoothed. dA meets the impulse f of the solution, not
// the path's own: that of redundant contacts is another one, and who applies f to bodies has to
// apply the same.

size_t cri_cone_smooth_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return cri_cone_path_bytes(n) + cri_friction_scale_bytes(n) +
           sizeof(double) * (m * m + 4 * m + 2 * (size_t)n) + 256;
}

bool cri_cone_smooth_at(const cri_friction *p, double kappa, double k_least, const double *f,
                        cri_cone_smooth *out, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && kappa > 0.0 && k_least >= 0.0 && f && out && keep != scratch);
    int n = p->n, m = 3 * n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_scaled s = cri_friction_scale(p, f, scratch);
    double *A = CR_PUSH_RAW(keep, double, m *m + 2 * n), *l = A + m * m, *r = l + n;
    memcpy(A, s.A, sizeof *A * (size_t)m * (size_t)m);
    for (int i = 0; i < n; i++) {
        r[i] = sqrt(cri_friction_rho(p, i));
    }
    *out = (cri_cone_smooth){.r = r, .k = fmax(k_least, s.r[0] / r[0])};
    double share = s.r[0] / r[0] / out->k;
    for (int i = 0; i < m; i++) {
        s.c[i] *= share;
        s.g[i] *= share;
    }
    for (int i = 0; i < n; i++) {
        l[i] = s.l[i] *= share;
    }
    cri_friction scaled = cri_scaled_problem(&s);
    bool is_centred = cri_cone_path_at(&scaled, kappa, s.g, &out->path, keep, scratch);
    cri_arena_rewind(scratch, mark);
    // the derivatives do not read c
    out->scaled = (cri_friction){.kind = p->kind, .n = n, .A = A, .mu = p->mu, .l = l};
    return is_centred;
}

void cri_cone_smooth_vjp(const cri_cone_smooth *smooth, const double *f_adj, double *p,
                         double *mu_adj, double *l_adj, cr_arena *scratch) {
    CR_ASSERT(smooth->path.n > 0 && f_adj && p);
    int n = smooth->path.n, m = 3 * n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *scaled_adj = CR_PUSH_RAW(scratch, double, m);
    double *mu_inc = CR_PUSH(scratch, double, 2 * n), *l_inc = mu_inc + n;
    // df = r D(...)
    for (int i = 0; i < m; i++) {
        scaled_adj[i] = smooth->r[i / 3] * f_adj[i];
    }
    cri_cone_path_vjp(&smooth->scaled, &smooth->path, scaled_adj, p, mu_inc, l_inc, scratch);
    // D(r (dA f + dc), k dmu, dl/r)
    for (int i = 0; i < m; i++) {
        p[i] *= smooth->r[i / 3];
    }
    for (int i = 0; i < n; i++) {
        mu_adj[i] += smooth->k * mu_inc[i];
        l_adj[i] += l_inc[i] / smooth->r[i];
    }
    cri_arena_rewind(scratch, mark);
}

void cri_cone_smooth_jvp(const cri_cone_smooth *smooth, const double *rhs, const double *mu_tan,
                         const double *l_tan, double *f_tan, cr_arena *scratch) {
    CR_ASSERT(smooth->path.n > 0 && rhs && f_tan);
    int n = smooth->path.n, m = 3 * n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *scaled = CR_PUSH_RAW(scratch, double, m + 2 * n), *mu = scaled + m, *l = mu + n;
    for (int i = 0; i < m; i++) {
        scaled[i] = smooth->r[i / 3] * rhs[i];
    }
    for (int i = 0; i < n; i++) {
        mu[i] = smooth->k * mu_tan[i];
        l[i] = l_tan[i] / smooth->r[i];
    }
    cri_cone_path_jvp(&smooth->scaled, &smooth->path, scaled, mu, l, f_tan, scratch);
    for (int i = 0; i < m; i++) {
        f_tan[i] *= smooth->r[i / 3];
    }
    cri_arena_rewind(scratch, mark);
}
