// SPDX-License-Identifier: MIT
//
// The reduced system of a solved friction problem on frozen classes (below):
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
// there is to it: y = H^+ rhs + (1 - H H^+) x (base/math/dense_factor.h).
//
// Where that matrix is still singular the solution is not isolated (Painleve's rod): least squares
// by QR, never a division, and the label one-sided.

#include "solvers/friction_reduced.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/dense_factor.h"
#include "solvers/friction.h"

#include <math.h>
#include <string.h>

// relative margins below this are kinks
static const double kink_margin = 1e-7;

// velocities below this, relative to the problem's, are none
static const double touch = 1e-9;

// pivots below this, relative, are rounding
static const double rank_tolerance = 1e-11;

// classes that a guess may go through
enum { MAX_CHANGE = 6 };

// a selection step of this relative size is rounding, and leaves the factors as they are
static const double selection_stop = 1e-13;

// in units of the certificate: what is left of directions that hardly move anything, and must not
// count in a second solve
static const double selection_accept = 0.02;

/// The entry of f that column j of a sticking contact is.
static inline int cri_friction_row_of(const cri_friction_cache *cache, int j) {
    const cri_friction_column *cj = &cache->column[j];
    return 3 * cj->contact + cj->unit_b;
}

// ---- classes ------------------------------------------------------------------------------------

// Classes of a solved friction problem and the columns that go with them: f_tan = h + B y.
//
//   class              B                    C            D        h
//   open               -                    -            -        0
//   stick              1                    1            0        0
//   slide, Coulomb     a, k t               e_n, k t     0, 1     (0, -s f_n mu_tan)
//   slide, convex      a, k t               a, k t       0, 1     (0, -s f_n mu_tan)
//   slide, octagon     a                    e_n          0        (0, -s f_n mu_tan)
//   edge, octagon      a, (0, along)        e_n, (0, along)  0, 0 (0, -s f_n mu_tan)
//   bound stick        (0, 1)               (0, 1)       0        (l_tan, 0)
//   bound slide        k t                  k t          1        (l_tan, -s (mu l_tan + l mu_tan))
//
// where f_t = -mu f_n s: s = u_t/|u_t|, minus the corner, or minus the middle of the side;
// a = (1, -mu s), t = (0, s turned by 90 degrees), k = sqrt(mu f_n/|u_t|); for mu f_n > rho |u_t|
// the column is t and D = |u_t|/(mu f_n), so that nothing is divided by a small slip.

void cri_friction_multiply(const cri_friction *p, const double *x, const double *c0, double *y) {
    CR_ASSERT(x && y);
    int m = 3 * p->n;
    for (int i = 0; i < p->n && p->blocks; i++) {
        cri_blocks_times(p->blocks, p->A, i, x, y + 3 * i);
    }
    for (int i = 0; i < m; i++) {
        y[i] =
            (c0 ? c0[i] : 0.0) + (p->blocks ? y[i] : cri_dot(m, p->A + (size_t)i * (size_t)m, x));
    }
}

// the entry of x that is 1 where the others are 0, else -1
static int unit_of(const double *x) {
    bool is_zero[3] = {x[0] == 0.0, x[1] == 0.0, x[2] == 0.0};
    for (int r = 0; r < 3; r++) {
        if (x[r] == 1.0 && is_zero[(r + 1) % 3] && is_zero[(r + 2) % 3]) {
            return r;
        }
    }
    return -1;
}

static void add_column(cri_friction_cache *cache, int contact, cri_friction_column column) {
    column.contact = contact;
    column.unit_b = unit_of(column.b);
    column.unit_c = unit_of(column.c);
    cache->column[cache->m++] = column;
}

// sliding direction, against f - rho u: at a solution that of the velocity and against the impulse,
// before it one that a slip near zero does not turn about
static void set_slip(const double *u, const double *f, double rho, double *s) {
    double z1 = rho * u[1] - f[1], z2 = rho * u[2] - f[2], r = sqrt(z1 * z1 + z2 * z2);
    if (r > 0.0) {
        s[0] = z1 / r;
        s[1] = z2 / r;
    }
}

// a corner or a side of the octagon
static void add_corner(const cri_friction *p, cri_friction_cache *cache, int i, int face) {
    double *s = cache->slip + 2 * i, middle[2], along[2], corner[2], mu = p->mu[i];
    cri_octagon_side(face, middle, along);
    cri_octagon_corner(face, corner);
    bool is_edge = cache->contact[i] == CRI_EDGE;
    s[0] = is_edge ? -middle[0] : -corner[0];
    s[1] = is_edge ? -middle[1] : -corner[1];
    add_column(cache, i,
               (cri_friction_column){.b = {1.0, -mu * s[0], -mu * s[1]}, .c = {1.0, 0.0, 0.0}});
    if (is_edge) {
        add_column(
            cache, i,
            (cri_friction_column){.b = {0.0, along[0], along[1]}, .c = {0.0, along[0], along[1]}});
    }
}

// columns of a sliding contact; f, u, l of the point that decides
static void add_sliding(const cri_friction *p, cri_friction_cache *cache, int i, const double *f,
                        const double *u, double l) {
    double *s = cache->slip + 2 * i, rho = cri_friction_rho(p, i);
    set_slip(u, f, rho, s);
    double mu = p->mu[i], fn = cache->contact[i] == CRI_SLIDE ? f[0] : l;
    if (cache->contact[i] == CRI_SLIDE) {
        cri_friction_column a = {.b = {1.0, -mu * s[0], -mu * s[1]}, .c = {1.0, 0.0, 0.0}};
        if (p->kind == CRI_CONVEX) {
            memcpy(a.c, a.b, sizeof a.c);
        }
        add_column(cache, i, a);
    }
    double slip = cri_tangent_size(u), pull = mu * fmax(fn, 0.0);
    if (pull <= rho * slip || pull == 0.0) {
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
        cri_friction_column *column = &cache->column[cache->m++];
        *column = (cri_friction_column){.contact = i, .unit_b = r, .unit_c = r};
        column->b[r] = column->c[r] = 1.0;
    }
}

// the largest impulse that the data or the solution have
static double impulse_scale(const cri_friction *p, const double *f) {
    double scale = 1e-300;
    for (int i = 0; i < p->n; i++) {
        double c = sqrt(cri_dot(3, p->c + 3 * i, p->c + 3 * i));
        double size = sqrt(cri_dot(3, f + 3 * i, f + 3 * i));
        scale = fmax(scale, fmax(size, cri_friction_rho(p, i) * c));
    }
    return scale;
}

static cri_friction_point class_at(const cri_friction *p, int i, const double *f, const double *u,
                                   double l) {
    double rho = cri_friction_rho(p, i);
    double z[3] = {f[0] - rho * u[0], f[1] - rho * u[1], f[2] - rho * u[2]};
    cri_friction_point at = cri_friction_project(p->kind, z, p->mu[i], l);
    if (cri_friction_is_weak(p, i, f[0], l)) {
        at.branch = CRI_OPEN;
    }
    return at;
}

double cri_friction_margin(const cri_friction *p, const double *f, bool *is_kink,
                           cr_arena *scratch) {
    CR_ASSERT(f && is_kink && scratch);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *u = CR_PUSH_RAW(scratch, double, 3 * p->n), margin = 1.0;
    double scale = impulse_scale(p, f);
    cri_friction_multiply(p, f, p->c, u);
    for (int i = 0; i < p->n; i++) {
        const double *fi = f + 3 * i, *ui = u + 3 * i;
        const cri_friction_point at = class_at(p, i, fi, ui, p->l[i]);
        margin = fmin(margin, cri_friction_margin_of(p, i, &at, fi, ui, scale));
    }
    cri_arena_rewind(scratch, mark);
    *is_kink = margin < kink_margin;
    return margin;
}

// A contact without force whose velocity is that of one with force: which carries is a matter of
// choice, and the choice is all of them.
static bool joins(const cri_friction *p, int i, const double *u, double u_scale,
                  cri_friction_point *at) {
    double slip = cri_tangent_size(u), mu = p->mu[i];
    double lift = p->kind == CRI_CONVEX ? mu * slip : 0.0;
    if (fabs(u[0] - lift) > touch * u_scale) {
        return false;
    }
    // as if pressed a little: the branch tells what its friction would do
    double rho = cri_friction_rho(p, i);
    double z[3] = {rho * u_scale, slip > touch * u_scale ? -u[1] / touch : 0.0,
                   slip > touch * u_scale ? -u[2] / touch : 0.0};
    *at = cri_friction_project(p->kind, z, mu, 0.0);
    return at->branch != CRI_OPEN;
}

/// Classes, columns and margin at f with its velocity u (3n), the caller's; weak impulses are set
/// to zero. Classes come from limit when there is one. is_generous lets contacts that touch without
/// force take part.
static void friction_classify_at(const cri_friction *p, double *f, const cri_friction_limit *limit,
                                 bool is_generous, cri_friction_cache *cache, const double *u) {
    CR_ASSERT(cache->n == p->n && cache->column);
    double f_scale = impulse_scale(p, f);
    cache->m = 0;
    cache->margin = 1.0;
    cache->has_slide = false;
    cache->n_joined = 0;
    for (int i = 0; i < p->n; i++) {
        const double *fi = limit ? limit->f + 3 * i : f + 3 * i;
        const double *ui = limit ? limit->u + 3 * i : u + 3 * i;
        double l = limit ? limit->l[i] : p->l[i];
        cri_friction_point at = class_at(p, i, fi, ui, l);
        if (!limit && cri_friction_is_weak(p, i, fi[0], l)) {
            memset(f + 3 * i, 0, 3 * sizeof *f);
        }
        double u_scale = f_scale / cri_friction_rho(p, i);
        if (is_generous && at.branch == CRI_OPEN && joins(p, i, ui, u_scale, &at)) {
            cache->n_joined++;
        }
        cache->contact[i] = at.branch;
        cache->speed[i] = cri_tangent_size(u + 3 * i);
        cache->margin = fmin(cache->margin, cri_friction_margin_of(p, i, &at, fi, ui, f_scale));
        cache->has_slide = cache->has_slide || at.branch == CRI_SLIDE || at.branch == CRI_EDGE ||
                           at.branch == CRI_BOUND_SLIDE;
        bool is_slide = at.branch == CRI_SLIDE || at.branch == CRI_BOUND_SLIDE;
        if (at.branch == CRI_EDGE || (is_slide && p->kind == CRI_OCTAGON)) {
            add_corner(p, cache, i, at.face);
        } else if (is_slide) {
            add_sliding(p, cache, i, fi, ui, l);
        } else if (at.branch != CRI_OPEN) {
            add_sticking(cache, i);
        }
    }
    cache->is_one_sided = cache->margin < kink_margin;
}

/// The same, and u is set.
static void friction_classify(const cri_friction *p, double *f, const cri_friction_limit *limit,
                              bool is_generous, cri_friction_cache *cache, double *u) {
    cri_friction_multiply(p, f, p->c, u);
    friction_classify_at(p, f, limit, is_generous, cache, u);
}

// ---- the reduced system -------------------------------------------------------------------------

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
static void friction_find_q(const cri_friction *p, cri_friction_cache *cache, const double *f,
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
static void friction_factor(const cri_friction *p, cri_friction_cache *cache, cr_arena *keep,
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

// ---- selection ----------------------------------------------------------------------------------

// Which impulse, where several solve a friction problem, and the guess that the classes are known.
//
// A step of the selection is one of Newton's method on the equations of the classes together with
// Zc' f = 0 (below): h brings f onto the border that its class says, then
//
//   [H; Zc' B] y = [-C' (A h + u); -Zc' (f + h)],    f += h + B y
//
// The direction s of a sliding contact is that of rho u - f, so that C' u need not vanish for the
// column across it before the end. Started from guessed classes this is an active-set method whose
// linear solves take the least impulse: where the last step's classes hold again, it is the whole
// solve.

size_t cri_friction_reduce_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return sizeof(double) * (10 * m * m + 40 * m + 8 * (size_t)n) +
           (sizeof(cri_friction_column) + sizeof(cri_friction_class) + sizeof(int)) * m + 4096;
}

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
        rhs[j] = -cri_dot(3, cj->c, Ah + at) - cri_dot(3, cj->c, u + at);
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

// is an impulse of that certificate good enough to be kept?
static bool accept(double residual, cri_friction_cache *cache) {
    bool is_met = residual <= selection_accept;
    cache->selected = is_met ? residual : -1.0;
    return is_met;
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
        friction_classify(p, f, NULL, false, cache, u);
        is_same = memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
        bool is_other = !is_same && n_left-- > 0 && cache->m > 0;
        if (is_other) {
            memcpy(old, cache->contact, sizeof *old * (size_t)n);
            has_joined = false;
            is_same = true;
        }
        if (is_same && (cache->has_slide || is_other)) {
            friction_factor(p, cache, keep, scratch); // its columns follow the slip
        }
    }
    if (is_same && has_joined) {
        // what joined has to carry some
        friction_classify(p, f, NULL, false, cache, u);
        is_same = memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
    }
    cri_arena_rewind(scratch, mark);
    return is_same && accept(cri_friction_certificate(p, f), cache);
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
    friction_classify(p, f, limit, !limit, cache, u);
    memcpy(start, f, sizeof *f * (size_t)rows);
    friction_factor(p, cache, keep, scratch);
    bool is_selected = false;
    if (cache->n_joined > 0) {
        is_selected = select_impulse(p, f, 0, cache, u, keep, scratch);
        if (!is_selected) {
            // those without force have to stay so
            memcpy(f, start, sizeof *f * (size_t)rows);
            friction_classify(p, f, NULL, false, cache, u);
            friction_factor(p, cache, keep, scratch);
        }
    }
    is_selected = is_selected || cache->n_null == 0 || limit;
    if (!is_selected && !select_impulse(p, f, 0, cache, u, keep, scratch)) {
        memcpy(f, start, sizeof *f * (size_t)rows);
        friction_classify(p, f, NULL, false, cache, u);
        friction_factor(p, cache, keep, scratch);
        cache->is_one_sided = true;
    }
    if (cache->n_null > 0 && has_derivative) {
        friction_find_q(p, cache, f, scratch);
    }
    cri_arena_rewind(scratch, mark);
}

// The impulse of sticking contacts from nothing: H^+, refined once where its certificate asks for
// it; u (3n) gets its velocity. False when it is not good enough, or no number.
static bool solve_linear(const cri_friction *p, cri_friction_cache *cache, double *f, double *u,
                         cr_arena *scratch) {
    int m = cache->m, rows = 3 * p->n;
    double *rhs = CR_PUSH_RAW(scratch, double, 2 * m), *y = rhs + m;
    memset(f, 0, sizeof *f * (size_t)rows);
    memcpy(u, p->c, sizeof *u * (size_t)rows);
    bool has_bound = false, is_good = false;
    for (int i = 0; i < p->n; i++) {
        bool is_bound = cache->contact[i] == CRI_BOUND_STICK;
        f[3 * i] = is_bound ? p->l[i] : 0.0;
        has_bound = has_bound || is_bound;
    }
    if (has_bound) {
        cri_friction_multiply(p, f, p->c, u);
    }
    for (int pass = 0; pass < 2 && !is_good; pass++) {
        for (int j = 0; j < m; j++) {
            rhs[j] = -u[cri_friction_row_of(cache, j)];
        }
        cri_friction_solve_columns(cache, rhs, NULL, y, scratch);
        for (int j = 0; j < m; j++) {
            f[cri_friction_row_of(cache, j)] += y[j];
        }
        cri_friction_multiply(p, f, p->c, u);
        is_good = accept(cri_friction_certificate_at(p, f, u), cache);
    }
    return is_good;
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
    cri_friction_multiply(p, f, p->c, u);
    memcpy(guess, u, sizeof *u * (size_t)rows);
    guess_velocity(p, f, guess);
    const cri_friction_limit seen = {.f = f, .u = guess, .l = p->l};
    friction_classify_at(p, f, &seen, true, cache, u);
    bool is_solved = false;
    if (cache->m > 0) {
        memcpy(old, cache->contact, sizeof *old * (size_t)n);
        friction_factor(p, cache, keep, scratch);
    }
    if (cache->m > 0 && cache->has_slide) {
        is_solved = select_impulse(p, f, MAX_CHANGE, cache, u, keep, scratch);
    } else if (cache->m > 0) {
        is_solved = solve_linear(p, cache, f, u, scratch);
        bool is_finite = cri_all_finite(rows, f);
        // the same columns, and the margin of what came out
        friction_classify_at(p, f, NULL, false, cache, u);
        is_solved = is_solved && memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
        if (is_finite && !is_solved && cache->m > 0) {
            friction_factor(p, cache, keep, scratch);
            is_solved = select_impulse(p, f, MAX_CHANGE - 1, cache, u, keep, scratch);
        }
    }
    if (!is_solved) {
        memcpy(f, start, sizeof *f * (size_t)rows);
        cri_arena_rewind(keep, keep_mark);
    } else if (cache->n_null > 0 && has_derivative) {
        friction_find_q(p, cache, f, scratch);
    }
    cri_arena_rewind(scratch, mark);
    return is_solved;
}

// ---- derivatives --------------------------------------------------------------------------------

// Derivatives of a solved friction problem through its reduced system (below).
//
//   jvp: H y = r - C' (A_tan f + c_tan + A h),   f_tan = h + B y
//   vjp: H' z = B' f_adj, p = C z, A_adj = -p f', c_adj = -p, h_adj = f_adj - A p
//   r = |u_t| mu_tan in row a of a convex slide, else 0
//
// Redundant contacts: Coulomb and octagon have rhs2 = Zc' A_tan q (h has no part in it: in every
// class it is orthogonal to C). The columns a of the convex law belong to Zc = Z and move with mu
// and s, so that the component along Z is
//
//   eta = -Z'f_tan + Z' A_tan q + sum over slides Z_jn (s mu_tan + mu s_tan).w_t,
//   s_tan = (1 - s s') u_tan,t/|u_t|,    w = f - A q,    f_tan += Z eta
//
// mu_adj is exactly zero for open and sticking contacts. At mu = 0 a contact is sliding with f_t =
// 0, and mu_adj is the derivative for mu -> 0+. A touching contact without force is open.

static bool is_bound(cri_friction_class c) {
    return c == CRI_BOUND_STICK || c == CRI_BOUND_SLIDE;
}

static bool is_free_slide(cri_friction_class c) {
    return c == CRI_SLIDE || c == CRI_EDGE;
}

// has the selection columns that move?
static bool turns(const cri_friction *p, const cri_friction_cache *cache) {
    return p->kind == CRI_CONVEX && cache->n_null > 0 && cache->has_slide;
}

// out = Z weight
static void along_null_space(const cri_friction_cache *cache, const double *weight, double *out) {
    int rows = 3 * cache->n;
    memset(out, 0, sizeof *out * (size_t)rows);
    for (int k = 0; k < cache->n_null; k++) {
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        for (int i = 0; i < rows; i++) {
            out[i] += weight[k] * z[i];
        }
    }
}

// (1 - s s') w_t/|u_t|, nothing where nothing slips
static void across(const cri_friction_cache *cache, int i, const double *w, double out[2]) {
    const double *s = cache->slip + 2 * i;
    double along = s[0] * w[1] + s[1] * w[2];
    double inverse = cache->speed[i] > 0.0 ? 1.0 / cache->speed[i] : 0.0;
    out[0] = (w[1] - along * s[0]) * inverse;
    out[1] = (w[2] - along * s[1]) * inverse;
}

// tangent: adds Z eta to f_tan, which has no part along Z yet but that of h
static void turn_selection(const cri_friction *p, const cri_friction_cache *cache,
                           const cri_friction_tan *tan, double *f_tan, cr_arena *scratch) {
    int rows = 3 * p->n;
    double *u_tan = CR_PUSH_RAW(scratch, double, 2 * rows + cache->n_null);
    double *step = u_tan + rows, *eta = step + rows;
    cri_friction_multiply(p, f_tan, tan->rhs, u_tan);
    for (int k = 0; k < cache->n_null; k++) {
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        eta[k] = cri_dot(rows, z, tan->A_q) - cri_dot(rows, z, f_tan);
        for (int i = 0; i < p->n; i++) {
            const double *s = cache->slip + 2 * i, *w = cache->w + 3 * i;
            if (cache->contact[i] != CRI_SLIDE) {
                continue;
            }
            double turn[2];
            across(cache, i, u_tan + 3 * i, turn);
            eta[k] += z[3 * i] * tan->mu[i] * (s[0] * w[1] + s[1] * w[2]);
            eta[k] += z[3 * i] * p->mu[i] * (turn[0] * w[1] + turn[1] * w[2]);
        }
    }
    along_null_space(cache, eta, step);
    for (int i = 0; i < rows; i++) {
        f_tan[i] += step[i];
    }
}

void cri_friction_reduced_jvp(const cri_friction *p, const cri_friction_cache *cache,
                              const cri_friction_tan *tan, double *f_tan, cr_arena *scratch) {
    CR_ASSERT(cache->n == p->n && tan && f_tan);
    int rows = 3 * p->n, m = cache->m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *rhs = CR_PUSH_RAW(scratch, double, 2 * m), *y = rhs + m;
    double *w = CR_PUSH_RAW(scratch, double, rows);

    // h of the bound and sliding contacts
    memset(f_tan, 0, sizeof *f_tan * (size_t)rows);
    for (int i = 0; i < p->n; i++) {
        const double *s = cache->slip + 2 * i;
        double pull = 0.0;
        f_tan[3 * i] = is_bound(cache->contact[i]) ? tan->l[i] : 0.0;
        if (cache->contact[i] == CRI_BOUND_SLIDE) {
            pull = p->mu[i] * tan->l[i] + p->l[i] * tan->mu[i];
        } else if (is_free_slide(cache->contact[i])) {
            pull = cache->f[3 * i] * tan->mu[i];
        }
        f_tan[3 * i + 1] = -s[0] * pull;
        f_tan[3 * i + 2] = -s[1] * pull;
    }

    // rhs = r - C' (A_tan f + c_tan + A h);  Zc' A_tan q
    cri_friction_multiply(p, f_tan, tan->rhs, w);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        int i = cj->contact;
        bool is_a = p->kind == CRI_CONVEX && cache->contact[i] == CRI_SLIDE && cj->d == 0.0;
        rhs[j] = (is_a ? cache->speed[i] * tan->mu[i] : 0.0) - cri_dot(3, cj->c, w + 3 * i);
    }
    bool takes_q = cache->n_null > 0 && !turns(p, cache);
    cri_friction_solve_columns(cache, rhs, takes_q ? tan->A_q : NULL, y, scratch);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        for (int r = 0; r < 3; r++) {
            f_tan[3 * cj->contact + r] += y[j] * cj->b[r];
        }
    }
    if (turns(p, cache)) {
        turn_selection(p, cache, tan, f_tan, scratch);
    }
    cri_arena_rewind(scratch, mark);
}

// ---- many tangents -----------------------------------------------------------------------------

bool cri_friction_takes_q(const cri_friction *p, const cri_friction_cache *cache) {
    // where nothing slides A has no part in Z, and what turns with it is along Z
    return cache->n_null > 0 && cache->psd.n == 0 && !turns(p, cache);
}

size_t cri_friction_many_bytes(int n, int n_column) {
    return sizeof(double) * 3 * (size_t)n * (3 * (size_t)n_column + 2) + 4 * 64;
}

static void scale_rows(const cri_friction_cache *cache, int n_column, double *X) {
    for (int j = 0; j < cache->m; j++) {
        double *x = X + (size_t)j * (size_t)n_column;
        for (int k = 0; k < n_column; k++) {
            x[k] *= cache->scale[j];
        }
    }
}

// cri_friction_solve_columns for the columns of X (m, n_column) in place; x is A_q
static void solve_many(const cri_friction_cache *cache, int n_column, double *X, const double *A_q,
                       cr_arena *scratch) {
    int m = cache->m, rows = 3 * cache->n;
    size_t width = (size_t)n_column;
    double *along = CR_PUSH_RAW(scratch, double, n_column);
    scale_rows(cache, n_column, X);
    for (int k = 0; k < cache->n_null; k++) {
        const double *left = cache->left + (size_t)k * (size_t)m;
        const double *z = cache->null_space + (size_t)k * (size_t)rows;
        memset(along, 0, sizeof *along * width);
        for (int i = 0; A_q && i < rows; i++) {
            cri_add_scaled(n_column, cache->weight * z[i], A_q + (size_t)i * width, along);
        }
        for (int j = 0; j < m; j++) {
            cri_add_scaled(n_column, -left[j], X + (size_t)j * width, along);
        }
        for (int j = 0; j < m; j++) {
            cri_add_scaled(n_column, left[j], along, X + (size_t)j * width);
        }
    }
    if (cache->qr.n == 0) {
        cri_lu_solve_many(m, cache->lu, cache->pivot, n_column, X);
    } else {
        double *rhs = CR_PUSH_RAW(scratch, double, 2 * m), *y = rhs + m;
        for (int k = 0; k < n_column; k++) {
            for (int j = 0; j < m; j++) {
                rhs[j] = X[(size_t)j * width + (size_t)k];
            }
            cri_qr_solve(&cache->qr, rhs, y);
            for (int j = 0; j < m; j++) {
                X[(size_t)j * width + (size_t)k] = y[j];
            }
        }
    }
    scale_rows(cache, n_column, X);
}

void cri_friction_reduced_many(const cri_friction *p, const cri_friction_cache *cache, int n_column,
                               double *F, const double *A_q, cr_arena *scratch) {
    CR_ASSERT(cache->n == p->n && n_column > 0 && F && scratch);
    int m = cache->m;
    size_t width = (size_t)n_column;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *X = CR_PUSH_RAW(scratch, double, (size_t)m *width);
    cri_clear_rows(m, n_column, X);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        for (int r = 0; r < 3; r++) {
            if (cj->c[r] != 0.0) {
                cri_add_scaled(n_column, -cj->c[r], F + (size_t)(3 * cj->contact + r) * width,
                               X + (size_t)j * width);
            }
        }
    }
    if (m > 0 && cache->psd.n > 0) {
        double *work = CR_PUSH_RAW(scratch, double, 2 * (size_t)m * width);
        cri_psd_solve_many(&cache->psd, n_column, X, work);
    } else if (m > 0) {
        solve_many(cache, n_column, X, A_q, scratch);
    }
    cri_clear_rows(3 * p->n, n_column, F);
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        for (int r = 0; r < 3; r++) {
            if (cj->b[r] != 0.0) {
                cri_add_scaled(n_column, cj->b[r], X + (size_t)j * width,
                               F + (size_t)(3 * cj->contact + r) * width);
            }
        }
    }
    cri_arena_rewind(scratch, mark);
}

// adjoint of turn_selection: f_adj is changed, z = Z zeta, u_adj (3n) of the velocity
static void turn_selection_vjp(const cri_friction *p, const cri_friction_cache *cache,
                               double *f_adj, double *z, double *u_adj, double *mu_adj,
                               cr_arena *scratch) {
    int rows = 3 * p->n;
    double *zeta = CR_PUSH_RAW(scratch, double, cache->n_null + rows), *Au = zeta + cache->n_null;
    for (int k = 0; k < cache->n_null; k++) {
        zeta[k] = cri_dot(rows, cache->null_space + (size_t)k * (size_t)rows, f_adj);
    }
    along_null_space(cache, zeta, z);
    for (int i = 0; i < p->n; i++) {
        const double *s = cache->slip + 2 * i, *w = cache->w + 3 * i;
        double g = z[3 * i], turn[2];
        if (cache->contact[i] != CRI_SLIDE) {
            continue;
        }
        mu_adj[i] += g * (s[0] * w[1] + s[1] * w[2]);
        across(cache, i, w, turn);
        u_adj[3 * i + 1] = g * p->mu[i] * turn[0];
        u_adj[3 * i + 2] = g * p->mu[i] * turn[1];
    }
    // u_tan = A_tan f + c_tan + A f_tan
    cri_friction_multiply(p, u_adj, NULL, Au);
    for (int i = 0; i < rows; i++) {
        f_adj[i] += Au[i] - z[i];
    }
}

// rhs = r - C' (A_tan f + c_tan + A h);  Zc' A_tan q: p = C z1, z = Zc z2
static void rhs_vjp(const cri_friction *p, const cri_friction_cache *cache, const double *rhs_adj,
                    double *p_out, double *mu_adj) {
    memset(p_out, 0, sizeof *p_out * 3 * (size_t)p->n);
    for (int j = 0; j < cache->m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        int i = cj->contact;
        for (int r = 0; r < 3; r++) {
            p_out[3 * i + r] += rhs_adj[j] * cj->c[r];
        }
        bool is_a = p->kind == CRI_CONVEX && cache->contact[i] == CRI_SLIDE && cj->d == 0.0;
        mu_adj[i] += is_a ? cache->speed[i] * rhs_adj[j] : 0.0;
    }
}

// h of the bound and sliding contacts
static void explicit_vjp(const cri_friction *p, const cri_friction_cache *cache,
                         const double *h_adj, double *mu_adj, double *l_adj) {
    for (int i = 0; i < p->n; i++) {
        const double *s = cache->slip + 2 * i, *hi = h_adj + 3 * i;
        double along = s[0] * hi[1] + s[1] * hi[2];
        l_adj[i] += is_bound(cache->contact[i]) ? hi[0] : 0.0;
        if (cache->contact[i] == CRI_BOUND_SLIDE) {
            l_adj[i] -= p->mu[i] * along;
            mu_adj[i] -= p->l[i] * along;
        } else if (is_free_slide(cache->contact[i])) {
            mu_adj[i] -= cache->f[3 * i] * along;
        }
    }
}

void cri_friction_reduced_vjp(const cri_friction *p, const cri_friction_cache *cache,
                              const double *f_adj, double *p_out, double *z_out, double *mu_adj,
                              double *l_adj, cr_arena *scratch) {
    CR_ASSERT(cache->n == p->n && f_adj && p_out && z_out && mu_adj && l_adj);
    int rows = 3 * p->n, m = cache->m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *y_adj = CR_PUSH_RAW(scratch, double, 2 * m + rows), *rhs_adj = y_adj + m;
    double *x_adj = rhs_adj + m;
    double *g = CR_PUSH_RAW(scratch, double, 2 * rows), *h_adj = g + rows;
    double *u_adj = CR_PUSH(scratch, double, rows);
    memcpy(g, f_adj, sizeof *g * (size_t)rows);
    memset(z_out, 0, sizeof *z_out * (size_t)rows);
    if (turns(p, cache)) {
        turn_selection_vjp(p, cache, g, z_out, u_adj, mu_adj, scratch);
    }

    // f_tan = h + B y
    for (int j = 0; j < m; j++) {
        const cri_friction_column *cj = &cache->column[j];
        y_adj[j] = cri_dot(3, cj->b, g + 3 * cj->contact);
    }
    cri_friction_solve_columns_vjp(cache, y_adj, rhs_adj, x_adj, scratch);
    rhs_vjp(p, cache, rhs_adj, p_out, mu_adj);
    if (!turns(p, cache)) {
        memcpy(z_out, x_adj, sizeof *z_out * (size_t)rows);
    }
    cri_friction_multiply(p, p_out, NULL, h_adj);
    for (int i = 0; i < rows; i++) {
        h_adj[i] = g[i] - h_adj[i];
        p_out[i] -= u_adj[i];
    }
    explicit_vjp(p, cache, h_adj, mu_adj, l_adj);
    cri_arena_rewind(scratch, mark);
}
