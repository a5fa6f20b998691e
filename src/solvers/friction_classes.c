// SPDX-License-Identifier: MIT
//
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

#include "base/base.h"
#include "base/math/dense.h"
#include "solvers/friction_reduced.h"
#include "solvers/friction_sparse.h"

#include <math.h>
#include <string.h>

// relative margins below this are kinks
static const double kink_margin = 1e-7;
// velocities below this, relative to the problem's, are none
static const double touch = 1e-9;

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

void cri_friction_classify_at(const cri_friction *p, double *f, const cri_friction_limit *limit,
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

void cri_friction_classify(const cri_friction *p, double *f, const cri_friction_limit *limit,
                           bool is_generous, cri_friction_cache *cache, double *u) {
    cri_friction_multiply(p, f, p->c, u);
    cri_friction_classify_at(p, f, limit, is_generous, cache, u);
}
