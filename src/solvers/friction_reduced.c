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
// there is to it: y = H^+ rhs + (1 - H H^+) x (math/psd.h).
//
// Where that matrix is still singular the solution is not isolated (Painleve's rod): least squares
// by QR, never a division, and the label one-sided.

#include "solvers/friction_reduced.h"

#include "base/base.h"
#include "math/dense.h"
#include "math/lu.h"

#include <math.h>
#include <string.h>

// classes that a guess may go through
enum { MAX_CHANGE = 6 };
// pivots below this, relative, are rounding
static const double rank_tolerance = 1e-11;
// a selection step of this relative size is rounding, and leaves the factors as they are
static const double selection_stop = 1e-13;

// in units of the certificate: what is left of directions that hardly move anything, and must not
// count in a second solve
static const double selection_accept = 0.02;

size_t cri_friction_reduce_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return sizeof(double) * (10 * m * m + 40 * m + 8 * (size_t)n) +
           (sizeof(cri_friction_column) + sizeof(cri_friction_class) + sizeof(int)) * m + 4096;
}

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
            S[i * m0 + j] = own * cache->scale[place[j]] * between(p, ci, &cache->column[place[j]]);
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

// the entry of f that column j of a sticking contact is
static int row_of(const cri_friction_cache *cache, int j) {
    const cri_friction_column *cj = &cache->column[j];
    return 3 * cj->contact + cj->unit_b;
}

// H = A on the rows that stick
static void factor_sticking(const cri_friction *p, cri_friction_cache *cache, cr_arena *keep,
                            cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *S = CR_PUSH_RAW(scratch, double, m *m);
    for (int i = 0; i < m; i++) {
        const double *row = p->A + (size_t)row_of(cache, i) * (size_t)rows;
        for (int j = 0; j <= i; j++) {
            S[i * m + j] = row[row_of(cache, j)];
        }
    }
    cri_arena_rewind(keep, cache->qr_mark);
    cache->psd = cri_psd_factor(m, S, rank_tolerance, keep);
    cache->n_null = m - cache->psd.rank;
    cri_arena_rewind(scratch, mark);
}

// factors the scaled H + left' (weight Zc' B)
static void factor(const cri_friction *p, cri_friction_cache *cache, cr_arena *keep,
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
            at[j] = x[row_of(cache, j)];
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
            x_adj[row_of(cache, j)] = scaled[j];
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
    double *rhs = CR_PUSH_RAW(scratch, double, 2 * m + rows), *y = rhs + m, *x = y + m;
    for (int i = 0; i < p->n; i++) {
        onto_class(p, cache, i, f + 3 * i, h + 3 * i);
    }
    cri_friction_multiply(p, h, NULL, Ah);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        int at = 3 * cj->contact;
        rhs[j] = -cri_dot(3, cj->c, Ah + at) - (cj->d == 0.0 ? cri_dot(3, cj->c, u + at) : 0.0);
    }
    for (int i = 0; i < rows; i++) {
        x[i] = -f[i] - h[i];
    }
    cri_friction_solve_columns(cache, rhs, x, y, scratch);
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

// Moves f to Zc' f = 0 within its classes; false when that leaves them. Columns that are only a
// guess are read off anew at least once, and may change n_change times: an active-set method whose
// linear solves take the least impulse.
static bool select_impulse(const cri_friction *p, double *f, int n_change,
                           cri_friction_cache *cache, double *u, cr_arena *keep,
                           cr_arena *scratch) {
    int n = p->n, rows = 3 * n, n_left = n_change;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_friction_class *old = CR_PUSH_RAW(scratch, cri_friction_class, n);
    memcpy(old, cache->contact, sizeof *old * (size_t)n);
    bool is_same = true, has_joined = cache->n_joined > 0;
    double last = 0.0;
    for (int k = 0; k < 8 + n_change && is_same; k++) {
        double size = selection_step(p, cache, u, f, scratch), largest = 0.0;
        is_same = cri_all_finite(rows, f);
        for (int i = 0; is_same && i < rows; i++) {
            largest = fmax(largest, fabs(f[i]));
        }
        // converged, or as far as rounding lets it
        bool is_stuck = k > 0 && size >= 0.25 * last && size <= 1e-8 * largest;
        last = size;
        bool is_final = (k > 0 || n_change == 0) && size <= selection_stop * largest;
        if (!is_same || is_stuck || is_final) {
            break;
        }
        cri_friction_classify(p, f, NULL, false, cache, u);
        is_same = memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
        bool is_other = !is_same && n_left-- > 0 && cache->m > 0;
        if (is_other) {
            memcpy(old, cache->contact, sizeof *old * (size_t)n);
            has_joined = false;
            is_same = true;
        }
        if (is_same && (cache->has_slide || is_other)) {
            factor(p, cache, keep, scratch); // its columns follow the slip
        }
    }
    if (is_same && has_joined) {
        // what joined has to carry some
        cri_friction_classify(p, f, NULL, false, cache, u);
        is_same = memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
    }
    cri_arena_rewind(scratch, mark);
    double residual = is_same ? cri_friction_certificate(p, f) : INFINITY;
    bool is_met = residual <= selection_accept;
    cache->selected = is_met ? residual : -1.0;
    return is_met;
}

static void push_cache(const cri_friction *p, double *f, cri_friction_cache *cache,
                       cr_arena *keep) {
    int n = p->n, rows = 3 * n;
    *cache = (cri_friction_cache){.n = n, .f = f, .selected = -1.0};
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
                         bool has_derivative, cri_friction_cache *cache, cr_arena *keep,
                         cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && f && cache && keep != scratch);
    int rows = 3 * p->n;
    push_cache(p, f, cache, keep);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *u = CR_PUSH_RAW(scratch, double, rows);
    double *start = CR_PUSH_RAW(scratch, double, rows);
    cri_friction_classify(p, f, limit, !limit, cache, u);
    memcpy(start, f, sizeof *f * (size_t)rows);
    factor(p, cache, keep, scratch);
    bool is_selected = false;
    if (cache->n_joined > 0) {
        is_selected = select_impulse(p, f, 0, cache, u, keep, scratch);
        if (!is_selected) {
            // those without force have to stay so
            memcpy(f, start, sizeof *f * (size_t)rows);
            cri_friction_classify(p, f, NULL, false, cache, u);
            factor(p, cache, keep, scratch);
        }
    }
    is_selected = is_selected || cache->n_null == 0 || limit;
    if (!is_selected && !select_impulse(p, f, 0, cache, u, keep, scratch)) {
        memcpy(f, start, sizeof *f * (size_t)rows);
        cri_friction_classify(p, f, NULL, false, cache, u);
        factor(p, cache, keep, scratch);
        cache->is_one_sided = true;
    }
    if (cache->n_null > 0 && has_derivative) {
        find_q(p, cache, f, scratch);
    }
    cri_arena_rewind(scratch, mark);
}

// the impulse of sticking contacts from nothing: H^+, refined once. u is work space.
static void solve_linear(const cri_friction *p, const cri_friction_cache *cache, double *f,
                         double *u, cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n;
    double *rhs = CR_PUSH_RAW(scratch, double, 2 * m), *y = rhs + m;
    memset(f, 0, sizeof *f * (size_t)rows);
    bool has_bound = false;
    for (int i = 0; i < p->n; i++) {
        bool is_bound = cache->contact[i] == CRI_BOUND_STICK;
        f[3 * i] = is_bound ? p->l[i] : 0.0;
        has_bound = has_bound || is_bound;
    }
    for (int pass = 0; pass < 2; pass++) {
        const double *at = pass == 0 && !has_bound ? p->c : u;
        if (at == u) {
            cri_friction_multiply(p, f, p->c, u);
        }
        for (int j = 0; j < m; j++) {
            rhs[j] = -at[row_of(cache, j)];
        }
        cri_friction_solve_columns(cache, rhs, NULL, y, scratch);
        for (int j = 0; j < m; j++) {
            f[row_of(cache, j)] += y[j];
        }
    }
}

// Velocities that go with the classes that an impulse itself shows: on the border of its cone it
// slides against the impulse, inside it sticks. Those of contacts without force stay.
static void guess_velocity(const cri_friction *p, const double *f, double *u) {
    for (int i = 0; i < p->n; i++) {
        const double *fi = f + 3 * i;
        double *ui = u + 3 * i, radius = p->mu[i] * fi[0];
        if (fi[0] <= 0.0 || radius == 0.0) {
            continue;
        }
        // 1e-9: on the border, to more than the certificate's tolerance
        bool is_on = cri_friction_inside_by(p->kind, fi, radius) <= 1e-9 * radius;
        double pull = cri_tangent_size(fi), slip = cri_tangent_size(ui);
        ui[0] = 0.0;
        for (int r = 1; r < 3; r++) {
            ui[r] = is_on && pull > 0.0 ? -slip * fi[r] / pull : 0.0;
        }
    }
}

bool cri_friction_reduce_at_once(const cri_friction *p, double *f, bool has_derivative,
                                 cri_friction_cache *cache, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && f && cache && keep != scratch);
    int n = p->n, rows = 3 * n;
    cri_arena_mark keep_mark = cri_arena_get_mark(keep), mark = cri_arena_get_mark(scratch);
    double *u = CR_PUSH_RAW(scratch, double, 2 * rows), *start = u + rows;
    cri_friction_class *old = CR_PUSH_RAW(scratch, cri_friction_class, n);
    memcpy(start, f, sizeof *f * (size_t)rows);
    push_cache(p, f, cache, keep);
    double *guess = CR_PUSH_RAW(scratch, double, rows);
    cri_friction_multiply(p, f, p->c, guess);
    guess_velocity(p, f, guess);
    cri_friction_classify(p, f, &(cri_friction_limit){.f = f, .u = guess, .l = p->l}, true, cache,
                          u);
    bool is_solved = false;
    if (cache->m > 0) {
        memcpy(old, cache->contact, sizeof *old * (size_t)n);
        factor(p, cache, keep, scratch);
    }
    if (cache->m > 0 && cache->has_slide) {
        is_solved = select_impulse(p, f, MAX_CHANGE, cache, u, keep, scratch);
    } else if (cache->m > 0) {
        solve_linear(p, cache, f, u, scratch);
        bool is_finite = cri_all_finite(rows, f);
        is_solved = is_finite && cri_friction_certificate(p, f) <= selection_accept;
        // the same columns, and the margin of what came out
        cri_friction_classify(p, f, NULL, false, cache, u);
        is_solved = is_solved && memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
        if (is_finite && !is_solved && cache->m > 0) {
            factor(p, cache, keep, scratch);
            is_solved = select_impulse(p, f, MAX_CHANGE - 1, cache, u, keep, scratch);
        }
    }
    if (!is_solved) {
        memcpy(f, start, sizeof *f * (size_t)rows);
        cri_arena_rewind(keep, keep_mark);
    } else if (cache->n_null > 0 && has_derivative) {
        find_q(p, cache, f, scratch);
    }
    cri_arena_rewind(scratch, mark);
    return is_solved;
}
