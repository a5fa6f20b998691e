// SPDX-License-Identifier: MIT
//
// Derivatives of a solved friction problem through its reduced system (friction_reduced.c).
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

#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/lu.h"
#include "solvers/friction_reduced.h"

#include <string.h>

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
