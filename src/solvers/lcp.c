// SPDX-License-Identifier: MIT
//
// Mixed linear complementarity problems: residual, solve, derivatives, and friction as one.
//
//   w = M z + q,    a = { i : w_i = 0 }:    M_aa z_a = -q_a,  z = 0 elsewhere
//   z_tan:  M_aa z_tan,a = -(M_tan z + q_tan)_a           z_adj:  q_adj,a = -M_aa'^-1 z_adj,a
//
// A row with z = w = 0 is counted to a; the derivative there is that of the piece where it has
// force. When M_aa is singular, z is one of many, as the eight multipliers of sticking friction.
//
// Friction by eight directions (SDF, A.7, velocities eliminated), G = blockdiag(1, (d_0 .. d_7)):
//
//   [ w_f ]   [ G'A G  e ] [ z_f   ]   [ G'c ]       z_f = (f_n, beta_0 .. beta_7), e = (0, 1 .. 1)
//   [ w_g ] = [ m'     0 ] [ gamma ] + [  0  ]       m = (mu, -1 .. -1),  gamma = |u_t| as they see
//
// With bounds z_n = f_n - l: c + A l e_n takes the place of c, and mu l that of 0.
//
// Balance: D M D by D_i <- D_i/sqrt(largest of row i and column i), a few times (Ruiz 2001).

#include "solvers/lcp.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/dense_factor.h"

#include <float.h>
#include <math.h>
#include <string.h>

/// z = size d z', w = size w'/d: M' = d M d has rows and columns of largest entry about 1, the
/// largest q' is 1. Complementary pairs stay so, and a copositive M' too.
typedef struct cri_lcp_balanced {
    cri_lcp problem; // M', q'
    double *d;       // (n), > 0
    double size;     // > 0
} cri_lcp_balanced;

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

// in balanced numbers: w below it is zero
static const double zero_slack = 1e-9;

// in balanced numbers: a pivot below it is zero
static const double zero_pivot = 1e-11;

// rows of a contact in the octagon's problem
enum { N_SIDE = 8, N_ROW = N_SIDE + 2, GAMMA = N_SIDE + 1 };

// 1/sqrt(2)
#define DIAGONAL 0.70710678118654752440

static const double side[N_SIDE][2] = {
    {1.0, 0.0},  {DIAGONAL, DIAGONAL},   {0.0, 1.0},  {-DIAGONAL, DIAGONAL},
    {-1.0, 0.0}, {-DIAGONAL, -DIAGONAL}, {0.0, -1.0}, {DIAGONAL, -DIAGONAL},
};

// ---- interior point -----------------------------------------------------------------------------

// Mixed linear complementarity by an infeasible interior point (Mehrotra 1992), in balanced
// numbers, k = z.w/n over the complementary rows:
//
//   (M + diag(w/z)) dz = M-row: -(M z + q - w) + rc/z,   dw = (rc - w dz)/z
//   predictor   rc = -z w                  corrector   rc = s k - z w - dz dw,  s = (k_aff/k)^3
//   step 0.99 to the boundary, the same for z and w
//
// Free rows have neither w nor rc. Start z = w = 1, free z = 0. For a copositive M nothing is
// promised: the path may end, and then the best point is returned.

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

/// Pushes M', q' and d on the arena.
static cri_lcp_balanced lcp_balance(const cri_lcp *p, cr_arena *arena) {
    int n = p->n;
    double *M = CR_PUSH_RAW(arena, double, n *n);
    double *q = CR_PUSH_RAW(arena, double, n);
    double *d = CR_PUSH_RAW(arena, double, n);
    double *most = CR_PUSH_RAW(arena, double, n);
    memcpy(M, p->M, sizeof *M * (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++) {
        d[i] = 1.0;
    }
    // each time the distance from 1 falls to its root
    for (int k = 0; k < 4; k++) {
        memset(most, 0, sizeof *most * (size_t)n);
        for (int i = 0; i < n * n; i++) {
            double entry = fabs(M[i]);
            most[i / n] = fmax(most[i / n], entry);
            most[i % n] = fmax(most[i % n], entry);
        }
        for (int i = 0; i < n; i++) {
            most[i] = most[i] > 0.0 ? 1.0 / sqrt(most[i]) : 1.0;
            d[i] *= most[i];
        }
        for (int i = 0; i < n * n; i++) {
            M[i] *= most[i / n] * most[i % n];
        }
    }
    double size = 0.0;
    for (int i = 0; i < n; i++) {
        size = fmax(size, fabs(d[i] * p->q[i]));
    }
    size = size > 0.0 ? size : 1.0;
    for (int i = 0; i < n; i++) {
        q[i] = d[i] * p->q[i] / size;
    }
    return (cri_lcp_balanced){
        .problem = {.n = n, .n_free = p->n_free, .M = M, .q = q}, .d = d, .size = size};
}

/// w (n) = M z + q
static void lcp_slack(const cri_lcp *p, const double *z, double *w) {
    for (int i = 0; i < p->n; i++) {
        const double *row = p->M + (size_t)i * (size_t)p->n;
        double sum = p->q[i];
        for (int j = 0; j < p->n; j++) {
            sum += row[j] * z[j];
        }
        w[i] = sum;
    }
}

cri_lcp_report cri_lcp_interior(const cri_lcp *p, double tolerance, double *z, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n && tolerance >= 0.0);
    int n = p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_lcp_balanced b = lcp_balance(p, scratch);
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
        lcp_slack(&b.problem, s.z, s.miss);
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

// ---- Lemke's method -----------------------------------------------------------------------------

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

/// What a residual may be to count as solved: 1e-10 of the largest q, and the rounding of M z up to
/// 1e-8 of it.
static double lcp_tolerance(const cri_lcp *p, const double *z) {
    double largest = 0.0, rounding = 0.0;
    for (int i = 0; i < p->n; i++) {
        const double *row = p->M + (size_t)i * (size_t)p->n;
        double sum = 0.0;
        for (int j = 0; j < p->n; j++) {
            sum += fabs(row[j] * z[j]);
        }
        largest = fmax(largest, fabs(p->q[i]));
        rounding = fmax(rounding, sum);
    }
    // sums of some ten terms each, and a few solves; but a huge z is no excuse for any w
    return 1e-10 * largest + fmin(64.0 * DBL_EPSILON * rounding, 1e-8 * largest);
}

cri_lcp_report cri_lcp_lemke(const cri_lcp *p, double *z, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n);
    int n = p->n;
    cri_lcp_report report = {.outcome = CR_ITERATION_LIMIT};
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_lcp_balanced b = lcp_balance(p, scratch);
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
            if (report.residual <= lcp_tolerance(p, z)) {
                report.outcome = CR_SOLVED;
            }
        }
    }
    cri_arena_rewind(scratch, mark);
    return report;
}

// ---- residual, solve, derivatives ---------------------------------------------------------------

size_t cri_lcp_bytes(int n) {
    // two tableaus of Lemke's method (4), the balanced problem, free rows and their factor (2),
    // each (n, n); vectors; what a push costs
    size_t m = (size_t)n;
    return sizeof(double) * (7 * m * m + 32 * m) + 2048;
}

double cri_lcp_residual(const cri_lcp *p, const double *z) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n);
    double worst = 0.0;
    for (int i = 0; i < p->n; i++) {
        const double *row = p->M + (size_t)i * (size_t)p->n;
        double w = p->q[i];
        for (int j = 0; j < p->n; j++) {
            w += row[j] * z[j];
        }
        double miss = fabs(i < p->n_free || w < z[i] ? w : z[i]);
        // a residual that is no number is the worst
        worst = miss <= worst ? worst : miss;
        if (isnan(miss)) {
            return INFINITY;
        }
    }
    return worst;
}

// ---- solve --------------------------------------------------------------------------------------

// M_aa dz = -w_a for the rows with z > w, least squares where M_aa is singular; the better of the
// two points stays in z. Returns its residual.
static double polish(const cri_lcp *p, double *z, cr_arena *scratch) {
    int n = p->n, n_active = 0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int *active = CR_PUSH_RAW(scratch, int, n);
    double *w = CR_PUSH_RAW(scratch, double, n);
    double *next = CR_PUSH(scratch, double, n);
    double *step = CR_PUSH_RAW(scratch, double, n);
    double *M = CR_PUSH_RAW(scratch, double, n *n);
    lcp_slack(p, z, w);
    for (int i = 0; i < n; i++) {
        if (i < p->n_free || z[i] > w[i]) {
            active[n_active++] = i;
            next[i] = z[i];
        }
    }
    lcp_slack(p, next, w);
    for (int i = 0; i < n_active; i++) {
        for (int j = 0; j < n_active; j++) {
            M[i * n_active + j] = p->M[(size_t)active[i] * (size_t)n + (size_t)active[j]];
        }
        w[i] = -w[active[i]];
    }
    if (n_active > 0) {
        cri_qr qr = cri_qr_factor(n_active, n_active, M, 1e-12, scratch);
        cri_qr_solve(&qr, w, step);
    }
    for (int i = 0; i < n_active; i++) {
        double moved = next[active[i]] + step[i];
        next[active[i]] = active[i] < p->n_free ? moved : fmax(0.0, moved);
    }
    double before = cri_lcp_residual(p, z), after = cri_lcp_residual(p, next);
    if (after < before) {
        memcpy(z, next, sizeof *z * (size_t)n);
    }
    cri_arena_rewind(scratch, mark);
    return fmin(before, after);
}

static cr_outcome judge(const cri_lcp *p, const double *z, double residual) {
    return residual <= lcp_tolerance(p, z) ? CR_SOLVED : CR_ITERATION_LIMIT;
}

cri_lcp_report cri_lcp_solve(const cri_lcp *p, double *z, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n && z);
    double largest = 0.0;
    for (int i = 0; i < p->n; i++) {
        largest = fmax(largest, fabs(p->q[i]));
    }
    // near enough to see which rows have force
    cri_lcp_report report = cri_lcp_interior(p, 1e-9 * largest, z, scratch);
    report.residual = polish(p, z, scratch);
    report.outcome = judge(p, z, report.residual);
    if (report.outcome == CR_SOLVED) {
        return report;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *other = CR_PUSH_RAW(scratch, double, p->n);
    cri_lcp_report second = cri_lcp_lemke(p, other, scratch);
    second.residual = polish(p, other, scratch);
    report.n_iteration += second.n_iteration;
    if (second.residual < report.residual) {
        memcpy(z, other, sizeof *z * (size_t)p->n);
        report.residual = second.residual;
        report.outcome = judge(p, z, second.residual);
    }
    cri_arena_rewind(scratch, mark);
    return report;
}

// ---- derivatives --------------------------------------------------------------------------------

// false when a pivot is nothing but rounding, measured in balanced numbers
static bool is_regular(const cri_lcp_cache *cache, const double *d, int *row) {
    int m = cache->n_active;
    for (int k = 0; k < m; k++) {
        row[k] = cache->active[k];
    }
    for (int k = 0; k < m; k++) {
        int at = cache->pivot[k], top = row[at];
        row[at] = row[k];
        row[k] = top;
        double pivot = cache->factor[(size_t)k * (size_t)m + (size_t)k];
        if (!(fabs(pivot) * d[top] * d[cache->active[k]] > zero_pivot)) {
            return false;
        }
    }
    return true;
}

bool cri_lcp_reduce(const cri_lcp *p, const double *z, cri_lcp_cache *cache, cr_arena *keep) {
    CR_ASSERT(p->n > 0 && p->n_free >= 0 && p->n_free <= p->n);
    int n = p->n, m = 0;
    *cache = (cri_lcp_cache){.n = n, .margin = 1.0};
    cache->active = CR_PUSH_RAW(keep, int, n);
    cache->pivot = CR_PUSH_RAW(keep, int, n);
    cache->factor = CR_PUSH_RAW(keep, double, n *n);
    cri_arena_mark mark = cri_arena_get_mark(keep);
    cri_lcp_balanced b = lcp_balance(p, keep);
    double *w = CR_PUSH_RAW(keep, double, n), most = 0.0, margin = INFINITY;
    int *row = CR_PUSH_RAW(keep, int, n);
    lcp_slack(p, z, w);
    for (int i = 0; i < n; i++) {
        double z_i = z[i] / (b.d[i] * b.size), w_i = w[i] * b.d[i] / b.size;
        most = fmax(most, fmax(fabs(z_i), fabs(w_i)));
        if (i >= p->n_free) {
            margin = fmin(margin, fmax(z_i, w_i));
        }
        if (i < p->n_free || z_i > w_i || w_i <= zero_slack) {
            cache->active[m++] = i;
        }
    }
    cache->n_active = m;
    cache->margin = p->n_free < n && most > 0.0 ? margin / most : 1.0;
    for (int i = 0; i < m * m; i++) {
        size_t at = (size_t)cache->active[i / m] * (size_t)n + (size_t)cache->active[i % m];
        cache->factor[i] = p->M[at];
    }
    bool is_unique =
        m == 0 || (cri_lu_factor(m, cache->factor, cache->pivot) && is_regular(cache, b.d, row));
    cri_arena_rewind(keep, mark);
    return is_unique;
}

void cri_lcp_vjp(const cri_lcp_cache *cache, const double *z_adj, double *q_adj,
                 cr_arena *scratch) {
    CR_ASSERT(cache->n_active >= 0 && cache->n_active <= cache->n);
    int m = cache->n_active;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *y = CR_PUSH_RAW(scratch, double, m);

    // z_a = -M_aa^-1 q_a
    for (int k = 0; k < m; k++) {
        y[k] = -z_adj[cache->active[k]];
    }
    cri_lu_solve_transposed(m, cache->factor, cache->pivot, y);
    memset(q_adj, 0, sizeof *q_adj * (size_t)cache->n);
    for (int k = 0; k < m; k++) {
        q_adj[cache->active[k]] = y[k];
    }
    cri_arena_rewind(scratch, mark);
}

void cri_lcp_jvp(const cri_lcp_cache *cache, const double *rhs, double *z_tan, cr_arena *scratch) {
    CR_ASSERT(cache->n_active >= 0 && cache->n_active <= cache->n);
    int m = cache->n_active;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *y = CR_PUSH_RAW(scratch, double, m);
    for (int k = 0; k < m; k++) {
        y[k] = -rhs[cache->active[k]];
    }
    cri_lu_solve(m, cache->factor, cache->pivot, y);
    memset(z_tan, 0, sizeof *z_tan * (size_t)cache->n);
    for (int k = 0; k < m; k++) {
        z_tan[cache->active[k]] = y[k];
    }
    cri_arena_rewind(scratch, mark);
}

// ---- friction -----------------------------------------------------------------------------------

// column a of G: the impulse of one unit of (f_n, beta_0 .. beta_7), with the corners of a contact
static void generator(const double *corner, int a, double g[3]) {
    g[0] = a == 0 ? 1.0 : 0.0;
    g[1] = a == 0 ? 0.0 : corner[2 * a - 2];
    g[2] = a == 0 ? 0.0 : corner[2 * a - 1];
}

// the block G_i' A_ij G_j at M, whose rows are n apart
static void fill_block(const double *A, size_t n_A, const double *corner_i, const double *corner_j,
                       double *M, size_t n) {
    for (int b = 0; b < GAMMA; b++) {
        double g[3], u[3];
        generator(corner_j, b, g);
        for (size_t r = 0; r < 3; r++) {
            u[r] = A[r * n_A] * g[0] + A[r * n_A + 1] * g[1] + A[r * n_A + 2] * g[2];
        }
        for (int a = 0; a < GAMMA; a++) {
            generator(corner_i, a, g);
            M[(size_t)a * n + (size_t)b] = g[0] * u[0] + g[1] * u[1] + g[2] * u[2];
        }
    }
}

// corners are those of contact i at i * stride
static cri_lcp fill(const cri_friction *p, const double *corner, size_t stride, cr_arena *keep) {
    size_t n = N_ROW * (size_t)p->n, n_A = 3 * (size_t)p->n;
    double *M = CR_PUSH(keep, double, n *n);
    double *q = CR_PUSH(keep, double, n);
    for (size_t i = 0; i < (size_t)p->n; i++) {
        CR_ASSERT(p->l[i] >= 0.0 && p->mu[i] >= 0.0);
        size_t at = N_ROW * i;
        double c[3] = {p->c[3 * i], p->c[3 * i + 1], p->c[3 * i + 2]};
        for (size_t j = 0; j < (size_t)p->n; j++) {
            const double *A = p->A + 3 * i * n_A + 3 * j;
            fill_block(A, n_A, corner + i * stride, corner + j * stride, M + at * n + N_ROW * j, n);
            for (size_t r = 0; r < 3; r++) {
                c[r] += A[r * n_A] * p->l[j];
            }
        }
        for (int a = 0; a < GAMMA; a++) {
            double g[3];
            generator(corner + i * stride, a, g);
            q[at + (size_t)a] = g[0] * c[0] + g[1] * c[1] + g[2] * c[2];
            M[(at + (size_t)a) * n + at + GAMMA] = a == 0 ? 0.0 : 1.0;
            M[(at + GAMMA) * n + at + (size_t)a] = a == 0 ? p->mu[i] : -1.0;
        }
        q[at + GAMMA] = p->mu[i] * p->l[i];
    }
    return (cri_lcp){.n = (int)n, .M = M, .q = q};
}

static void read_impulse(int n, const double *corner, size_t stride, const double *z, double *f) {
    for (int i = 0; i < n; i++) {
        const double *beta = z + N_ROW * i + 1, *own = corner + (size_t)i * stride;
        f[3 * i] = z[N_ROW * i];
        f[3 * i + 1] = f[3 * i + 2] = 0.0;
        for (int k = 0; k < N_SIDE; k++) {
            f[3 * i + 1] += beta[k] * own[2 * k];
            f[3 * i + 2] += beta[k] * own[2 * k + 1];
        }
    }
}

cri_lcp cri_octagon_lcp(const cri_friction *p, cr_arena *keep) {
    CR_ASSERT(p->n > 0 && p->kind == CRI_OCTAGON);
    for (int i = 0; i < p->n; i++) {
        CR_ASSERT(p->l[i] == 0.0);
    }
    return fill(p, side[0], 0, keep);
}

void cri_octagon_impulse(int n, const double *z, double *f) {
    read_impulse(n, side[0], 0, z, f);
}

cri_lcp cri_polygon_lcp(const cri_friction *p, const double *corner, cr_arena *keep) {
    CR_ASSERT(p->n > 0 && corner);
    return fill(p, corner, 2 * (size_t)N_SIDE, keep);
}

void cri_polygon_impulse(const cri_friction *p, const double *corner, const double *z, double *f) {
    read_impulse(p->n, corner, 2 * (size_t)N_SIDE, z, f);
    for (int i = 0; i < p->n; i++) {
        f[3 * i] += p->l[i];
    }
}
