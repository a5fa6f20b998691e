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
// Where nothing slides, B = C picks entries of f, H is a block of A, and its pseudoinverse is all
// there is to it: y = H^+ rhs + (1 - H H^+) x (base/math/psd.h).
//
// Where that matrix is still singular the solution is not isolated (Painleve's rod): least squares
// by QR, never a division, and the label one-sided.

#include "solvers/friction_reduced.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/lu.h"

#include <math.h>
#include <string.h>

// pivots below this, relative, are rounding
static const double rank_tolerance = 1e-11;

// T (3n, m) = A B
static void times_columns(const cri_friction *p, const cri_friction_cache *cache, double *T) {
    int rows = 3 * p->n, m = cache->m;
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        const double *a = p->A + 3 * cj->contact, *x = cj->b;
        double *t = T + j;
        if (cj->unit_b >= 0) {
            a += cj->unit_b;
            for (int i = 0; i < rows; i++, a += rows, t += m) {
                *t = *a;
            }
        } else {
            for (int i = 0; i < rows; i++, a += rows, t += m) {
                *t = a[0] * x[0] + a[1] * x[1] + a[2] * x[2];
            }
        }
    }
}

// H (m, m) = C' T
static void columns_times(const cri_friction_cache *cache, const double *T, double *H) {
    int m = cache->m;
    for (int i = 0; i < m; i++) {
        const cri_friction_column *ci = &cache->column[i];
        const double *t = T + (size_t)(3 * ci->contact) * (size_t)m;
        double *row = H + i * m;
        if (ci->unit_c >= 0) {
            memcpy(row, t + ci->unit_c * m, sizeof *row * (size_t)m);
            continue;
        }
        for (int j = 0; j < m; j++) {
            row[j] = ci->c[0] * t[j] + ci->c[1] * t[m + j] + ci->c[2] * t[2 * m + j];
        }
    }
}

// c_i' A c_j
static double between(const cri_friction *p, const cri_friction_column *ci,
                      const cri_friction_column *cj) {
    size_t rows = 3 * (size_t)p->n;
    const double *block = p->A + 3 * (size_t)ci->contact * rows + 3 * cj->contact;
    if (ci->unit_c >= 0 && cj->unit_c >= 0) {
        return block[(size_t)ci->unit_c * rows + (size_t)cj->unit_c];
    }
    double sum = 0.0;
    for (int r = 0; r < 3; r++) {
        sum += ci->c[r] * cri_dot(3, block + (size_t)r * rows, cj->c);
    }
    return sum;
}

// H scaled, and the scale of its rows and columns
static void build_H(const cri_friction *p, cri_friction_cache *cache, double *T, double *H) {
    int rows = 3 * p->n, m = cache->m;
    double trace = 0.0;
    for (int i = 0; i < rows; i++) {
        trace += p->A[(size_t)i * (size_t)rows + i];
    }
    times_columns(p, cache, T);
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
        double *row = H + i * m, own = cache->scale[i];
        for (int j = 0; j < m; j++) {
            row[j] *= own * cache->scale[j];
        }
    }
}

// left null space of H, and Zc = C L: those columns with D = 0 on which A vanishes
static void find_null_space(const cri_friction *p, cri_friction_cache *cache, cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n, m0 = 0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int *place = CR_PUSH_RAW(scratch, int, m);
    double *S = CR_PUSH_RAW(scratch, double, 2 * m * m), *Z = S + m * m;
    for (int j = 0; j < m; j++) {
        if (cache->column[j].d == 0.0) {
            place[m0++] = j;
        }
    }
    for (int i = 0; i < m0; i++) {
        const cri_friction_column *ci = &cache->column[place[i]];
        double own = cache->scale[place[i]];
        for (int j = 0; j <= i; j++) {
            S[i * m0 + j] = S[j * m0 + i] =
                own * cache->scale[place[j]] * between(p, ci, &cache->column[place[j]]);
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
void cri_friction_find_q(const cri_friction *p, cri_friction_cache *cache, const double *f,
                         cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *rhs = CR_PUSH_RAW(scratch, double, 2 * m), *y = rhs + m;
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        rhs[j] = cri_dot(3, cj->c, f + 3 * cj->contact);
    }
    cri_friction_solve_columns(cache, rhs, NULL, y, scratch);
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

// H = A on the rows that stick
static void factor_sticking(const cri_friction *p, cri_friction_cache *cache, cr_arena *keep,
                            cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n;
    cri_arena_rewind(keep, cache->qr_mark);
    if (m == rows && p->pivots) {
        cache->psd = *p->pivots;
        cri_psd_finish(&cache->psd);
        cache->n_null = m - cache->psd.rank;
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *S = CR_PUSH_RAW(scratch, double, m *m);
    int *place = CR_PUSH_RAW(scratch, int, m);
    for (int i = 0; i < m; i++) {
        place[i] = cri_friction_row_of(cache, i);
        const double *row = p->A + (size_t)place[i] * (size_t)rows;
        for (int j = 0; j <= i; j++) {
            S[i * m + j] = S[j * m + i] = row[place[j]];
        }
    }
    cache->psd = cri_psd_factor(m, S, rank_tolerance, keep);
    cache->n_null = m - cache->psd.rank;
    cri_arena_rewind(scratch, mark);
}

// factors the scaled H + left' (weight Zc' B)
void cri_friction_factor(const cri_friction *p, cri_friction_cache *cache, cr_arena *keep,
                         cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n;
    cache->n_null = 0;
    cache->qr.n = cache->psd.n = 0;
    if (m == 0) {
        return;
    }
    if (!cache->has_slide) {
        factor_sticking(p, cache, keep, scratch);
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *H = CR_PUSH_RAW(scratch, double, m *m);
    double *T = CR_PUSH_RAW(scratch, double, rows *m);
    build_H(p, cache, T, H);
    find_null_space(p, cache, scratch);
    for (int k = 0; k < cache->n_null; k++) {
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        const double *left = cache->left + (size_t)k * (size_t)m;
        for (int j = 0; j < m; j++) {
            const cri_friction_column *cj = &cache->column[j];
            T[j] = cache->weight * cache->scale[j] * cri_dot(3, z + 3 * cj->contact, cj->b);
        }
        for (int i = 0; i < m; i++) {
            if (left[i] != 0.0) {
                cri_add_scaled(m, left[i], T, H + i * m);
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

static void solve_sticking(const cri_friction_cache *cache, const double *rhs, const double *x,
                           double *y, cr_arena *scratch) {
    int m = cache->m;
    double *work = CR_PUSH_RAW(scratch, double, 4 * m), *at = work + 2 * m, *part = at + m;
    cri_psd_solve(&cache->psd, rhs, y, work);
    if (x && cache->n_null > 0) {
        for (int j = 0; j < m; j++) {
            at[j] = x[cri_friction_row_of(cache, j)];
        }
        cri_psd_null_part(&cache->psd, at, part, work);
        for (int j = 0; j < m; j++) {
            y[j] += part[j];
        }
    }
}

void cri_friction_solve_columns(const cri_friction_cache *cache, const double *rhs, const double *x,
                                double *y, cr_arena *scratch) {
    CR_ASSERT(rhs && y && scratch);
    int m = cache->m, rows = 3 * cache->n;
    if (m == 0) {
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    if (cache->psd.n > 0) {
        solve_sticking(cache, rhs, x, y, scratch);
        cri_arena_rewind(scratch, mark);
        return;
    }
    double *scaled = CR_PUSH_RAW(scratch, double, m);
    for (int j = 0; j < m; j++) {
        scaled[j] = cache->scale[j] * rhs[j];
    }
    for (int k = 0; k < cache->n_null; k++) {
        const double *left = cache->left + (size_t)k * (size_t)m;
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        double along = (x ? cache->weight * cri_dot(rows, z, x) : 0.0) - cri_dot(m, left, scaled);
        for (int j = 0; j < m; j++) {
            scaled[j] += along * left[j];
        }
    }
    if (cache->qr.n > 0) {
        cri_qr_solve(&cache->qr, scaled, y);
    } else {
        memcpy(y, scaled, sizeof *y * (size_t)m);
        cri_lu_solve(m, cache->lu, cache->pivot, y);
    }
    for (int j = 0; j < m; j++) {
        y[j] *= cache->scale[j];
    }
    cri_arena_rewind(scratch, mark);
}

void cri_friction_solve_columns_vjp(const cri_friction_cache *cache, const double *y_adj,
                                    double *rhs_adj, double *x_adj, cr_arena *scratch) {
    CR_ASSERT(y_adj && rhs_adj && x_adj && scratch);
    int m = cache->m, rows = 3 * cache->n;
    memset(x_adj, 0, sizeof *x_adj * (size_t)rows);
    if (m == 0) {
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *scaled = CR_PUSH_RAW(scratch, double, 3 * m);
    if (cache->psd.n > 0) {
        cri_psd_solve(&cache->psd, y_adj, rhs_adj, scaled + m);
        cri_psd_null_part(&cache->psd, y_adj, scaled, scaled + m);
        for (int j = 0; j < m; j++) {
            x_adj[cri_friction_row_of(cache, j)] = scaled[j];
        }
        cri_arena_rewind(scratch, mark);
        return;
    }
    for (int j = 0; j < m; j++) {
        scaled[j] = cache->scale[j] * y_adj[j];
    }
    if (cache->qr.n > 0) {
        cri_qr_solve_vjp(&cache->qr, scaled, rhs_adj);
    } else {
        memcpy(rhs_adj, scaled, sizeof *rhs_adj * (size_t)m);
        cri_lu_solve_transposed(m, cache->lu, cache->pivot, rhs_adj);
    }
    // rhs += left (weight z.x - left.rhs)
    for (int k = cache->n_null - 1; k >= 0; k--) {
        const double *left = cache->left + (size_t)k * (size_t)m;
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        double along = cri_dot(m, left, rhs_adj);
        for (int i = 0; i < rows; i++) {
            x_adj[i] += cache->weight * along * z[i];
        }
        for (int j = 0; j < m; j++) {
            rhs_adj[j] -= along * left[j];
        }
    }
    for (int j = 0; j < m; j++) {
        rhs_adj[j] *= cache->scale[j];
    }
    cri_arena_rewind(scratch, mark);
}
