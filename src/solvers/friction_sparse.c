// SPDX-License-Identifier: MIT
//
// Newton's system M x = b along the graph of contacts, by L U of blocks (3, 3), row by row:
//
//   W_j = M_ij;    for k < i:  L_ik = W_k U_kk^-1,  W_j -= L_ik U_kj;
//   P_i W_i = L_ii U_ii,  U_ij = L_ii^-1 P_i W_j          P_i: pivots within the contact
//
// in an order of the graph that keeps the factors sparse (base/math/sparse_ldlt.h). M is not
// symmetric, but its graph is. Where everything sticks M is positive definite, and the pivots are
// safe in any order; where something slides they may vanish, so that the residual is looked at, and
// who calls has dense pivoting to fall back on.

#include "solvers/friction_sparse.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// below that dense loops win
enum { N_LEAST = 20 };

// relative residuals: that of a refinement that is not worth its while, and the largest allowed
static const double residual_good = 1e-14;
static const double residual_bad = 1e-6;

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

/// Factors of M; blocks are aligned with the lists of the fill.
typedef struct factors {
    double *lower, *upper; // L_ik, U_ij
    double *diagonal;      // (9n) of U_ii, L_ii
    double *row;           // (9n) W
    double *residual;      // (3n)
    int *pivot;            // (2n)
} factors;

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
