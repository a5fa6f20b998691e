// SPDX-License-Identifier: MIT
//
// Mixed linear complementarity by an infeasible interior point (Mehrotra 1992), in balanced
// numbers, k = z.w/n over the complementary rows:
//
//   (M + diag(w/z)) dz = M-row: -(M z + q - w) + rc/z,   dw = (rc - w dz)/z
//   predictor   rc = -z w                  corrector   rc = s k - z w - dz dw,  s = (k_aff/k)^3
//   step 0.99 to the boundary, the same for z and w
//
// Free rows have neither w nor rc. Start z = w = 1, free z = 0. For a copositive M nothing is
// promised: the path may end, and then the best point is returned.

#include "base/base.h"
#include "base/math/lu.h"
#include "solvers/lcp_parts.h"

#include <math.h>
#include <string.h>

enum { N_ITERATION = 60 };

/// The iterate and the work space, (n) each.
typedef struct path {
    cri_lcp problem;
    double *z, *w;   // > 0 but for free rows
    double *dz, *dw; // step
    double *miss;    // M z + q - w
    double *rc;
    double *matrix; // (n, n)
    int *pivot;
} path;

static path path_start(const cri_lcp *p, cr_arena *scratch) {
    int n = p->n;
    path s = {.problem = *p};
    s.z = CR_PUSH_RAW(scratch, double, n);
    s.w = CR_PUSH_RAW(scratch, double, n);
    s.dz = CR_PUSH_RAW(scratch, double, n);
    s.dw = CR_PUSH(scratch, double, n);
    s.miss = CR_PUSH_RAW(scratch, double, n);
    s.rc = CR_PUSH(scratch, double, n);
    s.matrix = CR_PUSH_RAW(scratch, double, n *n);
    s.pivot = CR_PUSH_RAW(scratch, int, n);
    for (int i = 0; i < n; i++) {
        s.z[i] = s.w[i] = i < p->n_free ? 0.0 : 1.0;
    }
    return s;
}

static bool factor(path *s) {
    int n = s->problem.n;
    memcpy(s->matrix, s->problem.M, sizeof *s->matrix * (size_t)n * (size_t)n);
    for (int i = s->problem.n_free; i < n; i++) {
        s->matrix[(size_t)i * (size_t)n + (size_t)i] += s->w[i] / s->z[i];
    }
    return cri_lu_factor(n, s->matrix, s->pivot);
}

// dz and dw of rc
static bool direction(path *s) {
    int n = s->problem.n, n_free = s->problem.n_free;
    for (int i = 0; i < n; i++) {
        s->dz[i] = -s->miss[i] + (i < n_free ? 0.0 : s->rc[i] / s->z[i]);
    }
    cri_lu_solve(n, s->matrix, s->pivot, s->dz);
    for (int i = n_free; i < n; i++) {
        s->dw[i] = (s->rc[i] - s->w[i] * s->dz[i]) / s->z[i];
    }
    return cri_all_finite(n, s->dz) && cri_all_finite(n, s->dw);
}

// the longest step up to 1 that keeps z and w
static double longest(const path *s) {
    double length = 1.0;
    for (int i = s->problem.n_free; i < s->problem.n; i++) {
        if (s->dz[i] < 0.0) {
            length = fmin(length, -s->z[i] / s->dz[i]);
        }
        if (s->dw[i] < 0.0) {
            length = fmin(length, -s->w[i] / s->dw[i]);
        }
    }
    return length;
}

// (z + t dz).(w + t dw) over the complementary rows
static double gap(const path *s, double t) {
    double sum = 0.0;
    for (int i = s->problem.n_free; i < s->problem.n; i++) {
        sum += (s->z[i] + t * s->dz[i]) * (s->w[i] + t * s->dw[i]);
    }
    return sum;
}

// predictor and corrector; false when there is no way on
static bool advance(path *s) {
    int n = s->problem.n, n_free = s->problem.n_free;
    if (!factor(s)) {
        return false;
    }
    for (int i = n_free; i < n; i++) {
        s->rc[i] = -s->z[i] * s->w[i];
    }
    if (!direction(s)) {
        return false;
    }
    double length = longest(s), now = gap(s, 0.0);
    if (n_free < n) {
        double ratio = gap(s, length) / now;
        // below 1e-4 the corrector alone would lose the centre
        double centre = fmax(ratio * ratio * ratio, 1e-4) * now / (n - n_free);
        // a predictor that hardly moves says nothing of the second order
        double second = length > 0.1 ? 1.0 : 0.0;
        for (int i = n_free; i < n; i++) {
            s->rc[i] = centre - s->z[i] * s->w[i] - second * s->dz[i] * s->dw[i];
        }
        if (!direction(s)) {
            return false;
        }
        length = longest(s);
    }
    length = length < 1.0 || n_free < n ? 0.99 * length : 1.0;
    for (int i = 0; i < n; i++) {
        s->z[i] += length * s->dz[i];
        s->w[i] += i < n_free ? 0.0 : length * s->dw[i];
    }
    return length > 1e-8;
}

cri_lcp_report cri_lcp_interior(const cri_lcp *p, double tolerance, double *z, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n && tolerance >= 0.0);
    int n = p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_lcp_balanced b = cri_lcp_balance(p, scratch);
    path s = path_start(&b.problem, scratch);
    double *point = CR_PUSH_RAW(scratch, double, n);
    cri_lcp_report report = {.outcome = CR_ITERATION_LIMIT, .residual = INFINITY};
    for (bool has_way = true;;) {
        for (int i = 0; i < n; i++) {
            point[i] = b.size * b.d[i] * s.z[i];
        }
        double residual = cri_lcp_residual(p, point);
        if (!(residual >= report.residual)) {
            report.residual = residual;
            memcpy(z, point, sizeof *z * (size_t)n);
        }
        if (residual <= tolerance || !has_way || report.n_iteration == N_ITERATION) {
            break;
        }
        cri_lcp_slack(&b.problem, s.z, s.miss);
        for (int i = p->n_free; i < n; i++) {
            s.miss[i] -= s.w[i];
        }
        report.n_iteration++;
        has_way = advance(&s);
    }
    if (report.residual <= tolerance) {
        report.outcome = CR_SOLVED;
    }
    cri_arena_rewind(scratch, mark);
    return report;
}
