// SPDX-License-Identifier: MIT
//
// Mixed linear complementarity problems: residual, solve, derivatives, and friction as one.
//
//   w = M z + q,    a = { i : w_i = 0 }:    M_aa z_a = -q_a,  z = 0 elsewhere
//   z_tan:  M_aa z_tan,a = -(M_tan z + q_tan)_a           z_adj:  q_adj,a = -M_aa'^-1 z_adj,a
//
// A row with z = w = 0 is counted to a; the derivative there is that of the piece where it has
// force. When M_aa is singular, z is one of many, as the eight multipliers of sticking friction.
//
// Friction by eight directions (SDF, A.7, velocities eliminated), G = blockdiag(1, (d_0 .. d_7)):
//
//   [ w_f ]   [ G'A G  e ] [ z_f   ]   [ G'c ]       z_f = (f_n, beta_0 .. beta_7), e = (0, 1 .. 1)
//   [ w_g ] = [ m'     0 ] [ gamma ] + [  0  ]       m = (mu, -1 .. -1),  gamma = |u_t| as they see
//
// With bounds z_n = f_n - l: c + A l e_n takes the place of c, and mu l that of 0.
//
// Balance: D M D by D_i <- D_i/sqrt(largest of row i and column i), a few times (Ruiz 2001).

#include "base/base.h"
#include "base/math/lu.h"
#include "base/math/qr.h"
#include "solvers/lcp_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

// in balanced numbers: w below it is zero
static const double zero_slack = 1e-9;
// in balanced numbers: a pivot below it is zero
static const double zero_pivot = 1e-11;
// rows of a contact in the octagon's problem
enum { N_SIDE = 8, N_ROW = N_SIDE + 2, GAMMA = N_SIDE + 1 };

// 1/sqrt(2)
#define DIAGONAL 0.70710678118654752440

static const double side[N_SIDE][2] = {
    {1.0, 0.0},  {DIAGONAL, DIAGONAL},   {0.0, 1.0},  {-DIAGONAL, DIAGONAL},
    {-1.0, 0.0}, {-DIAGONAL, -DIAGONAL}, {0.0, -1.0}, {DIAGONAL, -DIAGONAL},
};

size_t cri_lcp_bytes(int n) {
    // two tableaus of Lemke's method (4), the balanced problem, free rows and their factor (2),
    // each (n, n); vectors; what a push costs
    size_t m = (size_t)n;
    return sizeof(double) * (7 * m * m + 32 * m) + 2048;
}

void cri_lcp_slack(const cri_lcp *p, const double *z, double *w) {
    for (int i = 0; i < p->n; i++) {
        const double *row = p->M + (size_t)i * (size_t)p->n;
        double sum = p->q[i];
        for (int j = 0; j < p->n; j++) {
            sum += row[j] * z[j];
        }
        w[i] = sum;
    }
}

double cri_lcp_residual(const cri_lcp *p, const double *z) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n);
    double worst = 0.0;
    for (int i = 0; i < p->n; i++) {
        const double *row = p->M + (size_t)i * (size_t)p->n;
        double w = p->q[i];
        for (int j = 0; j < p->n; j++) {
            w += row[j] * z[j];
        }
        double miss = fabs(i < p->n_free || w < z[i] ? w : z[i]);
        // a residual that is no number is the worst
        worst = miss <= worst ? worst : miss;
        if (isnan(miss)) {
            return INFINITY;
        }
    }
    return worst;
}

double cri_lcp_tolerance(const cri_lcp *p, const double *z) {
    double largest = 0.0, rounding = 0.0;
    for (int i = 0; i < p->n; i++) {
        const double *row = p->M + (size_t)i * (size_t)p->n;
        double sum = 0.0;
        for (int j = 0; j < p->n; j++) {
            sum += fabs(row[j] * z[j]);
        }
        largest = fmax(largest, fabs(p->q[i]));
        rounding = fmax(rounding, sum);
    }
    // sums of some ten terms each, and a few solves; but a huge z is no excuse for any w
    return 1e-10 * largest + fmin(64.0 * DBL_EPSILON * rounding, 1e-8 * largest);
}

cri_lcp_balanced cri_lcp_balance(const cri_lcp *p, cr_arena *arena) {
    int n = p->n;
    double *M = CR_PUSH_RAW(arena, double, n *n);
    double *q = CR_PUSH_RAW(arena, double, n);
    double *d = CR_PUSH_RAW(arena, double, n);
    double *most = CR_PUSH_RAW(arena, double, n);
    memcpy(M, p->M, sizeof *M * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++) {
        d[i] = 1.0;
    }
    // each time the distance from 1 falls to its root
    for (int k = 0; k < 4; k++) {
        memset(most, 0, sizeof *most * (size_t)n);
        for (int i = 0; i < n * n; i++) {
            double entry = fabs(M[i]);
            most[i / n] = fmax(most[i / n], entry);
            most[i % n] = fmax(most[i % n], entry);
        }
        for (int i = 0; i < n; i++) {
            most[i] = most[i] > 0.0 ? 1.0 / sqrt(most[i]) : 1.0;
            d[i] *= most[i];
        }
        for (int i = 0; i < n * n; i++) {
            M[i] *= most[i / n] * most[i % n];
        }
    }
    double size = 0.0;
    for (int i = 0; i < n; i++) {
        size = fmax(size, fabs(d[i] * p->q[i]));
    }
    size = size > 0.0 ? size : 1.0;
    for (int i = 0; i < n; i++) {
        q[i] = d[i] * p->q[i] / size;
    }
    return (cri_lcp_balanced){
        .problem = {.n = n, .n_free = p->n_free, .M = M, .q = q}, .d = d, .size = size};
}

// ---- solve --------------------------------------------------------------------------------------

// M_aa dz = -w_a for the rows with z > w, least squares where M_aa is singular; the better of the
// two points stays in z. Returns its residual.
static double polish(const cri_lcp *p, double *z, cr_arena *scratch) {
    int n = p->n, n_active = 0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int *active = CR_PUSH_RAW(scratch, int, n);
    double *w = CR_PUSH_RAW(scratch, double, n);
    double *next = CR_PUSH(scratch, double, n);
    double *step = CR_PUSH_RAW(scratch, double, n);
    double *M = CR_PUSH_RAW(scratch, double, n *n);
    cri_lcp_slack(p, z, w);
    for (int i = 0; i < n; i++) {
        if (i < p->n_free || z[i] > w[i]) {
            active[n_active++] = i;
            next[i] = z[i];
        }
    }
    cri_lcp_slack(p, next, w);
    for (int i = 0; i < n_active; i++) {
        for (int j = 0; j < n_active; j++) {
            M[i * n_active + j] = p->M[(size_t)active[i] * (size_t)n + (size_t)active[j]];
        }
        w[i] = -w[active[i]];
    }
    if (n_active > 0) {
        cri_qr qr = cri_qr_factor(n_active, n_active, M, 1e-12, scratch);
        cri_qr_solve(&qr, w, step);
    }
    for (int i = 0; i < n_active; i++) {
        double moved = next[active[i]] + step[i];
        next[active[i]] = active[i] < p->n_free ? moved : fmax(0.0, moved);
    }
    double before = cri_lcp_residual(p, z), after = cri_lcp_residual(p, next);
    if (after < before) {
        memcpy(z, next, sizeof *z * (size_t)n);
    }
    cri_arena_rewind(scratch, mark);
    return fmin(before, after);
}

static cr_outcome judge(const cri_lcp *p, const double *z, double residual) {
    return residual <= cri_lcp_tolerance(p, z) ? CR_SOLVED : CR_ITERATION_LIMIT;
}

cri_lcp_report cri_lcp_solve(const cri_lcp *p, double *z, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n && z);
    double largest = 0.0;
    for (int i = 0; i < p->n; i++) {
        largest = fmax(largest, fabs(p->q[i]));
    }
    // near enough to see which rows have force
    cri_lcp_report report = cri_lcp_interior(p, 1e-9 * largest, z, scratch);
    report.residual = polish(p, z, scratch);
    report.outcome = judge(p, z, report.residual);
    if (report.outcome == CR_SOLVED) {
        return report;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *other = CR_PUSH_RAW(scratch, double, p->n);
    cri_lcp_report second = cri_lcp_lemke(p, other, scratch);
    second.residual = polish(p, other, scratch);
    report.n_iteration += second.n_iteration;
    if (second.residual < report.residual) {
        memcpy(z, other, sizeof *z * (size_t)p->n);
        report.residual = second.residual;
        report.outcome = judge(p, z, second.residual);
    }
    cri_arena_rewind(scratch, mark);
    return report;
}

// ---- derivatives --------------------------------------------------------------------------------

// false when a pivot is nothing but rounding, measured in balanced numbers
static bool is_regular(const cri_lcp_cache *cache, const double *d, int *row) {
    int m = cache->n_active;
    for (int k = 0; k < m; k++) {
        row[k] = cache->active[k];
    }
    for (int k = 0; k < m; k++) {
        int at = cache->pivot[k], top = row[at];
        row[at] = row[k];
        row[k] = top;
        double pivot = cache->factor[(size_t)k * (size_t)m + (size_t)k];
        if (!(fabs(pivot) * d[top] * d[cache->active[k]] > zero_pivot)) {
            return false;
        }
    }
    return true;
}

bool cri_lcp_reduce(const cri_lcp *p, const double *z, cri_lcp_cache *cache, cr_arena *keep) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n);
    int n = p->n, m = 0;
    *cache = (cri_lcp_cache){.n = n, .margin = 1.0};
    cache->active = CR_PUSH_RAW(keep, int, n);
    cache->pivot = CR_PUSH_RAW(keep, int, n);
    cache->factor = CR_PUSH_RAW(keep, double, n *n);
    cri_arena_mark mark = cri_arena_get_mark(keep);
    cri_lcp_balanced b = cri_lcp_balance(p, keep);
    double *w = CR_PUSH_RAW(keep, double, n), most = 0.0, margin = INFINITY;
    int *row = CR_PUSH_RAW(keep, int, n);
    cri_lcp_slack(p, z, w);
    for (int i = 0; i < n; i++) {
        double z_i = z[i] / (b.d[i] * b.size), w_i = w[i] * b.d[i] / b.size;
        most = fmax(most, fmax(fabs(z_i), fabs(w_i)));
        if (i >= p->n_free) {
            margin = fmin(margin, fmax(z_i, w_i));
        }
        if (i < p->n_free || z_i > w_i || w_i <= zero_slack) {
            cache->active[m++] = i;
        }
    }
    cache->n_active = m;
    cache->margin = p->n_free < n && most > 0.0 ? margin / most : 1.0;
    for (int i = 0; i < m * m; i++) {
        size_t at = (size_t)cache->active[i / m] * (size_t)n + (size_t)cache->active[i % m];
        cache->factor[i] = p->M[at];
    }
    bool is_unique =
        m == 0 || (cri_lu_factor(m, cache->factor, cache->pivot) && is_regular(cache, b.d, row));
    cri_arena_rewind(keep, mark);
    return is_unique;
}

void cri_lcp_vjp(const cri_lcp_cache *cache, const double *z_adj, double *q_adj,
                 cr_arena *scratch) {
    CR_ASSERT(cache->n_active >= 0 && cache->n_active <= cache->n);
    int m = cache->n_active;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *y = CR_PUSH_RAW(scratch, double, m);

    // z_a = -M_aa^-1 q_a
    for (int k = 0; k < m; k++) {
        y[k] = -z_adj[cache->active[k]];
    }
    cri_lu_solve_transposed(m, cache->factor, cache->pivot, y);
    memset(q_adj, 0, sizeof *q_adj * (size_t)cache->n);
    for (int k = 0; k < m; k++) {
        q_adj[cache->active[k]] = y[k];
    }
    cri_arena_rewind(scratch, mark);
}

void cri_lcp_jvp(const cri_lcp_cache *cache, const double *rhs, double *z_tan, cr_arena *scratch) {
    CR_ASSERT(cache->n_active >= 0 && cache->n_active <= cache->n);
    int m = cache->n_active;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *y = CR_PUSH_RAW(scratch, double, m);
    for (int k = 0; k < m; k++) {
        y[k] = -rhs[cache->active[k]];
    }
    cri_lu_solve(m, cache->factor, cache->pivot, y);
    memset(z_tan, 0, sizeof *z_tan * (size_t)cache->n);
    for (int k = 0; k < m; k++) {
        z_tan[cache->active[k]] = y[k];
    }
    cri_arena_rewind(scratch, mark);
}

// ---- friction -----------------------------------------------------------------------------------

// column a of G: the impulse of one unit of (f_n, beta_0 .. beta_7), with the corners of a contact
static void generator(const double *corner, int a, double g[3]) {
    g[0] = a == 0 ? 1.0 : 0.0;
    g[1] = a == 0 ? 0.0 : corner[2 * a - 2];
    g[2] = a == 0 ? 0.0 : corner[2 * a - 1];
}

// the block G_i' A_ij G_j at M, whose rows are n apart
static void fill_block(const double *A, size_t n_A, const double *corner_i, const double *corner_j,
                       double *M, size_t n) {
    for (int b = 0; b < GAMMA; b++) {
        double g[3], u[3];
        generator(corner_j, b, g);
        for (size_t r = 0; r < 3; r++) {
            u[r] = A[r * n_A] * g[0] + A[r * n_A + 1] * g[1] + A[r * n_A + 2] * g[2];
        }
        for (int a = 0; a < GAMMA; a++) {
            generator(corner_i, a, g);
            M[(size_t)a * n + (size_t)b] = g[0] * u[0] + g[1] * u[1] + g[2] * u[2];
        }
    }
}

// corners are those of contact i at i * stride
static cri_lcp fill(const cri_friction *p, const double *corner, size_t stride, cr_arena *keep) {
    size_t n = N_ROW * (size_t)p->n, n_A = 3 * (size_t)p->n;
    double *M = CR_PUSH(keep, double, n *n);
    double *q = CR_PUSH(keep, double, n);
    for (size_t i = 0; i < (size_t)p->n; i++) {
        CR_ASSERT(p->l[i] >= 0.0 && p->mu[i] >= 0.0);
        size_t at = N_ROW * i;
        double c[3] = {p->c[3 * i], p->c[3 * i + 1], p->c[3 * i + 2]};
        for (size_t j = 0; j < (size_t)p->n; j++) {
            const double *A = p->A + 3 * i * n_A + 3 * j;
            fill_block(A, n_A, corner + i * stride, corner + j * stride, M + at * n + N_ROW * j, n);
            for (size_t r = 0; r < 3; r++) {
                c[r] += A[r * n_A] * p->l[j];
            }
        }
        for (int a = 0; a < GAMMA; a++) {
            double g[3];
            generator(corner + i * stride, a, g);
            q[at + (size_t)a] = g[0] * c[0] + g[1] * c[1] + g[2] * c[2];
            M[(at + (size_t)a) * n + at + GAMMA] = a == 0 ? 0.0 : 1.0;
            M[(at + GAMMA) * n + at + (size_t)a] = a == 0 ? p->mu[i] : -1.0;
        }
        q[at + GAMMA] = p->mu[i] * p->l[i];
    }
    return (cri_lcp){.n = (int)n, .M = M, .q = q};
}

static void read_impulse(int n, const double *corner, size_t stride, const double *z, double *f) {
    for (int i = 0; i < n; i++) {
        const double *beta = z + N_ROW * i + 1, *own = corner + (size_t)i * stride;
        f[3 * i] = z[N_ROW * i];
        f[3 * i + 1] = f[3 * i + 2] = 0.0;
        for (int k = 0; k < N_SIDE; k++) {
            f[3 * i + 1] += beta[k] * own[2 * k];
            f[3 * i + 2] += beta[k] * own[2 * k + 1];
        }
    }
}

cri_lcp cri_octagon_lcp(const cri_friction *p, cr_arena *keep) {
    CR_ASSERT(p->n > 0 && p->kind == CRI_OCTAGON);
    for (int i = 0; i < p->n; i++) {
        CR_ASSERT(p->l[i] == 0.0);
    }
    return fill(p, side[0], 0, keep);
}

void cri_octagon_impulse(int n, const double *z, double *f) {
    read_impulse(n, side[0], 0, z, f);
}

cri_lcp cri_polygon_lcp(const cri_friction *p, const double *corner, cr_arena *keep) {
    CR_ASSERT(p->n > 0 && corner);
    return fill(p, corner, 2 * (size_t)N_SIDE, keep);
}

void cri_polygon_impulse(const cri_friction *p, const double *corner, const double *z, double *f) {
    read_impulse(p->n, corner, 2 * (size_t)N_SIDE, z, f);
    for (int i = 0; i < p->n; i++) {
        f[3 * i] += p->l[i];
    }
}
