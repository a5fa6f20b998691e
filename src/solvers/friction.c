// SPDX-License-Identifier: MIT
//
// The solve of a friction problem: Newton (below) from the last impulse, and what
// stands behind it when that fails. Each stage hands a point to Newton, the best point is kept.
//
//   all       ladder        Newton with other prox terms and other rho from the best point
//             balanced      Newton in units of impulse of each contact's own
//   convex    interior      central path to 1e-10, then to 1e-20, the ladder behind each; proximal
//                           points behind them: A + 1e-5 1, c - 1e-5 f_k
//   Coulomb   De Saxce      f = convex solution for c + mu |u_t| e_n, iterated
//             fans          polygons that turn to where friction points (below)
//   octagon   interior      of the complementarity problem, then Lemke's method
//   the last  sweeps        Gauss-Seidel
//   two       homotopy      mu -> theta mu, theta from 0 to 1, each warm-started
//             Tikhonov      A + d 1 with d from 1 down by tens, homotopy where a step fails
//             restarts      impulses scaled up and down, other prox and rho
// Source: contact solves by projections and their continuation, De Saxce and Feng 1998; Acary and
// others 2011 for the fixed point on convex problems.

#include "solvers/friction.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/dense_factor.h"
#include "base/math/sparse_ldlt.h"
#include "solvers/cone_qp.h"
#include "solvers/lcp.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/// What Newton's method adds to the diagonal, unless asked for more.
static const double cri_newton_prox = 1e-11;

// m/s: a contact that would change no speed by more carries no force
static const double weak_speed = 1e-12;

// cosine and sine of 22.5 degrees: distance of a side, half its length
#define SIDE_NEAR 0.92387953251128674
#define SIDE_HALF 0.38268343236508977
#define DIAGONAL 0.70710678118654752

static const double octagon_corner[8][2] = {
    {1.0, 0.0},  {DIAGONAL, DIAGONAL},   {0.0, 1.0},  {-DIAGONAL, DIAGONAL},
    {-1.0, 0.0}, {-DIAGONAL, -DIAGONAL}, {0.0, -1.0}, {DIAGONAL, -DIAGONAL},
};

// directions of the middles of sides
static const double outward[8][2] = {
    {SIDE_NEAR, SIDE_HALF},  {SIDE_HALF, SIDE_NEAR},   {-SIDE_HALF, SIDE_NEAR},
    {-SIDE_NEAR, SIDE_HALF}, {-SIDE_NEAR, -SIDE_HALF}, {-SIDE_HALF, -SIDE_NEAR},
    {SIDE_HALF, -SIDE_NEAR}, {SIDE_NEAR, -SIDE_HALF},
};

// below that dense loops win
enum { N_LEAST = 20 };

// relative residuals: that of a refinement that is not worth its while, and the largest allowed
static const double residual_good = 1e-14;

static const double residual_bad = 1e-6;

/// Factors of M; blocks are aligned with the lists of the fill.
typedef struct factors {
    double *lower, *upper; // L_ik, U_ij
    double *diagonal;      // (9n) of U_ii, L_ii
    double *row;           // (9n) W
    double *residual;      // (3n)
    int *pivot;            // (2n)
} factors;

static const double newton_stop = 1e-15;

enum { N_CORNER = 8 };

enum { N_FULL = 4 }; // turns before axes are held back

static const double widest = 0.39269908169872414; // radians

static const double narrowest = 1e-3;

static const double aside = 1.9198621771937625;

static const double half_turn = 3.1415926535897932;

// of the width, a factor a turn
static const double narrow = 0.4, widen = 2.5;

// Redundant contacts whose equations contradict each other a little, as when a rocking face lands:
// one has to open, and the others slide by a billionth. A larger prox term lets impulse wander
// along directions that hardly move anything; a larger rho lets tiny slips decide the direction of
// friction.
typedef struct rung {
    double prox, rho;
} rung;

static const rung ladder[] = {{1e-8, 1.0},  {1e-11, 1e2}, {1e-11, 1e4}, {1e-6, 1.0},
                              {1e-11, 1e6}, {1e-8, 1e3},  {1e-4, 1.0},  {1e-11, 0.1}};

static const rung convex_ladder[] = {
    {1e-11, 1.0}, {1e-8, 1.0}, {1e-11, 0.1}, {1e-11, 10.0}, {1e-6, 1.0}};

static const rung short_ladder[] = {{1e-11, 1.0}, {1e-6, 1.0}, {1e-3, 1.0}};

// contacts up to which complementarity problems of ten rows each are worth their cube
enum { MAX_LCP = 40 };

// times that polygons are turned
enum { N_TURN = 24 };

/// A search: the scaled problem and the best point so far.
typedef struct search {
    cri_scaled *s;
    double *best; // (3n)
    double residual;
    cr_arena *scratch;
} search;

// ---- projections and certificate ----------------------------------------------------------------

// The projections of three laws of friction, r = |z_t|:
//
//   Coulomb   p_n = max(l, z_n), then z_t cut to the disc of radius mu p_n
//   convex    the nearest point of |p_t| <= mu p_n, p_n >= l:  z inside;  0 if l = 0 and
//             mu r <= -z_n;  alpha (1, mu z_t/r) with alpha = (z_n + mu r)/(1 + mu^2) if that is
//             above l;  else p_n = l and z_t cut to radius mu l
//   octagon   p_n = max(l, z_n), then the point of the octagon with corners mu p_n d_k next to z_t
//
// and the certificate |f - P(f - rho u)|, rho_i = 3/trace A_ii. At mu = 0 a contact slides with
// f_t = 0, it never sticks: so its derivative for mu is the one-sided one.
// Sources: De Saxce and Feng 1998; Alart and Curnier 1991; SDF (paper 004), A.7.

void cri_octagon_corner(int k, double d[2]) {
    CR_ASSERT(k >= 0 && k < 8);
    d[0] = octagon_corner[k][0];
    d[1] = octagon_corner[k][1];
}

void cri_octagon_side(int k, double middle[2], double along[2]) {
    CR_ASSERT(k >= 0 && k < 8);
    middle[0] = SIDE_NEAR * outward[k][0];
    middle[1] = SIDE_NEAR * outward[k][1];
    along[0] = -outward[k][1];
    along[1] = outward[k][0];
}

// the side whose sector z_t lies in
static int side_at(double x, double y) {
    double ax = fabs(x), ay = fabs(y);
    int half = ay > ax; // second half of its quadrant, before signs
    if (x >= 0.0 && y >= 0.0) {
        return half;
    }
    if (x < 0.0 && y >= 0.0) {
        return half ? 2 : 3;
    }
    if (x < 0.0) {
        return half ? 5 : 4;
    }
    return half ? 6 : 7;
}

// z_t onto the octagon of radius r, behind p_n
static void project_octagon(const double z[3], double r, cri_friction_point *at) {
    int k = side_at(z[1], z[2]);
    const double *out = outward[k];
    double far = z[1] * out[0] + z[2] * out[1], along = z[2] * out[0] - z[1] * out[1];
    at->face = k;
    if (far <= SIDE_NEAR * r && r > 0.0) {
        at->p[1] = z[1];
        at->p[2] = z[2];
        at->branch = CRI_STICK;
    } else if (fabs(along) >= SIDE_HALF * r) {
        at->face = along > 0.0 ? (k + 1) % 8 : k;
        at->p[1] = r * octagon_corner[at->face][0];
        at->p[2] = r * octagon_corner[at->face][1];
        at->branch = CRI_SLIDE;
    } else {
        at->p[1] = SIDE_NEAR * r * out[0] - along * out[1];
        at->p[2] = SIDE_NEAR * r * out[1] + along * out[0];
        at->branch = CRI_EDGE;
    }
}

// z_t cut to a disc of radius r
static bool cut(const double z[3], double r, double p[3]) {
    double r2 = z[1] * z[1] + z[2] * z[2];
    if (r > 0.0 && r2 <= r * r) {
        p[1] = z[1];
        p[2] = z[2];
        return false;
    }
    double k = r2 > 0.0 ? r / sqrt(r2) : 0.0;
    p[1] = k * z[1];
    p[2] = k * z[2];
    return true;
}

static cri_friction_point project_convex(const double z[3], double mu, double l) {
    cri_friction_point at = {.branch = CRI_OPEN};
    double r = sqrt(z[1] * z[1] + z[2] * z[2]);
    if (z[0] > l && r <= mu * z[0] && mu > 0.0) {
        memcpy(at.p, z, sizeof at.p);
        at.branch = CRI_STICK;
        return at;
    }
    if (l == 0.0 && mu * r <= -z[0]) {
        return at;
    }
    double alpha = (z[0] + mu * r) / (1.0 + mu * mu);
    if (alpha > l) {
        double k = r > 0.0 ? mu * alpha / r : 0.0;
        at = (cri_friction_point){.p = {alpha, k * z[1], k * z[2]}, .branch = CRI_SLIDE};
        return at;
    }
    at.p[0] = l;
    at.branch = cut(z, mu * l, at.p) ? CRI_BOUND_SLIDE : CRI_BOUND_STICK;
    return at;
}

cri_friction_point cri_friction_project(cri_friction_kind kind, const double z[3], double mu,
                                        double l) {
    if (kind == CRI_CONVEX) {
        return project_convex(z, mu, l);
    }
    cri_friction_point at = {.branch = CRI_OPEN};
    bool is_up = z[0] > l;
    if (!is_up && l == 0.0) {
        return at;
    }
    at.p[0] = is_up ? z[0] : l;
    if (kind == CRI_OCTAGON) {
        CR_VALIDATE(l == 0.0); // its restitution is Newton's
        project_octagon(z, mu * at.p[0], &at);
        return at;
    }
    bool is_cut = cut(z, mu * at.p[0], at.p);
    at.branch =
        is_up ? (is_cut ? CRI_SLIDE : CRI_STICK) : (is_cut ? CRI_BOUND_SLIDE : CRI_BOUND_STICK);
    return at;
}

void cri_friction_project_jacobian(cri_friction_kind kind, const double z[3], double mu,
                                   const cri_friction_point *at, double D[9]) {
    CR_ASSERT(at && D);
    memset(D, 0, 9 * sizeof *D);
    bool is_bound = at->branch == CRI_BOUND_STICK || at->branch == CRI_BOUND_SLIDE;
    if (at->branch == CRI_OPEN) {
        return;
    }
    D[0] = is_bound ? 0.0 : 1.0;
    if (at->branch == CRI_STICK || at->branch == CRI_BOUND_STICK) {
        D[4] = D[8] = 1.0;
        return;
    }
    if (kind == CRI_OCTAGON) {
        double middle[2], along[2];
        cri_octagon_side(at->face, middle, along);
        bool is_edge = at->branch == CRI_EDGE;
        const double *d = is_edge ? middle : octagon_corner[at->face];
        D[3] = mu * d[0];
        D[6] = mu * d[1];
        for (int i = 0; is_edge && i < 4; i++) {
            D[4 + i % 2 + 3 * (i / 2)] = along[i / 2] * along[i % 2];
        }
        return;
    }
    double r = sqrt(z[1] * z[1] + z[2] * z[2]);
    if (r == 0.0) {
        return;
    }
    double s1 = z[1] / r, s2 = z[2] / r, k = mu * at->p[0] / r;
    D[4] = k * s2 * s2;
    D[5] = D[7] = -k * s1 * s2;
    D[8] = k * s1 * s1;
    if (kind == CRI_CONVEX && !is_bound) {
        double a[3] = {1.0, mu * s1, mu * s2}, w = 1.0 / (1.0 + mu * mu);
        D[0] = 0.0;
        for (int i = 0; i < 9; i++) {
            D[i] += w * a[i / 3] * a[i % 3];
        }
        return;
    }
    D[3] = mu * s1 * D[0];
    D[6] = mu * s2 * D[0];
}

// ---- certificate and margins -------------------------------------------------------------------

double cri_friction_rho(const cri_friction *p, int i) {
    int m = 3 * p->n;
    const double *d = p->A + (size_t)(3 * i) * (size_t)m + 3 * i;
    double trace = d[0] + d[m + 1] + d[2 * m + 2];
    return trace > 0.0 ? 3.0 / trace : 1.0;
}

bool cri_friction_is_weak(const cri_friction *p, int i, double f_n, double l) {
    size_t m = 3 * (size_t)p->n, at = 3 * (size_t)i;
    const double *row = p->A + at * m;
    bool is_weak = l == 0.0 && f_n * row[at] <= weak_speed;
    // what hardly moves its own heavy body may move a light one
    for (size_t j = 0; is_weak && f_n > 0.0 && j < m; j++) {
        is_weak = f_n * fabs(row[j]) <= weak_speed;
    }
    return is_weak;
}

static double norm3(const double *a) {
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

// the largest sum of |A_ij f_j| over three rows
static double rounding_of(int m, const double *rows, const double *f) {
    double most = 0.0;
    for (int r = 0; r < 3; r++) {
        double sum = 0.0;
        for (int j = 0; j < m; j++) {
            sum += fabs(rows[r * m + j] * f[j]);
        }
        most = fmax(most, sum);
    }
    return most;
}

// of the velocity known (3n), or of that which f makes
static double certificate(const cri_friction *p, const double *f, const double *known) {
    int m = 3 * p->n;
    double worst = 0.0, largest = 0.0;
    for (int i = 0; i < m; i++) {
        largest = fmax(largest, fmax(fabs(p->b[i]), fabs(p->c[i])));
    }
    for (int i = 0; i < p->n; i++) {
        const double *rows = p->A + (size_t)(3 * i) * (size_t)m;
        const cri_neighbours near = cri_neighbours_of(p, i);
        double rho = cri_friction_rho(p, i), z[3];
        for (int r = 0; r < 3; r++) {
            double u = known ? known[3 * i + r] : p->c[3 * i + r];
            for (int e = 0; !known && e < near.n; e++) {
                int at = 3 * cri_neighbour(&near, e);
                u += cri_dot(3, rows + r * m + at, f + at);
            }
            z[r] = f[3 * i + r] - rho * u;
        }
        const cri_friction_point at = cri_friction_project(p->kind, z, p->mu[i], p->l[i]);
        double miss[3] = {f[3 * i] - at.p[0], f[3 * i + 1] - at.p[1], f[3 * i + 2] - at.p[2]};
        // an impulse that has run away, as where targets contradict each other, excuses no miss
        double own = fmin(norm3(f + 3 * i), 1e8 * rho * largest);
        double scale = own + rho * fmax(norm3(p->b + 3 * i), norm3(p->c + 3 * i));
        scale = fmax(scale, 1e-6 * rho * largest);
        // what the solve drops as weak is no miss
        double tolerance = 1e-10 * scale + (2.0 + p->mu[i]) * rho * weak_speed;
        double size = norm3(miss);
        // rounding only makes the ratio smaller
        if (!(size <= worst * tolerance)) {
            tolerance += 64.0 * DBL_EPSILON * rho * rounding_of(m, rows, f);
            double ratio = tolerance > 0.0 ? size / tolerance : 0.0;
            worst = ratio <= worst ? worst : ratio; // NaN, from an overflow, is the worst of all
        }
        if (isnan(worst)) {
            return INFINITY;
        }
    }
    return worst;
}

cr_outcome cri_friction_outcome(double certificate) {
    return certificate <= 1.0   ? CR_SOLVED
           : certificate <= 1e4 ? CR_SOLVED_LOOSELY
                                : CR_ITERATION_LIMIT;
}

double cri_friction_certificate(const cri_friction *p, const double *f) {
    CR_ASSERT(p->n > 0 && f);
    return certificate(p, f, NULL);
}

double cri_friction_certificate_at(const cri_friction *p, const double *f, const double *u) {
    CR_ASSERT(p->n > 0 && f && u);
    return certificate(p, f, u);
}

static double relative(double value, double scale) {
    return scale > 0.0 ? value / scale : 1.0;
}

// how clearly u_t picks its octagon_corner: the two smallest d_k.u_t
static double corner_gap(const double *u) {
    double first = INFINITY, second = INFINITY;
    for (int k = 0; k < 8; k++) {
        double along = octagon_corner[k][0] * u[1] + octagon_corner[k][1] * u[2];
        second = fmin(second, fmax(along, first));
        first = fmin(first, along);
    }
    return second - first;
}

double cri_friction_inside_by(cri_friction_kind kind, const double *f, double r) {
    if (kind == CRI_OCTAGON) {
        const double *out = outward[side_at(f[1], f[2])];
        return SIDE_NEAR * r - (out[0] * f[1] + out[1] * f[2]);
    }
    return r - cri_tangent_size(f);
}

double cri_friction_margin_of(const cri_friction *p, int i, const cri_friction_point *at,
                              const double *f, const double *u, double f_scale) {
    CR_ASSERT(p && at && f && u);
    double u_scale = f_scale / cri_friction_rho(p, i), mu = p->mu[i], slip = cri_tangent_size(u);
    bool is_slide = at->branch == CRI_SLIDE || at->branch == CRI_BOUND_SLIDE;
    bool is_bound = at->branch == CRI_BOUND_STICK || at->branch == CRI_BOUND_SLIDE;
    // a convex contact opens when u leaves the dual cone
    double lift = p->kind == CRI_CONVEX && (is_slide || at->branch == CRI_OPEN) ? mu * slip : 0.0;
    double margin = at->branch == CRI_OPEN || is_bound ? relative(u[0] - lift, u_scale)
                                                       : relative(f[0] - p->l[i], f_scale);
    if (is_slide) {
        double clear = p->kind == CRI_OCTAGON ? corner_gap(u) : slip;
        return fmin(margin, relative(clear, u_scale));
    }
    if (at->branch == CRI_EDGE) {
        double middle[2], along[2];
        cri_octagon_side(at->face, middle, along);
        double left = SIDE_HALF * mu * f[0] - fabs(along[0] * f[1] + along[1] * f[2]);
        return fmin(margin, fmin(relative(left, f_scale), relative(slip, u_scale)));
    }
    if (at->branch != CRI_OPEN) {
        return fmin(margin, relative(cri_friction_inside_by(p->kind, f, mu * f[0]), f_scale));
    }
    return margin;
}

// ---- the graph of contacts ----------------------------------------------------------------------

// Newton's system M x = b along the graph of contacts, by L U of blocks (3, 3), row by row:
//
//   W_j = M_ij;    for k < i:  L_ik = W_k U_kk^-1,  W_j -= L_ik U_kj;
//   P_i W_i = L_ii U_ii,  U_ij = L_ii^-1 P_i W_j          P_i: pivots within the contact
//
// in an order of the graph that keeps the factors sparse (base/math/sparse_ldlt.h). M is not
// symmetric, but its graph is. Where everything sticks M is positive definite, and the pivots are
// safe in any order; where something slides they may vanish, so that the residual is looked at, and
// who calls has dense pivoting to fall back on.

// ---- graph -------------------------------------------------------------------------------------

// entries below the diagonal of a factor that is half full
static int most_below(int n) {
    return n * n / 4;
}

size_t cri_blocks_bytes(int n) {
    if (n < N_LEAST) {
        return 0;
    }
    int n_entry = n * n / 2 + n;
    return sizeof(cri_blocks) + sizeof(int) * (size_t)(n_entry + n + 2) + (size_t)n * (size_t)n +
           cri_fill_bytes(n, n_entry, most_below(n)) + 128;
}

static bool has_block(size_t m, const double *A, int i, int j) {
    const double *a = A + 3 * (size_t)i * m + 3 * (size_t)j;
    for (int r = 0; r < 3; r++, a += m) {
        if (a[0] != 0.0 || a[1] != 0.0 || a[2] != 0.0) {
            return true;
        }
    }
    return false;
}

const cri_blocks *cri_blocks_find(int n, const double *A, cr_arena *arena) {
    CR_ASSERT(n > 0 && A && arena);
    if (n < N_LEAST) {
        return NULL;
    }
    cri_arena_mark mark = cri_arena_get_mark(arena);
    cri_blocks *b = CR_PUSH_RAW(arena, cri_blocks, 1);
    int n_most = n * n / 2, n_entry = 0;
    int *first = CR_PUSH_RAW(arena, int, 2 * n + 2 + n_most), *index = first + n + 1;
    bool *is_coupled = CR_PUSH_RAW(arena, bool, n *n); // by the triangle above the diagonal
    for (int i = 0; i < n && n_entry <= n_most; i++) {
        first[i] = n_entry;
        is_coupled[i * n + i] = true;
        for (int j = i + 1; j < n; j++) {
            is_coupled[i * n + j] = is_coupled[j * n + i] = has_block(3 * (size_t)n, A, i, j);
        }
        for (int j = 0; j < n; j++) {
            index[n_entry] = j;
            n_entry += is_coupled[i * n + j];
        }
    }
    first[n] = n_entry;
    b->row = (cri_pattern){.n = n, .first = first, .index = index};
    if (n_entry > n_most || !cri_fill_find(&b->row, NULL, most_below(n), &b->fill, arena)) {
        cri_arena_rewind(arena, mark);
        return NULL;
    }
    return b;
}

void cri_blocks_times(const cri_blocks *b, const double *A, int i, const double *x, double out[3]) {
    size_t m = 3 * (size_t)b->row.n;
    const double *row = A + 3 * (size_t)i * m;
    double s0 = 0.0, s1 = 0.0, s2 = 0.0;
    for (int e = b->row.first[i]; e < b->row.first[i + 1]; e++) {
        int at = 3 * b->row.index[e];
        const double *a = row + at, *y = x + at;
        for (int r = 0; r < 3; r++) {
            s0 += a[r] * y[r];
            s1 += a[m + r] * y[r];
            s2 += a[2 * m + r] * y[r];
        }
    }
    out[0] = s0;
    out[1] = s1;
    out[2] = s2;
}

// ---- blocks of nine ----------------------------------------------------------------------------

// out -= a b
static void subtract_product(const double *a, const double *b, double *out) {
    for (int r = 0; r < 9; r += 3) {
        double a0 = a[r], a1 = a[r + 1], a2 = a[r + 2];
        out[r] -= a0 * b[0] + a1 * b[3] + a2 * b[6];
        out[r + 1] -= a0 * b[1] + a1 * b[4] + a2 * b[7];
        out[r + 2] -= a0 * b[2] + a1 * b[5] + a2 * b[8];
    }
}

// out -= a x
static void subtract_times(const double *a, const double *x, double *out) {
    for (int r = 0; r < 3; r++) {
        out[r] -= a[3 * r] * x[0] + a[3 * r + 1] * x[1] + a[3 * r + 2] * x[2];
    }
}

static void swap_rows(double *w, int width, int r, int k) {
    for (int j = 0; r != k && j < width; j++) {
        double t = w[width * r + j];
        w[width * r + j] = w[width * k + j];
        w[width * k + j] = t;
    }
}

// LU in place, with inverse pivots on the diagonal; false when one vanishes
static bool factor_block(double *w, int pivot[2]) {
    for (int k = 0; k < 3; k++) {
        int best = k;
        for (int r = k + 1; r < 3; r++) {
            best = fabs(w[3 * r + k]) > fabs(w[3 * best + k]) ? r : best;
        }
        if (k < 2) {
            pivot[k] = best;
            swap_rows(w, 3, k, best);
        }
        double inverse = 1.0 / w[4 * k];
        if (!isfinite(w[4 * k]) || !isfinite(inverse)) {
            return false;
        }
        w[4 * k] = inverse;
        for (int r = k + 1; r < 3; r++) {
            double l = w[3 * r + k] *= inverse;
            for (int j = k + 1; j < 3; j++) {
                w[3 * r + j] -= l * w[3 * k + j];
            }
        }
    }
    return true;
}

// w = L^-1 P w, of three rows
static void times_lower_inverse(const double *lu, const int pivot[2], int width, double *w) {
    swap_rows(w, width, 0, pivot[0]);
    swap_rows(w, width, 1, pivot[1]);
    for (int j = 0; j < width; j++) {
        w[width + j] -= lu[3] * w[j];
        w[2 * width + j] -= lu[6] * w[j] + lu[7] * w[width + j];
    }
}

// out = w U^-1
static void over_upper(const double *w, const double *lu, double *out) {
    for (int r = 0; r < 9; r += 3) {
        out[r] = w[r] * lu[0];
        out[r + 1] = (w[r + 1] - out[r] * lu[1]) * lu[4];
        out[r + 2] = (w[r + 2] - out[r] * lu[2] - out[r + 1] * lu[5]) * lu[8];
    }
}

// ---- Newton's system ---------------------------------------------------------------------------

size_t cri_newton_system_room(const cri_blocks *b) {
    size_t n = (size_t)b->row.n;
    return 18 * (size_t)b->fill.below_first[n] + 18 * n + 3 * n + n;
}

static factors factors_in(const cri_blocks *b, double *room) {
    int n = b->row.n, n_below = b->fill.below_first[n];
    factors f = {.lower = room};
    f.upper = f.lower + 9 * n_below;
    f.diagonal = f.upper + 9 * n_below;
    f.row = f.diagonal + 9 * n;
    f.residual = f.row + 9 * n;
    f.pivot = (int *)(f.residual + 3 * n);
    return f;
}

// W of an active contact; places that no block fills are zero already
static void fill_row(const cri_newton_system *s, int contact, double *row) {
    const cri_blocks *b = s->blocks;
    size_t m = 3 * (size_t)b->row.n;
    const double *D = s->D + 9 * contact, *A = s->A + 3 * (size_t)contact * m;
    for (int e = b->row.first[contact]; e < b->row.first[contact + 1]; e++) {
        int other = b->row.index[e];
        if (!s->is_active[other]) {
            continue;
        }
        const double *a = A + 3 * other;
        double *w = row + 9 * b->fill.place[other];
        for (int r = 0; r < 9; r += 3) {
            double d0 = s->rho * D[r], d1 = s->rho * D[r + 1], d2 = s->rho * D[r + 2];
            for (int k = 0; k < 3; k++) {
                w[r + k] = d0 * a[k] + d1 * a[m + k] + d2 * a[2 * m + k];
            }
        }
    }
    double *own = row + 9 * b->fill.place[contact];
    for (int k = 0; k < 9; k++) {
        own[k] += (s->rho * s->prox - 1.0) * D[k] + (k % 4 == 0 ? 1.0 : 0.0);
    }
}

static bool factor(const cri_newton_system *s, factors *f) {
    const cri_fill *fill = &s->blocks->fill;
    memset(f->row, 0, sizeof(double) * 9 * (size_t)fill->n);
    for (int i = 0; i < fill->n; i++) {
        if (!s->is_active[fill->order[i]]) {
            continue;
        }
        fill_row(s, fill->order[i], f->row);
        for (int e = fill->left_first[i]; e < fill->left_first[i + 1]; e++) {
            int k = fill->left[e];
            if (!s->is_active[fill->order[k]]) {
                continue;
            }
            double *L = f->lower + 9 * e, *w = f->row + 9 * k;
            over_upper(w, f->diagonal + 9 * k, L);
            memset(w, 0, 9 * sizeof *w);
            for (int at = fill->below_first[k]; at < fill->below_first[k + 1]; at++) {
                subtract_product(L, f->upper + 9 * at, f->row + 9 * fill->below[at]);
            }
        }
        double *own = f->diagonal + 9 * i;
        memcpy(own, f->row + 9 * i, 9 * sizeof *own);
        memset(f->row + 9 * i, 0, 9 * sizeof *own);
        if (!factor_block(own, f->pivot + 2 * i)) {
            return false;
        }
        for (int at = fill->below_first[i]; at < fill->below_first[i + 1]; at++) {
            double *w = f->row + 9 * fill->below[at], *U = f->upper + 9 * at;
            memcpy(U, w, 9 * sizeof *U);
            memset(w, 0, 9 * sizeof *w);
            times_lower_inverse(own, f->pivot + 2 * i, 3, U);
        }
    }
    return true;
}

// x += M^-1 b, of active contacts; b is used up
static void add_solution(const cri_newton_system *s, const factors *f, double *b, double *x) {
    const cri_fill *fill = &s->blocks->fill;
    for (int i = 0; i < fill->n; i++) {
        double *y = b + 3 * fill->order[i];
        if (!s->is_active[fill->order[i]]) {
            continue;
        }
        for (int e = fill->left_first[i]; e < fill->left_first[i + 1]; e++) {
            int other = fill->order[fill->left[e]];
            if (s->is_active[other]) {
                subtract_times(f->lower + 9 * e, b + 3 * other, y);
            }
        }
        times_lower_inverse(f->diagonal + 9 * i, f->pivot + 2 * i, 1, y);
    }
    for (int i = fill->n - 1; i >= 0; i--) {
        double *y = b + 3 * fill->order[i], *out = x + 3 * fill->order[i];
        if (!s->is_active[fill->order[i]]) {
            continue;
        }
        for (int at = fill->below_first[i]; at < fill->below_first[i + 1]; at++) {
            int other = fill->order[fill->below[at]];
            if (s->is_active[other]) {
                subtract_times(f->upper + 9 * at, b + 3 * other, y);
            }
        }
        const double *lu = f->diagonal + 9 * i;
        y[2] *= lu[8];
        y[1] = (y[1] - lu[5] * y[2]) * lu[4];
        y[0] = (y[0] - lu[1] * y[1] - lu[2] * y[2]) * lu[0];
        for (int r = 0; r < 3; r++) {
            out[r] += y[r];
        }
    }
}

// out = b - M x; returns its largest entry, or one that is not finite. x is zero where nothing is
// active.
static double residual(const cri_newton_system *s, const double *b, const double *x, double *out) {
    double worst = 0.0;
    for (int i = 0; i < s->blocks->row.n; i++) {
        if (!s->is_active[i]) {
            continue;
        }
        const double *D = s->D + 9 * i, *y = x + 3 * i;
        double v[3];
        cri_blocks_times(s->blocks, s->A, i, x, v);
        for (int r = 0; r < 3; r++) {
            v[r] = s->rho * (v[r] + s->prox * y[r]) - y[r];
        }
        for (int r = 0; r < 3; r++) {
            double *e = out + 3 * i + r;
            *e =
                b[3 * i + r] - y[r] - (D[3 * r] * v[0] + D[3 * r + 1] * v[1] + D[3 * r + 2] * v[2]);
            worst = fabs(*e) <= worst ? worst : fabs(*e);
        }
    }
    return worst;
}

bool cri_newton_system_solve(const cri_newton_system *s, const double *b, double *x, double *room) {
    CR_ASSERT(s->blocks && b && x && room);
    factors f = factors_in(s->blocks, room);
    if (!factor(s, &f)) {
        return false;
    }
    size_t m = 3 * (size_t)s->blocks->row.n;
    memset(x, 0, sizeof *x * m);
    double scale = residual(s, b, x, f.residual);
    add_solution(s, &f, f.residual, x);
    double left = residual(s, b, x, f.residual);
    if (left > residual_good * scale) {
        add_solution(s, &f, f.residual, x);
        left = residual(s, b, x, f.residual);
    }
    return left <= residual_bad * scale && cri_all_finite((int)m, x);
}

// ---- Newton's method ----------------------------------------------------------------------------

// Semismooth Newton on the natural map of a law of friction.
//
//   F(f) = f - P(f - rho u),  u = A f + c                              (class = branch of P)
//   (1 - P' + rho P' (A + d 1)) df = -F,  d = 1e-11; nonmonotone line search
//
// P' of the branch is the class, so this is an active-set method. Open contacts have P' = 0 and
// df = -f, and drop out of the system. Scaled before the solve: g = f/r with r_i = sqrt(rho_i) k,
// so that diagonal blocks have trace 3 and the data size 1. Large systems are solved along the
// graph of contacts (below), and densely where that breaks down.
// Source: Alart and Curnier 1991; the nonmonotone search of Grippo, Lampariello and Lucidi 1986.

// u = A g + c
static void velocity(const cri_scaled *s, const double *g, double *u) {
    int m = 3 * s->n;
    if (s->blocks) {
        for (int i = 0; i < s->n; i++) {
            cri_blocks_times(s->blocks, s->A, i, g, u + 3 * i);
        }
        for (int i = 0; i < m; i++) {
            u[i] += s->c[i];
        }
        return;
    }
    for (int i = 0; i < m; i++) {
        u[i] = s->c[i] + cri_dot(m, s->A + (size_t)i * (size_t)m, g);
    }
}

// F at g; with has_jacobian also D. Returns |F|.
static double natural_map(cri_scaled *s, const double *g, bool has_jacobian) {
    velocity(s, g, s->u);
    double sum = 0.0;
    for (int i = 0; i < s->n; i++) {
        double z[3];
        for (int r = 0; r < 3; r++) {
            z[r] = g[3 * i + r] - s->rho * s->u[3 * i + r];
        }
        const cri_friction_point at = cri_friction_project(s->kind, z, s->mu[i], s->l[i]);
        if (has_jacobian) {
            cri_friction_project_jacobian(s->kind, z, s->mu[i], &at, s->D + 9 * i);
        }
        for (int r = 0; r < 3; r++) {
            double F = s->F[3 * i + r] = g[3 * i + r] - at.p[r];
            sum += F * F;
        }
    }
    return sqrt(sum);
}

// largest sum of the sizes of terms of A g, of the rows of contact i
static double map_rounding(const cri_scaled *s, int i, const double *g) {
    size_t m = 3 * (size_t)s->n;
    const cri_friction p = cri_scaled_problem(s);
    const cri_neighbours near = cri_neighbours_of(&p, i);
    double rounding = 0.0;
    for (int r = 0; r < 3; r++) {
        const double *row = s->A + (size_t)(3 * i + r) * m;
        double sum = 0.0;
        for (int e = 0; e < near.n; e++) {
            int j = 3 * cri_neighbour(&near, e);
            sum += fabs(row[j] * g[j]);
            sum += fabs(row[j + 1] * g[j + 1]);
            sum += fabs(row[j + 2] * g[j + 2]);
        }
        rounding = fmax(rounding, sum);
    }
    return rounding;
}

// the certificate of the last natural_map, relative
static double relative_residual(const cri_scaled *s, const double *g) {
    double worst = 0.0;
    for (int i = 0; i < s->n; i++) {
        double miss = norm3(s->F + 3 * i), scale = norm3(g + 3 * i) + s->rho * s->size[i];
        double plain = miss / fmax(scale, 1e-300);
        // rounding cannot explain a large miss, nor matters for one that is small anyway
        if (plain > newton_stop && plain < 1e-4) {
            double rounding = map_rounding(s, i, g);
            // 1e10 * 64 eps: the rounding floor of the certificate, in units of its tolerance
            plain = miss / (scale + s->rho * 1e10 * 64.0 * DBL_EPSILON * rounding);
        }
        worst = fmax(worst, plain);
    }
    return worst;
}

// rows of active contact i (place a of n_active) of the system, and its right side
static void fill_rows(cri_scaled *s, int n_active, int a, double prox) {
    int m = 3 * s->n, i = s->active[a], width = 3 * n_active;
    const double *D = s->D + 9 * i, *A0 = s->A + (size_t)(3 * i) * (size_t)m;
    for (int r = 0; r < 3; r++) {
        double *row = s->matrix + (size_t)(3 * a + r) * (size_t)width;
        double d0 = s->rho * D[3 * r], d1 = s->rho * D[3 * r + 1], d2 = s->rho * D[3 * r + 2];
        for (int b = 0; b < n_active; b++) {
            const double *A = A0 + 3 * s->active[b];
            for (int k = 0; k < 3; k++) {
                row[3 * b + k] = d0 * A[k] + d1 * A[m + k] + d2 * A[2 * m + k];
            }
        }
        for (int k = 0; k < 3; k++) {
            row[3 * a + k] += (s->rho * prox - 1.0) * D[3 * r + k];
        }
        row[3 * a + r] += 1.0;
    }
}

// the dense solve for the active contacts, rhs into trial; false for a singular matrix
static bool solve_dense(cri_scaled *s, int n_active, double prox) {
    for (int a = 0; a < n_active; a++) {
        fill_rows(s, n_active, a, prox);
        // places move down: a <= active[a]
        memmove(s->rhs + 3 * a, s->rhs + 3 * s->active[a], 3 * sizeof *s->rhs);
    }
    if (!cri_lu_factor(3 * n_active, s->matrix, s->pivot)) {
        return false;
    }
    cri_lu_solve(3 * n_active, s->matrix, s->pivot, s->rhs);
    for (int a = 0; a < n_active; a++) {
        memcpy(s->trial + 3 * s->active[a], s->rhs + 3 * a, 3 * sizeof *s->rhs);
    }
    return true;
}

// the same along the graph; false where it breaks down, with trial as it was
static bool solve_sparse(cri_scaled *s, int n_active, double prox) {
    const cri_newton_system newton = {.blocks = s->blocks,
                                      .A = s->A,
                                      .D = s->D,
                                      .is_active = s->is_active,
                                      .rho = s->rho,
                                      .prox = prox};
    if (!cri_newton_system_solve(&newton, s->rhs, s->step, s->matrix)) {
        s->n_dense++;
        return false;
    }
    for (int a = 0; a < n_active; a++) {
        int at = 3 * s->active[a];
        memcpy(s->trial + at, s->step + at, 3 * sizeof *s->step);
    }
    return true;
}

// rhs = -F - rho P' A (df of the open ones) of contact i
static void fill_rhs(cri_scaled *s, int i) {
    const cri_friction p = cri_scaled_problem(s);
    const cri_neighbours near = cri_neighbours_of(&p, i);
    double moved[3] = {0.0, 0.0, 0.0};
    for (int e = 0; e < near.n; e++) {
        int j = cri_neighbour(&near, e);
        const double *t = s->trial + 3 * j;
        if (s->is_active[j] || (t[0] == 0.0 && t[1] == 0.0 && t[2] == 0.0)) {
            continue;
        }
        for (int r = 0; r < 3; r++) {
            const double *A = s->A + (size_t)(3 * i + r) * (size_t)(3 * s->n) + 3 * j;
            moved[r] += A[0] * t[0] + A[1] * t[1] + A[2] * t[2];
        }
    }
    for (int r = 0; r < 3; r++) {
        const double *D = s->D + 9 * i + 3 * r;
        s->rhs[3 * i + r] =
            -s->F[3 * i + r] - s->rho * (D[0] * moved[0] + D[1] * moved[1] + D[2] * moved[2]);
    }
}

// the Newton step into trial; false for a singular matrix
static bool newton_direction(cri_scaled *s, double prox) {
    int n_active = 0;
    for (int i = 0; i < s->n; i++) {
        s->is_active[i] = false;
        for (int k = 0; k < 9; k++) {
            s->is_active[i] = s->is_active[i] || s->D[9 * i + k] != 0.0;
        }
        if (s->is_active[i]) {
            s->active[n_active++] = i;
        }
        for (int r = 3 * i; r < 3 * i + 3; r++) {
            s->trial[r] = -s->F[r];
        }
    }
    s->n_iteration++;
    if (n_active == 0) {
        return true;
    }
    for (int a = 0; a < n_active; a++) {
        fill_rhs(s, s->active[a]);
    }
    bool is_solved =
        (s->blocks && solve_sparse(s, n_active, prox)) || solve_dense(s, n_active, prox);
    return is_solved && cri_all_finite(3 * s->n, s->trial);
}

// moves g along the step in trial until |F| falls below the reference; false when it never does
static bool line_search(cri_scaled *s, double reference) {
    int m = 3 * s->n;
    double length = 1.0, moved = 0.0;
    for (int k = 0; k < 7; k++) {
        for (int i = 0; i < m; i++) {
            s->g[i] += (length - moved) * s->trial[i];
        }
        moved = length;
        if (natural_map(s, s->g, false) <= (1.0 - 1e-4 * length) * reference) {
            return true;
        }
        length *= 0.4;
    }
    return false;
}

double cri_friction_newton(cri_scaled *s, int n_max, double prox) {
    CR_ASSERT(s->n > 0 && n_max > 0);
    size_t bytes = sizeof(double) * 3 * (size_t)s->n;
    double best = INFINITY, last[3] = {0.0, 0.0, 0.0}, least = INFINITY;
    int idle = 0;
    for (int it = 0; it < n_max; it++) {
        double norm = natural_map(s, s->g, true);
        double relative = relative_residual(s, s->g);
        // an overflow makes the residual anything but small
        relative = isfinite(norm) ? relative : INFINITY;
        if (it == 0 || relative < best) {
            best = relative;
            memcpy(s->best, s->g, bytes);
        }
        if (best <= newton_stop || !isfinite(norm) || s->n_iteration >= s->budget) {
            break;
        }
        // no progress in six iterations
        idle = norm > 0.9 * least ? idle + 1 : 0;
        least = fmin(least, norm);
        if (idle >= 6 && it > 12) {
            break;
        }
        last[it % 3] = norm;
        double reference = fmax(last[0], fmax(last[1], last[2]));
        if (!newton_direction(s, prox) || (!line_search(s, reference) && it > 8)) {
            break;
        }
        // converged to rounding: one more step has brought nothing
        if (best <= cri_newton_accept && norm >= least && it > 0 && idle > 0) {
            break;
        }
    }
    memcpy(s->g, s->best, bytes);
    return best;
}

/// Gauss-Seidel: projections of single contacts, in place in g.
static void friction_sweep(cri_scaled *s, int n_sweep) {
    CR_ASSERT(s->n > 0 && n_sweep > 0);
    int m = 3 * s->n;
    for (int k = 0; k < n_sweep; k++) {
        for (int i = 0; i < s->n; i++) {
            double z[3], Ag[3];
            if (s->blocks) {
                cri_blocks_times(s->blocks, s->A, i, s->g, Ag);
            }
            for (int r = 0; r < 3; r++) {
                const double *row = s->A + (size_t)(3 * i + r) * (size_t)m;
                Ag[r] = s->blocks ? Ag[r] : cri_dot(m, row, s->g);
                z[r] = s->g[3 * i + r] - s->c[3 * i + r] - Ag[r];
            }
            const cri_friction_point at = cri_friction_project(s->kind, z, s->mu[i], s->l[i]);
            memcpy(s->g + 3 * i, at.p, sizeof at.p);
        }
    }
}

// ---- scaling -----------------------------------------------------------------------------------

size_t cri_friction_scale_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return sizeof(double) * (2 * m * m + 9 * m + 13 * (size_t)n) + sizeof(int) * 2 * m +
           sizeof(bool) * (size_t)n + 1024;
}

static cri_scaled push_scaled(const cri_friction *p, cr_arena *arena) {
    int n = p->n, m = 3 * n;
    // a larger problem that has not been solved by then hardly ever will be
    cri_scaled s = {
        .kind = p->kind, .n = n, .blocks = p->blocks, .rho = 1.0, .budget = n <= 8 ? 4000 : 2500};
    s.A = CR_PUSH_RAW(arena, double, 2 * m * m + 9 * m + 13 * n);
    s.matrix = s.A + m * m;
    double *rows = s.matrix + m * m;
    s.c = rows;
    s.g = rows + m;
    s.best = rows + 2 * m;
    s.trial = rows + 3 * m;
    s.kept = rows + 4 * m;
    s.F = rows + 5 * m;
    s.u = rows + 6 * m;
    s.rhs = rows + 7 * m;
    s.step = rows + 8 * m;
    double *contacts = rows + 9 * m;
    s.mu = contacts;
    s.l = contacts + n;
    s.r = contacts + 2 * n;
    s.size = contacts + 3 * n;
    s.D = contacts + 4 * n;
    s.pivot = CR_PUSH_RAW(arena, int, m + n);
    s.active = s.pivot + m;
    s.is_active = CR_PUSH_RAW(arena, bool, n);
    return s;
}

cri_scaled cri_friction_scale(const cri_friction *p, const double *f, cr_arena *arena) {
    CR_ASSERT(p->n > 0 && f && arena);
    int n = p->n, m = 3 * n;
    cri_scaled s = push_scaled(p, arena);
    double k = 1e-300, largest = 1e-300;
    for (int i = 0; i < n; i++) {
        s.mu[i] = p->mu[i];
        s.r[i] = sqrt(cri_friction_rho(p, i));
        k = fmax(k, p->l[i] / s.r[i]);
        for (int r = 0; r < 3; r++) {
            k = fmax(k, fabs(p->c[3 * i + r]) * s.r[i]);
        }
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            size_t at = (size_t)i * (size_t)m + (size_t)j;
            s.A[at] = p->A[at] * s.r[i / 3] * s.r[j / 3];
        }
        s.c[i] = p->c[i] * s.r[i / 3] / k;
    }
    for (int i = 0; i < n; i++) {
        s.l[i] = p->l[i] / (s.r[i] * k);
        s.size[i] = norm3(s.c + 3 * i);
        largest = fmax(largest, s.size[i]);
        s.r[i] *= k;
    }
    for (int i = 0; i < n; i++) {
        s.size[i] = fmax(s.size[i], 1e-9 * largest);
    }
    // a start from another world, such as the last impulse of what now floats, is worse than none
    double start = 0.0;
    for (int i = 0; i < m; i++) {
        s.g[i] = f[i] / s.r[i / 3];
        start = fmax(start, fabs(s.g[i]));
    }
    if (!(start <= 1e6)) {
        memset(s.g, 0, sizeof *s.g * (size_t)m);
    }
    return s;
}

cri_friction cri_scaled_problem(const cri_scaled *s) {
    CR_ASSERT(s->n > 0);
    return (cri_friction){.kind = s->kind,
                          .n = s->n,
                          .A = s->A,
                          .c = s->c,
                          .b = s->c,
                          .mu = s->mu,
                          .l = s->l,
                          .blocks = s->blocks};
}

// ---- fans ---------------------------------------------------------------------------------------

// Coulomb's law by polygons that know where friction points: the disc of each contact becomes
//
//   corners at   axis + (0, +-1, +-3) width,  axis +- 110 degrees,  axis + 180 degrees
//
// a linear complementarity problem (lcp.c), which Lemke's method solves whatever the start. Its
// friction is the next axis. A fan that has its friction within +-width narrows, so that the
// polygon becomes the disc where it matters; one that has not widens, up to an octagon's 22.5
// degrees. Nothing says that axes settle, and after four turns they go only half of the way; but
// classes do settle, mostly in one or two turns, and the point is then good enough for Newton's
// method.

size_t cri_fans_bytes(int n) {
    return sizeof(double) * 18 * (size_t)n + 2 * cri_lcp_bytes(10 * n) + 256;
}

// the angle of friction; that of before where there is none
static double angle_of(const double *f, double before) {
    return f[1] != 0.0 || f[2] != 0.0 ? atan2(f[2], f[1]) : before;
}

cri_fans cri_fans_open(int n, const double *f, cr_arena *arena) {
    CR_ASSERT(n > 0 && f);
    cri_fans fans = {.n = n, .axis = CR_PUSH_RAW(arena, double, (2 + 2 * N_CORNER) * n)};
    fans.width = fans.axis + n;
    fans.corner = fans.width + n;
    for (int i = 0; i < n; i++) {
        fans.axis[i] = angle_of(f + 3 * i, 0.0);
        fans.width[i] = widest;
    }
    return fans;
}

static void set_corners(double axis, double width, double *corner) {
    const double angle[N_CORNER] = {0.0,          width, -width, 3.0 * width,
                                    -3.0 * width, aside, -aside, half_turn};
    for (int k = 0; k < N_CORNER; k++) {
        corner[2 * k] = cos(axis + angle[k]);
        corner[2 * k + 1] = sin(axis + angle[k]);
    }
}

void cri_fans_turn(cri_fans *fans, const cri_friction *p, double *f, cr_arena *scratch) {
    CR_ASSERT(fans->n == p->n && f && scratch);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    for (int i = 0; i < p->n; i++) {
        set_corners(fans->axis[i], fans->width[i], fans->corner + 2 * N_CORNER * i);
    }
    const cri_lcp lcp = cri_polygon_lcp(p, fans->corner, scratch);
    double *z = CR_PUSH_RAW(scratch, double, lcp.n);
    cri_lcp_lemke(&lcp, z, scratch);
    cri_polygon_impulse(p, fans->corner, z, f);
    for (int i = 0; i < p->n; i++) {
        double axis = angle_of(f + 3 * i, fans->axis[i]);
        double off = remainder(axis - fans->axis[i], 2.0 * half_turn);
        // a little more than the corner, for rounding
        bool is_within = fabs(off) <= 1.1 * fans->width[i];
        fans->width[i] = is_within ? fmax(narrowest, narrow * fans->width[i])
                                   : fmin(widest, widen * fans->width[i]);
        fans->axis[i] += (fans->n_turn < N_FULL ? 1.0 : 0.5) * off;
    }
    fans->n_turn++;
    cri_arena_rewind(scratch, mark);
}

// ---- the solve ----------------------------------------------------------------------------------

static bool is_done(const search *t) {
    return t->residual <= cri_newton_accept;
}

// keeps g if its residual is the best so far
static void offer(search *t, double residual) {
    if (residual < t->residual) {
        memcpy(t->best, t->s->g, sizeof(double) * 3 * (size_t)t->s->n);
        t->residual = residual;
    }
}

static void take(search *t, const double *g) {
    memcpy(t->s->g, g, sizeof(double) * 3 * (size_t)t->s->n);
}

// Newton from g with each rung; from the best point so far if goes_on, else each from the same g
static void climb(search *t, int n_rung, const rung *rungs, bool goes_on) {
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    double *start = CR_PUSH_RAW(t->scratch, double, 3 * t->s->n);
    memcpy(start, t->s->g, sizeof(double) * 3 * (size_t)t->s->n);
    for (int k = 0; k < n_rung && !is_done(t); k++) {
        take(t, goes_on ? t->best : start);
        t->s->rho = rungs[k].rho;
        double residual = cri_friction_newton(t->s, 40, rungs[k].prox);
        t->s->rho = 1.0;
        if (rungs[k].rho != 1.0 || rungs[k].prox > cri_newton_prox) {
            residual = cri_friction_newton(t->s, 6, cri_newton_prox);
        }
        offer(t, residual);
    }
    cri_arena_rewind(t->scratch, mark);
}

// ---- convex ------------------------------------------------------------------------------------

// the central path's end for the problem with its own c, as a start in g
static void interior(search *t, const double *c, double gap) {
    cri_friction problem = cri_scaled_problem(t->s);
    problem.c = c;
    t->s->n_iteration += cri_cone_interior(&problem, gap, t->s->g, t->scratch).n_iteration;
}

// multiplies the unit of impulse of every contact by 2^power
static void rescale(cri_scaled *s, const int *power, int sign) {
    int n = s->n, m = 3 * n;
    for (int i = 0; i < m; i++) {
        int own = sign * power[i / 3];
        double *row = s->A + (size_t)i * (size_t)m;
        for (int j = 0; j < m; j++) {
            row[j] = ldexp(row[j], own + sign * power[j / 3]);
        }
        s->c[i] = ldexp(s->c[i], own);
        s->g[i] = ldexp(s->g[i], -own);
    }
    for (int i = 0; i < n; i++) {
        s->l[i] = ldexp(s->l[i], -sign * power[i]);
        s->size[i] = ldexp(s->size[i], sign * power[i]);
    }
}

// Newton from g with units in which impulse and velocity of each contact have the same size there:
// what is nearly still and what hardly pushes next to each other are far from the rho of both.
// Powers of two, so that the way back is exact.
static void balanced(search *t) {
    cri_scaled *s = t->s;
    int n = s->n, m = 3 * n;
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    int *power = CR_PUSH_RAW(t->scratch, int, n);
    for (int i = 0; i < n; i++) {
        double u2 = 0.0, g2 = 0.0;
        for (int r = 3 * i; r < 3 * i + 3; r++) {
            double u = s->c[r] + cri_dot(m, s->A + (size_t)r * (size_t)m, s->g);
            u2 += u * u;
            g2 += s->g[r] * s->g[r];
        }
        double ratio = fmin(1e12, fmax(1e-12, (g2 + 1e-300) / (u2 + 1e-300)));
        power[i] = (int)lrint(0.25 * log2(ratio));
    }
    rescale(s, power, 1);
    cri_friction_newton(s, 40, cri_newton_prox);
    rescale(s, power, -1);
    cri_arena_rewind(t->scratch, mark);
    offer(t, cri_friction_newton(s, 6, cri_newton_prox));
}

static void shift_diagonal(cri_scaled *s, double d) {
    int m = 3 * s->n;
    for (int i = 0; i < m; i++) {
        s->A[(size_t)i * (size_t)m + i] += d;
    }
}

// f_(k+1) = argmin of the problem with A + d 1, c - d f_k
static void proximal_points(search *t) {
    const double d = 1e-5;
    cri_scaled *s = t->s;
    int m = 3 * s->n;
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    double *c = CR_PUSH_RAW(t->scratch, double, 2 * m), *centre = c + m;
    memcpy(c, s->c, sizeof *c * (size_t)m);
    memcpy(centre, t->best, sizeof *c * (size_t)m);
    for (int k = 0; k < 12 && !is_done(t); k++) {
        shift_diagonal(s, d);
        for (int i = 0; i < m; i++) {
            s->c[i] = c[i] - d * centre[i];
        }
        take(t, centre);
        if (cri_friction_newton(s, 40, cri_newton_prox) > cri_newton_accept) {
            interior(t, s->c, 1e-10);
            cri_friction_newton(s, 40, cri_newton_prox);
        }
        memcpy(centre, s->g, sizeof *c * (size_t)m);
        memcpy(s->c, c, sizeof *c * (size_t)m);
        shift_diagonal(s, -d);
        offer(t, cri_friction_newton(s, 25, cri_newton_prox));
    }
    cri_arena_rewind(t->scratch, mark);
}

static void try_convex(search *t) {
    interior(t, t->s->c, 1e-10);
    climb(t, (int)(sizeof convex_ladder / sizeof convex_ladder[0]), convex_ladder, false);
    if (!is_done(t)) {
        // far beyond what residuals can tell
        interior(t, t->s->c, 1e-20);
        climb(t, (int)(sizeof convex_ladder / sizeof convex_ladder[0]), convex_ladder, false);
    }
    if (!is_done(t)) {
        interior(t, t->s->c, 1e-20);
        balanced(t);
    }
    if (!is_done(t)) {
        proximal_points(t);
    }
}

// ---- Coulomb and octagon -----------------------------------------------------------------------

// f = convex solution for c + mu |u_t| e_n at the last velocity
static void fixed_point(search *t) {
    cri_scaled *s = t->s;
    int n = s->n, m = 3 * n;
    const cri_friction problem = cri_scaled_problem(s);
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    double *c = CR_PUSH_RAW(t->scratch, double, m);
    double *lift = CR_PUSH(t->scratch, double, n);
    for (int k = 0; k < 15 && !is_done(t); k++) {
        memcpy(c, s->c, sizeof *c * (size_t)m);
        for (int i = 0; i < n; i++) {
            c[3 * i] += lift[i];
        }
        interior(t, c, 1e-8);
        // the velocity of the convex point, before Newton moves on
        for (int i = 0; i < n; i++) {
            double u[2];
            cri_neighbours near = cri_neighbours_of(&problem, i);
            for (int r = 0; r < 2; r++) {
                const double *row = s->A + (size_t)(3 * i + 1 + r) * (size_t)m;
                u[r] = s->c[3 * i + 1 + r];
                for (int e = 0; e < near.n; e++) {
                    int j = 3 * cri_neighbour(&near, e);
                    u[r] += row[j] * s->g[j];
                    u[r] += row[j + 1] * s->g[j + 1];
                    u[r] += row[j + 2] * s->g[j + 2];
                }
            }
            double next = s->mu[i] * hypot(u[0], u[1]);
            lift[i] = k < 8 ? next : 0.5 * (lift[i] + next);
        }
        offer(t, cri_friction_newton(s, 40, k % 2 ? 1e-6 : cri_newton_prox));
        if (!is_done(t) && k % 2) {
            offer(t, cri_friction_newton(s, 10, cri_newton_prox));
        }
    }
    cri_arena_rewind(t->scratch, mark);
}

// a point of the octagon law as a start, by the interior point or by Lemke's method
static void corner_start(search *t, bool is_lemke) {
    cri_scaled *s = t->s;
    if (s->n > MAX_LCP) {
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    const cri_friction problem = cri_scaled_problem(s);
    const cri_lcp lcp = cri_octagon_lcp(&problem, t->scratch);
    double *z = CR_PUSH(t->scratch, double, lcp.n);
    if (is_lemke) {
        cri_lcp_lemke(&lcp, z, t->scratch);
        s->n_iteration++; // its pivots are no linear solves
    } else {
        s->n_iteration += cri_lcp_interior(&lcp, 1e-9, z, t->scratch).n_iteration;
    }
    cri_octagon_impulse(s->n, z, s->g);
    cri_arena_rewind(t->scratch, mark);
    climb(t, (int)(sizeof short_ladder / sizeof short_ladder[0]), short_ladder, false);
}

// polygons in place of discs, turned to where friction points
static void fans(search *t) {
    cri_scaled *s = t->s;
    if (s->n > MAX_LCP) {
        return;
    }
    const cri_friction problem = cri_scaled_problem(s);
    size_t bytes = sizeof(double) * 3 * (size_t)s->n;
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    cri_fans all = cri_fans_open(s->n, t->best, t->scratch);
    for (int k = 0; k < N_TURN && !is_done(t) && s->n_iteration < s->budget; k++) {
        cri_fans_turn(&all, &problem, s->g, t->scratch);
        s->n_iteration++; // pivots are no linear solves
        memcpy(s->kept, s->g, bytes);
        offer(t, cri_friction_newton(s, 30, cri_newton_prox));
        if (!is_done(t)) {
            take(t, s->kept);
            balanced(t);
        }
    }
    cri_arena_rewind(t->scratch, mark);
}

// follows the solution from mu = 0 to mu; mu is restored. The residual at the end, infinite when
// the path breaks off.
static double homotopy(search *t) {
    cri_scaled *s = t->s;
    int n = s->n;
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    size_t bytes = sizeof(double) * 3 * (size_t)n;
    double *mu = CR_PUSH_RAW(t->scratch, double, n);
    memcpy(mu, s->mu, sizeof *mu * (size_t)n);
    memset(s->g, 0, bytes);
    memset(s->mu, 0, sizeof *mu * (size_t)n);
    cri_friction_newton(s, 40, cri_newton_prox);
    double theta = 0.0, step = 0.25, residual = INFINITY;
    memcpy(s->kept, s->g, bytes);
    for (int k = 0; k < 60 && theta < 1.0 && step >= 1e-4; k++) {
        double next = fmin(1.0, theta + step);
        for (int i = 0; i < n; i++) {
            s->mu[i] = next * mu[i];
        }
        residual = cri_friction_newton(s, 25, cri_newton_prox);
        if (residual <= 1e-8) {
            theta = next;
            step *= 1.7;
            memcpy(s->kept, s->g, bytes);
        } else {
            step *= 0.35;
            memcpy(s->g, s->kept, bytes);
        }
    }
    memcpy(s->mu, mu, sizeof *mu * (size_t)n);
    cri_arena_rewind(t->scratch, mark);
    return theta >= 1.0 ? residual : INFINITY;
}

// follows A + d 1 from d = 1 to 0
static void tikhonov(search *t) {
    cri_scaled *s = t->s;
    memset(s->g, 0, sizeof(double) * 3 * (size_t)s->n);
    for (double d = 1.0; d > 1e-10 && !is_done(t) && s->n_iteration < s->budget; d *= 0.1) {
        shift_diagonal(s, d);
        if (cri_friction_newton(s, 40, cri_newton_prox) > 1e-9) {
            homotopy(t);
        }
        shift_diagonal(s, -d);
        offer(t, cri_friction_newton(s, 25, cri_newton_prox));
    }
}

// the first sweeps start from nothing, the later ones go on
static void sweeps(search *t) {
    cri_scaled *s = t->s;
    size_t bytes = sizeof(double) * 3 * (size_t)s->n;
    memset(s->g, 0, bytes);
    for (int k = 1; k <= 5 && !is_done(t); k++) {
        friction_sweep(s, 80 * k * k);
        memcpy(s->kept, s->g, bytes);
        offer(t, cri_friction_newton(s, 40, k % 2 ? cri_newton_prox : 1e-6));
        take(t, s->kept);
    }
}

// multiples of the golden ratio, which fill [0, 1) evenly
static double spread(int k) {
    double x = 0.61803398874989485 * k;
    return x - floor(x);
}

static void restarts(search *t) {
    cri_scaled *s = t->s;
    int at = 0;
    for (int k = 0; k < 12 && !is_done(t) && s->n_iteration < s->budget; k++) {
        take(t, t->best);
        for (int i = 0; i < s->n; i++) {
            double factor = pow(10.0, 4.0 * spread(++at) - 2.0);
            for (int r = 0; r < 3; r++) {
                s->g[3 * i + r] *= factor;
            }
        }
        friction_sweep(s, 10);
        s->rho = pow(10.0, 4.0 * spread(++at) - 1.0);
        cri_friction_newton(s, 40, pow(10.0, -11.0 + 8.0 * spread(++at)));
        s->rho = 1.0;
        offer(t, cri_friction_newton(s, 12, cri_newton_prox));
    }
}

static void try_harder(search *t) {
    int n_rung = (int)(sizeof ladder / sizeof ladder[0]);
    bool is_octagon = t->s->kind == CRI_OCTAGON;
    take(t, t->best);
    climb(t, n_rung, ladder, true);
    if (!is_done(t)) {
        take(t, t->best);
        balanced(t);
    }
    if (!is_done(t) && is_octagon) {
        corner_start(t, false);
    }
    if (!is_done(t) && !is_octagon) {
        fixed_point(t);
    }
    // from many contacts on the tableau of Lemke's method costs more than all of the others
    bool is_large = t->s->n > 6;
    for (int pass = 0; pass < 2; pass++) {
        bool is_first = (pass == 0) == is_large;
        if (!is_done(t) && is_first) {
            offer(t, homotopy(t));
        } else if (!is_done(t) && is_octagon) {
            corner_start(t, true);
        } else if (!is_done(t)) {
            fans(t);
        }
        if (!is_done(t) && pass == 0) {
            sweeps(t);
        }
    }
    if (!is_done(t)) {
        tikhonov(t);
    }
    if (!is_done(t)) {
        restarts(t);
    }
}

// ---- the solve ---------------------------------------------------------------------------------

size_t cri_friction_bytes(int n) {
    size_t lcp = n <= MAX_LCP ? cri_fans_bytes(n) : 0, m = 3 * (size_t)n;
    return cri_friction_scale_bytes(n) + cri_cone_interior_bytes(n) + lcp +
           sizeof(double) * (m * m + 12 * m) + 2048;
}

// velocities below what the certificate can see, as at the start of a step from rest: no impulse is
// asked for, and a search would only follow rounding
static bool is_still(const cri_friction *p) {
    bool is_still = true;
    for (int i = 0; i < 3 * p->n; i++) {
        is_still = is_still && fabs(p->c[i]) <= 1e-12 && p->l[i / 3] == 0.0;
    }
    return is_still;
}

// Newton's method, and all of the others behind it unless is_quick
static cri_solve_report solve(const cri_friction *p, double *f, bool is_quick, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && f && scratch);
    for (int i = 0; p->kind == CRI_OCTAGON && i < p->n; i++) {
        CR_ASSERT(p->l[i] == 0.0);
    }
    if (is_still(p)) {
        memset(f, 0, sizeof(double) * 3 * (size_t)p->n);
        return (cri_solve_report){.outcome = CR_SOLVED, .residual = cri_friction_certificate(p, f)};
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int m = 3 * p->n;
    cri_scaled s = cri_friction_scale(p, f, scratch);
    search t = {.s = &s, .best = s.g, .scratch = scratch};
    t.residual = cri_friction_newton(&s, 25, cri_newton_prox);
    if (!is_done(&t) && !is_quick) {
        t.best = CR_PUSH_RAW(scratch, double, m);
        memcpy(t.best, s.g, sizeof(double) * (size_t)m);
        if (!(t.residual < INFINITY)) {
            t.residual = INFINITY;
        }
        if (s.kind == CRI_CONVEX) {
            try_convex(&t);
        } else {
            try_harder(&t);
        }
    }
    for (int i = 0; i < m; i++) {
        f[i] = t.best[i] * s.r[i / 3];
    }
    for (int i = 0; i < p->n; i++) {
        if (cri_friction_is_weak(p, i, f[3 * i], p->l[i])) {
            memset(f + 3 * i, 0, 3 * sizeof *f);
        }
    }
    cri_solve_report report = {.n_iteration = s.n_iteration,
                               .residual = cri_friction_certificate(p, f)};
    report.outcome = cri_friction_outcome(report.residual);
    if (is_quick && !is_done(&t) && report.outcome == CR_SOLVED) {
        report.outcome = CR_SOLVED_LOOSELY;
    }
    cri_arena_rewind(scratch, mark);
    return report;
}

cri_solve_report cri_friction_solve(const cri_friction *p, double *f, cr_arena *scratch) {
    return solve(p, f, false, scratch);
}

cri_solve_report cri_friction_try(const cri_friction *p, double *f, cr_arena *scratch) {
    return solve(p, f, true, scratch);
}
