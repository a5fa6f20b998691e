// SPDX-License-Identifier: MIT
//
// The reduced system of a solved friction problem on frozen classes (friction_classes.c):
//
//   H = C' A B + D,    H y = r - C' (A_tan f + c_tan + A h)
//
// Redundant contacts (a box on four corners) make H singular: L spans {x : A C x = 0, D x = 0},
// Zc = C L orthonormal. The impulse is then the limit of A + eps 1, which has Zc' f = 0:
//
//   [H; Zc' B] y = [rhs; rhs2]
//
// L'H = 0, so a rhs that solves is orthogonal to L, and the square H + L Zc' B has the same
// solution: L' times it is the selection, the rest is H. What of rhs lies along L is dropped, as
// least squares would. L is found by Cholesky with pivoting of C' A C on the columns with D = 0.
//
// Where that matrix is still singular the solution is not isolated (Painleve's rod): least squares
// by QR, never a division, and the label one-sided.

#include "solvers/friction_reduced.h"

#include "base/base.h"
#include "math/dense.h"
#include "math/lu.h"
#include "math/null_space.h"

#include <math.h>
#include <string.h>

// pivots below this, relative, are rounding
static const double rank_tolerance = 1e-11;
// a selection step of this relative size is rounding, and leaves the factors as they are
static const double selection_stop = 1e-13;

size_t cri_friction_reduce_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return sizeof(double) * (8 * m * m + 32 * m + 8 * (size_t)n) +
           (sizeof(cri_friction_column) + sizeof(cri_friction_class) + sizeof(int)) * m + 4096;
}

// T (3n, m) = A B or A C
static void times_columns(const cri_friction *p, const cri_friction_cache *cache, bool is_c,
                          double *T) {
    int rows = 3 * p->n, m = cache->m;
    for (int i = 0; i < rows; i++) {
        const double *row = p->A + (size_t)i * (size_t)rows;
        for (int j = 0; j < m; j++) {
            const cri_friction_column *cj = &cache->column[j];
            const double *a = row + 3 * cj->contact, *x = is_c ? cj->c : cj->b;
            T[i * m + j] = a[0] * x[0] + a[1] * x[1] + a[2] * x[2];
        }
    }
}

// out (m, m) = C' T
static void columns_times(const cri_friction_cache *cache, const double *T, double *out) {
    int m = cache->m;
    for (int i = 0; i < m; i++) {
        const cri_friction_column *ci = &cache->column[i];
        const double *t = T + (size_t)(3 * ci->contact) * (size_t)m;
        for (int j = 0; j < m; j++) {
            out[i * m + j] = ci->c[0] * t[j] + ci->c[1] * t[m + j] + ci->c[2] * t[2 * m + j];
        }
    }
}

// H scaled, and the scale of its rows and columns
static void build_H(const cri_friction *p, cri_friction_cache *cache, double *T, double *H) {
    int rows = 3 * p->n, m = cache->m;
    double trace = 0.0;
    for (int i = 0; i < rows; i++) {
        trace += p->A[(size_t)i * (size_t)rows + i];
    }
    times_columns(p, cache, false, T);
    columns_times(cache, T, H);
    for (int i = 0; i < m; i++) {
        const cri_friction_column *ci = &cache->column[i];
        H[i * m + i] += ci->d;
        // a diagonal that cancels does not say how large its row is
        double natural = cri_dot(3, ci->b, ci->b) * trace / rows;
        double diagonal = fabs(H[i * m + i]);
        cache->scale[i] = 1.0 / sqrt(fmax(diagonal > 1e-9 * natural ? diagonal : natural, 1e-300));
    }
    cache->weight = sqrt(trace / rows);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            H[i * m + j] *= cache->scale[i] * cache->scale[j];
        }
    }
}

// B = C unless something slides freely under a law that is not convex
static bool is_symmetric(const cri_friction *p, const cri_friction_cache *cache) {
    bool has_slide = false;
    for (int i = 0; i < p->n; i++) {
        has_slide = has_slide || cache->contact[i] == CRI_SLIDE || cache->contact[i] == CRI_EDGE;
    }
    return p->kind == CRI_CONVEX || !has_slide;
}

// left null space of H, and Zc = C L: those columns with D = 0 on which A vanishes
static void find_null_space(const cri_friction *p, cri_friction_cache *cache, const double *H,
                            double *T, cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n, m0 = 0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int *place = CR_PUSH_RAW(scratch, int, m);
    double *S = CR_PUSH_RAW(scratch, double, 2 * m * m), *Z = S + m * m;
    for (int j = 0; j < m; j++) {
        if (cache->column[j].d == 0.0) {
            place[m0++] = j;
        }
    }
    bool has_own = !is_symmetric(p, cache);
    if (has_own) {
        times_columns(p, cache, true, T);
        columns_times(cache, T, Z);
    }
    for (int i = 0; i < m0; i++) {
        for (int j = 0; j < m0; j++) {
            int a = place[i], b = place[j];
            double scale = has_own ? cache->scale[a] * cache->scale[b] : 1.0;
            S[i * m0 + j] = scale * (has_own ? Z[a * m + b] : H[a * m + b]);
        }
    }
    int n_null = m0 > 0 ? cri_psd_null_space(m0, S, rank_tolerance, Z, scratch) : 0;
    cache->n_null = 0;
    for (int k = 0; k < n_null; k++) {
        double *z = cache->null_space + (size_t)cache->n_null * (size_t)rows;
        double *left = cache->left + (size_t)cache->n_null * (size_t)m;
        memset(z, 0, sizeof *z * (size_t)rows);
        memset(left, 0, sizeof *left * (size_t)m);
        for (int i = 0; i < m0; i++) {
            const cri_friction_column *ci = &cache->column[place[i]];
            left[place[i]] = Z[k * m0 + i];
            for (int r = 0; r < 3; r++) {
                z[3 * ci->contact + r] += cache->scale[place[i]] * Z[k * m0 + i] * ci->c[r];
            }
        }
        cache->n_null += cri_orthonormalise(cache->null_space, cache->n_null, rows);
    }
    cri_arena_rewind(scratch, mark);
}

// q = B H^+ C' f, w = f - A q
static void find_q(const cri_friction *p, cri_friction_cache *cache, const double *f,
                   cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *rhs = CR_PUSH_RAW(scratch, double, 2 * m), *y = rhs + m;
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        rhs[j] = cri_dot(3, cj->c, f + 3 * cj->contact);
    }
    cri_friction_solve_columns(cache, rhs, NULL, y);
    memset(cache->q, 0, sizeof(double) * (size_t)rows);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        for (int r = 0; r < 3; r++) {
            cache->q[3 * cj->contact + r] += y[j] * cj->b[r];
        }
    }
    cri_friction_multiply(p, cache->q, NULL, cache->w);
    for (int i = 0; i < rows; i++) {
        cache->w[i] = f[i] - cache->w[i];
    }
    cri_arena_rewind(scratch, mark);
}

// factors the scaled H + left' (weight Zc' B)
static void factor(const cri_friction *p, cri_friction_cache *cache, cr_arena *keep,
                   cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n;
    cache->n_null = 0;
    cache->qr.n = 0;
    if (m == 0) {
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *H = CR_PUSH_RAW(scratch, double, m *m);
    double *T = CR_PUSH_RAW(scratch, double, rows *m);
    build_H(p, cache, T, H);
    find_null_space(p, cache, H, T, scratch);
    for (int k = 0; k < cache->n_null; k++) {
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        const double *left = cache->left + (size_t)k * (size_t)m;
        for (int j = 0; j < m; j++) {
            const cri_friction_column *cj = &cache->column[j];
            T[j] = cache->weight * cache->scale[j] * cri_dot(3, z + 3 * cj->contact, cj->b);
        }
        for (int i = 0; i < m; i++) {
            for (int j = 0; left[i] != 0.0 && j < m; j++) {
                H[i * m + j] += left[i] * T[j];
            }
        }
    }
    memcpy(cache->lu, H, sizeof *H * (size_t)m * (size_t)m);
    if (!cri_lu_factor(m, cache->lu, cache->pivot) ||
        cri_lu_pivot_ratio(m, cache->lu) < rank_tolerance) {
        cri_arena_rewind(keep, cache->qr_mark);
        cache->qr = cri_qr_factor(m, m, H, rank_tolerance, keep);
        cache->is_one_sided = true;
    }
    cri_arena_rewind(scratch, mark);
}

void cri_friction_solve_columns(const cri_friction_cache *cache, double *rhs, const double *rhs2,
                                double *y) {
    CR_ASSERT(rhs && y);
    int m = cache->m;
    for (int j = 0; j < m; j++) {
        rhs[j] *= cache->scale[j];
    }
    for (int k = 0; k < cache->n_null; k++) {
        const double *left = cache->left + (size_t)k * (size_t)m;
        double along = (rhs2 ? cache->weight * rhs2[k] : 0.0) - cri_dot(m, left, rhs);
        for (int j = 0; j < m; j++) {
            rhs[j] += along * left[j];
        }
    }
    if (cache->qr.n > 0) {
        cri_qr_solve(&cache->qr, rhs, y);
    } else if (m > 0) {
        memcpy(y, rhs, sizeof *y * (size_t)m);
        cri_lu_solve(m, cache->lu, cache->pivot, y);
    }
    for (int j = 0; j < m; j++) {
        y[j] *= cache->scale[j];
    }
}

void cri_friction_solve_columns_vjp(const cri_friction_cache *cache, double *y_adj, double *rhs_adj,
                                    double *rhs2_adj) {
    CR_ASSERT(y_adj && rhs_adj && rhs2_adj);
    int m = cache->m;
    for (int j = 0; j < m; j++) {
        y_adj[j] *= cache->scale[j];
    }
    if (cache->qr.n > 0) {
        cri_qr_solve_vjp(&cache->qr, y_adj, rhs_adj);
    } else if (m > 0) {
        memcpy(rhs_adj, y_adj, sizeof *y_adj * (size_t)m);
        cri_lu_solve_transposed(m, cache->lu, cache->pivot, rhs_adj);
    }
    // rhs += left (weight rhs2 - left.rhs)
    for (int k = cache->n_null - 1; k >= 0; k--) {
        const double *left = cache->left + (size_t)k * (size_t)m;
        double along = cri_dot(m, left, rhs_adj);
        rhs2_adj[k] = cache->weight * along;
        for (int j = 0; j < m; j++) {
            rhs_adj[j] -= along * left[j];
        }
    }
    for (int j = 0; j < m; j++) {
        rhs_adj[j] *= cache->scale[j];
    }
}

// ---- selection ---------------------------------------------------------------------------------

// what brings f on the border that its class says: h of one contact
static void onto_class(const cri_friction *p, const cri_friction_cache *cache, int i,
                       const double *f, double *h) {
    cri_friction_class c = cache->contact[i];
    const double *s = cache->slip + 2 * i;
    if (c == CRI_BOUND_STICK || c == CRI_BOUND_SLIDE) {
        h[0] = p->l[i] - f[0];
    }
    double pull = p->mu[i] * (f[0] + h[0]);
    if (c == CRI_SLIDE || c == CRI_BOUND_SLIDE) {
        h[1] = -pull * s[0] - f[1];
        h[2] = -pull * s[1] - f[2];
    } else if (c == CRI_EDGE) {
        // the distance of the side; along it f_t is free
        double miss = -(f[1] * s[0] + f[2] * s[1]) / (s[0] * s[0] + s[1] * s[1]) - pull;
        h[1] = miss * s[0];
        h[2] = miss * s[1];
    }
}

// one Newton step on the class equations and the selection; returns its size
static double selection_step(const cri_friction *p, const cri_friction_cache *cache,
                             const double *u, double *f, cr_arena *scratch) {
    int rows = 3 * p->n, m = cache->m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *h = CR_PUSH(scratch, double, rows);
    double *Ah = CR_PUSH_RAW(scratch, double, rows);
    double *rhs = CR_PUSH_RAW(scratch, double, 2 * m + cache->n_null), *y = rhs + m;
    double *rhs2 = y + m;
    for (int i = 0; i < p->n; i++) {
        onto_class(p, cache, i, f + 3 * i, h + 3 * i);
    }
    cri_friction_multiply(p, h, NULL, Ah);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        int at = 3 * cj->contact;
        rhs[j] = -cri_dot(3, cj->c, Ah + at) - (cj->d == 0.0 ? cri_dot(3, cj->c, u + at) : 0.0);
    }
    for (int k = 0; k < cache->n_null; k++) {
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        rhs2[k] = -cri_dot(rows, z, f) - cri_dot(rows, z, h);
    }
    cri_friction_solve_columns(cache, rhs, rhs2, y);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        for (int r = 0; r < 3; r++) {
            h[3 * cj->contact + r] += y[j] * cj->b[r];
        }
    }
    double size = 0.0;
    for (int i = 0; i < rows; i++) {
        f[i] += h[i];
        size = fmax(size, fabs(h[i]));
    }
    cri_arena_rewind(scratch, mark);
    return size;
}

// moves f to Zc' f = 0 within its classes; false when that leaves them
static bool select_impulse(const cri_friction *p, double *f, cri_friction_cache *cache, double *u,
                           cr_arena *keep, cr_arena *scratch) {
    int n = p->n, rows = 3 * n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_friction_class *old = CR_PUSH_RAW(scratch, cri_friction_class, n);
    memcpy(old, cache->contact, sizeof *old * (size_t)n);
    bool is_same = true, has_slide = false;
    for (int i = 0; i < n; i++) {
        has_slide = has_slide || old[i] == CRI_SLIDE || old[i] == CRI_BOUND_SLIDE;
    }
    for (int k = 0; k < 8 && is_same; k++) {
        double size = selection_step(p, cache, u, f, scratch), largest = 0.0;
        is_same = cri_all_finite(rows, f);
        for (int i = 0; is_same && i < rows; i++) {
            largest = fmax(largest, fabs(f[i]));
        }
        if (!is_same || size <= selection_stop * largest) {
            break;
        }
        cri_friction_classify(p, f, NULL, cache, u);
        is_same = memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
        if (has_slide && is_same) {
            factor(p, cache, keep, scratch); // its columns follow the slip
        }
    }
    cri_arena_rewind(scratch, mark);
    // a tenth of the certificate
    return is_same && cri_friction_certificate(p, f) <= 0.1;
}

static void push_cache(const cri_friction *p, double *f, cri_friction_cache *cache,
                       cr_arena *keep) {
    int n = p->n, rows = 3 * n;
    *cache = (cri_friction_cache){.n = n, .f = f};
    cache->contact = CR_PUSH(keep, cri_friction_class, n);
    cache->slip = CR_PUSH(keep, double, 2 * n);
    cache->speed = CR_PUSH_RAW(keep, double, n + 3 * rows);
    cache->scale = cache->speed + n;
    cache->q = cache->scale + rows;
    cache->w = cache->q + rows;
    cache->column = CR_PUSH_RAW(keep, cri_friction_column, rows);
    cache->null_space = CR_PUSH_RAW(keep, double, 3 * rows * rows);
    cache->left = cache->null_space + rows * rows;
    cache->lu = cache->left + rows * rows;
    cache->pivot = CR_PUSH_RAW(keep, int, rows);
    cache->qr_mark = cri_arena_get_mark(keep);
}

void cri_friction_reduce(const cri_friction *p, double *f, const cri_friction_limit *limit,
                         cri_friction_cache *cache, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && f && cache && keep != scratch);
    int rows = 3 * p->n;
    push_cache(p, f, cache, keep);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *u = CR_PUSH_RAW(scratch, double, rows);
    double *start = CR_PUSH_RAW(scratch, double, rows);
    cri_friction_classify(p, f, limit, cache, u);
    memcpy(start, f, sizeof *f * (size_t)rows);
    factor(p, cache, keep, scratch);
    if (cache->n_null > 0 && !limit && !select_impulse(p, f, cache, u, keep, scratch)) {
        memcpy(f, start, sizeof *f * (size_t)rows);
        cri_friction_classify(p, f, NULL, cache, u);
        factor(p, cache, keep, scratch);
        cache->is_one_sided = true;
    }
    if (cache->n_null > 0) {
        find_q(p, cache, f, scratch);
    }
    cri_arena_rewind(scratch, mark);
}
