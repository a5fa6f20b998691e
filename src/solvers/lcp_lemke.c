// SPDX-License-Identifier: MIT
//
// Lemke's method (Cottle, Pang, Stone, The Linear Complementarity Problem, 4.4), in balanced
// numbers:
//
//   w - M z - h z_0 = q      of each pair w_i, z_i one is basic, but for the pair of z_0
//
// h = 1, and after a ray again with others. z_0 enters for the smallest q/h; then the partner of
// what left enters, until z_0 leaves (solved) or nothing can leave (a ray). Ratios are compared as
// vectors, right side first and then the columns of w, which hold the inverse of the basis: rows
// (q, 1) stay lexicographically positive, no basis comes twice, whatever the ties. Free rows are
// eliminated first:
//
//   z_f = -M_ff^-1 (M_fc z_c + q_f)      M = M_cc - M_cf M_ff^-1 M_fc,   q = q_c - M_cf M_ff^-1 q_f

#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/lu.h"
#include "solvers/lcp_parts.h"

#include <math.h>
#include <string.h>

// relative: entries of a column below it are no pivots
static const double least_pivot = 1e-10;
// ratios nearer than this are ties
static const double tie = 1e-12;
// pivots a row: 99 of 100 problems need 2 at most; pivots from one fresh tableau to the next
enum { N_PIVOT = 20, N_FRESH = 100 };
// covering vectors h_i = 1 + tilt i/n; a ray of one says little of another
static const double tilt[] = {0.0, 1.0, -0.5};
enum { N_TILT = sizeof tilt / sizeof tilt[0] };

/// Columns w (n), z (n), z_0, right side.
typedef struct tableau {
    int n, width;
    double *T;      // (n, width)
    double *start;  // (n, width) T when the w are basic
    int *basis;     // (n) column that is basic in each row
    bool *is_basic; // (width) work space of refresh
} tableau;

/// The free rows: z_f = -(X z_c + x), stored by columns, (n_c + 1, n_free).
typedef struct freed {
    int n, n_c;
    double *X;
} freed;

// false when M_ff is singular
static bool eliminate(const cri_lcp *p, freed *f, cr_arena *scratch) {
    int n = p->n, m = p->n_free;
    *f = (freed){.n = m, .n_c = n - m};
    if (m == 0) {
        return true;
    }
    double *lu = CR_PUSH_RAW(scratch, double, m *m);
    int *pivot = CR_PUSH_RAW(scratch, int, m);
    f->X = CR_PUSH_RAW(scratch, double, (f->n_c + 1) * m);
    for (int i = 0; i < m; i++) {
        memcpy(lu + i * m, p->M + i * n, sizeof *lu * (size_t)m);
    }
    if (!cri_lu_factor(m, lu, pivot)) {
        return false;
    }
    for (int j = 0; j <= f->n_c; j++) {
        double *x = f->X + j * m;
        for (int i = 0; i < m; i++) {
            x[i] = j < f->n_c ? p->M[i * n + m + j] : p->q[i];
        }
        cri_lu_solve(m, lu, pivot, x);
    }
    return cri_all_finite((f->n_c + 1) * m, f->X);
}

static tableau tableau_start(const cri_lcp *p, const freed *f, cr_arena *scratch) {
    int m = f->n, n = f->n_c;
    tableau t = {.n = n, .width = 2 * n + 2};
    t.T = CR_PUSH_RAW(scratch, double, n *t.width);
    t.start = CR_PUSH(scratch, double, n *t.width);
    t.basis = CR_PUSH_RAW(scratch, int, n);
    t.is_basic = CR_PUSH_RAW(scratch, bool, t.width);
    for (int i = 0; i < n; i++) {
        const double *M = p->M + (size_t)(m + i) * (size_t)p->n;
        double *row = t.start + (size_t)i * (size_t)t.width;
        for (int j = 0; j <= n; j++) {
            double sum = j < n ? M[m + j] : p->q[m + i];
            for (int k = 0; k < m; k++) {
                sum -= M[k] * f->X[j * m + k];
            }
            row[j < n ? n + j : 2 * n + 1] = j < n ? -sum : sum;
        }
        row[i] = 1.0;
    }
    return t;
}

// true when row a comes before row b in the lexicographic order of ratios to the entering column
static bool is_before(const tableau *t, int a, int b, int enter) {
    const double *A = t->T + (size_t)a * (size_t)t->width;
    const double *B = t->T + (size_t)b * (size_t)t->width;
    for (int j = -1; j < t->n; j++) {
        int at = j < 0 ? t->width - 1 : j;
        double x = A[at] / A[enter], y = B[at] / B[enter];
        // z_0 leaves as soon as it can
        if (j == 0 && (t->basis[a] == 2 * t->n || t->basis[b] == 2 * t->n)) {
            return t->basis[a] == 2 * t->n;
        }
        if (fabs(x - y) > tie * (1.0 + fabs(x))) {
            return x < y;
        }
    }
    return false;
}

// the row that leaves, -1 for a ray
static int leaving_row(const tableau *t, int enter) {
    double most = 1.0;
    int best = -1;
    for (int i = 0; i < t->n; i++) {
        most = fmax(most, fabs(t->T[(size_t)i * (size_t)t->width + (size_t)enter]));
    }
    for (int i = 0; i < t->n; i++) {
        bool can = t->T[(size_t)i * (size_t)t->width + (size_t)enter] > least_pivot * most;
        if (can && (best < 0 || is_before(t, i, best, enter))) {
            best = i;
        }
    }
    return best;
}

// sets h; returns the row of the smallest q/h, the last of them: (q, e_i)/h_i is the least vector;
// -1 when q >= 0
static int cover(tableau *t, double slope) {
    int best = -1, n = t->n;
    double least = 0.0;
    for (int i = 0; i < n; i++) {
        double *row = t->start + (size_t)i * (size_t)t->width, h = 1.0 + slope * i / n;
        row[2 * n] = -h;
        t->basis[i] = i;
        if (row[2 * n + 1] < 0.0 && row[2 * n + 1] / h <= least) {
            best = i;
            least = row[2 * n + 1] / h;
        }
    }
    memcpy(t->T, t->start, sizeof *t->T * (size_t)n * (size_t)t->width);
    return best;
}

// brings a column into the basis; returns the one that leaves
static int exchange(tableau *t, int row, int enter) {
    int leave = t->basis[row], width = t->width;
    double *pivot = t->T + (size_t)row * (size_t)width, inverse = 1.0 / pivot[enter];
    for (int j = 0; j < width; j++) {
        pivot[j] *= inverse;
    }
    for (int i = 0; i < t->n; i++) {
        double *other = t->T + (size_t)i * (size_t)width, factor = other[enter];
        if (i != row && factor != 0.0) {
            cri_add_scaled(width, -factor, pivot, other);
            other[enter] = 0.0;
        }
    }
    t->basis[row] = enter;
    return leave;
}

// the tableau of the same basis without the rounding of its past: elimination from the start, the
// largest pivot of each column
static void refresh(tableau *t) {
    int n = t->n, width = t->width;
    memset(t->is_basic, 0, sizeof *t->is_basic * (size_t)width);
    for (int i = 0; i < n; i++) {
        t->is_basic[t->basis[i]] = true;
        t->basis[i] = i;
    }
    memcpy(t->T, t->start, sizeof *t->T * (size_t)n * (size_t)width);
    for (int enter = n; enter <= 2 * n; enter++) {
        int best = -1;
        double most = 0.0;
        for (int i = 0; t->is_basic[enter] && i < n; i++) {
            double entry = fabs(t->T[(size_t)i * (size_t)width + (size_t)enter]);
            bool must_leave = t->basis[i] < n && !t->is_basic[t->basis[i]];
            if (must_leave && entry > most) {
                best = i;
                most = entry;
            }
        }
        if (best >= 0) {
            exchange(t, best, enter);
        }
    }
}

// pivots until z_0 has left, nothing can leave or there were too many; returns how many
static int run(tableau *t, double slope) {
    int n = t->n, row = cover(t, slope), enter = 2 * n, n_pivot = 0, n_stale = 0;
    while (row >= 0 && n_pivot < N_PIVOT * n) {
        int leave = exchange(t, row, enter);
        n_pivot++;
        n_stale++;
        if (leave == 2 * n) {
            break;
        }
        enter = leave < n ? leave + n : leave - n;
        row = n_stale < N_FRESH ? leaving_row(t, enter) : -1;
        // a ray is believed of a fresh tableau only
        if (row < 0) {
            refresh(t);
            n_stale = 0;
            row = leaving_row(t, enter);
        }
    }
    return n_pivot;
}

// z of the last basis, the free ones too
static void read_point(const tableau *t, const freed *f, double *z) {
    int m = f->n, n = f->n_c;
    memset(z, 0, sizeof *z * (size_t)(m + n));
    for (int i = 0; i < n; i++) {
        if (t->basis[i] >= n && t->basis[i] < 2 * n) {
            double value = t->T[(size_t)(i + 1) * (size_t)t->width - 1];
            z[m + t->basis[i] - n] = fmax(0.0, value);
        }
    }
    for (int k = 0; k < m; k++) {
        z[k] = -f->X[n * m + k];
        for (int j = 0; j < n; j++) {
            z[k] -= f->X[j * m + k] * z[m + j];
        }
    }
}

cri_lcp_report cri_lcp_lemke(const cri_lcp *p, double *z, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n);
    int n = p->n;
    cri_lcp_report report = {.outcome = CR_ITERATION_LIMIT};
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_lcp_balanced b = cri_lcp_balance(p, scratch);
    double *point = CR_PUSH_RAW(scratch, double, n);
    memset(z, 0, sizeof *z * (size_t)n);
    report.residual = cri_lcp_residual(p, z);
    freed f;
    if (eliminate(&b.problem, &f, scratch)) {
        tableau t = tableau_start(&b.problem, &f, scratch);
        for (int k = 0; k < N_TILT && report.outcome != CR_SOLVED; k++) {
            report.n_iteration += run(&t, tilt[k]);
            refresh(&t);
            read_point(&t, &f, point);
            for (int i = 0; i < n; i++) {
                point[i] *= b.size * b.d[i];
            }
            // a z_0 of rounding that never left is no harm
            double residual = cri_lcp_residual(p, point);
            if (residual <= report.residual) {
                report.residual = residual;
                memcpy(z, point, sizeof *z * (size_t)n);
            }
            if (report.residual <= cri_lcp_tolerance(p, z)) {
                report.outcome = CR_SOLVED;
            }
        }
    }
    cri_arena_rewind(scratch, mark);
    return report;
}
