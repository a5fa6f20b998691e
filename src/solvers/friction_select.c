// SPDX-License-Identifier: MIT
//
// Which impulse, where several solve a friction problem, and the guess that the classes are known.
//
// A step of the selection is one of Newton's method on the equations of the classes together with
// Zc' f = 0 (friction_reduced.c): h brings f onto the border that its class says, then
//
//   [H; Zc' B] y = [-C' (A h + u); -Zc' (f + h)],    f += h + B y
//
// The direction s of a sliding contact is that of rho u - f, so that C' u need not vanish for the
// column across it before the end. Started from guessed classes this is an active-set method whose
// linear solves take the least impulse: where the last step's classes hold again, it is the whole
// solve.

#include "solvers/friction_reduced.h"

#include "base/base.h"
#include "base/math/dense.h"

#include <math.h>
#include <string.h>

// classes that a guess may go through
enum { MAX_CHANGE = 6 };
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
        cri_friction_classify(p, f, NULL, false, cache, u);
        is_same = memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
        bool is_other = !is_same && n_left-- > 0 && cache->m > 0;
        if (is_other) {
            memcpy(old, cache->contact, sizeof *old * (size_t)n);
            has_joined = false;
            is_same = true;
        }
        if (is_same && (cache->has_slide || is_other)) {
            cri_friction_factor(p, cache, keep, scratch); // its columns follow the slip
        }
    }
    if (is_same && has_joined) {
        // what joined has to carry some
        cri_friction_classify(p, f, NULL, false, cache, u);
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
    cri_friction_classify(p, f, limit, !limit, cache, u);
    memcpy(start, f, sizeof *f * (size_t)rows);
    cri_friction_factor(p, cache, keep, scratch);
    bool is_selected = false;
    if (cache->n_joined > 0) {
        is_selected = select_impulse(p, f, 0, cache, u, keep, scratch);
        if (!is_selected) {
            // those without force have to stay so
            memcpy(f, start, sizeof *f * (size_t)rows);
            cri_friction_classify(p, f, NULL, false, cache, u);
            cri_friction_factor(p, cache, keep, scratch);
        }
    }
    is_selected = is_selected || cache->n_null == 0 || limit;
    if (!is_selected && !select_impulse(p, f, 0, cache, u, keep, scratch)) {
        memcpy(f, start, sizeof *f * (size_t)rows);
        cri_friction_classify(p, f, NULL, false, cache, u);
        cri_friction_factor(p, cache, keep, scratch);
        cache->is_one_sided = true;
    }
    if (cache->n_null > 0 && has_derivative) {
        cri_friction_find_q(p, cache, f, scratch);
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
    cri_friction_classify_at(p, f, &seen, true, cache, u);
    bool is_solved = false;
    if (cache->m > 0) {
        memcpy(old, cache->contact, sizeof *old * (size_t)n);
        cri_friction_factor(p, cache, keep, scratch);
    }
    if (cache->m > 0 && cache->has_slide) {
        is_solved = select_impulse(p, f, MAX_CHANGE, cache, u, keep, scratch);
    } else if (cache->m > 0) {
        is_solved = solve_linear(p, cache, f, u, scratch);
        bool is_finite = cri_all_finite(rows, f);
        // the same columns, and the margin of what came out
        cri_friction_classify_at(p, f, NULL, false, cache, u);
        is_solved = is_solved && memcmp(old, cache->contact, sizeof *old * (size_t)n) == 0;
        if (is_finite && !is_solved && cache->m > 0) {
            cri_friction_factor(p, cache, keep, scratch);
            is_solved = select_impulse(p, f, MAX_CHANGE - 1, cache, u, keep, scratch);
        }
    }
    if (!is_solved) {
        memcpy(f, start, sizeof *f * (size_t)rows);
        cri_arena_rewind(keep, keep_mark);
    } else if (cache->n_null > 0 && has_derivative) {
        cri_friction_find_q(p, cache, f, scratch);
    }
    cri_arena_rewind(scratch, mark);
    return is_solved;
}
