// SPDX-License-Identifier: MIT
//
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

#include "solvers/cone_qp.h"

#include "base/base.h"
#include "base/math/cholesky.h"
#include "base/math/dense.h"

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
static bool factor(const cri_friction *p, cri_cone_path *path) {
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
static void advance(const cri_friction *p, cri_cone_path *path, const double *step, double shortest,
                    double *gradient) {
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
        if (!is_inside(p, path->g) || !factor(p, path)) {
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
        advance(p, path, step, decrement <= near_path ? 1.0 : 1.0 / (1.0 + decrement), gradient);
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
