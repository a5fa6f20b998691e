// SPDX-License-Identifier: MIT
//
//   d = -(H + s M)^-1 g,  s 0, or 1e-2, 4e-2, ... for the unknowns at whose pivots the matrix is
//                         not positive definite without
//   x <- x + part d,      part the largest safe one, halved until the value falls by 1e-4 of what
//                         the slope promises
//
// Where the problem knows poles, d minimises g . d + d'(H + s M) d/2 + bend(d) instead, to a few
// steps of Newton's method, none of which needs the function: one step then goes as far into a pole
// as it should, rather than to a part of the way that is safe.
//
// Near the end differences of values are rounding: there a step is taken when it is small, or when
// the gradient falls. A step below the tolerance without s is the last one. It is taken as it is:
// the error after it is of the order of its square.

#include "solvers/descent.h"

#include "base/base.h"
#include "base/math/dense.h"

#include <math.h>
#include <string.h>

// below this size, steps of Newton's method are right
static const double small_step = 1e-7;

// steps of Newton's method on the model, and the size of the last over that of the whole
enum { MOST_BENT = 12 };
static const double bent_enough = 1e-3;

typedef struct descent {
    const cri_descent *problem;
    double *g, *d, *next_g;     // (n)
    double *bent, *pull, *turn; // (n) of the model: where it is, its gradient, and its step
    double *shift;              // (n) s
    double *H, *next_H;         // (n, n)
    double *bent_H;             // (n, n) of the model
    cri_block_factor *factor;
    cr_arena *scratch;
    double value, noise;
    cri_descent_report *report;
} descent;

// true when H (n, n) is positive definite and its factor made; else *row is that of a bad pivot, or
// -1 for lack of memory
static bool factor_matrix(descent *w, const double *H, int *row) {
    *row = cri_block_factor_make(w->factor, H, w->scratch);
    w->report->has_memory = w->report->has_memory && *row >= 0;
    return *row == w->problem->n;
}

/// factor of H, stiffened as much as it needs; false: that does not help. has_shift: it did
static bool factor_of(descent *w, bool *has_shift) {
    int n = w->problem->n, row;
    size_t bytes = sizeof(double) * (size_t)n;
    const double *H = w->H;
    memset(w->shift, 0, bytes);
    *has_shift = false;
    while (!factor_matrix(w, H, &row)) {
        // beyond this nothing is left of H; numbers that are not finite never end
        if (row < 0 || w->shift[row] > 1e30) {
            return false;
        }
        w->shift[row] = w->shift[row] > 0.0 ? 4.0 * w->shift[row] : 1e-2;
        *has_shift = true;
        memcpy(w->bent_H, w->H, bytes * (size_t)n);
        w->problem->stiffen(w->problem->self, w->shift, w->bent_H);
        H = w->bent_H;
    }
    return true;
}

static double value_of(descent *w, double *g, double *H, double *noise) {
    w->report->n_value++;
    return w->problem->value(w->problem->self, g, H, noise);
}

static void swap(double **a, double **b) {
    double *kept = *a;
    *a = *b;
    *b = kept;
}

// is the tried point better? slope = g . d < 0
static bool is_better(const descent *w, double value, double part, double slope, double size) {
    int n = w->problem->n;
    if (!isfinite(value)) {
        return false;
    }
    if (value <= w->value + 1e-4 * part * slope) {
        return true;
    }
    bool is_noise = fabs(part * slope) <= 16.0 * w->noise;
    bool is_falling = cri_dot(n, w->next_g, w->next_g) <= cri_dot(n, w->g, w->g);
    return value <= w->value + 16.0 * w->noise && (is_noise || part * size < small_step) &&
           (is_falling || part * size < small_step);
}

// goes along d; false when no part of it is better
static bool search(descent *w, double size) {
    const cri_descent *p = w->problem;
    double slope = cri_dot(p->n, w->g, w->d), noise;
    double part = p->limit(p->self, w->d);
    // a part as small as that moves nothing any more
    while (part > 1e-14) {
        p->move(p->self, part, w->d);
        double value = value_of(w, w->next_g, w->next_H, &noise);
        if (isnan(value)) {
            w->report->has_memory = false;
            return false;
        }
        if (is_better(w, value, part, slope, size)) {
            p->accept(p->self);
            w->value = value;
            w->noise = noise;
            swap(&w->g, &w->next_g);
            swap(&w->H, &w->next_H);
            return true;
        }
        part *= 0.5;
    }
    return false;
}

// ---- the model with poles ----------------------------------------------------------------------

// the model's value there, its gradient in pull; M (n, n) is H + s M; adds the rest to H (n, n)
static double model_at(descent *w, const double *M, const double *at, double *H) {
    int n = w->problem->n;
    double value = 0.0;
    for (int i = 0; i < n; i++) {
        double row = cri_dot(n, M + (size_t)i * (size_t)n, at);
        value += at[i] * (w->g[i] + 0.5 * row);
        w->pull[i] = w->g[i] + row;
    }
    return value + w->problem->bend(w->problem->self, at, w->pull, H);
}

// moves bent by a part of turn, with second derivatives in bent_H; false when nothing is lower
static bool lower_model(descent *w, const double *M, double *value, double slope) {
    int n = w->problem->n;
    double part = 1.0;
    for (int half = 0; half < 20; half++, part *= 0.5) {
        cri_add_scaled(n, part, w->turn, w->bent);
        memcpy(w->bent_H, M, sizeof(double) * (size_t)n * (size_t)n);
        double next = model_at(w, M, w->bent, w->bent_H);
        if (next <= *value + 1e-4 * part * slope) {
            *value = next;
            return true;
        }
        cri_add_scaled(n, -part, w->turn, w->bent);
    }
    return false;
}

// d of the model, from that of Newton's method
static void bend_step(descent *w, bool has_shift) {
    const cri_descent *p = w->problem;
    size_t n = (size_t)p->n, bytes = sizeof(double) * n * n;
    double *M = w->next_H, value = 0.0;
    memcpy(M, w->H, bytes);
    if (has_shift) {
        p->stiffen(p->self, w->shift, M);
    }
    memset(w->bent, 0, sizeof(double) * n);
    memcpy(w->turn, w->d, sizeof(double) * n);
    double slope = cri_dot(p->n, w->g, w->d);
    for (int step = 0; step < MOST_BENT && lower_model(w, M, &value, slope); step++) {
        int row;
        if (!factor_matrix(w, w->bent_H, &row)) {
            break;
        }
        for (size_t i = 0; i < n; i++) {
            w->turn[i] = -w->pull[i];
        }
        cri_block_factor_solve(w->factor, w->turn);
        slope = cri_dot(p->n, w->pull, w->turn);
        if (p->size(p->self, w->turn) <= bent_enough * p->size(p->self, w->bent)) {
            break;
        }
    }
    if (cri_dot(p->n, w->g, w->bent) < 0.0) {
        memcpy(w->d, w->bent, sizeof(double) * n);
    }
}

// one step; false when it was the last
static bool advance(descent *w) {
    const cri_descent *p = w->problem;
    bool has_shift;
    w->report->n_step++;
    if (!factor_of(w, &has_shift)) {
        return false;
    }
    for (int i = 0; i < p->n; i++) {
        w->d[i] = -w->g[i];
    }
    cri_block_factor_solve(w->factor, w->d);
    w->report->size = p->size(p->self, w->d);
    if (!has_shift && w->report->size <= p->tolerance && p->limit(p->self, w->d) >= 1.0) {
        p->move(p->self, 1.0, w->d);
        p->accept(p->self);
        w->report->is_solved = true;
        return false;
    }
    memset(w->pull, 0, sizeof(double) * (size_t)p->n);
    if (p->bend && p->bend(p->self, w->d, w->pull, NULL) != 0.0) {
        bend_step(w, has_shift);
    }
    return w->report->has_memory && search(w, w->report->size);
}

void cri_descent_run(const cri_descent *problem, cri_block_factor *factor, cr_arena *scratch,
                     cri_descent_report *report) {
    CR_ASSERT(problem->n > 0 && problem->tolerance > 0.0);
    size_t n = (size_t)problem->n;
    *report = (cri_descent_report){.has_memory = true};
    descent w = {.problem = problem, .factor = factor, .scratch = scratch, .report = report};
    w.g = CR_PUSH(scratch, double, n);
    w.next_g = CR_PUSH(scratch, double, n);
    w.d = CR_PUSH(scratch, double, n);
    w.bent = CR_PUSH(scratch, double, n);
    w.pull = CR_PUSH(scratch, double, n);
    w.turn = CR_PUSH(scratch, double, n);
    w.shift = CR_PUSH(scratch, double, n);
    w.H = CR_PUSH(scratch, double, n *n);
    w.next_H = CR_PUSH(scratch, double, n *n);
    w.bent_H = CR_PUSH(scratch, double, n *n);
    if (cri_arena_has_failed(scratch)) {
        report->has_memory = false;
        return;
    }
    problem->move(problem->self, 0.0, w.d);
    w.value = value_of(&w, w.g, w.H, &w.noise);
    problem->accept(problem->self);
    report->has_memory = !isnan(w.value);
    report->is_allowed = isfinite(w.value);
    if (report->is_allowed) {
        for (int step = 0; step < problem->most && advance(&w); step++) {
        }
        report->value = w.value;
    }
}

// ---- a few steps -------------------------------------------------------------------------------

bool cri_descent_unroll(const cri_block_factor *factor, int n_step, double *b, cr_arena *scratch) {
    CR_ASSERT(n_step > 0);
    int n = factor->groups.first[factor->groups.n];
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *H = CR_PUSH(scratch, double, (size_t)n *(size_t)n);
    double *z = CR_PUSH(scratch, double, n), *m = CR_PUSH(scratch, double, n);
    double *left = CR_PUSH(scratch, double, n), *unit = CR_PUSH(scratch, double, n);
    bool is_good = !cri_arena_has_failed(scratch);
    for (int i = 0; is_good && i < n; i++) {
        double *row = H + (size_t)i * (size_t)n;
        unit[i] = 1.0;
        cri_block_factor_multiply(factor, unit, row);
        unit[i] = 0.0;
        for (int j = 0; j < n; j++) {
            m[i] += fabs(row[j]);
        }
    }
    for (int step = 0; is_good && step < n_step; step++) {
        for (int i = 0; i < n; i++) {
            left[i] = b[i] - cri_dot(n, H + (size_t)i * (size_t)n, z);
        }
        for (int i = 0; i < n; i++) {
            z[i] += left[i] / m[i];
        }
    }
    if (is_good) {
        memcpy(b, z, sizeof *b * (size_t)n);
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}
