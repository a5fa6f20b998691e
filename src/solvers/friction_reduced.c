// SPDX-License-Identifier: MIT
//
// Derivatives of a solved Coulomb problem. On frozen classes f_tan = h + B y, with the columns
//
//   class         B           C            D        h
//   open          -           -            -        0
//   stick         1           1            0        0
//   slide         a, k t      e_n, k t     0, 1     (0, -s f_n mu_tan)
//   bound stick   (0, 1)      (0, 1)       0        (l_tan, 0)
//   bound slide   k t         k t          1        (l_tan, -s (mu l_tan + l mu_tan))
//
// where s = u_t/|u_t|, a = (1, -mu s), t = (0, s turned by 90 degrees), k = sqrt(mu f_n/|u_t|); for
// mu f_n > rho |u_t| the column is t and D = |u_t|/(mu f_n), so that nothing is divided by a small
// slip.
//
//   H = C' A B + D,    H y = -C' (A_tan f + c_tan + A h)
//   vjp: H' z = B' f_adj, p = C z, A_adj = -p f', c_adj = -p, h_adj = f_adj - A p
//
// Redundant contacts (a box on four corners) make H singular: L spans {x : A C x = 0, D x = 0},
// Zc = C L orthonormal. The impulse is then the limit of A + eps 1, which has Zc' f = 0:
//
//   [H; Zc' B] y = [as above; Zc' A_tan q],   q = B H^+ C' f      (least squares, consistent)
//
// (h has no part in the second row: in every class it is orthogonal to C.)
//
// mu_adj is exactly zero for open and sticking contacts. At mu = 0 a contact is sliding with f_t =
// 0, and mu_adj is the derivative for mu -> 0+. A touching contact without force is open.

#include "solvers/friction_reduced.h"

#include "base/arena.h"
#include "base/base.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

// singular values below this, relative, are rounding
static const double rank_tolerance = 1e-11;
// a selection step of this relative size is rounding, and leaves the factors as they are
static const double selection_stop = 1e-13;
// relative margins below this are kinks
static const double kink_margin = 1e-7;

size_t cri_friction_reduce_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return sizeof(double) * (8 * m * m + 24 * m + 8 * (size_t)n) +
           (sizeof(cri_friction_column) + sizeof(cri_friction_class)) * m + 4096;
}

static bool is_sliding(cri_friction_class c) {
    return c == CRI_SLIDE || c == CRI_BOUND_SLIDE;
}

static bool is_bound(cri_friction_class c) {
    return c == CRI_BOUND_STICK || c == CRI_BOUND_SLIDE;
}

// y = A x + c0, c0 may be NULL
static void multiply(const cri_friction *p, const double *x, const double *c0, double *y) {
    int m = 3 * p->n;
    for (int i = 0; i < m; i++) {
        const double *row = p->A + (size_t)i * (size_t)m;
        double sum = c0 ? c0[i] : 0.0;
        for (int j = 0; j < m; j++) {
            sum += row[j] * x[j];
        }
        y[i] = sum;
    }
}

static double dot3(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double relative(double value, double scale) {
    return scale > 0.0 ? value / scale : 1.0;
}

static void add_column(cri_friction_cache *cache, int contact, cri_friction_column column) {
    column.contact = contact;
    cache->column[cache->m++] = column;
}

// sliding direction: of the velocity, else of the impulse that opposes it, else none
static void set_slip(const double *u, const double *f, double *s) {
    double r = hypot(u[1], u[2]), g = hypot(f[1], f[2]);
    if (r > 0.0) {
        s[0] = u[1] / r;
        s[1] = u[2] / r;
    } else if (g > 0.0) {
        s[0] = -f[1] / g;
        s[1] = -f[2] / g;
    }
}

// columns of a sliding contact; f, u, l of the point that decides
static void add_sliding(const cri_friction *p, cri_friction_cache *cache, int i, const double *f,
                        const double *u, double l) {
    double *s = cache->slip + 2 * i;
    set_slip(u, f, s);
    double mu = p->mu[i], fn = cache->contact[i] == CRI_SLIDE ? f[0] : l;
    if (cache->contact[i] == CRI_SLIDE) {
        add_column(cache, i,
                   (cri_friction_column){.b = {1.0, -mu * s[0], -mu * s[1]}, .c = {1.0, 0.0, 0.0}});
    }
    double slip = hypot(u[1], u[2]), pull = mu * fmax(fn, 0.0);
    if (pull <= cri_friction_rho(p, i) * slip || pull == 0.0) {
        double k = slip > 0.0 ? sqrt(pull / slip) : 0.0;
        add_column(cache, i,
                   (cri_friction_column){
                       .b = {0.0, -k * s[1], k * s[0]}, .c = {0.0, -k * s[1], k * s[0]}, .d = 1.0});
    } else {
        add_column(cache, i,
                   (cri_friction_column){
                       .b = {0.0, -s[1], s[0]}, .c = {0.0, -s[1], s[0]}, .d = slip / pull});
    }
}

static void add_sticking(cri_friction_cache *cache, int i) {
    int first = cache->contact[i] == CRI_STICK ? 0 : 1;
    for (int r = first; r < 3; r++) {
        cri_friction_column column = {0};
        column.b[r] = column.c[r] = 1.0;
        add_column(cache, i, column);
    }
}

// distance of a contact to its neighbouring classes
static double margin_of(const cri_friction *p, int i, cri_friction_class c, const double *f,
                        const double *u, double f_scale) {
    double u_scale = f_scale / cri_friction_rho(p, i);
    bool is_free = c == CRI_OPEN || is_bound(c);
    double margin = is_free ? relative(u[0], u_scale) : relative(f[0] - p->l[i], f_scale);
    if (is_sliding(c)) {
        return fmin(margin, relative(hypot(u[1], u[2]), u_scale));
    }
    if (c != CRI_OPEN) {
        return fmin(margin, relative(p->mu[i] * f[0] - hypot(f[1], f[2]), f_scale));
    }
    return margin;
}

// the largest impulse that the data or the solution have
static double impulse_scale(const cri_friction *p, const double *f) {
    double scale = 1e-300;
    for (int i = 0; i < p->n; i++) {
        double c = sqrt(dot3(p->c + 3 * i, p->c + 3 * i));
        scale = fmax(scale, fmax(sqrt(dot3(f + 3 * i, f + 3 * i)), cri_friction_rho(p, i) * c));
    }
    return scale;
}

static cri_friction_class class_at(const cri_friction *p, int i, const double *f, const double *u,
                                   double l) {
    double rho = cri_friction_rho(p, i), unused[3];
    double z[3] = {f[0] - rho * u[0], f[1] - rho * u[1], f[2] - rho * u[2]};
    cri_friction_class c = cri_friction_project(z, p->mu[i], l, unused);
    return cri_friction_is_weak(p, i, f[0], l) ? CRI_OPEN : c;
}

double cri_friction_margin(const cri_friction *p, const double *f, bool *is_kink,
                           cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *u = CR_PUSH_RAW(scratch, double, 3 * p->n), margin = 1.0;
    double scale = impulse_scale(p, f);
    multiply(p, f, p->c, u);
    for (int i = 0; i < p->n; i++) {
        const double *fi = f + 3 * i, *ui = u + 3 * i;
        margin = fmin(margin, margin_of(p, i, class_at(p, i, fi, ui, p->l[i]), fi, ui, scale));
    }
    cri_arena_rewind(scratch, mark);
    *is_kink = margin < kink_margin;
    return margin;
}

// classes and columns at f; classes come from limit when there is one
static void classify(const cri_friction *p, double *f, const cri_friction_limit *limit,
                     cri_friction_cache *cache, double *u) {
    double f_scale = impulse_scale(p, f);
    multiply(p, f, p->c, u);
    cache->m = 0;
    cache->margin = 1.0;
    for (int i = 0; i < p->n; i++) {
        const double *fi = limit ? limit->f + 3 * i : f + 3 * i;
        const double *ui = limit ? limit->u + 3 * i : u + 3 * i;
        double l = limit ? limit->l[i] : p->l[i];
        cache->contact[i] = class_at(p, i, fi, ui, l);
        if (!limit && cri_friction_is_weak(p, i, fi[0], l)) {
            memset(f + 3 * i, 0, 3 * sizeof *f);
        }
        double margin = margin_of(p, i, cache->contact[i], fi, ui, f_scale);
        cache->margin = fmin(cache->margin, margin);
        if (is_sliding(cache->contact[i])) {
            add_sliding(p, cache, i, fi, ui, l);
        } else if (cache->contact[i] != CRI_OPEN) {
            add_sticking(cache, i);
        }
    }
}

// H_ij = c_i' A b_j + d_i delta_ij, and the scale of its rows and columns
static void build_H(const cri_friction *p, cri_friction_cache *cache, double *H) {
    int rows = 3 * p->n, m = cache->m;
    double trace = 0.0;
    for (int i = 0; i < rows; i++) {
        trace += p->A[(size_t)i * (size_t)rows + i];
    }
    for (int i = 0; i < m; i++) {
        const cri_friction_column *ci = &cache->column[i];
        for (int j = 0; j < m; j++) {
            const cri_friction_column *cj = &cache->column[j];
            double sum = i == j ? ci->d : 0.0;
            for (int r = 0; r < 3; r++) {
                const double *row = p->A + (size_t)(3 * ci->contact + r) * (size_t)rows;
                sum += ci->c[r] * dot3(row + 3 * cj->contact, cj->b);
            }
            H[i * m + j] = sum;
        }
        // a diagonal that cancels does not say how large its row is
        double natural = dot3(ci->b, ci->b) * trace / rows;
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

// orthonormalises row k of Z (k + 1, len) against the rows before it; false when nothing is left
static bool orthonormalise(double *Z, int k, int len) {
    double *z = Z + (size_t)k * (size_t)len;
    double before = 0.0, norm = 0.0;
    for (int i = 0; i < len; i++) {
        before += z[i] * z[i];
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < k; r++) {
            const double *y = Z + (size_t)r * (size_t)len;
            double along = 0.0;
            for (int i = 0; i < len; i++) {
                along += y[i] * z[i];
            }
            for (int i = 0; i < len; i++) {
                z[i] -= along * y[i];
            }
        }
    }
    for (int i = 0; i < len; i++) {
        norm += z[i] * z[i];
    }
    // 1e-16: the rest is rounding of what was subtracted
    if (!(norm > 1e-16 * before)) {
        return false;
    }
    for (int i = 0; i < len; i++) {
        z[i] /= sqrt(norm);
    }
    return true;
}

// A and D on the columns C, scaled: the null space of the result is that of H where H is symmetric
static cri_qr factor_columns(const cri_friction *p, const cri_friction_cache *cache,
                             cr_arena *scratch) {
    int rows = 3 * p->n, m = cache->m;
    double *K = CR_PUSH(scratch, double, (rows + m) * m);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        double s = cache->scale[j] / cache->weight;
        for (int i = 0; i < rows; i++) {
            const double *row = p->A + (size_t)i * (size_t)rows + 3 * cj->contact;
            K[i * m + j] = s * dot3(row, cj->c);
        }
        K[(rows + j) * m + j] = s * cj->d;
    }
    return cri_qr_factor(rows + m, m, K, rank_tolerance, scratch);
}

// rows of cache->null_space: C L with A C L = 0 and D L = 0
static void find_null_space(const cri_friction *p, cri_friction_cache *cache, cr_arena *scratch) {
    int rows = 3 * p->n, m = cache->m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    bool is_symmetric = true; // B = C unless something slides freely
    for (int i = 0; i < p->n; i++) {
        is_symmetric = is_symmetric && cache->contact[i] != CRI_SLIDE;
    }
    cri_qr qr = is_symmetric ? cache->qr : factor_columns(p, cache, scratch);
    double *y = CR_PUSH_RAW(scratch, double, m);
    cache->n_null = 0;
    for (int k = 0; k < m - qr.rank; k++) {
        double *z = cache->null_space + (size_t)cache->n_null * (size_t)rows;
        cri_qr_null_vector(&qr, k, y);
        memset(z, 0, sizeof *z * (size_t)rows);
        for (int j = 0; j < m; j++) {
            const cri_friction_column *cj = &cache->column[j];
            for (int r = 0; r < 3; r++) {
                z[3 * cj->contact + r] += cache->scale[j] * y[j] * cj->c[r];
            }
        }
        cache->n_null += orthonormalise(cache->null_space, cache->n_null, rows);
    }
    cri_arena_rewind(scratch, mark);
}

// q = B H^+ C' f with the least-norm solution in scaled coordinates
static void find_q(const cri_friction *p, cri_friction_cache *cache, const cri_qr *qr,
                   const double *f, cr_arena *scratch) {
    int m = cache->m, n_zero = m - qr->rank;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *rhs = CR_PUSH_RAW(scratch, double, m);
    double *y = CR_PUSH_RAW(scratch, double, m);
    double *zero = CR_PUSH_RAW(scratch, double, m *(n_zero + 1));
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        rhs[j] = cache->scale[j] * dot3(cj->c, f + 3 * cj->contact);
    }
    cri_qr_solve(qr, rhs, y);
    int kept = 0;
    for (int k = 0; k < n_zero; k++) {
        double *z = zero + (size_t)kept * (size_t)m, along = 0.0;
        cri_qr_null_vector(qr, k, z);
        if (!orthonormalise(zero, kept, m)) {
            continue;
        }
        for (int j = 0; j < m; j++) {
            along += z[j] * y[j];
        }
        for (int j = 0; j < m; j++) {
            y[j] -= along * z[j];
        }
        kept++;
    }
    memset(cache->q, 0, sizeof(double) * 3 * (size_t)p->n);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        for (int r = 0; r < 3; r++) {
            cache->q[3 * cj->contact + r] += cache->scale[j] * y[j] * cj->b[r];
        }
    }
    cri_arena_rewind(scratch, mark);
}

// factors the scaled [H; weight Zc' B] into cache->qr; redundant directions on the way
static void factor(const cri_friction *p, cri_friction_cache *cache, const double *f,
                   cr_arena *keep, cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *H = CR_PUSH_RAW(scratch, double, (m + rows) * m);
    build_H(p, cache, H);
    cri_arena_rewind(keep, cache->qr_mark);
    cache->qr = cri_qr_factor(m, m, H, rank_tolerance, keep);
    cache->n_null = 0;
    if (cache->qr.rank < m) {
        find_null_space(p, cache, scratch);
        find_q(p, cache, &cache->qr, f, scratch);
        // more free directions than redundancy explains: the solution is not isolated
        cache->is_one_sided = m - cache->qr.rank != cache->n_null;
        for (int k = 0; k < cache->n_null; k++) {
            const double *z = cache->null_space + (size_t)k * (size_t)rows;
            for (int j = 0; j < m; j++) {
                const cri_friction_column *cj = &cache->column[j];
                H[(m + k) * m + j] =
                    cache->weight * cache->scale[j] * dot3(z + 3 * cj->contact, cj->b);
            }
        }
        cri_arena_rewind(keep, cache->qr_mark);
        cache->qr = cri_qr_factor(m + cache->n_null, m, H, rank_tolerance, keep);
    }
    cri_arena_rewind(scratch, mark);
}

// B y from the scaled right sides r1 (m), r2 (n_null), in place of step (3n)
static void solve_columns(const cri_friction_cache *cache, double *rhs, double *y, double *step) {
    int m = cache->m;
    for (int j = 0; j < m; j++) {
        rhs[j] *= cache->scale[j];
    }
    for (int k = 0; k < cache->n_null; k++) {
        rhs[m + k] *= cache->weight;
    }
    cri_qr_solve(&cache->qr, rhs, y);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        for (int r = 0; r < 3; r++) {
            step[3 * cj->contact + r] += cache->scale[j] * y[j] * cj->b[r];
        }
    }
}

// one Newton step on the class equations and the selection; returns its size
static double selection_step(const cri_friction *p, const cri_friction_cache *cache,
                             const double *u, double *f, cr_arena *scratch) {
    int rows = 3 * p->n, m = cache->m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *h = CR_PUSH(scratch, double, rows);
    double *Ah = CR_PUSH_RAW(scratch, double, rows);
    double *rhs = CR_PUSH_RAW(scratch, double, m + cache->n_null);
    double *y = CR_PUSH_RAW(scratch, double, m);
    for (int i = 0; i < p->n; i++) {
        const double *s = cache->slip + 2 * i;
        if (is_bound(cache->contact[i])) {
            h[3 * i] = p->l[i] - f[3 * i];
        }
        for (int r = 0; is_sliding(cache->contact[i]) && r < 2; r++) {
            h[3 * i + 1 + r] = -p->mu[i] * (f[3 * i] + h[3 * i]) * s[r] - f[3 * i + 1 + r];
        }
    }
    multiply(p, h, NULL, Ah);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        int at = 3 * cj->contact;
        rhs[j] = -dot3(cj->c, Ah + at) - (cj->d == 0.0 ? dot3(cj->c, u + at) : 0.0);
    }
    for (int k = 0; k < cache->n_null; k++) {
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        rhs[m + k] = -cri_dot(rows, z, f) - cri_dot(rows, z, h);
    }
    solve_columns(cache, rhs, y, h);
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
    bool is_same = true;
    for (int k = 0; k < 8 && is_same; k++) {
        double size = selection_step(p, cache, u, f, scratch), largest = 0.0;
        is_same = cri_all_finite(rows, f);
        for (int i = 0; is_same && i < rows; i++) {
            largest = fmax(largest, fabs(f[i]));
        }
        if (!is_same || size <= selection_stop * largest) {
            break;
        }
        classify(p, f, NULL, cache, u);
        is_same = memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
        factor(p, cache, f, keep, scratch);
    }
    cri_arena_rewind(scratch, mark);
    // a tenth of the certificate
    return is_same && cri_friction_certificate(p, f) <= 0.1;
}

void cri_friction_reduce(const cri_friction *p, double *f, const cri_friction_limit *limit,
                         cri_friction_cache *cache, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && keep != scratch);
    int n = p->n, rows = 3 * n;
    *cache = (cri_friction_cache){.n = n, .f = f};
    cache->contact = CR_PUSH(keep, cri_friction_class, n);
    cache->slip = CR_PUSH(keep, double, 2 * n);
    cache->column = CR_PUSH_RAW(keep, cri_friction_column, rows);
    cache->scale = CR_PUSH_RAW(keep, double, rows);
    cache->q = CR_PUSH(keep, double, rows);
    cache->null_space = CR_PUSH_RAW(keep, double, rows *rows);
    cache->qr_mark = cri_arena_get_mark(keep);

    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *u = CR_PUSH_RAW(scratch, double, rows);
    double *start = CR_PUSH_RAW(scratch, double, rows);
    classify(p, f, limit, cache, u);
    memcpy(start, f, sizeof *f * (size_t)rows);
    factor(p, cache, f, keep, scratch);
    if (cache->n_null > 0 && !limit && !select_impulse(p, f, cache, u, keep, scratch)) {
        memcpy(f, start, sizeof *f * (size_t)rows);
        classify(p, f, NULL, cache, u);
        factor(p, cache, f, keep, scratch);
        cache->is_one_sided = true;
    }
    cache->is_one_sided = cache->is_one_sided || cache->margin < kink_margin;
    cri_arena_rewind(scratch, mark);
}

void cri_friction_reduced_vjp(const cri_friction *p, const cri_friction_cache *cache,
                              const double *f_adj, double *p_out, double *z_out, double *mu_adj,
                              double *l_adj, cr_arena *scratch) {
    CR_ASSERT(cache->n == p->n && cache->qr.n == cache->m);
    int rows = 3 * p->n, m = cache->m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *y_adj = CR_PUSH_RAW(scratch, double, m);
    double *rhs_adj = CR_PUSH_RAW(scratch, double, m + cache->n_null);
    double *h_adj = CR_PUSH_RAW(scratch, double, rows);

    // f_tan = h + B y,  y = scale [H; weight Zc' B]^+ (scale, weight) rhs
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        y_adj[j] = cache->scale[j] * dot3(cj->b, f_adj + 3 * cj->contact);
    }
    cri_qr_solve_vjp(&cache->qr, y_adj, rhs_adj);

    // rhs = -C' (A_tan f + c_tan + A h);  Zc' A_tan q
    memset(p_out, 0, sizeof *p_out * (size_t)rows);
    memset(z_out, 0, sizeof *z_out * (size_t)rows);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        for (int r = 0; r < 3; r++) {
            p_out[3 * cj->contact + r] += cache->scale[j] * rhs_adj[j] * cj->c[r];
        }
    }
    for (int k = 0; k < cache->n_null; k++) {
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        for (int i = 0; i < rows; i++) {
            z_out[i] += cache->weight * rhs_adj[m + k] * z[i];
        }
    }
    multiply(p, p_out, NULL, h_adj);
    for (int i = 0; i < rows; i++) {
        h_adj[i] = f_adj[i] - h_adj[i];
    }

    // h of the bound and sliding contacts
    for (int i = 0; i < p->n; i++) {
        const double *s = cache->slip + 2 * i, *hi = h_adj + 3 * i;
        double along = s[0] * hi[1] + s[1] * hi[2];
        l_adj[i] += is_bound(cache->contact[i]) ? hi[0] : 0.0;
        if (cache->contact[i] == CRI_BOUND_SLIDE) {
            l_adj[i] -= p->mu[i] * along;
            mu_adj[i] -= p->l[i] * along;
        } else if (cache->contact[i] == CRI_SLIDE) {
            mu_adj[i] -= cache->f[3 * i] * along;
        }
    }
    cri_arena_rewind(scratch, mark);
}

void cri_friction_reduced_jvp(const cri_friction *p, const cri_friction_cache *cache,
                              const cri_friction_tan *tan, double *f_tan, cr_arena *scratch) {
    CR_ASSERT(cache->n == p->n && cache->qr.n == cache->m);
    int rows = 3 * p->n, m = cache->m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *rhs = CR_PUSH_RAW(scratch, double, m + cache->n_null);
    double *y = CR_PUSH_RAW(scratch, double, m);
    double *w = CR_PUSH_RAW(scratch, double, rows);

    // h of the bound and sliding contacts
    memset(f_tan, 0, sizeof *f_tan * (size_t)rows);
    for (int i = 0; i < p->n; i++) {
        const double *s = cache->slip + 2 * i;
        double pull = 0.0;
        f_tan[3 * i] = is_bound(cache->contact[i]) ? tan->l[i] : 0.0;
        if (cache->contact[i] == CRI_BOUND_SLIDE) {
            pull = p->mu[i] * tan->l[i] + p->l[i] * tan->mu[i];
        } else if (cache->contact[i] == CRI_SLIDE) {
            pull = cache->f[3 * i] * tan->mu[i];
        }
        f_tan[3 * i + 1] = -s[0] * pull;
        f_tan[3 * i + 2] = -s[1] * pull;
    }

    // rhs = -C' (A_tan f + c_tan + A h);  Zc' A_tan q
    multiply(p, f_tan, tan->rhs, w);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        rhs[j] = -dot3(cj->c, w + 3 * cj->contact);
    }
    for (int k = 0; k < cache->n_null; k++) {
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        rhs[m + k] = cri_dot(rows, z, tan->A_q);
    }
    solve_columns(cache, rhs, y, f_tan);
    cri_arena_rewind(scratch, mark);
}
