// SPDX-License-Identifier: MIT
//
//   d = -(H + s M)^-1 g,  s the first of 0, 1e-2, 4e-2, ... that makes the matrix positive definite
//   x <- x + part d,      part the largest safe one, halved until the value falls by 1e-4 of what
//                         the slope promises
//
// Near the end differences of values are rounding: there a step is taken when it is small, or when
// the gradient falls. A step below the tolerance without s is the last one. It is taken as it is:
// the error after it is of the order of its square.

#include "solvers/descent.h"

#include "base/base.h"
#include "math/cholesky.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

// below this size, steps of Newton's method are right
static const double small_step = 1e-7;

typedef struct descent {
    const cri_descent *problem;
    double *g, *d, *next_g; // (n)
    double *H, *next_H;     // (n, n)
    double *factor;
    double value, noise;
    cri_descent_report *report;
} descent;

/// factor of H, stiffened as much as it needs; returns by how much
static double factor_of(descent *w) {
    size_t n = (size_t)w->problem->n;
    double s = 0.0;
    memcpy(w->factor, w->H, sizeof(double) * n * n);
    while (!cri_cholesky_factor((int)n, w->factor)) {
        // beyond this nothing is left of H; numbers that are not finite never end
        if (s > 1e30) {
            return INFINITY;
        }
        s = s > 0.0 ? 4.0 * s : 1e-2;
        memcpy(w->factor, w->H, sizeof(double) * n * n);
        w->problem->stiffen(w->problem->self, s, w->factor);
    }
    return s;
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

// one step; false when it was the last
static bool advance(descent *w) {
    const cri_descent *p = w->problem;
    double s = factor_of(w);
    w->report->n_step++;
    if (!isfinite(s)) {
        return false;
    }
    for (int i = 0; i < p->n; i++) {
        w->d[i] = -w->g[i];
    }
    cri_cholesky_solve(p->n, w->factor, w->d);
    w->report->size = p->size(p->self, w->d);
    if (s == 0.0 && w->report->size <= p->tolerance && p->limit(p->self, w->d) >= 1.0) {
        p->move(p->self, 1.0, w->d);
        p->accept(p->self);
        w->report->is_solved = true;
        return false;
    }
    return search(w, w->report->size);
}

void cri_descent_run(const cri_descent *problem, double *factor, cr_arena *scratch,
                     cri_descent_report *report) {
    CR_ASSERT(problem->n > 0 && problem->tolerance > 0.0);
    size_t n = (size_t)problem->n;
    *report = (cri_descent_report){.has_memory = true};
    descent w = {.problem = problem, .factor = factor, .report = report};
    w.g = CR_PUSH(scratch, double, n);
    w.next_g = CR_PUSH(scratch, double, n);
    w.d = CR_PUSH(scratch, double, n);
    w.H = CR_PUSH(scratch, double, n *n);
    w.next_H = CR_PUSH(scratch, double, n *n);
    if (cri_arena_has_failed(scratch)) {
        report->has_memory = false;
        return;
    }
    problem->move(problem->self, 0.0, w.d);
    problem->accept(problem->self);
    w.value = value_of(&w, w.g, w.H, &w.noise);
    report->has_memory = !isnan(w.value);
    report->is_allowed = isfinite(w.value);
    if (report->is_allowed) {
        for (int step = 0; step < problem->most && advance(&w); step++) {
        }
        report->value = w.value;
    }
}
